"""A client on a raw socket: it sends what it likes, and reads as slowly, or leaves as rudely, as it likes.

Every wait has a deadline.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from mcpref.cancellation import Deadline
from mcpref.meta import MetaKey
from mcpref.sse import EventDecoder
from tests.threads import PATIENCE

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ELICITS: dict[str, Any] = {"elicitation": {}}


class Connection:
    """One connection, and one response at a time on it."""

    def __init__(self, port: int, *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        self.socket.settimeout(PATIENCE)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self._file = self.socket.makefile("rb")
        self.status = 0
        self.headers: dict[str, str] = {}
        self._decoder = EventDecoder()
        self._messages: list[dict[str, Any]] = []
        self.last_event_id = ""
        self.body = b""
        """What has arrived of an event stream."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- Sending --------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def head(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """What comes before a body; with one, in the same piece, or the other end would put off its ACK."""
        lines = [f"{method} /mcp HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in headers.items())]
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    def request(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> Self:
        size = {"Content-Length": str(len(body))} if method == "POST" else {}
        self.head(method, {**headers, **size}, body)
        return self

    def again(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> Self:
        """The next request, after a response that was read to its end."""
        self.status, self.headers = 0, {}
        return self.request(method, headers, body)

    # ---- Reading --------------------------------------------------------------------------------------

    def begin(self) -> int:
        """Read the head of the response; its status, or 0 if the connection ended without one."""
        line = self._file.readline()
        if not line:
            return 0
        self.status = int(line.split()[1])
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.lower()] = value.strip()
        return self.status

    def chunk(self) -> bytes:
        """The next piece of the body; b"" at its end."""
        if self.headers.get("transfer-encoding") != "chunked":
            return self._file.read(int(self.headers.get("content-length", "-1")))
        size = int(self._file.readline().strip() or b"0", 16)
        data = self._file.read(size)
        self._file.readline()
        return data

    def json(self) -> Any:
        return json.loads(self.chunk())

    def message(self) -> dict[str, Any] | None:
        """The next message of an event stream; None at its end."""
        deadline = Deadline(PATIENCE)  # comments come all the time
        while not self._messages:
            assert not deadline.expired, "no message came"
            data = self.chunk()
            if not data:
                return None
            self.body += data
            for event in self._decoder.feed(data):
                self.last_event_id = event.id or self.last_event_id
                if event.data:
                    self._messages.append(json.loads(event.data))
        return self._messages.pop(0)

    def answer(self) -> dict[str, Any]:
        """The response to the request, in either form."""
        if not self.status:
            assert self.begin(), "the connection ended without an answer"
        if self.headers.get("content-type", "").startswith("application/json"):
            message: dict[str, Any] = self.json()
            return message
        while (message_ := self.message()) is not None:
            if "method" not in message_:
                return message_
        raise AssertionError("the stream ended without an answer")

    def text(self) -> str:
        """The text of a tool's result."""
        answer = self.answer()
        assert "result" in answer, answer
        text: str = answer["result"]["content"][0]["text"]
        return text

    # ---- Leaving --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Politely: the other end reads the end of input."""
        self._file.close()
        self.socket.close()

    def reset(self) -> None:
        """Rudely: the other end's next read or write fails."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


class Client:
    """Requests of both eras to one port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def post(self, message: object, headers: Mapping[str, str] | None = None, **options: Any) -> Connection:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **(headers or {}),
        }
        return Connection(self.port, **options).request("POST", given, body)

    def modern(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        id: object = 1,
        name: str | None = None,
        capabilities: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Connection:
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if name is not None:
            headers["Mcp-Name"] = name
        return self.post(modern_message(method, params, id, capabilities), headers, **options)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> Connection:
        """A modern call of a tool."""
        return self.modern("tools/call", {"name": tool, "arguments": arguments or {}}, name=tool, **options)

    def listen(self, **options: Any) -> Connection:
        return self.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, **options)

    def canary(self) -> None:
        """An innocent call is answered, with its own answer."""
        with self.call("echo", {"text": "canary"}) as connection:
            assert connection.text() == "canary"

    def figures(self) -> dict[str, int]:
        with self.call("figures") as connection:
            figures: dict[str, int] = json.loads(connection.text())
            return figures

    def session(self, headers: Mapping[str, str] | None = None) -> Session:
        return Session(self, headers or {})


class Session:
    """A legacy session."""

    def __init__(self, client: Client, headers: Mapping[str, str]) -> None:
        self.client = client
        self.headers = dict(headers)
        params = {
            "protocolVersion": LEGACY,
            "capabilities": ELICITS,
            "clientInfo": {"name": "client", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        with client.post(message, self.headers) as connection:
            assert connection.begin() == 200, connection.json()
            self.id = connection.headers["mcp-session-id"]
        self.headers |= {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": LEGACY}
        self.notify("notifications/initialized")

    def post(self, message: object, **options: Any) -> Connection:
        return self.client.post(message, self.headers, **options)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, id: object = 1, **options: Any
    ) -> Connection:
        params = {"name": tool, "arguments": arguments or {}, "_meta": {"progressToken": "p"}}
        return self.post({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}, **options)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        with self.post({"jsonrpc": "2.0", "method": method, "params": params or {}}) as connection:
            assert connection.begin() == 202

    def reply(self, question: Mapping[str, Any], name: str) -> None:
        """Answer an elicitation."""
        result = {"action": "accept", "content": {"name": name}}
        with self.post({"jsonrpc": "2.0", "id": question["id"], "result": result}) as connection:
            assert connection.begin() == 202

    def get(self, **headers: str) -> Connection:
        given = {
            "Accept": "text/event-stream",
            **self.headers,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return Connection(self.client.port).request("GET", given)

    def delete(self) -> int:
        with Connection(self.client.port).request("DELETE", self.headers) as connection:
            return connection.begin()


def modern_message(
    method: str, params: Mapping[str, Any], id: object = 1, capabilities: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    meta = {
        MetaKey.PROTOCOL_VERSION: MODERN,
        MetaKey.CLIENT_INFO: {"name": "client", "version": "1"},
        MetaKey.CLIENT_CAPABILITIES: dict(capabilities or {}),
        "progressToken": "p",
    }
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
