"""CancellationToken: how a running handler learns that its answer is no longer wanted.

Cancellation is cooperative: nothing is injected into a thread. A handler polls `is_cancelled`, or waits
with `wait` where it would have slept. The token knows nothing of requests, connections or transports.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

# One lock for all tokens: it is held for a few instructions, and only when a token is cancelled or waited
# on for the first time. A lock in each token would cost every request what only a cancelled one needs.
_lock = threading.Lock()


class CancellationToken:
    """Set once, by the client's cancellation, a disconnect or a shutdown; never unset.

    Backed by a `threading.Event` that is made on the first wait: most requests never wait, and making an
    event costs a third of a small call.
    """

    __slots__ = ("_callbacks", "_event", "cancelled", "reason", "suppresses_response")

    def __init__(self) -> None:
        self.cancelled = False
        """Whether `cancel` was called."""
        self.reason: str | None = None
        """What the first `cancel` gave as its reason."""
        self.suppresses_response = False
        """Whether the client itself took the request back, so that no answer may be sent."""
        self._event: threading.Event | None = None
        self._callbacks: list[Callable[[], None]] = []

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called: `cancelled` by the name that contexts use."""
        return self.cancelled

    def cancel(self, reason: str | None = None, *, by_client: bool = True) -> None:
        """Set the token. Idempotent; the first reason is kept.

        A shutdown is not the client's wish (``by_client=False``): an answer computed in time is still sent.
        """
        with _lock:
            if by_client:
                self.suppresses_response = True
            if self.cancelled:
                return
            self.reason = reason
            self.cancelled = True
            event, callbacks = self._event, self._callbacks
            self._callbacks = []
        if event is not None:
            event.set()
        for callback in callbacks:
            callback()

    def wait(self, seconds: float | None = None) -> bool:
        """Sleep until the token is cancelled (True) or ``seconds`` have passed (False), like `Event.wait`."""
        if self.cancelled:
            return True
        with _lock:
            if self._event is None:
                self._event = threading.Event()
                if self.is_cancelled:  # cancelled since the look above
                    self._event.set()
            event = self._event
        return event.wait(seconds)

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once when the token is cancelled, or now if it already is.

        The callback runs on the thread that cancels (a reader), so it must neither block nor raise: it sets
        an event. Returns a function that takes it off again.
        """
        with _lock:
            if not self.cancelled:
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        callback()
        return _nothing

    def _forget(self, callback: Callable[[], None]) -> None:
        with _lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)


def _nothing() -> None:
    return None


class Deadline:
    """A point in time that several waits share, so that together they do not exceed one timeout."""

    __slots__ = ("_end",)

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds left, never negative; None when there is no limit."""
        return None if self._end is None else max(0.0, self._end - monotonic())

    @property
    def expired(self) -> bool:
        return self._end is not None and monotonic() >= self._end
