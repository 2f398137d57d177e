"""How a client and a server get to know each other: ``initialize`` (legacy) and ``server/discover`` (modern).

Spec: 2024-11-05..2025-11-25 basic/lifecycle
Spec: 2026-07-28 server/discover
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...discovery import DiscoverResult
from ...errors import InvalidParams
from ...jsonrpc import encode_json
from ...versions import MODERN_VERSIONS, negotiate
from ..results import shape
from ..state import ServerMode

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope
    from ..state import ConnectionState

log = logging.getLogger("mcpref.server")


#: What a client may say about itself, in bytes.
MAX_CLIENT: Final = 64 * 1024


def initialize(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Open a legacy connection.

    Spec: 2024-11-05..2025-11-25 basic/lifecycle#initialization
    """
    requested = params.get("protocolVersion")
    if type(requested) is not str or not requested:
        raise InvalidParams("params.protocolVersion must be a version string such as '2025-11-25'")
    capabilities = params.get("capabilities")
    client_info = params.get("clientInfo")
    # Kept for as long as the connection lives, so they must be of a sane size.
    if len(encode_json([capabilities, client_info])) > MAX_CLIENT:
        raise InvalidParams(f"capabilities and clientInfo together may have at most {MAX_CLIENT} bytes")
    version = negotiate(requested)
    state = server.state_of(scope)
    state.negotiate(
        version,
        capabilities if type(capabilities) is dict else {},
        client_info if type(client_info) is dict else None,
        # A stateless server keeps nothing, so there is nothing that a second handshake could upset.
        again=server.mode is ServerMode.STATELESS,
    )
    result: dict[str, Any] = {
        "protocolVersion": version.value,
        "capabilities": shape("ServerCapabilities", server.catalog.capabilities, version),
        "serverInfo": server.server_info(version),
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result


def ping(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Answer at once with nothing.

    Spec: 2024-11-05..2025-11-25 basic/utilities/ping#behavior-requirements
    """
    return {}


def discover(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Say what this server is and can do, to a client that has not asked for anything yet.

    Spec: 2026-07-28 server/discover MUST be implemented
    """
    version = scope.protocol_version
    return DiscoverResult(
        supported_versions=list(MODERN_VERSIONS),
        capabilities=dict(shape("ServerCapabilities", server.catalog.capabilities, version)),
        instructions=server.instructions,
        server_info=dict(server.server_info(version)),
        cache=server.cache_hint("server/discover"),
    ).to_json()


def initialized(state: ConnectionState, params: Mapping[str, Any]) -> None:
    """The client is ready."""
    state.mark_initialized()


def cancelled(state: ConnectionState, params: Mapping[str, Any]) -> None:
    """The client takes a request back. What cannot be found is ignored.

    Spec: 2026-07-28 basic/patterns/cancellation#error-handling
    """
    request_id, reason = params.get("requestId"), params.get("reason")
    if state.cancel(request_id, reason if type(reason) is str else None):
        # Spec: 2026-07-28 basic/patterns/cancellation#implementation-notes SHOULD log the reason
        log.info("the client cancelled request %.100r: %.200r", request_id, reason)
