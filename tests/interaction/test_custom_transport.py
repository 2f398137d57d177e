"""A transport of one's own: what `McpServer.handle` leaves to do, on the example of a list of messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpref import Elicit, McpServer, RequestContext
from mcpref.jsonrpc import ErrorResponse, Notification, Request, Response, decode, encode
from mcpref.server.push import ListenStream
from mcpref.server.state import ConnectionState
from tests.server.support import FORM, LEGACY, MODERN, meta


class ListTransport(RequestContext):
    """Bytes in, a list of bytes out; everything runs on the caller's thread."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.out: list[bytes] = []
        self.streams: list[ListenStream] = []
        self._state = ConnectionState()

    @property
    def state(self) -> ConnectionState:
        return self._state

    def send(self, notification: Notification) -> None:
        self.out.append(encode(notification))

    def open_stream(self, stream: ListenStream) -> None:
        self.streams.append(stream)
        self.send(stream.acknowledgement())

    def take(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Hand one message to the server; what it sent."""
        self.out.clear()
        received = decode(json.dumps(message).encode())
        assert isinstance(received, Request | Notification)
        answer = self.server.handle(received, self)
        if isinstance(answer, Response | ErrorResponse):
            self.out.append(self.server.encode(answer))
        return [json.loads(line) for line in self.out]


@pytest.fixture
def server() -> McpServer:
    server = McpServer("anywhere")

    @server.tool
    def work(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return str(ctx.protocol_version)

    @server.tool
    def ask(ctx: RequestContext) -> str:
        return ctx.ask("sure", Elicit("Sure?", ["yes", "no"])).action

    return server


def request(id: object, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


@pytest.mark.req("base.custom-transport-preserve")
@pytest.mark.parametrize("version", LEGACY)
def test_the_legacy_lifecycle_holds(server: McpServer, version: str) -> None:
    server.require_initialized()
    transport = ListTransport(server)
    (early,) = transport.take(request(1, "tools/list"))
    assert early["error"]["code"] == -32002
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t"}}
    (shaken,) = transport.take(request(2, "initialize", **client))
    assert (shaken["id"], shaken["result"]["protocolVersion"]) == (2, version)
    assert transport.take({"jsonrpc": "2.0", "method": "notifications/initialized"}) == []
    progress, done = transport.take(request("3", "tools/call", name="work", _meta={"progressToken": 9}))
    assert progress["params"]["progressToken"] == 9
    assert (done["id"], done["result"]["content"][0]["text"]) == ("3", version)


@pytest.mark.req("base.custom-transport-preserve", "2026-07-28:base.binding-delivery")
def test_the_modern_patterns_hold(server: McpServer) -> None:
    transport = ListTransport(server)
    (bare,) = transport.take(request(1, "server/discover"))
    assert bare["error"]["code"] == -32602
    progress, done = transport.take(
        request(2, "tools/call", name="work", _meta={**meta(), "progressToken": "p"})
    )
    assert progress["method"] == "notifications/progress"
    assert done["result"]["content"][0]["text"] == MODERN
    (asks,) = transport.take(request(3, "tools/call", name="ask", _meta=meta(FORM)))
    assert asks["result"]["resultType"] == "input_required"
    answers = {"sure": {"action": "accept", "content": {"choice": "yes"}}}
    state = asks["result"]["requestState"]
    (complete,) = transport.take(
        request(4, "tools/call", name="ask", _meta=meta(FORM), inputResponses=answers, requestState=state)
    )
    assert complete["result"]["content"][0]["text"] == "accept"
    (acknowledged,) = transport.take(
        request("s", "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=meta())
    )
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    (stream,) = transport.streams
    changed = stream.notification({"method": "notifications/tools/list_changed"})
    assert changed is not None
    cancel = {"requestId": "s"}
    transport.take({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
    assert stream.token.cancelled
