"""`tee FRAMES COMMAND...`: stands between a client and a stdio server and records every line that passes.

The client starts this program instead of the server; bytes go through unchanged in both directions. The next
free one of the files FRAMES.0.jsonl, FRAMES.1.jsonl, ... gets one JSON object per line that passed, `{"at",
"from", "line"}`, and at the end `{"at", "exit"}` with the server's exit status. A file without that last record
tells that the client killed the server.

Needs the standard library alone and knows nothing of the protocol: what it records can be wrong in any way.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from .records import Recorder, create_next

CHUNK = 1 << 16


def copy(source: int, sink: int, origin: str, recorder: Recorder) -> None:
    """Copy until the source ends; go on reading when nobody takes the bytes any more: nobody must block."""
    rest = b""
    while chunk := os.read(source, CHUNK):
        # Recorded first: what the other end has seen is then always in the file.
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            recorder.record(**{"from": origin, "line": line.decode("utf-8", "backslashreplace")})
        try:
            view = memoryview(chunk)
            while view:
                view = view[os.write(sink, view) :]
        except BrokenPipeError:
            continue
    if rest:
        recorder.record(**{"from": origin, "line": rest.decode("utf-8", "backslashreplace"), "cut": True})


def main() -> int:
    frames, *command = sys.argv[1:]
    with create_next(Path(frames)) as out:
        recorder = Recorder(out)
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert server.stdin is not None
        assert server.stdout is not None
        signal.signal(signal.SIGTERM, lambda signum, frame: server.terminate())
        to_server = server.stdin

        def from_client() -> None:
            copy(0, to_server.fileno(), "client", recorder)
            to_server.close()

        # A daemon: a client that keeps our stdin open must not outlive its server through us.
        threading.Thread(target=from_client, name="from-client", daemon=True).start()
        copy(server.stdout.fileno(), 1, "server", recorder)
        status = server.wait()
        recorder.record(exit=status)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    # No interpreter shutdown: the thread above may be in the middle of a read.
    os._exit(main())
