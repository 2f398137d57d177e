"""Whose state a request works on: the connection's, the server's own, or nobody's."""

from __future__ import annotations

import pytest

from mcpref import (
    InvalidParams,
    McpServer,
    NullContext,
    ProtocolVersion,
    RequestInfo,
    ServerMode,
    ToolError,
)
from mcpref.jsonrpc import Notification, Request
from mcpref.testing import connect

from .support import LEGACY, LocalContext, request, result


@pytest.mark.parity(2)
@pytest.mark.req("2026-07-28:base.connection-not-session")
def test_two_connections_of_one_server_share_nothing() -> None:
    server = McpServer("shared")

    @server.tool
    def who(info: RequestInfo) -> dict[str, object]:
        return {"version": info.protocol_version.value, "caps": dict(info.client_capabilities)}

    with (
        connect(server, "2025-06-18", capabilities={"roots": {}}) as one,
        connect(server, "2025-11-25", capabilities={"sampling": {}}) as other,
    ):
        assert one.call_tool("who")["structuredContent"] == {"version": "2025-06-18", "caps": {"roots": {}}}
        seen = other.call_tool("who")["structuredContent"]
        assert seen == {"version": "2025-11-25", "caps": {"sampling": {}}}


@pytest.mark.parity(6)
def test_stdio_has_one_state_for_all_requests_of_its_connection() -> None:
    server = McpServer("one", resource_subscriptions=True)

    @server.resource("note://a")
    def note() -> str:
        return "text"

    with connect(server, "2025-06-18", capabilities={"roots": {}}) as peer:
        assert peer.connection is not None
        state = peer.connection.state
        peer.request("logging/setLevel", {"level": "error"})
        peer.request("resources/subscribe", {"uri": "note://a"})
        assert peer.connection.state is state
        assert state.negotiated is ProtocolVersion.V2025_06_18
        assert state.client_capabilities == {"roots": {}}
        assert (state.log_level, state.subscriptions) == ("error", frozenset({"note://a"}))


@pytest.mark.parity(7)
def test_a_context_without_a_state_uses_the_servers_own() -> None:
    server = McpServer("bound")
    params = {"protocolVersion": "2025-03-26", "capabilities": {"roots": {}}, "clientInfo": {"name": "c"}}
    answered = result(server, "initialize", params, version="2025-03-26", ctx=NullContext())
    assert answered["protocolVersion"] == "2025-03-26"
    assert server.bound_state.negotiated is ProtocolVersion.V2025_03_26

    server.handle(Notification("notifications/initialized"), NullContext())
    assert server.bound_state.initialized
    result(server, "logging/setLevel", {"level": "alert"}, version="2025-03-26", ctx=NullContext())
    assert server.bound_state.log_level == "alert"


@pytest.mark.parity(7)
def test_a_context_with_a_state_leaves_the_servers_own_alone() -> None:
    server = McpServer("bound")
    ctx = LocalContext()
    params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "c"}}
    result(server, "initialize", params, version="2024-11-05", ctx=ctx)
    assert ctx.state.negotiated is ProtocolVersion.V2024_11_05
    assert server.bound_state.negotiated is ProtocolVersion.V2025_11_25
    assert not server.bound_state.initialize_processed


@pytest.mark.parity(8)
def test_a_server_is_stateful_unless_told_otherwise_and_stays_so() -> None:
    server = McpServer("mode")
    assert server.mode is ServerMode.STATEFUL
    assert McpServer("mode", mode=ServerMode.STATELESS).mode is ServerMode.STATELESS
    with pytest.raises(AttributeError):
        server.mode = ServerMode.STATELESS  # type: ignore[misc]


@pytest.mark.parity(8)
@pytest.mark.parametrize("mode", ServerMode, ids=lambda mode: mode.value)
def test_a_modern_request_is_served_in_either_mode(mode: ServerMode) -> None:
    server = McpServer("mode", mode=mode)
    assert result(server, "server/discover")["supportedVersions"] == ["2026-07-28"]


@pytest.mark.parity(10)
def test_a_stateless_server_cannot_have_subscriptions() -> None:
    with pytest.raises(ValueError, match=r"ServerMode\.STATEFUL"):
        McpServer("stateless", mode=ServerMode.STATELESS).enable_resource_subscriptions()
    with pytest.raises(ValueError, match=r"ServerMode\.STATEFUL"):
        McpServer("stateless", mode=ServerMode.STATELESS, resource_subscriptions=True)


# ---- The table of running requests -----------------------------------------------------------------------


@pytest.mark.parity(30)
@pytest.mark.parametrize("version", [*LEGACY, "2026-07-28"])
@pytest.mark.parametrize("outcome", ["return", "tool error", "protocol error", "crash", "unknown tool"])
def test_the_table_is_empty_after_every_outcome(version: str, outcome: str) -> None:
    server = McpServer("outcomes")

    @server.tool
    def end(how: str) -> str:
        raised: dict[str, Exception] = {
            "tool error": ToolError("no"),
            "protocol error": InvalidParams("no"),
            "crash": RuntimeError("no"),
        }
        if how in raised:
            raise raised[how]
        return "done"

    ctx = LocalContext(version)
    name = "nothing" if outcome == "unknown tool" else "end"
    params = {"name": name, "arguments": {"how": outcome}}
    assert server.handle(request("tools/call", params, version=version), ctx) is not None
    assert ctx.state.in_flight == {}


@pytest.mark.parity(30)
def test_a_refused_request_is_not_entered() -> None:
    server = McpServer("refusing")
    ctx = LocalContext()
    assert server.handle(Request(1, "no/such/method"), ctx) is not None
    assert ctx.state.in_flight == {}
