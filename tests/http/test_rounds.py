"""Asking a modern client over HTTP: a result that says what is needed, and the same request again with it.

Spec: 2026-07-28 basic/patterns/mrtr
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mcpref import Elicit, InputRequired, McpServer, RequestContext, Sample, ToolResponse
from tests.http.conftest import Serve
from tests.http.support import HttpClient, methods, text
from tests.http.wires import JSON, SSE

FORM: dict[str, Any] = {"elicitation": {}}


@dataclass
class Sure:
    sure: bool


def make_server(**options: Any) -> McpServer:
    server = McpServer("rounds", **options)

    @server.tool
    def confirm(ctx: RequestContext, what: str = "it") -> str:
        answer = ctx.ask("confirm", Elicit(f"do {what}?", Sure))
        return f"{answer.action} {answer.content}"

    @server.tool
    def twice(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        number = ctx.once("number", lambda: 17)
        first = ctx.ask("first", Elicit("first?", Sure))
        second = ctx.ask("second", Elicit("second?", Sure))
        return f"{number} {first.action} {second.action}"

    @server.tool
    def returned(ctx: RequestContext) -> ToolResponse | InputRequired:
        if not ctx.is_resubmit:
            return ToolResponse.input_required({"q": Elicit("?", Sure)}, state="mine")
        return ToolResponse(f"{ctx.request_state} {sorted(ctx.input_responses)}")

    @server.tool
    def samples(ctx: RequestContext) -> str:
        return ctx.ask("s", Sample("hi", max_tokens=5)).text

    @server.resource("ask://me")
    def resource(ctx: RequestContext) -> str:
        return ctx.ask("confirm", Elicit("read?", Sure)).action

    @server.prompt
    def prompt(ctx: RequestContext) -> str:
        return ctx.ask("confirm", Elicit("prompt?", Sure)).action

    return server


def accepted(*keys: str) -> dict[str, Any]:
    return {key: {"action": "accept", "content": {"sure": True}} for key in keys}


def call(client: HttpClient, name: str, answers: object = None, state: object = None, **more: Any) -> Any:
    params: dict[str, Any] = {"name": name, "arguments": more.pop("arguments", {})}
    if answers is not None:
        params["inputResponses"] = answers
    if state is not None:
        params["requestState"] = state
    return client.modern("tools/call", params, capabilities=more.pop("capabilities", FORM), **more)


@pytest.mark.req("2026-07-28:mrtr.only-path", "2026-07-28:mrtr.input-requests-map")
def test_a_question_is_a_result_and_the_answer_a_new_request(serve: Serve) -> None:
    client = serve(make_server())
    asked = call(client, "confirm", id=1)
    assert (asked.status, asked.kind) == (200, JSON)
    result = asked.result()
    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"]) == ["confirm"]
    question = result["inputRequests"]["confirm"]
    assert set(question) == {"method", "params"}
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "do it?")
    done = call(client, "confirm", accepted("confirm"), result["requestState"], id=2)
    assert text(done) == "accept Sure(sure=True)"
    assert done.result()["resultType"] == "complete"


def test_earlier_answers_travel_with_the_state_to_any_application(serve: Serve) -> None:
    """Rounds need neither the same connection nor the same process: only the same secret."""
    clients = [serve(make_server(secret="s" * 32)) for _ in range(3)]
    first = call(clients[0], "twice").result()
    second = call(clients[1], "twice", accepted("first"), first["requestState"]).result()
    assert list(second["inputRequests"]) == ["second"]
    done = call(clients[2], "twice", accepted("second"), second["requestState"])
    assert text(done) == "17 accept accept"


def test_a_round_may_stream_too(serve: Serve) -> None:
    client = serve(make_server())
    reply = call(client, "twice", meta={"progressToken": "p"})
    assert reply.kind == SSE
    messages = reply.messages()
    assert methods(messages) == ["notifications/progress", "result"]
    assert messages[-1]["result"]["resultType"] == "input_required"


def test_what_a_handler_returns_asks_as_well(serve: Serve) -> None:
    client = serve(make_server())
    result = call(client, "returned").result()
    assert result["resultType"] == "input_required"
    done = call(client, "returned", accepted("q"), result["requestState"])
    assert text(done) == "\"mine\" ['q']"


@pytest.mark.req("2026-07-28:mrtr.allowed-methods")
@pytest.mark.parametrize(
    ("method", "params"), [("resources/read", {"uri": "ask://me"}), ("prompts/get", {"name": "prompt"})]
)
def test_resources_and_prompts_may_ask(serve: Serve, method: str, params: dict[str, Any]) -> None:
    client = serve(make_server())
    result = client.modern(method, params, capabilities=FORM).result()
    assert result["resultType"] == "input_required"
    assert "ttlMs" not in result
    again = {**params, "inputResponses": accepted("confirm"), "requestState": result["requestState"]}
    assert client.modern(method, again, capabilities=FORM).result()["resultType"] == "complete"


@pytest.mark.req("2026-07-28:meta.missing-capability-32021", "2026-07-28:meta.missing-capability-http-400")
@pytest.mark.parametrize(
    ("name", "capabilities", "required"),
    [
        ("confirm", {}, "elicitation"),
        ("confirm", {"sampling": {}}, "elicitation"),
        ("samples", FORM, "sampling"),
    ],
)
def test_what_the_client_cannot_do_is_not_asked(
    serve: Serve, name: str, capabilities: dict[str, Any], required: str
) -> None:
    reply = call(serve(make_server()), name, capabilities=capabilities)
    assert (reply.status, reply.error()["code"]) == (400, -32021)
    assert list(reply.error()["data"]["requiredCapabilities"]) == [required]


@pytest.mark.req("2026-07-28:mrtr.state-reject-tampered", "2026-07-28:mrtr.state-bind-request")
@pytest.mark.parametrize("fault", ["tampered", "cut", "foreign", "other arguments", "other tool", "not text"])
def test_a_state_that_is_not_ours_is_refused(serve: Serve, fault: str) -> None:
    client = serve(make_server())
    state = call(client, "confirm").result()["requestState"]
    foreign = call(serve(make_server()), "confirm").result()["requestState"]
    given: object = {
        "tampered": state[:-2] + ("aa" if not state.endswith("aa") else "bb"),
        "cut": state[: len(state) // 2],
        "foreign": foreign,
        "not text": 5,
    }.get(fault, state)
    name = "twice" if fault == "other tool" else "confirm"
    arguments = {"what": "that"} if fault == "other arguments" else {}
    reply = call(client, name, accepted("confirm"), given, arguments=arguments)
    assert reply.error()["code"] == -32602


@pytest.mark.req("2026-07-28:mrtr.state-bind-principal")
def test_a_state_is_bound_to_whoever_was_asked(serve: Serve) -> None:
    client = serve(make_server(), principal=lambda environ: environ.get("HTTP_X_USER"))
    state = call(client, "confirm", headers={"X-User": "ann"}).result()["requestState"]
    for other in ("bob", None):
        stolen = call(client, "confirm", accepted("confirm"), state, headers={"X-User": other})
        assert stolen.error()["code"] == -32602
    mine = call(client, "confirm", accepted("confirm"), state, headers={"X-User": "ann"})
    assert text(mine) == "accept Sure(sure=True)"


@pytest.mark.req(
    "2026-07-28:mrtr.protocol-error", "2026-07-28:mrtr.ignore-unexpected", "2026-07-28:mrtr.reask-missing"
)
def test_answers_that_do_not_fit(serve: Serve) -> None:
    client = serve(make_server())
    state = call(client, "confirm").result()["requestState"]
    assert call(client, "confirm", 5, state).error()["code"] == -32602
    extra = {**accepted("confirm"), "nobody asked": {"action": "accept"}}
    assert text(call(client, "confirm", extra, state)) == "accept Sure(sure=True)"
    again = call(client, "confirm", {}, state).result()
    assert list(again["inputRequests"]) == ["confirm"]


def test_several_processes_need_a_secret_to_share(serve: Serve) -> None:
    several = {"wsgi.multiprocess": True}
    refused = call(serve(make_server(), environ=several), "confirm")
    assert "secret" in str(refused.json())
    assert "inputRequests" not in str(refused.json())
    shared = call(serve(make_server(secret="s" * 32), environ=several), "confirm")
    assert shared.result()["resultType"] == "input_required"
