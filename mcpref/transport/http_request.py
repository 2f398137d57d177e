"""One HTTP request as WSGI hands it over, and the rungs of the ladder that need no message.

::

    Host . Origin . authentication . (GET, DELETE: version header) . method . Content-Type . Accept . size

Reads ``environ`` directly: wrappers cost more than a whole small call. Raises `HttpRefusal`, which knows its
status; what the message itself gets wrong is found later (http_post.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from ..errors import InvalidRequest, ProtocolError
from ..settings import Settings
from .body_watch import BodyWatch
from .probes import bound_sending, host_socket


class HttpRefusal(Exception):
    """An HTTP answer that ends a request early. An authentication hook may raise it, with its headers."""

    def __init__(
        self,
        status: int,
        message: str | ProtocolError,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.status = status
        self.error = InvalidRequest(message) if isinstance(message, str) else message
        self.headers = dict(headers or {})
        super().__init__(str(message))


#: The headers that WSGI keeps under names of their own.
_UNPREFIXED: Final = ("CONTENT_TYPE", "CONTENT_LENGTH")


class EnvironHeaders(Mapping[str, str]):
    """The request's headers by their names in lower case; nothing is copied until somebody iterates."""

    __slots__ = ("_environ",)

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._environ = environ

    def get(self, name: str, default: Any = None) -> Any:
        key = _key(name)
        value = self._environ.get(key)
        # What WSGI names by itself is there, and empty, also when the client did not send it.
        return default if value is None or (not value and key in _UNPREFIXED) else value

    def __getitem__(self, name: str) -> str:
        value: str | None = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        for key in self._environ:
            if key.startswith("HTTP_"):
                yield key[5:].replace("_", "-").lower()
            elif key in _UNPREFIXED and self._environ[key]:
                yield key.replace("_", "-").lower()

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache(maxsize=128)
def _key(name: str) -> str:
    key = name.upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"


def check_host(environ: Mapping[str, Any], settings: Settings) -> None:
    """Refuse a Host that is not ours: a page of a rebound name would come with its own.

    Never decided by a URL rebuilt from the header: two components could read two meanings.
    """
    if "*" in settings.allowed_hosts:
        return
    host = environ.get("HTTP_HOST", "")
    if not is_allowed_host(host, settings):
        raise HttpRefusal(
            403,
            f"the host {host[:100]!r} is not served here; Settings.allowed_hosts (mcpref serve --allow-host) names "
            "those that are",
        )


def check_origin(environ: Mapping[str, Any], settings: Settings) -> None:
    """Refuse a page of a foreign origin.

    Spec: 2025-11-25 basic/transports#security-warning MUST answer an invalid Origin with 403
    Spec: 2026-07-28 basic/transports/streamable-http#security-endpoint likewise
    """
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and not is_allowed_origin(origin, settings):
        raise HttpRefusal(
            403,
            f"pages of {origin[:100]!r} may not use this server; Settings.allowed_origins names those that may",
        )


def is_allowed_origin(origin: str, settings: Settings) -> bool:
    """Whether pages of this origin may send requests: a listed origin, or one of our own hosts."""
    if "*" in settings.allowed_origins or origin in settings.allowed_origins:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or "*" in settings.allowed_hosts:
        return False
    return is_allowed_host(parts.netloc, settings)


def is_allowed_host(host: str, settings: Settings) -> bool:
    """Whether a Host header, or the host of an origin, is one of ours."""
    name = host_name(host)
    if name in settings.allowed_hosts:
        return True
    return any(
        pattern.startswith(".") and name and (name == pattern[1:] or name.endswith(pattern))
        for pattern in settings.allowed_hosts
    )


@lru_cache(maxsize=128)
def host_name(host: str) -> str:
    """The name in a Host header, without the port; "" if it is not one."""
    host = host.strip().lower()
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        name += bracket
        port = port.removeprefix(":") if port.startswith(":") or not port else "x"
    else:
        name, _, port = host.partition(":")
    if port and not port.isdecimal():
        return ""
    return name.rstrip(".")


def check_content_type(environ: Mapping[str, Any]) -> None:
    """A message is JSON. (It also keeps HTML forms out, which browsers send without asking.)"""
    kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpRefusal(415, f"the Content-Type must be application/json, not {kind[:60]!r}")


@lru_cache(maxsize=128)
def accepts(accept: str | None, kind: str) -> bool:
    """Whether an Accept header admits a media type: exactly, by ``type/*`` or by ``*/*``; nothing said, all admitted.

    Parameters, quality included, do not count.
    """
    if accept is None or not accept.strip():
        return True
    group = kind.partition("/")[0] + "/*"
    admitted = (part.partition(";")[0].strip().lower() for part in accept.split(","))
    return any(part in (kind, group, "*/*") for part in admitted)


def read_body(environ: Mapping[str, Any], settings: Settings, watch: BodyWatch | None = None) -> bytes:
    """The body, bounded: by its declared length, by the limit, and in time where the host shows the connection.

    From then on sending is bounded in time too: hosts do not do that, and a client that does not read would hold a
    thread for ever.
    """
    limit = settings.max_message
    stream = environ["wsgi.input"]
    declared = environ.get("CONTENT_LENGTH")
    if declared:
        try:
            length = int(declared)
        except ValueError:
            length = -1
        if length < 0 or not declared.strip().isdecimal():
            raise HttpRefusal(400, "the Content-Length is not a number")
        if length > limit:
            raise _too_large(limit)
    elif environ.get("wsgi.input_terminated"):
        length = limit + 1  # chunked: the host ends the stream
    else:
        return b""
    sock = host_socket(environ)
    watched = None
    timeout: float | None = None
    if sock is not None:
        timeout = sock.gettimeout()
        sock.settimeout(settings.body_deadline)
        watched = None if watch is None else watch.enter(sock)
    body = b""
    failure: Exception | None = None
    late = False
    try:
        body = _read(stream, length)
    except Exception as error:  # for a body that is no body, each host has an exception of its own
        failure = error
    finally:
        if sock is not None:
            late = watch is not None and watched is not None and watch.leave(watched)
            sock.settimeout(timeout)
            bound_sending(sock, settings.send_timeout)
    complete = failure is None and bool(declared) and len(body) == length
    if isinstance(failure, TimeoutError) or (late and not complete):
        raise HttpRefusal(408, f"the body did not arrive within {settings.body_deadline:g} seconds")
    if failure is not None:
        raise HttpRefusal(400, "the body could not be read")
    if len(body) > limit:
        raise _too_large(limit)
    if declared and len(body) < length:
        raise HttpRefusal(400, f"the body ended after {len(body)} of {length} bytes")
    return body


def _read(stream: Any, length: int) -> bytes:
    whole: bytes = stream.read(length)
    if len(whole) == length or not whole:
        return whole
    chunks = [whole]
    length -= len(whole)
    while length > 0:
        chunk = stream.read(length)
        if not chunk:
            break
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> HttpRefusal:
    return HttpRefusal(413, f"the message is longer than {limit} bytes")


@lru_cache(maxsize=64)
def reason(status: int) -> str:
    """The reason phrase of a status; a hook may give one that nobody has named."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
