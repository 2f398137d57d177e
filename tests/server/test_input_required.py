"""Handlers that return what they need from the client, and read it when the client comes again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from mcpref import (
    Auth,
    Elicit,
    ElicitAccepted,
    ElicitUrl,
    InputRequest,
    InputRequired,
    McpServer,
    RequestContext,
    Roots,
    Sample,
    ToolResponse,
)
from mcpref.errors import InvalidAnswer
from mcpref.jsonrpc import Request
from mcpref.server.inbound import route
from mcpref.server.scope import RequestScope

from .support import EVERYTHING, FORM, LEGACY, LocalContext, call, meta, refusal, result, texts

CONFIRM: dict[str, Any] = {
    "type": "object",
    "properties": {"sure": {"type": "boolean"}},
    "required": ["sure"],
}
YES = {"action": "accept", "content": {"sure": True}}


@dataclass
class Progress:
    step: int
    names: list[str]


def asking_server(**options: Any) -> McpServer:
    server = McpServer("returning", secret="0123456789abcdef", **options)

    @server.tool
    def delete(ctx: RequestContext, path: str) -> ToolResponse[Any]:
        if not ctx.has_input_response("confirm"):
            return ToolResponse.input_required(
                {"confirm": Elicit(f"Delete {path}?", CONFIRM)}, Progress(1, [path])
            )
        answer = ctx.input_response_as("confirm", Elicit("", CONFIRM))
        kept = ctx.request_state_as(Progress, Progress(0, []))
        return ToolResponse(f"{answer.action} {kept.step} {kept.names}")

    @server.tool
    def everything(ctx: RequestContext, state: str | None = None) -> ToolResponse[Any]:
        requests = [
            InputRequest.elicit("form", "Sure?", CONFIRM),
            InputRequest.elicit_url("url", "Go", "https://example.com"),
            InputRequest.sample(
                "plain",
                {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 5},
            ),
            InputRequest.sample(
                "tools",
                {
                    "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
                    "maxTokens": 5,
                    "tools": [{"name": "t", "inputSchema": {"type": "object"}}],
                },
            ),
            InputRequest.roots("roots"),
        ]
        return ToolResponse.input_required(requests, state)

    @server.tool
    def plain() -> str:
        return "plain"

    @server.tool
    def wait_for_it(ctx: RequestContext) -> ToolResponse[Any]:
        rounds = ctx.request_state_as(int, 0)
        if rounds < 2:
            return ToolResponse.input_required([], rounds + 1)
        return ToolResponse(f"done after {rounds}")

    @server.prompt
    def greet(ctx: RequestContext, name: str = "") -> Any:
        if not ctx.is_resubmit:
            return InputRequired.of({"roots": Roots()}, {"for": name})
        return f"{ctx.request_state_as(dict)} {len(ctx.input_response_as('roots', Roots()))}"

    @server.resource("doc://{name}")
    def doc(ctx: RequestContext, name: str) -> Any:
        if not ctx.is_resubmit:
            return InputRequired.of({"roots": Roots()})
        return f"{name} {[root.uri for root in ctx.input_response_as('roots', Roots())]}"

    return server


# ---- The result -------------------------------------------------------------------------------------------


@pytest.mark.parity(108, 110)
@pytest.mark.req(
    "2026-07-28:jsonrpc.result-type-input-required",
    "2026-07-28:schema.input-required-result",
    "2026-07-28:tools.input-required",
    "2026-07-28:mrtr.may-include-requests",
    "2026-07-28:mrtr.may-include-state",
    "2026-07-28:elicitation.common-params",
    "elicitation.form-params",
    "2026-07-28:elicitation.via-mrtr",
)
def test_the_result_is_a_map_of_requests_and_a_sealed_state() -> None:
    found = call(asking_server(), "delete", {"path": "/tmp/x"}, capabilities=FORM)
    assert found["resultType"] == "input_required"
    assert found["inputRequests"] == {
        "confirm": {
            "method": "elicitation/create",
            "params": {"message": "Delete /tmp/x?", "requestedSchema": CONFIRM},
        }
    }
    assert isinstance(found["requestState"], str)
    assert "content" not in found
    assert "/tmp/x" not in found["requestState"]


@pytest.mark.parity(109)
@pytest.mark.req("2026-07-28:mrtr.allowed-methods", "2026-07-28:base.support-core")
def test_the_answer_and_the_state_bring_it_to_its_end() -> None:
    server = asking_server()
    first = call(server, "delete", {"path": "a"}, capabilities=FORM)
    params = {
        "name": "delete",
        "arguments": {"path": "a"},
        "inputResponses": {"confirm": YES},
        "requestState": first["requestState"],
    }
    found = result(server, "tools/call", params, capabilities=FORM)
    assert (found["resultType"], texts(found)) == ("complete", "accept 1 ['a']")


@pytest.mark.parity(109, 112)
def test_an_answer_without_a_state_is_read_too() -> None:
    """This form trusts what the client sends; a handler that must not uses ``ctx.ask``."""
    params = {"name": "delete", "arguments": {"path": "a"}, "inputResponses": {"confirm": YES}}
    assert texts(result(asking_server(), "tools/call", params, capabilities=FORM)) == "accept 0 []"


@pytest.mark.parity(109)
def test_answers_in_meta_are_not_answers() -> None:
    params = {
        "name": "delete",
        "arguments": {"path": "a"},
        "_meta": {**meta(FORM), "inputResponses": {"confirm": YES}},
    }
    assert result(asking_server(), "tools/call", params)["resultType"] == "input_required"


@pytest.mark.parity(111)
@pytest.mark.req("2026-07-28:mrtr.repeat-allowed")
def test_a_state_alone_may_be_asked_for_again_and_again() -> None:
    server = asking_server()
    params: dict[str, Any] = {"name": "wait_for_it", "arguments": {}}
    for _ in range(2):
        found = result(server, "tools/call", params)
        assert found["resultType"] == "input_required"
        assert "inputRequests" not in found
        params["requestState"] = found["requestState"]
    assert texts(result(server, "tools/call", params)) == "done after 2"


@pytest.mark.parity(111)
def test_without_a_state_there_is_none_on_the_wire() -> None:
    found = result(asking_server(), "resources/read", {"uri": "doc://a"}, capabilities={"roots": {}})
    assert "requestState" not in found
    assert set(found) == {"resultType", "inputRequests", "_meta"}


@pytest.mark.req(
    "2026-07-28:prompts.input-required",
    "2026-07-28:resources.input-required",
    "2026-07-28:caching.input-required-no-hints",
)
@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("prompts/get", {"name": "greet", "arguments": {"name": "ann"}}, "{'for': 'ann'} 1"),
        ("resources/read", {"uri": "doc://a"}, "a ['file:///x']"),
    ],
)
def test_prompts_and_resources_ask_likewise(method: str, params: dict[str, Any], text: str) -> None:
    server = asking_server()
    first = result(server, method, params, capabilities={"roots": {}})
    assert first["inputRequests"] == {"roots": {"method": "roots/list", "params": {}}}
    assert "ttlMs" not in first
    assert "cacheScope" not in first
    again = {**params, "inputResponses": {"roots": {"roots": [{"uri": "file:///x"}]}}}
    if "requestState" in first:
        again["requestState"] = first["requestState"]
    done = result(server, method, again, capabilities={"roots": {}})
    assert done["resultType"] == "complete"
    assert text in str(done.get("messages") or done["contents"])


@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "delete", "arguments": {"path": "a"}}),
        ("prompts/get", {"name": "greet"}),
        ("resources/read", {"uri": "doc://a"}),
    ],
)
def test_legacy_revisions_have_no_such_result(version: str, method: str, params: dict[str, Any]) -> None:
    error = refusal(asking_server(), method, params, version=version, capabilities=EVERYTHING)
    assert error.code == -32603
    assert "ctx.ask" in error.message


# ---- What the client did not declare ----------------------------------------------------------------------


@pytest.mark.parity(113)
@pytest.mark.req("2026-07-28:meta.no-undeclared-capability-use")
@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ({"elicitation": {}}, ["form"]),
        ({"elicitation": {"form": {}}}, ["form"]),
        ({"elicitation": {"url": {}}}, ["url"]),
        ({"sampling": {}}, ["plain"]),
        ({"sampling": {"tools": {}}}, ["plain", "tools"]),
        ({"roots": {}}, ["roots"]),
        (EVERYTHING, ["form", "url", "plain", "tools", "roots"]),
    ],
    ids=repr,
)
def test_only_what_was_declared_is_asked(declared: Mapping[str, Any], asked: list[str]) -> None:
    found = call(asking_server(), "everything", capabilities=declared)
    assert list(found["inputRequests"]) == asked


@pytest.mark.parity(113)
@pytest.mark.req("2026-07-28:meta.missing-capability-32021")
def test_if_nothing_is_left_the_error_says_what_is_missing() -> None:
    error = refusal(asking_server(), "tools/call", {"name": "everything", "arguments": {}}, capabilities={})
    assert error.code == -32021
    assert error.data == {
        "requiredCapabilities": {
            "elicitation": {"form": {}, "url": {}},
            "sampling": {"tools": {}},
            "roots": {},
        }
    }


@pytest.mark.parity(113)
def test_with_a_state_a_round_without_requests_is_a_round() -> None:
    found = call(asking_server(), "everything", {"state": "kept"}, capabilities={})
    assert "inputRequests" not in found
    assert found["requestState"]


# ---- What comes back --------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:mrtr.validate-responses", "2026-07-28:mrtr.protocol-error")
@pytest.mark.parametrize("name", ["delete", "plain"])
@pytest.mark.parametrize(
    "sent",
    [
        {"inputResponses": []},
        {"inputResponses": "x"},
        {"inputResponses": None},
        {"requestState": 5},
        {"requestState": {"a": 1}},
        {"requestState": None},
    ],
    ids=repr,
)
def test_answers_or_a_state_of_the_wrong_type_are_refused(name: str, sent: dict[str, Any]) -> None:
    arguments = {"path": "a"} if name == "delete" else {}
    params = {"name": name, "arguments": arguments, **sent}
    assert refusal(asking_server(), "tools/call", params, capabilities=FORM).code == -32602


@pytest.mark.req("2026-07-28:mrtr.ignore-unexpected", "2026-07-28:mrtr.reask-missing")
def test_answers_that_nobody_asked_for_are_ignored_and_missing_ones_asked_again() -> None:
    params = {"name": "delete", "arguments": {"path": "a"}, "inputResponses": {"other": YES, "x": 5}}
    found = result(asking_server(), "tools/call", params, capabilities=FORM)
    assert list(found["inputRequests"]) == ["confirm"]
    plain = {"name": "plain", "arguments": {}, "inputResponses": {"x": 1}}
    assert texts(result(asking_server(), "tools/call", plain)) == "plain"


@pytest.mark.parity(115)
@pytest.mark.req("2026-07-28:mrtr.protocol-error")
@pytest.mark.parametrize("name", ["delete", "plain"])
@pytest.mark.parametrize("state", ["", "x", "A" * 200, "é", "A" * 100_000], ids=lambda s: repr(s[:8]))
def test_a_state_that_is_none_of_ours_is_refused_before_the_handler_runs(name: str, state: str) -> None:
    ran = []
    server = asking_server()

    @server.middleware
    def note(request: Request, ctx: RequestContext, call_next: Any) -> dict[str, Any]:
        found: dict[str, Any] = call_next(request, ctx)
        ran.append(found)
        return found

    arguments = {"path": "a"} if name == "delete" else {}
    params = {"name": name, "arguments": arguments, "requestState": state, "inputResponses": {"confirm": YES}}
    error = refusal(server, "tools/call", params, capabilities=FORM)
    assert (error.code, ran) == (-32602, [])


@pytest.mark.parity(115)
@pytest.mark.req(
    "2026-07-28:mrtr.state-bind-principal",
    "2026-07-28:elicitation.state-user-bound",
    "2026-07-28:elicitation.bind-identity",
)
def test_another_callers_state_is_refused() -> None:
    server = asking_server()
    params: dict[str, Any] = {"name": "delete", "arguments": {"path": "a"}}
    ann = LocalContext(auth=Auth("ann"))
    first = result(server, "tools/call", params, capabilities=FORM, ctx=ann)
    params |= {"requestState": first["requestState"], "inputResponses": {"confirm": YES}}
    for stranger in (LocalContext(auth=Auth("bob")), LocalContext()):
        assert refusal(server, "tools/call", params, capabilities=FORM, ctx=stranger).code == -32602
    done = result(server, "tools/call", params, capabilities=FORM, ctx=LocalContext(auth=Auth("ann")))
    assert texts(done) == "accept 1 ['a']"


# ---- Reading ----------------------------------------------------------------------------------------------


@dataclass
class Point:
    x: int = 7


def retried(state: str = "", **responses: Any) -> RequestScope:
    """The scope of a request that was sent again."""
    server = asking_server()
    inner = LocalContext()
    message = Request(1, "tools/call", {"_meta": meta()})
    scope = RequestScope(inner, route(message, inner.state, server.catalog.offer))
    scope.input_responses = responses
    scope.request_state = state
    return scope


@pytest.mark.parity(55)
def test_an_answer_is_read_as_a_type_or_by_its_question() -> None:
    ctx = retried(point={"x": 3}, confirm=YES)
    assert ctx.input_response_as("point", Point) == Point(3)
    assert ctx.input_response_as("absent", Point) == Point(7)
    assert ctx.input_response_as("confirm", Elicit("", CONFIRM)) == ElicitAccepted({"sure": True})
    assert ctx.input_response_as("confirm", ElicitUrl("", "https://example.com")) == ElicitAccepted(None)
    with pytest.raises(InvalidAnswer):
        ctx.input_response_as("absent", Sample("x", max_tokens=1))


@pytest.mark.parity(56)
def test_the_state_is_read_as_a_type() -> None:
    kept = retried('{"step":2,"names":["a"]}')
    assert kept.request_state_as(Progress) == Progress(2, ["a"])
    nothing = retried()
    assert nothing.request_state_as(Progress) is None
    assert nothing.request_state_as(Progress, Progress(0, [])) == Progress(0, [])
    for malformed in ("{", '{"step":"x","names":[]}', "[]"):
        with pytest.raises(ValueError):
            retried(malformed).request_state_as(Progress)


@pytest.mark.parity(57)
def test_whether_there_are_answers() -> None:
    assert retried(a={}).is_resubmit
    assert retried(a={}).has_input_response("a")
    assert not retried(a={}).has_input_response("b")
    assert not retried("state").is_resubmit


# ---- Making one -------------------------------------------------------------------------------------------


def test_a_result_that_asks_for_nothing_is_refused_where_it_is_made() -> None:
    with pytest.raises(ValueError, match="needs requests"):
        ToolResponse.input_required([])
    with pytest.raises(ValueError, match="keys of their own"):
        ToolResponse.input_required([InputRequest.roots("a"), InputRequest.roots("a")])


@pytest.mark.req("2026-07-28:mrtr.no-retry-assumption")
def test_a_client_that_never_comes_back_leaves_nothing_behind() -> None:
    server = asking_server()
    ctx = LocalContext()
    for number in range(100):
        found = call(server, "delete", {"path": str(number)}, capabilities=FORM, ctx=ctx)
        assert found["resultType"] == "input_required"
    assert ctx.state.in_flight == {}
    assert texts(call(server, "plain")) == "plain"
