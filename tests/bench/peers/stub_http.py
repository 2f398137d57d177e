"""A peer that does no work: it finds the id in a request and sends a canned response around it, over bare sockets.

It bounds what the HTTP driver can measure at all; a server whose rate comes near the stub's is measured too low.
"""

import argparse
import re
import selectors
import socket

ID = re.compile(rb'"id":(\d+)')
BODY = (
    b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\\"result\\":3}"}],'
    b'"structuredContent":{"result":3},"isError":false}}'
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    listener = socket.create_server(("127.0.0.1", parser.parse_args().port))
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ)
                continue
            # The driver sends a request whole and waits for the answer, so one read is one request.
            data = key.fileobj.recv(1 << 16)
            found = ID.search(data)
            if found is None:
                selector.unregister(key.fileobj)
                key.fileobj.close()
                continue
            body = BODY % found[1]
            key.fileobj.sendall(HEAD % len(body) + body)


if __name__ == "__main__":
    main()
