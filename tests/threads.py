"""Running several things at once in a test: a common start, a deadline for the end, and no lost exception."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mcpref.cancellation import Deadline

#: How long any wait of a test may take before the test fails.
PATIENCE = 20.0


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """Run each task on a thread of its own, all released at the same moment; their results in order.

    The first exception of any of them is raised here.
    """
    start = threading.Barrier(len(tasks))
    results: list[Any] = [None] * len(tasks)
    failures: list[BaseException] = []

    def run(place: int, task: Callable[[], Any]) -> None:
        try:
            start.wait(PATIENCE)
            results[place] = task()
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=run, args=(place, task), name=f"together-{place}", daemon=True)
        for place, task in enumerate(tasks)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        join(thread)
    if failures:
        raise failures[0]
    return results


def join(thread: threading.Thread) -> None:
    """Wait for a thread to end, and fail if it does not."""
    thread.join(PATIENCE)
    assert not thread.is_alive(), f"{thread.name} did not end"


def until(event: threading.Event) -> None:
    """Wait for an event, and fail if it does not come."""
    assert event.wait(PATIENCE), "what was waited for did not happen"


def eventually(condition: Callable[[], bool]) -> None:
    """Look again and again until a condition holds, for what tells nobody that it has come about."""
    deadline = Deadline(PATIENCE)
    while not condition():
        assert not deadline.expired, "what was looked for did not come about"
        threading.Event().wait(0.001)


@contextmanager
def restless() -> Iterator[None]:
    """Let the interpreter change threads as often as it can, so that a race shows in few rounds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
