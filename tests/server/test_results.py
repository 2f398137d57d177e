"""`mcpref.server.results`: what every result of a revision carries, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import content
from mcpref.caching import CACHEABLE_METHODS, CacheHint
from mcpref.errors import (
    InternalError,
    InvalidParams,
    NotInitialized,
    ProtocolError,
    ResourceNotFound,
    UrlElicitationRequired,
)
from mcpref.meta import MetaKey
from mcpref.server.results import (
    finish,
    finish_error,
    needs_shaping,
    shape,
    shape_blocks,
    shape_content,
)
from mcpref.versions import ProtocolVersion

V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28 = ProtocolVersion
LEGACY = [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25]
INFO = {"name": "results", "version": "1"}
HINT = CacheHint(60_000, "private")


def finished(result: dict[str, Any], method: str, version: ProtocolVersion = V2026_07_28) -> dict[str, Any]:
    return finish(result, method, version, INFO, HINT)


# ---- finish ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEGACY, ids=str)
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "ping"])
def test_a_legacy_result_gets_nothing(method: str, version: ProtocolVersion) -> None:
    result = {"content": [], "_meta": {"com.example/k": 1}}
    assert finished(result, method, version) is result
    assert result == {"content": [], "_meta": {"com.example/k": 1}}


@pytest.mark.req("2026-07-28:jsonrpc.result-type-present", "2026-07-28:jsonrpc.result-type-complete")
@pytest.mark.parametrize("result", [{}, {"content": []}, {"tools": []}, {"content": [], "requestState": "x"}])
def test_a_modern_result_is_complete(result: dict[str, Any]) -> None:
    assert finished(dict(result), "tools/call")["resultType"] == "complete"


@pytest.mark.req("2026-07-28:jsonrpc.result-type-input-required")
@pytest.mark.parametrize(
    "result", [{"inputRequests": {}}, {"requestState": "x"}, {"inputRequests": {}, "requestState": "x"}]
)
def test_a_modern_result_that_asks_says_so(result: dict[str, Any]) -> None:
    assert finished(dict(result), "tools/call")["resultType"] == "input_required"


def test_a_result_type_that_is_set_is_kept() -> None:
    assert finished({"resultType": "task"}, "tools/call")["resultType"] == "task"
    assert finished({"resultType": "complete", "requestState": "x"}, "tools/call")["resultType"] == "complete"


def test_a_modern_result_names_the_server() -> None:
    assert finished({}, "tools/call")["_meta"] == {MetaKey.SERVER_INFO: INFO}


def test_the_meta_of_a_handler_is_kept() -> None:
    meta = {"com.example/k": 1}
    result = finished({"_meta": meta}, "tools/call")
    assert result["_meta"] == {MetaKey.SERVER_INFO: INFO, "com.example/k": 1}
    assert meta == {"com.example/k": 1}


@pytest.mark.req("2026-07-28:caching.hints-present", "2026-07-28:caching.ttl-nonnegative")
@pytest.mark.parametrize("method", sorted(CACHEABLE_METHODS))
def test_a_complete_cacheable_result_carries_the_hint(method: str) -> None:
    result = finished({}, method)
    assert (result["ttlMs"], result["cacheScope"]) == (60_000, "private")
    negative = finish({}, method, V2026_07_28, INFO, CacheHint(-5))
    assert (negative["ttlMs"], negative["cacheScope"]) == (0, "public")


def test_a_hint_that_is_set_is_kept() -> None:
    result = finished({"ttlMs": 1, "cacheScope": "public"}, "resources/read")
    assert (result["ttlMs"], result["cacheScope"]) == (1, "public")


@pytest.mark.req("2026-07-28:caching.input-required-no-hints")
def test_a_read_that_asks_carries_no_hint() -> None:
    result = finished({"inputRequests": {}}, "resources/read")
    assert not {"ttlMs", "cacheScope"} & result.keys()


@pytest.mark.parametrize(
    "method", ["tools/call", "prompts/get", "completion/complete", "subscriptions/listen"]
)
def test_other_results_carry_no_hint(method: str) -> None:
    assert not {"ttlMs", "cacheScope"} & finished({}, method).keys()


# ---- finish_error ----------------------------------------------------------------------------------------

SIGN_IN = {"mode": "url", "url": "https://example.com/", "elicitationId": "1", "message": "Sign in"}


@pytest.mark.req("2025-11-25:resources.not-found")
@pytest.mark.parametrize("version", LEGACY, ids=str)
def test_a_missing_resource_on_legacy_revisions(version: ProtocolVersion) -> None:
    error = ResourceNotFound("file:///none")
    assert finish_error(error, version) is error


@pytest.mark.req("2026-07-28:errors.no-32002", "2026-07-28:resources.not-found-32602")
def test_a_missing_resource_on_the_modern_one() -> None:
    error = finish_error(ResourceNotFound("file:///none"), V2026_07_28)
    assert (error.code, error.data) == (-32602, {"uri": "file:///none"})
    assert error.message == ResourceNotFound("file:///none").message


@pytest.mark.req("2026-07-28:errors.no-32002")
def test_a_missing_handshake_never_shows_on_the_modern_one() -> None:
    assert finish_error(NotInitialized(), V2026_07_28).code != -32002


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
@pytest.mark.req("2026-07-28:errors.no-32042")
def test_a_url_is_asked_for_by_an_error_on_2025_11_25_alone(version: ProtocolVersion) -> None:
    error = finish_error(UrlElicitationRequired([SIGN_IN]), version)
    if version is V2025_11_25:
        assert (error.code, error.data) == (-32042, {"elicitations": [SIGN_IN]})
    else:
        assert (error.code, error.data) == (-32603, None)
        assert version.value in error.message


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
@pytest.mark.parametrize(
    "error", [InvalidParams("no"), InternalError(), ProtocolError("mine", code=7)], ids=repr
)
def test_other_errors_are_left_alone(error: ProtocolError, version: ProtocolVersion) -> None:
    assert finish_error(error, version) is error


# ---- shape -----------------------------------------------------------------------------------------------

TOOL = {
    "name": "add",
    "title": "Add",
    "description": "Adds.",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {"title": "Add!", "readOnlyHint": True, "lastModified": "kept: these are a tool's"},
    "icons": [{"src": "data:,"}],
    "execution": {"taskSupport": "forbidden"},
    "_meta": {"com.example/k": 1},
}
RESOURCE = {
    "uri": "file:///a",
    "name": "a",
    "title": "A",
    "annotations": {"priority": 1, "lastModified": "2025-01-01"},
    "icons": [],
    "_meta": {},
}


@pytest.mark.parity(24)
@pytest.mark.parametrize(
    ("version", "gone"),
    [
        (V2024_11_05, {"title", "outputSchema", "annotations", "icons", "execution", "_meta"}),
        (V2025_03_26, {"title", "outputSchema", "icons", "execution", "_meta"}),
        (V2025_06_18, {"icons", "execution"}),
        (V2025_11_25, set()),
        (V2026_07_28, {"execution"}),
    ],
    ids=str,
)
def test_a_tool_loses_what_its_revision_does_not_know(version: ProtocolVersion, gone: set[str]) -> None:
    before = dict(TOOL)
    assert shape("Tool", TOOL, version) == {k: v for k, v in TOOL.items() if k not in gone}
    assert before == TOOL


@pytest.mark.parity(24)
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (V2024_11_05, {"uri", "name", "annotations"}),
        (V2025_03_26, {"uri", "name", "annotations"}),
        (V2025_06_18, {"uri", "name", "annotations", "title", "_meta"}),
        (V2025_11_25, RESOURCE.keys()),
        (V2026_07_28, RESOURCE.keys()),
    ],
    ids=str,
)
def test_a_resource_loses_what_its_revision_does_not_know(
    version: ProtocolVersion, expected: set[str]
) -> None:
    shaped = shape("Resource", RESOURCE, version)
    assert shaped.keys() == expected
    dated = version not in (V2024_11_05, V2025_03_26)
    assert shaped["annotations"] == {"priority": 1, **({"lastModified": "2025-01-01"} if dated else {})}
    assert RESOURCE["annotations"] == {"priority": 1, "lastModified": "2025-01-01"}


@pytest.mark.parity(24)
@pytest.mark.parametrize(
    ("kind", "value", "version", "expected"),
    [
        ("Implementation", {"name": "s", "title": "S", "websiteUrl": "x"}, V2025_03_26, {"name": "s"}),
        (
            "Implementation",
            {"name": "s", "title": "S", "icons": []},
            V2025_06_18,
            {"name": "s", "title": "S"},
        ),
        ("ServerCapabilities", {"tools": {}, "completions": {}}, V2024_11_05, {"tools": {}}),
        ("ServerCapabilities", {"tools": {}, "extensions": {}}, V2025_11_25, {"tools": {}}),
        ("ServerCapabilities", {"tools": {}, "tasks": {}}, V2026_07_28, {"tools": {}}),
        ("Prompt", {"name": "p", "title": "P", "icons": []}, V2025_06_18, {"name": "p", "title": "P"}),
        ("PromptArgument", {"name": "a", "title": "A"}, V2025_03_26, {"name": "a"}),
        ("ResourceTemplate", {"uriTemplate": "a", "_meta": {}}, V2025_03_26, {"uriTemplate": "a"}),
        ("CallToolResult", {"content": [], "structuredContent": {}}, V2025_03_26, {"content": []}),
    ],
)
def test_other_objects(
    kind: str, value: dict[str, Any], version: ProtocolVersion, expected: dict[str, Any]
) -> None:
    assert shape(kind, value, version) == expected


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_what_has_nothing_to_lose_is_not_copied(version: ProtocolVersion) -> None:
    plain = {"name": "plain", "inputSchema": {"type": "object"}}
    assert shape("Tool", plain, version) is plain


# ---- shape_content ---------------------------------------------------------------------------------------

ANNOTATED: dict[str, Any] = {
    "annotations": {"priority": 1, "lastModified": "2025-01-01"},
    "meta": {"com.example/k": 1},
}
TEXT = content.text("hi", **ANNOTATED)
IMAGE = content.image(b"png", "image/png", **ANNOTATED)
AUDIO = content.audio(b"wav", "audio/wav", **ANNOTATED)
LINK = content.link("file:///a", "a", **ANNOTATED)
EMBEDDED = content.embedded("file:///a", "text", mime_type="text/plain", **ANNOTATED)


@pytest.mark.parity(24)
@pytest.mark.parametrize("block", [TEXT, IMAGE, EMBEDDED], ids=lambda block: block["type"])
@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26], ids=str)
def test_content_of_the_first_revisions_has_no_meta_and_no_date(
    block: dict[str, Any], version: ProtocolVersion
) -> None:
    shaped = shape_content(block, version)
    assert shaped == {**{k: v for k, v in block.items() if k != "_meta"}, "annotations": {"priority": 1}}
    assert "_meta" in block


@pytest.mark.parity(24)
@pytest.mark.parametrize("block", [TEXT, IMAGE, AUDIO, LINK, EMBEDDED], ids=lambda block: block["type"])
@pytest.mark.parametrize("version", [V2025_06_18, V2025_11_25, V2026_07_28], ids=str)
def test_content_of_later_ones_is_whole(block: dict[str, Any], version: ProtocolVersion) -> None:
    assert shape_content(block, version) == block


@pytest.mark.parity(24)
def test_a_sound_is_an_embedded_resource_where_there_is_no_sound() -> None:
    shaped = shape_content(AUDIO, V2024_11_05)
    assert shaped["type"] == "resource"
    assert shaped["resource"]["mimeType"] == "audio/wav"
    assert shaped["resource"]["blob"] == AUDIO["data"]
    assert shaped["resource"]["uri"].startswith("data:audio/wav")
    assert shape_content(AUDIO, V2025_03_26)["type"] == "audio"


@pytest.mark.parity(24)
@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26], ids=str)
def test_a_link_is_text_where_there_are_no_links(version: ProtocolVersion) -> None:
    assert shape_content(LINK, version) == {"type": "text", "text": "a: file:///a"}
    nameless = content.link("file:///a")
    assert shape_content(nameless, version) == {"type": "text", "text": "file:///a"}


@pytest.mark.parity(24)
def test_a_link_has_no_icons_before_2025_11_25() -> None:
    link = {**content.link("file:///a", "a"), "icons": [{"src": "data:,"}]}
    assert shape_content(link, V2025_06_18) == content.link("file:///a", "a")
    assert shape_content(link, V2025_11_25) == link


@pytest.mark.parity(24)
def test_the_resource_inside_of_a_block_is_shaped_too() -> None:
    block = {
        "type": "resource",
        "resource": {"uri": "file:///a", "text": "t", "_meta": {"com.example/k": 1}},
    }
    assert shape_content(block, V2025_03_26)["resource"] == {"uri": "file:///a", "text": "t"}
    assert shape_content(block, V2025_06_18) == block
    assert "_meta" in block["resource"]


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_blocks_are_copied_only_where_something_may_have_to_go(version: ProtocolVersion) -> None:
    blocks = [content.text("hi")]
    assert needs_shaping(version) is (version in (V2024_11_05, V2025_03_26, V2025_06_18))
    assert (shape_blocks(blocks, version) is blocks) is not needs_shaping(version)
    assert shape_blocks(blocks, version) == blocks
    assert shape_blocks([], version) == []


def test_blocks_are_shaped_one_by_one() -> None:
    shaped = shape_blocks([TEXT, LINK, AUDIO], V2024_11_05)
    assert [block["type"] for block in shaped] == ["text", "text", "resource"]
