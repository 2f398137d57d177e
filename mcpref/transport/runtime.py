"""Runtime: what one process of an HTTP server holds: its seams, its workers, its counts, its open streams.

Made on the first request, in the process that serves it: nothing is made before a fork. The lock guards the
counters and the table of open streams.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from ..cancellation import Deadline
from ..server.core import McpServer
from ..settings import Settings
from .body_watch import BodyWatch
from .coordinator import CancelTable, StreamCoordinator
from .hosting import declared_threads, threads_by_name
from .parking import ThreadBudget
from .pool import WorkerPool
from .replay import EventLog
from .seams import Cancels, Replies, Sessions, Streams
from .sessions import SessionManager

#: What a host is taken to have of which nothing is known: waitress's own default.
ASSUMED_THREADS: Final = 4


@dataclass(slots=True)
class Seams:
    """What is kept between requests; see seams.py."""

    sessions: Sessions
    streams: Streams
    replies: Replies
    cancels: Cancels
    in_memory: bool = False
    """Whether it is this process's alone."""


def memory_seams(settings: Settings) -> Seams:
    """The seams of a single process."""
    streams = EventLog(
        max_events=settings.stream_buffer_events,
        max_bytes=settings.stream_buffer_bytes,
        max_streams=settings.replay_streams,
        max_age=settings.replay_age,
        max_total=settings.replay_bytes,
    )
    replies = StreamCoordinator()
    cancels = CancelTable()

    def ended(sid: str) -> None:
        cancels.cancel_session(sid)
        replies.fail_session(sid)
        streams.end_session(sid)

    sessions = SessionManager(
        idle=settings.session_idle,
        limit=settings.max_sessions,
        on_end=ended,
        is_busy=lambda sid: cancels.running(sid) > 0 or streams.is_read(sid),
    )
    return Seams(sessions, streams, replies, cancels, in_memory=True)


class OpenStream(Protocol):
    """A stream that must be told when the server closes."""

    def shut_down(self) -> None:
        """End it. Called from any thread; must not block."""


class Runtime:
    """One process's share of an HTTP server."""

    def __init__(
        self, server: McpServer, settings: Settings, seams: Seams | None, threads: int | None
    ) -> None:
        self.pid = os.getpid()
        self.server = server
        self.settings = settings
        self.seams = memory_seams(settings) if seams is None else seams
        self._told_threads = host_threads(settings, threads)
        self.multithread: bool | None = None
        """What the last request said of its host; None before the first."""
        self.budget = ThreadBudget(self._told_threads or ASSUMED_THREADS)
        self.pool = WorkerPool(max(settings.workers, self.budget.threads), queue_limit=settings.max_requests)
        self.bodies = BodyWatch(settings.body_deadline)
        self.closing = False
        self.ended = threading.Event()
        """Set when the server is closed, with all that belongs to it."""
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._requests = 0
        self._open: set[OpenStream] = set()
        self._streams_of: Counter[str] = Counter()
        self._running_of: Counter[str] = Counter()
        self._tokens: set[Callable[[], None]] = set()
        self._in_place = 0

    @property
    def threads_assumed(self) -> bool:
        """Whether nobody said how many threads the host has."""
        return self._told_threads is None

    def learn_threads(self, environ: Mapping[str, Any]) -> None:
        """Take from a request what it tells of its host: the first one, and one that says something else."""
        self.multithread = environ.get("wsgi.multithread", True)
        if not self.multithread:
            # One request at a time: whoever waited for another would wait for ever, whatever we were told.
            self.budget.threads = 1
        else:
            self.budget.threads = self._told_threads or threads_by_name(environ) or ASSUMED_THREADS

    def use_threads(self, threads: int) -> None:
        """Somebody says how many there are."""
        self._told_threads = threads
        if self.multithread is not False:
            self.budget.threads = threads

    # ---- Counting -------------------------------------------------------------------------------------

    def enter(self) -> bool:
        """A request comes in; False if there are too many."""
        with self._lock:
            if self.closing or self._requests >= self.settings.max_requests:
                return False
            self._requests += 1
            return True

    def leave(self) -> None:
        with self._lock:
            self._requests -= 1

    @property
    def requests(self) -> int:
        with self._lock:
            return self._requests

    def open_stream(self, stream: OpenStream, principal: str | None) -> bool:
        """Enter a stream that parks a thread; False if there is no room for it.

        The limit per caller binds authenticated callers only: all others would be one.
        """
        with self._lock:
            if self.closing or (
                principal is not None and self._streams_of[principal] >= self.settings.max_streams_principal
            ):
                return False
            if not self.budget.take_stream():
                return False
            self._open.add(stream)
            if principal is not None:
                self._streams_of[principal] += 1
            return True

    def close_stream(self, stream: OpenStream, principal: str | None) -> None:
        with self._lock:
            if stream not in self._open:
                return
            self._open.discard(stream)
            if principal is not None:
                self._streams_of[principal] -= 1
                if not self._streams_of[principal]:
                    del self._streams_of[principal]
        self.budget.leave_stream()

    def start_running(self, principal: str | None) -> bool:
        """An authenticated caller's request begins; False if it has too many already."""
        if principal is None:
            return True
        with self._lock:
            if self._running_of[principal] >= self.settings.max_in_flight_session:
                return False
            self._running_of[principal] += 1
            return True

    def stop_running(self, principal: str | None) -> None:
        if principal is not None:
            with self._lock:
                self._running_of[principal] -= 1
                if not self._running_of[principal]:
                    del self._running_of[principal]

    def on_close(self, cancel: Callable[[], None]) -> Callable[[], None]:
        """A request runs: call ``cancel`` when the server closes; returns what to call when it is done."""
        with self._lock:
            self._tokens.add(cancel)
            closing = self.closing
        if closing:  # it came in before, but too late for `close`
            cancel()

        def forget() -> None:
            with self._lock:
                self._tokens.discard(cancel)
                if not self._tokens:
                    self._quiet.notify_all()

        return forget

    def begin_in_place(self) -> None:
        """A function that nothing can cancel begins on the host's own thread: `close` waits for it."""
        with self._lock:
            self._in_place += 1

    def end_in_place(self) -> None:
        with self._lock:
            self._in_place -= 1
            if self.closing:
                self._quiet.notify_all()

    # ---- The end --------------------------------------------------------------------------------------

    def begin_closing(self) -> bool:
        """Refuse new work, end streams, cancel what runs. Waits for nothing; False if somebody did it already."""
        with self._lock:
            if self.closing:
                return False
            self.closing = True
            streams = list(self._open)
            cancels = list(self._tokens)
        for stream in streams:
            stream.shut_down()
        for cancel in cancels:
            cancel()
        return True

    def close(self, deadline: Deadline) -> bool:
        """Wait for what runs, after `begin_closing`; False if something is stuck."""
        self.begin_closing()
        clean = self.pool.close(deadline)
        with self._lock:
            is_quiet = self._quiet.wait_for(
                lambda: not self._tokens and not self._in_place, deadline.remaining()
            )
        clean = is_quiet and clean
        if isinstance(self.seams.sessions, SessionManager):
            self.seams.sessions.end_all()
        return clean


def host_threads(settings: Settings, threads: int | None) -> int | None:
    """How many threads the host has: as told, as set, as the environment or the process says; None if nobody does."""
    if threads is not None:
        return threads
    if settings.threads is not None:
        return settings.threads
    named = os.environ.get("MCPREF_THREADS", "")
    if named and not named.isdecimal():
        raise ValueError(f"MCPREF_THREADS must be a number, not {named!r}")
    return int(named) if named else declared_threads()
