"""The seams: everything an HTTP server keeps between two requests, behind five small interfaces.

A request of a legacy session may be answered by another process than the one that opened the session. So what
the two must share is kept in none of them but in what stands behind these interfaces: sessions, event streams,
pending replies and running requests here, changes in server/push.py. One process uses the in-memory forms
(sessions.py, replay.py, coordinator.py); nothing else in the transport holds state across requests.

What goes in and out is `str`, `bytes`, `int`, `bool` or JSON. A `Wake` is called from any thread and must
neither block nor raise: it sets an event, and the woken thread then reads. Modern requests touch no seam but
the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from ..errors import LocalError

Wake: TypeAlias = Callable[[], None]


class Unavailable(LocalError):
    """The store cannot be asked now: 503 with ``Retry-After``. Never taken for "does not exist"."""


class Full(LocalError):
    """There is no room for another session: 503."""


class Gone(LocalError):
    """The session or stream has ended: 404, or the handler is cancelled."""


@dataclass(frozen=True, slots=True)
class Session:
    """A legacy session as one request sees it: a snapshot, never the live thing."""

    id: str
    version: str
    capabilities: Mapping[str, Any]
    principal: str | None
    client_info: Mapping[str, Any] | None = None
    level: str = "info"
    initialized: bool = False
    change_cursor: str | None = None
    """Where in the feed of changes the session began."""


class Sessions(Protocol):
    """The table of sessions."""

    def create(
        self,
        version: str,
        capabilities: Mapping[str, Any],
        principal: str | None,
        client_info: Mapping[str, Any] | None = None,
    ) -> Session:
        """A new session under an unguessable id. Raises `Full` or `Unavailable`."""

    def open(self, sid: str, principal: str | None) -> Session | None:
        """The session, its idle time started anew; None if there is none, or it is another principal's."""

    def update(
        self,
        sid: str,
        *,
        level: str | None = None,
        initialized: bool | None = None,
        subscribe: str | None = None,
        unsubscribe: str | None = None,
    ) -> bool:
        """Change one, atomically; False if it has ended: an ended session never comes back.

        Without a change it only tells, and does not start the idle time anew.
        """

    def subscribed(self, sid: str, uri: str) -> bool: ...

    def end(self, sid: str) -> bool:
        """End it everywhere: its streams close, its waits fail, its calls are cancelled."""


class Event(NamedTuple):
    """One message of a stream."""

    seq: int
    data: bytes
    last: bool


class StreamReader(Protocol):
    """The one connection that carries a stream now."""

    @property
    def closed(self) -> bool:
        """Nothing more will come here: the stream has ended, or another reader has taken over."""

    @property
    def standalone(self) -> bool:
        """Whether the stream was opened by a GET, and not by a request."""

    def read(self) -> list[Event]:
        """What has come since the last call. Never waits."""

    def detach(self) -> None:
        """The connection is gone. The stream stays, for a reader that resumes it."""


class StreamWriter(Protocol):
    """The handler's end of a stream."""

    @property
    def id(self) -> str: ...

    def append(self, data: bytes, last: bool = False) -> None:
        """Add an event. Raises `Gone` when the session has ended.

        While the reader lags behind and there is no room, waits, for as long as the stream's ``patience`` says.
        """

    def detach_reader(self) -> None:
        """Close the connection, not the stream: the client is to come back and resume."""

    def close(self) -> None:
        """End the stream without a last event."""

    def unread_for(self) -> float:
        """Seconds since a reader was there; 0 while one is."""


class Streams(Protocol):
    """Event streams of sessions, and what is needed to resume them. Their ids on the wire: ``<stream>.<seq>``."""

    def create(
        self,
        sid: str,
        first: bytes | None,
        epitaph: bytes,
        wake: Wake,
        *,
        standalone: bool = False,
        patience: float = 0.0,
    ) -> tuple[StreamWriter, StreamReader]:
        """A new stream with its reader. ``first`` is its first event, if it has one before anything happens.

        ``epitaph`` is what to send when the writer's process dies. A ``standalone`` stream (opened by GET) replaces
        the session's former one: of several, each message goes to one.
        """

    def attach(self, sid: str, stream: str, after: int, wake: Wake) -> StreamReader | None:
        """Resume: what came after ``after``, then live, without a gap. The former reader is closed.

        None if the session has no such stream; another session's is no such stream.
        """

    def post(self, sid: str, data: bytes) -> bool:
        """Send on the session's standalone stream, if one is open."""


class Pending(Protocol):
    """A request to the client that is out."""

    @property
    def id(self) -> str:
        """The id to send it with: nobody can guess it."""

    @property
    def reply(self) -> bytes | None:
        """The answer, when it has come: the whole JSON-RPC response."""

    @property
    def failed(self) -> bool:
        """Whether no answer can come any more."""

    def drop(self) -> None:
        """Stop waiting."""


class Replies(Protocol):
    """Answers that come back on another POST than the stream that carried the request."""

    def expect(self, sid: str, wake: Wake) -> Pending:
        """Registered before the request is sent."""

    def resolve(self, sid: str, rid: str, reply: bytes) -> bool:
        """Hand in an answer; False if nobody of this session waits for it."""


class Cancels(Protocol):
    """Requests that run, and how to cancel them from another POST."""

    def track(self, sid: str, key: str, cancel: Callable[[str], None]) -> Callable[[], None]:
        """Enter a request; returns what to call when it is done. A duplicate key does not evict the first."""

    def cancel(self, sid: str, key: str, reason: str = "") -> bool:
        """Cancel a request; False if none of this key runs, as far as this process can tell."""

    def running(self, sid: str) -> int:
        """How many requests of the session run."""
