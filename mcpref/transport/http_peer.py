"""Whom a request over HTTP comes from: the session it belongs to, the state of its peer, and its context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import InvalidRequest, UnsupportedProtocolVersion
from ..headers import HeaderName
from ..jsonrpc import RequestId
from ..server.state import ConnectionState, ServerMode
from ..versions import MODERN_VERSIONS, ProtocolVersion, parse_version
from .http_context import HttpStreamContext
from .http_request import HttpRefusal
from .probes import make_probe
from .sessions import SessionState

if TYPE_CHECKING:
    from .exchange import Exchange
    from .seams import Session

#: What a request without a version header speaks, where nothing else tells.
#: Spec: 2025-06-18..2025-11-25 basic/transports#protocol-version-header SHOULD assume 2025-03-26
_UNSTATED: Final = ProtocolVersion.V2025_03_26


def check_version_header(exchange: Exchange, request_id: RequestId | None = None) -> None:
    """Refuse a version header that names no revision.

    Spec: 2025-06-18..2025-11-25 basic/transports#protocol-version-header MUST answer 400
    """
    header = exchange.version_header
    if header is not None and parse_version(header) is None:
        error = UnsupportedProtocolVersion(header, MODERN_VERSIONS)
        error.request_id = request_id
        raise HttpRefusal(400, error)


def open_session(exchange: Exchange, request_id: RequestId | None = None) -> Session | None:
    """The session that the request belongs to; None on a stateless server.

    Spec: 2025-03-26..2025-11-25 basic/transports#session-management 400 without an id, 404 for one that ended
    """
    runtime = exchange.runtime
    if runtime.server.mode is ServerMode.STATELESS:
        return None
    sid = exchange.session_id
    if not sid:
        error = InvalidRequest(f"the header {HeaderName.SESSION_ID} is missing: send initialize first")
        error.request_id = request_id
        raise HttpRefusal(400, error)
    session = runtime.seams.sessions.open(sid, exchange.principal)
    if session is None:
        error = InvalidRequest("there is no such session (any more): send initialize to open another")
        error.request_id = request_id
        raise HttpRefusal(404, error)
    return session


def peer_state(exchange: Exchange, session: Session | None) -> ConnectionState:
    """The state of the peer: the session's, or one for this request alone."""
    if session is not None:
        seams = exchange.runtime.seams
        return SessionState(session, seams.sessions, seams.cancels)
    return ConnectionState(parse_version(exchange.version_header or "") or _UNSTATED)


def make_context(
    exchange: Exchange,
    state: ConnectionState,
    version: ProtocolVersion,
    *,
    modern: bool,
    session: Session | None = None,
) -> HttpStreamContext:
    """The context of one request."""
    return HttpStreamContext(
        exchange.runtime,
        state,
        version,
        modern=modern,
        headers=exchange.headers,
        auth=exchange.auth,
        session_id="" if session is None else session.id,
        accepts_sse=exchange.takes_sse,
        probe=make_probe(exchange.environ) if modern else None,
        multiprocess=bool(exchange.environ.get("wsgi.multiprocess")),
        embedding=exchange.embedding,
    )
