"""Modern requests: each brings its own version and capabilities, and nothing else counts."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import (
    CacheHint,
    McpServer,
    PeerError,
    ProtocolVersion,
    RequestContext,
    RequestInfo,
    Roots,
    ToolResponse,
)
from mcpref.jsonrpc import ErrorResponse, Notification, Request
from mcpref.meta import MetaKey
from mcpref.testing import connect

from .support import EVERYTHING, MODERN, PATIENCE, LocalContext, meta, refusal, result


@pytest.fixture
def server() -> McpServer:
    server = McpServer("modern", version="3.1", title="Modern", instructions="Ask away.")

    @server.tool
    def facts(info: RequestInfo) -> dict[str, Any]:
        return {
            "version": info.protocol_version.value,
            "caps": dict(info.client_capabilities),
            "client": info.client_info,
        }

    return server


# ---- Required metadata ------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:meta.missing-required-32602", "2026-07-28:errors.invalid-params-32602")
@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (MetaKey.PROTOCOL_VERSION, "protocolVersion"),
        (MetaKey.CLIENT_CAPABILITIES, "clientCapabilities"),
    ],
)
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "tools/call"])
@pytest.mark.parametrize("shaken", [False, True], ids=["first", "after initialize"])
def test_a_missing_field_is_named(
    server: McpServer, method: str, missing: str, named: str, shaken: bool
) -> None:
    ctx = LocalContext()
    if shaken:
        handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c"}}
        result(server, "initialize", handshake, version="2025-11-25", ctx=ctx)
    fields = {key: value for key, value in meta().items() if key != missing}
    found = server.handle(Request(1, method, {"name": "facts", "_meta": fields}), ctx)
    assert isinstance(found, ErrorResponse)
    assert found.error.code == -32602
    assert named in found.error.message


@pytest.mark.req("2026-07-28:meta.missing-required-32602", "meta.reserved-no-assumptions")
@pytest.mark.parametrize(
    "fields",
    [
        {MetaKey.PROTOCOL_VERSION: 20260728, MetaKey.CLIENT_CAPABILITIES: {}},
        {MetaKey.PROTOCOL_VERSION: None, MetaKey.CLIENT_CAPABILITIES: {}},
        {MetaKey.PROTOCOL_VERSION: MODERN, MetaKey.CLIENT_CAPABILITIES: []},
        {MetaKey.PROTOCOL_VERSION: MODERN, MetaKey.CLIENT_CAPABILITIES: None},
        {MetaKey.PROTOCOL_VERSION: MODERN, MetaKey.CLIENT_CAPABILITIES: "all"},
    ],
    ids=lambda fields: repr(list(fields.values())),
)
def test_a_field_of_the_wrong_type_is_a_missing_one(server: McpServer, fields: dict[str, Any]) -> None:
    found = server.handle(Request(1, "tools/list", {"_meta": fields}), LocalContext())
    assert isinstance(found, ErrorResponse)
    assert found.error.code == -32602


@pytest.mark.req("2026-07-28:meta.missing-required-32602")
@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}, {"_meta": "none"}], ids=repr)
def test_a_method_that_only_modern_revisions_have_says_what_is_missing(
    server: McpServer, params: dict[str, Any] | None
) -> None:
    found = server.handle(Request(1, "server/discover", params), LocalContext())
    assert isinstance(found, ErrorResponse)
    assert found.error.code == -32602
    assert MetaKey.PROTOCOL_VERSION in found.error.message


def test_client_info_is_optional_and_its_wrong_type_is_none(server: McpServer) -> None:
    for info in ({}, {MetaKey.CLIENT_INFO: "tests"}):
        fields = {MetaKey.PROTOCOL_VERSION: MODERN, MetaKey.CLIENT_CAPABILITIES: {}, **info}
        params = {"name": "facts", "arguments": {}, "_meta": fields}
        found = server.handle(Request(1, "tools/call", params), LocalContext())
        assert found is not None
        assert not isinstance(found, ErrorResponse)
        assert found.result["structuredContent"]["client"] is None


# ---- Versions ---------------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:version.unsupported-32022", "2026-07-28:version.unsupported-data")
@pytest.mark.parametrize("version", ["1900-01-01", "2027-01-01", "draft", "", "2025-11-25", "2024-11-05"])
@pytest.mark.parametrize("shaken", [False, True], ids=["first", "after initialize"])
def test_an_unknown_version_is_refused_with_those_there_are(
    server: McpServer, version: str, shaken: bool
) -> None:
    with connect(server, "2025-11-25", initialize=shaken) as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("tools/list", {"_meta": meta(version=version)})
        assert caught.value.code == -32022
        assert caught.value.data == {"supported": [MODERN], "requested": version}


@pytest.mark.req("2026-07-28:errors.reserved-range-meaning")
def test_each_reserved_code_has_its_own_occasion(server: McpServer) -> None:
    """-32021 and -32022 come from these two conditions, and neither takes the other's place."""

    @server.tool
    def ask(ctx: RequestContext) -> str:
        return str(ctx.ask("roots", Roots()))

    assert refusal(server, "tools/call", {"name": "ask"}).code == -32021
    bad = Request(1, "tools/call", {"name": "ask", "_meta": meta(version="1900-01-01")})
    found = server.handle(bad, LocalContext())
    assert isinstance(found, ErrorResponse)
    assert found.error.code == -32022


# ---- Nothing but the request counts -----------------------------------------------------------------------


@pytest.mark.req(
    "2026-07-28:base.stateless-no-prior-context",
    "2026-07-28:base.connection-not-session",
    "2026-07-28:version.dual-server-by-opening",
    "2026-07-28:version.dual-era-server",
    "2026-07-28:stdio.metadata-in-body",
)
def test_both_eras_on_one_connection_keep_apart(server: McpServer) -> None:
    with connect(server, "2025-06-18", capabilities={"roots": {}}) as peer:
        modern = peer.request(
            "tools/call", {"name": "facts", "arguments": {}, "_meta": meta({"sampling": {}})}
        )
        assert modern["structuredContent"]["version"] == MODERN
        assert modern["structuredContent"]["caps"] == {"sampling": {}}
        legacy = peer.request("tools/call", {"name": "facts", "arguments": {}})
        assert legacy["structuredContent"]["version"] == "2025-06-18"
        assert legacy["structuredContent"]["caps"] == {"roots": {}}
        assert "resultType" in modern
        assert "resultType" not in legacy
        assert peer.connection is not None
        assert peer.connection.state.negotiated is ProtocolVersion.V2025_06_18


@pytest.mark.req("2026-07-28:base.stateless-no-prior-context")
def test_what_one_request_declared_does_not_hold_for_the_next(server: McpServer) -> None:
    with connect(server, MODERN, capabilities={}) as peer:
        sent = {"name": "facts", "arguments": {}}
        first = peer.request("tools/call", {**sent, "_meta": meta(EVERYTHING)})
        second = peer.request("tools/call", sent)
        assert first["structuredContent"]["caps"] == EVERYTHING
        assert second["structuredContent"]["caps"] == {}
        assert peer.connection is not None
        assert peer.connection.state.client_capabilities == {}


@pytest.mark.req("2026-07-28:base.state-explicit-id")
def test_state_that_is_named_by_the_client_works_from_another_connection() -> None:
    server = McpServer("baskets")
    baskets: dict[str, list[str]] = {}

    @server.tool
    def put(basket: str, item: str) -> int:
        baskets.setdefault(basket, []).append(item)
        return len(baskets[basket])

    with connect(server) as peer:
        assert peer.call_tool("put", {"basket": "b1", "item": "pear"})["structuredContent"] == 1
    with connect(server) as peer:
        assert peer.call_tool("put", {"basket": "b1", "item": "plum"})["structuredContent"] == 2


@pytest.mark.parity(40)
def test_two_requests_at_once_keep_their_versions(server: McpServer) -> None:
    together = threading.Barrier(2)

    @server.tool
    def meet(ctx: RequestContext) -> str:
        together.wait(PATIENCE)
        seen = ctx.protocol_version.value
        together.wait(PATIENCE)
        return f"{seen} {ctx.protocol_version.value}"

    with connect(server, "2025-03-26") as peer:
        legacy = peer.start("tools/call", {"name": "meet"})
        modern = peer.start("tools/call", {"name": "meet", "_meta": meta()})
        assert legacy.result()["content"][0]["text"] == "2025-03-26 2025-03-26"
        assert modern.result()["content"][0]["text"] == f"{MODERN} {MODERN}"


# ---- server/discover --------------------------------------------------------------------------------------


@pytest.mark.parity(117)
@pytest.mark.req(
    "2026-07-28:discover.implemented",
    "2026-07-28:discover.supported-versions",
    "2026-07-28:discover.capabilities",
    "2026-07-28:discover.instructions-optional",
    "2026-07-28:base.implementation-fields",
)
def test_discover_says_what_the_server_is(server: McpServer) -> None:
    with connect(server) as peer:
        found = peer.request("server/discover")
    assert found["supportedVersions"] == [MODERN]
    assert found["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
    assert found["instructions"] == "Ask away."
    assert found["resultType"] == "complete"
    assert (found["ttlMs"], found["cacheScope"]) == (0, "public")
    assert found["_meta"] == {MetaKey.SERVER_INFO: {"name": "modern", "version": "3.1", "title": "Modern"}}
    assert "serverInfo" not in found


@pytest.mark.req("2026-07-28:discover.implemented")
def test_an_empty_server_can_be_discovered_too() -> None:
    found = result(McpServer("empty", logging=False), "server/discover")
    assert found["capabilities"] == {}
    assert "instructions" not in found


def test_the_hint_of_discover_can_be_set(server: McpServer) -> None:
    server.set_list_cache_hint("server/discover", CacheHint(60_000, "private"))
    found = result(server, "server/discover")
    assert (found["ttlMs"], found["cacheScope"]) == (60_000, "private")


# ---- Every result -----------------------------------------------------------------------------------------


@pytest.mark.req(
    "2026-07-28:jsonrpc.result-type-present",
    "2026-07-28:jsonrpc.result-type-complete",
    "2026-07-28:caching.hints-present",
)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "facts"}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "note://a"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "hello"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "hello"}, "argument": {}}),
    ],
)
def test_every_result_says_that_it_is_complete_and_whose(
    server: McpServer, method: str, params: dict[str, Any]
) -> None:
    @server.resource("note://a")
    def note() -> str:
        return "text"

    @server.prompt
    def hello(name: str = "you") -> str:
        return f"Hello {name}"

    @server.completion(hello, "name")
    def names(value: str) -> list[str]:
        return []

    if method == "completion/complete":
        params = {**params, "argument": {"name": "name", "value": ""}}
    found = result(server, method, params)
    assert found["resultType"] == "complete"
    assert found["_meta"][MetaKey.SERVER_INFO]["name"] == "modern"
    cacheable = method not in ("tools/call", "prompts/get", "completion/complete")
    assert (type(found.get("ttlMs")) is int) == cacheable
    assert (found.get("cacheScope") in ("public", "private")) == cacheable


def test_a_tools_own_meta_stands_beside_the_servers(server: McpServer) -> None:
    @server.tool
    def tagged() -> ToolResponse[Any]:
        return ToolResponse("x", meta={"com.example/tag": 1})

    found = result(server, "tools/call", {"name": "tagged"})
    assert found["_meta"]["com.example/tag"] == 1
    assert found["_meta"][MetaKey.SERVER_INFO]["name"] == "modern"


# ---- Extensions -------------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:version.extension-default-off", "2026-07-28:version.extension-settings")
def test_extensions_are_declared_only_when_turned_on() -> None:
    assert "extensions" not in result(McpServer("plain"), "server/discover")["capabilities"]
    extended = McpServer("extended", extensions={"com.example/a": {}, "com.example/b": {"max": 3}})
    declared = result(extended, "server/discover")["capabilities"]["extensions"]
    assert declared == {"com.example/a": {}, "com.example/b": {"max": 3}}
    with pytest.raises(ValueError, match="prefix"):
        McpServer("unprefixed", extensions={"mine": {}})


@pytest.mark.req("2026-07-28:version.extension-fallback")
def test_an_extension_that_only_the_client_has_changes_nothing(server: McpServer) -> None:
    declared = {"extensions": {"com.example/other": {"level": 9}}}
    assert result(server, "tools/list", capabilities=declared)["tools"]
    assert refusal(server, "com.example/other/do", capabilities=declared).code == -32601


def test_a_notification_of_either_era_is_taken_in_silence(server: McpServer) -> None:
    with connect(server) as peer:
        peer.notify("notifications/initialized")
        peer.notify("notifications/roots/list_changed")
        peer.notify("notifications/unheard/of", {"_meta": meta()})
        assert peer.request("tools/list")["tools"]
        assert peer.messages == []
        assert server.handle(Notification("notifications/unheard/of"), LocalContext()) is None
