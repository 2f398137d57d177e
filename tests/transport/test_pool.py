"""`mcpref.transport.pool`: few threads awake, none lost, all tasks run once."""

from __future__ import annotations

import contextvars
import itertools
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from mcpref.cancellation import Deadline
from mcpref.transport import pool as pool_module
from mcpref.transport.pool import WorkerPool
from tests.threads import PATIENCE, eventually, join, restless, together, until

_numbers = itertools.count()


def own_threads(name: str) -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(f"{name}-")]


MakePool = Callable[..., WorkerPool]


@pytest.fixture
def make() -> Iterator[MakePool]:
    """Makes pools; at the end of the test all their tasks and threads must end too."""
    pools: list[tuple[WorkerPool, str]] = []

    def make_pool(size: int = 8, **options: Any) -> WorkerPool:
        name = f"pool{next(_numbers)}"
        pools.append((WorkerPool(size, name=name, **options), name))
        return pools[-1][0]

    yield make_pool
    for pool, name in pools:
        pool.close(Deadline(PATIENCE))
        for thread in own_threads(name):
            join(thread)
        assert (pool.threads, pool.busy) == (0, 0)


class Blocker:
    """A task that runs until it is let go."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.free = threading.Event()

    def __call__(self) -> None:
        self.running.set()
        until(self.free)


def meet(barrier: threading.Barrier) -> None:
    barrier.wait(PATIENCE)


# ---- Growth ----------------------------------------------------------------------------------------------


def test_no_thread_is_started_before_the_first_task(make: MakePool) -> None:
    before = threading.enumerate()
    pool = make()
    assert pool.threads == pool.busy == 0
    assert threading.enumerate() == before


def test_a_pool_needs_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one"):
        WorkerPool(0)


def test_a_task_runs_on_a_daemon_of_the_pools_name(make: MakePool) -> None:
    pool = make()
    seen: list[threading.Thread] = []
    done = threading.Event()

    def task() -> None:
        seen.append(threading.current_thread())
        done.set()

    assert pool.submit(task)
    until(done)
    assert seen[0] is not threading.current_thread()
    assert seen[0].daemon
    assert seen[0].name.startswith("pool")


@pytest.mark.parametrize("size", [2, 64])
def test_the_pool_grows_while_its_tasks_block(make: MakePool, size: int) -> None:
    pool = make(size)
    barrier = threading.Barrier(size + 1)
    for _ in range(size):
        assert pool.submit(partial(meet, barrier))
    barrier.wait(PATIENCE)
    assert pool.threads == size


def test_one_blocked_task_does_not_hold_up_the_next(make: MakePool) -> None:
    pool = make()
    blocker = Blocker()
    pool.submit(blocker)
    until(blocker.running)
    pool.submit(blocker.free.set)
    until(blocker.free)


def test_the_pool_does_not_grow_past_its_size(make: MakePool) -> None:
    size = 4
    pool = make(size)
    together_now = threading.Barrier(size)
    lock = threading.Lock()
    running = most = 0

    def task() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together_now.wait(PATIENCE)
        with lock:
            running -= 1
        together_now.wait(PATIENCE)

    for _ in range(8 * size):
        assert pool.submit(task)
    assert pool.close(Deadline(PATIENCE))
    assert most == size


def test_a_pool_of_one_runs_its_tasks_in_order(make: MakePool) -> None:
    pool = make(1)
    seen: list[int] = []
    for number in range(100):
        assert pool.submit(partial(seen.append, number))
    assert pool.close(Deadline(PATIENCE))
    assert seen == list(range(100))


def test_quick_tasks_one_after_the_other_share_one_thread(make: MakePool) -> None:
    pool = make()
    seen: set[str] = set()
    for _ in range(200):
        assert pool.submit(lambda: seen.add(threading.current_thread().name))
        eventually(lambda: pool.busy == 0)
    assert len(seen) == 1
    assert pool.threads == 1


# ---- The queue -------------------------------------------------------------------------------------------


def test_the_queue_has_a_bound(make: MakePool) -> None:
    pool = make(1, queue_limit=3)
    blocker = Blocker()
    ran: list[int] = []
    assert pool.submit(blocker)
    until(blocker.running)
    taken = [pool.submit(partial(ran.append, number)) for number in range(5)]
    assert taken == [True, True, True, False, False]
    blocker.free.set()
    assert pool.close(Deadline(PATIENCE))
    assert ran == [0, 1, 2]


def test_there_is_room_again_when_tasks_have_run(make: MakePool) -> None:
    pool = make(1, queue_limit=1)
    for _ in range(3):
        blocker = Blocker()
        assert pool.submit(blocker)
        until(blocker.running)
        assert pool.submit(lambda: None)
        assert not pool.submit(lambda: None)
        blocker.free.set()
        eventually(lambda: pool.busy == 0)


# ---- Tasks that go wrong, and what they leave behind -----------------------------------------------------


@pytest.mark.parametrize(
    "failure", [ValueError("no"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()], ids=repr
)
def test_a_task_that_raises_does_not_end_its_worker(
    make: MakePool, failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    pool = make(1)
    names: list[str] = []

    def task() -> None:
        names.append(threading.current_thread().name)
        raise failure

    with caplog.at_level(logging.ERROR, "mcpref.transport"):
        assert pool.submit(task)
        assert pool.submit(lambda: names.append(threading.current_thread().name))
        assert pool.close(Deadline(PATIENCE))
    assert len(names) == 2
    assert names[0] == names[1]
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is failure


def test_a_task_that_has_run_is_not_kept_alive(make: MakePool) -> None:
    class Load:
        def run(self) -> None:
            return None

    pool = make()
    load = Load()
    gone = weakref.ref(load)
    pool.submit(load.run)
    del load
    eventually(lambda: pool.busy == 0)
    assert gone() is None


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")


def test_a_task_runs_in_a_copy_of_its_submitters_context(make: MakePool) -> None:
    pool = make(1)
    seen: list[str] = []

    def task(change: str) -> None:
        seen.append(variable.get())
        variable.set(change)
        seen.append(variable.get())

    outside = contextvars.copy_context()
    outside.run(variable.set, "first")
    assert outside.run(pool.submit, partial(task, "changed"))
    outside.run(variable.set, "second")
    assert outside.run(pool.submit, partial(task, "changed again"))
    assert pool.submit(partial(task, "changed at last"))
    assert pool.close(Deadline(PATIENCE))
    assert seen == ["first", "changed", "second", "changed again", "unset", "changed at last"]
    assert outside.run(variable.get) == "second"
    assert variable.get() == "unset"


def test_no_thread_to_be_had_is_a_refusal_and_no_more(
    make: MakePool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = make()
    ran: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert not pool.submit(lambda: ran.append(0))
        assert (pool.threads, pool.busy) == (0, 0)
    assert pool.submit(lambda: ran.append(1))
    assert pool.close(Deadline(PATIENCE))
    assert ran == [1]


# ---- Closing ---------------------------------------------------------------------------------------------


def test_a_pool_that_was_never_used_closes_at_once(make: MakePool) -> None:
    assert make().close(Deadline(0))


def test_nothing_is_taken_after_the_close(make: MakePool) -> None:
    pool = make()
    pool.submit(lambda: None)
    assert pool.close(Deadline(PATIENCE))
    ran: list[int] = []
    assert not pool.submit(lambda: ran.append(1))
    assert pool.close(Deadline(PATIENCE))
    assert ran == []


def test_close_waits_for_what_runs_and_for_what_waits(make: MakePool) -> None:
    pool = make(1)
    blocker = Blocker()
    ran: list[int] = []
    pool.submit(blocker)
    until(blocker.running)
    for number in range(5):
        assert pool.submit(partial(ran.append, number))
    closed, _ = together(partial(pool.close, Deadline(PATIENCE)), blocker.free.set)
    assert closed
    assert ran == [0, 1, 2, 3, 4]


def test_close_without_a_limit_waits_to_the_end(make: MakePool) -> None:
    pool = make()
    blocker = Blocker()
    pool.submit(blocker)
    until(blocker.running)
    closed, _ = together(partial(pool.close, Deadline(None)), blocker.free.set)
    assert closed


@pytest.mark.parametrize("seconds", [0, 0.05])
def test_close_gives_up_when_the_time_is_up(make: MakePool, seconds: float) -> None:
    pool = make()
    blocker = Blocker()
    pool.submit(blocker)
    until(blocker.running)
    assert not pool.close(Deadline(seconds))
    assert pool.busy == 1
    assert not pool.submit(lambda: None)
    blocker.free.set()
    assert pool.close(Deadline(PATIENCE))


def test_tasks_that_wait_behind_a_blocked_one_still_run_after_the_close(make: MakePool) -> None:
    pool = make()
    blocker = Blocker()
    pool.submit(blocker)
    until(blocker.running)
    pool.submit(blocker.free.set)  # only a second worker can run this
    assert pool.close(Deadline(PATIENCE / 2))


def test_close_lets_parked_workers_and_the_watcher_go(make: MakePool) -> None:
    pool = make(4)
    barrier = threading.Barrier(5)
    for _ in range(4):
        pool.submit(partial(meet, barrier))
    barrier.wait(PATIENCE)
    eventually(lambda: pool.busy == 0)
    assert pool.threads == 4
    assert pool.close(Deadline(PATIENCE))
    eventually(lambda: pool.threads == 0)


def test_several_threads_may_close(make: MakePool) -> None:
    for _ in range(30):
        pool = make(2)
        ran: list[int] = []
        for number in range(4):
            pool.submit(partial(ran.append, number))
        assert together(*[partial(pool.close, Deadline(PATIENCE))] * 3) == [True, True, True]
        assert sorted(ran) == [0, 1, 2, 3]


def test_a_task_is_either_refused_or_run_when_the_close_crosses_it(make: MakePool) -> None:
    with restless():
        for _ in range(100):
            pool = make(2)
            ran: list[int] = []

            def submit(pool: WorkerPool = pool, ran: list[int] = ran) -> int:
                return sum(pool.submit(partial(ran.append, number)) for number in range(10))

            *taken, closed = together(submit, submit, partial(pool.close, Deadline(PATIENCE)))
            assert closed
            assert len(ran) == sum(taken)


# ---- Nothing is lost -------------------------------------------------------------------------------------


def test_every_task_of_many_submitters_runs_exactly_once(make: MakePool) -> None:
    pool = make(8, queue_limit=20_000)
    ran = bytearray(20_000)

    def task(number: int) -> None:
        ran[number] += 1

    def submit(start: int) -> None:
        for number in range(start, 20_000, 8):
            assert pool.submit(partial(task, number))

    together(*[partial(submit, start) for start in range(8)])
    assert pool.close(Deadline(PATIENCE))
    assert ran == b"\x01" * 20_000


def round_trips(pool: WorkerPool, count: int) -> None:
    """Submit one task after the other, each the moment the one before has run."""
    for _ in range(count):
        done = threading.Event()
        assert pool.submit(done.set)
        until(done)


def test_no_wake_up_is_lost_between_working_and_parking(make: MakePool) -> None:
    round_trips(make(), 2_000)


def test_no_wake_up_is_lost_under_several_submitters(make: MakePool) -> None:
    pool = make(2)
    with restless():
        together(*[partial(round_trips, pool, 300)] * 4)


@pytest.mark.parametrize("seconds", [0.0, 0.0005])
def test_no_wake_up_is_lost_to_a_worker_that_has_just_had_enough(
    make: MakePool, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", seconds)
    pool = make(2)
    with restless():
        round_trips(pool, 300)
        together(*[partial(round_trips, pool, 100)] * 3)


def test_no_wake_up_is_lost_to_a_watcher_that_has_just_gone_to_sleep(
    make: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "IDLE_LOOKS", 0)
    monkeypatch.setattr(pool_module, "STALL", 0.0001)
    pool = make(3)
    for _ in range(200):
        barrier = threading.Barrier(4)
        for _ in range(3):
            assert pool.submit(partial(meet, barrier))
        barrier.wait(PATIENCE)


def test_a_worker_with_nothing_to_do_ends_and_is_made_anew(
    make: MakePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.01)
    pool = make()
    for _ in range(3):
        seen: list[threading.Thread] = []
        assert pool.submit(lambda seen=seen: seen.append(threading.current_thread()))  # type: ignore[misc]
        eventually(lambda seen=seen: bool(seen))  # type: ignore[misc]
        join(seen[0])
        assert (pool.threads, pool.busy) == (0, 0)


def test_a_task_may_submit_another(make: MakePool) -> None:
    pool = make(1)
    done = threading.Event()
    left = 500

    def task() -> None:
        nonlocal left
        left -= 1
        if left:
            assert pool.submit(task)
        else:
            done.set()

    assert pool.submit(task)
    until(done)
