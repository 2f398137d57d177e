"""McpServer: what an application registers its functions on, and what turns a request into its answer.

A server holds registrations and settings only. What is known of a peer is in a `ConnectionState`, what is
known of a request in a `RequestScope`, so one server serves any number of connections, of both eras, at once.

The way of a request, whatever the transport::

    admit(request, ctx)   the ladder (inbound.py); entered in the in-flight table; no user code
      -> RequestScope
    dispatch(scope)       middleware -> method (methods/) -> the application's function -> results.py
      -> Response | ErrorResponse | None (cancelled, or a stream that stays open)

A transport with a reader thread runs `admit` there and `dispatch` on a worker; `handle` runs both in place.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from ..caching import LIST_CACHE_METHODS, CacheHint
from ..errors import (
    ProtocolError,
    ToolError,
)
from ..jsonrpc import ErrorResponse, Notification, Request, Response, encode
from ..meta import RequestMeta, check_extension_id
from ..settings import Settings
from ..versions import LATEST, ProtocolVersion
from .catalog import Catalog, ListKind, Resource
from .context import RequestContext
from .failures import Failures
from .inbound import Offer, route
from .lifespan import AnyLifespan, Lifespan
from .methods import HANDLERS, NOTIFICATIONS, StreamOpened
from .push import Changes, ListenStream, MemoryChanges
from .registry import Blueprint, ListChange, Registrar, check_icon
from .results import finish, shape
from .rounds import Sealer, make_sealer
from .scope import RequestScope
from .state import ConnectionState, ServerMode

if TYPE_CHECKING:
    from typing import Unpack

    from ..transport.wsgi import AppOptions, McpApp

log = logging.getLogger("mcpref.server")

T = TypeVar("T")
E = TypeVar("E", bound=Exception)
Result: TypeAlias = dict[str, Any]
#: What a middleware calls to go on: the next middleware, and in the end the method itself.
CallNext: TypeAlias = Callable[[Request, RequestContext], Result]
Middleware: TypeAlias = Callable[[Request, RequestContext, CallNext], Result]
M = TypeVar("M", bound=Middleware)
Told = TypeVar("Told", bound=ToolError | ProtocolError)


class McpServer(Registrar):
    """An MCP server. Register functions on it, then `run` it or mount its `wsgi_app`."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0",
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        instructions: str | None = None,
        mode: ServerMode = ServerMode.STATEFUL,
        secret: str | bytes | Sequence[str | bytes] | None = None,
        logging: bool = True,
        resource_subscriptions: bool = False,
        require_initialized: bool = False,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        settings: Settings | None = None,
        debug: bool = False,
    ) -> None:
        """
        ``secret`` seals what a round that asks for input leaves with the client; a sequence allows rotation (the
        first seals). Default: the environment's ``MCPREF_SECRET``, else a random one, for this process alone.
        ``logging`` declares that `ctx.log` may send messages. ``debug`` shows the text of unexpected
        exceptions to the client: for development only.
        """
        super().__init__()
        info = {"name": name, "version": version}
        for key, value in (
            ("title", title),
            ("description", description),
            ("websiteUrl", website_url),
            ("icons", None if icons is None else [check_icon(icon) for icon in icons]),
        ):
            if value is not None:
                info[key] = value  # type: ignore[assignment]
        self.name = name
        self.instructions = instructions
        self.settings = settings or Settings()
        self.failures = Failures(debug)
        """What clients learn of exceptions."""
        self.changes: Changes = MemoryChanges()
        """Where changes are announced; several processes share one."""
        self._mode = mode
        self._infos = {v: shape("Implementation", info, v) for v in ProtocolVersion}
        self._logging = logging
        self._require_initialized = require_initialized
        self._resource_subscriptions = False
        self._extensions = {key: dict(value) for key, value in (extensions or {}).items()}
        for identifier in self._extensions:
            check_extension_id(identifier)
        self._cache_hints: dict[str, CacheHint] = {}
        self._middleware: tuple[Middleware, ...] = ()
        self._lifespans: list[AnyLifespan] = []
        self._serving = 0
        self._offered: set[str] = set()
        self._catalog: Catalog | None = None
        self._sealer: Sealer | None = None
        self._suggested: object = None
        if secret is not None or "MCPREF_SECRET" in os.environ:
            # Now, so that a bad secret is refused here and not at the first question.
            self._sealer = make_sealer(secret, self.settings, self.name)
        self.bound_state = ConnectionState()
        """The state of a peer whose transport keeps none."""
        if resource_subscriptions:
            self.enable_resource_subscriptions()

    # ---- Configuration --------------------------------------------------------------------------------

    @property
    def mode(self) -> ServerMode:
        """How legacy requests are served; fixed at construction."""
        return self._mode

    def server_info(self, version: ProtocolVersion) -> Mapping[str, Any]:
        """Who this server is, as the revision can say it."""
        return self._infos[version]

    def enable_resource_subscriptions(self) -> None:
        """Let clients watch single resources; announce changes with `notify_resource_updated`."""
        if self._mode is ServerMode.STATELESS:
            raise ValueError(
                "a stateless server cannot remember subscriptions: construct it with mode=ServerMode.STATEFUL"
            )
        self._resource_subscriptions = True
        self._catalog = None

    def require_initialized(self) -> None:
        """Refuse legacy requests before the handshake is complete (off by default)."""
        self._require_initialized = True
        self._catalog = None

    def set_list_cache_hint(self, method: str, hint: CacheHint) -> None:
        """How long clients may keep a list, and who may share it.

        Spec: 2026-07-28 server/utilities/caching#choosing-a-cache-scope
        """
        if method not in LIST_CACHE_METHODS:
            raise ValueError(
                f"{method!r} has no list to cache; one of: {', '.join(sorted(LIST_CACHE_METHODS))}"
            )
        self._cache_hints[method] = hint

    def middleware(self, fn: M, /) -> M:
        """Run ``fn(request, ctx, call_next)`` around every request but ``initialize``, the first outermost.

        The entries of a list result are shared by all requests: replace one to change it, never edit it in place.
        """
        self._middleware = (*self._middleware, fn)
        return fn

    def error_handler(self, exc_type: type[E], /) -> Callable[[Callable[[E], Told]], Callable[[E], Told]]:
        """Say what an exception means to the client: return a `ToolError` or a `ProtocolError`."""

        given: object = exc_type
        if not (isinstance(given, type) and issubclass(given, Exception)):
            raise TypeError(
                f"{exc_type!r} is not a class of exceptions: write @server.error_handler(KeyError)"
            )

        def register(fn: Callable[[E], Told]) -> Callable[[E], Told]:
            self.failures.handlers[exc_type] = fn
            return fn

        return register

    def lifespan(self, fn: Callable[[], Iterator[T]], /) -> Callable[[], T]:
        """Open something once per process; see lifespan.py. Returns a function that gives the value."""
        span = Lifespan(fn)
        self._lifespans.append(span)
        return span

    def include(self, blueprint: Blueprint, /, *, prefix: str = "") -> None:
        """Take in what a blueprint registered; ``prefix`` goes before the names of its tools and prompts."""
        from .including import include

        include(self, blueprint, prefix)

    # ---- What is offered ------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """What is offered now: a snapshot, read without a lock."""
        return self._catalog or self._build_catalog()

    def _build_catalog(self) -> Catalog:
        with self._registry_lock:
            templates = list(self._templates.values())
            catalog = Catalog(
                tools=dict(self._tools),
                resources=dict(self._resources),
                templates=templates,
                prompts=dict(self._prompts),
                completers=dict(self._completers),
                matching=sorted(templates, key=_specificity),
                offer=Offer(self._capabilities(), self._mode, self._require_initialized),
                lists={},
            )
            self._catalog = catalog
        return catalog

    def _capabilities(self) -> Result:
        # Spec: 2026-07-28 server/tools#capabilities MUST declare what is offered. What was offered once stays
        # declared: a client that knows of the feature may ask again for a list that is empty now.
        for name, table in (
            ("tools", self._tools),
            ("prompts", self._prompts),
            ("resources", self._resources or self._templates),
            ("completions", self._completers),
        ):
            if table:
                self._offered.add(name)
        capabilities: Result = {}
        for name in ("tools", "prompts", "resources"):
            if name in self._offered:
                capabilities[name] = {"listChanged": True}
        if self._resource_subscriptions:
            capabilities["resources"] = {"subscribe": True, "listChanged": True}
        if "completions" in self._offered:
            capabilities["completions"] = {}
        if self._logging:
            capabilities["logging"] = {}
        if self._extensions:
            capabilities["extensions"] = self._extensions
        return capabilities

    def _changed(self, change: ListChange | None) -> None:
        self._catalog = None
        if change is not None:
            self.changes.publish({"method": f"notifications/{change}/list_changed"})

    def notify_resource_updated(self, uri: str) -> None:
        """Tell whoever watches this resource that it has changed."""
        self.changes.publish({"method": "notifications/resources/updated", "params": {"uri": uri}})

    def notify_list_changed(self, what: ListChange) -> None:
        """Tell clients to fetch a list again, for lists that depend on more than what is registered."""
        self._changed(what)

    # ---- Serving --------------------------------------------------------------------------------------

    def admit(self, request: Request, ctx: RequestContext, meta: RequestMeta | None = None) -> RequestScope:
        """Check a request and enter it as running. Raises `ProtocolError`; runs no code of the application.

        Whoever admits must `dispatch`, or `release`. ``meta`` is the request's, if it was read already.
        """
        state = self.state_of(ctx)
        found = route(request, state, self.catalog.offer, meta)
        scope = RequestScope(ctx, found, logging_enabled=self._logging)
        # `initialize` cannot be cancelled.
        # Spec: 2024-11-05..2025-11-25 basic/utilities/cancellation#behavior-requirements
        if request.method != "initialize" and not ctx.ends_with_connection:
            scope.tracked = state.track(request.id, scope.token)
        return scope

    def state_of(self, ctx: RequestContext) -> ConnectionState:
        """The state of the peer; all peers whose transport keeps none share one."""
        return ctx.state or self.bound_state

    def release(self, scope: RequestScope) -> None:
        """Take a request out of the in-flight table. Idempotent."""
        if scope.tracked:
            self.state_of(scope).untrack(scope.request_id, scope.token)
            scope.tracked = False

    def dispatch(self, scope: RequestScope) -> Response | ErrorResponse | None:
        """Serve an admitted request. None if it was cancelled by the client, or opened a stream."""
        answer: Response | ErrorResponse
        pid = os.getpid()
        try:
            result = self._call(scope)
            if isinstance(result, StreamOpened):
                return None
            answer = Response(scope.request_id, self._finish(result, scope))
        except BaseException as error:  # also SystemExit: a handler does not end the process
            if os.getpid() != pid:
                os._exit(1)  # a child that the handler forked: the answer is its parent's to give
            answer = ErrorResponse(scope.request_id, self.failures.to_protocol_error(error, scope))
        self.release(scope)
        scope.close()
        # Spec: 2026-07-28 basic/patterns/cancellation#behavior-requirements SHOULD NOT answer
        if scope.token.suppresses_response or scope.inner.is_cancelled:
            return None
        return answer

    def handle(self, message: Request | Notification, ctx: RequestContext) -> Response | ErrorResponse | None:
        """Serve a message in place, on this thread."""
        if isinstance(message, Notification):
            self.notify(message, ctx)
            return None
        try:
            scope = self.admit(message, ctx)
        except ProtocolError as error:
            return ErrorResponse(message.id, error)
        return self.dispatch(scope)

    def notify(self, notification: Notification, ctx: RequestContext) -> None:
        """Take a notification. Never answers, runs no code of the application, ignores what it does not know.

        Spec: 2026-07-28 basic/index#notifications MUST NOT respond
        """
        handler = NOTIFICATIONS.get(notification.method)
        if handler is not None:
            handler(self.state_of(ctx), notification.params or {})

    def _call(self, scope: RequestScope) -> Result:
        handler = HANDLERS[scope.method]
        if not self._middleware or scope.method == "initialize":
            return handler(self, scope, scope.request_message.params or {})

        def innermost(request: Request, ctx: RequestContext) -> Result:
            # Parameters may have been replaced on the way; the context is always the request's own.
            if request is not scope.request_message:
                scope.request_message = Request(scope.request_id, scope.method, request.params)
            return handler(self, scope, request.params or {})

        call: CallNext = innermost
        for fn in reversed(self._middleware):
            call = _bind(fn, call)
        return call(scope.request_message, scope)

    @property
    def has_middleware(self) -> bool:
        """Whether code of the application runs around every request."""
        return bool(self._middleware)

    def _finish(self, result: Result, scope: RequestScope) -> Result:
        version = scope.protocol_version
        if not version.features.result_type:
            return result
        return finish(result, scope.method, version, self._infos[version], self.cache_hint(scope.method))

    def finish_listen(self, stream: ListenStream) -> Result:
        """The result that ends a listen stream, complete."""
        return finish(stream.result(), "subscriptions/listen", LATEST, self._infos[LATEST], _NO_CACHE)

    def cache_hint(self, method: str) -> CacheHint:
        """How long the results of a method may be kept."""
        return self._cache_hints.get(method) or (_PRIVATE if method == "resources/read" else _NO_CACHE)

    def list_page(self, kind: ListKind, scope: RequestScope, params: Mapping[str, Any]) -> Result:
        """One page of a list."""
        cursor = params.get("cursor")
        return self.catalog.page(kind, scope.protocol_version, cursor, self.settings.page_size)

    def encode(self, answer: Response | ErrorResponse) -> bytes:
        """The answer as bytes; one that has no JSON form becomes an internal error."""
        try:
            return encode(answer)
        except Exception as error:  # a value of the application's may raise anything while it is read
            return encode(
                ErrorResponse(answer.id, self.failures.internal_error(error, "a result has no JSON form"))
            )

    # ---- State that travels ---------------------------------------------------------------------------

    @property
    def has_secret(self) -> bool:
        """Whether a secret was given, so that other processes can open what this one seals."""
        return self._sealer is not None and not self._sealer.generated

    def suggest_secret(self, secret: str | bytes | Sequence[str | bytes]) -> None:
        """Seal with this, as a framework's own key, unless a secret was given; the first suggestion counts."""
        sealer = make_sealer(secret, self.settings, self.name)
        with self._registry_lock:
            if not self.has_secret:
                self._sealer, self._suggested = sealer, secret
            differs = self._suggested not in (None, secret)
        if differs:
            log.warning(
                "%s seals with the key of the first application that asked, not of the others", self.name
            )

    @property
    def sealer(self) -> Sealer:
        """Seals and opens the state of rounds; without a secret given, made on first use, for this process."""
        if self._sealer is None:
            sealer = make_sealer(None, self.settings, self.name)
            with self._registry_lock:
                # Two first requests at once must not end up with two random secrets.
                if self._sealer is None:
                    self._sealer = sealer
        return self._sealer

    # ---- Running --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Open every lifespan. Each transport calls it before it serves, and `close` afterwards."""
        with self._registry_lock:
            self._serving += 1
        try:
            for span in self._lifespans:
                span()
        except BaseException:
            self.close()  # what is open already must not stay so
            raise

    def close(self) -> None:
        """The last transport to leave closes every lifespan, the last one opened first."""
        with self._registry_lock:
            self._serving = max(0, self._serving - 1)
            last = self._serving == 0
        if last:
            for span in reversed(self._lifespans):
                span.close()

    @overload
    def run(self, transport: Literal["stdio"] = "stdio") -> None: ...
    @overload
    def run(self, transport: Literal["http"], *, host: str = "127.0.0.1", port: int = 8000) -> None: ...
    def run(self, transport: str = "stdio", *, host: str = "127.0.0.1", port: int = 8000) -> None:
        """Serve until the client goes or a signal comes. HTTP is served by waitress, if it is installed."""
        if transport == "stdio":
            from ..transport.process import run_stdio

            run_stdio(self)
        elif transport == "http":
            from ..transport.http_server import run_http

            main = threading.current_thread() is threading.main_thread()
            run_http(self.wsgi_app(), host, port, signals=main)
        else:
            raise ValueError(f"there is no transport {transport!r}; there are 'stdio' and 'http'")

    def wsgi_app(self, **options: Unpack[AppOptions]) -> McpApp:
        """This server as a WSGI application; the options are `McpApp`'s."""
        from ..transport.wsgi import McpApp

        return McpApp(self, **options)


_NO_CACHE = CacheHint()
# The function behind a resource may look at who asks, and nobody else must be given what it answered.
# Spec: 2026-07-28 server/utilities/caching#security-considerations
_PRIVATE = CacheHint(scope="private")


def _specificity(resource: Resource) -> tuple[int, int, int, str]:
    assert resource.template is not None
    return resource.template.specificity


def _bind(fn: Middleware, call_next: CallNext) -> CallNext:
    def call(request: Request, ctx: RequestContext) -> Result:
        result: object = fn(request, ctx, call_next)
        if not isinstance(result, dict):
            name = getattr(fn, "__qualname__", fn)
            raise TypeError(
                f"the middleware {name} returned {result!r:.100}, not the result of call_next(...)"
            )
        return result

    return call
