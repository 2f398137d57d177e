"""Streams on workers of gunicorn: many idle ones, and one that is in the way of a worker's end."""

from __future__ import annotations

import pytest

from mcpref.cancellation import Deadline
from tests.http_robust.clients import Client
from tests.threads import eventually

from .processes import HOSTS, running
from .streams import measure


def test_a_hundred_idle_streams_leave_room_for_calls() -> None:
    """All are acknowledged, told of a change, and ended with their result; `measure` asserts it."""
    if not HOSTS["gunicorn gevent"].is_installed:
        reason = "gevent is not installed"
        print(reason)
        pytest.skip(reason)
    figures = measure(100, seconds=0.5, idle=1.5)
    print(figures)
    assert figures.calls_per_second_on_8_beside > figures.calls_per_second_on_8_alone / 5
    assert figures.kb_per_stream < 200
    assert figures.cpu_percent_idle < 50
    assert figures.change_reached_all_seconds < 5
    assert figures.end_seconds < 8


@pytest.mark.parametrize("name", ["gunicorn gthread", "gunicorn gevent"])
def test_a_worker_that_ends_by_its_number_of_requests_ends_its_streams(name: str) -> None:
    """It gets no signal then, and would wait for them while nobody is served."""
    host = HOSTS[name]
    if not host.is_installed:
        pytest.skip(f"{host.package} is not installed")
    with running(host, "--max-requests", "5") as process:
        client = process.client
        with client.listen() as listen:
            assert listen.begin() == 200
            assert listen.message() is not None
            for _ in range(5):
                client.canary()
            assert "result" in listen.answer(), "its closing result"
        deadline = Deadline(10.0)
        eventually(lambda: is_answered(client))
        assert not deadline.expired, "the next worker serves soon"


def is_answered(client: Client) -> bool:
    try:
        client.canary()
    except (AssertionError, OSError):
        return False
    return True
