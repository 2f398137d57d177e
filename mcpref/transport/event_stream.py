"""Event streams on a WSGI connection: where a handler writes, and the iterator that the host drains.

`LocalStream` is the stream of one request that cannot be resumed: modern requests, and legacy ones without a
session. `EventIterator` turns a stream of either kind (this one, or one of the event log's) into the body of a
response: events as they come, comments while it is quiet, and a look at the connection every second.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from ..errors import ConnectionClosed
from ..settings import Settings
from ..sse import encode_comment, encode_event
from .probes import Probe
from .seams import Event, StreamReader, Wake

#: How often a waiting thread looks whether its client is still there.
PROBE_INTERVAL: Final = 1.0


class LocalStream:
    """A stream within one process: its writer and its reader in one. The lock guards the queue."""

    id = ""
    standalone = False

    def __init__(
        self,
        wake: Wake,
        settings: Settings,
        on_overflow: Callable[[], None] = lambda: None,
        *,
        patience: float = 0.0,
    ) -> None:
        """``patience`` is how long a writer waits for room: 0 where it is the thread that reads, too."""
        self._wake = wake
        self._settings = settings
        self._on_overflow = on_overflow
        self._patience = patience
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._waiting: list[Event] = []
        self._bytes = 0
        self._seq = 0
        self._ended = False
        self._gone = False

    def append(self, data: bytes, last: bool = False) -> None:
        overflow = False
        with self._lock:
            # The answer itself is always taken: it is the last thing that can wait.
            if not last and self._is_full(data):
                self._room.wait_for(lambda: self._gone or not self._is_full(data), self._patience)
            if self._gone:
                raise ConnectionClosed("the client has gone")
            if self._ended:
                return
            if not last and self._is_full(data):
                overflow = self._ended = self._gone = True
            else:
                self._waiting.append(Event(self._seq, data, last))
                self._bytes += len(data)
                self._seq += 1
                self._ended = last
        self._wake()
        if overflow:
            self._on_overflow()
            raise ConnectionClosed("the client reads too slowly")

    def _is_full(self, data: bytes) -> bool:
        return len(self._waiting) >= self._settings.stream_buffer_events or self._bytes + len(data) > max(
            self._settings.stream_buffer_bytes, len(data)
        )

    def read(self) -> list[Event]:
        with self._lock:
            events, self._waiting = self._waiting, []
            self._bytes = 0
            self._room.notify_all()
            return events

    @property
    def closed(self) -> bool:
        with self._lock:
            return self._ended and not self._waiting

    def close(self) -> None:
        with self._lock:
            self._ended = True
        self._wake()

    def detach(self) -> None:
        with self._lock:
            self._ended = self._gone = True
            self._waiting = []
            self._room.notify_all()

    def detach_reader(self) -> None:
        """There is nothing to resume, so nothing to come back to."""

    def unread_for(self) -> float:
        return float("inf") if self._gone else 0.0


class EventIterator:
    """The body of a streaming response. The host's thread drains it, and calls `close` in the end."""

    def __init__(
        self,
        reader: StreamReader,
        wake: threading.Event,
        settings: Settings,
        *,
        stream_id: str = "",
        probe: Probe | None = None,
        on_close: Callable[[bool], None] = lambda finished: None,
        pull: Callable[[], None] | None = None,
        comment_first: bool = False,
        max_age: float | None = None,
    ) -> None:
        """``stream_id`` gives events their ids; ``on_close`` learns whether the stream came to its end.

        ``pull`` is called when there is nothing to read, to fetch what comes from elsewhere.
        """
        self._reader = reader
        self._wake = wake
        self._settings = settings
        self._stream_id = stream_id
        self._probe = probe
        self._on_close = on_close
        self._pull = pull
        self._comment = comment_first
        self._end = None if max_age is None else monotonic() + max_age
        self._closed = False
        self._finished = False

    def __iter__(self) -> EventIterator:
        return self

    def __next__(self) -> bytes:
        chunk = self._next()
        if chunk is None:
            self.close()  # now, and not when the host gets to it
            raise StopIteration
        return chunk

    def _next(self) -> bytes | None:
        quiet_since = monotonic()
        while True:
            if self._closed:
                return None
            if self._end is not None and monotonic() >= self._end:
                self._finished = True
                return None
            self._wake.clear()
            events = self._reader.read()
            if not events and self._pull is not None:
                # Behind what is there already, so that what it fetches finds room.
                self._pull()
                events = self._reader.read()
            if events:
                self._finished = events[-1].last
                return b"".join(self._encode(event) for event in events)
            if self._reader.closed:
                self._finished = True
                return None
            if self._comment:
                self._comment = False
                return encode_comment("open")
            self._wake.wait(min(PROBE_INTERVAL, self._settings.keep_alive))
            if self._probe is not None and not self._probe():
                return None
            if monotonic() - quiet_since >= self._settings.keep_alive:
                return encode_comment("keep-alive")

    def _encode(self, event: Event) -> bytes:
        # Spec: 2026-07-28 basic/transports/streamable-http#receiving-messages streams are not resumable: no ids
        if not self._stream_id:
            return encode_event(event.data)
        retry = self._settings.retry_ms if not event.data else None
        return encode_event(event.data, id=f"{self._stream_id}.{event.seq}", retry=retry)

    def close(self) -> None:
        """The host is done with it: it came to its end, or a write failed. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._reader.detach()
        self._on_close(self._finished)

    def __del__(self) -> None:
        # A host whose write failed may fail again before it calls `close` (werkzeug's does, on a reset connection).
        # What it no longer holds is closed all the same; on another thread, because the garbage collector may come
        # here in the middle of anything, also while this very thread holds a lock that closing takes.
        if not self._closed:
            _thread.start_new_thread(self.close, ())
