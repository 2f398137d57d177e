"""A Django request on its way in: as the WSGI request it came as, with Django's judgement of where it came from.

Hosts are Django's to judge, by ``request.get_host()``: ALLOWED_HOSTS, USE_X_FORWARDED_HOST, and what DEBUG allows.
Origins are judged as Django's CSRF protection does, from which the view is exempt: pages of the very same origin may
come, and those that CSRF_TRUSTED_ORIGINS names; beside them, those of the server's own ``Settings.allowed_origins``.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.http import HttpRequest
from django.utils.http import is_same_domain

from ...server.context import Auth
from ...transport.exchange import Environ
from ...transport.http_request import HttpRefusal

#: Where the environment of a request has the request itself.
REQUEST: Final = "mcpref.django.request"


def environ_of(request: HttpRequest) -> Environ:
    """The environment for the MCP application. Raises `DisallowedHost`, which Django answers with 400."""
    given: Environ | None = getattr(request, "environ", None)
    if given is None:
        raise ImproperlyConfigured(
            "mcpref is served over WSGI, and this request came over ASGI: serve the project with a WSGI server, "
            "such as gunicorn with threads"
        )
    host = request.get_host()
    environ: Environ = {**given, REQUEST: request, "HTTP_HOST": host}
    if environ.get("HTTP_ORIGIN") == f"{request.scheme}://{host}":
        # Our own page. The application knows which hosts there are, but not which of them this request is for.
        del environ["HTTP_ORIGIN"]
    if hasattr(request, "_body") and environ.get("CONTENT_LENGTH"):
        # Somebody has read ``request.body``, and the connection has no more to give. Not so where the length was
        # not declared: there Django reads nothing, and the whole body still waits.
        environ["wsgi.input"] = BytesIO(request.body)
        environ["CONTENT_LENGTH"] = str(len(request.body))
    return environ


class TrustedOrigins(tuple[str, ...]):
    """Origins of ``Settings.allowed_origins``, and those that CSRF_TRUSTED_ORIGINS names, with its wildcards."""

    __slots__ = ()

    def __contains__(self, origin: object) -> bool:
        return super().__contains__(origin) or (isinstance(origin, str) and _is_trusted(origin))


def _is_trusted(origin: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    for trusted in django_settings.CSRF_TRUSTED_ORIGINS:
        if "*" not in trusted:
            if origin == trusted:
                return True
            continue
        scheme, _, pattern = trusted.partition("://")
        if parts.scheme == scheme and is_same_domain(parts.netloc, pattern.lstrip("*")):
            return True
    return False


def user_of(request: HttpRequest) -> Auth | None:
    """Who sent a request, as Django's authentication has it; None for nobody."""
    user: Any = getattr(request, "user", None)
    # Asking loads it, here, on the thread that Django serves the request on.
    if user is None or not user.is_authenticated:
        return None
    return Auth(str(user.pk), user=user)


def principal_of(find: Any, environ: Environ) -> Auth | str | None:
    """Who sent it, as ``find`` says; Django's way to refuse becomes ours."""
    try:
        found: Auth | str | None = find(environ[REQUEST])
    except PermissionDenied as error:
        raise HttpRefusal(403, str(error) or "you may not use this server") from error
    return found
