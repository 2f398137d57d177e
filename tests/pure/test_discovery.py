"""The result of server/discover, written and read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.caching import CacheHint
from mcpref.discovery import DiscoverResult

INFO = {"name": "ExampleServer", "version": "1.0.0"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


@pytest.mark.parity(117)
@pytest.mark.req("2026-07-28:discover.instructions-optional")
def test_the_whole_result_as_the_specification_shows_it() -> None:
    result = DiscoverResult(
        ["2026-07-28"],
        {"tools": {}, "resources": {}},
        "This server provides weather and resource utilities.",
        INFO,
        CacheHint(3_600_000, "public"),
    )
    assert result.to_json() == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}, "resources": {}},
        "_meta": {SERVER_INFO: INFO},
        "instructions": "This server provides weather and resource utilities.",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
    }


@pytest.mark.parity(117)
def test_what_there_is_none_of_is_left_out() -> None:
    assert DiscoverResult(["2026-07-28"]).to_json() == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "public",
    }


@pytest.mark.parity(117)
@pytest.mark.parametrize("cache", [CacheHint(), CacheHint(5000), CacheHint(5000, "private")])
def test_reading_inverts_writing(cache: CacheHint) -> None:
    result = DiscoverResult(
        ["2026-07-28", "2027-01-01"], {"tools": {"listChanged": True}}, "Hello", INFO, cache
    )
    assert DiscoverResult.from_json(result.to_json()) == result


@pytest.mark.parity(117)
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"supportedVersions": ["a", 5, None, "b", ["c"]]}, DiscoverResult(["a", "b"])),
        ({"protocolVersions": ["a", 5]}, DiscoverResult(["a"])),
        ({"supportedVersions": ["a"], "protocolVersions": ["b"]}, DiscoverResult(["a"])),
        ({"supportedVersions": "a", "protocolVersions": ["b"]}, DiscoverResult(["b"])),
        ({"supportedVersions": {}}, DiscoverResult([])),
        ({"capabilities": []}, DiscoverResult([])),
        ({"instructions": 5}, DiscoverResult([])),
        ({"_meta": []}, DiscoverResult([])),
        ({"_meta": {SERVER_INFO: "x"}}, DiscoverResult([])),
        ({"_meta": {SERVER_INFO: INFO}}, DiscoverResult([], server_info=INFO)),
        ({"serverInfo": INFO}, DiscoverResult([], server_info=INFO)),
        ({"ttlMs": "soon"}, DiscoverResult([])),
        ({}, DiscoverResult([])),
        (None, DiscoverResult([])),
        ([], DiscoverResult([])),
    ],
)
def test_reading_takes_nothing_for_granted(result: Any, expected: DiscoverResult) -> None:
    assert DiscoverResult.from_json(result) == expected


@given(
    st.dictionaries(
        st.sampled_from(
            ["supportedVersions", "protocolVersions", "capabilities", "instructions", "_meta", "ttlMs"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["a", SERVER_INFO]), inner),
            max_leaves=8,
        ),
    )
)
def test_reading_never_raises(result: dict[str, Any]) -> None:
    read = DiscoverResult.from_json(result)
    assert all(isinstance(version, str) for version in read.supported_versions)
    assert isinstance(read.capabilities, dict)
