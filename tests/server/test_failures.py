"""What a client learns of a handler that fails, and what it does not."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from mcpref import (
    InvalidParams,
    LocalError,
    McpServer,
    PeerError,
    ProtocolError,
    RequestContext,
    ToolError,
)
from mcpref.errors import UrlElicitationRequired
from mcpref.testing import connect

from .support import LEGACY, MODERN, VERSIONS, LocalContext, call, refusal, result, texts

SECRET = "hunter2"


class OutOfPaper(Exception):
    """An exception of an application's own."""


class OutOfInk(OutOfPaper):
    """A special case of it."""


def failing_server(**options: Any) -> McpServer:
    server = McpServer("failing", **options)

    @server.tool
    def fail(how: str) -> str:
        errors: dict[str, BaseException] = {
            "tool": ToolError("the printer is on fire"),
            "protocol": InvalidParams("not like this", data={"hint": 1}),
            "application": ProtocolError("no credit", code=4711),
            "local": LocalError("the line is dead"),
            "peer": PeerError(-1, "no"),
            "crash": RuntimeError(f"password={SECRET}"),
            "exit": SystemExit(f"password={SECRET}"),
            "interrupt": KeyboardInterrupt(SECRET),
            "ink": OutOfInk(SECRET),
        }
        raise errors[how]

    @server.resource("broken://{how}")
    def broken(how: str) -> str:
        raise RuntimeError(SECRET)

    @server.prompt
    def broken_prompt() -> str:
        raise RuntimeError(SECRET)

    @server.prompt
    def hello(name: str = "") -> str:
        return name

    @server.completion(hello, "name")
    def broken_completion(value: str) -> list[str]:
        raise RuntimeError(SECRET)

    return server


@pytest.fixture
def server() -> McpServer:
    return failing_server()


@pytest.mark.req("2025-11-25:tools.error-execution", "2026-07-28:tools.execution-error-iserror")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("how", "text"),
    [("tool", "the printer is on fire"), ("local", "the line is dead"), ("peer", "error -1: no")],
)
def test_what_a_model_can_act_on_is_a_result(server: McpServer, version: str, how: str, text: str) -> None:
    answered = call(server, "fail", {"how": how}, version=version)
    assert answered["isError"] is True
    assert text in texts(answered)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_protocol_error_is_sent_as_it_is(server: McpServer, version: str) -> None:
    error = refusal(server, "tools/call", {"name": "fail", "arguments": {"how": "protocol"}}, version=version)
    assert (error.code, error.message, error.data) == (-32602, "not like this", {"hint": 1})
    error = refusal(
        server, "tools/call", {"name": "fail", "arguments": {"how": "application"}}, version=version
    )
    assert (error.code, error.message, error.data) == (4711, "no credit", None)


@pytest.mark.req(
    "2025-11-25:errors.internal",
    "2026-07-28:errors.internal-32603",
    "2025-11-25:resources.error-internal",
    "2026-07-28:resources.internal-32603",
    "2025-11-25:prompts.error-internal",
    "2026-07-28:prompts.internal-32603",
    "2025-11-25:completion.error-internal",
    "2026-07-28:completion.internal-32603",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "fail", "arguments": {"how": "crash"}}),
        ("tools/call", {"name": "fail", "arguments": {"how": "exit"}}),
        ("tools/call", {"name": "fail", "arguments": {"how": "interrupt"}}),
        ("resources/read", {"uri": "broken://a"}),
        ("prompts/get", {"name": "broken_prompt"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "hello"}, "argument": {"name": "name", "value": ""}},
        ),
    ],
    ids=["tool", "exit", "interrupt", "resource", "prompt", "completion"],
)
def test_the_client_gets_a_reference_and_the_log_gets_the_rest(
    server: McpServer,
    version: str,
    method: str,
    params: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    error = refusal(server, method, params, version=version)
    assert error.code == -32603
    assert error.data is None
    found = re.fullmatch(r"internal error \(reference ([0-9a-f]{8})\)", error.message)
    assert found is not None, error.message
    (record,) = [record for record in caplog.records if found[1] in record.getMessage()]
    assert record.exc_info is not None
    assert SECRET in caplog.text


@pytest.mark.req(
    "2025-11-25:logging.no-credentials",
    "2025-11-25:logging.no-internals",
    "2026-07-28:logging.no-secrets",
    "logging.remove-sensitive",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_an_exception_reaches_the_wire(server: McpServer, version: str) -> None:
    """Neither the answer nor a log notification has its text, even for a client that wants every message."""
    with connect(server, version) as peer:
        params: dict[str, Any] = {"name": "fail", "arguments": {"how": "crash"}}
        if version == MODERN:
            params["_meta"] = {"io.modelcontextprotocol/logLevel": "debug"}
        else:
            peer.request("logging/setLevel", {"level": "debug"})
        with pytest.raises(PeerError) as caught:
            peer.request("tools/call", params)
        assert SECRET not in f"{caught.value.message} {caught.value.data}"
        assert "Traceback" not in caught.value.message
        assert SECRET not in str(peer.messages)
        assert [m for m in peer.messages if m.get("method") == "notifications/message"] == []


def test_debugging_shows_the_exception_but_not_its_traceback() -> None:
    server = failing_server(debug=True)
    error = refusal(server, "tools/call", {"name": "fail", "arguments": {"how": "crash"}})
    assert f"RuntimeError: password={SECRET}" in error.message
    assert "reference" in error.message
    assert "Traceback" not in error.message


def test_the_process_survives_every_kind(server: McpServer) -> None:
    with connect(server) as peer:
        for how in ("crash", "exit", "interrupt"):
            with pytest.raises(PeerError) as caught:
                peer.call_tool("fail", {"how": how})
            assert caught.value.code == -32603
        assert peer.call_tool("fail", {"how": "tool"})["isError"] is True


@pytest.mark.parametrize("version", [LEGACY[0], MODERN])
def test_a_result_without_a_json_form_is_an_internal_error(version: str) -> None:
    server = McpServer("odd")

    @server.tool(output_schema={"type": "object"})
    def odd() -> Any:
        return {"x": float("nan")}

    @server.tool
    def deep() -> dict[str, Any]:
        nested: dict[str, Any] = {}
        for _ in range(sys.getrecursionlimit() * 2):
            nested = {"x": nested}
        return nested

    with connect(server, version) as peer:
        for name in ("odd", "deep"):
            with pytest.raises(PeerError) as caught:
                peer.call_tool(name)
            assert caught.value.code == -32603
        assert peer.request("tools/list")["tools"]


# ---- Error handlers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_handler_says_what_an_exception_means(server: McpServer, version: str) -> None:
    @server.error_handler(OutOfPaper)
    def out_of_paper(error: OutOfPaper) -> ToolError:
        return ToolError(f"no {type(error).__name__}")

    answered = call(server, "fail", {"how": "ink"}, version=version)
    assert (answered["isError"], texts(answered)) == (True, "no OutOfInk")


def test_the_closest_handler_counts(server: McpServer) -> None:
    @server.error_handler(Exception)
    def any_other(error: Exception) -> ToolError:
        return ToolError("something")

    @server.error_handler(OutOfInk)
    def out_of_ink(error: OutOfInk) -> ProtocolError:
        return ProtocolError("ink", code=9)

    assert refusal(server, "tools/call", {"name": "fail", "arguments": {"how": "ink"}}).code == 9
    assert refusal(server, "tools/call", {"name": "missing"}).code == -32602
    assert texts(call(server, "fail", {"how": "crash"})) == "something"


def test_a_handler_may_raise_instead(server: McpServer) -> None:
    @server.error_handler(OutOfInk)
    def out_of_ink(error: OutOfInk) -> ToolError:
        raise ToolError("raised")

    assert texts(call(server, "fail", {"how": "ink"})) == "raised"


def test_resources_and_prompts_have_their_errors_translated_too(server: McpServer) -> None:
    @server.error_handler(RuntimeError)
    def broken(error: RuntimeError) -> ProtocolError:
        return InvalidParams("not today")

    for method, params in (
        ("resources/read", {"uri": "broken://a"}),
        ("prompts/get", {"name": "broken_prompt"}),
    ):
        error = refusal(server, method, params)
        assert (error.code, error.message) == (-32602, "not today")


# ---- Codes ------------------------------------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:elicitation.required-list",
    "2025-11-25:elicitation.required-url-mode",
    "2025-11-25:elicitation.error-required",
    "2025-11-25:elicitation.required-error-only",
    "2025-11-25:errors.url-elicitation-code",
    "2026-07-28:errors.no-32042",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_url_code_exists_in_one_revision_only(version: str) -> None:
    server = McpServer("urls")

    @server.tool
    def needs_consent() -> str:
        raise UrlElicitationRequired(
            [
                {
                    "mode": "url",
                    "message": "Agree first",
                    "url": "https://example.com/agree",
                    "elicitationId": "e1",
                }
            ]
        )

    error = refusal(server, "tools/call", {"name": "needs_consent"}, version=version)
    if version == "2025-11-25":
        assert error.code == -32042
        assert isinstance(error.data, dict)
        (entry,) = error.data["elicitations"]
        assert (entry["mode"], entry["elicitationId"]) == ("url", "e1")
    else:
        assert (error.code, error.data) == (-32603, None)


@pytest.mark.req("2025-11-25:elicitation.required-url-mode")
@pytest.mark.parametrize(
    "entry",
    [
        {"mode": "form", "url": "https://example.com", "elicitationId": "e"},
        {"mode": "url", "elicitationId": "e"},
        {"mode": "url", "url": "https://example.com"},
        {"mode": "url", "url": "https://example.com", "elicitationId": ""},
    ],
    ids=repr,
)
def test_an_incomplete_entry_is_refused_where_it_is_made(entry: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="elicitationId"):
        UrlElicitationRequired([entry])


@pytest.mark.req("2026-07-28:errors.legacy-range-no-meaning")
@pytest.mark.parametrize("code", [-32000, -32001, -32019, -32099, 1])
def test_a_code_that_a_client_answers_with_has_no_meaning_of_its_own(code: int) -> None:
    """Whatever it is, the handler gets it verbatim, and the server goes on."""
    server = McpServer("codes")

    @server.tool
    def roots(ctx: RequestContext) -> int:
        with pytest.raises(PeerError) as caught:
            ctx.list_roots()
        assert caught.value.data == {"k": 1}
        return caught.value.code

    def refuse(params: object) -> dict[str, Any]:
        raise PeerError(code, "no", {"k": 1})

    with connect(server, "2025-11-25", on_roots=refuse) as peer:
        assert texts(peer.call_tool("roots")) == str(code)
        assert texts(peer.call_tool("roots")) == str(code)


@pytest.mark.req("errors.message-concise")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_error_says_in_one_line_what_was_wrong(server: McpServer, version: str) -> None:
    huge = "x" * 100_000
    for method, params in (
        (huge, {}),
        ("tools/call", {"name": huge}),
        ("prompts/get", {"name": huge}),
        ("resources/read", {"uri": f"none://{huge}"}),
        ("resources/read", {"uri": huge}),
    ):
        message = refusal(server, method, params, version=version).message
        assert "\n" not in message
        assert len(message) < 400


def test_a_modern_error_after_a_legacy_handshake_has_modern_codes(server: McpServer) -> None:
    ctx = LocalContext()
    handshake = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t"}}
    result(server, "initialize", handshake, version="2025-11-25", ctx=ctx)
    assert (
        refusal(server, "resources/read", {"uri": "none://a"}, version="2025-11-25", ctx=ctx).code == -32002
    )
    assert refusal(server, "resources/read", {"uri": "none://a"}, version=MODERN, ctx=ctx).code == -32602
