"""`mcpref.headers`: header values, the standard headers, and headers from tool arguments."""

from __future__ import annotations

import binascii
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpref.errors import HEADER_MISMATCH, HeaderMismatch
from mcpref.headers import (
    MAX_SAFE_INTEGER,
    HeaderName,
    ParamHeader,
    check_header_name,
    check_input_schema_headers,
    check_param_headers,
    check_standard_headers,
    decode_header_value,
    emit_param_headers,
    encode_header_value,
    is_header_type,
    is_unsafe_header_value,
    param_headers,
    parse_header_value,
    standard_headers,
    top_level_param_headers,
)
from mcpref.versions import ProtocolVersion

MODERN = ProtocolVersion.V2026_07_28
TCHAR = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def lowered(headers: dict[str, str]) -> dict[str, str]:
    """Headers as a server sees them."""
    return {name.lower(): value for name, value in headers.items()}


def wrapped(data: bytes) -> str:
    return f"=?base64?{binascii.b2a_base64(data, newline=False).decode()}?="


def test_header_names() -> None:
    named = {value for name, value in vars(HeaderName).items() if name.isupper()}
    assert named == {
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
        "Mcp-Param-",
        "Mcp-Session-Id",
        "Last-Event-ID",
    }


# ----- values

SPEC_EXAMPLES = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
]


@pytest.mark.parity(95)
@pytest.mark.req("2026-07-28:headers.base64-unsafe", "2026-07-28:headers.base64-sentinel-escape")
@pytest.mark.parametrize(("value", "encoded"), SPEC_EXAMPLES)
def test_the_specification_s_examples(value: str, encoded: str) -> None:
    assert encode_header_value(value) == encoded
    assert decode_header_value(encoded) == value
    assert parse_header_value(encoded) == value


@pytest.mark.parity(95)
@pytest.mark.req("2026-07-28:headers.encode-string")
@pytest.mark.parametrize(
    "value",
    [
        "",
        "a",
        "two words",
        "!~",
        "".join(map(chr, range(0x21, 0x7F))),
        "SGVsbG8=",
        "=?base64?SGVsbG8=",
        "=?base64?",
        "SGVsbG8=?=",
        "?=",
        "=?BASE64?SGVsbG8=?=",
        "=?utf-8?B?SGVsbG8=?=",
        "file:///path/to/file%20name.txt",
    ],
)
def test_a_safe_value_is_sent_unchanged(value: str) -> None:
    assert encode_header_value(value) == value
    assert parse_header_value(value) == value
    assert decode_header_value(value) == value


@pytest.mark.parity(95)
@pytest.mark.req("2026-07-28:headers.base64-unsafe", "2026-07-28:headers.base64-markers-exact")
@pytest.mark.parametrize(
    "value",
    [
        *(
            " a",
            "a ",
            " ",
            "\ta",
            "a\tb",
            "a\rb",
            "a\n",
            "\0",
            "\x1f",
            "\x7f",
            "é",
            "\x80",
            "\xa0",
            "世",
            "🎉",
        ),
        *("=?base64??=", "=?base64?=", "=?base64?x?="),
    ],
)
def test_an_unsafe_value_is_wrapped(value: str) -> None:
    encoded = encode_header_value(value)
    assert encoded == wrapped(value.encode())
    assert parse_header_value(encoded) == value


def test_markers_that_share_a_character_wrap_nothing() -> None:
    assert parse_header_value("=?base64?=") == "=?base64?="
    assert decode_header_value("=?base64?=") == "=?base64?="
    assert parse_header_value("=?base64??=") == ""


def test_a_lone_surrogate_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        encode_header_value("a\ud800b")


@pytest.mark.parity(96)
@pytest.mark.req("2026-07-28:headers.encode-values")
@given(st.text() | st.text("=?base64 \t", max_size=14))
@example("=?base64?=")
@example("=?base64??=")
def test_decode_inverts_encode(value: str) -> None:
    encoded = encode_header_value(value)
    assert decode_header_value(encoded) == value
    assert parse_header_value(encoded) == value
    # What goes on the wire is printable ASCII without blanks at its ends: nothing to inject, nothing to trim.
    assert all(" " <= char <= "~" for char in encoded)
    assert encoded == encoded.strip()
    assert not is_unsafe_header_value(encoded)


BAD_BASE64 = [
    "=?base64?SGVsbG8?=",
    "=?base64?SGVs!!!bG8=?=",
    "=?base64?SGVsbG8==?=",
    "=?base64?SGVs====?=",
    "=?base64?=SGVs?=",
    "=?base64?SGVs bG8=?=",
    "=?base64?SGVsbG9=?=",
    "=?base64?SGVsbG8-_w==?=",
    "=?base64?A?=",
    "=?base64?//8=?=",
    "=?base64?7aCA?=",
]


@pytest.mark.parity(97)
@pytest.mark.parametrize("value", BAD_BASE64)
def test_bad_base64_is_no_value_and_no_crash(value: str) -> None:
    assert parse_header_value(value) is None
    assert decode_header_value(value) == value


@pytest.mark.parity(97)
@pytest.mark.req("2026-07-28:headers.invalid-chars-rejected")
@pytest.mark.parametrize("value", ["é", "a\0b", "a\rb", "a\nb", "a\x7fb", "\xa0a", "a\ud800", *BAD_BASE64])
def test_a_malformed_header_matches_nothing(value: str) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": value}
    for name in (value, "Hello", "Hel", ""):
        with pytest.raises(HeaderMismatch, match=r"Mcp-Name header value .* is malformed"):
            check_standard_headers(headers, "tools/call", {"name": name}, "2026-07-28")


@given(st.text(st.characters(max_codepoint=0xFF)))
def test_parsing_never_fails_on_what_a_server_may_hand_over(value: str) -> None:
    for text in (value, f"=?base64?{value}?="):
        parsed = parse_header_value(text)
        assert parsed is None or isinstance(parsed, str)
        assert isinstance(decode_header_value(text), str)


def test_optional_white_space_is_not_part_of_the_value() -> None:
    assert parse_header_value("  abc\t ") == "abc"
    assert parse_header_value(" =?base64?IGE=?= ") == " a"
    assert parse_header_value("a\tb") == "a\tb"
    assert parse_header_value(" \t") == ""
    assert parse_header_value("\u2003a") is None


@pytest.mark.parity(98)
@pytest.mark.parametrize(
    ("value", "unsafe"),
    [
        ("a\rb", True),
        ("a\nb", True),
        ("\r\n", True),
        ("a\0", True),
        ("", False),
        ("a b\té", False),
        ("\\r\\n", False),
    ],
)
def test_unsafe_values(value: str, unsafe: bool) -> None:
    assert is_unsafe_header_value(value) is unsafe


# ----- standard headers

NAMED = [
    ("tools/call", "name"),
    ("prompts/get", "name"),
    ("resources/read", "uri"),
    ("tasks/get", "taskId"),
    ("tasks/update", "taskId"),
    ("tasks/cancel", "taskId"),
]


@pytest.mark.req(
    "2026-07-28:headers.method-required",
    "2026-07-28:headers.name-required",
    "2026-07-28:tasks.mcp-name-header",
)
@pytest.mark.parametrize(("method", "param"), NAMED)
def test_standard_headers_of_a_request_with_a_name(method: str, param: str) -> None:
    assert standard_headers(method, {param: "x:y", "other": 1}, MODERN) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Mcp-Name": "x:y",
    }


@pytest.mark.parametrize(
    "method", ["tools/list", "server/discover", "subscriptions/listen", "completion/complete"]
)
def test_standard_headers_of_other_requests(method: str) -> None:
    for params in (None, {}, {"name": "x", "uri": "y"}):
        assert standard_headers(method, params, MODERN) == {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
        }


@pytest.mark.req("2026-07-28:headers.name-base64")
def test_a_name_that_is_not_plain_is_wrapped() -> None:
    headers = standard_headers("resources/read", {"uri": "file:///世界"}, MODERN)
    assert headers["Mcp-Name"] == wrapped("file:///世界".encode())


@pytest.mark.parametrize("params", [None, {}, {"name": 5}, {"name": None}])
def test_no_name_means_no_name_header(params: dict[str, Any] | None) -> None:
    assert "Mcp-Name" not in standard_headers("tools/call", params, MODERN)


@pytest.mark.parametrize("version", [version for version in ProtocolVersion if version is not MODERN])
def test_legacy_requests_name_their_version_alone(version: ProtocolVersion) -> None:
    assert standard_headers("tools/call", {"name": "x"}, version) == {"MCP-Protocol-Version": version.value}
    assert standard_headers("initialize", {}, version) == {}


def test_a_method_that_no_header_can_carry_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be sent over HTTP"):
        standard_headers("tools/cäll", {}, MODERN)


@given(
    st.sampled_from([*NAMED, ("tools/list", "name"), ("com.example/own", "name")]),
    st.text(),
    st.sampled_from(["", " ", "\t", "  "]),
)
def test_what_a_client_emits_a_server_accepts(method: tuple[str, str], name: str, padding: str) -> None:
    params = {method[1]: name}
    emitted = standard_headers(method[0], params, MODERN)
    received = {key: f"{padding}{value}{padding}" for key, value in lowered(emitted).items()}
    check_standard_headers(received, method[0], params, "2026-07-28")


CALL = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "get"}


@pytest.mark.req("2026-07-28:headers.missing-standard-rejected", "2026-07-28:headers.mismatch-32020")
@pytest.mark.parametrize("missing", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_missing_standard_header_is_refused(missing: str) -> None:
    check_standard_headers(CALL, "tools/call", {"name": "get"}, "2026-07-28")
    headers = {name: value for name, value in CALL.items() if name != missing.lower()}
    with pytest.raises(HeaderMismatch, match=f"{missing} header is missing") as raised:
        check_standard_headers(headers, "tools/call", {"name": "get"}, "2026-07-28")
    assert raised.value.code == HEADER_MISMATCH == -32020


@pytest.mark.req("2026-07-28:headers.mismatch-rejected", "2026-07-28:headers.mismatch-32020")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"mcp-protocol-version": "2025-11-25"},
            "MCP-Protocol-Version header value '2025-11-25' does not match body value '2026-07-28'",
        ),
        (
            {"mcp-method": "tools/list"},
            "Mcp-Method header value 'tools/list' does not match body value 'tools/call'",
        ),
        ({"mcp-name": "foo"}, "Mcp-Name header value 'foo' does not match body value 'get'"),
        ({"mcp-name": ""}, "Mcp-Name header value '' does not match body value 'get'"),
        ({"mcp-name": "get, get"}, "Mcp-Name header value 'get, get' does not match body value 'get'"),
        ({"mcp-method": "é"}, "Mcp-Method header value 'é' is malformed"),
    ],
)
def test_a_different_standard_header_is_refused(changed: dict[str, str], message: str) -> None:
    with pytest.raises(HeaderMismatch) as raised:
        check_standard_headers({**CALL, **changed}, "tools/call", {"name": "get"}, "2026-07-28")
    assert f"Header mismatch: {message}" in raised.value.message
    assert raised.value.code == -32020


@pytest.mark.req("2026-07-28:headers.version-mismatch-rejected")
def test_the_version_is_compared_before_it_is_judged() -> None:
    check_standard_headers({**CALL, "mcp-protocol-version": "v999"}, "tools/call", {"name": "get"}, "v999")
    with pytest.raises(HeaderMismatch, match="MCP-Protocol-Version"):
        check_standard_headers(CALL, "tools/call", {"name": "get"}, "v999")


@pytest.mark.req("2026-07-28:headers.values-case-sensitive")
@pytest.mark.parametrize("changed", [{"mcp-method": "TOOLS/CALL"}, {"mcp-name": "Get"}])
def test_values_are_compared_with_case(changed: dict[str, str]) -> None:
    with pytest.raises(HeaderMismatch):
        check_standard_headers({**CALL, **changed}, "tools/call", {"name": "get"}, "2026-07-28")


@pytest.mark.req(
    "2026-07-28:headers.base64-decode",
    "2026-07-28:headers.base64-decode-before-compare",
    "2026-07-28:headers.base64-markers-exact",
)
def test_the_name_is_decoded_before_it_is_compared() -> None:
    check_standard_headers({**CALL, "mcp-name": wrapped(b"get")}, "tools/call", {"name": "get"}, "2026-07-28")
    for other in (wrapped(b"put"), wrapped(b"get").upper(), wrapped(b"get").replace("base64", "Base64")):
        with pytest.raises(HeaderMismatch):
            check_standard_headers({**CALL, "mcp-name": other}, "tools/call", {"name": "get"}, "2026-07-28")


def test_the_method_is_never_decoded() -> None:
    with pytest.raises(HeaderMismatch):
        check_standard_headers(
            {**CALL, "mcp-method": wrapped(b"tools/call")}, "tools/call", {"name": "get"}, "2026-07-28"
        )


def test_a_version_that_no_header_may_carry_is_malformed() -> None:
    with pytest.raises(HeaderMismatch, match="malformed"):
        check_standard_headers({**CALL, "mcp-protocol-version": "é"}, "tools/call", {"name": "get"}, "é")


@pytest.mark.parametrize("params", [None, {}, {"name": None}, {"name": 5}, {"name": ["get"]}, {"uri": "get"}])
def test_a_body_without_a_usable_name_matches_no_header(params: dict[str, Any] | None) -> None:
    for header in ("get", "é"):
        with pytest.raises(HeaderMismatch, match="Mcp-Name"):
            check_standard_headers({**CALL, "mcp-name": header}, "tools/call", params, "2026-07-28")


def test_a_name_header_that_is_not_asked_for_is_ignored() -> None:
    check_standard_headers({**CALL, "mcp-method": "tools/list"}, "tools/list", {}, "2026-07-28")


def test_error_messages_are_cut() -> None:
    with pytest.raises(HeaderMismatch) as raised:
        check_standard_headers(
            {**CALL, "mcp-name": "h" * 10_000}, "tools/call", {"name": "b" * 10_000}, "2026-07-28"
        )
    assert len(raised.value.message) < 300


# ----- x-mcp-header: names and types


@pytest.mark.parity(99)
@pytest.mark.req(
    "2026-07-28:headers.xh-not-empty",
    "2026-07-28:headers.xh-token-syntax",
    "2026-07-28:headers.xh-no-control",
)
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "is empty"),
        ("My Region", "not an HTTP token"),
        ("a:b", "not an HTTP token"),
        ("a\r\nX-Evil: 1", "not an HTTP token"),
        ("a\n", "not an HTTP token"),
        ("a\0", "not an HTTP token"),
        ("\x7f", "not an HTTP token"),
        ("Région", "not an HTTP token"),
        ("a/b", "not an HTTP token"),
        ('"a"', "not an HTTP token"),
        (None, "not a string"),
        (5, "not a string"),
        (True, "not a string"),
        (["Region"], "not a string"),
    ],
)
def test_bad_header_names(value: object, reason: str) -> None:
    assert reason in (check_header_name(value) or "")
    schema = {"type": "object", "properties": {"p": {"type": "string", "x-mcp-header": value}}}
    assert reason in (check_input_schema_headers(schema) or "")
    assert param_headers(schema) == ()


@pytest.mark.parity(99)
@pytest.mark.req("2026-07-28:headers.xh-token-syntax")
@pytest.mark.parametrize("char", TCHAR)
def test_every_tchar_is_accepted(char: str) -> None:
    assert check_header_name(char) is None
    assert check_header_name(f"a{char}b") is None


@given(st.text(min_size=1, max_size=5))
def test_a_name_is_accepted_exactly_if_all_its_characters_are_tchars(name: str) -> None:
    assert (check_header_name(name) is None) is all(char in TCHAR for char in name)


@pytest.mark.parity(100)
@pytest.mark.req("2026-07-28:headers.xh-primitive-only")
@pytest.mark.parametrize(
    ("type_value", "allowed"),
    [
        ("integer", True),
        ("string", True),
        ("boolean", True),
        ("number", False),
        ("object", False),
        ("array", False),
        ("null", False),
        ("String", False),
        ("", False),
        (None, False),
        (1, False),
        (["string"], False),
        (["string", "null"], False),
        ({}, False),
    ],
)
def test_header_types(type_value: object, allowed: bool) -> None:
    assert is_header_type(type_value) is allowed
    schema = {"properties": {"p": {"type": type_value, "x-mcp-header": "P"}}}
    assert (check_input_schema_headers(schema) is None) is allowed
    assert len(param_headers(schema)) == allowed


@pytest.mark.req("2026-07-28:headers.xh-primitive-only")
def test_a_missing_type_is_refused() -> None:
    assert "type integer, string or boolean, not None" in (
        check_input_schema_headers({"properties": {"p": {"x-mcp-header": "P"}}}) or ""
    )


# ----- x-mcp-header: the walk

REGION = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parity(101)
@pytest.mark.req("2026-07-28:headers.xh-unique-ci")
def test_duplicates_are_found_without_case_and_across_depths() -> None:
    def other(name: str) -> dict[str, Any]:
        return {"type": "integer", "x-mcp-header": name}

    for schema in (
        {"properties": {"a": REGION, "b": other("region")}},
        {"properties": {"a": REGION, "b": {"properties": {"c": {"properties": {"d": other("REGION")}}}}}},
        {"properties": {"a": {"properties": {"b": REGION}}, "a/properties/b": other("Region")}},
    ):
        assert "names must differ in more than case" in (check_input_schema_headers(schema) or "")
        assert [entry.name for entry in param_headers(schema)] == ["Region"]
    assert check_input_schema_headers({"properties": {"a": REGION, "b": other("Region2")}}) is None


@pytest.mark.parity(102)
@pytest.mark.req("2026-07-28:headers.xh-static-path", "2026-07-28:headers.param-header-name")
def test_nested_properties_are_found_with_their_path() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": REGION,
            "plain": {"type": "string"},
            "deep": {
                "type": "object",
                "properties": {
                    "n": {"type": "integer", "x-mcp-header": "Count"},
                    "deeper": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "x-Flag"}}},
                },
            },
        },
    }
    assert check_input_schema_headers(schema) is None
    assert param_headers(schema) == (
        ParamHeader(("region",), "Mcp-Param-Region", "Region", "string", "mcp-param-region"),
        ParamHeader(("deep", "n"), "Mcp-Param-Count", "Count", "integer", "mcp-param-count"),
        ParamHeader(("deep", "deeper", "flag"), "Mcp-Param-x-Flag", "x-Flag", "boolean", "mcp-param-x-flag"),
    )


MISPLACED = [
    pytest.param({"items": REGION}, id="items"),
    pytest.param({"items": [REGION]}, id="items-array"),
    pytest.param({"prefixItems": [{}, REGION]}, id="prefixItems"),
    pytest.param({"additionalItems": REGION}, id="additionalItems"),
    pytest.param({"unevaluatedItems": REGION}, id="unevaluatedItems"),
    pytest.param({"contains": REGION}, id="contains"),
    pytest.param({"oneOf": [REGION]}, id="oneOf"),
    pytest.param({"anyOf": [{"type": "null"}, REGION]}, id="anyOf"),
    pytest.param({"allOf": [REGION]}, id="allOf"),
    pytest.param({"not": REGION}, id="not"),
    pytest.param({"if": REGION}, id="if"),
    pytest.param({"then": REGION}, id="then"),
    pytest.param({"else": REGION}, id="else"),
    pytest.param({"$defs": {"R": REGION}, "$ref": "#/$defs/R"}, id="ref-into-defs"),
    pytest.param({"$defs": {"R": REGION}}, id="defs"),
    pytest.param({"definitions": {"R": REGION}}, id="definitions"),
    pytest.param({"additionalProperties": REGION}, id="additionalProperties"),
    pytest.param({"patternProperties": {"^r": REGION}}, id="patternProperties"),
    pytest.param({"dependentSchemas": {"r": REGION}}, id="dependentSchemas"),
    pytest.param({"dependencies": {"r": REGION, "s": ["t"]}}, id="dependencies"),
    pytest.param({"propertyNames": REGION}, id="propertyNames"),
    pytest.param({"unevaluatedProperties": REGION}, id="unevaluatedProperties"),
    pytest.param({"contentSchema": REGION}, id="contentSchema"),
    pytest.param({"anyOf": [{"properties": {"region": REGION}}]}, id="properties-below-anyOf"),
    pytest.param({"items": {"properties": {"region": REGION}}}, id="properties-below-items"),
]


@pytest.mark.parity(103)
@pytest.mark.req("2026-07-28:headers.xh-static-path", "2026-07-28:headers.xh-static-path-exclusions")
@pytest.mark.parametrize("below", MISPLACED)
def test_a_misplaced_annotation_is_invalid(below: dict[str, Any]) -> None:
    for schema in (
        {"type": "object", **below},
        {"properties": {"p": below}},
        {"properties": {"p": {"properties": {"q": below}}}},
    ):
        assert "not reached by `properties` alone" in (check_input_schema_headers(schema) or "")
        assert param_headers(schema) == ()


@pytest.mark.parity(103)
@pytest.mark.req("2026-07-28:headers.xh-static-path")
def test_an_annotation_on_the_root_is_invalid() -> None:
    schema = {"type": "string", "x-mcp-header": "Region"}
    assert "stands on the root" in (check_input_schema_headers(schema) or "")
    assert param_headers(schema) == ()


def test_the_reason_names_the_place() -> None:
    schema = {"properties": {"list": {"type": "array", "items": REGION}}}
    assert "'Region' at /properties/list/items" in (check_input_schema_headers(schema) or "")


@pytest.mark.parametrize(
    "schema",
    [
        # A property's name is no keyword.
        {"properties": {"x-mcp-header": {"type": "string"}, "items": {"type": "string"}}},
        {"properties": {"properties": {"properties": {"x-mcp-header": {"type": "object"}}}}},
        {"$defs": {"x-mcp-header": {"type": "string"}}},
        # A value is no schema.
        {"properties": {"p": {"default": REGION, "const": REGION, "enum": [REGION], "examples": [REGION]}}},
        {"default": {"items": REGION}, "x-vendor": REGION, "title": "x-mcp-header"},
        {"required": ["x-mcp-header"]},
    ],
)
def test_what_only_looks_like_an_annotation_is_left_alone(schema: dict[str, Any]) -> None:
    assert check_input_schema_headers(schema) is None
    assert param_headers(schema) == ()


def test_a_property_named_like_a_keyword_can_be_annotated() -> None:
    schema = {"properties": {"items": REGION, "x-mcp-header": {"type": "integer", "x-mcp-header": "Own"}}}
    assert check_input_schema_headers(schema) is None
    assert [entry.path for entry in param_headers(schema)] == [("items",), ("x-mcp-header",)]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        [],
        "x",
        5,
        {},
        {"properties": None},
        {"properties": []},
        {"properties": {"a": True}},
        {"items": False},
        {"$defs": []},
        {"anyOf": {"type": "string"}},
        {"allOf": [None, 1]},
        {"dependencies": {"a": ["b"]}},
    ],
)
def test_odd_schemas_are_tolerated(schema: object) -> None:
    assert check_input_schema_headers(schema) is None
    assert param_headers(schema) == ()
    assert top_level_param_headers(schema) == {}


def test_a_deep_schema_does_not_exhaust_the_stack() -> None:
    schema: dict[str, Any] = {"type": "string", "x-mcp-header": "Deep"}
    for _ in range(3_000):
        schema = {"properties": {"p": schema}}
    assert check_input_schema_headers(schema) is None
    assert len(param_headers(schema)[0].path) == 3_000


@pytest.mark.parity(104)
def test_the_top_level_map_leaves_nested_ones_out() -> None:
    schema = {
        "properties": {
            "region": REGION,
            "bad": {"type": "number", "x-mcp-header": "Bad"},
            "deep": {"properties": {"n": {"type": "integer", "x-mcp-header": "Count"}}},
            "flag": {"type": "boolean", "x-mcp-header": "Flag"},
        }
    }
    assert top_level_param_headers(schema) == {"region": "Mcp-Param-Region", "flag": "Mcp-Param-Flag"}


# ----- x-mcp-header: the values of a call

PARAMS = param_headers(
    {
        "properties": {
            "s": {"type": "string", "x-mcp-header": "S"},
            "i": {"type": "integer", "x-mcp-header": "I"},
            "b": {"type": "boolean", "x-mcp-header": "B"},
            "o": {"properties": {"n": {"type": "string", "x-mcp-header": "Nested"}}},
            "quiet": {"type": "string"},
        }
    }
)


@pytest.mark.req(
    "2026-07-28:headers.param-mirror",
    "2026-07-28:headers.encode-integer",
    "2026-07-28:headers.encode-boolean",
    "2026-07-28:headers.xh-extract-exact-path",
)
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"s": "us-west1", "quiet": "secret"}, {"Mcp-Param-S": "us-west1"}),
        ({"s": ""}, {"Mcp-Param-S": ""}),
        ({"s": "true", "b": True}, {"Mcp-Param-S": "true", "Mcp-Param-B": "true"}),
        ({"b": False}, {"Mcp-Param-B": "false"}),
        ({"i": 42}, {"Mcp-Param-I": "42"}),
        ({"i": -7}, {"Mcp-Param-I": "-7"}),
        ({"i": 0}, {"Mcp-Param-I": "0"}),
        ({"i": 1000000}, {"Mcp-Param-I": "1000000"}),
        ({"i": 42.0}, {"Mcp-Param-I": "42"}),
        ({"i": 1e15}, {"Mcp-Param-I": "1000000000000000"}),
        ({"i": MAX_SAFE_INTEGER}, {"Mcp-Param-I": "9007199254740991"}),
        ({"i": -MAX_SAFE_INTEGER}, {"Mcp-Param-I": "-9007199254740991"}),
        ({"s": "a\r\nX-Evil: 1"}, {"Mcp-Param-S": "=?base64?YQ0KWC1FdmlsOiAx?="}),
        ({"o": {"n": "deep"}}, {"Mcp-Param-Nested": "deep"}),
        ({"o": {}, "n": "not here"}, {}),
        ({"o": "text"}, {}),
        ({"o": None}, {}),
        ({"o": [{"n": "x"}]}, {}),
        ({}, {}),
        ({"s": None, "i": None, "b": None, "o": {"n": None}}, {}),
        ({"s": ["a"], "i": 1.5, "b": {}}, {}),
    ],
)
def test_emitted_headers(arguments: dict[str, Any], headers: dict[str, str]) -> None:
    assert emit_param_headers(PARAMS, arguments) == headers


@pytest.mark.req("2026-07-28:headers.param-null-omitted", "2026-07-28:headers.param-absent-omitted")
def test_null_and_absent_arguments_have_no_header() -> None:
    assert emit_param_headers(PARAMS, {"s": None, "b": True}) == {"Mcp-Param-B": "true"}
    assert emit_param_headers(PARAMS, {"b": True}) == {"Mcp-Param-B": "true"}


@pytest.mark.req("2026-07-28:headers.xh-safe-integer")
@pytest.mark.parametrize("value", [2**53, -(2**53), float(2**53), 10**400])
def test_an_unsafe_integer_is_refused_on_both_sides(value: float) -> None:
    with pytest.raises(ValueError, match=r"argument i is outside of ±\(2\^53-1\)"):
        emit_param_headers(PARAMS, {"i": value})
    for header in ("9007199254740992", "-9007199254740992", "1"):
        with pytest.raises(HeaderMismatch, match="argument i is outside"):
            check_param_headers(PARAMS, {"i": value}, {"mcp-param-i": header})


def verdict(arguments: dict[str, Any], headers: dict[str, str]) -> str | None:
    """Why the headers of a call are refused; None if they pass."""
    try:
        check_param_headers(PARAMS, arguments, headers)
    except HeaderMismatch as error:
        return error.message
    return None


@pytest.mark.parity(105)
@pytest.mark.req("2026-07-28:headers.param-validate", "2026-07-28:headers.base64-decode-before-compare")
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"s": "Hello"}, {"mcp-param-s": "Hello"}),
        ({"s": "Hello"}, {"mcp-param-s": "  Hello\t"}),
        ({"s": "Hello"}, {"mcp-param-s": "=?base64?SGVsbG8=?="}),
        ({"s": "SGVsbG8="}, {"mcp-param-s": "SGVsbG8="}),
        ({"s": "=?base64?SGVsbG8="}, {"mcp-param-s": "=?base64?SGVsbG8="}),
        ({"s": ""}, {"mcp-param-s": ""}),
        ({"s": ""}, {"mcp-param-s": "  "}),
        ({"s": ""}, {"mcp-param-s": "=?base64??="}),
        ({"i": 42}, {"mcp-param-i": "42"}),
        ({"i": 42}, {"mcp-param-i": "42.0"}),
        ({"i": 42.0}, {"mcp-param-i": "42"}),
        ({"i": 42.0}, {"mcp-param-i": "42.000"}),
        ({"i": -7}, {"mcp-param-i": "-7"}),
        ({"i": 0}, {"mcp-param-i": "-0"}),
        ({"i": MAX_SAFE_INTEGER}, {"mcp-param-i": "9007199254740991"}),
        ({"b": True}, {"mcp-param-b": "true"}),
        ({"b": False}, {"mcp-param-b": "false"}),
        ({"o": {"n": "x"}}, {"mcp-param-nested": "x"}),
        ({}, {}),
        ({"s": None}, {}),
        ({"o": None}, {}),
        ({}, {"mcp-param-unknown": "é", "mcp-name": "x"}),
        # Wrong for the schema, which is for the arguments' own check to say; header and body agree.
        ({"i": "42"}, {"mcp-param-i": "42"}),
        ({"s": 42}, {"mcp-param-s": "42"}),
    ],
)
def test_matching_headers_pass(arguments: dict[str, Any], headers: dict[str, str]) -> None:
    assert verdict(arguments, headers) is None


@pytest.mark.parity(105)
@pytest.mark.req("2026-07-28:headers.param-validate", "2026-07-28:headers.mismatch-rejected")
@pytest.mark.parametrize(
    ("arguments", "headers", "reason"),
    [
        ({"s": "a"}, {"mcp-param-s": "b"}, "Mcp-Param-S header value 'b' does not match body value 'a'"),
        ({"s": "a"}, {"mcp-param-s": "A"}, "does not match"),
        ({"s": "a"}, {"mcp-param-s": ""}, "does not match"),
        ({"s": ""}, {"mcp-param-s": "a"}, "does not match"),
        ({"s": "a"}, {"mcp-param-s": wrapped(b"b")}, "does not match"),
        ({"s": " a"}, {"mcp-param-s": " a"}, "does not match"),
        ({"s": "42"}, {"mcp-param-s": "42.0"}, "does not match"),
        ({"i": 42}, {"mcp-param-i": "43"}, "Mcp-Param-I header value '43' does not match body value 42"),
        ({"i": 42}, {"mcp-param-i": "42.5"}, "does not match"),
        ({"i": 42}, {"mcp-param-i": "4.2e1"}, "does not match"),
        ({"i": 42}, {"mcp-param-i": "0x2a"}, "does not match"),
        ({"i": 42}, {"mcp-param-i": "4_2"}, "does not match"),
        ({"i": 42}, {"mcp-param-i": ""}, "does not match"),
        ({"i": 42}, {"mcp-param-i": "42" + "0" * 10_000}, "does not match"),
        ({"i": 1}, {"mcp-param-i": "true"}, "does not match"),
        ({"i": 1.5}, {"mcp-param-i": "1.5"}, "does not match"),
        ({"b": True}, {"mcp-param-b": "True"}, "does not match"),
        ({"b": True}, {"mcp-param-b": "1"}, "does not match"),
        ({"b": False}, {"mcp-param-b": ""}, "does not match"),
        ({"s": ["a"]}, {"mcp-param-s": "a"}, "does not match body value an array"),
        ({"s": {"a": 1}}, {"mcp-param-s": "a"}, "does not match body value an object"),
        ({}, {"mcp-param-s": "a"}, "Mcp-Param-S header value 'a' is given, but the body has no argument s"),
        ({}, {"mcp-param-s": ""}, "but the body has no argument s"),
        ({"s": None}, {"mcp-param-s": "a"}, "but the body has no argument s"),
        ({"o": {}}, {"mcp-param-nested": "a"}, "but the body has no argument o.n"),
    ],
)
def test_different_headers_are_refused(
    arguments: dict[str, Any], headers: dict[str, str], reason: str
) -> None:
    assert reason in (verdict(arguments, headers) or "")


@pytest.mark.parity(105)
@pytest.mark.req("2026-07-28:headers.param-missing-rejected")
@pytest.mark.parametrize(
    "arguments", [{"s": "x"}, {"s": ""}, {"i": 0}, {"b": False}, {"o": {"n": "x"}}, {"s": [1]}]
)
def test_a_value_without_its_header_is_refused(arguments: dict[str, Any]) -> None:
    assert "header is missing; it must repeat the argument" in (verdict(arguments, {}) or "")


@pytest.mark.parity(105)
@pytest.mark.req("2026-07-28:headers.param-null-not-expected", "2026-07-28:headers.param-absent-not-expected")
def test_null_and_absent_values_need_no_header() -> None:
    assert verdict({"s": None, "i": None, "b": None, "o": {"n": None}}, {}) is None
    assert verdict({"o": {}}, {}) is None


@pytest.mark.parity(97)
@pytest.mark.req("2026-07-28:headers.param-invalid-chars", "2026-07-28:headers.invalid-chars-rejected")
@pytest.mark.parametrize("value", ["é", "a\0", "a\x7f", "\x01", *BAD_BASE64])
def test_a_recognised_header_with_invalid_characters_is_refused(value: str) -> None:
    for body in (value, "Hello", ""):
        assert "Mcp-Param-S header value" in (verdict({"s": body}, {"mcp-param-s": value}) or "")
        assert "is malformed" in (verdict({"s": body}, {"mcp-param-s": value}) or "")


@pytest.mark.req("2026-07-28:headers.integer-numeric-compare")
@given(st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER), st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER))
def test_integers_are_compared_as_numbers(first: int, second: int) -> None:
    for body in (first, float(first)):
        assert verdict({"i": body}, {"mcp-param-i": str(first)}) is None
        assert verdict({"i": body}, {"mcp-param-i": f"{first}.0"}) is None
        assert (verdict({"i": body}, {"mcp-param-i": f"{second}.0"}) is None) is (first == second)


scalars = st.none() | st.booleans() | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.text()


@given(
    st.fixed_dictionaries(
        {}, optional={"s": scalars, "i": scalars, "b": scalars, "o": st.builds(dict, n=scalars)}
    )
)
def test_what_a_client_mirrors_a_server_accepts(arguments: dict[str, Any]) -> None:
    assert verdict(arguments, lowered(emit_param_headers(PARAMS, arguments))) is None


@given(st.text(), st.text())
def test_two_different_texts_never_match(first: str, second: str) -> None:
    headers = lowered(emit_param_headers(PARAMS, {"s": first}))
    assert (verdict({"s": second}, headers) is None) is (first == second)
