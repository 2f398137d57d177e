"""Telling clients that something changed: the change feed, and the listen streams that carry it.

A change is a notification without a receiver: ``{"method": ..., "params": ...}``. `Changes` is the seam
between whoever makes one and the connections that pass it on; `MemoryChanges` serves one process. A
connection follows the feed, and for each change decides by itself which of its streams want it:

- modern: every ``subscriptions/listen`` stream whose filter accepts it, stamped with that stream's id;
- legacy: the connection itself, once it is initialized; ``resources/updated`` only for subscribed URIs.

The lock guards the list of readers and their queues; ``wake`` is called outside it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..cancellation import CancellationToken
from ..jsonrpc import Notification, RequestId
from ..subscriptions import SubscriptionFilter, acknowledgement, listen_result, stamp
from .state import ConnectionState

Change: TypeAlias = Mapping[str, Any]
Wake: TypeAlias = Callable[[], None]

#: Changes that may wait for one reader; past that it is taken for stuck, and its connection is closed.
MAX_WAITING: Final = 1024


class ChangeReader(Protocol):
    """One follower's place in the feed."""

    @property
    def overflowed(self) -> bool:
        """Whether changes were lost because this reader did not read."""

    def read(self) -> list[Change]:
        """The changes since the last call, oldest first. Never waits."""

    def close(self) -> None: ...


class Changes(Protocol):
    """Where changes are announced and followed, in one process or across several."""

    def publish(self, change: Change) -> None:
        """Announce a change. Never waits, neither for a reader nor for a store that is down."""

    def follow(self, after: str | None, resumable: bool, wake: Wake) -> ChangeReader:
        """Read from now on, or from the cursor ``after``. ``wake`` is called from any thread and only sets
        an event; the woken thread then reads."""


class MemoryChanges:
    """The feed of a single process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: list[_MemoryReader] = []

    def publish(self, change: Change) -> None:
        with self._lock:
            readers = list(self._readers)
            for reader in readers:
                reader.put(change)
        for reader in readers:
            reader.wake()

    def follow(self, after: str | None, resumable: bool, wake: Wake) -> ChangeReader:
        # Nothing is kept for later: a process that restarts has no memory to resume from.
        reader = _MemoryReader(self, wake)
        with self._lock:
            self._readers.append(reader)
        return reader

    def _drain(self, reader: _MemoryReader) -> list[Change]:
        with self._lock:
            waiting, reader.waiting = reader.waiting, []
        return waiting

    def _leave(self, reader: _MemoryReader) -> None:
        with self._lock:
            if reader in self._readers:
                self._readers.remove(reader)


class _MemoryReader:
    __slots__ = ("_feed", "overflowed", "waiting", "wake")

    def __init__(self, feed: MemoryChanges, wake: Wake) -> None:
        self._feed = feed
        self.wake = wake
        self.waiting: list[Change] = []
        self.overflowed = False

    def put(self, change: Change) -> None:
        # Called with the feed's lock held.
        if len(self.waiting) >= MAX_WAITING:
            self.overflowed = True
        else:
            self.waiting.append(change)

    def read(self) -> list[Change]:
        return self._feed._drain(self)

    def close(self) -> None:
        self._feed._leave(self)


class ListenStream(NamedTuple):
    """One open ``subscriptions/listen`` request.

    Spec: 2026-07-28 basic/patterns/subscriptions#opening-a-stream
    """

    id: RequestId
    """The id of the listen request; every message on the stream is stamped with it."""
    filter: SubscriptionFilter
    """What the client asked for and the server honours."""
    token: CancellationToken
    """Set when the client closes the stream."""

    def acknowledgement(self) -> Notification:
        """What must be the first message on the stream."""
        return Notification("notifications/subscriptions/acknowledged", acknowledgement(self.filter, self.id))

    def notification(self, change: Change) -> Notification | None:
        """The change as this stream carries it; None if it does not."""
        if not self.filter.accepts(change["method"], change.get("params")):
            return None
        return Notification(change["method"], stamp(change.get("params"), self.id))

    def result(self) -> dict[str, Any]:
        """The answer that ends the stream when the server closes it."""
        return listen_result(self.id)


def legacy_notification(change: Change, state: ConnectionState) -> Notification | None:
    """The change as a legacy connection carries it; None if it does not.

    Spec: 2025-11-25 server/resources#subscriptions
    """
    if not state.initialized:
        return None
    params = change.get("params")
    if change["method"] == "notifications/resources/updated" and not state.is_subscribed(
        change["params"]["uri"]
    ):
        return None
    return Notification(change["method"], None if params is None else dict(params))
