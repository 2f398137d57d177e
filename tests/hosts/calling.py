"""Probes: calls, sessions, connections that stay, questions."""

from __future__ import annotations

import json
import threading
from typing import Any

from tests.http_robust.clients import ELICITS, MODERN, Client, Connection, Session, modern_message
from tests.threads import together

from .capabilities import capability
from .processes import HostProcess

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}
#: Longer than the time a client has to take an answer (`Settings.send_timeout` in tests/http_robust/served.py, of
#: which cheroot makes a whole second).
IDLE = 1.7


def echo(text: str) -> bytes:
    """The body of an innocent call."""
    return json.dumps(modern_message("tools/call", {"name": "echo", "arguments": {"text": text}})).encode()


@capability("modern call")
def a_call_is_answered_with_json(running: HostProcess) -> str:
    with running.client.call("echo", {"text": "grüße"}) as connection:
        assert connection.begin() == 200
        assert connection.headers["content-type"] == "application/json"
        assert connection.text() == "grüße"
    return "yes"


@capability("legacy session")
def a_session_is_opened_used_and_ended(running: HostProcess) -> str:
    session = running.client.session()
    with session.call("echo", {"text": "mine"}) as connection:
        assert connection.text() == "mine"
    assert session.delete() == 204
    with session.call("echo", {"text": "mine"}) as connection:
        assert connection.begin() == 404
    return "yes"


# ---- Connections that stay ----------------------------------------------------------------------------


def two_calls_on_one_connection(client: Client, pause: float) -> str:
    """Whether the second one, after a pause, is answered on it too."""
    with Connection(client.port).request("POST", HEADERS, echo("first")) as connection:
        assert connection.text() == "first"
        if connection.headers.get("connection", "").lower() == "close":
            assert not connection.socket.recv(1), "it means it"
            return "no"
        threading.Event().wait(pause)
        try:
            connection.again("POST", HEADERS, echo("second"))
            if not connection.begin():
                return "no"
        except ConnectionError:
            return "no"
        assert connection.text() == "second"
        return "yes"


@capability("keeps connections")
def a_second_request_comes_on_the_same_connection(running: HostProcess) -> str:
    return two_calls_on_one_connection(running.client, 0)


@capability("keeps idle connections")
def a_second_request_comes_after_a_pause(running: HostProcess) -> str:
    """A time limit for sending must not go on into the pause between two requests."""
    return two_calls_on_one_connection(running.client, IDLE)


# ---- Events -------------------------------------------------------------------------------------------


def every_step_is_confirmed(client: Client, caller: Client | Session, key: str) -> None:
    """Each event is confirmed by a call of its own before the next is emitted: a host that buffers is found out."""
    with caller.call("steps", {"key": key, "count": 3}) as connection:
        assert connection.begin() == 200
        for number in range(3):
            message = connection.message()
            assert message is not None
            assert message["params"]["progress"] == number
            with client.call("confirm", {"key": key}) as confirmation:
                assert confirmation.text() == key
        assert connection.text() == "every step was confirmed"


@capability("events one by one")
def events_are_sent_as_they_come(running: HostProcess) -> str:
    client = running.client
    session = client.session()
    together(
        lambda: every_step_is_confirmed(client, client, "modern steps"),
        lambda: every_step_is_confirmed(client, session, "legacy steps"),
    )
    session.delete()
    return "yes"


# ---- Questions ----------------------------------------------------------------------------------------


@capability("elicitation, legacy")
def a_question_is_answered_on_another_request(running: HostProcess) -> str:
    client = running.client
    session = client.session()
    with session.call("greet") as connection:
        assert connection.begin() == 200
        question = connection.message()
        assert question is not None
        assert question["method"] == "elicitation/create"
        together(*[client.canary] * 4)  # while it waits
        session.reply(question, "Ada")
        assert connection.text() == "hello Ada"
    session.delete()
    return "yes"


@capability("elicitation, modern")
def a_question_is_a_result_and_its_answer_a_new_request(running: HostProcess) -> str:
    first = round_of(running.client)
    assert first["resultType"] == "input_required"
    answer = {"who": {"action": "accept", "content": {"name": "Ada"}}}
    second = round_of(running.client, inputResponses=answer, requestState=first["requestState"])
    assert second["content"][0]["text"] == "hello Ada"
    return "yes"


def round_of(client: Client, **more: Any) -> dict[str, Any]:
    """One round of the tool that asks; its result."""
    params = {"name": "greet", "arguments": {}, **more}
    with client.modern("tools/call", params, name="greet", capabilities=ELICITS) as connection:
        result: dict[str, Any] = connection.answer()["result"]
        return result


@capability("questions waiting")
def as_many_questions_wait_as_there_is_room_for(running: HostProcess) -> int:
    """Two threads are always left for answers; whoever finds no room is told so at once."""
    client = running.client
    sessions = [client.session() for _ in range(8)]
    connections: list[Connection] = together(*[lambda s=s: _begun(s.call("greet")) for s in sessions])
    waiting = 0
    for session, connection in zip(sessions, connections, strict=True):
        with connection:
            question = connection.message() if "event-stream" in connection.headers["content-type"] else None
            if question is None or question.get("method") != "elicitation/create":
                message = question or connection.json()
                assert "too many streams and questions are open" in json.dumps(message), message
                continue
            waiting += 1
            client.canary()
            session.reply(question, "Ada")
            assert connection.text() == "hello Ada"
        session.delete()
    return waiting


def _begun(connection: Connection) -> Connection:
    assert connection.begin() == 200
    return connection


# ---- Odd requests -------------------------------------------------------------------------------------

#: The first line of a request, and the status that it gets.
ODD = {
    "HEAD /mcp": (400, 405),
    "OPTIONS /mcp": (405,),
    "OPTIONS *": (404, 405, 400),
    "PUT /mcp": (405,),
    "BREW /mcp": (405,),
    "GET /": (404,),
    "HEAD /": (404,),
    "GET /elsewhere": (404,),
    "POST /elsewhere": (404,),
    "GET /mcp/../mcp": (404,),
    "GET //mcp": (404, 405, 400),
    "GET /%00": (404, 400),
    "GET /%ff": (404, 400),
    "GET /mcp?query": (405,),
    "POST http://localhost/mcp": (200, 400, 404),
    "GET http://localhost/elsewhere": (404, 400),
}


@capability("odd requests")
def odd_requests_are_no_failure_of_the_server(running: HostProcess) -> str:
    """Returns what becomes of a target in absolute form, where hosts differ."""
    absolute = 0
    for line, expected in ODD.items():
        with Connection(running.port) as connection:
            body = echo("odd") if line.startswith("POST") else b""
            lines = [f"{line} HTTP/1.1", "Host: localhost", *(f"{k}: {v}" for k, v in HEADERS.items())]
            lines += [f"Content-Length: {len(body)}", "Connection: close"]
            connection.send("\r\n".join([*lines, "", ""]).encode() + body)
            assert connection.begin() in expected, (line, connection.status)
            if line.startswith("POST http"):
                absolute = connection.status
    running.client.canary()
    return "served" if absolute == 200 else f"absolute form: {absolute}"
