"""What a modern request must carry over HTTP: its metadata, and headers that say the same.

Spec: 2026-07-28 basic/transports/streamable-http#request-metadata
"""

from __future__ import annotations

import base64
from typing import Annotated, Any

import pytest

from mcpref import McpServer, Param
from mcpref.meta import MetaKey
from tests.http.conftest import Serve
from tests.http.support import MODERN, HttpClient, text
from tests.http.wires import Reply


def make_server() -> McpServer:
    server = McpServer("modern", version="1.5")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.prompt(name="grüße")
    def greet() -> str:
        return "hallo"

    @server.prompt(name=" edges ")
    def edges() -> str:
        return "edges"

    @server.tool
    def where(
        region: Annotated[str, Param(header="Region")],
        count: Annotated[int | None, Param(header="Count")] = None,
        dry: Annotated[bool, Param(header="Dry")] = False,
    ) -> str:
        return f"{region} {count} {dry}"

    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.prompt
    def hello() -> str:
        return "hello"

    return server


def sentinel(value: str) -> str:
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def refused(reply: Reply, code: int) -> str:
    assert (reply.status, reply.error()["code"]) == (400, code)
    message: str = reply.error()["message"]
    return message


# ---- Metadata -----------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:meta.missing-required-32602", "2026-07-28:meta.missing-required-http-400")
@pytest.mark.parametrize(
    ("meta", "named"),
    [
        ({MetaKey.PROTOCOL_VERSION: None}, MetaKey.PROTOCOL_VERSION),
        ({MetaKey.PROTOCOL_VERSION: 7}, MetaKey.PROTOCOL_VERSION),
        ({MetaKey.CLIENT_CAPABILITIES: None}, MetaKey.CLIENT_CAPABILITIES),
        ({MetaKey.CLIENT_CAPABILITIES: []}, MetaKey.CLIENT_CAPABILITIES),
        ({MetaKey.LOG_LEVEL: "loud"}, MetaKey.LOG_LEVEL),
    ],
)
def test_required_metadata(serve: Serve, meta: dict[str, Any], named: str) -> None:
    assert named in refused(serve(make_server()).modern("tools/list", meta=meta), -32602)


@pytest.mark.parametrize("params", [{}, {"_meta": {}}, {"_meta": {MetaKey.CLIENT_CAPABILITIES: {}}}])
@pytest.mark.parametrize("header", [MODERN, None])
def test_a_request_that_forgot_its_version_learns_so(
    serve: Serve, params: dict[str, Any], header: str | None
) -> None:
    """By the header or by a method that no older revision has, it is seen to be modern."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params}
    headers = {"MCP-Protocol-Version": header, "Mcp-Method": "server/discover"}
    assert MetaKey.PROTOCOL_VERSION in refused(serve(make_server()).post(message, headers), -32602)


@pytest.mark.req(
    "2026-07-28:discover.implemented",
    "2026-07-28:discover.supported-versions",
    "2026-07-28:discover.capabilities",
)
def test_discover(serve: Serve) -> None:
    result = serve(make_server()).modern("server/discover").result()
    assert result["supportedVersions"] == [MODERN]
    assert sorted(result["capabilities"]) == ["logging", "prompts", "resources", "tools"]
    assert result["resultType"] == "complete"
    assert result["_meta"][MetaKey.SERVER_INFO] == {"name": "modern", "version": "1.5"}
    assert isinstance(result["ttlMs"], int)
    assert result["cacheScope"] in ("public", "private")


CACHED = ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"]


@pytest.mark.req(
    "2026-07-28:caching.hints-present",
    "2026-07-28:caching.ttl-integer-ms",
    "2026-07-28:caching.scope-values",
    "2026-07-28:caching.ttl-nonnegative",
)
@pytest.mark.parametrize("method", [*CACHED, "resources/read"])
def test_every_cacheable_result_says_for_how_long(serve: Serve, method: str) -> None:
    params = {"uri": "note://a"} if method == "resources/read" else {}
    result = serve(make_server()).modern(method, params).result()
    assert type(result["ttlMs"]) is int
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] in ("public", "private")


# ---- Standard headers ---------------------------------------------------------------------------------


@pytest.mark.parity(107)
@pytest.mark.req("2026-07-28:headers.mismatch-400", "2026-07-28:headers.missing-standard-rejected")
@pytest.mark.parametrize("header", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_header_that_is_missing(serve: Serve, header: str) -> None:
    client = serve(make_server())
    message = refused(client.call("add", {"a": 1, "b": 2}, headers={header: None}), -32020)
    assert header in message
    assert "missing" in message


@pytest.mark.parity(107)
@pytest.mark.req(
    "2026-07-28:headers.mismatch-rejected",
    "2026-07-28:headers.mismatch-32020",
    "2026-07-28:headers.values-case-sensitive",
    "2026-07-28:headers.invalid-chars-rejected",
    "2026-07-28:base.body-source-of-truth",
)
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "1900-01-01"),
        ("MCP-Protocol-Version", ""),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "Tools/Call"),
        ("Mcp-Method", ""),
        ("Mcp-Method", sentinel("tools/call")),
        ("Mcp-Name", "Add"),
        ("Mcp-Name", "sub"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "add,add"),
        ("Mcp-Name", sentinel("sub")),
        ("Mcp-Name", "=?base64?!!!?="),
        ("Mcp-Name", "=?base64?YWRk"),
        ("Mcp-Name", "=?base64?YWR?="),
        ("Mcp-Name", "=?base64?/w==?="),
        ("Mcp-Name", "add\x00"),
        ("Mcp-Name", "\x7fadd"),
        ("Mcp-Name", "add\xe4"),
        ("Mcp-Method", "tools/call\x00"),
    ],
)
def test_a_header_that_differs(serve: Serve, header: str, value: str) -> None:
    client = serve(make_server())
    message = refused(client.call("add", {"a": 1, "b": 2}, headers={header: value}), -32020)
    assert header in message


@pytest.mark.parity(107)
@pytest.mark.parametrize(
    "value", ["add", " add", "add \t", "\t add ", sentinel("add"), f" {sentinel('add')} "]
)
def test_blanks_and_the_wrapped_form_make_no_difference(serve: Serve, value: str) -> None:
    assert text(serve(make_server()).call("add", {"a": 1, "b": 2}, headers={"Mcp-Name": value})) == "3"


@pytest.mark.req("2026-07-28:headers.names-case-insensitive")
@pytest.mark.parametrize("change", [str.lower, str.upper, str.title])
def test_names_of_headers_have_no_case(serve: Serve, change: Any) -> None:
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    given: dict[str, str | None] = dict.fromkeys(headers)
    given.update({change(name): value for name, value in headers.items()})
    assert text(serve(make_server()).call("add", {"a": 1, "b": 2}, headers=given)) == "3"


@pytest.mark.parity(107)
@pytest.mark.parametrize("name", ["grüße", " edges "])
def test_a_name_that_no_header_can_carry_is_wrapped(serve: Serve, name: str) -> None:
    client = serve(make_server())
    assert client.modern("prompts/get", {"name": name}).status == 200
    plain = {"Mcp-Name": name.encode().decode("latin-1")}
    assert refused(client.modern("prompts/get", {"name": name}, headers=plain), -32020)


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("resources/read", {"uri": "note://a"}, "note://a"),
        ("prompts/get", {"name": "hello"}, "hello"),
    ],
)
def test_the_name_is_compared_on_each_method_that_has_one(
    serve: Serve, method: str, params: dict[str, Any], name: str
) -> None:
    client = serve(make_server())
    assert client.modern(method, params, headers={"Mcp-Name": name}).status == 200
    refused(client.modern(method, params, headers={"Mcp-Name": name + "x"}), -32020)
    refused(client.modern(method, params, headers={"Mcp-Name": None}), -32020)


def test_a_name_that_a_method_has_not_is_ignored(serve: Serve) -> None:
    assert serve(make_server()).modern("tools/list", headers={"Mcp-Name": "whatever"}).status == 200


def test_a_body_of_one_era_under_a_header_of_the_other(serve: Serve) -> None:
    """The mismatch is told, and not that either version is unsupported."""
    client = serve(make_server())
    refused(client.modern("tools/list", meta={MetaKey.PROTOCOL_VERSION: "2025-11-25"}), -32020)
    refused(client.modern("tools/list", headers={"MCP-Protocol-Version": "2025-11-25"}), -32020)
    both: dict[str, Any] = {
        "meta": {MetaKey.PROTOCOL_VERSION: "2025-11-25"},
        "headers": {"MCP-Protocol-Version": "2025-11-25"},
    }
    error = client.modern("tools/list", **both)
    assert refused(error, -32022)
    assert error.error()["data"] == {"supported": [MODERN], "requested": "2025-11-25"}


# ---- Headers from arguments ---------------------------------------------------------------------------


def where(client: HttpClient, arguments: dict[str, Any], **headers: str) -> Reply:
    given = {f"Mcp-Param-{name}": value for name, value in headers.items()}
    return client.call("where", arguments, headers=given)


@pytest.mark.parity(105)
@pytest.mark.req(
    "2026-07-28:headers.param-validate",
    "2026-07-28:headers.param-null-not-expected",
    "2026-07-28:headers.param-absent-not-expected",
    "2026-07-28:headers.integer-numeric-compare",
)
@pytest.mark.parametrize(
    ("arguments", "headers", "answer"),
    [
        ({"region": "eu"}, {"Region": "eu"}, "eu None False"),
        ({"region": "eu"}, {"region": "  eu "}, "eu None False"),
        ({"region": ""}, {"Region": ""}, " None False"),
        ({"region": "ü"}, {"Region": sentinel("ü")}, "ü None False"),
        ({"region": "eu", "count": 42}, {"Region": "eu", "Count": "42"}, "eu 42 False"),
        ({"region": "eu", "count": 42}, {"Region": "eu", "Count": "42.0"}, "eu 42 False"),
        ({"region": "eu", "count": 42.0}, {"Region": "eu", "Count": "42"}, "eu 42 False"),
        ({"region": "eu", "count": None}, {"Region": "eu"}, "eu None False"),
        ({"region": "eu", "dry": True}, {"Region": "eu", "Dry": "true"}, "eu None True"),
        ({"region": "eu"}, {"Region": "eu", "Unknown": "x"}, "eu None False"),
    ],
)
def test_an_argument_and_its_header(
    serve: Serve, arguments: dict[str, Any], headers: dict[str, str], answer: str
) -> None:
    assert text(where(serve(make_server()), arguments, **headers)) == answer


@pytest.mark.parity(105)
@pytest.mark.req("2026-07-28:headers.param-missing-rejected", "2026-07-28:headers.param-invalid-chars")
@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {}),
        ({"region": "eu"}, {"Region": "us"}),
        ({"region": "eu"}, {"Region": "EU"}),
        ({"region": "eu"}, {"Region": "eu\x00"}),
        ({"region": "ü"}, {"Region": "\xfc"}),
        ({"region": "eu"}, {"Region": "=?base64?%%?="}),
        ({"region": "eu"}, {"Region": "eu", "Count": "42"}),
        ({"region": "eu", "count": None}, {"Region": "eu", "Count": "42"}),
        ({"region": "eu", "count": 42}, {"Region": "eu"}),
        ({"region": "eu", "count": 42}, {"Region": "eu", "Count": "43"}),
        ({"region": "eu", "count": 42}, {"Region": "eu", "Count": "forty-two"}),
        ({"region": "eu", "dry": True}, {"Region": "eu", "Dry": "True"}),
        ({"region": "eu", "dry": True}, {"Region": "eu", "Dry": "1"}),
    ],
)
def test_an_argument_that_its_header_contradicts(
    serve: Serve, arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    message = refused(where(serve(make_server()), arguments, **headers), -32020)
    assert "Mcp-Param-" in message


def test_legacy_requests_need_no_such_headers(serve: Serve) -> None:
    session = serve(make_server()).connect()
    headers = {"Mcp-Method": "nonsense", "Mcp-Name": "nonsense", "Mcp-Param-Region": "us"}
    assert text(session.call("where", {"region": "eu"}, headers=headers)) == "eu None False"
