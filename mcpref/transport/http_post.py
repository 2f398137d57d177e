"""POST on the endpoint: one message, of either era, from its first byte to the thread that runs it.

The era is chosen per request: modern requests are served statelessly by their own metadata, legacy ones through
their session. These are the lower rungs of the ladder (wsgi.py has the first)::

    Content-Type . Accept . size . envelope . era . required _meta (-32602) . headers equal body (-32020)
    . version known (-32022) . session . params

An error found before a stream has begun has a status; one found later is an event on a 200 stream.

Spec: 2025-03-26..2025-11-25 basic/transports#sending-messages-to-the-server
Spec: 2026-07-28 basic/transports/streamable-http#sending-messages
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from ..errors import HTTP_STATUS, INVALID_PARAMS, InternalError, InvalidRequest, ProtocolError
from ..headers import HeaderName, check_param_headers, check_standard_headers
from ..jsonrpc import Batch, ErrorResponse, Notification, Request, Response, decode, encode
from ..meta import RequestMeta
from ..server.inbound import carries_modern_meta, check_required_meta, is_modern_request
from ..server.state import ConnectionState, ServerMode
from ..versions import LATEST_LEGACY, MODERN_VERSIONS, parse_version
from .exchange import RETRY_AFTER, busy
from .http_peer import check_version_header, make_context, open_session, peer_state
from .http_request import HttpRefusal, check_content_type, read_body
from .http_running import run
from .seams import Full

if TYPE_CHECKING:
    from .exchange import Exchange
    from .runtime import Runtime
    from .seams import Session

log = logging.getLogger("mcpref.transport")

#: The state of a client of whom nothing is known. Read only.
_NOBODY: Final = ConnectionState()


def post(exchange: Exchange) -> Iterable[bytes]:
    """Serve a POST; the response."""
    check_content_type(exchange.environ)
    if not exchange.takes_json and not exchange.takes_sse:
        raise HttpRefusal(406, "the Accept header must admit application/json or text/event-stream")
    runtime = exchange.runtime
    if not runtime.enter():
        raise HttpRefusal(503, InternalError("too many requests; try again later"), RETRY_AFTER)
    try:
        return _post_message(exchange)
    finally:
        if not exchange.keeps_place:
            runtime.leave()


def _post_message(exchange: Exchange) -> Iterable[bytes]:
    try:
        message = decode(read_body(exchange.environ, exchange.runtime.settings, exchange.runtime.bodies))
    except ProtocolError as error:
        return exchange.error(400, error)
    if not isinstance(message, Request):
        check_version_header(exchange)  # a request is judged by what it says of its version itself
    match message:
        case Request():
            return _on_request(exchange, message)
        case Notification():
            return _on_notification(exchange, message)
        case Batch():
            from .http_batch import serve_batch

            return serve_batch(exchange, message)
        case Response() | ErrorResponse():
            return _on_reply(exchange, message)


def _on_request(exchange: Exchange, request: Request) -> Iterable[bytes]:
    meta = RequestMeta.from_params(request.params)
    header = exchange.version_header
    # Spec: 2026-07-28 basic/versioning#compatibility-matrix
    modern = carries_modern_meta(meta) or header in MODERN_VERSIONS
    if not modern and header is None and exchange.session_id is None:
        # Of no session, so nobody has shaken hands: an incomplete modern request learns what it lacks.
        modern = is_modern_request(request, meta, _NOBODY)
    if modern:
        return _on_modern(exchange, request, meta)
    check_version_header(exchange, request.id)
    if request.method == "initialize" and exchange.session_id is None:
        return _initialize(exchange, request)
    return _on_legacy(exchange, request, meta)


def _on_modern(exchange: Exchange, request: Request, meta: RequestMeta) -> Iterable[bytes]:
    """Serve a request by its own metadata.

    Spec: 2026-07-28 basic/transports/streamable-http#server-validation
    """
    version = parse_version(meta.protocol_version or "")
    ctx = make_context(exchange, ConnectionState(), version or LATEST_LEGACY, modern=True)
    try:
        check_required_meta(meta)
        check_standard_headers(
            exchange.headers, request.method, request.params or {}, str(meta.protocol_version)
        )
        _check_param_headers(exchange, request)
        scope = exchange.runtime.server.admit(request, ctx, meta)
    except ProtocolError as error:
        status = 400 if error.code == INVALID_PARAMS else HTTP_STATUS.get(error.code, 200)
        return exchange.respond(status, encode(ErrorResponse(request.id, error)))
    return run(exchange, ctx, scope)


def _check_param_headers(exchange: Exchange, request: Request) -> None:
    # Spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers
    if request.method != "tools/call" or request.params is None:
        return
    name = request.params.get("name")
    tool = exchange.runtime.server.catalog.tools.get(name) if isinstance(name, str) else None
    arguments = request.params.get("arguments") or {}
    if tool is not None and tool.param_headers and isinstance(arguments, dict):
        check_param_headers(tool.param_headers, arguments, exchange.headers)


def _initialize(exchange: Exchange, request: Request) -> Iterable[bytes]:
    """Open a legacy connection; on success, with a session.

    Spec: 2025-03-26..2025-11-25 basic/transports#session-management
    """
    runtime, server = exchange.runtime, exchange.runtime.server
    state = ConnectionState()
    ctx = make_context(exchange, state, LATEST_LEGACY, modern=False)
    stateful = server.mode is ServerMode.STATEFUL
    if stateful and ctx.multiprocess and runtime.seams.in_memory:
        why = (
            "this server runs in several processes but keeps its sessions in one: run one process with "
            "threads, share the sessions (McpApp(seams=...)), or construct McpServer(mode=ServerMode.STATELESS)"
        )
        _warn_once(f"a client's initialize was refused: {why}")
        return exchange.respond(200, encode(ErrorResponse(request.id, InternalError(why))))
    answer = server.handle(request, ctx)
    assert answer is not None
    headers = {}
    if stateful and isinstance(answer, Response):
        try:
            session = runtime.seams.sessions.create(
                state.negotiated.value, state.client_capabilities, exchange.principal, state.client_info
            )
        except Full as full:
            raise HttpRefusal(503, InternalError(str(full)), RETRY_AFTER) from None
        headers[HeaderName.SESSION_ID] = session.id
    return exchange.respond(200, server.encode(answer), headers=headers)


@cache
def _warn_once(message: str) -> None:
    """What whoever runs the server can mend; clients come again and again."""
    log.warning(message)


def _on_legacy(exchange: Exchange, request: Request, meta: RequestMeta) -> Iterable[bytes]:
    session = open_session(exchange, request.id)
    state = peer_state(exchange, session)
    ctx = make_context(exchange, state, state.negotiated, modern=False, session=session)
    if session is not None and _is_busy(exchange.runtime, session):
        return busy(exchange, request)
    try:
        scope = exchange.runtime.server.admit(request, ctx, meta)
    except ProtocolError as error:
        return exchange.respond(200, encode(ErrorResponse(request.id, error)))
    return run(exchange, ctx, scope)


def _is_busy(runtime: Runtime, session: Session) -> bool:
    return runtime.seams.cancels.running(session.id) >= runtime.settings.max_in_flight_session


def _on_notification(exchange: Exchange, notification: Notification) -> Iterable[bytes]:
    if exchange.version_header not in MODERN_VERSIONS:
        session = open_session(exchange)
        ctx = make_context(exchange, peer_state(exchange, session), LATEST_LEGACY, modern=False)
        exchange.runtime.server.notify(notification, ctx)
    # Spec: 2026-07-28 basic/transports/streamable-http#cancellation
    # A modern client cancels by closing its stream; no notification of its means anything here.
    return exchange.respond(202)


def _on_reply(exchange: Exchange, reply: Response | ErrorResponse) -> Iterable[bytes]:
    """An answer to a question of ours. 202 whether anybody waited for it or not."""
    if exchange.version_header in MODERN_VERSIONS:
        # Spec: 2026-07-28 basic/transports/streamable-http#sending-messages MUST NOT be posted
        return exchange.error(400, InvalidRequest("a modern client posts requests and notifications only"))
    session = open_session(exchange)
    if session is not None and isinstance(reply.id, str):
        exchange.runtime.seams.replies.resolve(session.id, reply.id, encode(reply))
    return exchange.respond(202)
