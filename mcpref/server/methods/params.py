"""Reading parameters: the one check of untrusted members that a handler needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidParams, InvalidRequest

if TYPE_CHECKING:
    from ..scope import RequestScope


def require_str(params: Mapping[str, Any], name: str) -> str:
    """A member that must be there and be a string."""
    value = params.get(name)
    if type(value) is not str:
        raise InvalidParams(
            f"params.{name} must be a string" if name in params else f"params.{name} is missing"
        )
    return value


def optional_object(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object if it is there; {} if not."""
    value = params.get(name)
    if value is None and name not in params:
        return {}
    if type(value) is not dict:
        raise InvalidParams(f"params.{name} must be an object")
    return value


def check_scopes(needed: frozenset[str], scope: RequestScope, what: str) -> None:
    """An authenticated caller must have been granted what the entry asks for.

    Spec: 2026-07-28 server/tools#security-considerations MUST apply access control
    """
    if needed and scope.auth is not None and not needed <= scope.auth.scopes:
        missing = sorted(needed - scope.auth.scopes)
        raise InvalidRequest(
            f"{what} needs scopes that the caller was not granted: {', '.join(missing)}",
            data={"requiredScopes": sorted(needed)},
        )
