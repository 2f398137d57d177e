"""`mcpref.versions`: what each revision has, written out by hand, against the tables."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.versions import (
    CONTENT_TYPES,
    FEATURES,
    FIELDS,
    LATEST,
    LATEST_LEGACY,
    METHODS,
    MODERN_VERSIONS,
    Features,
    ProtocolVersion,
    Span,
    is_modern,
    negotiate,
    parse_version,
)

A, B, C, D, E = ProtocolVersion
ORDER = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]

#: One letter a revision, oldest first: x where the revision has it.
EXPECTED_FEATURES = {
    "handshake": "xxxx.",
    "per_request_meta": "....x",
    "server_requests": "xxxx.",
    "input_required": "....x",
    "batching": ".x...",
    "result_type": "....x",
    "cache_hints": "....x",
    "server_info_meta": "....x",
    "listen": "....x",
    "progress_message": ".xxxx",
    "completions_capability": ".xxxx",
    "structured_content": "..xxx",
    "structured_any": "....x",
    "elicitation": "..xxx",
    "url_elicitation": "...xx",
    "elicitation_id": "...x.",
    "elicitation_choices": "...xx",
    "url_elicitation_error": "...x.",
    "sampling_tools": "...xx",
    "tool_input_errors": "...xx",
    "resource_not_found_code": "xxxx.",
    "optional_error_id": "...xx",
    "meta_second_label": "...xx",
    "priming_event": "...x.",
}

EXPECTED_CLIENT_REQUESTS = {
    "initialize": "xxxx.",
    "ping": "xxxx.",
    "server/discover": "....x",
    "tools/list": "xxxxx",
    "tools/call": "xxxxx",
    "resources/list": "xxxxx",
    "resources/templates/list": "xxxxx",
    "resources/read": "xxxxx",
    "resources/subscribe": "xxxx.",
    "resources/unsubscribe": "xxxx.",
    "prompts/list": "xxxxx",
    "prompts/get": "xxxxx",
    "completion/complete": "xxxxx",
    "logging/setLevel": "xxxx.",
    "subscriptions/listen": "....x",
    "tasks/get": "...x.",
    "tasks/result": "...x.",
    "tasks/cancel": "...x.",
    "tasks/list": "...x.",
}

EXPECTED_CLIENT_NOTIFICATIONS = {
    "notifications/initialized": "xxxx.",
    "notifications/cancelled": "xxxxx",
    "notifications/progress": "xxxx.",
    "notifications/roots/list_changed": "xxxx.",
    "notifications/tasks/status": "...x.",
}

EXPECTED_FIELDS = {
    "Implementation": {"title": "..xxx", "icons": "...xx", "websiteUrl": "...xx", "description": "...xx"},
    "ServerCapabilities": {"completions": ".xxxx", "tasks": "...x.", "extensions": "....x"},
    "Tool": {
        "annotations": ".xxxx",
        "title": "..xxx",
        "outputSchema": "..xxx",
        "_meta": "..xxx",
        "icons": "...xx",
        "execution": "...x.",
    },
    "Prompt": {"title": "..xxx", "_meta": "..xxx", "icons": "...xx"},
    "PromptArgument": {"title": "..xxx"},
    "Resource": {"title": "..xxx", "_meta": "..xxx", "icons": "...xx"},
    "ResourceTemplate": {"title": "..xxx", "_meta": "..xxx", "icons": "...xx"},
    "ResourceContents": {"_meta": "..xxx"},
    "TextContent": {"_meta": "..xxx"},
    "ImageContent": {"_meta": "..xxx"},
    "AudioContent": {"_meta": "..xxx"},
    "EmbeddedResource": {"_meta": "..xxx"},
    "ResourceLink": {"icons": "...xx"},
    "Annotations": {"lastModified": "..xxx"},
    "CallToolResult": {"structuredContent": "..xxx"},
}

EXPECTED_CONTENT = {
    "text": "xxxxx",
    "image": "xxxxx",
    "audio": ".xxxx",
    "resource_link": "..xxx",
    "resource": "xxxxx",
}

UNKNOWN = ["draft", "2027-01-01", "2024-11-06", "1900-01-01", "", " ", "2025-11-25 ", " 2025-11-25", "latest"]


def has(row: str, version: ProtocolVersion) -> bool:
    return row[ORDER.index(version.value)] == "x"


def test_the_revisions_in_order() -> None:
    assert [version.value for version in ProtocolVersion] == ORDER
    assert [str(version) for version in ProtocolVersion] == ORDER
    assert (LATEST_LEGACY, LATEST) == (D, E)


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
@pytest.mark.parametrize("name", EXPECTED_FEATURES)
def test_features(name: str, version: ProtocolVersion) -> None:
    assert getattr(version.features, name) is has(EXPECTED_FEATURES[name], version)


def test_every_feature_has_a_row_here_and_there() -> None:
    assert EXPECTED_FEATURES.keys() == FEATURES.keys()
    assert set(EXPECTED_FEATURES) == {field.name for field in dataclasses.fields(Features)}


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_what_a_client_may_send(version: ProtocolVersion) -> None:
    assert version.client_requests.keys() == {
        name for name, row in EXPECTED_CLIENT_REQUESTS.items() if has(row, version)
    }
    assert version.client_notifications.keys() == {
        name for name, row in EXPECTED_CLIENT_NOTIFICATIONS.items() if has(row, version)
    }
    assert all(method.kind == "request" for method in version.client_requests.values())
    assert all(method.kind == "notification" for method in version.client_notifications.values())


def test_what_a_server_asks_is_no_request_of_a_client() -> None:
    asked = {method.name for method in METHODS if method.sender == "server" and method.kind == "request"}
    assert asked == {"sampling/createMessage", "elicitation/create", "roots/list"}
    for version in ProtocolVersion:
        assert not asked & version.client_requests.keys()


def test_what_a_server_asks_is_embedded_from_2026_07_28_on() -> None:
    embedded = {method.name: method.embedded_since for method in METHODS if method.embedded_since}
    assert embedded == {"sampling/createMessage": E, "elicitation/create": E, "roots/list": E}


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("tools/call", "tools"),
        ("resources/read", "resources"),
        ("resources/subscribe", "resources.subscribe"),
        ("prompts/get", "prompts"),
        ("completion/complete", "completions"),
        ("logging/setLevel", "logging"),
        ("initialize", None),
        ("ping", None),
    ],
)
def test_the_capability_behind_a_request(method: str, capability: str | None) -> None:
    assert D.client_requests[method].capability == capability


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_absent_fields(version: ProtocolVersion) -> None:
    expected = {
        kind: {name for name, row in fields.items() if not has(row, version)}
        for kind, fields in EXPECTED_FIELDS.items()
    }
    assert {kind: set(names) for kind, names in version.absent_fields.items()} == expected
    assert version.absent_fields.keys() == FIELDS.keys()


def test_what_most_clients_speak_lacks_nothing_but_extensions() -> None:
    lacking = {kind: names for kind, names in D.absent_fields.items() if names}
    assert lacking == {"ServerCapabilities": ("extensions",)}


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_absent_content(version: ProtocolVersion) -> None:
    assert version.absent_content == {name for name, row in EXPECTED_CONTENT.items() if not has(row, version)}
    assert CONTENT_TYPES.keys() == EXPECTED_CONTENT.keys()


@pytest.mark.parametrize(
    ("span", "row"),
    [
        (Span(A), "xxxxx"),
        (Span(C), "..xxx"),
        (Span(E), "....x"),
        (Span(A, A), "x...."),
        (Span(B, D), ".xxx."),
        (Span(C, C), "..x.."),
        (Span(A, E), "xxxxx"),
        (Span(D, B), "....."),
    ],
)
def test_a_span_has_both_its_ends(span: Span, row: str) -> None:
    assert [span.covers(version) for version in ProtocolVersion] == [letter == "x" for letter in row]


def test_the_modern_ones() -> None:
    assert MODERN_VERSIONS == ("2026-07-28",)
    assert [is_modern(version) for version in ProtocolVersion] == [False, False, False, False, True]


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_a_known_version_is_found_by_its_name(version: ProtocolVersion) -> None:
    assert parse_version(version.value) is version


@pytest.mark.parametrize("text", UNKNOWN, ids=repr)
def test_any_other_version_is_unknown(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize("version", [A, B, C, D], ids=str)
def test_a_version_with_a_handshake_is_agreed_to(version: ProtocolVersion) -> None:
    assert negotiate(version.value) is version


@pytest.mark.parametrize("text", [*UNKNOWN, "2026-07-28"], ids=repr)
def test_any_other_is_answered_with_the_newest_that_has_one(text: str) -> None:
    assert negotiate(text) is D


@given(st.text())
def test_negotiation_always_gives_a_version_with_a_handshake(text: str) -> None:
    assert negotiate(text).features.handshake
