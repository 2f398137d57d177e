"""ConnectionState: what one peer's connection remembers, and who owns it."""

from __future__ import annotations

import threading

import pytest

from mcpref import (
    CancellationToken,
    InvalidParams,
    McpServer,
    NullContext,
    ProtocolVersion,
    RequestInfo,
    ServerMode,
    ToolError,
)
from mcpref.jsonrpc import Notification, Request
from mcpref.server.state import ConnectionState
from mcpref.testing import connect

from .support import LEGACY, PATIENCE, LocalContext, request, result


@pytest.mark.parity(1)
def test_a_fresh_state() -> None:
    state = ConnectionState()
    assert state.negotiated is ProtocolVersion.V2025_11_25
    assert state.log_level == "info"
    assert state.client_capabilities == {}
    assert state.client_info is None
    assert state.subscriptions == frozenset()
    assert state.in_flight == {}
    assert (state.initialize_processed, state.initialized) == (False, False)


@pytest.mark.parity(2)
def test_two_states_share_nothing() -> None:
    one, other = ConnectionState(), ConnectionState()
    one.negotiate(ProtocolVersion.V2024_11_05, {"roots": {}}, {"name": "one", "version": "1"})
    one.mark_initialized()
    one.set_log_level("error")
    one.subscribe("file:///a")
    one.track(1, CancellationToken())

    assert other.negotiated is ProtocolVersion.V2025_11_25
    assert (other.client_capabilities, other.client_info) == ({}, None)
    assert (other.log_level, other.subscriptions, other.in_flight) == ("info", frozenset(), {})
    assert not other.initialize_processed
    assert not other.cancel(1)


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


@pytest.mark.parity(28)
def test_a_number_and_its_text_are_two_requests() -> None:
    state = ConnectionState()
    number, text = CancellationToken(), CancellationToken()
    assert state.track(1, number)
    assert state.track("1", text)
    assert state.cancel("1")
    assert (number.cancelled, text.cancelled) == (False, True)
    state.untrack("1", text)
    assert state.in_flight == {1: number}


@pytest.mark.parity(30)
def test_a_duplicate_id_does_not_evict_the_running_request() -> None:
    state = ConnectionState()
    first, second = CancellationToken(), CancellationToken()
    assert state.track(7, first)
    assert not state.track(7, second)
    state.untrack(7, second)
    assert state.in_flight == {7: first}
    state.cancel(7)
    assert (first.cancelled, second.cancelled) == (True, False)


@pytest.mark.parity(31)
@pytest.mark.parametrize("request_id", ["unknown", 99, None, 1.0, True, [1], {"id": 1}], ids=repr)
def test_a_cancellation_of_nothing_is_ignored(request_id: object) -> None:
    state = ConnectionState()
    token = CancellationToken()
    state.track(1, token)
    assert not state.cancel(request_id)
    assert not token.cancelled


@pytest.mark.parity(32)
def test_a_token_starts_unset_and_can_be_set_twice() -> None:
    token = CancellationToken()
    seen = [token.is_cancelled]
    token.cancel("first")
    seen.append(token.is_cancelled)
    token.cancel("second")
    seen.append(token.is_cancelled)
    assert seen == [False, True, True]
    assert token.reason == "first"


def test_a_shutdown_cancels_but_lets_answers_out() -> None:
    state = ConnectionState()
    token = CancellationToken()
    state.track(1, token)
    state.cancel_all("going down")
    assert (token.cancelled, token.reason, token.suppresses_response) == (True, "going down", False)


@pytest.mark.parity(30)
def test_many_threads_track_and_untrack_without_loss() -> None:
    state = ConnectionState()
    start = threading.Barrier(8)

    def work(base: int) -> None:
        start.wait(PATIENCE)
        for number in range(base, base + 200):
            token = CancellationToken()
            assert state.track(number, token)
            state.untrack(number, token)

    threads = [threading.Thread(target=work, args=(base * 1000,)) for base in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert state.in_flight == {}


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
