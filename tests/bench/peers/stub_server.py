"""A peer that does no work: it finds the id in a line and writes a canned answer around it.

It bounds what the driver can measure at all; a server whose rate comes near the stub's is measured too low.
"""

import os
import re

IDS = re.compile(rb'"id":(\d+)')
SUM = (
    b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\\"result\\":3}"}],'
    b'"structuredContent":{"result":3},"isError":false}}\n'
)


def main() -> None:
    rest = b""
    while chunk := os.read(0, 1 << 16):
        whole, newline, rest = (rest + chunk).rpartition(b"\n")
        if newline:
            os.write(1, b"".join([SUM % found for found in IDS.findall(whole)]))


if __name__ == "__main__":
    main()
