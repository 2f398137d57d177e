"""The result of ``server/discover``: what a server speaks, offers and calls itself.

The server writes it, the client reads it; the reader takes nothing for granted, because it is the first thing
that a client hears from a server it knows nothing about.

Spec: 2026-07-28 server/discover#discoverresult

Pure: no thread, socket or clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .caching import CacheHint, parse_cache_hint, with_cache
from .meta import MetaKey


@dataclass(slots=True)
class DiscoverResult:
    """Revisions, capabilities and identity of a server."""

    supported_versions: list[str]
    """Revisions that a request may name."""
    capabilities: dict[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    """Guidance for models on how to use the server."""
    server_info: dict[str, Any] | None = None
    """An Implementation object: self-reported, so for display and logs only."""
    cache: CacheHint | None = None
    """How long this may be reused; None is written as stale at once."""

    def to_json(self) -> dict[str, Any]:
        """The result as it stands on the wire.

        Spec: 2026-07-28 server/discover#discoverresult SHOULD name the server in ``_meta``
        Spec: 2026-07-28 server/utilities/caching#cacheable-results MUST carry caching hints
        """
        result: dict[str, Any] = {
            "resultType": "complete",
            "supportedVersions": list(self.supported_versions),
            "capabilities": self.capabilities,
        }
        if self.instructions:
            result["instructions"] = self.instructions
        if self.server_info is not None:
            result["_meta"] = {MetaKey.SERVER_INFO: self.server_info}
        return with_cache(result, self.cache or CacheHint())

    @classmethod
    def from_json(cls, result: object) -> DiscoverResult:
        """Read a result. Never raises: what has the wrong type counts as absent.

        Drafts of the revision called the list ``protocolVersions`` and put ``serverInfo`` beside it.
        """
        if not isinstance(result, dict):
            return cls([])
        versions = result.get("supportedVersions")
        if not isinstance(versions, list):
            versions = result.get("protocolVersions")
        meta = _object(result, "_meta") or {}
        instructions = result.get("instructions")
        return cls(
            supported_versions=[v for v in versions if isinstance(v, str)]
            if isinstance(versions, list)
            else [],
            capabilities=_object(result, "capabilities") or {},
            instructions=instructions if isinstance(instructions, str) else None,
            server_info=_object(meta, MetaKey.SERVER_INFO) or _object(result, "serverInfo"),
            cache=parse_cache_hint(result),
        )


def _object(members: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    value = members.get(name)
    return value if isinstance(value, dict) else None
