"""McpApp: every HTTP flavour of MCP as one WSGI application on one path.

The era is chosen per request: modern requests are served statelessly by their own metadata, legacy ones through
their session. The rungs of the ladder, from the first to the last::

    Host . Origin . authentication . (GET, DELETE: version header) . HTTP method . Content-Type . Accept . size
    . envelope . era . required _meta (-32602) . headers equal body (-32020) . version known (-32022)
    . session . params

An error found before a stream has begun has a status; one found later is an event on a 200 stream.

A handler that takes no context runs on the host's thread, and its answer is one JSON body. One that takes a context
runs on a worker, so that it can stream and be cancelled, while the host's thread waits for what it emits.

Spec: 2025-03-26..2025-11-25 basic/transports#streamable-http
Spec: 2026-07-28 basic/transports/streamable-http
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from ..cancellation import Deadline
from ..errors import (
    HTTP_STATUS,
    INVALID_PARAMS,
    InternalError,
    InvalidRequest,
    ProtocolError,
    UnsupportedProtocolVersion,
)
from ..headers import HeaderName, check_param_headers, check_standard_headers
from ..jsonrpc import Batch, ErrorResponse, Notification, Request, RequestId, Response, decode, encode
from ..meta import RequestMeta
from ..server.context import Auth
from ..server.core import McpServer
from ..server.inbound import carries_modern_meta, check_required_meta, is_modern_request
from ..server.state import ConnectionState, ServerMode
from ..settings import Settings
from ..versions import LATEST_LEGACY, MODERN_VERSIONS, ProtocolVersion, is_modern, parse_version
from .event_stream import EventIterator
from .exchange import RETRY_AFTER, Environ, Exchange, StartResponse, busy, preflight
from .http_context import HttpStreamContext
from .http_request import (
    HttpRefusal,
    check_content_type,
    check_host,
    check_origin,
    read_body,
)
from .http_running import run
from .long_streams import StandaloneStream
from .probes import make_probe
from .runtime import Runtime, Seams
from .seams import Full, Session, Unavailable
from .sessions import SessionState

if TYPE_CHECKING:
    from .legacy_sse import LegacySse

log = logging.getLogger("mcpref.transport")

Principal: TypeAlias = Callable[[Environ], Auth | str | None]

#: What a request without a version header speaks, where nothing else tells.
#: Spec: 2025-06-18..2025-11-25 basic/transports#protocol-version-header SHOULD assume 2025-03-26
_UNSTATED: Final = ProtocolVersion.V2025_03_26
#: The state of a client of whom nothing is known. Read only.
_NOBODY: Final = ConnectionState()


class McpApp:
    """A WSGI application that serves an `McpServer`.

    Several apps of one server share what is registered on it, its changes and its lifespans; sessions, streams and
    workers are each app's own.
    """

    _legacy_sse: LegacySse | None

    def __init__(
        self,
        server: McpServer,
        *,
        path: str = "/mcp",
        principal: Principal | None = None,
        seams: Callable[[], Seams] | None = None,
        threads: int | None = None,
        legacy_sse: bool = False,
    ) -> None:
        """
        ``principal`` says who sent a request: an `Auth`, a subject, or None for nobody; it may raise `HttpRefusal`
        with 401 or 403. ``seams`` makes what several processes share, once in each. ``threads`` is how many the
        host has. ``legacy_sse`` also serves the transport of 2024-11-05, on ``<path>/sse``.
        """
        self.server = server
        self.settings: Settings = server.settings
        self.path = "/" + path.strip("/") if path.strip("/") else ""
        self._principal = principal
        self._make_seams = seams
        self._threads = threads
        self._runtime: Runtime | None = None
        self._lock = threading.Lock()
        self._legacy_sse = None
        if legacy_sse:
            from .legacy_sse import LegacySse

            self._legacy_sse = LegacySse(self)

    # ---- The process ----------------------------------------------------------------------------------

    @property
    def runtime(self) -> Runtime:
        """This process's share; made on first use, and anew after a fork."""
        runtime = self._runtime
        if runtime is None or runtime.pid != os.getpid():
            runtime = self._start()
        return runtime

    def _start(self) -> Runtime:
        # Outside the lock, because it is the application's code; of two that are made at once one is dropped.
        made = None if self._make_seams is None else self._make_seams()
        with self._lock:
            if self._runtime is not None and self._runtime.pid == os.getpid():
                return self._runtime
            self._runtime = started = Runtime(self.server, self.settings, made, self._threads)
        try:
            self.server.start()
        except BaseException:
            self._runtime = None  # the next request tries again
            raise
        return started

    def use_threads(self, threads: int) -> None:
        """The host says how many threads it has."""
        self._threads = threads
        if self._runtime is not None:
            self._runtime.budget.threads = threads

    def close(self, grace: float | None = None) -> bool:
        """End streams with their closing result, cancel what runs, and wait for it; False if something is stuck.

        Answers that are computed in time are still sent. Afterwards the app answers 503.
        """
        runtime = self._runtime
        if runtime is None or not runtime.begin_closing():
            return True
        clean = runtime.close(Deadline(self.settings.shutdown_grace if grace is None else grace))
        self.server.close()
        return clean

    # ---- The request ----------------------------------------------------------------------------------

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        try:
            exchange = Exchange(environ, start_response, self.runtime)
        except Exception:
            # A lifespan or a store that cannot be opened: nothing of it is the client's business.
            log.exception("the server could not be started; the next request tries again")
            start_response("503 Service Unavailable", [("Content-Length", "0"), ("Retry-After", "1")])
            return []
        if not environ.get("wsgi.multithread", True):
            # One request at a time: whoever waited for another would wait for ever, whatever we were told.
            exchange.runtime.budget.threads = 1
        try:
            return self._serve(exchange)
        except HttpRefusal as refusal:
            return exchange.error(refusal.status, refusal.error, refusal.headers)
        except Unavailable as error:
            log.error("%s", error)
            return exchange.error(503, InternalError("try again later"), RETRY_AFTER)
        except Exception:
            log.exception("a request failed in the transport")
            return exchange.error(500, InternalError())

    def _serve(self, exchange: Exchange) -> Iterable[bytes]:
        environ = exchange.environ
        check_host(environ, self.settings)
        check_origin(environ, self.settings)
        path = environ.get("PATH_INFO", "").rstrip("/")
        method = environ["REQUEST_METHOD"]
        if self._legacy_sse is not None and path in self._legacy_sse.paths:
            exchange.auth = self._authenticate(exchange)
            return self._legacy_sse.serve(exchange, path, method)
        if path != self.path:
            raise HttpRefusal(404, f"there is nothing here; the MCP endpoint is {self.path or '/'}")
        if method == "OPTIONS" and self.settings.cors:
            return preflight(exchange)
        exchange.auth = self._authenticate(exchange)
        if method == "POST":
            return self._post(exchange)
        return self._get_or_delete(exchange, method)

    def _authenticate(self, exchange: Exchange) -> Auth | None:
        if self._principal is None:
            return None
        who = self._principal(exchange.environ)
        return Auth(who) if isinstance(who, str) else who

    # ---- POST -----------------------------------------------------------------------------------------

    def _post(self, exchange: Exchange) -> Iterable[bytes]:
        check_content_type(exchange.environ)
        if not exchange.takes_json and not exchange.takes_sse:
            raise HttpRefusal(406, "the Accept header must admit application/json or text/event-stream")
        runtime = exchange.runtime
        if not runtime.enter():
            raise HttpRefusal(503, InternalError("too many requests; try again later"), RETRY_AFTER)
        # A response that streams leaves when its stream ends.
        body: Iterable[bytes] | None = None
        try:
            body = self._post_message(exchange)
        finally:
            if not isinstance(body, EventIterator):
                runtime.leave()
        return body

    def _post_message(self, exchange: Exchange) -> Iterable[bytes]:
        try:
            message = decode(read_body(exchange.environ, self.settings, exchange.runtime.bodies))
        except ProtocolError as error:
            return exchange.error(400, error)
        if not isinstance(message, Request):
            # Spec: 2025-06-18..2025-11-25 basic/transports#protocol-version-header MUST answer 400
            # A request is judged by what it says of its version itself.
            self._check_version_header(exchange)
        match message:
            case Request():
                return self._on_request(exchange, message)
            case Notification():
                return self._on_notification(exchange, message)
            case Batch():
                from .http_batch import serve_batch

                return serve_batch(self, exchange, message)
            case Response() | ErrorResponse():
                return self._on_reply(exchange, message)

    def _check_version_header(self, exchange: Exchange, request_id: RequestId | None = None) -> None:
        header = exchange.version_header
        if header is not None and parse_version(header) is None:
            error = UnsupportedProtocolVersion(header, MODERN_VERSIONS)
            error.request_id = request_id
            raise HttpRefusal(400, error)

    def _on_request(self, exchange: Exchange, request: Request) -> Iterable[bytes]:
        meta = RequestMeta.from_params(request.params)
        header = exchange.version_header
        # Spec: 2026-07-28 basic/versioning#compatibility-matrix
        modern = carries_modern_meta(meta) or header in MODERN_VERSIONS
        if not modern and header is None and exchange.session_id is None:
            # Of no session, so nobody has shaken hands: an incomplete modern request learns what it lacks.
            modern = is_modern_request(request, meta, _NOBODY)
        if modern:
            return self._on_modern(exchange, request, meta)
        self._check_version_header(exchange, request.id)
        if request.method == "initialize" and exchange.session_id is None:
            return self._initialize(exchange, request)
        return self._on_legacy(exchange, request)

    def _on_modern(self, exchange: Exchange, request: Request, meta: RequestMeta) -> Iterable[bytes]:
        """Serve a request by its own metadata.

        Spec: 2026-07-28 basic/transports/streamable-http#server-validation
        """
        version = parse_version(meta.protocol_version or "")
        ctx = self.context(exchange, ConnectionState(), version or LATEST_LEGACY, modern=True)
        try:
            check_required_meta(meta)
            check_standard_headers(
                exchange.headers, request.method, request.params or {}, str(meta.protocol_version)
            )
            self._check_param_headers(exchange, request)
            scope = self.server.admit(request, ctx)
        except ProtocolError as error:
            status = 400 if error.code == INVALID_PARAMS else HTTP_STATUS.get(error.code, 200)
            return exchange.respond(status, encode(ErrorResponse(request.id, error)))
        return run(self, exchange, ctx, scope)

    def _check_param_headers(self, exchange: Exchange, request: Request) -> None:
        # Spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers
        if request.method != "tools/call" or request.params is None:
            return
        name = request.params.get("name")
        tool = self.server.catalog.tools.get(name) if isinstance(name, str) else None
        arguments = request.params.get("arguments") or {}
        if tool is not None and tool.param_headers and isinstance(arguments, dict):
            check_param_headers(tool.param_headers, arguments, exchange.headers)

    def _initialize(self, exchange: Exchange, request: Request) -> Iterable[bytes]:
        """Open a legacy connection; on success, with a session.

        Spec: 2025-03-26..2025-11-25 basic/transports#session-management
        """
        state = ConnectionState()
        ctx = self.context(exchange, state, LATEST_LEGACY, modern=False)
        stateful = self.server.mode is ServerMode.STATEFUL
        if stateful and exchange.environ.get("wsgi.multiprocess") and exchange.runtime.seams.in_memory:
            error = InternalError(
                "this server runs in several processes but keeps its sessions in one: run one process with "
                "threads, share the sessions (McpApp(seams=...)), or construct McpServer(mode=ServerMode.STATELESS)"
            )
            return exchange.respond(200, encode(ErrorResponse(request.id, error)))
        answer = self.server.handle(request, ctx)
        assert answer is not None
        headers = {}
        if stateful and isinstance(answer, Response):
            try:
                session = exchange.runtime.seams.sessions.create(
                    state.negotiated.value, state.client_capabilities, exchange.principal, state.client_info
                )
            except Full as full:
                raise HttpRefusal(503, InternalError(str(full)), RETRY_AFTER) from None
            headers[HeaderName.SESSION_ID] = session.id
        return exchange.respond(200, self.server.encode(answer), headers=headers)

    def _on_legacy(self, exchange: Exchange, request: Request) -> Iterable[bytes]:
        session = self.session(exchange, request.id)
        state = self.state(exchange, session)
        ctx = self.context(exchange, state, state.negotiated, modern=False, session=session)
        if session is not None and self._is_busy(exchange, session):
            return busy(exchange, request)
        try:
            scope = self.server.admit(request, ctx)
        except ProtocolError as error:
            return exchange.respond(200, encode(ErrorResponse(request.id, error)))
        return run(self, exchange, ctx, scope)

    def session(self, exchange: Exchange, request_id: object = None) -> Session | None:
        """The session that the request belongs to; None on a stateless server.

        Spec: 2025-03-26..2025-11-25 basic/transports#session-management 400 without an id, 404 for one that ended
        """
        if self.server.mode is ServerMode.STATELESS:
            return None
        sid = exchange.session_id
        if not sid:
            error = InvalidRequest(f"the header {HeaderName.SESSION_ID} is missing: send initialize first")
            error.request_id = request_id if isinstance(request_id, str | int) else None
            raise HttpRefusal(400, error)
        session = exchange.runtime.seams.sessions.open(sid, exchange.principal)
        if session is None:
            error = InvalidRequest("there is no such session (any more): send initialize to open another")
            error.request_id = request_id if isinstance(request_id, str | int) else None
            raise HttpRefusal(404, error)
        return session

    def state(self, exchange: Exchange, session: Session | None) -> ConnectionState:
        """The state of the peer: the session's, or one for this request alone."""
        if session is not None:
            seams = exchange.runtime.seams
            return SessionState(session, seams.sessions, seams.cancels)
        return ConnectionState(parse_version(exchange.version_header or "") or _UNSTATED)

    def _is_busy(self, exchange: Exchange, session: Session) -> bool:
        limit = self.settings.max_in_flight_session
        return exchange.runtime.seams.cancels.running(session.id) >= limit

    def _on_notification(self, exchange: Exchange, notification: Notification) -> Iterable[bytes]:
        if exchange.version_header not in MODERN_VERSIONS:
            session = self.session(exchange)
            ctx = self.context(exchange, self.state(exchange, session), LATEST_LEGACY, modern=False)
            self.server.notify(notification, ctx)
        # A modern client cancels by closing its stream; no notification of its means anything here.
        return exchange.respond(202)

    def _on_reply(self, exchange: Exchange, reply: Response | ErrorResponse) -> Iterable[bytes]:
        """An answer to a question of ours. 202 whether anybody waited for it or not."""
        if exchange.version_header in MODERN_VERSIONS:
            # Spec: 2026-07-28 basic/transports/streamable-http#sending-messages MUST NOT be posted
            return exchange.error(
                400, InvalidRequest("a modern client posts requests and notifications only")
            )
        session = self.session(exchange)
        if session is not None and isinstance(reply.id, str):
            exchange.runtime.seams.replies.resolve(session.id, reply.id, encode(reply))
        return exchange.respond(202)

    def context(
        self,
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
        )

    # ---- GET and DELETE (legacy) ----------------------------------------------------------------------

    def _get_or_delete(self, exchange: Exchange, method: str) -> Iterable[bytes]:
        self._check_version_header(exchange)
        header = exchange.version_header
        stateless = self.server.mode is ServerMode.STATELESS
        modern = header is not None and is_modern(ProtocolVersion(header))
        if method not in ("GET", "DELETE") or stateless or modern:
            # Spec: 2026-07-28 basic/transports/streamable-http#earlier-streamable-http-revisions SHOULD be 405
            allowed = "POST" if stateless or modern else "GET, POST, DELETE"
            raise HttpRefusal(405, f"{method[:20]} is not served here", {"Allow": allowed})
        if method == "GET" and not exchange.takes_sse:
            raise HttpRefusal(406, "the Accept header must admit text/event-stream")
        session = self.session(exchange)
        assert session is not None
        if method == "DELETE":
            exchange.runtime.seams.sessions.end(session.id)
            return exchange.respond(204)
        return self._get(exchange, session)

    def _get(self, exchange: Exchange, session: Session) -> Iterable[bytes]:
        runtime = exchange.runtime
        state = self.state(exchange, session)

        def look_again() -> ConnectionState | None:
            current = runtime.seams.sessions.open(session.id, session.principal)
            return None if current is None else self.state(exchange, current)

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
