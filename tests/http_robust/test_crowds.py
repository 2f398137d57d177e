"""More streams and questions than threads: the bound, then a fast "busy", and answers always get through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.threads import together

from .clients import Client, Connection, Session
from .hosts import Host, comes_to_rest, every_host, fixed, waitress


def begin(connection: Connection) -> Connection:
    connection.begin()
    return connection


def question_of(connection: Connection) -> dict[str, Any] | None:
    """What the server asks; None if it was too busy to ask, and said so."""
    if connection.headers["content-type"] == "text/event-stream":
        message = connection.message()
        assert message is not None
        if message.get("method") == "elicitation/create":
            return message
    else:
        message = connection.json()
    assert "too many streams and questions are open" in json.dumps(message), message
    return None


@every_host
def test_a_hundred_questions_at_once(host: Host) -> None:
    """Eight threads: six questions are asked, the rest is told at once that there is no room."""
    with host(threads=8) as client:
        sessions = [client.session() for _ in range(100)]
        connections = together(*[lambda session=session: begin(session.call("ask")) for session in sessions])
        questions = [question_of(connection) for connection in connections]
        asked = [place for place, question in enumerate(questions) if question is not None]
        assert len(asked) == 6
        client.canary()
        for place in asked:
            question = questions[place]
            assert question is not None
            sessions[place].reply(question, f"number {place}")
        for place in asked:
            assert connections[place].text() == f"hello number {place}"
        for connection in connections:
            connection.close()
        comes_to_rest(client)


@every_host
def test_streams_and_questions_with_every_thread_busy(host: Host) -> None:
    """Four streams and two questions fill six of eight threads; nothing more parks, and everything else goes on."""
    with host(threads=8) as client:
        sessions = [client.session() for _ in range(6)]
        listens = together(*[lambda: begin(client.listen()) for _ in range(4)])
        assert [connection.status for connection in listens] == [200] * 4
        calls = together(*[lambda session=session: begin(session.call("ask")) for session in sessions])
        questions = [question_of(connection) for connection in calls]
        asked = [place for place, question in enumerate(questions) if question is not None]
        assert len(asked) == 2
        refused = begin(client.listen())
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        refused.close()
        together(*[client.canary] * 6)
        for place in asked:
            question = questions[place]
            assert question is not None
            sessions[place].reply(question, "Ada")
            assert calls[place].text() == "hello Ada"
        for connection in [*listens, *calls]:
            connection.close()
        comes_to_rest(client)


@every_host
@pytest.mark.parametrize("kind", ["listen", "GET"])
def test_twice_as_many_idle_streams_as_allowed(host: Host, kind: str) -> None:
    with host(threads=8) as client:
        sessions = [client.session() for _ in range(8)]

        def open_stream(session: Session) -> Connection:
            return begin(client.listen() if kind == "listen" else session.get())

        streams = together(*[lambda session=session: open_stream(session) for session in sessions])
        assert sorted(connection.status for connection in streams) == [200] * 4 + [503] * 4
        for connection in streams:
            if connection.status == 503:
                assert connection.headers["retry-after"] == "1"
                assert connection.headers["content-type"] == "application/json"
                assert "event" not in connection.chunk().decode()
            else:
                assert connection.chunk(), "it is open"
        together(*[client.canary] * 10)
        assert client.figures()["parked"] == 4
        for connection in streams:
            connection.close()
        comes_to_rest(client)
        with open_stream(sessions[0]) as again:
            assert again.status == 200


def test_too_many_requests_at_once_get_503_and_the_rest_their_answers() -> None:
    with fixed(threads=16, max_requests=4) as client:
        held = [begin(client.call("hold")) for _ in range(4)]
        assert [connection.status for connection in held] == [200] * 4
        with client.call("echo", {"text": "one too many"}) as refused:
            assert refused.begin() == 503
            assert refused.headers["retry-after"] == "1"
        held.pop().close()
        comes_to_rest_but(client, 3)
        client.canary()
        for connection in held:
            connection.close()
        comes_to_rest(client)


def comes_to_rest_but(client: Client, requests: int) -> None:
    """Until only so many requests are under way; asking is one itself, so it may be refused for a while."""
    from tests.threads import eventually

    def is_so() -> bool:
        with client.call("figures") as connection:
            if connection.begin() == 503:
                return False
            figures: dict[str, int] = json.loads(connection.text())
            return figures["requests"] == requests

    eventually(is_so)


def test_one_session_cannot_take_all_by_using_one_id() -> None:
    with fixed(threads=16, max_in_flight_session=3) as client:
        session, other = client.session(), client.session()
        held = [begin(session.call("hold", id=1)) for _ in range(3)]
        assert [connection.status for connection in held] == [200] * 3
        with session.call("hold", id=1) as refused:
            assert refused.begin() == 503
        with other.call("echo", {"text": "mine"}) as fine:
            assert fine.text() == "mine"
        assert session.delete() == 204
        for connection in held:
            while connection.message() is not None:
                pass
            connection.close()
        comes_to_rest(client)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_host_with_too_few_threads_says_what_helps(threads: int) -> None:
    with fixed(threads=threads) as client:
        session = client.session()
        with session.call("ask") as connection:
            assert "gunicorn --threads 8" in json.dumps(connection.answer())
        with client.listen() as listen:
            assert listen.begin() == 503
            assert "gunicorn --threads 8" in listen.json()["error"]["message"]
        client.canary()


def test_what_waitress_can_tell_is_used() -> None:
    """Its own probe notices a client that has gone, also of a call that writes nothing."""
    with waitress(threads=8, upgrade_after=None) as client:
        connection = client.modern("tools/call", {"name": "hold", "arguments": {}}, name="hold")
        assert connection.begin() == 200
        connection.reset()
        comes_to_rest(client)
