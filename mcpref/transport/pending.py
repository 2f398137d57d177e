"""PendingReplies: requests we sent, and the threads that wait for their answers.

Register, then send, then wait: an answer that comes back before the sender waits finds its waiter. The
reader resolves and never blocks. Waiters are keyed by (scope, id), the scope being the session on transports
that have several: an answer that arrives on one session cannot reach another's waiter.

The lock guards the table and what a waiter comes to: whoever takes one off the table settles it under the
same hold, so a waiter that finds itself off the table has its outcome. Waiting happens outside it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from ..cancellation import CancellationToken
from ..errors import (
    ConnectionClosed,
    LocalProtocolError,
    McpError,
    PeerError,
    RequestCancelled,
    RequestTimeout,
)
from ..jsonrpc import ErrorResponse, RequestId, Response


class Waiter:
    """One request that is out, and its answer when it has come."""

    __slots__ = ("_done", "_failure", "_owner", "_result", "id", "scope")

    def __init__(self, owner: PendingReplies, scope: str, request_id: RequestId) -> None:
        self.id = request_id
        """The id to send the request with."""
        self.scope = scope
        self._owner = owner
        self._done = threading.Event()
        self._result: Any = None
        self._failure: McpError | None = None

    def wait(self, timeout: float | None, token: CancellationToken | None = None) -> Any:
        """The result; raises `PeerError`, `ConnectionClosed`, `RequestTimeout` or, by ``token``, `RequestCancelled`.

        However it ends, the waiter is off the table.
        """
        forget: Callable[[], None] | None = None
        if token is not None:
            forget = token.on_cancel(self._done.set)
        try:
            answered = self._done.wait(timeout)
        finally:
            if forget is not None:
                forget()
            dropped = self.drop()
        # An answer that came in the same instant as a cancellation counts: the table decides, under its lock.
        if dropped:
            if answered:
                raise RequestCancelled("the request that waited for this answer was cancelled")
            raise RequestTimeout(f"the peer did not answer within {timeout:g} seconds")
        if self._failure is not None:
            raise self._failure
        return self._result

    def drop(self) -> bool:
        """Stop waiting; False if the answer, or the end of the connection, was there first."""
        return self._owner._drop(self)

    def _settle(self, result: Any, failure: McpError | None) -> None:
        # The owner's lock is held.
        self._result = result
        self._failure = failure
        self._done.set()


class PendingReplies:
    """The table of waiters. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: dict[tuple[str, RequestId], Waiter] = {}
        self._ids = itertools.count(1)
        self._closed: str | None = None

    def __len__(self) -> int:
        with self._lock:
            return len(self._waiters)

    def expect(self, scope: str = "", request_id: RequestId | None = None) -> Waiter:
        """Make a waiter, with the next id unless one is given; call it before sending.

        Raises if the connection has ended.
        """
        with self._lock:
            if self._closed is not None:
                raise ConnectionClosed(self._closed)
            waiter = Waiter(self, scope, next(self._ids) if request_id is None else request_id)
            replaced = self._waiters.get((scope, waiter.id))
            if replaced is not None:
                reused = f"the id {waiter.id!r} was used again before its answer came"
                replaced._settle(None, LocalProtocolError(reused))
            self._waiters[scope, waiter.id] = waiter
            return waiter

    def resolve(self, reply: Response | ErrorResponse, scope: str = "") -> bool:
        """Hand an answer to its waiter; False if nobody waits for it (any more)."""
        if reply.id is None:
            return False
        with self._lock:
            waiter = self._waiters.pop((scope, reply.id), None)
            if waiter is None:
                return False
            if isinstance(reply, Response):
                waiter._settle(reply.result, None)
            else:
                error = reply.error
                waiter._settle(None, PeerError(error.code, error.message, error.data))
            return True

    def fail_all(self, reason: str = "the connection was closed before the answer came") -> None:
        """The connection has ended: wake every waiter with `ConnectionClosed`, and refuse new ones with it."""
        with self._lock:
            self._closed = reason
            waiters, self._waiters = self._waiters, {}
            for waiter in waiters.values():
                # One for each: an exception that several threads raise gathers the tracebacks of all.
                waiter._settle(None, ConnectionClosed(reason))

    def _drop(self, waiter: Waiter) -> bool:
        key = waiter.scope, waiter.id
        with self._lock:
            if self._waiters.get(key) is not waiter:
                return False
            del self._waiters[key]
            return True
