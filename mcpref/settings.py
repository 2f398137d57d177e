"""Settings: every limit and interval of a server in one place, each with its reason.

The defaults are safe for a server that strangers can reach; raise what your own clients need.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
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

    def __post_init__(self) -> None:
        for name in ("max_message", "workers", "max_in_flight", "max_streams", "state_limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"Settings.{name} must be at least 1")
        if self.page_size is not None and self.page_size < 1:
            raise ValueError("Settings.page_size must be at least 1, or None")
