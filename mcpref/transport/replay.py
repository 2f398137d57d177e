"""EventLog: the event streams of one process, kept for a while so that a client can resume them.

Legacy sessions only (2025-03-26 to 2025-11-25). A stream has one writer, and at most one reader at a time. Replay
and going live are one step under the lock: a reader that resumes gets every event once, in order.

Bounds: events and bytes per stream, streams that nobody reads any more, bytes in all. What no longer fits is
forgotten from the old end, and a stream whose beginning is gone cannot be resumed from there.

Spec: 2025-03-26..2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from time import monotonic

from .seams import Event, Gone, Wake


class _Stream:
    """The lock is the log's."""

    __slots__ = (
        "base",
        "bytes",
        "ended",
        "events",
        "id",
        "next_seq",
        "reader",
        "sid",
        "standalone",
        "unread_since",
    )

    def __init__(self, sid: str, standalone: bool, now: float) -> None:
        self.id = secrets.token_hex(8)
        self.sid = sid
        self.standalone = standalone
        self.events: deque[Event] = deque()
        self.bytes = 0
        self.base = 0
        self.next_seq = 0
        self.ended = False
        self.reader: LogReader | None = None
        self.unread_since = now


class LogReader:
    """The connection that carries a stream now."""

    def __init__(self, log: EventLog, stream: _Stream, after: int, wake: Wake) -> None:
        self._log = log
        self._stream = stream
        self._after = after
        self.wake = wake
        self.until: int | None = None
        """The last event that is for this reader, once it was sent away."""

    @property
    def stream_id(self) -> str:
        return self._stream.id

    @property
    def closed(self) -> bool:
        return self._log._is_closed(self._stream, self, self._after)

    def read(self) -> list[Event]:
        events = self._log._read(self._stream, self, self._after)
        if events:
            self._after = events[-1].seq
        return events

    def detach(self) -> None:
        self._log._detach(self._stream, self)


class LogWriter:
    """The handler's end of a stream."""

    def __init__(self, log: EventLog, stream: _Stream) -> None:
        self._log = log
        self._stream = stream

    @property
    def id(self) -> str:
        return self._stream.id

    def append(self, data: bytes, last: bool = False) -> None:
        self._log._append(self._stream, data, last)

    def detach_reader(self) -> None:
        self._log._send_away(self._stream)

    def close(self) -> None:
        self._log._end(self._stream)

    def unread_for(self) -> float:
        return self._log._unread_for(self._stream)


class EventLog:
    """Streams by their id. Any thread may call any method."""

    def __init__(
        self,
        *,
        max_events: int,
        max_bytes: int,
        max_streams: int,
        max_age: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_streams = max_streams
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        # In the order of their last use: the first is the longest unread.
        self._streams: OrderedDict[str, _Stream] = OrderedDict()
        self._standalone: dict[str, _Stream] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._streams)

    def create(
        self, sid: str, first: bytes | None, epitaph: bytes, wake: Wake, *, standalone: bool = False
    ) -> tuple[LogWriter, LogReader]:
        # `epitaph` is for stores that outlive this process; here writer and reader die together.
        del epitaph
        now = self._clock()
        with self._lock:
            stream = _Stream(sid, standalone, now)
            former = self._standalone.get(sid) if standalone else None
            if former is not None:
                former.ended = True
            if standalone:
                self._standalone[sid] = stream
            if first is not None:
                self._add(stream, first, False)
            reader = stream.reader = LogReader(self, stream, -1, wake)
            self._streams[stream.id] = stream
            self._forget_old(now)
        if former is not None and former.reader is not None:
            former.reader.wake()
        return LogWriter(self, stream), reader

    def attach(self, sid: str, stream_id: str, after: int, wake: Wake) -> LogReader | None:
        with self._lock:
            stream = self._streams.get(stream_id)
            # Events that would be missing are a gap that the client could not see: better a fresh start.
            if stream is None or stream.sid != sid or not stream.base - 1 <= after < stream.next_seq:
                return None
            former, stream.reader = stream.reader, LogReader(self, stream, after, wake)
            self._streams.move_to_end(stream_id)
            reader = stream.reader
        if former is not None:
            former.wake()
        return reader

    def post(self, sid: str, data: bytes) -> bool:
        with self._lock:
            stream = self._standalone.get(sid)
            if stream is None or stream.ended:
                return False
            self._add(stream, data, False)
            reader = stream.reader
        if reader is not None:
            reader.wake()
        return True

    def end_session(self, sid: str) -> None:
        """The session has ended: its streams close, and nothing of them can be resumed."""
        with self._lock:
            ended = [stream for stream in self._streams.values() if stream.sid == sid]
            for stream in ended:
                stream.ended = True
                del self._streams[stream.id]
            self._standalone.pop(sid, None)
        for stream in ended:
            if stream.reader is not None:
                stream.reader.wake()

    def is_read(self, sid: str) -> bool:
        """Whether a connection carries a stream of this session now."""
        with self._lock:
            return any(stream.sid == sid and stream.reader is not None for stream in self._streams.values())

    # ---- For readers and writers ----------------------------------------------------------------------

    def _append(self, stream: _Stream, data: bytes, last: bool) -> None:
        with self._lock:
            if stream.id not in self._streams:
                raise Gone("the session has ended")
            if not stream.ended:
                self._add(stream, data, last)
                stream.ended = last
            reader = stream.reader
        if reader is not None:
            reader.wake()

    def _add(self, stream: _Stream, data: bytes, last: bool) -> None:
        stream.events.append(Event(stream.next_seq, data, last))
        stream.next_seq += 1
        stream.bytes += len(data)
        while len(stream.events) > self._max_events or (
            stream.bytes > self._max_bytes and len(stream.events) > 1
        ):
            stream.bytes -= len(stream.events.popleft().data)
            stream.base += 1

    def _read(self, stream: _Stream, reader: LogReader, after: int) -> list[Event]:
        with self._lock:
            if stream.reader is not reader and reader.until is None:
                return []
            return [
                event
                for event in stream.events
                if event.seq > after and (reader.until is None or event.seq <= reader.until)
            ]

    def _is_closed(self, stream: _Stream, reader: LogReader, after: int) -> bool:
        with self._lock:
            if reader.until is not None:
                return after >= reader.until
            if stream.reader is not reader:
                return True
            return stream.ended and after >= stream.next_seq - 1

    def _detach(self, stream: _Stream, reader: LogReader | None) -> None:
        with self._lock:
            former = stream.reader
            if former is None or (reader is not None and former is not reader):
                return
            stream.reader = None
            stream.unread_since = self._clock()
        former.wake()

    def _send_away(self, stream: _Stream) -> None:
        """The connection ends when it has carried what is there now; the rest is for whoever resumes."""
        with self._lock:
            former, stream.reader = stream.reader, None
            stream.unread_since = self._clock()
            if former is not None:
                former.until = stream.next_seq - 1
        if former is not None:
            former.wake()

    def _end(self, stream: _Stream) -> None:
        with self._lock:
            stream.ended = True
            reader = stream.reader
            if self._standalone.get(stream.sid) is stream:
                del self._standalone[stream.sid]
        if reader is not None:
            reader.wake()

    def _unread_for(self, stream: _Stream) -> float:
        with self._lock:
            return 0.0 if stream.reader is not None else self._clock() - stream.unread_since

    def _forget_old(self, now: float) -> None:
        """Drop streams that nobody reads: too many of them, or for too long. The lock is held."""
        excess = len(self._streams) - self._max_streams
        for stream_id, stream in list(self._streams.items()):
            stale = stream.reader is None and now - stream.unread_since > self._max_age
            if stream.reader is None and stream.ended and (excess > 0 or stale):
                del self._streams[stream_id]
                excess -= 1
