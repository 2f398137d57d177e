"""EventLog: the event streams of one process, kept for a while so that a client can resume them.

Legacy sessions only (2025-03-26 to 2025-11-25). A stream has one writer, and at most one reader at a time. Replay
and going live are one step under the lock: a reader that resumes gets every event once, in order.

Bounds: events and bytes per stream, streams that nobody reads any more, bytes in all. What no longer fits is
forgotten from the old end, and a stream whose beginning is gone cannot be resumed from there. What an open
connection has yet to carry is never forgotten: whoever writes waits for it, and at last sends it away.

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
        "patience",
        "reader",
        "room",
        "sid",
        "standalone",
        "unread_since",
    )

    def __init__(
        self, sid: str, lock: threading.Lock, now: float, *, standalone: bool, patience: float
    ) -> None:
        self.id = secrets.token_hex(8)
        self.sid = sid
        self.standalone = standalone
        self.patience = patience
        self.events: deque[Event] = deque()
        self.bytes = 0
        self.base = 0
        self.next_seq = 0
        self.ended = False
        self.reader: LogReader | None = None
        self.room = threading.Condition(lock)
        """Told whenever the writer may find room, or need not look for it any longer."""
        self.unread_since = now


class LogReader:
    """The connection that carries a stream now. Its fields are guarded by the log's lock."""

    __slots__ = ("_log", "_stream", "after", "rest", "waiting", "waiting_bytes", "wake")

    def __init__(self, log: EventLog, stream: _Stream, after: int, wake: Wake) -> None:
        self._log = log
        self._stream = stream
        self.wake = wake
        self.after = after
        """The last event that it has read."""
        unread = [event for event in stream.events if event.seq > after]
        self.waiting = len(unread)
        self.waiting_bytes = sum(len(event.data) for event in unread)
        self.rest: list[Event] | None = None
        """What is still for this reader, once it was sent away."""

    @property
    def stream_id(self) -> str:
        return self._stream.id

    @property
    def standalone(self) -> bool:
        return self._stream.standalone

    @property
    def closed(self) -> bool:
        return self._log._is_closed(self._stream, self)

    def read(self) -> list[Event]:
        return self._log._read(self._stream, self)

    def detach(self) -> None:
        self._log._detach(self._stream, self)


class LogWriter:
    """The handler's end of a stream."""

    __slots__ = ("_log", "_stream")

    def __init__(self, log: EventLog, stream: _Stream) -> None:
        self._log = log
        self._stream = stream

    @property
    def id(self) -> str:
        return self._stream.id

    @property
    def next_seq(self) -> int:
        """The number that the next event will have."""
        return self._stream.next_seq

    def append(self, data: bytes, last: bool = False) -> None:
        self._log._append(self._stream, data, last)

    def detach_reader(self) -> None:
        self._log._send_away(self._stream)

    def close(self) -> None:
        self._log._end(self._stream)

    def unread_for(self) -> float:
        return self._log._unread_for(self._stream)


class EventLog:
    """Streams by their id. Any thread may call any method; the lock is held for work on the tables only."""

    def __init__(
        self,
        *,
        max_events: int,
        max_bytes: int,
        max_streams: int,
        max_age: float,
        max_total: int = 10 * 1024 * 1024,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``max_streams`` and ``max_age`` bound what is kept of ended streams, ``max_total`` the bytes of all."""
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_streams = max_streams
        self._max_age = max_age
        self._max_total = max_total
        self._clock = clock
        self._lock = threading.Lock()
        self._streams: dict[str, _Stream] = {}
        self._of: dict[str, dict[str, _Stream]] = {}
        self._standalone: dict[str, _Stream] = {}
        # Without a reader, the longest unread first: those that have ended, and those that go on.
        self._kept: OrderedDict[str, _Stream] = OrderedDict()
        self._away: OrderedDict[str, _Stream] = OrderedDict()
        self._total = 0

    def __len__(self) -> int:
        with self._lock:
            return len(self._streams)

    @property
    def total_bytes(self) -> int:
        """What all streams hold together."""
        with self._lock:
            return self._total

    def create(
        self,
        sid: str,
        first: bytes | None,
        epitaph: bytes,
        wake: Wake,
        *,
        standalone: bool = False,
        patience: float = 0.0,
    ) -> tuple[LogWriter, LogReader]:
        # `epitaph` is for stores that outlive this process; here writer and reader die together.
        del epitaph
        with self._lock:
            stream = _Stream(sid, self._lock, self._clock(), standalone=standalone, patience=patience)
            reader = stream.reader = LogReader(self, stream, -1, wake)
            self._streams[stream.id] = stream
            self._of.setdefault(sid, {})[stream.id] = stream
            replaced = None
            if standalone:
                former = self._standalone.get(sid)
                if former is not None:
                    replaced = former.reader
                    self._end_now(former)
                self._standalone[sid] = stream
            if first is not None:
                self._add(stream, first, False)
            self._forget_old()
        if replaced is not None:
            replaced.wake()
        return LogWriter(self, stream), reader

    def attach(self, sid: str, stream_id: str, after: int, wake: Wake) -> LogReader | None:
        with self._lock:
            stream = self._streams.get(stream_id)
            # Events that would be missing are a gap that the client could not see: better a fresh start.
            if stream is None or stream.sid != sid or not stream.base - 1 <= after < stream.next_seq:
                return None
            former, stream.reader = stream.reader, LogReader(self, stream, after, wake)
            stream.room.notify_all()
            self._settle(stream)
            reader = stream.reader
        if former is not None:
            former.wake()
        return reader

    def post(self, sid: str, data: bytes) -> bool:
        with self._lock:
            stream = self._standalone.get(sid)
            if stream is None or stream.ended:
                return False
            reader = stream.reader
            if reader is not None and not self._has_room(reader, data):
                self._let_go(stream)  # nobody here may wait
            self._add(stream, data, False)
        if reader is not None:
            reader.wake()
        return True

    def end_session(self, sid: str) -> None:
        """The session has ended: its streams close, and nothing of them can be resumed."""
        with self._lock:
            self._standalone.pop(sid, None)
            ended = list(self._of.get(sid, {}).values())
            for stream in ended:
                stream.ended = True
                stream.room.notify_all()
                self._remove(stream)
            readers = [stream.reader for stream in ended]
        for reader in readers:
            if reader is not None:
                reader.wake()

    def is_read(self, sid: str) -> bool:
        """Whether a connection carries a stream of this session now."""
        with self._lock:
            return any(stream.reader is not None for stream in self._of.get(sid, {}).values())

    # ---- For readers and writers ----------------------------------------------------------------------

    def _append(self, stream: _Stream, data: bytes, last: bool) -> None:
        with self._lock:
            before = stream.reader
            # The answer itself is always taken: it is the last thing that can wait.
            if not last and before is not None and not self._has_room(before, data):
                self._wait_for_room(stream, data)
            if stream.id not in self._streams:
                raise Gone("the session has ended")
            if not stream.ended:
                self._add(stream, data, last)
                if last:
                    self._end_now(stream)
            reader = stream.reader
        if before is not None and before is not reader:
            before.wake()  # it may have been let go just now
        if reader is not None:
            reader.wake()

    def _wait_for_room(self, stream: _Stream, data: bytes) -> None:
        """Wait for the connection to carry some of what is there; let it go if it does not. Releases the lock."""

        def is_over() -> bool:
            return stream.ended or stream.reader is None or self._has_room(stream.reader, data)

        if not stream.room.wait_for(is_over, stream.patience):
            self._let_go(stream)

    def _has_room(self, reader: LogReader, data: bytes) -> bool:
        fits = reader.waiting_bytes + len(data) <= max(self._max_bytes, len(data))
        return fits and reader.waiting < self._max_events

    def _add(self, stream: _Stream, data: bytes, last: bool) -> None:
        stream.events.append(Event(stream.next_seq, data, last))
        stream.next_seq += 1
        stream.bytes += len(data)
        self._total += len(data)
        reader = stream.reader
        if reader is not None:
            reader.waiting += 1
            reader.waiting_bytes += len(data)
        while len(stream.events) > 1 and (
            len(stream.events) > self._max_events or stream.bytes > self._max_bytes
        ):
            if reader is not None and stream.base > reader.after:
                break  # not carried yet
            self._forget_first(stream)
        if self._total > self._max_total:
            self._forget_old()

    def _forget_first(self, stream: _Stream) -> None:
        size = len(stream.events.popleft().data)
        stream.base += 1
        stream.bytes -= size
        self._total -= size

    def _read(self, stream: _Stream, reader: LogReader) -> list[Event]:
        with self._lock:
            if reader.rest is not None:
                events, reader.rest = reader.rest, []
                return events
            if stream.reader is not reader or not reader.waiting:
                return []
            events = [event for event in stream.events if event.seq > reader.after]
            reader.after = events[-1].seq
            reader.waiting = reader.waiting_bytes = 0
            stream.room.notify_all()
            return events

    def _is_closed(self, stream: _Stream, reader: LogReader) -> bool:
        with self._lock:
            if reader.rest is not None:
                return not reader.rest
            if stream.reader is not reader:
                return True
            return stream.ended and not reader.waiting

    def _detach(self, stream: _Stream, reader: LogReader) -> None:
        with self._lock:
            if stream.reader is not reader:
                return
            self._let_go(stream)
        reader.wake()

    def _let_go(self, stream: _Stream) -> None:
        """The stream is without a reader from now on. The lock is held."""
        stream.reader = None
        stream.unread_since = self._clock()
        stream.room.notify_all()
        self._settle(stream)

    def _send_away(self, stream: _Stream) -> None:
        """The connection ends when it has carried what is there now; the rest is for whoever resumes."""
        with self._lock:
            reader = stream.reader
            if reader is None:
                return
            reader.rest = [event for event in stream.events if event.seq > reader.after]
            self._let_go(stream)
        reader.wake()

    def _end(self, stream: _Stream) -> None:
        with self._lock:
            self._end_now(stream)
            reader = stream.reader
        if reader is not None:
            reader.wake()

    def _end_now(self, stream: _Stream) -> None:
        stream.ended = True
        if self._standalone.get(stream.sid) is stream:
            del self._standalone[stream.sid]
        stream.room.notify_all()
        self._settle(stream)

    def _unread_for(self, stream: _Stream) -> float:
        with self._lock:
            return 0.0 if stream.reader is not None else self._clock() - stream.unread_since

    # ---- What is kept; the lock is held ---------------------------------------------------------------

    def _settle(self, stream: _Stream) -> None:
        """Enter a stream where it belongs by its reader and its end."""
        self._kept.pop(stream.id, None)
        self._away.pop(stream.id, None)
        if stream.reader is None and stream.id in self._streams:
            (self._kept if stream.ended else self._away)[stream.id] = stream
            self._forget_old()

    def _forget_old(self) -> None:
        """Drop ended streams that nobody reads: too many of them, for too long, or too large."""
        now = self._clock()
        while self._kept:
            oldest = next(iter(self._kept.values()))
            if (
                len(self._kept) <= self._max_streams
                and self._total <= self._max_total
                and now - oldest.unread_since <= self._max_age
            ):
                break
            self._remove(oldest)
        while self._total > self._max_total and self._away:
            # These go on, so only what they had is forgotten.
            _, stream = self._away.popitem(last=False)
            while stream.events:
                self._forget_first(stream)

    def _remove(self, stream: _Stream) -> None:
        del self._streams[stream.id]
        self._kept.pop(stream.id, None)
        self._away.pop(stream.id, None)
        own = self._of[stream.sid]
        del own[stream.id]
        if not own:
            del self._of[stream.sid]
        self._total -= stream.bytes
