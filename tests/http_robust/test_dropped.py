"""Clients that go in the middle of a stream leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.threads import together

from .clients import Client, Connection, Session
from .hosts import Host, comes_to_rest, every_host, fixed, werkzeug

COUNT = 200


def holding(client: Client) -> Connection:
    """A modern call that has begun to stream, and goes on."""
    connection = client.call("hold")
    message = None if connection.begin() != 200 else connection.message()
    assert message is not None
    assert message["method"] == "notifications/progress"
    return connection


def listening(client: Client) -> Connection:
    connection = client.listen()
    message = None if connection.begin() != 200 else connection.message()
    assert message is not None
    assert message["method"] == "notifications/subscriptions/acknowledged"
    return connection


def asked(session: Session) -> Connection:
    """A legacy call that waits for the client's answer."""
    connection = session.call("ask")
    message = None if connection.begin() != 200 else connection.message()
    assert message is not None
    assert message["method"] == "elicitation/create"
    return connection


def watching(session: Session) -> Connection:
    """The stream of a session that belongs to no request."""
    connection = session.get()
    assert connection.begin() == 200
    assert connection.chunk()
    return connection


def leave(place: int, connection: Connection) -> None:
    if place % 2:
        connection.reset()
    else:
        connection.close()


@pytest.mark.req("http.disconnect-cancels")
@pytest.mark.parity(75)
def test_two_hundred_dropped_clients_leave_no_thread_waiter_or_queue() -> None:
    with werkzeug(threads=512) as client:
        sessions = [client.session() for _ in range(COUNT // 2)]
        open_: list[Callable[[], Connection]] = []
        for place in range(COUNT // 4):
            open_ += [
                lambda: holding(client),
                lambda: listening(client),
                lambda place=place: asked(sessions[2 * place]),  # type: ignore[misc]
                lambda place=place: watching(sessions[2 * place + 1]),  # type: ignore[misc]
            ]
        connections = together(*open_)
        busy = client.figures()
        assert busy["requests"] == 100, "streams that stay open are counted as such"
        assert busy["parked"] == 150, "50 listens, 50 GET streams, 50 questions"
        assert busy["replies"] == 50
        assert busy["followers"] == 100
        for place, connection in enumerate(connections):
            leave(place // 4, connection)
        comes_to_rest(client)
        client.canary()
        assert {session.delete() for session in sessions} == {204}
        comes_to_rest(client)


@every_host
def test_on_any_host_dropped_streams_are_noticed(host: Host) -> None:
    with host(threads=8) as client:
        session = client.session()
        for wave in range(2):
            connections = together(
                lambda: holding(client),
                lambda: holding(client),
                lambda: listening(client),
                lambda: asked(session),
                lambda: watching(session),
            )
            for place, connection in enumerate(connections):
                leave(place + wave, connection)
            comes_to_rest(client)
        client.canary()


def test_a_client_that_goes_before_anything_was_sent_is_noticed() -> None:
    """A call that stays silent is cancelled too, where the host shows the connection."""
    with fixed(threads=8, upgrade_after=None) as client:
        connection = client.modern("tools/call", {"name": "hold", "arguments": {}, "_meta": {}}, name="hold")
        connection.reset()
        comes_to_rest(client)


def test_clients_that_connect_and_say_nothing_or_half_of_it() -> None:
    with werkzeug() as client:
        silent = [Connection(client.port) for _ in range(20)]
        half = [Connection(client.port) for _ in range(20)]
        for connection in half:
            connection.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        client.canary()
        for place, connection in enumerate(silent + half):
            leave(place, connection)
        comes_to_rest(client)


def test_a_legacy_call_goes_on_without_its_client_and_its_answer_can_be_fetched() -> None:
    with werkzeug() as client:
        session = client.session()
        connection = session.call("ask")
        assert connection.begin() == 200
        question = connection.message()
        assert question is not None
        connection.reset()
        with session.get(Last_Event_ID=connection.last_event_id) as resumed:
            assert resumed.begin() == 200
            session.reply(question, "Ada")
            assert resumed.text() == "hello Ada"
        session.delete()
        comes_to_rest(client)
