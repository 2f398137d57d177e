"""`RecordingApp` records on HTTP what tee.py records on stdio, in the same form with a few fields more.

Each request has a number `on`, which what belongs to it repeats; `request` is its method and path, `status` the
answer's, and `headers` the ones of the protocol. The last record of a request is `{"closed"}`: whether the server
had said all.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mcpref import McpServer
from mcpref.transport.exchange import Environ, StartResponse
from mcpref.transport.wsgi import McpApp

from .records import Recorder

SHOWN_HEADERS: Final = ("ACCEPT", "LAST_EVENT_ID", "MCP_")
"""How the environ names of the headers that are recorded begin."""


class RecordingApp(McpApp):
    """An application that records what it is asked and what it answers."""

    def __init__(self, server: McpServer, recorder: Recorder, **options: Any) -> None:
        super().__init__(server, **options)
        self._recorder = recorder

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        on = next(_numbers)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length) if length else b""
        environ["wsgi.input"] = io.BytesIO(body)
        self._recorder.record(
            **{"from": "client", "line": _line(body)},
            on=on,
            request=f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}",
            headers={
                key[5:].replace("_", "-").title(): value
                for key, value in environ.items()
                if key.startswith("HTTP_") and key[5:].startswith(SHOWN_HEADERS)
            },
        )

        def start(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            shown = {
                name: value for name, value in headers if name.lower().startswith(("content-type", "mcp-"))
            }
            self._recorder.record(on=on, status=int(status.split()[0]), headers=shown)
            return start_response(status, headers, *rest)

        return _Recorded(super().__call__(environ, start), on, self._recorder)


_numbers = itertools.count()


class _Recorded:
    """A response's body on its way to the client."""

    def __init__(self, body: Iterable[bytes], on: int, recorder: Recorder) -> None:
        self._body, self._on, self._recorder = body, on, recorder
        self._chunks = iter(body)
        self._ended = False
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            chunk = next(self._chunks)
        except StopIteration:
            self._ended = True
            raise
        # Recorded first: what the other end has seen is then always in the file.
        for line in _messages(chunk):
            self._recorder.record(**{"from": "server", "line": line}, on=self._on)
        return chunk

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        close = getattr(self._body, "close", None)
        if close is not None:
            close()
        self._recorder.record(on=self._on, closed="at the end" if self._ended else "early")


def _line(body: bytes) -> str:
    return body.decode("utf-8", "backslashreplace")


def _messages(chunk: bytes) -> list[str]:
    """The messages in a chunk: a body, or the data of whole events. Comments and priming events have none."""
    text = _line(chunk)
    if text.startswith(("{", "[")):
        return [text]
    found = []
    for event in text.split("\n\n"):
        data = "\n".join(line[6:] for line in event.split("\n") if line.startswith("data: "))
        if data.startswith(("{", "[")):
            found.append(data)
    return found
