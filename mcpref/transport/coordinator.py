"""StreamCoordinator and CancelTable: how one POST reaches a request that another POST started.

Both are tables of one process behind the seams `Replies` and `Cancels`, keyed by session, so that nothing that
arrives on one session can touch another's. The locks are held for dict work; callbacks run outside them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence

from .seams import Wake


class PendingReply:
    """One request to the client that is out."""

    __slots__ = ("_owner", "failed", "id", "reply", "sid", "wake")

    def __init__(self, owner: StreamCoordinator, sid: str, wake: Wake) -> None:
        self.id = secrets.token_urlsafe(16)
        self.sid = sid
        self.wake = wake
        self.reply: bytes | None = None
        self.failed = False
        self._owner = owner

    def drop(self) -> None:
        self._owner._take(self.sid, self.id)


class StreamCoordinator:
    """Answers that come back on a later POST, by session and id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], PendingReply] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._pending)

    def expect(self, sid: str, wake: Wake) -> PendingReply:
        pending = PendingReply(self, sid, wake)
        with self._lock:
            self._pending[sid, pending.id] = pending
        return pending

    def resolve(self, sid: str, rid: str, reply: bytes) -> bool:
        pending = self._take(sid, rid)
        if pending is None:
            return False
        pending.reply = reply
        pending.wake()
        return True

    def fail_session(self, sid: str) -> None:
        """The session has ended: whoever waits on it stops waiting."""
        with self._lock:
            failed = [pending for (owner, _), pending in self._pending.items() if owner == sid]
            for pending in failed:
                del self._pending[sid, pending.id]
        for pending in failed:
            pending.failed = True
            pending.wake()

    def _take(self, sid: str, rid: str) -> PendingReply | None:
        with self._lock:
            return self._pending.pop((sid, rid), None)


class CancelTable:
    """Running requests, by session and id.

    Of several that a client sent under one id, a cancellation means the first; all of them count, and end with
    their session.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, dict[str, list[Callable[[str], None]]]] = {}

    def __len__(self) -> int:
        with self._lock:
            return sum(_count(requests) for requests in self._running.values())

    def track(self, sid: str, key: str, cancel: Callable[[str], None]) -> Callable[[], None]:
        with self._lock:
            self._running.setdefault(sid, {}).setdefault(key, []).append(cancel)
        return lambda: self._forget(sid, key, cancel)

    def cancel(self, sid: str, key: str, reason: str = "") -> bool:
        with self._lock:
            first = self._running.get(sid, {}).get(key, [])[:1]
        for cancel in first:
            cancel(reason)
        return bool(first)

    def cancel_session(self, sid: str) -> None:
        """The session has ended: so has everything that runs in it."""
        with self._lock:
            running = [cancel for same in self._running.get(sid, {}).values() for cancel in same]
        for cancel in running:
            cancel("the session has ended")

    def running(self, sid: str) -> int:
        with self._lock:
            return _count(self._running.get(sid, {}))

    def _forget(self, sid: str, key: str, cancel: Callable[[str], None]) -> None:
        with self._lock:
            requests = self._running.get(sid, {})
            same = requests.get(key, [])
            if cancel in same:
                same.remove(cancel)
                if not same:
                    del requests[key]
                if not requests:
                    del self._running[sid]


def _count(requests: Mapping[str, Sequence[object]]) -> int:
    return sum(len(same) for same in requests.values())
