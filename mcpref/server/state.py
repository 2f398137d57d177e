"""ConnectionState: what one peer's connection has told us, and the legacy lifecycle.

::

    NEW --initialize--> NEGOTIATED --notifications/initialized--> READY

Everything that moves a connection along is in `LIFECYCLE`, and everything that changes a state is a method
of it: fields are read freely and never assigned from outside. A transport that keeps sessions elsewhere
overrides the methods and nothing else.

Who owns one: stdio has one for the process (also for modern requests: their in-flight table and listen
streams live here, their version and capabilities do not); a stateful HTTP session has one; a stateless
request has its own, dropped with it.

The lock is held for dict work only, never while calling out. Any thread may call any method.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Mapping
from typing import Any, Final

from ..cancellation import CancellationToken
from ..errors import InvalidRequest
from ..jsonrpc import RequestId
from ..versions import LATEST_LEGACY, ProtocolVersion

#: Resources that one connection may watch.
MAX_SUBSCRIPTIONS: Final = 1000


def too_many_subscriptions() -> InvalidRequest:
    return InvalidRequest(
        f"at most {MAX_SUBSCRIPTIONS} resources can be watched: unsubscribe from some first"
    )


class ServerMode(enum.Enum):
    """How legacy requests are served. Modern ones are always served statelessly, in either mode."""

    STATEFUL = "stateful"
    """Sessions, subscriptions, a log level, and a back-channel to ask the client."""
    STATELESS = "stateless"
    """Every request stands alone: nothing is kept, nothing is asked."""


class Lifecycle(enum.Enum):
    """How far a legacy connection has come."""

    NEW = "new"
    NEGOTIATED = "negotiated"
    READY = "ready"


#: Where a message takes a connection. A message that is not in the table changes nothing; ``initialize`` in a
#: state where it is not in the table is an error.
#: Spec: 2024-11-05..2025-11-25 basic/lifecycle#initialization
LIFECYCLE: Final[Mapping[tuple[Lifecycle, str], Lifecycle]] = {
    (Lifecycle.NEW, "initialize"): Lifecycle.NEGOTIATED,
    (Lifecycle.NEGOTIATED, "notifications/initialized"): Lifecycle.READY,
}


class ConnectionState:
    """What is known of one peer."""

    __slots__ = (
        "_in_flight",
        "_lock",
        "_subscriptions",
        "client_capabilities",
        "client_info",
        "lifecycle",
        "log_level",
        "negotiated",
    )

    def __init__(
        self,
        negotiated: ProtocolVersion = LATEST_LEGACY,
        client_capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.negotiated = negotiated
        """The version agreed on; before the handshake, the newest legacy one."""
        self.client_capabilities: Mapping[str, Any] = client_capabilities or {}
        """What the client declared; empty when unknown, so that a handler that needs something fails."""
        self.client_info: Mapping[str, Any] | None = None
        """Name and version of the client, as it told them; never to be relied on."""
        self.log_level = "info"
        """The least severe level that the client wants."""
        self.lifecycle = Lifecycle.NEW
        """How far the handshake has come."""
        self._subscriptions: set[str] = set()
        self._in_flight: dict[RequestId, CancellationToken] = {}
        self._lock = threading.Lock()

    @property
    def initialize_processed(self) -> bool:
        """Whether an ``initialize`` was answered; a second one is refused from then on."""
        return self.lifecycle is not Lifecycle.NEW

    @property
    def initialized(self) -> bool:
        """Whether the client has sent ``notifications/initialized``."""
        return self.lifecycle is Lifecycle.READY

    @property
    def subscriptions(self) -> frozenset[str]:
        """The resource URIs this connection watches (legacy)."""
        with self._lock:
            return frozenset(self._subscriptions)

    @property
    def in_flight(self) -> dict[RequestId, CancellationToken]:
        """A copy of the table of running requests."""
        with self._lock:
            return dict(self._in_flight)

    # The handshake

    def negotiate(
        self,
        version: ProtocolVersion,
        capabilities: Mapping[str, Any],
        client_info: Mapping[str, Any] | None,
        *,
        again: bool = False,
    ) -> None:
        """Take what ``initialize`` brought. A second one changes nothing and raises, unless ``again``.

        The guard trips as soon as one ``initialize`` was processed, before ``notifications/initialized``.
        """
        with self._lock:
            after = LIFECYCLE.get((self.lifecycle, "initialize"))
            if after is None and not again:
                raise InvalidRequest("already initialized: one initialize per connection")
            self.lifecycle = after or Lifecycle.NEGOTIATED
            self.negotiated = version
            self.client_capabilities = capabilities
            self.client_info = client_info

    def mark_initialized(self) -> None:
        """Take ``notifications/initialized``; out of turn it changes nothing."""
        with self._lock:
            self.lifecycle = LIFECYCLE.get((self.lifecycle, "notifications/initialized"), self.lifecycle)

    # What the client sets

    def set_log_level(self, level: str) -> None:
        with self._lock:
            self.log_level = level

    def subscribe(self, uri: str) -> None:
        """Watch a resource; raises -32600 when the connection watches too many already."""
        with self._lock:
            full = uri not in self._subscriptions and len(self._subscriptions) >= MAX_SUBSCRIPTIONS
            if not full:
                self._subscriptions.add(uri)
        if full:
            raise too_many_subscriptions()

    def unsubscribe(self, uri: str) -> None:
        with self._lock:
            self._subscriptions.discard(uri)

    def is_subscribed(self, uri: str) -> bool:
        with self._lock:
            return uri in self._subscriptions

    # Running requests. Ids are strings or integers, checked when they were decoded, so `1` and `"1"` are two
    # different keys and nothing else can be one.

    def track(self, request_id: RequestId, token: CancellationToken) -> bool:
        """Enter a request. A duplicate id does not evict the one that runs; it runs untracked (False)."""
        with self._lock:
            return self._in_flight.setdefault(request_id, token) is token

    def untrack(self, request_id: RequestId, token: CancellationToken) -> None:
        """Take a request out again, if it is this one that is in."""
        with self._lock:
            if self._in_flight.get(request_id) is token:
                del self._in_flight[request_id]

    def cancel(self, request_id: object, reason: str | None = None) -> bool:
        """The client takes a request back. Unknown, completed and malformed ids are ignored (False).

        Spec: 2026-07-28 basic/patterns/cancellation#error-handling
        """
        if type(request_id) is not str and type(request_id) is not int:
            return False
        with self._lock:
            token = self._in_flight.get(request_id)
        if token is None:
            return False
        token.cancel(reason)  # outside the lock: it wakes whoever waits
        return True

    def cancel_all(self, reason: str) -> None:
        """The connection ends: stop the work, but let answers computed in time go out."""
        with self._lock:
            tokens = list(self._in_flight.values())
        for token in tokens:
            token.cancel(reason, by_client=False)
