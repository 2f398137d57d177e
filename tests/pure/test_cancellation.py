"""`mcpref.cancellation`: the token and the deadline.

Threads are the subject here, so these tests start some, unlike the other tests of pure modules.
"""

from __future__ import annotations

import threading
from functools import partial

import pytest

from mcpref import cancellation
from mcpref.cancellation import CancellationToken, Deadline
from tests.threads import PATIENCE, join, restless, together, until

# ---- The token -------------------------------------------------------------------------------------------


@pytest.mark.parity(32)
def test_a_token_starts_unset() -> None:
    token = CancellationToken()
    assert not token.is_cancelled
    assert not token.cancelled
    assert token.reason is None
    assert not token.suppresses_response


@pytest.mark.parity(32)
def test_cancel_sets_it_for_good_and_keeps_the_first_reason() -> None:
    token = CancellationToken()
    calls: list[int] = []
    token.on_cancel(lambda: calls.append(1))
    token.cancel("first")
    token.cancel("second")
    token.cancel()
    assert token.is_cancelled
    assert token.cancelled
    assert token.reason == "first"
    assert calls == [1]


@pytest.mark.parity(32)
def test_cancel_needs_no_reason() -> None:
    token = CancellationToken()
    token.cancel()
    token.cancel("too late")
    assert (token.cancelled, token.reason) == (True, None)


def test_the_clients_own_cancel_suppresses_the_answer() -> None:
    token = CancellationToken()
    token.cancel()
    assert token.suppresses_response


def test_a_shutdown_does_not_suppress_the_answer() -> None:
    token = CancellationToken()
    token.cancel("the server is shutting down", by_client=False)
    assert token.cancelled
    assert not token.suppresses_response


def test_a_client_that_cancels_during_a_shutdown_still_gets_no_answer() -> None:
    token = CancellationToken()
    token.cancel("shutdown", by_client=False)
    token.cancel("never mind")
    assert token.suppresses_response
    assert token.reason == "shutdown"


def test_a_shutdown_after_the_clients_cancel_does_not_bring_the_answer_back() -> None:
    token = CancellationToken()
    token.cancel("never mind")
    token.cancel("shutdown", by_client=False)
    assert token.suppresses_response


# ---- Waiting ---------------------------------------------------------------------------------------------


def test_wait_on_a_token_that_is_set_returns_at_once() -> None:
    token = CancellationToken()
    token.cancel()
    assert token.wait()
    assert token.wait(0)


def test_wait_returns_false_when_the_time_is_up() -> None:
    token = CancellationToken()
    assert not token.wait(0)
    assert not token.wait(0.001)
    token.cancel()
    assert token.wait(0)


def test_no_event_is_made_for_a_token_that_nobody_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    class Counting(threading.Event):
        def __init__(self) -> None:
            made.append(1)
            super().__init__()

    monkeypatch.setattr("mcpref.cancellation.threading.Event", Counting)
    token = CancellationToken()
    assert not token.cancelled
    token.cancel()
    token.wait()
    assert made == []
    CancellationToken().wait(0)
    assert made == [1]


def test_cancel_wakes_everybody_who_waits() -> None:
    token = CancellationToken()
    waiting = threading.Barrier(9)

    def wait() -> bool:
        waiting.wait(PATIENCE)
        return token.wait(PATIENCE)

    def cancel() -> None:
        waiting.wait(PATIENCE)
        token.cancel()

    assert together(*[wait] * 8, cancel) == [True] * 8 + [None]


def test_no_wait_misses_a_cancel_that_comes_in_the_same_moment() -> None:
    with restless():
        for _ in range(300):
            token = CancellationToken()
            outcomes = together(*[partial(token.wait, PATIENCE)] * 3, token.cancel)
            assert outcomes == [True, True, True, None]


# ---- Callbacks -------------------------------------------------------------------------------------------


def test_a_callback_runs_on_cancel_and_not_before() -> None:
    token = CancellationToken()
    seen: list[bool] = []
    token.on_cancel(lambda: seen.append(token.cancelled))
    assert seen == []
    token.cancel()
    assert seen == [True]


def test_a_callback_on_a_token_that_is_set_runs_at_once() -> None:
    token = CancellationToken()
    token.cancel()
    seen: list[int] = []
    forget = token.on_cancel(lambda: seen.append(1))
    assert seen == [1]
    forget()
    token.cancel()
    assert seen == [1]


def test_callbacks_run_in_the_order_they_were_given() -> None:
    token = CancellationToken()
    seen: list[int] = []
    for number in range(5):
        token.on_cancel(partial(seen.append, number))
    token.cancel()
    assert seen == [0, 1, 2, 3, 4]


def test_a_callback_that_was_taken_off_does_not_run() -> None:
    token = CancellationToken()
    seen: list[str] = []
    forget = token.on_cancel(lambda: seen.append("off"))
    token.on_cancel(lambda: seen.append("on"))
    forget()
    forget()
    token.cancel()
    assert seen == ["on"]


def test_taking_one_of_two_equal_callbacks_off_leaves_the_other() -> None:
    token = CancellationToken()
    seen: list[int] = []

    def callback() -> None:
        seen.append(1)

    forget = token.on_cancel(callback)
    token.on_cancel(callback)
    forget()
    token.cancel()
    assert seen == [1]


def test_taking_off_after_the_cancel_does_nothing() -> None:
    token = CancellationToken()
    seen: list[int] = []
    forget = token.on_cancel(lambda: seen.append(1))
    token.cancel()
    forget()
    assert seen == [1]


def test_a_callback_may_use_the_token() -> None:
    token = CancellationToken()
    seen: list[object] = []

    def callback() -> None:
        token.cancel("again")
        seen.append(token.wait(0))
        token.on_cancel(lambda: seen.append("inner"))

    token.on_cancel(callback)
    token.cancel("once")
    assert seen == [True, "inner"]


def test_a_callback_runs_on_the_thread_that_cancels() -> None:
    token = CancellationToken()
    seen: list[str] = []
    token.on_cancel(lambda: seen.append(threading.current_thread().name))
    thread = threading.Thread(target=token.cancel, name="who-cancels")
    thread.start()
    join(thread)
    assert seen == ["who-cancels"]


def test_a_callback_given_in_the_moment_of_the_cancel_runs_exactly_once() -> None:
    with restless():
        for _ in range(300):
            token = CancellationToken()
            counts = [0, 0, 0]

            def register(place: int, token: CancellationToken = token, counts: list[int] = counts) -> None:
                def count() -> None:
                    counts[place] += 1

                token.on_cancel(count)

            together(*[partial(register, place) for place in range(3)], token.cancel)
            assert counts == [1, 1, 1]


def test_of_many_who_cancel_at_once_exactly_one_runs_the_callbacks() -> None:
    with restless():
        for _ in range(200):
            token = CancellationToken()
            calls: list[int] = []
            token.on_cancel(partial(calls.append, 1))
            together(*[partial(token.cancel, f"by {number}") for number in range(4)])
            assert calls == [1]
            assert token.reason in {"by 0", "by 1", "by 2", "by 3"}


def test_a_callback_that_waits_for_another_token_does_not_block_it() -> None:
    # The tokens share one lock; it must not be held while a callback runs.
    first, second = CancellationToken(), CancellationToken()
    entered = threading.Event()

    def callback() -> None:
        entered.set()
        assert second.wait(PATIENCE)

    first.on_cancel(callback)
    thread = threading.Thread(target=first.cancel)
    thread.start()
    until(entered)
    second.cancel()
    join(thread)


# ---- The deadline ----------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cancellation, "monotonic", clock)
    return clock


def test_a_deadline_counts_down_and_stops_at_zero(clock: Clock) -> None:
    deadline = Deadline(5)
    assert (deadline.remaining(), deadline.expired) == (5, False)
    clock.now += 4
    assert (deadline.remaining(), deadline.expired) == (1, False)
    clock.now += 1
    assert (deadline.remaining(), deadline.expired) == (0, True)
    clock.now += 100
    assert (deadline.remaining(), deadline.expired) == (0, True)


def test_no_limit_never_expires(clock: Clock) -> None:
    deadline = Deadline(None)
    clock.now += 1e9
    assert deadline.remaining() is None
    assert not deadline.expired


@pytest.mark.parametrize("seconds", [0, -1])
def test_no_time_at_all_has_expired(clock: Clock, seconds: float) -> None:
    deadline = Deadline(seconds)
    assert (deadline.remaining(), deadline.expired) == (0, True)
