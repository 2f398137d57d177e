"""DuplexChannel: JSON-RPC messages both ways over one byte stream. Server and client are built on it.

One thread reads: it splits lines, decodes, hands replies to their waiters and everything else to the owner.
It never writes, so a peer that does not read cannot stop it: what it owes goes to the outbox, which has a
thread of its own. Everybody else writes directly, whole lines per hold of the write lock.

Knows nothing of methods, servers or processes.

Locks: ``write`` (whole frames), ``outbox`` (its queue). Neither is taken while the other is held.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from ..cancellation import CancellationToken, Deadline
from ..errors import ConnectionClosed, InvalidRequest, ProtocolError, RequestCancelled, RequestTimeout
from ..framing import LineDecoder, LineTooLong, encode_line
from ..jsonrpc import Batch, ErrorResponse, Message, Notification, Request, Response, decode, encode
from .pending import PendingReplies

log = logging.getLogger("mcpref.transport")

T = TypeVar("T")

_CHUNK: Final = 65536
#: Messages that may wait in the outbox. A burst can fill it faster than its thread gets to run; only a peer
#: that then takes nothing for so many seconds does not read, and is given up.
MAX_OUTBOX: Final = 1024
OUTBOX_PATIENCE: Final = 2.0


class ByteStream(Protocol):
    """Two directions of bytes."""

    def read(self, size: int) -> bytes:
        """Block until there is something; b"" at the end."""

    def write(self, data: bytes) -> None:
        """Write all of it; raises `OSError` when the other end is gone."""

    def close_read(self) -> None: ...

    def close_write(self) -> None: ...


class FdStream:
    """A pair of file descriptors, read and written without buffers of their own."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd

    def read(self, size: int) -> bytes:
        return os.read(self._read_fd, size)

    def write(self, data: bytes) -> None:
        written = os.write(self._write_fd, data)
        if written < len(data):
            rest = memoryview(data)[written:]
            while rest:
                rest = rest[os.write(self._write_fd, rest) :]

    # Each is closed once: by a second time its number may be somebody else's.

    def close_read(self) -> None:
        fd, self._read_fd = self._read_fd, -1
        if fd >= 0:
            os.close(fd)

    def close_write(self) -> None:
        fd, self._write_fd = self._write_fd, -1
        if fd >= 0:
            os.close(fd)


class Owner(Protocol):
    """Who uses a channel. What is called on the reading thread must neither block nor write."""

    def on_message(self, message: Request | Notification | Batch) -> None: ...

    def on_malformed(self, error: ProtocolError) -> None:
        """A line was no message; ``error.request_id`` is the id to answer to, if it could be read."""

    def on_end(self, reason: str) -> None:
        """Nothing more will be read, or can be written. Called once, on the thread that noticed."""


class DuplexChannel:
    """One connection."""

    def __init__(self, stream: ByteStream, owner: Owner, *, max_line: int, name: str) -> None:
        self.pending = PendingReplies()
        """Requests of ours that wait for an answer."""
        self._stream = stream
        self._owner = owner
        self._decoder = LineDecoder(max_line)
        self._max_line = max_line
        self._name = name
        self._write_lock = threading.Lock()
        self._dead = False
        self._outbox: deque[tuple[bytes, Callable[[], None] | None]] = deque()
        self._outbox_lock = threading.Lock()
        self._outbox_room = threading.Condition(self._outbox_lock)
        self._outbox_closed = False
        self._outbox_event = threading.Event()
        self._outbox_idle = threading.Event()
        self._outbox_idle.set()
        self._writer: threading.Thread | None = None
        self._feed: Callable[[], list[Any]] = list
        self._render: Callable[[Any], list[bytes]] = lambda _: []
        self._ended = threading.Lock()

    # ---- Reading --------------------------------------------------------------------------------------

    def read_loop(self) -> None:
        """Read until the stream ends, and close its reading end. Run it on a thread of its own."""
        reason = "the peer closed the connection"
        try:
            while data := self._stream.read(_CHUNK):
                for line in self._decoder.feed(data):
                    try:
                        self._on_line(line)
                    except Exception:
                        log.exception("a message could not be handled; reading goes on")
        except OSError as error:
            reason = f"reading failed: {error}"
        except Exception:
            log.exception("the reader failed; the connection is closed")
            reason = "the reader failed"
        self._stream.close_read()
        self.end(reason)

    def _on_line(self, line: bytes | LineTooLong) -> None:
        try:
            if isinstance(line, LineTooLong):
                raise InvalidRequest(f"the message is longer than {self._max_line} bytes")
            message: Message | Batch = decode(line)
        except ProtocolError as error:
            self._owner.on_malformed(error)
            return
        if isinstance(message, Response | ErrorResponse):
            if not self.pending.resolve(message):
                log.debug("an answer to nothing we wait for (id %r) was ignored", message.id)
            return
        self._owner.on_message(message)

    def end(self, reason: str) -> None:
        """Fail whoever waits and tell the owner, once."""
        if self._ended.acquire(blocking=False):
            self.pending.fail_all(reason)
            self._owner.on_end(reason)

    # ---- Writing --------------------------------------------------------------------------------------

    def write(self, payload: bytes) -> None:
        """Write one message, waiting for the peer to take it. Never on the reading thread."""
        self._write_lines(encode_line(payload))

    def _write_lines(self, lines: bytes) -> None:
        with self._write_lock:
            if self._dead:
                raise ConnectionClosed("the connection is closed")
            try:
                self._stream.write(lines)
            except OSError as error:
                self._dead = True
                failure = error
            else:
                return
        # Outside the lock: it wakes those who wait for answers.
        self.end(f"writing failed: {failure}")
        raise ConnectionClosed(f"writing failed: {failure}") from None

    def post(self, payload: bytes, after: Callable[[], None] | None = None) -> None:
        """Have the outbox write one message (none if empty), and then call ``after``; dropped once all is over.

        Does not wait for the peer, except when ``MAX_OUTBOX`` messages wait for it: then as long as it takes
        some. One that takes none for ``OUTBOX_PATIENCE`` seconds does not read; the connection is given up.
        """
        line = encode_line(payload) if payload else b""
        given_up = False
        with self._outbox_room:
            while len(self._outbox) >= MAX_OUTBOX and not self._outbox_closed:
                given_up = self._outbox_closed = not self._outbox_room.wait(OUTBOX_PATIENCE)
            if given_up:
                self._outbox_room.notify_all()  # who waits here too need not find out by themselves
            if not self._outbox_closed:
                self._outbox.append((line, after))
                self._outbox_idle.clear()
        if given_up:
            self._dead = True
            log.error("%d messages wait for a peer that does not read; closing the connection", MAX_OUTBOX)
            self.end("the peer does not read")
        else:
            self.wake()

    def follow(self, feed: Callable[[], list[Any]], render: Callable[[Any], list[bytes]]) -> None:
        """Let the outbox take items from a feed each time it is woken, and write what they are rendered to.

        Neither may block.
        """
        self._render = render
        self._feed = feed

    def wake(self) -> None:
        """Have the outbox look for something to write. Any thread may call it; it never blocks."""
        self._outbox_event.set()
        if self._writer is None:
            with self._outbox_lock:
                if self._writer is None:
                    self._writer = threading.Thread(
                        target=self._write_loop, name=f"{self._name}-writer", daemon=True
                    )
                    self._writer.start()

    def flush(self, deadline: Deadline) -> bool:
        """Wait until all that was posted or announced before is written; False if the time is up first."""
        self.post(b"")
        return self._outbox_idle.wait(deadline.remaining())

    def _write_loop(self) -> None:
        while not self._dead:
            self._outbox_event.wait()
            self._outbox_event.clear()
            try:
                self._drain()
            except ConnectionClosed:
                break
            except Exception:
                log.exception("a queued message could not be written; writing goes on")
                self._outbox_event.set()  # with what is left
        with self._outbox_room:
            self._outbox_closed = True
            self._outbox.clear()
            self._outbox_idle.set()
            self._outbox_room.notify_all()

    def _drain(self) -> None:
        # Taken before the queue is written and rendered after it: a stream that the queue acknowledges and
        # `after` opens gets every change since it was asked for, and none before its acknowledgement.
        items = self._attempt(self._feed) or ()
        while (entry := self._next()) is not None:
            lines, after = entry
            if lines:
                self._write_lines(lines)
            if after is not None:
                self._attempt(after)
        for item in items:
            if rendered := self._attempt(partial(self._rendered, item)):
                self._write_lines(rendered)
        with self._outbox_lock:
            # If it was woken meanwhile there may be more in the feed, which is looked at first in the next turn.
            if not self._outbox and not self._outbox_event.is_set():
                self._outbox_idle.set()

    def _rendered(self, item: Any) -> bytes:
        return b"".join(map(encode_line, self._render(item)))

    def _attempt(self, step: Callable[[], T]) -> T | None:
        """What a step of the owner's gives. Its failure is its own: the messages behind it are still written."""
        try:
            return step()
        except ConnectionClosed:
            raise
        except Exception:
            log.exception("a queued message could not be made; writing goes on")
            return None

    def _next(self) -> tuple[bytes, Callable[[], None] | None] | None:
        """Queued lines to be written at once, up to the first that has something to follow it, and that.

        One by one, this thread would have to win the interpreter back from a busy reader for each.
        """
        lines = bytearray()
        after = None
        with self._outbox_room:
            if not self._outbox:
                return None
            while self._outbox and after is None and len(lines) < _CHUNK:
                line, after = self._outbox.popleft()
                lines += line
            self._outbox_room.notify_all()
        return bytes(lines), after

    # ---- Requests of ours -----------------------------------------------------------------------------

    def request(
        self, method: str, params: Mapping[str, Any], timeout: float, token: CancellationToken | None = None
    ) -> Any:
        """Send a request and wait for its answer. A peer that is no longer waited for is told so.

        Spec: 2025-11-25 basic/lifecycle#timeouts SHOULD send a cancellation and stop waiting
        """
        waiter = self.pending.expect()
        try:
            self.write(encode(Request(waiter.id, method, dict(params))))
        except BaseException:
            waiter.drop()
            raise
        try:
            return waiter.wait(timeout, token)
        except (RequestTimeout, RequestCancelled) as error:
            cancelled = Notification(
                "notifications/cancelled", {"requestId": waiter.id, "reason": str(error)}
            )
            self.post(encode(cancelled))
            raise

    def close(self, deadline: Deadline) -> bool:
        """Write no more, and close our end of the stream; False if a writer is stuck in it.

        A descriptor that another thread is using is left open: its number could be given to somebody else. The
        reading end is closed by `read_loop`, for the same reason.
        """
        self.end("the connection was closed")
        remaining = deadline.remaining()
        if not self._write_lock.acquire(timeout=-1 if remaining is None else remaining):
            self._dead = True  # for whoever gets to write next
            return False
        try:
            self._dead = True
            self._stream.close_write()
        finally:
            self._write_lock.release()
        self._outbox_event.set()  # the outbox, if there is one, sees that it is over
        return True
