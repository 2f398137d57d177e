"""Callers who use the same ids, or somebody else's: every answer to its own caller, and no effect on another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcpref.transport.http_request import HttpRefusal
from tests.threads import together

from .clients import Client, Connection, Session
from .hosts import comes_to_rest, werkzeug
from .test_crowds import begin
from .test_dropped import asked


def exchange(connection: Connection) -> tuple[object, str, set[str]]:
    """The id of the answer, its text, and what was reported on the way."""
    with connection:
        connection.begin()
        reported: set[str] = set()
        while (message := connection.message()) is not None:
            if "method" not in message:
                return message["id"], message["result"]["content"][0]["text"], reported
            reported.add(message["params"]["message"])
        raise AssertionError("no answer came")


@pytest.mark.parity(26)
def test_one_id_for_all() -> None:
    """Two sessions with ten calls each and a hundred modern clients, all under the id 1, at once."""
    with werkzeug(threads=256) as client:
        sessions = [client.session(), client.session()]
        calls: list[Callable[[], Any]] = [
            *[lambda n=n: exchange(client.call("stream", {"text": f"modern {n}"})) for n in range(100)],
            *[
                lambda s=s, n=n: exchange(sessions[s].call("stream", {"text": f"session {s} call {n}"}))
                for s in range(2)
                for n in range(10)
            ],
        ]
        expected = [f"modern {n}" for n in range(100)] + [
            f"session {s} call {n}" for s in range(2) for n in range(10)
        ]
        answers = together(*calls)
        assert answers == [(1, text, {text}) for text in expected]
        comes_to_rest(client)


@pytest.mark.parametrize("id_", [1, "1"])
def test_ids_keep_their_type(id_: object) -> None:
    with werkzeug() as client:
        assert exchange(client.call("stream", {"text": "x"}, id=id_))[0] == id_


def test_a_foreign_cancellation_has_no_effect() -> None:
    with werkzeug() as client:
        mine, other = client.session(), client.session()
        held = begin(mine.call("hold", id=7))
        assert held.message() is not None
        for request_id in (7, "7", None, {"id": 7}, 7.0):
            other.notify("notifications/cancelled", {"requestId": request_id})
        mine.notify("notifications/cancelled", {"requestId": "7"})
        modern = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        with client.post(modern, {"MCP-Protocol-Version": "2026-07-28"}) as connection:
            assert connection.begin() == 202
        figures = client.figures()
        assert (figures["cancels"], figures["busy"]) == (1, 1), "it runs as before"
        mine.notify("notifications/cancelled", {"requestId": 7})
        assert held.message() is None, "its stream ends without an answer"
        held.close()
        comes_to_rest(client)


@pytest.mark.parity(74)
def test_a_foreign_reply_has_no_effect() -> None:
    with werkzeug() as client:
        mine, other = client.session(), client.session()
        call = begin(mine.call("ask"))
        question = call.message()
        assert question is not None
        other.reply(question, "Mallory")
        mine.reply({"id": question["id"] + "x"}, "Mallory")
        mine.reply({"id": 1}, "Mallory")
        assert client.figures()["replies"] == 1, "the question is still open"
        mine.reply(question, "Ada")
        assert call.text() == "hello Ada"
        mine.reply(question, "too late")
        call.close()
        comes_to_rest(client)


@pytest.mark.parity(78)
def test_a_foreign_last_event_id_shows_nothing() -> None:
    with werkzeug() as client:
        mine, other = client.session(), client.session()
        secret = begin(mine.call("stream", {"text": "a secret"}))
        assert secret.text() == "a secret"
        secret.close()
        stream, _, _ = secret.last_event_id.partition(".")
        for last in (f"{stream}.0", secret.last_event_id, f"{stream}.1", f"{stream}.999"):
            with other.get(Last_Event_ID=last) as connection:
                assert connection.begin() == 200
                assert connection.chunk(), "a stream of its own"
                other.delete()
                while connection.message() is not None:
                    pass
                assert b"secret" not in connection.body
                assert stream.encode() not in connection.body
            other = client.session()
        with mine.get(Last_Event_ID=f"{stream}.0") as connection:
            assert connection.begin() == 200
            assert connection.text() == "a secret", "it is there for whoever it belongs to"
        comes_to_rest(client)


def by_header(environ: Mapping[str, Any]) -> str:
    who: str | None = environ.get("HTTP_X_USER")
    if who is None:
        raise HttpRefusal(401, "who are you?")
    return who


def test_a_foreign_session_id_has_no_effect() -> None:
    """Possession of an id is not enough: it is bound to whoever opened the session."""
    with werkzeug(principal=by_header) as client:
        alice = client.session({"X-User": "alice"})
        call = asked(alice)
        thief = Thief(client, alice)
        attempts: list[Callable[[], Connection]] = [
            lambda: thief.call("echo", {"text": "x"}),
            lambda: thief.post({"jsonrpc": "2.0", "id": "1", "result": {}}),
            lambda: thief.post(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            ),
            lambda: thief.get(Last_Event_ID=call.last_event_id),
        ]
        for attempt in attempts:
            with attempt() as connection:
                assert connection.begin() == 404
        assert thief.delete() == 404
        call.close()
        assert alice.delete() == 204


class Thief(Session):
    """Uses somebody else's session id under a name of its own."""

    def __init__(self, client: Client, victim: Session) -> None:
        self.client = client
        self.id = victim.id
        self.headers = {**victim.headers, "X-User": "mallory"}


def test_nothing_of_one_session_is_left_to_the_next() -> None:
    with werkzeug() as client:
        first = client.session()
        with first.call("echo", {"text": "x"}) as connection:
            assert connection.text() == "x"
        assert first.delete() == 204
        with first.call("echo", {"text": "x"}) as connection:
            assert connection.begin() == 404
            assert json.loads(connection.chunk())["id"] == 1
        second = client.session()
        assert second.id != first.id
