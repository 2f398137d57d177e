"""Pages, cursors and cache hints: the four lists behave alike."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import CacheHint, McpServer, PeerError, Settings
from mcpref.testing import connect

from .support import MODERN, VERSIONS, refusal, result

LISTS = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
]
EXPECTED = [f"entry{number}" for number in range(7)]


def server_with(page_size: int | None, count: int = 7) -> McpServer:
    server = McpServer("pages", settings=Settings(page_size=page_size))
    for number in range(count):
        register(server, f"entry{number}")
    return server


def register(server: McpServer, name: str) -> None:
    server.tool(lambda: None, name=name)
    server.prompt(lambda: "x", name=name)
    server.resource(f"n://{name}", name=name)(lambda: "x")
    server.resource(f"{name}://{{x}}", name=name)(lambda x: x)


def pages(server: McpServer, method: str, kind: str, version: str) -> list[list[str]]:
    """All pages as a client walks them."""
    found: list[list[str]] = []
    params: dict[str, Any] = {}
    while True:
        page = result(server, method, params, version=version)
        found.append([entry["name"] for entry in page[kind]])
        if "nextCursor" not in page:
            return found
        assert isinstance(page["nextCursor"], str)
        params = {"cursor": page["nextCursor"]}
        assert len(found) < 20


@pytest.mark.req(
    "pagination.operations",
    "pagination.after-cursor",
    "2025-11-25:prompts.list",
    "2025-11-25:resources.list",
    "2025-11-25:resources.templates",
    "2025-11-25:tools.list",
    "2026-07-28:prompts.list-answered",
    "2026-07-28:resources.list-answered",
    "2026-07-28:tools.list-answered",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("method", "kind"), LISTS)
@pytest.mark.parametrize(
    ("page_size", "sizes"), [(None, [7]), (1, [1] * 7), (3, [3, 3, 1]), (7, [7]), (8, [7])], ids=str
)
def test_the_pages_together_are_the_list(
    version: str, method: str, kind: str, page_size: int | None, sizes: list[int]
) -> None:
    found = pages(server_with(page_size), method, kind, version)
    assert [len(page) for page in found] == sizes
    assert [name for page in found for name in page] == EXPECTED


@pytest.mark.req("2026-07-28:pagination.invalid-cursor-32602", "2026-07-28:pagination.invalid-graceful")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("method", "kind"), LISTS)
@pytest.mark.parametrize("cursor", ["", "x", "A" * 24, "é" * 24, 5, {"a": 1}, ["x"], True], ids=repr)
def test_a_cursor_that_is_none_of_ours_is_refused(
    version: str, method: str, kind: str, cursor: object
) -> None:
    for page_size in (None, 3):
        error = refusal(server_with(page_size), method, {"cursor": cursor}, version=version)
        assert error.code == -32602
        assert "cursor" in error.message


@pytest.mark.parametrize(("method", "kind"), LISTS)
def test_the_cursor_of_another_list_is_refused(method: str, kind: str) -> None:
    server = server_with(3)
    for other, _ in LISTS:
        cursor = result(server, other)["nextCursor"]
        if other == method:
            assert result(server, method, {"cursor": cursor})[kind]
        else:
            assert refusal(server, method, {"cursor": cursor}).code == -32602


@pytest.mark.req("2026-07-28:pagination.stable-cursors")
@pytest.mark.parametrize(("method", "kind"), LISTS)
def test_a_list_that_grows_between_two_pages_loses_nothing(method: str, kind: str) -> None:
    server = server_with(3)
    first = result(server, method)
    register(server, "late")
    server.remove_tool("entry0")
    rest = []
    cursor = first["nextCursor"]
    while cursor is not None:
        page = result(server, method, {"cursor": cursor})
        rest += [entry["name"] for entry in page[kind]]
        cursor = page.get("nextCursor")
    assert rest == ["entry3", "entry4", "entry5", "entry6", "late"]


def test_a_cursor_serves_any_process_of_the_same_server() -> None:
    """It holds a place, not a secret: another server object with the same entries understands it."""
    cursor = result(server_with(3), "tools/list")["nextCursor"]
    assert [tool["name"] for tool in result(server_with(3), "tools/list", {"cursor": cursor})["tools"]] == [
        "entry3",
        "entry4",
        "entry5",
    ]


@pytest.mark.req(
    "2026-07-28:tools.list-not-per-connection",
    "2026-07-28:prompts.list-not-per-connection",
    "2026-07-28:resources.list-not-per-connection",
)
@pytest.mark.parametrize(("method", "kind"), LISTS)
def test_every_connection_sees_the_same_list(method: str, kind: str) -> None:
    server = server_with(None)
    seen = []
    with connect(server) as one, connect(server, capabilities={"roots": {}}) as other:
        for peer in (one, other, one):
            seen.append([entry["name"] for entry in peer.request(method)[kind]])
            with pytest.raises(PeerError):
                peer.call_tool("missing")
    assert seen == [EXPECTED] * 3


@pytest.mark.parametrize(("method", "kind"), LISTS)
def test_a_modern_answer_leaves_no_trace_in_a_legacy_one(method: str, kind: str) -> None:
    """Both are made from what the server keeps, and neither may write to it."""
    server = server_with(None)
    listed = result(server, method)
    assert "resultType" in listed
    again = result(server, method, version="2025-11-25")
    assert "resultType" not in again
    assert [entry["name"] for entry in again[kind]] == EXPECTED


# ---- Cache hints ------------------------------------------------------------------------------------------


@pytest.mark.req(
    "2026-07-28:caching.hints-present",
    "2026-07-28:caching.page-own-ttl",
    "2026-07-28:caching.pages-same-scope",
)
@pytest.mark.parametrize(("method", "kind"), LISTS)
def test_every_page_carries_the_hint_of_its_list(method: str, kind: str) -> None:
    server = server_with(3)
    server.set_list_cache_hint(method, CacheHint(5_000, "private"))
    params: dict[str, Any] = {}
    hints = []
    for _ in range(3):
        page = result(server, method, params)
        hints.append((page["ttlMs"], page["cacheScope"]))
        params = {"cursor": page.get("nextCursor")}
    assert hints == [(5_000, "private")] * 3
    for other, _ in LISTS:
        if other != method:
            page = result(server, other)
            assert (page["ttlMs"], page["cacheScope"]) == (0, "public")


@pytest.mark.parametrize("version", [version for version in VERSIONS if version != MODERN])
def test_no_other_revision_has_hints(version: str) -> None:
    server = server_with(None)
    server.set_list_cache_hint("tools/list", CacheHint(5_000))
    page = result(server, "tools/list", version=version)
    assert "ttlMs" not in page
    assert "cacheScope" not in page


@pytest.mark.parametrize("method", ["resources/read", "tools/call", "ping", "x"])
def test_only_lists_and_discovery_have_a_hint_for_the_whole_server(method: str) -> None:
    with pytest.raises(ValueError, match="tools/list"):
        McpServer("hints").set_list_cache_hint(method, CacheHint(1))
