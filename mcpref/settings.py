"""Settings: every limit and interval of a server in one place, each with its reason.

The defaults are safe for a server that strangers can reach; raise what your own clients need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Names by which a machine calls itself.
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Pass one as ``McpServer(settings=...)``. Sizes are in bytes, times in seconds."""

    max_message: int = 4 * 1024 * 1024
    """The longest message that is read; a longer one is refused and skipped."""
    workers: int = 64
    """Threads that run handlers at the same time, on transports with a pool of their own."""
    max_in_flight: int = 128
    """Requests of one connection that run or wait to run; one more is answered with "busy"."""
    max_streams: int = 64
    """Listen streams that one stdio connection may keep open."""
    page_size: int | None = None
    """Entries on one page of a list; None puts all on one page, which most clients expect."""
    state_ttl: float = 600.0
    """How long the state of a round that asked for input can be answered."""
    state_limit: int = 64 * 1024
    """How large that state may become: it travels to the client and back."""
    shutdown_grace: float = 10.0
    """How long a shutdown waits for running handlers."""

    # HTTP: who may come in

    allowed_hosts: tuple[str, ...] = LOOPBACK
    """Names that the Host header may have, without the port; ".example.com" allows that name and all below it, "*"
    allows any. Guards against DNS rebinding."""
    allowed_origins: tuple[str, ...] = ()
    """Origins that pages may send requests from, beside those of ``allowed_hosts``; "*" allows any."""
    cors: bool = False
    """Let pages of the allowed origins read answers: send CORS headers, and answer preflight requests."""

    page: bool = False
    """Show at ``/`` what the server offers, with forms to try it: for demonstrations and development."""

    # HTTP: threads

    threads: int | None = None
    """Threads of the WSGI host, which no host tells: None takes ``MCPREF_THREADS``, else what whoever started the
    host said, else 4."""
    max_requests: int = 1024
    """Requests under way in this process, of any kind; one more gets 503."""
    max_in_flight_session: int = 32
    """Requests of one session, or one authenticated caller, that run at the same time."""
    max_streams_principal: int = 4
    """Streams that one authenticated caller may keep open."""

    queue_patience: float = 1.0
    """How long a call may wait for a free worker before it gets 503."""

    # HTTP: times and streams

    body_deadline: float = 10.0
    """How long a client may take to send a body, on hosts that show the connection."""
    upgrade_after: float | None = 10.0
    """After how long a silent call becomes an event stream, so that a disconnect is noticed; None: never."""
    keep_alive: float = 15.0
    """How often a quiet stream sends a comment."""
    stream_max_age: float = 900.0
    """After how long a listen or GET stream is ended; clients open another."""
    stream_buffer_events: int = 256
    """Events that may wait for a client that reads slowly; past that, whoever writes waits too."""
    stream_buffer_bytes: int = 1024 * 1024
    """The same in bytes; also what is kept of a stream to resume it."""
    send_timeout: float = 20.0
    """How long a handler, or one write where the host shows the connection, waits for a client that reads slowly,
    before its stream is ended."""
    resume_within: float = 10.0
    """How long a handler that waits for an answer lets its client be away before it gives up."""
    retry_ms: int | None = None
    """What streams of 2025-11-25 tell clients to wait before they reconnect."""
    replay_streams: int = 64
    """Ended streams that are kept so that they can be resumed."""
    replay_age: float = 3600.0
    """For how long they are kept."""
    replay_bytes: int = 10 * 1024 * 1024
    """What all streams of legacy sessions may hold together; past that the longest unread are forgotten."""

    # HTTP: sessions (legacy)

    session_idle: float = 1800.0
    """After how long without a request a session ends."""
    max_sessions: int = 10_000
    """Sessions at one time; then the longest idle one goes, and if all are in use, new ones are refused."""

    def __post_init__(self) -> None:
        for name in ("allowed_hosts", "allowed_origins"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"Settings.{name} takes a tuple of names, as in ('example.com',)")
        for name in (
            "max_message",
            "workers",
            "max_in_flight",
            "max_streams",
            "state_limit",
            "max_requests",
            "max_in_flight_session",
            "max_streams_principal",
            "stream_buffer_events",
            "stream_buffer_bytes",
            "max_sessions",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"Settings.{name} must be at least 1")
        if self.page_size is not None and self.page_size < 1:
            raise ValueError("Settings.page_size must be at least 1, or None")
