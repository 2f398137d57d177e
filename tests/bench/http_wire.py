"""HTTP/1.1 as far as a bench needs it: requests into bytes, and where a response ends.

`ResponseReader` runs while the clock does, so it looks at the framing alone. `parse_response` and
`read_messages` run afterwards and look at everything. Nothing here opens a socket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .drivers import MODERN, modern_meta

PATH = "/mcp"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[^\r]*close", re.IGNORECASE)
_KEEP_ALIVE = re.compile(rb"\r\nconnection:[^\r]*keep-alive", re.IGNORECASE)
_END_OF_EVENT = re.compile(rb"\r?\n\r?\n")


class WrongAnswer(Exception):
    """What came is no HTTP, or no answer to what was asked."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request of MCP, without its id: the same bytes for every server but for its address and the session."""

    method: str
    params: Mapping[str, Any]
    revision: str

    def encode(self, ids: range, *, host: str, session: str | None = None) -> list[bytes]:
        """One whole HTTP request per id.

        Spec: 2025-11-25 basic/transports#sending-messages-to-the-server
        Spec: 2026-07-28 basic/transports/streamable-http#sending-messages
        """
        params = dict(self.params)
        names = [("MCP-Protocol-Version", self.revision)]
        if self.revision == MODERN:
            params["_meta"] = {**params.get("_meta", {}), **modern_meta()}
            names.append(("Mcp-Method", self.method))
            if "name" in params:
                names.append(("Mcp-Name", params["name"]))
        if session is not None:
            names.append(("Mcp-Session-Id", session))
        tail = json.dumps({"method": self.method, "params": params}, separators=(",", ":"))[1:]
        bodies = (f'{{"jsonrpc":"2.0","id":{number},{tail}'.encode() for number in ids)
        return [encode_post(body, host=host, headers=names) for body in bodies]


def encode_post(body: bytes, *, host: str, headers: list[tuple[str, str]]) -> bytes:
    lines = [
        f"POST {PATH} HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        *(f"{name}: {value}" for name, value in headers),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ResponseReader:
    """One response as it arrives: fed with what a connection brings, it says when the response is whole."""

    __slots__ = ("_chunked", "_end", "closes", "data")

    def __init__(self) -> None:
        self.data = b""
        self.closes = False
        """Whether the server ends the connection after this response; known once the head is there."""
        self._end = -1
        """Where the response ends, or, chunked, where the next chunk begins; -1 before the head is whole."""
        self._chunked = False

    def feed(self, data: bytes) -> bool:
        """Whether the response is whole now."""
        self.data = data if not self.data else self.data + data
        if self._end < 0 and not self._read_head():
            return False
        return self._skip_chunks() if self._chunked else 0 <= self._end <= len(self.data)

    def finish(self) -> bool:
        """The connection ended: whether that was the end of the response as well."""
        if not self.data or self._chunked or self._end >= 0:
            return False
        return b"\r\n\r\n" in self.data

    def _read_head(self) -> bool:
        head = self.data.find(b"\r\n\r\n")
        if head < 0:
            return False
        fields = self.data[: head + 2]
        if not fields.startswith(b"HTTP/1."):
            raise WrongAnswer(f"not a response: {fields[:200]!r}")
        old = fields.startswith(b"HTTP/1.0")
        self.closes = bool(_CLOSE.search(fields)) or (old and not _KEEP_ALIVE.search(fields))
        if _CHUNKED.search(fields):
            self._chunked, self._end = True, head + 4
        elif length := _LENGTH.search(fields):
            self._end = head + 4 + int(length[1])
        elif fields[9:12] in (b"204", b"304"):
            self._end = head + 4
        else:
            self.closes = True  # its end is the connection's
            return False
        return True

    def _skip_chunks(self) -> bool:
        data = self.data
        while True:
            line = data.find(b"\r\n", self._end)
            if line < 0:
                return False
            size = _chunk_size(data[self._end : line])
            if not size:
                # Behind the last chunk stand trailers, mostly none, and an empty line.
                return data.find(b"\r\n\r\n", line) >= 0
            following = line + 2 + size + 2
            if following > len(data):
                return False
            self._end = following


def _chunk_size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        raise WrongAnswer(f"not the size of a chunk: {line[:40]!r}") from None


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response, taken apart."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes


def parse_response(data: bytes) -> Response:
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = _join_chunks(body)
    return Response(int(first.split(" ")[1]), headers, body)


def _join_chunks(body: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        line, _, rest = body.partition(b"\r\n")
        size = _chunk_size(line)
        if not size:
            return b"".join(parts)
        parts.append(rest[:size])
        body = rest[size + 2 :]


def read_messages(response: Response) -> list[Any]:
    """The messages in a response: the one of a JSON body, or all those of an event stream."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    if response.status != 200:
        raise WrongAnswer(f"status {response.status}: {response.body[:500]!r}")
    try:
        if kind == "application/json":
            return [json.loads(response.body)]
        if kind == "text/event-stream":
            events = map(_event_data, _END_OF_EVENT.split(response.body))
            return [json.loads(data) for data in events if data]
    except ValueError as error:
        raise WrongAnswer(f"{error}: {response.body[:500]!r}") from None
    raise WrongAnswer(f"Content-Type {kind!r}: {response.body[:500]!r}")


def _event_data(event: bytes) -> bytes:
    """The data of one event; empty for comments, and for events that only have an id."""
    lines = event.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:"))
