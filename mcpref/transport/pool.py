"""WorkerPool: daemon threads that run requests, as few awake at a time as keep the queue moving.

Waking a thread costs more than a small call. So whoever submits wakes a worker only if none is awake; that
one stays hot and drains the queue. A watcher looks at the queue every millisecond while there is one, and if
it does not move, the awake workers are busy or blocked: it wakes more, twice as many at each look.

Not `concurrent.futures`: its queue has no bound, and the interpreter waits for its threads at exit, so that
one stuck handler would hold up the process. These are daemons, and `close` waits no longer than it is told.

The lock guards the tables below it, and is never held while a task runs. Nothing is started before the first
task. Any thread may submit.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from time import sleep
from typing import Final, TypeAlias

from ..cancellation import Deadline

log = logging.getLogger("mcpref.transport")

Task: TypeAlias = Callable[[], None]

#: How long the queue may stand still before more workers are woken.
STALL: Final = 0.001
#: Workers woken at the first look that finds the queue standing still.
FIRST_GROWTH: Final = 16
#: Looks at an empty queue before the watcher goes to sleep; while it watches, submitting wakes nobody for it.
IDLE_LOOKS: Final = 50
#: A worker that had nothing to do for so long ends.
IDLE_SECONDS: Final = 30.0


class _Worker:
    __slots__ = ("gate", "thread")

    def __init__(self) -> None:
        # A plain lock used as a binary semaphore: the cheapest thing a thread can wait on.
        self.gate = threading.Lock()
        self.gate.acquire()
        self.thread: threading.Thread | None = None


class WorkerPool:
    """At most ``size`` threads over a queue of at most ``queue_limit`` tasks."""

    def __init__(self, size: int, *, queue_limit: int = 1024, name: str = "mcpref-worker") -> None:
        if size < 1:
            raise ValueError("a pool needs at least one worker")
        self._size = size
        self._limit = queue_limit
        self._name = name
        self._lock = threading.Lock()
        self._queue: deque[tuple[Context, Task]] = deque()
        self._idle: list[_Worker] = []
        self._submitted = 0
        self._count = 0
        self._awake = 0
        self._closed = False
        self._quiet = threading.Condition(self._lock)
        self._watching = False
        self._watch_gate = threading.Lock()
        self._watcher: threading.Thread | None = None

    @property
    def threads(self) -> int:
        """How many threads have been started and not ended."""
        return self._count

    @property
    def busy(self) -> int:
        """How many workers are awake."""
        return self._awake

    def submit(self, task: Task) -> bool:
        """Have a worker run ``task`` in a copy of this thread's context; False if full or closed."""
        entry = (copy_context(), task)
        wake_watcher = False
        with self._lock:
            if self._closed or len(self._queue) >= self._limit:
                return False
            self._queue.append(entry)
            self._submitted += 1
            # Claimed under the lock: a pool that only notifies does not grow under a burst.
            worker = None
            if self._awake == 0:
                worker = self._claim()
            elif not self._watching and self._awake < self._size:
                self._watching = wake_watcher = True
        if worker is not None and not self._wake(worker):
            return not self._take_back(entry)
        if wake_watcher:
            self._start_watcher()
        return True

    def _take_back(self, entry: tuple[Context, Task]) -> bool:
        try:
            self._queue.remove(entry)
        except ValueError:  # somebody runs it after all
            return False
        return True

    def close(self, deadline: Deadline) -> bool:
        """Take no more tasks and wait for those taken; False if some still run when the time is up."""
        with self._lock:
            self._closed = True
            while self._awake or self._queue:
                remaining = deadline.remaining()
                if remaining == 0 or not self._quiet.wait(remaining):
                    break
            clean = not self._awake and not self._queue
            # The parked ones leave by the same way as the others: awake, nothing to do, closed.
            idle, self._idle = self._idle, []
            self._awake += len(idle)
            self._open_watch_gate()
        for worker in idle:
            worker.gate.release()
        return clean

    def _claim(self) -> _Worker | None:
        """A worker to wake, idle or new; None if all are awake. The lock is held."""
        assert self._lock.locked()
        if self._idle:
            worker = self._idle.pop()
        elif self._count < self._size:
            worker = _Worker()
            self._count += 1
        else:
            return None
        self._awake += 1
        return worker

    def _wake(self, worker: _Worker) -> bool:
        """Have a claimed worker work; False if it is a new one and the system has no thread for it."""
        if worker.thread is not None:
            worker.gate.release()
            return True
        worker.thread = threading.Thread(
            target=self._work, args=(worker,), name=f"{self._name}-{self._count}", daemon=True
        )
        try:
            worker.thread.start()
        except RuntimeError as error:
            with self._lock:
                self._count -= 1
                self._awake -= 1
                if not self._awake:
                    self._quiet.notify_all()
            log.error("no worker could be started: %s", error)
            return False
        return True

    def _work(self, me: _Worker) -> None:
        queue = self._queue
        while True:
            try:
                context, task = queue.popleft()  # atomic: no lock while there is work
            except IndexError:
                if not self._park(me):
                    return
                continue
            try:
                context.run(task)
            except BaseException:
                log.exception("a task failed in the worker pool; the worker goes on")
            # Drop the references now, not when the next task comes.
            del context, task

    def _park(self, me: _Worker) -> bool:
        """Wait to be woken; False when this worker is to end."""
        with self._lock:
            if self._queue:
                return True
            self._awake -= 1
            if self._closed:
                self._count -= 1
                if not self._awake:
                    self._quiet.notify_all()
                return False
            self._idle.append(me)
        if not me.gate.acquire(timeout=IDLE_SECONDS):
            with self._lock:
                if me in self._idle:
                    self._idle.remove(me)
                    self._count -= 1
                    return False
            me.gate.acquire()  # claimed just now; the one who claimed it is about to open the gate
        return True

    def _start_watcher(self) -> None:
        # One at a time: whoever set `_watching`.
        if self._watcher is not None:
            with self._lock:
                self._open_watch_gate()
            return
        self._watcher = threading.Thread(target=self._watch, name=f"{self._name}-watch", daemon=True)
        try:
            self._watcher.start()
        except RuntimeError as error:
            log.error("the pool cannot grow: %s", error)
            self._watcher = None
            self._watching = False  # the next one to submit tries again

    def _open_watch_gate(self) -> None:
        assert self._lock.locked()
        if self._watch_gate.locked():
            self._watch_gate.release()

    def _watch(self) -> None:
        taken = 0
        added = 0
        looks = 0
        grow = FIRST_GROWTH
        while True:
            sleep(STALL)
            woken: list[_Worker] = []
            with self._lock:
                waiting = len(self._queue)
                # What was taken since the last look, beyond the one task that each worker woken then began with, was
                # taken by workers that go on: the queue moves. Otherwise all are busy or blocked.
                stalled = self._submitted - waiting - taken <= added
                taken = self._submitted - waiting
                added = 0
                if not waiting or self._awake >= self._size:
                    if self._closed:
                        return  # whoever is awake does what is left
                    looks += 1
                    grow = FIRST_GROWTH
                    if looks > IDLE_LOOKS:
                        self._watching = False
                else:
                    looks = 0
                    if stalled:
                        for _ in range(min(grow, waiting)):
                            worker = self._claim()
                            if worker is None:
                                break
                            woken.append(worker)
                        added = len(woken)
                        grow *= 2
                asleep = not self._watching
                if asleep:
                    self._watch_gate.acquire(blocking=False)
            for worker in woken:
                self._wake(worker)
            if asleep:
                looks = 0
                self._watch_gate.acquire()
