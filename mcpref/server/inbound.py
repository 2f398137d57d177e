"""The ladder: from a request to its route, or to the first thing that is wrong with it.

Rungs, from the first to the last:

1. era: a request is modern when its ``_meta`` has a protocol version or client capabilities, legacy otherwise
2. modern: the required ``_meta`` fields are there (-32602), the version is served (-32022)
3. the method exists in the revision in effect (-32601)
4. legacy: the handshake (a second ``initialize``: -32600; work before it, if the server insists: -32002)
5. the server offers what the method belongs to, in its mode (-32601)

HTTP's own rungs (headers equal body, sessions) stand before and between these in its transport.

Pure: reads the connection's state, changes nothing, runs no handler. So it may run on a reader thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..errors import InvalidParams, InvalidRequest, MethodNotFound, NotInitialized, UnsupportedProtocolVersion
from ..jsonrpc import Request
from ..meta import MetaKey, RequestMeta
from ..versions import LATEST, LATEST_LEGACY, MODERN_VERSIONS, ProtocolVersion, is_modern, parse_version
from .context import LOG_LEVELS
from .state import ConnectionState, ServerMode

#: Served in stateless mode never, because they change what a connection remembers.
_STATEFUL_METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})
#: Allowed before the handshake even where the server insists on it.
_BEFORE_HANDSHAKE: Final = frozenset({"initialize", "ping"})
_NOTHING: Final[Mapping[str, Any]] = {}


class Route(NamedTuple):
    """A request that may be served, and under which rules."""

    request: Request
    version: ProtocolVersion
    """The revision in effect for this request, whatever the connection negotiates meanwhile."""
    modern: bool
    meta: RequestMeta
    client_capabilities: Mapping[str, Any]
    client_info: Mapping[str, Any] | None


class Offer(NamedTuple):
    """What the ladder must know of the server."""

    capabilities: Mapping[str, Any]
    """As declared, with the members that say what each covers."""
    mode: ServerMode
    require_initialized: bool


def route(request: Request, state: ConnectionState, offer: Offer, meta: RequestMeta | None = None) -> Route:
    """Climb the ladder. Raises the `ProtocolError` of the first rung that does not hold.

    ``meta`` is the request's, for a transport that has read it already.
    """
    if meta is None:
        meta = RequestMeta.from_params(request.params)
    if is_modern_request(request, meta, state):
        found = _modern(request, meta)
    else:
        # Spec: 2024-11-05..2025-11-25 basic/lifecycle#operation
        # A stateless server has no back-channel, so what the client declared for one is nothing to it.
        capabilities = state.client_capabilities if offer.mode is ServerMode.STATEFUL else _NOTHING
        found = Route(request, state.negotiated, False, meta, capabilities, state.client_info)
    method = request.method
    row = found.version.client_requests.get(method)
    if row is None:
        raise MethodNotFound(f"revision {found.version} has no method {method[:128]!r}")
    if not found.modern and offer.mode is ServerMode.STATEFUL:
        _check_lifecycle(method, state, offer)
    if row.capability is not None:
        _check_offered(method, row.capability, found.modern, offer)
    return found


def carries_modern_meta(meta: RequestMeta) -> bool:
    """Whether ``_meta`` has what every modern request must have, or half of it: then the rest is missing."""
    return MetaKey.PROTOCOL_VERSION in meta.raw or MetaKey.CLIENT_CAPABILITIES in meta.raw


def is_modern_request(request: Request, meta: RequestMeta, state: ConnectionState) -> bool:
    """Whether a request is to be served statelessly, by its own metadata.

    Spec: 2026-07-28 basic/versioning#compatibility-matrix

    The required members of ``_meta`` decide, whatever their values. Without them, a method that only modern
    revisions have is taken for an incomplete modern request as long as nobody has shaken hands, so that the
    client learns what is missing instead of that the method does not exist.
    """
    if carries_modern_meta(meta):
        return True
    return (
        not state.initialize_processed
        and request.method in LATEST.client_requests
        and request.method not in LATEST_LEGACY.client_requests
    )


def check_required_meta(meta: RequestMeta) -> None:
    """A modern request names its version and its client's capabilities.

    Spec: 2026-07-28 basic/index#meta MUST refuse a request without a required field with -32602
    """
    if meta.protocol_version is None:
        raise InvalidParams(
            f"params._meta needs {MetaKey.PROTOCOL_VERSION!r}, a string such as {MODERN_VERSIONS[-1]!r}"
        )
    if meta.client_capabilities is None:
        raise InvalidParams(f"params._meta needs {MetaKey.CLIENT_CAPABILITIES!r}, an object (empty: none)")


def _modern(request: Request, meta: RequestMeta) -> Route:
    check_required_meta(meta)
    requested, capabilities = str(meta.protocol_version), meta.client_capabilities or {}
    # Spec: 2026-07-28 basic/versioning#protocol-version-negotiation MUST answer -32022
    version = parse_version(requested)
    if version is None or not is_modern(version):
        raise UnsupportedProtocolVersion(requested, MODERN_VERSIONS)
    level = meta.raw.get(MetaKey.LOG_LEVEL)
    if level is not None and (not isinstance(level, str) or level not in LOG_LEVELS):
        raise InvalidParams(f"{MetaKey.LOG_LEVEL!r} must be one of: {', '.join(LOG_LEVELS)}")
    return Route(request, version, True, meta, capabilities, meta.client_info)


def _check_lifecycle(method: str, state: ConnectionState, offer: Offer) -> None:
    if method == "initialize" and state.initialize_processed:
        raise InvalidRequest("already initialized: one initialize per connection")
    if offer.require_initialized and not state.initialized and method not in _BEFORE_HANDSHAKE:
        raise NotInitialized


def _check_offered(method: str, capability: str, modern: bool, offer: Offer) -> None:
    # Spec: 2026-07-28 schema#methodnotfounderror also for a method behind a capability not advertised
    if offer.mode is ServerMode.STATELESS and not modern and method in _STATEFUL_METHODS:
        raise MethodNotFound(
            f"{method} is not served: this server keeps no state between requests",
            data={
                "reason": "the server is stateless; construct it with mode=ServerMode.STATEFUL to serve this"
            },
        )
    name, _, member = capability.partition(".")
    declared = offer.capabilities.get(name)
    if declared is None or (member and not declared.get(member)):
        raise MethodNotFound(f"{method} is not served: the server does not offer {capability!r}")
