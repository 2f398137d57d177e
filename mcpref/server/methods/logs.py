"""``logging/setLevel``: legacy only; a modern request names its level in ``_meta``.

Spec: 2024-11-05..2025-11-25 server/utilities/logging
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidParams
from ..context import LOG_LEVELS
from .params import require_str

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope


def set_level(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Remember the least severe level that this connection wants."""
    level = require_str(params, "level")
    if level not in LOG_LEVELS:
        # Spec: 2025-11-25 server/utilities/logging#error-handling
        raise InvalidParams(f"params.level must be one of: {', '.join(LOG_LEVELS)}")
    server.state_of(scope).set_log_level(level)
    return {}
