"""ListenStreams: the ``subscriptions/listen`` streams that share one duplex connection.

A stream takes no thread: the outbox writes its acknowledgement, and from then on every change that its filter
accepts.

Spec: 2026-07-28 basic/patterns/subscriptions
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from ..errors import InternalError
from ..jsonrpc import Notification, Response, encode
from ..server.push import Change, ListenStream, legacy_notification
from ..server.state import ConnectionState
from .duplex import DuplexChannel


class ListenStreams:
    """The ``subscriptions/listen`` streams of one connection. The lock guards the table."""

    def __init__(self, channel: DuplexChannel, state: ConnectionState, limit: int) -> None:
        self._channel = channel
        self._state = state
        self._limit = limit
        self._lock = threading.Lock()
        self._streams: list[ListenStream] = []
        self._count = 0
        self._closing: Callable[[ListenStream], Response] | None = None

    def __len__(self) -> int:
        with self._lock:
            return len(self._streams)

    def open(self, stream: ListenStream) -> None:
        """Acknowledge a stream, then let it have changes."""
        with self._lock:
            if self._count >= self._limit:
                raise InternalError(f"at most {self._limit} streams may be open", data={"reason": "busy"})
            self._count += 1
        self._channel.post(b"", after=partial(self._enter, stream))
        stream.token.on_cancel(partial(self._leave, stream))

    def render(self, change: Change) -> list[bytes]:
        """What a change looks like on every stream that wants it, and on the legacy connection.

        Spec: 2026-07-28 basic/patterns/subscriptions#multiple-concurrent-subscriptions
        """
        with self._lock:
            streams = list(self._streams)
        notifications = [
            stream.notification(change) for stream in streams if not stream.token.suppresses_response
        ]
        notifications.append(legacy_notification(change, self._state))
        return [encode(notification) for notification in notifications if notification is not None]

    def end_all(self, answer: Callable[[ListenStream], Response]) -> None:
        """The server closes: end every stream.

        Spec: 2026-07-28 basic/patterns/cancellation MUST send a cancellation for a stream it tears down
        Spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure SHOULD answer the request
        The pages disagree on which; both are sent, in this order (conformance/notes.rst).
        """
        # Through the outbox, behind every acknowledgement that is still waiting there.
        self._channel.post(b"", after=partial(self._end_now, answer))

    def _end_now(self, answer: Callable[[ListenStream], Response]) -> None:
        with self._lock:
            self._closing = answer
            streams, self._streams = self._streams, []
            self._count -= len(streams)
        for stream in streams:
            if not stream.token.suppresses_response:
                reason = {"requestId": stream.id, "reason": "the server is shutting down"}
                self._channel.write(encode(Notification("notifications/cancelled", reason)))
                self._channel.write(encode(answer(stream)))

    def _enter(self, stream: ListenStream) -> None:
        # On the outbox, which writes changes too, so that nothing can come before the acknowledgement.
        # Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment MUST be first
        # Spec: 2026-07-28 basic/transports/stdio#cancellation MUST NOT send anything after a cancellation
        if not stream.token.suppresses_response:
            self._channel.write(encode(stream.acknowledgement()))
        with self._lock:
            self._streams.append(stream)
            closing = self._closing
        if stream.token.suppresses_response:
            self._leave(stream)
        if closing is not None:  # it was asked for just before the end
            self._end_now(closing)

    def _leave(self, stream: ListenStream) -> None:
        # Called on the reader by a cancellation: list work only. A shutdown cancels too, but ends streams itself.
        if not stream.token.suppresses_response:
            return
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)
                self._count -= 1
        self._state.untrack(stream.id, stream.token)
