"""Exchange: one HTTP request on its way to its response, and the shapes that a response can have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import InternalError, ProtocolError
from ..headers import HeaderName, check_header_name
from ..jsonrpc import ErrorResponse, Request, encode
from ..server.context import Auth
from ..versions import LATEST_LEGACY, parse_version
from .http_request import EnvironHeaders, accepts, is_allowed_origin, reason
from .probes import bound_sending, host_socket

if TYPE_CHECKING:
    from ..server.embedding import Embedding
    from .event_stream import EventIterator
    from .runtime import Runtime

Environ: TypeAlias = dict[str, Any]
StartResponse: TypeAlias = Callable[..., Any]

JSON: Final = "application/json"
SSE: Final = "text/event-stream"
#: When to try again what there was no room for.
RETRY_AFTER: Final[Mapping[str, str]] = {"Retry-After": "1"}


class Exchange:
    """One HTTP request on its way to its response."""

    __slots__ = (
        "auth",
        "embedding",
        "environ",
        "headers",
        "keeps_place",
        "runtime",
        "start_response",
        "takes_json",
        "takes_sse",
    )

    def __init__(
        self,
        environ: Environ,
        start_response: StartResponse,
        runtime: Runtime,
        embedding: Embedding | None = None,
    ) -> None:
        self.environ = environ
        self.headers = EnvironHeaders(environ)
        self.start_response = start_response
        self.runtime = runtime
        self.embedding = embedding
        """What a framework puts around the application's functions."""
        self.auth: Auth | None = None
        self.keeps_place = False
        """Whether the request counts as under way until its stream ends, and not just until its response begins."""
        accept: str | None = environ.get("HTTP_ACCEPT")
        self.takes_json = accepts(accept, JSON)
        self.takes_sse = accepts(accept, SSE)

    @property
    def principal(self) -> str | None:
        return None if self.auth is None else self.auth.subject

    @property
    def version_header(self) -> str | None:
        value = self.environ.get("HTTP_MCP_PROTOCOL_VERSION")
        return None if value is None else value.strip(" \t")

    @property
    def session_id(self) -> str | None:
        value = self.environ.get("HTTP_MCP_SESSION_ID")
        return None if value is None else value.strip(" \t")

    def respond(
        self, status: int, body: bytes = b"", kind: str = JSON, headers: Mapping[str, str] | None = None
    ) -> Iterable[bytes]:
        """A whole response."""
        lines = [("Content-Type", kind)] if body else []
        if self.environ["REQUEST_METHOD"] == "HEAD":
            body = b""  # RFC: 9110 9.3.2 MUST NOT have content
        else:
            lines.append(("Content-Length", str(len(body))))
        lines += self.extra_headers(headers)
        self.start_response(f"{status} {reason(status)}", lines)
        return [body] if body else []

    def nothing(self) -> Iterable[bytes]:
        """The end of a request that gets no answer: an event stream without an event.

        Spec: 2025-03-26..2025-11-25 basic/transports#sending-messages-to-the-server a request MUST be answered by
        JSON or a stream, and only a stream may be empty
        """
        lines = [("Content-Type", SSE), ("Content-Length", "0"), *self.extra_headers(None)]
        self.start_response("200 OK", lines)
        return []

    def stream(self, body: EventIterator, headers: Mapping[str, str] | None = None) -> Iterable[bytes]:
        """A response that is an event stream."""
        sock = host_socket(self.environ)
        if sock is not None:
            bound_sending(sock, self.runtime.settings.send_timeout)
        lines = [
            ("Content-Type", SSE),
            ("Cache-Control", "no-cache"),
            # Spec: 2026-07-28 basic/transports/streamable-http#receiving-messages SHOULD tell proxies not to buffer
            ("X-Accel-Buffering", "no"),
        ]
        self.start_response("200 OK", [*lines, *self.extra_headers(headers)])
        return body

    def error(
        self, status: int, error: ProtocolError, headers: Mapping[str, str] | None = None
    ) -> Iterable[bytes]:
        """A response that carries an error to no request in particular."""
        version = parse_version(self.version_header or "") or LATEST_LEGACY
        keep_null = error.request_id is None and not version.features.optional_error_id
        return self.respond(
            status, encode(ErrorResponse(error.request_id, error, keep_null)), headers=headers
        )

    def extra_headers(self, headers: Mapping[str, str] | None) -> list[tuple[str, str]]:
        lines = list((headers or {}).items())
        settings = self.runtime.settings
        origin = self.environ.get("HTTP_ORIGIN")
        if settings.cors and origin is not None and is_allowed_origin(origin, settings):
            lines += [
                ("Access-Control-Allow-Origin", origin),
                ("Access-Control-Expose-Headers", f"{HeaderName.SESSION_ID}, WWW-Authenticate"),
                ("Vary", "Origin"),
            ]
        return lines


def busy(
    exchange: Exchange, request: Request, why: str = "too many requests are running; try again later"
) -> Iterable[bytes]:
    """There is no room for this request now."""
    error = InternalError(why, data={"reason": "busy"})
    return exchange.respond(503, encode(ErrorResponse(request.id, error)), headers=RETRY_AFTER)


def preflight(exchange: Exchange) -> Iterable[bytes]:
    """Tell a browser what a page may send.

    Names of ``Mcp-Param-*`` headers are not known beforehand, so what was asked for is allowed.
    """
    asked = exchange.environ.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS", "")
    names = (name.strip() for name in asked.split(","))
    allowed = ", ".join(name for name in names if check_header_name(name) is None)
    return exchange.respond(
        204,
        headers={
            "Access-Control-Allow-Methods": "GET, POST, DELETE",
            "Access-Control-Allow-Headers": allowed,
            "Access-Control-Max-Age": "600",
        },
    )
