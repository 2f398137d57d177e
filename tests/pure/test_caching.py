"""`mcpref.caching`: hints on results, and what identifies a cached one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.caching import (
    CACHEABLE_METHODS,
    LIST_CACHE_METHODS,
    CacheHint,
    cache_key,
    parse_cache_hint,
    with_cache,
)


def test_the_cacheable_methods_are_the_specification_s_six() -> None:
    assert sorted(CACHEABLE_METHODS) == [
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    ]
    # Reading has a hint per resource instead of one per server.
    assert LIST_CACHE_METHODS | {"resources/read"} == CACHEABLE_METHODS
    assert len(LIST_CACHE_METHODS) == 5


# ----- CacheHint


def test_the_default_hint_is_stale_at_once() -> None:
    assert CacheHint() == CacheHint(ttl_ms=0, scope="public")


@pytest.mark.req("2026-07-28:caching.ttl-integer-ms")
@pytest.mark.parametrize("ttl", [1.5, 1.0, "60", None, True, math.nan])
def test_a_ttl_that_is_no_integer_is_refused(ttl: Any) -> None:
    with pytest.raises(TypeError, match="ttl_ms must be a whole number of milliseconds"):
        CacheHint(ttl)


@pytest.mark.req("2026-07-28:caching.scope-values")
@pytest.mark.parametrize("scope", ["", "Public", "shared", None, 1, []])
def test_an_unknown_scope_is_refused(scope: Any) -> None:
    with pytest.raises(ValueError, match="scope must be 'public' or 'private'"):
        CacheHint(1, scope)


# ----- with_cache


@pytest.mark.parity(116)
def test_with_cache_copies() -> None:
    result = {"tools": [], "ttlMs": 7}
    hinted = with_cache(result, CacheHint(5000, "private"))
    assert hinted == {"tools": [], "ttlMs": 5000, "cacheScope": "private"}
    assert result == {"tools": [], "ttlMs": 7}


@pytest.mark.parity(116)
@pytest.mark.req("2026-07-28:caching.ttl-nonnegative")
@pytest.mark.parametrize(("ttl", "written"), [(-1, 0), (-(10**20), 0), (0, 0), (1, 1)])
def test_a_negative_ttl_is_written_as_zero(ttl: int, written: int) -> None:
    assert with_cache({}, CacheHint(ttl)) == {"ttlMs": written, "cacheScope": "public"}


def test_a_result_that_asks_for_input_gets_no_hint() -> None:
    asking = {"resultType": "input_required", "inputRequests": {}}
    copy = with_cache(asking, CacheHint(1000))
    assert copy == asking
    assert copy is not asking
    complete = with_cache({"resultType": "complete"}, CacheHint(1000))
    assert complete == {"resultType": "complete", "ttlMs": 1000, "cacheScope": "public"}


# ----- parse_cache_hint


@pytest.mark.parity(116)
@pytest.mark.parametrize(
    ("ttl", "parsed"),
    [(0, 0), (5000, 5000), (1.9, 1), (-1, 0), (-0.5, 0), (-1.9, 0), (10**400, 10**400), (1e300, int(1e300))],
)
def test_numbers_are_parsed(ttl: float, parsed: int) -> None:
    assert parse_cache_hint({"ttlMs": ttl, "cacheScope": "public"}) == CacheHint(parsed, "public")


@pytest.mark.req("2026-07-28:caching.ttl-negative-zero")
def test_a_negative_ttl_is_read_as_zero() -> None:
    assert parse_cache_hint({"ttlMs": -1, "cacheScope": "private"}) == CacheHint(0, "private")


@pytest.mark.parity(116)
@pytest.mark.parametrize("ttl", [None, "5", True, False, [], {}, math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_hint(ttl: object) -> None:
    assert parse_cache_hint({"ttlMs": ttl, "cacheScope": "public"}) is None


@pytest.mark.parity(116)
@pytest.mark.parametrize("result", [{}, {"cacheScope": "public"}, None, [], "x", 5])
def test_an_absent_ttl_is_no_hint(result: object) -> None:
    assert parse_cache_hint(result) is None


@pytest.mark.parametrize("scope", [None, "", "private", "Public", "shared", 1, True, ["public"]])
def test_any_scope_but_public_is_private(scope: object) -> None:
    assert parse_cache_hint({"ttlMs": 1, "cacheScope": scope}) == CacheHint(1, "private")
    assert parse_cache_hint({"ttlMs": 1}) == CacheHint(1, "private")


@given(st.builds(CacheHint, st.integers(min_value=0), st.sampled_from(["public", "private"])))
def test_a_hint_survives_the_wire(hint: CacheHint) -> None:
    assert parse_cache_hint(with_cache({"tools": []}, hint)) == hint


# ----- cache_key


@pytest.mark.req("2026-07-28:caching.key-method-params")
def test_method_and_parameters_make_the_key() -> None:
    keys = [
        cache_key("tools/list", None),
        cache_key("prompts/list", None),
        cache_key("tools/list", {"cursor": "a"}),
        cache_key("tools/list", {"cursor": "b"}),
        cache_key("resources/read", {"uri": "a"}),
        cache_key("resources/read", {"uri": "b"}),
        cache_key("resources/read", {"uri": "a", "own": 1}),
        cache_key("resources/read", {"uri": "a", "own": True}),
        cache_key("resources/read", {"uri": "a", "own": "1"}),
        cache_key("server/discover", {}),
    ]
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_meta_and_the_order_of_members_do_not_count() -> None:
    assert (
        cache_key("tools/list", None)
        == cache_key("tools/list", {})
        == cache_key("tools/list", {"_meta": {"a": 1}})
    )
    first = cache_key("resources/read", {"uri": "a", "x": {"p": 1, "q": 2}, "_meta": {"progressToken": 1}})
    second = cache_key("resources/read", {"_meta": {"progressToken": 2}, "x": {"q": 2, "p": 1}, "uri": "a"})
    assert first == second


@pytest.mark.req("2026-07-28:caching.no-cache-mrtr")
@pytest.mark.parametrize(
    "extra", [{"inputResponses": {}}, {"requestState": ""}, {"inputResponses": {"k": 1}, "requestState": "s"}]
)
def test_a_retry_with_input_has_no_key(extra: dict[str, object]) -> None:
    assert cache_key("resources/read", {"uri": "a"}) is not None
    assert cache_key("resources/read", {"uri": "a", **extra}) is None


@pytest.mark.parametrize(
    "method", ["tools/call", "prompts/get", "ping", "initialize", "subscriptions/listen", ""]
)
def test_other_methods_have_no_key(method: str) -> None:
    assert cache_key(method, {"name": "x"}) is None


json_params = st.dictionaries(
    st.text(max_size=3).filter(lambda name: name != "_meta"),
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    max_size=4,
)


@given(json_params, json_params)
def test_keys_are_equal_exactly_when_parameters_are(
    first: dict[str, object], second: dict[str, object]
) -> None:
    def typed(params: dict[str, object]) -> set[tuple[str, type, object]]:
        return {(name, type(value), value) for name, value in params.items()}

    same = cache_key("resources/list", first) == cache_key("resources/list", second)
    assert same is (typed(first) == typed(second))
