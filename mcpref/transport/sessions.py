"""SessionManager: the sessions of one process, behind the `Sessions` seam; SessionState: one, as a request sees it.

The lock guards the table and the stamps, and is held for dict work only. Ending a session calls back outside it.
``is_busy`` is asked under it and takes the locks of other tables, none of which is ever held on the way here.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from ..cancellation import CancellationToken
from ..jsonrpc import RequestId
from ..server.state import MAX_SUBSCRIPTIONS, ConnectionState, Lifecycle, too_many_subscriptions
from ..versions import ProtocolVersion
from .seams import Cancels, Full, Session, Sessions

#: RFC: 9110 5.6.2 the id is one token; 64 hexadecimal digits are 256 bits
_ID_BYTES: Final = 32


class _Entry:
    __slots__ = ("session", "stamp", "subscriptions")

    def __init__(self, session: Session, stamp: float) -> None:
        self.session = session
        self.stamp = stamp
        self.subscriptions: set[str] = set()


class SessionManager:
    """Sessions by their id; idle ones expire, and when there is no room the longest idle one goes."""

    def __init__(
        self,
        *,
        idle: float,
        limit: int,
        on_end: Callable[[str], None] = lambda sid: None,
        is_busy: Callable[[str], bool] = lambda sid: False,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``on_end`` is called for every session that ends; ``is_busy`` says which must not be evicted."""
        self._idle = idle
        self._limit = limit
        self._on_end = on_end
        self._is_busy = is_busy
        self._clock = clock
        self._lock = threading.Lock()
        # In the order of their last activity: the first is the longest idle.
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def create(
        self,
        version: str,
        capabilities: Mapping[str, Any],
        principal: str | None,
        client_info: Mapping[str, Any] | None = None,
    ) -> Session:
        session = Session(secrets.token_hex(_ID_BYTES), version, capabilities, principal, client_info)
        now = self._clock()
        with self._lock:
            ended = self._expired(now)
            if len(self._entries) >= self._limit:
                victim = next((sid for sid in self._entries if not self._is_busy(sid)), None)
                if victim is None:
                    full = True
                else:
                    full = False
                    del self._entries[victim]
                    ended.append(victim)
            else:
                full = False
            if not full:
                self._entries[session.id] = _Entry(session, now)
        for sid in ended:
            self._on_end(sid)
        if full:
            raise Full(f"{self._limit} sessions are open and all of them are in use")
        return session

    def open(self, sid: str, principal: str | None) -> Session | None:
        now = self._clock()
        with self._lock:
            ended = self._expired(now)
            entry = self._entries.get(sid)
            # Another user's session is none at all: possession of an id is not enough.
            if entry is not None and entry.session.principal == principal:
                entry.stamp = now
                self._entries[sid] = self._entries.pop(sid)
                session = entry.session
            else:
                session = None
        for gone in ended:
            self._on_end(gone)
        return session

    def update(
        self,
        sid: str,
        *,
        level: str | None = None,
        initialized: bool | None = None,
        subscribe: str | None = None,
        unsubscribe: str | None = None,
    ) -> bool:
        with self._lock:
            entry = self._entries.get(sid)
            if entry is None:
                return False
            if level is not None:
                entry.session = replace(entry.session, level=level)
            if initialized is not None:
                entry.session = replace(entry.session, initialized=initialized)
            if subscribe is not None:
                if subscribe not in entry.subscriptions and len(entry.subscriptions) >= MAX_SUBSCRIPTIONS:
                    return False
                entry.subscriptions.add(subscribe)
            if unsubscribe is not None:
                entry.subscriptions.discard(unsubscribe)
            return True

    def subscribed(self, sid: str, uri: str) -> bool:
        with self._lock:
            entry = self._entries.get(sid)
            return entry is not None and uri in entry.subscriptions

    def end(self, sid: str) -> bool:
        with self._lock:
            found = self._entries.pop(sid, None) is not None
        if found:
            self._on_end(sid)
        return found

    def end_all(self) -> None:
        """The server closes."""
        with self._lock:
            ended = list(self._entries)
            self._entries.clear()
        for sid in ended:
            self._on_end(sid)

    def _expired(self, now: float) -> list[str]:
        """Take out what has been idle for too long; the lock is held."""
        ended = []
        for sid, entry in self._entries.items():
            if now - entry.stamp < self._idle:
                break  # the rest were active later
            if not self._is_busy(sid):
                ended.append(sid)
        for sid in ended:
            del self._entries[sid]
        return ended


class SessionState(ConnectionState):
    """A session as one request sees it: what it read is a snapshot, what it changes goes through the seam."""

    __slots__ = ("_cancels", "_done", "_sessions", "session")

    def __init__(self, session: Session, sessions: Sessions, cancels: Cancels) -> None:
        super().__init__(ProtocolVersion(session.version), session.capabilities)
        self.session = session
        self.client_info = session.client_info
        self.log_level = session.level
        self.lifecycle = Lifecycle.READY if session.initialized else Lifecycle.NEGOTIATED
        self._sessions = sessions
        self._cancels = cancels
        self._done: dict[RequestId, Callable[[], None]] = {}

    def mark_initialized(self) -> None:
        super().mark_initialized()
        self._sessions.update(self.session.id, initialized=True)

    def set_log_level(self, level: str) -> None:
        super().set_log_level(level)
        self._sessions.update(self.session.id, level=level)

    def subscribe(self, uri: str) -> None:
        if not self._sessions.update(self.session.id, subscribe=uri):
            raise too_many_subscriptions()

    def unsubscribe(self, uri: str) -> None:
        self._sessions.update(self.session.id, unsubscribe=uri)

    def is_subscribed(self, uri: str) -> bool:
        return self._sessions.subscribed(self.session.id, uri)

    def track(self, request_id: RequestId, token: CancellationToken) -> bool:
        self._done[request_id] = self._cancels.track(self.session.id, cancel_key(request_id), token.cancel)
        if not self._sessions.update(self.session.id):
            # It ended after it was opened for this request, so whoever ended it may not have found the request.
            token.cancel("the session has ended")
        return super().track(request_id, token)

    def untrack(self, request_id: RequestId, token: CancellationToken) -> None:
        done = self._done.pop(request_id, None)
        if done is not None:
            done()
        super().untrack(request_id, token)

    def cancel(self, request_id: object, reason: str | None = None) -> bool:
        if type(request_id) is not str and type(request_id) is not int:
            return False
        return self._cancels.cancel(self.session.id, cancel_key(request_id), reason or "")


def cancel_key(request_id: RequestId) -> str:
    """A request's id with its type, so that ``1`` and ``"1"`` stay two."""
    return f"s:{request_id}" if isinstance(request_id, str) else f"i:{request_id}"
