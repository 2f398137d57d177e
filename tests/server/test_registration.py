"""Registering: decorators, blueprints, and entries that come and go while the server runs."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import Blueprint, McpServer, PeerError, content
from mcpref.meta import MetaKey
from mcpref.testing import connect

from .support import LEGACY, MODERN, VERSIONS, call, refusal, result, texts


def names(server: McpServer, method: str, kind: str, key: str = "name") -> list[str]:
    return [entry[key] for entry in result(server, method)[kind]]


def test_a_decorator_returns_the_function_itself() -> None:
    server = McpServer("decorated")

    def plain(a: int) -> int:
        return a + 1

    assert server.tool(plain) is plain
    assert server.tool(name="again")(plain) is plain
    assert server.prompt(plain) is plain
    assert server.resource("n://{a}")(plain) is plain
    assert plain(1) == 2


def test_a_bound_method_is_a_tool() -> None:
    class Counter:
        def __init__(self) -> None:
            self.value = 0

        def add(self, by: int = 1) -> int:
            """Count."""
            self.value += by
            return self.value

    server, counter = McpServer("bound"), Counter()
    server.tool(counter.add)
    server.tool(counter.add, name="more")
    call(server, "add", {"by": 2})
    assert call(server, "more")["structuredContent"] == 3
    assert counter.value == 3


def test_an_async_function_is_refused_with_the_reason() -> None:
    async def later() -> str:
        return "x"

    with pytest.raises(TypeError, match="async"):
        McpServer("sync").tool(later)


def test_a_reserved_meta_key_is_refused() -> None:
    with pytest.raises(ValueError, match="reserved"):
        McpServer("meta").tool(lambda: None, name="x", meta={"io.modelcontextprotocol/x": 1})


@pytest.mark.req("2025-11-25:prompts.name-unique", "2025-11-25:resources.uri-identity")
def test_a_second_entry_of_the_same_name_is_refused() -> None:
    server = McpServer("unique")
    server.prompt(lambda: "x", name="p")
    server.resource("n://a", name="a")(lambda: "x")
    server.resource("n://{x}", name="t")(lambda x: x)
    with pytest.raises(ValueError, match="'p' already"):
        server.prompt(lambda: "y", name="p")
    with pytest.raises(ValueError, match="'n://a' already"):
        server.resource("n://a", name="b")(lambda: "y")
    with pytest.raises(ValueError, match="already"):
        server.resource("n://{x}", name="u")(lambda x: x)
    assert result(server, "prompts/get", {"name": "p"})["messages"][0]["content"]["text"] == "x"


def test_removing_what_is_not_there_says_so() -> None:
    server = McpServer("gone")
    for remove in (server.remove_tool, server.remove_prompt, server.remove_resource):
        with pytest.raises(KeyError):
            remove("nothing")


# ---- Blueprints -------------------------------------------------------------------------------------------


def blueprint() -> Blueprint:
    part = Blueprint()

    @part.tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @part.prompt
    def hello(name: str) -> str:
        return f"Hello {name}"

    @part.completion(hello, "name")
    def complete_name(value: str) -> list[str]:
        return ["Ann"]

    @part.resource("calc://{n}")
    def square(n: int) -> str:
        return str(n * n)

    @part.completion(square, "n")
    def complete_n(value: str) -> list[str]:
        return ["4"]

    return part


def complete(server: McpServer, ref: dict[str, str], name: str) -> list[str]:
    params = {"ref": ref, "argument": {"name": name, "value": ""}}
    return list(result(server, "completion/complete", params)["completion"]["values"])


def test_a_blueprint_is_taken_in_with_a_prefix_for_names_and_none_for_uris() -> None:
    server = McpServer("parts")
    part = blueprint()
    server.include(part, prefix="calc_")
    assert names(server, "tools/list", "tools") == ["calc_add"]
    assert names(server, "prompts/list", "prompts") == ["calc_hello"]
    assert call(server, "calc_add", {"a": 1, "b": 2})["structuredContent"] == 3
    assert result(server, "resources/read", {"uri": "calc://5"})["contents"][0]["text"] == "25"
    assert complete(server, {"type": "ref/prompt", "name": "calc_hello"}, "name") == ["Ann"]
    assert complete(server, {"type": "ref/resource", "uri": "calc://{n}"}, "n") == ["4"]
    assert refusal(server, "tools/call", {"name": "add"}).code == -32602


def test_one_blueprint_serves_several_servers() -> None:
    part = blueprint()
    one, other = McpServer("one"), McpServer("other")
    one.include(part)
    other.include(part, prefix="x_")
    assert names(one, "tools/list", "tools") == ["add"]
    assert names(other, "tools/list", "tools") == ["x_add"]
    one.remove_tool("add")
    assert names(other, "tools/list", "tools") == ["x_add"]


def test_a_clash_of_names_is_refused_and_nothing_is_half_included() -> None:
    server = McpServer("clash")

    @server.prompt
    def hello() -> str:
        return "mine"

    with pytest.raises(ValueError, match="hello"):
        server.include(blueprint())
    assert result(server, "prompts/get", {"name": "hello"})["messages"][0]["content"]["text"] == "mine"
    assert refusal(server, "tools/list").code == -32601
    server.include(blueprint(), prefix="b_")
    assert names(server, "prompts/list", "prompts") == ["hello", "b_hello"]


def test_a_prefix_that_makes_a_bad_name_is_refused() -> None:
    with pytest.raises(ValueError, match="name"):
        McpServer("bad").include(blueprint(), prefix="no spaces ")


# ---- Coming and going -------------------------------------------------------------------------------------

CHANGES = [
    ("tools", "toolsListChanged"),
    ("prompts", "promptsListChanged"),
    ("resources", "resourcesListChanged"),
]


def changeable() -> McpServer:
    server = McpServer("changing")
    server.tool(lambda: None, name="first")
    server.prompt(lambda: "x", name="first")
    server.resource("n://first", name="first")(lambda: "x")
    return server


def change(server: McpServer, kind: str, add: bool) -> None:
    match kind, add:
        case "tools", True:
            server.tool(lambda: None, name="second")
        case "tools", False:
            server.remove_tool("second")
        case "prompts", True:
            server.prompt(lambda: "x", name="second")
        case "prompts", False:
            server.remove_prompt("second")
        case "resources", True:
            server.resource("n://{x}", name="second")(lambda x: x)
        case "resources", False:
            server.remove_resource("n://{x}")


@pytest.mark.req(
    "tools.list-changed",
    "prompts.list-changed",
    "resources.list-changed",
    "2025-11-25:resources.list-changed-unsolicited",
)
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize(("kind", "_flag"), CHANGES)
def test_a_legacy_client_is_told_of_every_change(version: str, kind: str, _flag: str) -> None:
    server = changeable()
    with connect(server, version) as peer:
        peer.request("ping")  # behind notifications/initialized, so that it has been read
        for add in (True, False):
            change(server, kind, add)
            told = peer.next_notification()
            assert (told.method, told.params) == (f"notifications/{kind}/list_changed", None)


def test_a_client_that_has_not_shaken_hands_is_told_nothing() -> None:
    server = changeable()
    with connect(server, "2025-11-25", initialize=False) as peer:
        change(server, "tools", True)
        assert peer.request("ping") == {}
        peer.initialize()
        peer.request("ping")
        assert peer.messages == []
        change(server, "tools", False)
        assert peer.next_notification().method == "notifications/tools/list_changed"


@pytest.mark.req("tools.list-changed", "prompts.list-changed", "resources.list-changed")
@pytest.mark.parametrize(("kind", "flag"), CHANGES)
def test_a_modern_client_is_told_if_it_listens(kind: str, flag: str) -> None:
    server = changeable()
    with connect(server) as peer:
        change(server, kind, True)
        listening = peer.start("subscriptions/listen", {"notifications": {flag: True}})
        peer.next_notification("notifications/subscriptions/acknowledged")
        change(server, kind, False)
        told = peer.next_notification()
        assert told.method == f"notifications/{kind}/list_changed"
        assert told.params == {"_meta": {MetaKey.SUBSCRIPTION_ID: listening.id}}


@pytest.mark.req(
    "2026-07-28:tools.list-may-be-empty",
    "2026-07-28:prompts.list-may-be-empty",
    "2026-07-28:resources.list-may-be-empty",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_entry_is_there_as_soon_as_it_is_registered(version: str) -> None:
    server = changeable()
    with connect(server, version) as peer:

        def shown(method: str, kind: str) -> list[Any]:
            return [entry["name"] for entry in peer.request(method)[kind]]

        assert shown("tools/list", "tools") == ["first"]
        server.tool(lambda: "new", name="second")
        assert shown("tools/list", "tools") == ["first", "second"]
        assert texts(peer.call_tool("second")) == "new"
        server.remove_tool("second")
        server.remove_tool("first")
        assert shown("tools/list", "tools") == []
        with pytest.raises(PeerError) as caught:
            peer.call_tool("second")
        assert caught.value.code == -32602


def test_a_change_that_the_registry_cannot_see_is_announced_by_hand() -> None:
    server = changeable()
    with connect(server, LEGACY[-1]) as peer:
        peer.request("ping")
        server.notify_list_changed("prompts")
        assert peer.next_notification().method == "notifications/prompts/list_changed"


def test_a_call_that_runs_is_not_disturbed_by_the_removal_of_its_tool() -> None:
    server = McpServer("self")

    @server.tool
    def once() -> list[content.Content]:
        server.remove_tool("once")
        return [content.text("last words")]

    with connect(server, MODERN) as peer:
        assert texts(peer.call_tool("once")) == "last words"
        assert peer.request("tools/list")["tools"] == []
