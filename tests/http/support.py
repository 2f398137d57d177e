"""A small client for tests of the HTTP transport: requests of both eras, over either wire."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any

from mcpref import McpServer
from mcpref.headers import NAME_PARAMS, encode_header_value
from mcpref.meta import MetaKey
from mcpref.transport.wsgi import McpApp
from tests.http.wires import JSON, SSE, Body, Reply, Wire

MODERN = "2026-07-28"
#: The revisions that Streamable HTTP serves with sessions.
SESSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"]
BOTH = f"{JSON}, {SSE}"

_ABSENT: Any = object()


def modern_meta(
    capabilities: Mapping[str, Any] | None = None, version: object = MODERN, **more: object
) -> dict[str, Any]:
    """The ``_meta`` of a modern request; None for a version leaves it out."""
    meta: dict[str, Any] = {MetaKey.CLIENT_CAPABILITIES: dict(capabilities or {}), **more}
    if version is not None:
        meta[MetaKey.PROTOCOL_VERSION] = version
    return meta


class HttpClient:
    """Sends requests to one application. Keeps every reply, so that none is left open."""

    def __init__(self, app: McpApp, wire: Wire) -> None:
        self.app = app
        self.server: McpServer = app.server
        self._wire = wire
        self._ids = itertools.count(1)
        self._replies: list[Reply] = []

    # ---- Any request ----------------------------------------------------------------------------------

    def send(
        self,
        method: str,
        target: str = "/mcp",
        headers: Mapping[str, str | None] | None = None,
        body: Body = None,
    ) -> Reply:
        """A request as it stands; a header that is None is left out."""
        given = {name: value for name, value in (headers or {}).items() if value is not None}
        reply = self._wire.send(method, target, given, body)
        self._replies.append(reply)
        return reply

    def post(
        self,
        message: object,
        headers: Mapping[str, str | None] | None = None,
        *,
        target: str = "/mcp",
    ) -> Reply:
        """A message as JSON, or bytes as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.send("POST", target, {"Content-Type": JSON, "Accept": BOTH, **(headers or {})}, body)

    # ---- Modern ---------------------------------------------------------------------------------------

    def modern(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: object = _ABSENT,
        meta: Mapping[str, Any] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """A complete modern request; ``headers`` replace those that would be sent."""
        params = dict(params or {})
        params["_meta"] = {**modern_meta(capabilities), **(meta or {})}
        standard: dict[str, str | None] = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        name = params.get(NAME_PARAMS.get(method, ""))
        if isinstance(name, str):
            standard["Mcp-Name"] = encode_header_value(name)
        request_id = next(self._ids) if id is _ABSENT else id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        return self.post(message, {**standard, **(headers or {})})

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        progress: object = None,
        **more: Any,
    ) -> Reply:
        """A modern ``tools/call``."""
        extra = {} if progress is None else {"progressToken": progress}
        meta = {**more.pop("meta", {}), **extra}
        return self.modern(
            "tools/call", {"name": name, "arguments": dict(arguments or {})}, meta=meta, **more
        )

    def listen(self, notifications: Mapping[str, Any], **more: Any) -> Reply:
        return self.modern("subscriptions/listen", {"notifications": dict(notifications)}, **more)

    # ---- Legacy ---------------------------------------------------------------------------------------

    def initialize(
        self,
        version: object = "2025-11-25",
        capabilities: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        id: object = 0,
    ) -> Reply:
        params = {
            "protocolVersion": version,
            "capabilities": dict(capabilities or {}),
            "clientInfo": {"name": "test", "version": "1"},
        }
        return self.post({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}, headers)

    def connect(
        self,
        version: str = "2025-11-25",
        capabilities: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> SessionClient:
        """A session, its handshake complete."""
        reply = self.initialize(version, capabilities, headers)
        assert reply.result()["protocolVersion"] == version
        session = SessionClient(self, reply.headers["mcp-session-id"], version, headers)
        assert session.notify("notifications/initialized").status == 202
        return session

    def finish(self) -> None:
        """Drop every connection that is still open, and wait for all of them."""
        for reply in self._replies:
            if reply.thread.is_alive():
                reply.close()


class SessionClient:
    """A legacy session."""

    def __init__(
        self, client: HttpClient, id: str, version: str, headers: Mapping[str, str | None] | None = None
    ) -> None:
        self.client = client
        self.id = id
        self.version = version
        self._ids = itertools.count(1)
        self.headers: dict[str, str | None] = {
            "Mcp-Session-Id": id,
            "MCP-Protocol-Version": version,
            **(headers or {}),
        }

    def post(self, message: object, headers: Mapping[str, str | None] | None = None) -> Reply:
        return self.client.post(message, {**self.headers, **(headers or {})})

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: object = _ABSENT,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        request_id = next(self._ids) if id is _ABSENT else id
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = dict(params)
        return self.post(message, headers)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        progress: object = None,
        **more: Any,
    ) -> Reply:
        params: dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
        if progress is not None:
            params["_meta"] = {"progressToken": progress}
        return self.request("tools/call", params, **more)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> Reply:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        return self.post(message)

    def reply(self, id: object, result: object = None, *, error: object = None) -> Reply:
        """Answer a request of the server's."""
        answer = {"result": result} if error is None else {"error": error}
        return self.post({"jsonrpc": "2.0", "id": id, **answer})

    def get(self, last_event_id: str | None = None, **headers: str | None) -> Reply:
        wanted = {"Accept": SSE, "Last-Event-ID": last_event_id, **headers}
        return self.client.send("GET", headers={**self.headers, **wanted})

    def delete(self) -> Reply:
        return self.client.send("DELETE", headers=self.headers)


def methods(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """What each message is: its method, or which kind of answer."""
    return [message.get("method") or ("error" if "error" in message else "result") for message in messages]


def text(reply: Reply) -> str:
    """The text that a tool answered with."""
    found: str = reply.result()["content"][0]["text"]
    return found
