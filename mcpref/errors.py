"""The exceptions of this library, and the table of error codes.

::

    McpError
      ProtocolError      what *we* put on the wire: a code, a message, maybe data
        ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError
        HeaderMismatch, MissingRequiredClientCapability, UnsupportedProtocolVersion
        ResourceNotFound, NotInitialized, UrlElicitationRequired        (each older than 2026-07-28)
      PeerError          an error response we *received*, verbatim
      LocalError         never has a code: nobody sent it and nobody will receive it
        ConnectionClosed, RequestTimeout, RequestCancelled, Busy, InvalidAnswer,
        LocalProtocolError
      ToolError          raised by a tool: becomes a result with ``isError``, not an error response

Three families, because a failure of our own must not be mistaken for one the peer reported.

Spec: 2026-07-28 basic/index#error-codes

Pure code raises `ProtocolError`; only `McpServer` turns one into a response. This module knows nothing
of transports; the HTTP status that goes with a code is in `HTTP_STATUS` because it is part of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

# JSON-RPC: 5.1
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# Spec: 2026-07-28 basic/index#error-codes
HEADER_MISMATCH = -32020
MISSING_REQUIRED_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

# Spec: 2024-11-05..2025-11-25 server/resources#error-handling
# Servers of those revisions also answer a request that comes before the handshake with this number.
RESOURCE_NOT_FOUND = -32002
# Spec: 2025-11-25 client/elicitation#url-elicitation-required-error
URL_ELICITATION_REQUIRED = -32042

#: Every code of the reserved ranges that may be sent, and on which revisions it may be.
DEFINED_CODES: Mapping[int, str] = {
    PARSE_ERROR: "Parse error",
    INVALID_REQUEST: "Invalid request",
    METHOD_NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL_ERROR: "Internal error",
    HEADER_MISMATCH: "Header mismatch",
    MISSING_REQUIRED_CLIENT_CAPABILITY: "Missing required client capability",
    UNSUPPORTED_PROTOCOL_VERSION: "Unsupported protocol version",
    RESOURCE_NOT_FOUND: "Resource not found",
    URL_ELICITATION_REQUIRED: "URL elicitation required",
}

#: HTTP status of an error response on a modern request; every other code travels with 200.
#: Spec: 2026-07-28 basic/transports/streamable-http#server-validation
HTTP_STATUS: Mapping[int, int] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}


def is_reserved_code(code: int) -> bool:
    """Whether ``code`` is set aside for the MCP specification (both sub-ranges).

    Spec: 2026-07-28 basic/index#error-codes MUST NOT allocate new codes in -32000..-32019, nor emit an
    undefined one of -32020..-32099
    """
    return -32099 <= code <= -32000


class McpError(Exception):
    """Base of everything this library raises on purpose."""


class ProtocolError(McpError):
    """An error response to send. Raise it in a handler to answer with exactly this code.

    Application codes lie outside -32768..-32000; an undefined code of the reserved range is refused here,
    where the mistake is made, and not on the wire.
    """

    #: Code of the subclass; an instance of `ProtocolError` itself names its own.
    default_code: ClassVar[int] = INTERNAL_ERROR
    #: The id to answer to, where the message was unreadable but for its id.
    request_id: str | int | None = None

    def __init__(self, message: str = "", *, code: int | None = None, data: object = None) -> None:
        self.code = self.default_code if code is None else code
        if is_reserved_code(self.code) and self.code not in DEFINED_CODES:
            raise ValueError(
                f"error code {self.code} is reserved for the MCP specification, which does not define it; "
                "use a code outside -32768..-32000"
            )
        self.message = message or DEFINED_CODES.get(self.code, "Error")
        self.data = data
        super().__init__(self.message)


class ParseError(ProtocolError):
    """The bytes are not JSON."""

    default_code = PARSE_ERROR


class InvalidRequest(ProtocolError):
    """JSON, but not a JSON-RPC message that may stand here."""

    default_code = INVALID_REQUEST


class MethodNotFound(ProtocolError):
    """The method is unknown, absent from this revision, or behind a capability not offered."""

    default_code = METHOD_NOT_FOUND


class InvalidParams(ProtocolError):
    """The method is fine, its parameters are not."""

    default_code = INVALID_PARAMS


class InternalError(ProtocolError):
    """Something went wrong here; the peer learns no more than that."""

    default_code = INTERNAL_ERROR


class HeaderMismatch(ProtocolError):
    """A mirrored HTTP header is missing, malformed, or differs from the body."""

    default_code = HEADER_MISMATCH


class MissingRequiredClientCapability(ProtocolError):
    """The request needs a client capability that it did not declare.

    Spec: 2026-07-28 basic/index#meta MUST list the missing ones in ``data.requiredCapabilities``
    """

    default_code = MISSING_REQUIRED_CLIENT_CAPABILITY

    def __init__(self, required: Mapping[str, object], message: str = "") -> None:
        super().__init__(
            message or f"this request needs client capabilities it did not declare: {', '.join(required)}",
            data={"requiredCapabilities": dict(required)},
        )


class UnsupportedProtocolVersion(ProtocolError):
    """The request names a revision that this server does not serve.

    Spec: 2026-07-28 basic/versioning#protocol-version-negotiation MUST list the supported ones
    """

    default_code = UNSUPPORTED_PROTOCOL_VERSION

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"protocol version {requested[:64]!r} is not supported; use one of: {', '.join(supported)}",
            data={"supported": list(supported), "requested": requested},
        )


class ResourceNotFound(ProtocolError):
    """No resource has this URI. Sent as -32602 on revisions that no longer know -32002.

    Spec: 2024-11-05..2025-11-25 server/resources#error-handling SHOULD be -32002
    Spec: 2026-07-28 server/resources#error-handling MUST be -32602
    """

    default_code = RESOURCE_NOT_FOUND

    def __init__(self, uri: str) -> None:
        super().__init__(f"no resource has the URI {uri[:200]!r}", data={"uri": uri})


class NotInitialized(ProtocolError):
    """A legacy request came before the handshake, on a server that insists on it."""

    default_code = RESOURCE_NOT_FOUND

    def __init__(self) -> None:
        super().__init__("server not initialized: send initialize and notifications/initialized first")


class UrlElicitationRequired(ProtocolError):
    """The client must first send its user to a URL. Exists in 2025-11-25 alone.

    Spec: 2025-11-25 client/elicitation#url-elicitation-required-error MUST list them in ``data.elicitations``
    """

    default_code = URL_ELICITATION_REQUIRED

    def __init__(self, elicitations: Sequence[Mapping[str, object]], message: str = "") -> None:
        for entry in elicitations:
            if entry.get("mode") != "url" or not entry.get("elicitationId") or not entry.get("url"):
                raise ValueError("each elicitation needs mode 'url', a url and an elicitationId")
        super().__init__(message, data={"elicitations": [dict(entry) for entry in elicitations]})


class PeerError(McpError):
    """An error response that the peer sent; code, message and data are the peer's own words."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(f"the peer answered with error {code}: {message}")


class LocalError(McpError):
    """A failure of this side; it has no code because it is on no wire."""


class ConnectionClosed(LocalError):
    """The peer is gone, or the connection is being closed."""


class RequestTimeout(LocalError):
    """The peer did not answer in time."""


class RequestCancelled(LocalError):
    """The client cancelled the request that this handler serves."""


class Busy(LocalError):
    """A limit on concurrent work was reached; the same call may succeed later."""


class InvalidAnswer(LocalError):
    """The client answered a question with something that does not fit it."""


class LocalProtocolError(LocalError):
    """The caller of this library asked for something the protocol does not allow."""


class ToolError(McpError):
    """Raise it in a tool to tell the model what went wrong: the text reaches the client.

    Spec: 2026-07-28 server/tools#error-handling
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
