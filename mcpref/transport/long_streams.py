"""The streams that stay open: ``subscriptions/listen`` (modern) and GET (legacy sessions).

Both park a thread of the host, so both are counted before their first byte (parking.py). Both follow the feed of
changes by themselves, and end when the server closes: a listen stream with the result of its request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ConnectionClosed
from ..jsonrpc import Response, encode
from ..server.push import ListenStream, legacy_notification
from ..server.state import ConnectionState
from .event_stream import EventIterator, LocalStream
from .seams import Gone, StreamReader, StreamWriter

if TYPE_CHECKING:
    from .probes import Probe
    from .runtime import Runtime


class LongStream:
    """A stream that is entered in the runtime for as long as it is open."""

    def __init__(self, runtime: Runtime, principal: str | None) -> None:
        self._runtime = runtime
        self._principal = principal
        self.wake = threading.Event()

    def enter(self) -> bool:
        """Take a place; False if there is none. Nothing has been sent then."""
        return self._runtime.open_stream(self, self._principal)

    def leave(self) -> None:
        self._runtime.close_stream(self, self._principal)

    def shut_down(self) -> None:
        raise NotImplementedError


class ListenResponse(LongStream):
    """The response to a ``subscriptions/listen``.

    Spec: 2026-07-28 basic/patterns/subscriptions
    """

    def __init__(self, runtime: Runtime, stream: ListenStream, principal: str | None) -> None:
        super().__init__(runtime, principal)
        self._listen = stream
        self._events = LocalStream(self.wake.set, runtime.settings, self._too_slow)

    def iterator(self, probe: Probe | None, on_close: Callable[[bool], None]) -> EventIterator:
        """The body; the acknowledgement is already in it."""
        changes = self._runtime.server.changes.follow(None, False, self.wake.set)
        # Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment MUST be the first message
        self._events.append(encode(self._listen.acknowledgement()))

        def pull() -> None:
            for change in changes.read():
                notification = self._listen.notification(change)
                if notification is not None:
                    self._events.append(encode(notification))
            if changes.overflowed:
                self._events.close()

        def closed(finished: bool) -> None:
            changes.close()
            self.leave()
            on_close(finished)

        return EventIterator(
            self._events,
            self.wake,
            self._runtime.settings,
            probe=probe,
            on_close=closed,
            pull=lambda: _quietly(pull),
            max_age=self._runtime.settings.stream_max_age,
        )

    def shut_down(self) -> None:
        """Answer the request, which ends the stream.

        Spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure SHOULD answer the request
        """
        result = self._runtime.server.finish_listen(self._listen)
        _quietly(lambda: self._events.append(encode(Response(self._listen.id, result)), last=True))

    def _too_slow(self) -> None:
        self.wake.set()


class StandaloneStream(LongStream):
    """What a GET opens: messages of a session that belong to no request, and streams that are resumed.

    Spec: 2025-03-26..2025-11-25 basic/transports#listening-for-messages-from-the-server
    """

    def __init__(self, runtime: Runtime, state: ConnectionState, principal: str | None) -> None:
        super().__init__(runtime, principal)
        self._state = state
        self._writer: StreamWriter | None = None
        self._reader: StreamReader | None = None

    def open(self, sid: str, *, priming: bool, probe: Probe | None) -> EventIterator:
        """A new stream, which replaces the session's former one."""
        writer, reader = self._runtime.seams.streams.create(
            sid, b"" if priming else None, b"", self.wake.set, standalone=True
        )
        self._writer, self._reader = writer, reader
        changes = self._runtime.server.changes.follow(None, False, self.wake.set)

        def pull() -> None:
            for change in changes.read():
                notification = legacy_notification(change, self._state)
                if notification is not None:
                    writer.append(encode(notification))

        def closed(finished: bool) -> None:
            changes.close()
            self.leave()

        return EventIterator(
            reader,
            self.wake,
            self._runtime.settings,
            stream_id=writer.id,
            probe=probe,
            on_close=closed,
            pull=lambda: _quietly(pull),
            comment_first=not priming,
            max_age=self._runtime.settings.stream_max_age,
        )

    def resume(self, sid: str, last_event_id: str, probe: Probe | None) -> EventIterator | None:
        """Carry on where a client left off; None if it was never there, or not in this session.

        Spec: 2025-03-26..2025-11-25 basic/transports#resumability-and-redelivery MUST NOT replay another stream's
        """
        stream_id, _, seq = last_event_id.rpartition(".")
        if not stream_id or not seq.isdecimal() or len(seq) > 12:
            return None
        reader = self._runtime.seams.streams.attach(sid, stream_id, int(seq), self.wake.set)
        if reader is None:
            return None
        self._reader = reader
        return EventIterator(
            reader,
            self.wake,
            self._runtime.settings,
            stream_id=stream_id,
            probe=probe,
            on_close=lambda finished: self.leave(),
            comment_first=True,
            max_age=self._runtime.settings.stream_max_age,
        )

    def shut_down(self) -> None:
        if self._writer is not None:
            self._writer.close()
        elif self._reader is not None:
            self._reader.detach()
        self.wake.set()


def _quietly(step: Callable[[], None]) -> None:
    """The stream may end between two steps; its iterator sees that by itself."""
    try:
        step()
    except (Gone, ConnectionClosed):
        pass
