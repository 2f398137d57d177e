"""The legacy handshake: negotiation, the guard against a second one, and work before it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, PeerError, ProtocolVersion, RequestContext, ServerMode
from mcpref.jsonrpc import ErrorResponse, Notification, Response
from mcpref.testing import connect

from .support import FORM, LEGACY, MODERN, LocalContext, answer, refusal, request, result


def params(version: object = "2025-11-25", **capabilities: object) -> dict[str, Any]:
    return {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"},
    }


@pytest.fixture
def server() -> McpServer:
    server = McpServer(
        "lifecycle",
        version="1.2",
        title="The lifecycle",
        instructions="Be kind.",
        resource_subscriptions=True,
    )

    @server.tool
    def greet(name: str = "you") -> str:
        return f"Hello {name}"

    @server.resource("note://a")
    def note() -> str:
        return "text"

    return server


@pytest.mark.req(
    "2025-11-25:lifecycle.server-responds",
    "2025-11-25:lifecycle.version-echo",
    "2025-11-25:lifecycle.implementation-fields",
)
@pytest.mark.parametrize("version", LEGACY)
def test_a_supported_version_is_agreed_on(server: McpServer, version: str) -> None:
    ctx = LocalContext()
    answered = result(server, "initialize", params(version), version=version, ctx=ctx)
    assert answered["protocolVersion"] == version
    assert answered["serverInfo"]["name"] == "lifecycle"
    assert answered["serverInfo"]["version"] == "1.2"
    assert answered["instructions"] == "Be kind."
    assert answered["capabilities"]["tools"] == {"listChanged": True}
    assert "resultType" not in answered
    assert ctx.state.negotiated is ProtocolVersion(version)


@pytest.mark.parity(22)
@pytest.mark.req("2025-11-25:lifecycle.version-counter", "2025-11-25:lifecycle.version-counter-latest")
@pytest.mark.parametrize("version", ["1999-01-01", "2099-01-01", "draft", "DRAFT-2026-v1", "x", MODERN])
def test_any_other_version_is_answered_with_the_newest_that_has_a_handshake(
    server: McpServer, version: str
) -> None:
    ctx = LocalContext()
    answered = result(server, "initialize", params(version), version="2025-11-25", ctx=ctx)
    assert answered["protocolVersion"] == "2025-11-25"
    assert ctx.state.negotiated is ProtocolVersion.V2025_11_25


@pytest.mark.parity(21)
@pytest.mark.req("2025-11-25:errors.invalid-params")
@pytest.mark.parametrize("version", [None, "", 20251125, ["2025-11-25"], {"v": 1}, True], ids=repr)
def test_a_version_that_is_no_text_is_refused(server: McpServer, version: object) -> None:
    ctx = LocalContext()
    error = refusal(server, "initialize", params(version), version="2025-11-25", ctx=ctx)
    assert error.code == -32602
    assert "protocolVersion" in error.message
    assert not ctx.state.initialize_processed


@pytest.mark.parity(21)
def test_a_missing_version_is_refused_and_the_next_try_succeeds(server: McpServer) -> None:
    ctx = LocalContext()
    assert refusal(server, "initialize", {}, version="2025-11-25", ctx=ctx).code == -32602
    assert result(server, "initialize", params(), version="2025-11-25", ctx=ctx)["protocolVersion"]


def test_capabilities_of_the_wrong_type_count_as_none(server: McpServer) -> None:
    ctx = LocalContext()
    sent = {"protocolVersion": "2025-11-25", "capabilities": "all", "clientInfo": 5}
    result(server, "initialize", sent, version="2025-11-25", ctx=ctx)
    assert (ctx.state.client_capabilities, ctx.state.client_info) == ({}, None)


# ---- A second initialize ----------------------------------------------------------------------------------


@pytest.mark.parity(16)
def test_a_second_initialize_is_refused_and_changes_nothing(server: McpServer) -> None:
    ctx = LocalContext()
    result(server, "initialize", params("2025-06-18", roots={}), version="2025-06-18", ctx=ctx)
    server.handle(Notification("notifications/initialized"), ctx)

    error = refusal(server, "initialize", params("2024-11-05", sampling={}), version="2025-06-18", ctx=ctx)
    assert error.code == -32600
    assert "already initialized" in error.message
    assert ctx.state.negotiated is ProtocolVersion.V2025_06_18
    assert ctx.state.client_capabilities == {"roots": {}}
    assert ctx.state.initialized


@pytest.mark.parity(17)
def test_the_guard_trips_before_the_client_says_it_is_ready(server: McpServer) -> None:
    ctx = LocalContext()
    result(server, "initialize", params(), version="2025-11-25", ctx=ctx)
    assert not ctx.state.initialized
    assert refusal(server, "initialize", params(), version="2025-11-25", ctx=ctx).code == -32600


@pytest.mark.parity(18)
def test_a_stateless_server_has_no_guard() -> None:
    server = McpServer("stateless", mode=ServerMode.STATELESS)
    ctx = LocalContext()
    for version in ("2025-06-18", "2025-11-25"):
        answered = result(server, "initialize", params(version), version=version, ctx=ctx)
        assert answered["protocolVersion"] == version


@pytest.mark.parity(16)
def test_the_guard_holds_over_a_connection(server: McpServer) -> None:
    with connect(server, "2025-06-18") as peer:
        with pytest.raises(PeerError) as caught:
            peer.initialize("2025-03-26")
        assert caught.value.code == -32600
        assert peer.connection is not None
        assert peer.connection.state.negotiated is ProtocolVersion.V2025_06_18
        assert peer.call_tool("greet")["content"][0]["text"] == "Hello you"


# ---- Work before the handshake ----------------------------------------------------------------------------


@pytest.mark.parity(19)
@pytest.mark.req("2025-11-25:lifecycle.init-first")
@pytest.mark.parametrize("version", LEGACY)
def test_a_server_that_insists_serves_nothing_before_the_handshake(version: str) -> None:
    server = McpServer("strict", require_initialized=True)
    server.tool(lambda: "x", name="x")
    ctx = LocalContext(version)

    early = refusal(server, "tools/list", version=version, ctx=ctx)
    assert (early.code, "not initialized" in early.message) == (-32002, True)
    assert result(server, "ping", version=version, ctx=ctx) == {}

    result(server, "initialize", params(version), version=version, ctx=ctx)
    assert refusal(server, "tools/list", version=version, ctx=ctx).code == -32002
    assert result(server, "ping", version=version, ctx=ctx) == {}

    server.handle(Notification("notifications/initialized"), ctx)
    assert [tool["name"] for tool in result(server, "tools/list", version=version, ctx=ctx)["tools"]] == ["x"]


@pytest.mark.parity(19)
def test_insisting_can_be_turned_on_later() -> None:
    server = McpServer("strict")
    server.tool(lambda: "x", name="x")
    assert result(server, "tools/list", version="2025-11-25", ctx=LocalContext())["tools"]
    server.require_initialized()
    assert refusal(server, "tools/list", version="2025-11-25", ctx=LocalContext()).code == -32002


@pytest.mark.parity(19)
@pytest.mark.req("2026-07-28:errors.no-32002")
def test_a_modern_request_needs_no_handshake_even_there() -> None:
    server = McpServer("strict", require_initialized=True)
    server.tool(lambda: "x", name="x")
    assert result(server, "tools/list")["tools"][0]["name"] == "x"


@pytest.mark.parity(20)
def test_insisting_is_off_unless_asked_for_and_never_on_a_stateless_server(server: McpServer) -> None:
    assert result(server, "tools/list", version="2025-11-25", ctx=LocalContext())["tools"]
    stateless = McpServer("stateless", mode=ServerMode.STATELESS, require_initialized=True)
    stateless.tool(lambda: "x", name="x")
    assert result(stateless, "tools/list", version="2025-11-25", ctx=LocalContext())["tools"]


def test_initialized_out_of_turn_changes_nothing(server: McpServer) -> None:
    ctx = LocalContext()
    server.handle(Notification("notifications/initialized"), ctx)
    assert not ctx.state.initialized
    assert result(server, "initialize", params(), version="2025-11-25", ctx=ctx)["protocolVersion"]


@pytest.mark.req("2025-11-25:ping.respond", "2025-11-25:base.core-required")
@pytest.mark.parametrize("version", LEGACY)
def test_ping_is_answered_with_nothing(server: McpServer, version: str) -> None:
    with connect(server, version) as peer:
        assert peer.request("ping") == {}


# ---- Stateless mode ---------------------------------------------------------------------------------------


@pytest.fixture
def stateless() -> McpServer:
    server = McpServer("stateless", mode=ServerMode.STATELESS)

    @server.tool
    def facts(ctx: RequestContext) -> dict[str, Any]:
        return {"version": ctx.protocol_version.value, "caps": dict(ctx.client_capabilities)}

    @server.tool
    def ask_user(ctx: RequestContext) -> str:
        return ctx.elicit("Sure?", {"type": "object", "properties": {}}).action

    @server.tool
    def ask_model(ctx: RequestContext) -> str:
        return ctx.sample(
            {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 5}
        ).text

    @server.tool
    def ask_roots(ctx: RequestContext) -> str:
        return str(ctx.list_roots())

    @server.resource("note://a")
    def note() -> str:
        return "text"

    return server


@pytest.mark.parity(5)
def test_one_clients_initialize_is_invisible_to_another(stateless: McpServer) -> None:
    one = LocalContext()
    result(stateless, "initialize", params("2025-06-18", roots={}), version="2025-06-18", ctx=one)

    other = result(
        stateless, "tools/call", {"name": "facts"}, version="2025-11-25", ctx=LocalContext("2025-03-26")
    )
    assert '"version":"2025-03-26"' in other["content"][0]["text"]
    assert '"caps":{}' in other["content"][0]["text"]
    fresh = result(stateless, "tools/call", {"name": "facts"}, version="2025-11-25", ctx=LocalContext())
    assert fresh["structuredContent"] == {"version": "2025-11-25", "caps": {}}
    assert stateless.bound_state.client_capabilities == {}


@pytest.mark.parity(9)
@pytest.mark.parametrize("tool", ["ask_user", "ask_model", "ask_roots"])
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_stateless_server_asks_nobody_over_stdio(stateless: McpServer, version: str, tool: str) -> None:
    def unexpected(asked: object) -> dict[str, Any]:
        raise AssertionError(f"the client was asked {asked!r}")

    with connect(stateless, version, on_elicit=unexpected, on_sample=unexpected, on_roots=unexpected) as peer:
        with pytest.raises(PeerError) as caught:
            peer.call_tool(tool)
        assert caught.value.code == -32600
        assert [message for message in peer.messages if "id" in message] == []


@pytest.mark.parity(11)
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("resources/subscribe", {"uri": "note://a"}),
        ("resources/unsubscribe", {"uri": "note://a"}),
        ("logging/setLevel", {"level": "error"}),
    ],
)
def test_what_would_be_remembered_is_not_served_stateless(
    stateless: McpServer, version: str, method: str, sent: dict[str, str]
) -> None:
    error = refusal(stateless, method, sent, version=version)
    assert error.code == -32601
    assert isinstance(error.data, dict)
    assert "ServerMode.STATEFUL" in error.data["reason"]


@pytest.mark.parity(11)
def test_the_same_methods_are_served_stateful(server: McpServer) -> None:
    assert result(server, "resources/subscribe", {"uri": "note://a"}, version="2025-11-25") == {}
    assert result(server, "logging/setLevel", {"level": "error"}, version="2025-11-25") == {}


# ---- After the handshake ----------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:lifecycle.operation-version", "2025-11-25:lifecycle.operation-capabilities")
@pytest.mark.parametrize("version", LEGACY)
def test_the_agreed_version_holds_for_the_connection(version: str) -> None:
    server = McpServer("holding")

    @server.tool(title="Where", annotations={"readOnlyHint": True})
    def where(ctx: RequestContext) -> dict[str, Any]:
        return {"version": ctx.protocol_version.value, "form": ctx.client_supports("elicitation")}

    with connect(server, version, capabilities=FORM) as peer:
        listed = peer.request("tools/list")["tools"][0]
        assert ("title" in listed) == (version >= "2025-06-18")
        assert ("annotations" in listed) == (version >= "2025-03-26")
        text = peer.call_tool("where")["content"][0]["text"]
        assert text == f'{{"version":"{version}","form":true}}'


@pytest.mark.req("2025-11-25:lifecycle.no-shutdown-message")
def test_there_is_no_shutdown_message(server: McpServer) -> None:
    with connect(server, "2025-11-25") as peer:
        for method in ("shutdown", "exit"):
            with pytest.raises(PeerError) as caught:
                peer.request(method)
            assert caught.value.code == -32601
        connection = peer.connection
        assert peer.close(), "closing the transport is all it takes"
        assert connection is not None
        assert connection.finished.is_set()


@pytest.mark.req("2025-11-25:jsonrpc.result-id-match", "2025-11-25:jsonrpc.error-id-match")
@pytest.mark.parametrize("id", [0, -7, 2**60, "", "1", "é\u2028"], ids=repr)
def test_an_answer_repeats_the_id_of_its_request(server: McpServer, id: str | int) -> None:
    good = server.handle(request("tools/list", version="2025-11-25", id=id), LocalContext())
    bad = server.handle(request("no/such", version="2025-11-25", id=id), LocalContext())
    assert isinstance(good, Response)
    assert isinstance(bad, ErrorResponse)
    assert (good.id, type(good.id)) == (bad.id, type(bad.id)) == (id, type(id))


def test_a_notification_is_never_answered(server: McpServer) -> None:
    for method in (
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/unknown",
        "tools/list",
    ):
        assert server.handle(Notification(method, {"requestId": 1}), LocalContext()) is None
    assert answer(server, "tools/list", version="2025-11-25") is not None
