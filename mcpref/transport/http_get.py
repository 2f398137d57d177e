"""GET and DELETE on the endpoint: the standalone stream, resumption, and the end of a session. Legacy only.

Spec: 2025-03-26..2025-11-25 basic/transports#listening-for-messages-from-the-server
Spec: 2025-03-26..2025-11-25 basic/transports#session-management
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import InternalError
from ..server.state import ConnectionState, ServerMode
from ..versions import ProtocolVersion, is_modern
from .exchange import RETRY_AFTER
from .http_peer import check_version_header, open_session, peer_state
from .http_request import HttpRefusal
from .long_streams import StandaloneStream
from .probes import make_probe

if TYPE_CHECKING:
    from .exchange import Exchange
    from .seams import Session


def get_or_delete(exchange: Exchange, method: str) -> Iterable[bytes]:
    """Serve a request that is no POST."""
    check_version_header(exchange)
    header = exchange.version_header
    stateless = exchange.runtime.server.mode is ServerMode.STATELESS
    modern = header is not None and is_modern(ProtocolVersion(header))
    if method not in ("GET", "DELETE") or stateless or modern:
        # Spec: 2026-07-28 basic/transports/streamable-http#earlier-streamable-http-revisions SHOULD be 405
        allowed = "POST" if stateless or modern else "GET, POST, DELETE"
        raise HttpRefusal(405, f"{method[:20]} is not served here", {"Allow": allowed})
    if method == "GET" and not exchange.takes_sse:
        raise HttpRefusal(406, "the Accept header must admit text/event-stream")
    session = open_session(exchange)
    assert session is not None
    if method == "DELETE":
        exchange.runtime.seams.sessions.end(session.id)
        return exchange.respond(204)
    return _get(exchange, session)


def _get(exchange: Exchange, session: Session) -> Iterable[bytes]:
    runtime = exchange.runtime
    state = peer_state(exchange, session)

    def look_again() -> ConnectionState | None:
        current = runtime.seams.sessions.open(session.id, session.principal)
        return None if current is None else peer_state(exchange, current)

    stream = StandaloneStream(runtime, state, exchange.principal, look_again)
    if not stream.enter():
        raise HttpRefusal(503, InternalError(runtime.budget.remedy), RETRY_AFTER)
    probe = make_probe(exchange.environ)
    try:
        last = exchange.environ.get("HTTP_LAST_EVENT_ID", "").strip(" \t")
        body = stream.resume(session.id, last, probe) if last else None
        if body is None:
            body = stream.open(session.id, priming=state.negotiated.features.priming_event, probe=probe)
        if not runtime.seams.sessions.update(session.id):
            stream.shut_down()  # it ended meanwhile, and whoever ended it may not have found this stream
    except BaseException:
        stream.leave()
        raise
    return exchange.stream(body)
