"""The view: a request goes to an `McpApp`, and its answer becomes a Django response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from django.conf import settings as django_settings
from django.db import connections, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from ...page import HEADERS, Page
from ...server.context import Auth
from ...server.core import McpServer
from ...settings import Settings
from ...transport.runtime import Seams
from ...transport.wsgi import McpApp
from ..adapting import WsgiAnswer, call_app, secrets_of
from .embedding import DjangoEmbedding, release_connections
from .incoming import TrustedOrigins, environ_of, principal_of, user_of

View: TypeAlias = Callable[..., HttpResponseBase]
#: Who sent a request: an `Auth`, a subject, or None for nobody. May raise `PermissionDenied` or `HttpRefusal`.
DjangoPrincipal: TypeAlias = Callable[[HttpRequest], Auth | str | None]


def mcp_view(
    server: McpServer,
    *,
    principal: DjangoPrincipal | None = None,
    threads: int | None = None,
    settings: Settings | None = None,
    seams: Callable[[], Seams] | None = None,
) -> View:
    """A view that serves ``server``, with every HTTP method: ``re_path(r"^mcp/?$", mcp_view(server))``.

    ``principal`` says who sent a request, in place of ``request.user``; the rest is as for `McpApp`.
    Nothing is opened before the first request, and then in the process that serves it.
    """
    embedding = DjangoEmbedding()
    settings = server.settings if settings is None else settings
    app = McpApp(
        server,
        path=None,
        principal=partial(principal_of, user_of if principal is None else principal),
        threads=threads,
        settings=replace(
            settings,
            allowed_hosts=("*",),  # Django has judged by then
            allowed_origins=TrustedOrigins(settings.allowed_origins),
        ),
        seams=seams,
        page=False,  # it is a view of its own
        embedding=lambda environ: embedding,
    )
    keyed = False

    def view(request: HttpRequest, **values: object) -> HttpResponseBase:
        # ``values`` are those of variables in the prefix that the routes are included under.
        nonlocal keyed
        environ = environ_of(request)
        if not keyed:
            # Two first requests may both do it: the keys are the same.
            keys = [django_settings.SECRET_KEY, *django_settings.SECRET_KEY_FALLBACKS]
            server.suggest_secret(secrets_of(keys))
            keyed = True
        return respond(call_app(app, environ))

    exempt: Any = csrf_exempt(
        view
    )  # a foreign page is kept out by its origin, and by the type of its content
    for alias in connections:
        # Transactions are around calls (embedding.py). For each database: the decorator alone means the default.
        exempt = transaction.non_atomic_requests(using=alias)(exempt)
    if principal is not None:
        exempt.login_required = False  # who may come is its to say, not LoginRequiredMiddleware's
    exempt.mcp_app = app
    return exempt  # type: ignore[no-any-return]


def page_view(page: Page) -> View:
    """A view that shows a person what the server offers: its files by the name that the route gives."""

    def view(request: HttpRequest, name: str = "", **values: object) -> HttpResponseBase:
        request.get_host()  # refuses what ALLOWED_HOSTS does not name
        found = page.file(name)
        if found is None:
            raise Http404("the page has no such file")
        body, kind = found
        return HttpResponse(body, content_type=kind, headers=HEADERS)

    return require_safe(view)  # type: ignore[no-any-return]


# ---- Responses --------------------------------------------------------------------------------------------


def respond(answer: WsgiAnswer) -> HttpResponseBase:
    """An answer of the application as a response of Django's, with its own headers and no others."""
    response: Any
    if answer.is_stream:
        response = EventStreamResponse(_Events(answer.body), status=answer.status)
    else:
        response = HttpResponse(b"".join(answer.body), status=answer.status)
    del response.headers["Content-Type"]  # Django's default; an answer with a body says its own
    for name, value in answer.headers:
        before = response.headers.get(name)
        response.headers[name] = value if before is None else f"{before}, {value}"
    if answer.is_stream:
        response.headers["Content-Encoding"] = "identity"
    return response


class EventStreamResponse(StreamingHttpResponse):  # type: ignore[misc]
    """An event stream, which no middleware may compress.

    GZipMiddleware would hold events back until its buffer is full. It, and others like it, leave alone what has a
    Content-Encoding. "identity" says that there is none, and so does not go out.
    RFC: 9110 8.4.1 SHOULD NOT be sent
    """

    def items(self) -> list[tuple[str, str]]:
        """The headers as they are sent."""
        return [
            (name, value)
            for name, value in super().items()
            if (name, value) != ("Content-Encoding", "identity")
        ]


class _Events:
    """The body of an event stream. From its first event on, its thread holds no connection while it waits."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._begun = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._begun:
            # Only now: middleware has written its sessions by then.
            self._begun = True
            release_connections()
        chunk: bytes = next(self._events)
        return chunk

    def close(self) -> None:
        """Django calls it in the end, whatever the end was."""
        self._events.close()
