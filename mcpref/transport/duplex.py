"""DuplexChannel: JSON-RPC messages both ways over one byte stream. Server and client are built on it.

One thread reads: it splits lines, decodes, hands replies to their waiters and everything else to the owner.
It never writes, so it never blocks on a peer that does not read: what it owes goes to the outbox, which has a
thread of its own. Everybody else writes directly, one whole line per hold of the write lock.

Knows nothing of methods, servers or processes.

Locks: ``write`` (one frame), ``outbox`` (its queue). Neither is taken while the other is held.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from ..cancellation import CancellationToken, Deadline
from ..errors import ConnectionClosed, InvalidRequest, ProtocolError, RequestCancelled, RequestTimeout
from ..framing import LineDecoder, LineTooLong, encode_line
from ..jsonrpc import Batch, ErrorResponse, Message, Notification, Request, Response, decode, encode
from .pending import PendingReplies

log = logging.getLogger("mcpref.transport")

_CHUNK: Final = 65536
#: Messages that may wait for a peer that does not read before the connection is given up.
MAX_OUTBOX: Final = 1024


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

    def close_read(self) -> None:
        _close(self._read_fd)

    def close_write(self) -> None:
        _close(self._write_fd)


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:  # closed already
        pass


class Owner(Protocol):
    """Who uses a channel. All three are called on the reading thread, and must neither block nor write."""

    def on_message(self, message: Request | Notification | Batch) -> None: ...

    def on_malformed(self, error: ProtocolError) -> None:
        """A line was no message; ``error.request_id`` is the id to answer to, if it could be read."""

    def on_end(self, reason: str) -> None:
        """Nothing more will be read. Called once."""


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
        self._outbox_event = threading.Event()
        self._outbox_idle = threading.Event()
        self._outbox_idle.set()
        self._writer: threading.Thread | None = None
        self._feed: Callable[[], list[Any]] = list
        self._render: Callable[[Any], list[bytes]] = lambda _: []
        self._ended = threading.Lock()

    # ---- Reading --------------------------------------------------------------------------------------

    def read_loop(self) -> None:
        """Read until the stream ends. Run it on a thread of its own."""
        reason = "the peer closed the connection"
        try:
            while data := self._stream.read(_CHUNK):
                for line in self._decoder.feed(data):
                    self._on_line(line)
        except OSError as error:
            reason = f"reading failed: {error}"
        except Exception:
            log.exception("the reader failed; the connection is closed")
            reason = "the reader failed"
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
        try:
            self._owner.on_message(message)
        except Exception:
            log.exception("a message could not be handled; reading goes on")

    def end(self, reason: str) -> None:
        """Fail whoever waits and tell the owner, once."""
        if self._ended.acquire(blocking=False):
            self.pending.fail_all(ConnectionClosed(reason))
            self._owner.on_end(reason)

    # ---- Writing --------------------------------------------------------------------------------------

    def write(self, payload: bytes) -> None:
        """Write one message, waiting for the peer to take it. Never on the reading thread."""
        line = encode_line(payload)
        with self._write_lock:
            if self._dead:
                raise ConnectionClosed("the connection is closed")
            try:
                self._stream.write(line)
            except OSError as error:
                self._dead = True
                failure = error
            else:
                return
        # Outside the lock: it wakes those who wait for answers.
        self.end(f"writing failed: {failure}")
        raise ConnectionClosed(f"writing failed: {failure}") from None

    def post(self, payload: bytes, after: Callable[[], None] | None = None) -> None:
        """Have the outbox write one message (none if empty), and then call ``after``. Never blocks.

        A peer that lets ``MAX_OUTBOX`` messages pile up has stopped reading; the connection is given up.
        """
        with self._outbox_lock:
            if len(self._outbox) < MAX_OUTBOX:
                self._outbox.append((payload, after))
                self._outbox_idle.clear()
                full = False
            else:
                full = not self._dead
                self._dead = True
        if full:
            log.error("%d messages wait for a peer that does not read; closing the connection", MAX_OUTBOX)
            self.end("the peer does not read")
            return
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
        """Wait until the outbox is empty; False if the time is up first."""
        return self._outbox_idle.wait(deadline.remaining())

    def _write_loop(self) -> None:
        while True:
            self._outbox_event.wait()
            self._outbox_event.clear()
            if self._dead:
                self._outbox_idle.set()
                return
            # Taken before the queue is written and rendered after it: a stream that the queue acknowledges and
            # `after` opens gets every change since it was asked for, and none before its acknowledgement.
            items = self._feed()
            try:
                while (entry := self._next()) is not None:
                    payload, after = entry
                    if payload:
                        self.write(payload)
                    if after is not None:
                        after()
                for item in items:
                    for payload in self._render(item):
                        self.write(payload)
            except ConnectionClosed:
                self._outbox_idle.set()
                return
            except Exception:
                log.exception("a queued message could not be written; writing goes on")

    def _next(self) -> tuple[bytes, Callable[[], None] | None] | None:
        with self._outbox_lock:
            if self._outbox:
                return self._outbox.popleft()
            self._outbox_idle.set()
            return None

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
        reading end is closed by whoever ran `read_loop`, for the same reason.
        """
        self.end("the connection was closed")
        remaining = deadline.remaining()
        if not self._write_lock.acquire(timeout=-1 if remaining is None else remaining):
            return False
        try:
            self._dead = True
            self._stream.close_write()
        finally:
            self._write_lock.release()
        self._outbox_event.set()  # the outbox, if there is one, sees that it is over
        return True
