"""ThreadBudget: how many threads may be parked, for every small host."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from mcpref.errors import Busy
from mcpref.transport.parking import ThreadBudget
from tests.threads import restless, together

#: (threads, streams at most, waits at most, both at most)
FIGURES = [
    (1, 0, 0, 0),
    (2, 0, 0, 0),
    (3, 1, 1, 1),
    (4, 2, 2, 2),
    (5, 2, 3, 3),
    (8, 4, 6, 6),
    (64, 32, 62, 62),
]


@pytest.mark.parametrize(("threads", "streams", "waits", "both"), FIGURES)
def test_streams_are_half_of_the_threads_at_most(threads: int, streams: int, waits: int, both: int) -> None:
    budget = ThreadBudget(threads)
    assert [budget.take_stream() for _ in range(streams + 1)] == [True] * streams + [False]
    assert budget.parked == streams
    for _ in range(streams):
        budget.leave_stream()
    assert budget.parked == 0
    assert budget.take_stream() is (streams > 0)


@pytest.mark.parametrize(("threads", "streams", "waits", "both"), FIGURES)
def test_two_threads_are_never_parked(threads: int, streams: int, waits: int, both: int) -> None:
    budget = ThreadBudget(threads)
    with ExitStack() as stack:
        for _ in range(waits):
            stack.enter_context(budget.waiting())
        assert budget.parked == waits
        with pytest.raises(Busy), budget.waiting():
            pass
        assert budget.parked == waits
        assert not budget.take_stream()
    assert budget.parked == 0


@pytest.mark.parametrize(("threads", "streams", "waits", "both"), FIGURES)
def test_both_kinds_count_together(threads: int, streams: int, waits: int, both: int) -> None:
    """8 threads, 4 listens and 4 questions would leave none for the answers: so the last two are refused."""
    budget = ThreadBudget(threads)
    assert sum(budget.take_stream() for _ in range(threads)) == streams
    with ExitStack() as stack:
        for _ in range(both - streams):
            stack.enter_context(budget.waiting())
        with pytest.raises(Busy), budget.waiting():
            pass
        assert budget.parked == both
        assert threads - budget.parked >= min(2, threads)


def test_a_place_is_given_back_also_when_the_wait_fails() -> None:
    budget = ThreadBudget(8)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError), budget.waiting():
            raise ZeroDivisionError
    assert budget.parked == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_host_with_too_few_threads_is_told_what_helps(threads: int) -> None:
    with (
        pytest.raises(Busy, match=r"gunicorn --threads 8.*MCPREF_THREADS=8"),
        ThreadBudget(threads).waiting(),
    ):
        pass


def test_a_full_host_is_told_to_try_again() -> None:
    assert "try again" in ThreadBudget(8).remedy


def test_the_bound_holds_under_many_threads() -> None:
    budget = ThreadBudget(8)
    most: list[int] = []

    def park() -> None:
        for number in range(100):
            if number % 2:
                if budget.take_stream():
                    most.append(budget.parked)
                    budget.leave_stream()
            else:
                try:
                    with budget.waiting():
                        most.append(budget.parked)
                except Busy:
                    pass

    with restless():
        together(*[park] * 12)
    assert max(most) <= 6
    assert budget.parked == 0
