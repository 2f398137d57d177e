"""McpApp: every HTTP flavour of MCP as one WSGI application on one path.

The way of a request. Here: the first rungs of the ladder, Host, Origin, authentication, and where it goes::

    POST            http_post.py: one message of either era -> http_running.py: the thread that runs it
    GET, DELETE     http_get.py: streams and sessions (legacy)
    /sse, /messages legacy_sse.py: the transport of 2024-11-05, if asked for

A handler that takes no context runs on the host's thread, and its answer is one JSON body. One that takes a context
runs on a worker, so that it can stream and be cancelled, while the host's thread waits for what it emits.

Spec: 2025-03-26..2025-11-25 basic/transports#streamable-http
Spec: 2026-07-28 basic/transports/streamable-http
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from ..cancellation import Deadline
from ..errors import InternalError
from ..server.context import Auth
from ..server.core import McpServer
from ..server.embedding import Embedding
from ..settings import Settings
from . import hosting
from .exchange import RETRY_AFTER, Environ, Exchange, StartResponse, preflight
from .http_get import get_or_delete
from .http_post import post
from .http_request import HttpRefusal, check_host, check_origin
from .runtime import Runtime, Seams
from .seams import Unavailable

if TYPE_CHECKING:
    from ..page import Page
    from .legacy_sse import LegacySse

log = logging.getLogger("mcpref.transport")

Principal: TypeAlias = Callable[[Environ], Auth | str | None]
WsgiApp: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]


class AppOptions(TypedDict, total=False):
    """What `McpServer.wsgi_app` takes; `McpApp` says what each means."""

    path: str | None
    principal: Principal | None
    seams: Callable[[], Seams] | None
    threads: int | None
    settings: Settings | None
    embedding: Callable[[Environ], Embedding] | None
    legacy_sse: bool
    page: bool | None
    health: str | None
    routes: Mapping[str, WsgiApp] | None


class McpApp:
    """A WSGI application that serves an `McpServer`.

    Several apps of one server share what is registered on it, its changes and its lifespans; sessions, streams and
    workers are each app's own.
    """

    def __init__(
        self,
        server: McpServer,
        *,
        path: str | None = "/mcp",
        principal: Principal | None = None,
        seams: Callable[[], Seams] | None = None,
        threads: int | None = None,
        settings: Settings | None = None,
        embedding: Callable[[Environ], Embedding] | None = None,
        legacy_sse: bool = False,
        page: bool | None = None,
        health: str | None = None,
        routes: Mapping[str, WsgiApp] | None = None,
    ) -> None:
        """
        ``path`` is where the endpoint is; None takes every path, for a framework that has routed already.
        ``principal`` says who sent a request: an `Auth`, a subject, or None for nobody; it may raise `HttpRefusal`
        with 401 or 403. ``seams`` makes what several processes share, once in each. ``threads`` is how many the
        host has. ``settings`` are for what HTTP does, in this app alone. ``embedding`` is what a framework
        puts around functions. ``legacy_sse`` also serves the transport of 2024-11-05, on ``<path>/sse``. ``page``
        shows at ``/`` what the server offers, for a person (None: as the settings have it). ``health`` is a path
        that says 200 while requests are served, to whoever asks. ``routes`` are other applications on paths of
        their own.
        """
        self.server = server
        self.settings: Settings = server.settings if settings is None else settings
        self.path = None if path is None else "/" + path.strip("/") if path.strip("/") else ""
        self._principal = principal
        self._make_seams = seams
        self._threads = threads
        self._embedding = embedding
        self._runtime: Runtime | None = None
        self._lock = threading.Lock()
        self._closing = self._closed = False
        self._health = None if health is None else health.rstrip("/")
        if self._health is not None and (not self._health.startswith("/") or self._health == self.path):
            raise ValueError(f"health is a path of its own, such as /healthz, not {health!r}")
        self._routes = {route.rstrip("/"): app for route, app in (routes or {}).items()}
        self._legacy_sse: LegacySse | None = None
        self._page: Page | None = None
        if legacy_sse:
            if self.path is None or embedding is not None:
                raise ValueError("legacy_sse is served beside a path of its own, not inside a framework")
            from .legacy_sse import LegacySse

            self._legacy_sse = LegacySse(self, self.path)
        if self.settings.page if page is None else page:
            if not self.path:
                if page:
                    raise ValueError(
                        "page=True shows a page at /, where this endpoint itself is: give it a path"
                    )
            else:
                from ..page import Page

                self._page = Page(self.path.removeprefix("/"))
        hosting.register(self)

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

    @property
    def has_page(self) -> bool:
        """Whether there is a page at ``/`` for a person to look at."""
        return self._page is not None

    def hear_of_threads(self, threads: int) -> None:
        """The process says how many its host has; what this app was told itself counts more."""
        if self._runtime is not None and self._runtime.threads_assumed:
            self._runtime.use_threads(threads)

    def begin_close(self) -> None:
        """End streams with their closing result, and cancel what runs; from now on the app answers 503."""
        self._closing = True
        if self._runtime is not None:
            self._runtime.begin_closing()

    def close(self, grace: float | None = None) -> bool:
        """The same, and wait for what runs; False if something is stuck. Answers computed in time are still sent.

        Whoever comes second waits for the first.
        """
        self.begin_close()
        with self._lock:
            runtime, first = self._runtime, not self._closed
            self._closed = True
        if runtime is None:
            return True
        grace = self.settings.shutdown_grace if grace is None else grace
        if not first:
            return runtime.ended.wait(grace)
        try:
            clean = runtime.close(Deadline(grace))
            self.server.close()
        finally:
            runtime.ended.set()
        return clean

    # ---- The request ----------------------------------------------------------------------------------

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "").rstrip("/")
        if self._routes and path in self._routes:
            return self._routes[path](environ, start_response)
        if self._closing and self._runtime is None:
            return _unavailable(start_response)  # it ended before its first request
        try:
            runtime = self.runtime
        except Exception:
            # A lifespan or a store that cannot be opened: nothing of it is the client's business.
            log.exception("the server could not be started; the next request tries again")
            return _unavailable(start_response)
        embedding = None if self._embedding is None else self._embedding(environ)
        exchange = Exchange(environ, start_response, runtime, embedding)
        if environ.get("wsgi.multithread", True) is not runtime.multithread:
            runtime.learn_threads(environ)
        try:
            return self._serve(exchange, path)
        except HttpRefusal as refusal:
            return exchange.error(refusal.status, refusal.error, refusal.headers)
        except Unavailable as error:
            log.error("%s", error)
            return exchange.error(503, InternalError("try again later"), RETRY_AFTER)
        except (Exception, SystemExit):  # a hook of the application's does not end the process either
            log.exception("a request failed in the transport")
            return exchange.error(500, InternalError())

    def _serve(self, exchange: Exchange, path: str) -> Iterable[bytes]:
        environ = exchange.environ
        method = environ["REQUEST_METHOD"]
        if self._health is not None and path == self._health:
            # Before the checks: what asks is often a balancer, by address, and learns nothing else.
            ready = not self._closing
            return exchange.respond(200 if ready else 503, b"ok\n" if ready else b"closing\n", "text/plain")
        check_host(environ, self.settings)
        check_origin(environ, self.settings)
        if self._legacy_sse is not None and path in self._legacy_sse.paths:
            exchange.auth = self._authenticate(exchange)
            return self._legacy_sse.serve(exchange, path, method)
        if self.path is not None and path != self.path:
            return self._elsewhere(exchange, method)
        if method == "OPTIONS" and self.settings.cors:
            return preflight(exchange)
        exchange.auth = self._authenticate(exchange)
        if method == "POST":
            return post(exchange)
        return get_or_delete(exchange, method)

    def _elsewhere(self, exchange: Exchange, method: str) -> Iterable[bytes]:
        """The page, if there is one; or nothing."""
        if self._page is not None and method in ("GET", "HEAD"):
            from ..page import HEADERS

            environ = exchange.environ
            if not environ.get("PATH_INFO"):
                # Mounted under a prefix and asked for without a slash: what it loads lies beside it.
                return exchange.respond(308, headers={"Location": environ.get("SCRIPT_NAME", "") + "/"})
            found = self._page.file(environ["PATH_INFO"].removeprefix("/"))
            if found is not None:
                return exchange.respond(200, *found, headers=HEADERS)
        raise HttpRefusal(404, f"there is nothing here; the MCP endpoint is {self.path or '/'}")

    def _authenticate(self, exchange: Exchange) -> Auth | None:
        if self._principal is None:
            return None
        who = self._principal(exchange.environ)
        return Auth(who) if isinstance(who, str) else who


def _unavailable(start_response: StartResponse) -> Iterable[bytes]:
    start_response("503 Service Unavailable", [("Content-Length", "0"), *RETRY_AFTER.items()])
    return []
