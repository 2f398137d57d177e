"""Asking a legacy client: the question is an event of the stream, the answer comes on another POST.

Spec: 2025-03-26..2025-11-25 basic/transports#sending-messages-to-the-server
"""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from mcpref import McpServer, PeerError, RequestContext, Settings
from mcpref.transport.coordinator import StreamCoordinator
from tests.http.conftest import Serve
from tests.http.support import SESSIONS, HttpClient, SessionClient, methods, text
from tests.http.wires import SSE, Reply
from tests.threads import eventually, until

SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10}
ANSWER = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}
EVERYTHING: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}


def make_server(**settings: Any) -> McpServer:
    server = McpServer("asks", settings=Settings(keep_alive=0.05, **settings))

    @server.tool
    def sample(ctx: RequestContext) -> str:
        return ctx.sample(SAMPLE, timeout=20).text

    @server.tool
    def elicit(ctx: RequestContext) -> str:
        answer = ctx.elicit("sure?", {"type": "object", "properties": {"sure": {"type": "boolean"}}})
        return f"{answer.action} {answer.content}"

    @server.tool
    def roots(ctx: RequestContext) -> str:
        return " ".join(root.uri for root in ctx.list_roots())

    @server.tool
    def catches(ctx: RequestContext) -> str:
        try:
            ctx.sample(SAMPLE, timeout=20)
        except PeerError as error:
            return f"{error.code} {error.message} {error.data}"
        return "unreachable"

    return server


def asked(reply: Reply, method: str) -> dict[str, Any]:
    """The next request on a stream."""
    message = reply.next_message()
    assert message["method"] == method
    assert isinstance(message["id"], str)
    return message


def waiting(client: HttpClient) -> int:
    replies = client.app.runtime.seams.replies
    assert isinstance(replies, StreamCoordinator)
    return len(replies)


@pytest.mark.parity(73)
@pytest.mark.req(
    "2025-11-25:http.post-202", "2025-11-25:http.sse-related-messages", "2025-11-25:http.sse-related-only"
)
@pytest.mark.parametrize("version", SESSIONS)
def test_a_question_is_answered_by_a_later_post(serve: Serve, version: str) -> None:
    client = serve(make_server())
    session = client.connect(version, EVERYTHING)
    call = session.call("sample", id="call")
    assert call.kind == SSE
    question = asked(call, "sampling/createMessage")
    assert question["params"]["maxTokens"] == 10
    assert waiting(client) == 1
    answered = session.reply(question["id"], ANSWER)
    assert (answered.status, answered.body()) == (202, b"")
    assert text(call) == "hello"
    assert waiting(client) == 0


@pytest.mark.parity(73)
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_every_kind_of_question(serve: Serve, version: str) -> None:
    session = serve(make_server()).connect(version, EVERYTHING)
    call = session.call("elicit")
    question = asked(call, "elicitation/create")
    assert question["params"]["message"] == "sure?"
    assert session.reply(question["id"], {"action": "accept", "content": {"sure": True}}).status == 202
    assert text(call) == "accept {'sure': True}"

    call = session.call("roots")
    question = asked(call, "roots/list")
    assert session.reply(question["id"], {"roots": [{"uri": "file:///a"}]}).status == 202
    assert text(call) == "file:///a"


@pytest.mark.parity(74)
def test_an_answer_from_another_session_has_no_effect(serve: Serve) -> None:
    client = serve(make_server())
    session, stranger = client.connect(capabilities=EVERYTHING), client.connect(capabilities=EVERYTHING)
    call, other = session.call("sample"), stranger.call("sample")
    question, others = asked(call, "sampling/createMessage"), asked(other, "sampling/createMessage")
    forged = {**ANSWER, "content": {"type": "text", "text": "forged"}}
    assert stranger.reply(question["id"], forged).status == 202
    assert waiting(client) == 2
    assert session.reply(question["id"], ANSWER).status == 202
    assert stranger.reply(others["id"], ANSWER).status == 202
    assert (text(call), text(other)) == ("hello", "hello")


@pytest.mark.parity(75)
@pytest.mark.parametrize("drop", ["connection", "session"])
def test_a_client_that_goes_releases_the_handler(serve: Serve, drop: str) -> None:
    server = make_server(resume_within=0.1)
    released = threading.Event()

    @server.tool
    def waits(ctx: RequestContext) -> str:
        try:
            return ctx.sample(SAMPLE, timeout=600).text
        finally:
            released.set()

    client = serve(server)
    session = client.connect(capabilities=EVERYTHING)
    call = session.call("waits")
    asked(call, "sampling/createMessage")
    began = time.monotonic()
    if drop == "connection":
        call.close()
    else:
        assert session.delete().status == 204
    until(released)
    assert time.monotonic() - began < 10
    eventually(lambda: waiting(client) == 0 and client.app.runtime.budget.parked == 0)


@pytest.mark.parity(75)
@pytest.mark.req("2025-11-25:http.disconnect-not-cancel", "2025-11-25:http.sse-resumable")
def test_a_client_that_comes_back_in_time_still_gets_its_answer(serve: Serve) -> None:
    client = serve(make_server(resume_within=20.0))
    session = client.connect(capabilities=EVERYTHING)
    call = session.call("sample", id="call")
    event = call.next_event()
    assert event is not None
    call.close()
    back = session.get(event.id)
    question = asked(back, "sampling/createMessage")
    assert session.reply(question["id"], ANSWER).status == 202
    messages = back.messages()
    assert (methods(messages), messages[0]["id"]) == (["result"], "call")


@pytest.mark.parity(76)
def test_an_error_is_raised_with_its_code(serve: Serve) -> None:
    session = serve(make_server()).connect(capabilities=EVERYTHING)
    call = session.call("catches")
    question = asked(call, "sampling/createMessage")
    refusal = {"code": -1, "message": "the user said no", "data": {"a": 1}}
    assert session.reply(question["id"], error=refusal).status == 202
    assert text(call) == "-1 the user said no {'a': 1}"


@pytest.mark.parity(76)
def test_a_question_that_cannot_be_sent_leaves_no_waiter(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect(capabilities=EVERYTHING)
    refused = session.call("sample", headers={"Accept": "application/json"})
    assert refused.status == 406
    assert waiting(client) == 0
    assert client.app.runtime.budget.parked == 0


@pytest.mark.parity(77)
@pytest.mark.parametrize("wrong", [1, 1.0, 1.5, "1", 0, True, None, "", "x" * 300])
def test_only_the_id_itself_answers(serve: Serve, wrong: object) -> None:
    client = serve(make_server())
    session = client.connect(capabilities=EVERYTHING)
    call = session.call("sample")
    question = asked(call, "sampling/createMessage")
    assert session.reply(wrong, ANSWER).status in (202, 400)
    assert waiting(client) == 1
    assert session.reply(question["id"], ANSWER).status == 202
    assert session.reply(question["id"], {"late": True}).status == 202, "nobody waits any more"
    assert text(call) == "hello"


def test_an_answer_that_does_not_fit_is_an_error_of_the_call(serve: Serve) -> None:
    session = serve(make_server()).connect(capabilities=EVERYTHING)
    call = session.call("sample")
    question = asked(call, "sampling/createMessage")
    assert session.reply(question["id"], {"nonsense": 1}).status == 202
    answer = call.messages()[-1]
    assert "error" in answer or answer["result"]["isError"]


def test_a_question_that_is_never_answered_ends(serve: Serve) -> None:
    server = McpServer("impatient")

    @server.tool
    def sample(ctx: RequestContext) -> str:
        return ctx.sample(SAMPLE, timeout=0.05).text

    client = serve(server)
    call = client.connect(capabilities=EVERYTHING).call("sample")
    messages = call.messages()
    assert methods(messages)[0] == "sampling/createMessage"
    assert "error" in messages[-1] or messages[-1]["result"]["isError"]
    assert waiting(client) == 0


def test_questions_are_refused_when_too_many_threads_wait(serve: Serve) -> None:
    client = serve(make_server(), threads=4)
    sessions = [client.connect(capabilities=EVERYTHING) for _ in range(3)]
    calls = [session.call("sample") for session in sessions[:2]]
    questions = [asked(call, "sampling/createMessage") for call in calls]
    busy = sessions[2].call("sample").json()
    assert "too many" in str(busy)
    # Ordinary calls and answers need no place.
    assert sessions[2].request("tools/list").status == 200
    for session, question, call in zip(sessions, questions, calls, strict=False):
        assert session.reply(question["id"], ANSWER).status == 202
        assert text(call) == "hello"
    again = sessions[2].call("sample")
    question = asked(again, "sampling/createMessage")
    assert sessions[2].reply(question["id"], ANSWER).status == 202
    assert text(again) == "hello"


def _undeclared(session: SessionClient, tool: str) -> int:
    code: int = session.call(tool).error()["code"]
    return code


@pytest.mark.parametrize("tool", ["sample", "elicit", "roots"])
def test_what_was_not_declared_is_not_asked(serve: Serve, tool: str) -> None:
    client = serve(make_server())
    assert _undeclared(client.connect(), tool) == -32600
    assert waiting(client) == 0
