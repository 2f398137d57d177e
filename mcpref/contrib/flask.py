"""MCP inside a Flask application: one more view, with the application's users, configuration and contexts.

Functions run with `flask.g`, `flask.current_app` and `flask.request` as in any view. One without a context runs in
the view itself. One with a context runs on a worker, in an app context of its own: there it finds the values of
``g`` as they were, and what it adds or replaces is torn down there. So every value is torn down once, by the thread
that made it.

The request's own context stays open while a worker may use what it holds: until the answer is there, or the stream
has ended. A client that goes away ends it too, also under a worker that has not noticed yet.
"""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from http import HTTPMethod
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import flask.globals
from flask import Blueprint, Flask, Request, Response, abort, current_app, g, request
from flask.blueprints import BlueprintSetupState
from flask.ctx import AppContext
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException

from ..page import HEADERS, Page
from ..server.context import Auth
from ..server.core import McpServer
from ..server.embedding import Embedding
from ..settings import Settings
from ..transport.exchange import Environ
from ..transport.http_request import HttpRefusal, check_host, host_name, reason
from ..transport.runtime import Seams
from ..transport.wsgi import McpApp
from .adapting import call_app, secrets_of

log = logging.getLogger("mcpref.contrib")

FlaskPrincipal: TypeAlias = Callable[[], Auth | str | None]

#: Which method may do what is for the endpoint to say, in the protocol's own form.
_METHODS: Final = [method.value for method in HTTPMethod]
#: Where the view leaves what goes around functions, for `McpApp` to find; and a stream, for the request's end.
_EMBEDDING: Final = "mcpref.flask_embedding"
_STREAM: Final = "mcpref.flask_stream"
_missing: Final = object()


class Mcp:
    """Serves an `McpServer` in a Flask application, or in every one that a blueprint is registered on.

    ``Mcp(app, server)``, or with application factories ``mcp = Mcp(server=server)`` and ``mcp.init_app(app)``. Each
    Flask application has sessions, streams and workers of its own.
    """

    def __init__(
        self,
        app: Flask | Blueprint | None = None,
        server: McpServer | None = None,
        *,
        path: str = "/mcp",
        principal: FlaskPrincipal | None = None,
        threads: int | None = None,
        settings: Settings | None = None,
        seams: Callable[[], Seams] | None = None,
        page: bool | None = None,
        carry: Collection[str] | None = None,
        endpoint: str = "mcp",
    ) -> None:
        """
        ``path`` is served with and without a slash at its end, below a blueprint's prefix. ``principal`` is called
        inside the request and says who sent it: an `Auth`, a subject, or None for nobody; it may `flask.abort`.
        ``page`` shows at ``<path>/page/`` what the server offers, for a person (None: as the settings have it).
        ``carry`` names the values of ``g`` that go along to workers (None: all): leave out things that are
        bound to their thread.
        ``endpoint`` is the name for `flask.url_for`; a second `Mcp` of an application gets ``mcp_2``. The rest is
        as for `McpApp`.
        """
        self.server = server
        self._path = "/" + path.strip("/") if path.strip("/") else ""
        self._page = page
        self._endpoint = endpoint
        self._carry = None if carry is None else frozenset(carry)
        if principal is not None and not callable(principal):
            raise TypeError(f"principal is a function that says who sent a request, not {principal!r}")
        self._options: dict[str, Any] = {
            "path": None,
            "page": False,  # it is a view of its own
            "principal": None if principal is None else partial(_who, principal),
            "threads": threads,
            "settings": settings,
            "seams": seams,
            "embedding": lambda environ: environ[_EMBEDDING],
        }
        self._apps: WeakSet[McpApp] = WeakSet()
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask | Blueprint, server: McpServer | None = None) -> None:
        """Serve in ``app``; in a blueprint, in all applications that it will be registered on."""
        server = server or self.server
        if isinstance(app, McpServer):
            raise TypeError("the application comes first: Mcp(app, server)")
        if server is None:
            raise TypeError("Mcp needs a server: Mcp(app, server), or Mcp(server=server) and init_app(app)")
        if isinstance(app, Blueprint):
            app.record(partial(self._register, server))
        else:
            self._register(server, app)

    @property
    def apps(self) -> list[McpApp]:
        """The WSGI applications behind it: one for each place where it is registered."""
        return list(self._apps)

    @property
    def mcp_app(self) -> McpApp:
        """The application behind it, where it is registered once."""
        apps = self.apps
        if len(apps) != 1:
            raise LookupError(f"this Mcp is registered in {len(apps)} places; see its apps")
        return apps[0]

    def close(self, grace: float | None = None) -> bool:
        """End streams, cancel what runs and wait for it; False if something is stuck."""
        for app in self.apps:
            app.begin_close()
        ended = [app.close(grace) for app in self.apps]
        return all(ended)

    def _register(self, server: McpServer, into: Flask | BlueprintSetupState) -> None:
        app: Any
        if isinstance(into, Flask):
            app, subdomain, before = into, None, ""
            rule = path = self._path or "/"
        else:
            app, subdomain = into.app, into.subdomain
            before = f"{into.name_prefix}.{into.name}.".lstrip(".")
            # An empty rule is the prefix itself.
            rule = self._path if into.url_prefix else self._path or "/"
            path = (into.url_prefix or "").rstrip("/") + rule or "/"
        for other in app.url_map.iter_rules():
            if other.rule.rstrip("/") == path.rstrip("/") and other.subdomain == (subdomain or ""):
                raise ValueError(f"{path} leads to {other.endpoint!r} already: give Mcp another path")
        endpoint, number = self._endpoint, 1
        while before + endpoint in app.view_functions:
            number += 1
            endpoint = f"{self._endpoint}_{number}"
        mcp_app = McpApp(server, **self._options)
        self._apps.add(mcp_app)
        if "mcpref" not in app.extensions:
            app.teardown_request(_drop_stream)
        app.extensions.setdefault("mcpref", {})[path] = mcp_app
        place = _Place(mcp_app, self._carry)
        into.add_url_rule(
            rule,
            endpoint,
            place.serve,
            methods=_METHODS,
            provide_automatic_options=False,
            strict_slashes=False,
        )
        if mcp_app.settings.page if self._page is None else self._page:
            below = rule.rstrip("/") + "/page/"
            into.add_url_rule(below, endpoint + "_page", place.show)
            into.add_url_rule(below + "<name>", endpoint + "_page", place.show)


class _Place:
    """The views of one endpoint in one Flask application."""

    def __init__(self, mcp_app: McpApp, carry: frozenset[str] | None) -> None:
        self._mcp_app = mcp_app
        self._carry = carry
        # The endpoint is served with a slash at its end too: so this is right under any prefix.
        self._page = Page("..")
        self._configured = False

    def serve(self, **values: object) -> Response:
        """The endpoint. ``values`` are those of variables in a blueprint's prefix."""
        self._configure()
        embedding = _FlaskEmbedding(self._carry)
        body = _Body(request)
        answer = call_app(self._mcp_app, {**request.environ, "wsgi.input": body, _EMBEDDING: embedding})
        stream = _Stream(answer.body, embedding.lent) if answer.is_stream else None
        response = current_app.response_class(stream or answer.body, answer.status)
        response.headers = Headers(answer.headers)  # in place of the defaults
        if stream is not None:
            request.environ[_STREAM] = stream
            # A hook that reads it to its end would keep it from the client: let it fail instead.
            response.implicit_sequence_conversion = False
            # Called when all hooks are through, while the request's context is still there.
            response.iter_encoded = partial(stream.begin, response)  # type: ignore[method-assign]
        return response

    def show(self, name: str = "", **values: object) -> Response:
        """A file of the page."""
        self._configure()
        try:
            check_host(request.environ, self._mcp_app.settings)
        except HttpRefusal as refusal:
            abort(refusal.status, str(refusal))
        body, kind = self._page.file(name) or abort(404)
        return current_app.response_class(body, headers=dict(HEADERS), content_type=kind)

    def _configure(self) -> None:
        """Take over what the configuration says: at the first request, because it may be filled in late."""
        if self._configured:
            return
        config = current_app.config
        # Two first requests may both do it: they come to the same.
        hosts = config.get("TRUSTED_HOSTS")
        if hosts:
            names = [host_name(name) for name in ([hosts] if isinstance(hosts, str) else hosts)]
            allowed = tuple(name for name in names if name)
            self._mcp_app.settings = replace(self._mcp_app.settings, allowed_hosts=allowed)
        if config.get("SECRET_KEY"):
            keys = [config["SECRET_KEY"], *(config.get("SECRET_KEY_FALLBACKS") or ())]
            self._mcp_app.server.suggest_secret(secrets_of(keys))
        self._configured = True


# ---- The request ------------------------------------------------------------------------------------------


class _Body:
    """``wsgi.input`` for `McpApp`, whether somebody has asked ``flask.request`` for the body before or will after."""

    def __init__(self, request: Request) -> None:
        self._request = request
        # werkzeug makes its stream when somebody first asks for the body in any form, and keeps it there; and what it
        # read, if it was read as a whole. Whoever only looked for a form has read nothing.
        self._asked_before = "stream" in vars(request)
        cached: bytes | None = getattr(request, "_cached_data", None)
        self._is_read = cached is not None
        self._stream: Any
        if cached is not None:
            self._stream = io.BytesIO(cached)
        else:
            self._stream = request.stream if self._asked_before else request.environ["wsgi.input"]
        self._chunks: list[bytes] = []

    def read(self, size: int = -1) -> bytes:
        chunk: bytes = self._stream.read(size)
        if chunk and not self._is_read:
            # Whoever asks later would wait for bytes that never come. There is one chunk as a rule, which is shared.
            self._chunks.append(chunk)
            whole = b"".join(self._chunks)
            if self._asked_before:
                self._request._cached_data = whole
            else:
                self._request.environ["wsgi.input"] = io.BytesIO(whole)
        return chunk


def _who(principal: FlaskPrincipal, environ: Environ) -> Auth | str | None:
    try:
        return principal()
    except HTTPException as error:
        response = error.get_response(environ)
        headers = {
            name: ", ".join(response.headers.getlist(name))
            for name in response.headers.keys()  # noqa: SIM118 - it yields pairs by itself
            if name.lower() not in ("content-type", "content-length")
        }
        status = response.status_code if response.status_code >= 300 else 403
        raise HttpRefusal(status, str(error.description or reason(status)), headers) from None


# ---- Contexts ---------------------------------------------------------------------------------------------


def _request_context() -> Any:
    """The context that came with the request: its own up to Flask 3.1, one for application and request from 3.2."""
    proxy: Any = vars(flask.globals).get("request_ctx", flask.globals.app_ctx)
    return proxy._get_current_object()


class _FlaskEmbedding(Embedding):
    """One request, as Flask sees it. In the view there is nothing to add: its context is there."""

    lent = False
    """Whether a worker has part in the request."""

    def __init__(self, carry: frozenset[str] | None) -> None:
        self._carry = carry

    def on_worker(self) -> AbstractContextManager[object]:
        self.lent = True
        names = [name for name in g if self._carry is None or name in self._carry]
        return _on_worker(_request_context(), {name: g.get(name) for name in names})


@contextmanager
def _on_worker(outer: Any, lent: Mapping[str, object]) -> Iterator[None]:
    context = _WorkerContext(outer)
    for name, value in lent.items():
        setattr(context.g, name, value)
    with context:
        try:
            yield
        finally:
            # What was lent is the request's to tear down. What was replaced or added is not.
            for name, value in lent.items():
                if context.g.get(name, _missing) is value:
                    context.g.pop(name)


class _WorkerContext(AppContext):
    """An app context for a worker.

    Up to Flask 3.1 ``flask.request`` has a context variable of its own, which the pool hands on to the worker. From
    3.2 on it is looked for here. It is shown and not owned: it would be torn down twice.
    """

    def __init__(self, outer: Any) -> None:
        super().__init__(outer.app)
        self.url_adapter = outer.url_adapter
        self._outer = outer

    has_request = True

    @property
    def request(self) -> Any:
        return self._outer.request

    @property
    def session(self) -> Any:
        return self._outer.session

    def copy(self) -> Any:
        return self._outer.copy()


class _Stream:
    """The body of a streaming response, which keeps its request's context open where a worker has part in it.

    Not `flask.stream_with_context`: in Flask 3.1.2 and 3.1.3 that one lets the context be torn down when the view
    returns, and again after the stream (pallets/flask#5804).

    Where no worker has part in it, as in a listen stream, nothing needs the context, and what it holds (a connection
    to a database, perhaps) is not kept from others for as long as a client listens.
    """

    def __init__(self, body: Iterable[bytes], lent: bool) -> None:
        self._body: Any = body
        self._lent = lent
        self._context: Any = None
        self._thread = threading.get_ident()

    def begin(self, response: Response) -> Iterator[bytes]:
        """The response is on its way to the host, who will close it."""
        # No cycles from here on: if the host drops it, that must show at once, and on this thread.
        del request.environ[_STREAM], response.iter_encoded
        if self._lent:
            self._context = _request_context()
            # Flask pops it when it has given the response to the host, and tears down at the last pop.
            self._context.push()
        return response.iter_encoded()

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> bytes:
        try:
            chunk: bytes = next(self._body)
        except StopIteration:
            self._leave()  # now, and not when the host gets to it
            raise
        return chunk

    def close(self) -> None:
        try:
            self._body.close()
        finally:
            self._leave()

    def _leave(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            try:
                context.pop(None)
            except Exception:
                # Everything was sent; what is raised now would cut off its end.
                log.exception("the teardown of a request failed")

    def __del__(self) -> None:
        # A host whose write failed may not come to close it; the body sees to itself.
        if self._context is not None:
            if threading.get_ident() == self._thread:
                self._leave()
            else:  # a context can be popped only where it was pushed
                log.error("the host let a stream go without closing it, and its request is not torn down")


def _drop_stream(error: BaseException | None) -> None:
    """A hook failed, or put another response in its place: a stream that has not begun is closed by nobody else."""
    stream = request.environ.pop(_STREAM, None)
    if stream is not None:
        stream.close()
