"""Runtime: what is counted, what is refused, and what the end of a server waits for."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, Settings
from mcpref.cancellation import Deadline
from mcpref.transport.runtime import Runtime, host_threads
from tests.threads import PATIENCE, join, restless, together


class Stream:
    def __init__(self) -> None:
        self.shut = 0

    def shut_down(self) -> None:
        self.shut += 1


def runtime(threads: int = 8, **limits: Any) -> Runtime:
    return Runtime(McpServer("test"), Settings(**limits), None, threads)


def test_requests_are_counted_up_to_the_limit() -> None:
    run = runtime(max_requests=2)
    assert [run.enter() for _ in range(3)] == [True, True, False]
    run.leave()
    assert run.enter()
    assert run.requests == 2


def test_streams_take_a_place_of_the_budget_and_give_it_back_once() -> None:
    run = runtime(threads=8)
    streams = [Stream() for _ in range(5)]
    assert [run.open_stream(stream, None) for stream in streams] == [True] * 4 + [False]
    assert run.budget.parked == 4
    for _ in range(3):
        run.close_stream(streams[0], None)
    assert run.budget.parked == 3
    run.close_stream(streams[4], None)
    assert run.budget.parked == 3, "it never had a place"


def test_the_limit_per_caller_binds_authenticated_callers_only() -> None:
    run = runtime(threads=64, max_streams_principal=2)
    mine = [Stream() for _ in range(3)]
    assert [run.open_stream(stream, "alice") for stream in mine] == [True, True, False]
    assert run.open_stream(Stream(), "bob")
    assert all(run.open_stream(Stream(), None) for _ in range(10))
    run.close_stream(mine[0], "alice")
    assert run.open_stream(mine[2], "alice")


def test_a_caller_that_has_left_leaves_no_count_behind() -> None:
    run = runtime(threads=64)
    for number in range(50):
        stream = Stream()
        assert run.open_stream(stream, f"caller {number}")
        run.close_stream(stream, f"caller {number}")
        assert run.start_running(f"caller {number}")
        run.stop_running(f"caller {number}")
    assert not run._streams_of
    assert not run._running_of


def test_running_requests_of_one_caller_are_bounded() -> None:
    run = runtime(max_in_flight_session=2)
    assert [run.start_running("alice") for _ in range(3)] == [True, True, False]
    assert run.start_running("bob")
    assert all(run.start_running(None) for _ in range(10))
    run.stop_running("alice")
    assert run.start_running("alice")


def test_after_the_end_nothing_comes_in() -> None:
    run = runtime()
    stream = Stream()
    assert run.open_stream(stream, None)
    cancelled: list[int] = []
    forget = run.on_close(lambda: cancelled.append(1))
    forget()
    assert run.close(Deadline(PATIENCE)) is True
    assert stream.shut == 1
    assert cancelled == [], "it was done before"
    assert not run.enter()
    assert not run.open_stream(Stream(), None)
    assert run.close(Deadline(PATIENCE)) is True


def test_a_request_that_was_under_way_when_the_end_began_is_cancelled_too() -> None:
    run = runtime()
    assert run.close(Deadline(0))
    cancelled: list[int] = []
    run.on_close(lambda: cancelled.append(1))()
    assert cancelled == [1]


def test_the_end_waits_for_what_runs_on_the_hosts_own_threads() -> None:
    run = runtime()
    asked = threading.Event()
    forget = run.on_close(asked.set)
    closed: list[bool] = []
    closing = threading.Thread(target=lambda: closed.append(run.close(Deadline(PATIENCE))), daemon=True)
    closing.start()
    assert asked.wait(PATIENCE)
    assert not closed
    forget()
    join(closing)
    assert closed == [True]


def test_the_end_does_not_wait_for_ever() -> None:
    run = runtime()
    run.on_close(lambda: None)
    assert run.close(Deadline(0.01)) is False


def test_the_end_of_the_server_ends_its_sessions() -> None:
    run = runtime()
    session = run.seams.sessions.create("2025-11-25", {}, None)
    pending = run.seams.replies.expect(session.id, lambda: None)
    run.close(Deadline(PATIENCE))
    assert pending.failed
    assert run.seams.sessions.open(session.id, None) is None


def test_counts_come_out_even_after_many_threads() -> None:
    run = runtime(threads=8, max_requests=5, max_streams_principal=2)

    def use(name: str) -> None:
        for _ in range(50):
            if run.enter():
                stream = Stream()
                if run.open_stream(stream, name):
                    run.close_stream(stream, name)
                run.leave()

    with restless():
        together(*[lambda name=name: use(name) for name in "abcabc"])
    assert (run.requests, run.budget.parked) == (0, 0)
    assert not run._streams_of


@pytest.mark.parametrize(
    ("told", "setting", "variable", "threads"),
    [(3, 5, "7", 3), (None, 5, "7", 5), (None, None, "7", 7), (None, None, "", None)],
)
def test_who_says_how_many_threads_the_host_has(
    monkeypatch: pytest.MonkeyPatch, told: int | None, setting: int | None, variable: str, threads: int | None
) -> None:
    monkeypatch.setenv("MCPREF_THREADS", variable)
    assert host_threads(Settings(threads=setting), told) == threads


def test_a_number_of_threads_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPREF_THREADS", "many")
    with pytest.raises(ValueError, match="MCPREF_THREADS must be a number, not 'many'"):
        host_threads(Settings(), None)
