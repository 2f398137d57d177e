"""Which methods a server has: every method, on every revision, and behind every capability."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, PeerError, RequestContext
from mcpref.testing import connect

from .support import LEGACY, MODERN, VERSIONS, LocalContext, refusal, result

LEGACY_ONLY = {
    "initialize",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
}
MODERN_ONLY = {"server/discover"}

#: Every method a client may call, with parameters that it is served with.
CALLS: dict[str, dict[str, Any]] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}},
    "ping": {},
    "server/discover": {},
    "tools/list": {},
    "tools/call": {"name": "add", "arguments": {"a": 1, "b": 2}},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "note://a"},
    "resources/subscribe": {"uri": "note://a"},
    "resources/unsubscribe": {"uri": "note://a"},
    "prompts/list": {},
    "prompts/get": {"name": "hello"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "hello"},
        "argument": {"name": "name", "value": "a"},
    },
    "logging/setLevel": {"level": "debug"},
}

#: What a client has no business calling, on any revision.
FOREIGN = [
    "sampling/createMessage",
    "elicitation/create",
    "roots/list",
    "tasks/get",
    "tasks/list",
    "notifications/cancelled",
    "tools/Call",
    "rpc.discover",
    "",
]


def full_server() -> McpServer:
    server = McpServer("full", resource_subscriptions=True)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("note://a")
    def note() -> str:
        return "text"

    @server.prompt
    def hello(name: str = "you") -> str:
        return f"Hello {name}"

    @server.completion(hello, "name")
    def names(value: str) -> list[str]:
        return ["ann"]

    return server


def is_served(method: str, version: str) -> bool:
    return method not in (LEGACY_ONLY if version == MODERN else MODERN_ONLY)


@pytest.mark.req(
    "2025-11-25:errors.method-not-found",
    "2026-07-28:errors.method-not-found-32601",
    "2026-07-28:base.removed-methods",
    "2026-07-28:resources.removed-subscribe",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", CALLS)
def test_a_method_is_served_exactly_where_its_revision_has_it(method: str, version: str) -> None:
    server = full_server()
    ctx = LocalContext(version)
    if version != MODERN and method == "server/discover":
        # Before a handshake it would count as an incomplete modern request.
        result(server, "initialize", CALLS["initialize"], version=version, ctx=ctx)
    if is_served(method, version):
        assert isinstance(result(server, method, CALLS[method], version=version, ctx=ctx), dict)
    else:
        error = refusal(server, method, CALLS[method], version=version, ctx=ctx)
        assert error.code == -32601
        assert method in error.message


@pytest.mark.req("2025-11-25:errors.method-not-found", "2026-07-28:errors.method-not-found-32601")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", FOREIGN)
def test_what_no_client_may_call_is_not_found(method: str, version: str) -> None:
    assert refusal(full_server(), method, version=version).code == -32601


@pytest.mark.parametrize("version", LEGACY)
def test_listen_is_not_found_on_legacy_revisions(version: str) -> None:
    with connect(full_server(), version) as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("subscriptions/listen", {"notifications": {}})
        assert caught.value.code == -32601


# ---- Capabilities -----------------------------------------------------------------------------------------

FEATURES = {
    "tools": ["tools/list", "tools/call"],
    "resources": ["resources/list", "resources/templates/list", "resources/read"],
    "prompts": ["prompts/list", "prompts/get"],
    "completions": ["completion/complete"],
}


@pytest.mark.req(
    "2025-11-25:tools.call-needs-cap",
    "prompts.respect-capabilities",
    "2025-11-25:completion.error-unsupported",
    "2026-07-28:completion.unsupported-32601",
    "2026-07-28:errors.method-not-found-32601",
    "2026-07-28:base.respect-capabilities",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("method", [method for methods in FEATURES.values() for method in methods])
def test_a_feature_that_is_not_offered_is_not_found(method: str, version: str) -> None:
    error = refusal(McpServer("empty"), method, CALLS[method], version=version)
    assert error.code == -32601
    assert "does not offer" in error.message


@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_needs_its_own_flag(method: str, version: str) -> None:
    server = McpServer("plain")
    server.resource("note://a")(_note)
    error = refusal(server, method, {"uri": "note://a"}, version=version)
    assert error.code == -32601
    assert "resources.subscribe" in error.message


@pytest.mark.parity(44)
@pytest.mark.req("2025-11-25:logging.declare", "2026-07-28:logging.declare-capability")
@pytest.mark.parametrize("version", VERSIONS)
def test_logging_is_declared_and_can_be_turned_off(version: str) -> None:
    assert "logging" in declared(McpServer("talks"), version)
    silent = McpServer("silent", logging=False)
    assert "logging" not in declared(silent, version)
    if version != MODERN:
        assert refusal(silent, "logging/setLevel", {"level": "info"}, version=version).code == -32601


@pytest.mark.req(
    "2025-11-25:lifecycle.advertise-features",
    "2025-11-25:tools.declare",
    "2025-11-25:resources.declare",
    "2025-11-25:prompts.declare",
    "2025-11-25:completion.declare",
    "2025-11-25:prompts.list-changed-flag",
    "2026-07-28:base.advertise-features",
    "2026-07-28:tools.declare-capability",
    "2026-07-28:resources.declare-capability",
    "2026-07-28:prompts.declare-capability",
    "2026-07-28:completion.declare-capability",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_registered_is_declared(version: str) -> None:
    everything = declared(full_server(), version)
    assert everything["tools"] == {"listChanged": True}
    assert everything["prompts"] == {"listChanged": True}
    assert everything["resources"] == {"subscribe": True, "listChanged": True}
    # 2024-11-05 has completion, but no capability for it.
    assert ("completions" in everything) == (version != "2024-11-05")
    assert declared(McpServer("empty", logging=False), version) == {}


def test_a_template_alone_declares_resources() -> None:
    server = McpServer("templates")

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    assert "resources" in declared(server, MODERN)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_feature_stays_declared_when_its_last_entry_goes(version: str) -> None:
    server = full_server()
    assert "tools" in declared(server, version)
    server.remove_tool("add")
    assert "tools" in declared(server, version)
    assert result(server, "tools/list", version=version)["tools"] == []


@pytest.mark.req("2026-07-28:base.server-no-requests", "2026-07-28:stdio.server-no-requests")
def test_no_request_leaves_while_a_modern_one_runs() -> None:
    server = McpServer("raw")

    @server.tool
    def raw(ctx: RequestContext) -> str:
        return str(ctx.request("ping", {}, 5))

    with connect(server, capabilities={"roots": {}}) as peer:
        with pytest.raises(PeerError) as caught:
            peer.call_tool("raw")
        assert caught.value.code == -32603
        assert peer.messages == []


def declared(server: McpServer, version: str) -> dict[str, Any]:
    """The capabilities as a client of this revision learns them."""
    if version == MODERN:
        return dict(result(server, "server/discover")["capabilities"])
    handshake = {**CALLS["initialize"], "protocolVersion": version}
    return dict(result(server, "initialize", handshake, version=version)["capabilities"])


def _note() -> str:
    return "text"
