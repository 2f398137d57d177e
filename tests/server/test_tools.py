"""``tools/list`` and ``tools/call``: what is offered, what may be passed, what comes back."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import pytest
from jsonschema import Draft202012Validator

from mcpref import Auth, McpServer, Param, PeerError, RequestContext, ToolResponse, content
from mcpref.testing import connect

from .support import LEGACY, MODERN, VERSIONS, LocalContext, call, refusal, result, texts


@dataclass
class Place:
    """Where it is."""

    city: str
    zip: int


class Weather(TypedDict):
    """How it is."""

    high: float
    low: float


@pytest.fixture
def server() -> McpServer:
    server = McpServer("tools")

    @server.tool(title="Forecast", annotations={"readOnlyHint": True}, meta={"com.example/cost": 1})
    def forecast(
        place: Place, days: Annotated[int, Param("How many days", minimum=1, maximum=7)] = 3
    ) -> Weather:
        """Tell the weather.

        Args:
            place: For where.
        """
        return {"high": 20.0 + days, "low": float(place.zip)}

    @server.tool
    def nothing() -> None:
        """Do nothing."""

    @server.tool
    def numbers(kind: Literal["odd", "even"] = "odd") -> list[int]:
        return [1, 3] if kind == "odd" else [2, 4]

    return server


def listed(server: McpServer, version: str = MODERN) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in result(server, "tools/list", version=version)["tools"]}


# ---- The list ---------------------------------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:tools.list",
    "2025-11-25:tools.input-schema-valid",
    "2025-11-25:tools.input-schema-dialect",
    "tools.input-schema-object",
    "2025-11-25:schema.schemas-valid",
    "2026-07-28:tools.list-answered",
    "2026-07-28:tools.name-present",
    "2026-07-28:tools.input-schema-type-object",
    "2026-07-28:schema.valid-per-dialect",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_tool_is_listed_with_a_valid_schema(server: McpServer, version: str) -> None:
    tools = listed(server, version)
    assert list(tools) == ["forecast", "nothing", "numbers"]
    for tool in tools.values():
        Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        if "outputSchema" in tool:
            Draft202012Validator.check_schema(tool["outputSchema"])


def test_a_schema_says_what_the_signature_says(server: McpServer) -> None:
    tool = listed(server)["forecast"]
    assert tool["description"] == "Tell the weather."
    assert tool["title"] == "Forecast"
    assert tool["_meta"] == {"com.example/cost": 1}
    schema = tool["inputSchema"]
    assert schema["required"] == ["place"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["days"] == {
        "type": "integer",
        "description": "How many days",
        "minimum": 1,
        "maximum": 7,
        "default": 3,
    }
    assert schema["properties"]["place"]["properties"]["city"] == {"type": "string"}
    assert tool["outputSchema"]["type"] == "object"


@pytest.mark.req("2025-11-25:tools.no-params", "2026-07-28:tools.no-params-schema")
def test_a_tool_without_parameters_takes_none(server: McpServer) -> None:
    schema = listed(server)["nothing"]["inputSchema"]
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert not schema.get("properties")


@pytest.mark.req("2026-07-28:tools.deterministic-order", "2026-07-28:tools.list-not-per-connection")
def test_the_order_is_that_of_registration_on_every_connection(server: McpServer) -> None:
    orders = []
    for _ in range(2):
        with connect(server) as peer:
            orders.append([tool["name"] for tool in peer.request("tools/list")["tools"]])
            peer.call_tool("nothing")
            orders.append([tool["name"] for tool in peer.request("tools/list")["tools"]])
    assert orders == [["forecast", "nothing", "numbers"]] * 4


@pytest.mark.req("2025-11-25:tools.output-schema-object", "2026-07-28:tools.output-schema-any")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_output_schema_is_shown_where_the_revision_can_carry_it(server: McpServer, version: str) -> None:
    tools = listed(server, version)
    assert ("outputSchema" in tools["forecast"]) == (version >= "2025-06-18")
    assert ("outputSchema" in tools["numbers"]) == (version == MODERN)


@pytest.mark.req("tools.name-length", "tools.name-charset", "tools.name-no-special", "tools.name-unique")
@pytest.mark.parametrize("name", ["has space", "comma,", "", "a" * 129, "ünder", "new\nline", "a/b"])
def test_a_bad_name_is_refused_at_registration(name: str) -> None:
    server = McpServer("names")
    # An empty name means none was given, and a lambda has no other.
    with pytest.raises((ValueError, TypeError), match="name"):
        server.tool(lambda: None, name=name)


@pytest.mark.req("tools.name-unique", "2025-11-25:tools.name-case", "2026-07-28:tools.name-case-sensitive")
def test_names_are_unique_and_case_counts(server: McpServer) -> None:
    with pytest.raises(ValueError, match="already"):
        server.tool(lambda: None, name="nothing")
    server.tool(lambda: "loud", name="Nothing")
    assert texts(call(server, "Nothing")) == "loud"
    assert call(server, "nothing")["content"] == []


# ---- Results ----------------------------------------------------------------------------------------------


@pytest.mark.req(
    "tools.structured-text-copy",
    "2025-11-25:tools.structured-object",
    "tools.output-conforms",
    "2026-07-28:tools.result-content",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_an_object_is_structured_and_text(server: McpServer, version: str) -> None:
    arguments = {"place": {"city": "Oslo", "zip": 151}, "days": 2}
    answered = call(server, "forecast", arguments, version=version)
    assert json.loads(texts(answered)) == {"high": 22.0, "low": 151.0}
    assert answered["isError"] is False
    if version >= "2025-06-18":
        assert answered["structuredContent"] == {"high": 22.0, "low": 151.0}
        schema = listed(server, version)["forecast"]["outputSchema"]
        Draft202012Validator(schema).validate(answered["structuredContent"])
    else:
        assert "structuredContent" not in answered


@pytest.mark.req("2026-07-28:tools.structured-any-json", "2025-11-25:tools.structured-object")
@pytest.mark.parametrize("version", VERSIONS)
def test_any_other_value_is_structured_on_the_newest_revision_only(server: McpServer, version: str) -> None:
    answered = call(server, "numbers", version=version)
    assert texts(answered) == "[1,3]"
    assert answered.get("structuredContent") == ([1, 3] if version == MODERN else None)


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_no_content(server: McpServer, version: str) -> None:
    answered = call(server, "nothing", version=version)
    assert (answered["content"], answered["isError"]) == ([], False)


def test_a_response_says_exactly_what_comes_back() -> None:
    server = McpServer("responses")

    @server.tool
    def full() -> ToolResponse[dict[str, int]]:
        return ToolResponse(
            [content.text("seen"), content.image(b"\x89PNG", "image/png")],
            structured={"n": 1},
            is_error=True,
            meta={"com.example/k": "v"},
        )

    answered = call(server, "full")
    assert [block["type"] for block in answered["content"]] == ["text", "image"]
    assert answered["structuredContent"] == {"n": 1}
    assert answered["isError"] is True
    assert answered["_meta"]["com.example/k"] == "v"


@pytest.mark.req("tools.output-conforms")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_result_that_breaks_its_schema_is_not_sent(version: str, caplog: pytest.LogCaptureFixture) -> None:
    server = McpServer("wrong")

    @server.tool(
        output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    )
    def wrong() -> Any:
        return {"n": "secret text"}

    @server.tool(output_schema={"type": "object"})
    def promised() -> Any:
        return ToolResponse("only text")

    for name in ("wrong", "promised"):
        error = refusal(server, "tools/call", {"name": name}, version=version)
        assert error.code == -32603
        assert "secret" not in error.message
    assert "does not allow" in caplog.text


# ---- Arguments --------------------------------------------------------------------------------------------

BAD_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({}, "place"),
    ({"place": {"city": "Oslo"}}, "zip"),
    ({"place": {"city": "Oslo", "zip": "x"}}, "zip"),
    ({"place": {"city": "Oslo", "zip": 1}, "days": 0}, "days"),
    ({"place": {"city": "Oslo", "zip": 1}, "days": 2.5}, "days"),
    ({"place": {"city": "Oslo", "zip": 1}, "day": 2}, "days"),
    ({"place": None}, "place"),
]


@pytest.mark.req(
    "2025-11-25:tools.validate-input",
    "2025-11-25:tools.error-input-validation",
    "2026-07-28:tools.validate-inputs",
    "2026-07-28:tools.execution-error-iserror",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("arguments", "named"), BAD_ARGUMENTS, ids=lambda value: str(value)[:40])
def test_bad_arguments_are_refused_by_name(
    server: McpServer, version: str, arguments: dict[str, Any], named: str
) -> None:
    params = {"name": "forecast", "arguments": arguments}
    if version >= "2025-11-25":
        answered = result(server, "tools/call", params, version=version)
        assert answered["isError"] is True
        message = texts(answered)
    else:
        error = refusal(server, "tools/call", params, version=version)
        assert error.code == -32602
        message = error.message
    assert named in message


@pytest.mark.req("2025-11-25:tools.error-unknown", "2026-07-28:tools.unknown-tool-32602")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_tool_is_an_error_of_the_protocol(server: McpServer, version: str) -> None:
    error = refusal(server, "tools/call", {"name": "missing", "arguments": {}}, version=version)
    assert error.code == -32602
    assert "missing" in error.message


@pytest.mark.req(
    "2025-11-25:tools.error-malformed",
    "2026-07-28:tools.malformed-protocol-error",
    "2025-11-25:errors.invalid-params",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": None},
        {"name": ["forecast"]},
        {"name": "nothing", "arguments": []},
        {"name": "nothing", "arguments": "x"},
        {"name": "nothing", "arguments": None},
    ],
    ids=repr,
)
def test_malformed_params_are_an_error_of_the_protocol(
    server: McpServer, version: str, params: dict[str, Any]
) -> None:
    assert refusal(server, "tools/call", params, version=version).code == -32602


# ---- Schemas that were written by hand --------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:schema.default-2020-12",
    "schema.support-2020-12",
    "schema.validate-by-dialect",
    "2026-07-28:schema.default-dialect-2020-12",
    "schema.explicit-dialect",
)
@pytest.mark.parametrize(
    ("dialect", "refused"),
    [
        # 2020-12 has prefixItems; draft 7 does not know it, and has an array under items instead.
        (None, {"prefixItems"}),
        ("https://json-schema.org/draft/2020-12/schema", {"prefixItems"}),
        ("http://json-schema.org/draft-07/schema#", {"items"}),
    ],
)
def test_a_hand_written_schema_is_read_by_its_dialect(dialect: str | None, refused: set[str]) -> None:
    server = McpServer("dialects")
    for keyword in ("prefixItems", "items"):
        rule: Any = [{"type": "integer"}]
        if keyword == "items" and refused == {"prefixItems"}:
            continue  # an array under items is no valid schema there
        schema: dict[str, Any] = {"type": "object", "properties": {"pair": {"type": "array", keyword: rule}}}
        if dialect is not None:
            schema["$schema"] = dialect
        server.tool(_echo, name=keyword, input_schema=schema)
        answered = call(server, keyword, {"pair": ["text"]})
        assert answered["isError"] is (keyword in refused)


@pytest.mark.req("schema.unsupported-dialect-error")
def test_an_unknown_dialect_is_refused_at_registration() -> None:
    server = McpServer("dialects")
    schema = {"$schema": "https://example.com/my-dialect", "type": "object"}
    with pytest.raises(ValueError, match="dialect"):
        server.tool(_echo, name="echo", input_schema=schema)


@pytest.mark.req("2025-11-25:schema.schemas-valid", "2026-07-28:schema.valid-per-dialect")
@pytest.mark.parametrize(
    "schema",
    [{"type": "string"}, {"type": "object", "properties": []}, {"type": "objekt"}, {"properties": {}}],
    ids=repr,
)
def test_an_invalid_schema_is_refused_at_registration(schema: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match="tool 'echo'"):
        McpServer("invalid").tool(_echo, name="echo", input_schema=schema)


@pytest.mark.req("2026-07-28:schema.ref-no-network-fetch", "2026-07-28:schema.ref-fetch-default-off")
def test_a_reference_to_the_network_is_never_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a schema made the server open a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    schema = {"type": "object", "properties": {"x": {"$ref": "http://192.0.2.1/schema.json"}}}
    with pytest.raises(ValueError, match=r"192\.0\.2\.1"):
        McpServer("references").tool(_echo, name="echo", input_schema=schema)


# ---- Access -----------------------------------------------------------------------------------------------


@pytest.mark.req("tools.access-control")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_scope_that_was_not_granted_keeps_a_tool_shut(version: str) -> None:
    server = McpServer("guarded")
    ran = []

    @server.tool(scopes=["write"])
    def erase() -> str:
        ran.append(1)
        return "erased"

    reader = LocalContext(version, auth=Auth("ann", frozenset({"read"})))
    error = refusal(server, "tools/call", {"name": "erase"}, version=version, ctx=reader)
    assert (error.code, ran) == (-32600, [])
    assert error.data == {"requiredScopes": ["write"]}
    writer = LocalContext(version, auth=Auth("bob", frozenset({"read", "write"})))
    assert texts(call(server, "erase", version=version, ctx=writer)) == "erased"


@pytest.mark.parametrize("version", [*LEGACY, MODERN])
def test_a_handler_learns_who_called(version: str) -> None:
    server = McpServer("who")

    @server.tool
    def who(ctx: RequestContext) -> str:
        return "nobody" if ctx.auth is None else ctx.auth.subject

    assert texts(call(server, "who", version=version)) == "nobody"
    ctx = LocalContext(version, auth=Auth("ann"))
    assert texts(call(server, "who", version=version, ctx=ctx)) == "ann"


def test_unknown_params_are_let_pass(server: McpServer) -> None:
    """A later revision may add members."""
    with connect(server) as peer:
        assert peer.request("tools/call", {"name": "nothing", "future": 1})["content"] == []
        with pytest.raises(PeerError):
            peer.request("tools/call", {"future": 1})


def _echo(**arguments: Any) -> str:
    return json.dumps(arguments)
