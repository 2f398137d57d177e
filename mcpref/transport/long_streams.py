"""The streams that stay open: ``subscriptions/listen`` (modern) and GET (legacy sessions).

Both park a thread of the host, so both are counted before their first byte (parking.py). Both follow the feed of
changes by themselves, and end when the server closes: a listen stream with the result of its request.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from ..errors import ConnectionClosed
from ..jsonrpc import Notification, Response, encode
from ..server.push import Change, ListenStream, legacy_notification
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
        self._events = LocalStream(self.wake.set, runtime.settings)
        self._closing = False

    def iterator(self, probe: Probe | None) -> EventIterator:
        """The body; the acknowledgement is already in it."""
        settings = self._runtime.settings
        feed = _Feed(self._runtime, self.wake.set, self._listen.notification, self._events.append)
        # Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment MUST be the first message
        self._events.append(encode(self._listen.acknowledgement()))
        end = monotonic() + settings.stream_max_age

        def pull() -> None:
            closing = self._closing or monotonic() >= end
            if feed.pull() and (closing or feed.overflowed):
                # Behind the acknowledgement, and behind every change that was announced before.
                # Spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure SHOULD answer the request
                result = self._runtime.server.finish_listen(self._listen)
                self._events.append(encode(Response(self._listen.id, result)), last=True)

        def closed(finished: bool) -> None:
            feed.close()
            self.leave()

        return EventIterator(
            self._events, self.wake, settings, probe=probe, on_close=closed, pull=lambda: _quietly(pull)
        )

    def shut_down(self) -> None:
        """Let the request be answered, which ends the stream."""
        self._closing = True
        self.wake.set()


class StandaloneStream(LongStream):
    """What a GET opens: messages of a session that belong to no request, and streams that are resumed.

    Spec: 2025-03-26..2025-11-25 basic/transports#listening-for-messages-from-the-server
    """

    def __init__(
        self,
        runtime: Runtime,
        state: ConnectionState,
        principal: str | None,
        look_again: Callable[[], ConnectionState | None],
    ) -> None:
        """``look_again`` gives the session's state as it is now; None if it has ended."""
        super().__init__(runtime, principal)
        self._state = state
        self._look_again = look_again
        self._writer: StreamWriter | None = None
        self._reader: StreamReader | None = None

    def open(self, sid: str, *, priming: bool, probe: Probe | None) -> EventIterator:
        """A new stream, which replaces the session's former one."""
        writer, reader = self._runtime.seams.streams.create(
            sid, b"" if priming else None, b"", self.wake.set, standalone=True
        )
        self._writer, self._reader = writer, reader
        return self._iterator(reader, writer.id, writer.append, probe, comment_first=not priming)

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
        post = partial(self._runtime.seams.streams.post, sid) if reader.standalone else None
        return self._iterator(reader, stream_id, post, probe, comment_first=True)

    def _iterator(
        self,
        reader: StreamReader,
        stream_id: str,
        post: Callable[[bytes], object] | None,
        probe: Probe | None,
        *,
        comment_first: bool,
    ) -> EventIterator:
        """The body. A stream that belongs to no request follows the changes: ``post`` adds to it."""
        feed = None if post is None else _Feed(self._runtime, self.wake.set, self._notification, post)

        def pull() -> None:
            if feed is not None:
                feed.pull()
                if feed.overflowed:
                    reader.detach()  # the client comes back

        def closed(finished: bool) -> None:
            if feed is not None:
                feed.close()
            self.leave()

        return EventIterator(
            reader,
            self.wake,
            self._runtime.settings,
            stream_id=stream_id,
            probe=probe,
            on_close=closed,
            pull=lambda: _quietly(pull),
            comment_first=comment_first,
            max_age=self._runtime.settings.stream_max_age,
        )

    def _notification(self, change: Change) -> Notification | None:
        if not self._state.initialized:
            # A client may open the stream before its `notifications/initialized` is through.
            self._state = self._look_again() or self._state
        return legacy_notification(change, self._state)

    def shut_down(self) -> None:
        if self._writer is not None:
            self._writer.close()
        elif self._reader is not None:
            self._reader.detach()
        self.wake.set()


class _Feed:
    """A stream's place in the feed of changes: hands on what concerns it, as much as there is room for."""

    def __init__(
        self,
        runtime: Runtime,
        wake: Callable[[], None],
        render: Callable[[Change], Notification | None],
        post: Callable[[bytes], object],
    ) -> None:
        self._changes = runtime.server.changes.follow(None, False, wake)
        self._room = runtime.settings.stream_buffer_events
        self._render = render
        self._post = post
        self._waiting: deque[Change] = deque()

    @property
    def overflowed(self) -> bool:
        return self._changes.overflowed

    def pull(self) -> bool:
        """Hand on what there is; False if not everything fitted.

        Called when everything was sent, so the whole buffer is free.
        """
        self._waiting.extend(self._changes.read())
        posted = 0
        while self._waiting and posted < self._room:
            notification = self._render(self._waiting.popleft())
            if notification is not None:
                self._post(encode(notification))
                posted += 1
        return not self._waiting

    def close(self) -> None:
        self._changes.close()


def _quietly(step: Callable[[], None]) -> None:
    """The stream may end between two steps; its iterator sees that by itself."""
    try:
        step()
    except (Gone, ConnectionClosed):
        pass
