"""Cache hints: how long a result stays fresh, who may share it, and what identifies it.

The server writes hints with `with_cache`, the client reads them with `parse_cache_hint` and files results
under `cache_key`. Neither the cache itself nor the clock it needs is here.

Spec: 2026-07-28 server/utilities/caching
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from .jsonrpc import canonical_json

#: The requests whose complete results carry a hint.
#: Spec: 2026-07-28 server/utilities/caching#cacheable-results
CACHEABLE_METHODS: Final = frozenset(
    {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    }
)

#: Those with one hint for the whole server. Not ``resources/read``: each resource is registered with its own.
LIST_CACHE_METHODS: Final = CACHEABLE_METHODS - {"resources/read"}


@dataclass(frozen=True, slots=True)
class CacheHint:
    """How long a result may be reused, and by whom.

    Spec: 2026-07-28 server/utilities/caching#cacheable-model
    """

    ttl_ms: int = 0
    """Milliseconds from receipt; 0 is stale at once."""
    scope: Literal["public", "private"] = "public"
    """``public`` if the result is the same for every user, ``private`` if it depends on who asks."""

    def __post_init__(self) -> None:
        # The annotations bind only those who run a type checker, and a bad hint would show on the wire alone.
        ttl: object = self.ttl_ms
        scope: object = self.scope
        if isinstance(ttl, bool) or not isinstance(ttl, int):
            raise TypeError(f"ttl_ms must be a whole number of milliseconds, not {ttl!r}")
        if scope not in ("public", "private"):
            raise ValueError(f"scope must be 'public' or 'private', not {scope!r}")


def with_cache(result: Mapping[str, Any], hint: CacheHint) -> dict[str, Any]:
    """A copy of ``result`` that carries the hint; a plain copy if it asks for input.

    Spec: 2026-07-28 server/utilities/caching#time-to-live-ttl-field MUST be 0 or more
    Spec: 2026-07-28 server/utilities/caching#cacheable-results interim results carry no hints
    """
    if result.get("resultType") == "input_required":
        return dict(result)
    return {**result, "ttlMs": max(hint.ttl_ms, 0), "cacheScope": hint.scope}


def parse_cache_hint(result: object) -> CacheHint | None:
    """The hint on a result; None if it has no usable ``ttlMs``.

    A fraction is cut off and a negative time is 0. A scope that is missing or unknown counts as private:
    sharing what was meant for one user would be the worse mistake.

    Spec: 2026-07-28 server/utilities/caching#time-to-live-ttl-field SHOULD treat a negative one as 0
    """
    if not isinstance(result, dict):
        return None
    ttl = result.get("ttlMs")
    if isinstance(ttl, float) and math.isfinite(ttl):
        ttl = int(ttl)
    if isinstance(ttl, bool) or not isinstance(ttl, int):
        return None
    return CacheHint(max(ttl, 0), "public" if result.get("cacheScope") == "public" else "private")


def cache_key(method: str, params: Mapping[str, Any] | None) -> str | None:
    """What identifies the result of a request; None if it may not be cached.

    All parameters count but ``_meta``, which holds what changes with every request (a progress token, a
    trace). One user's private results are kept from another's by separate caches, not by this key.

    Spec: 2026-07-28 server/utilities/caching#cache-key MUST NOT serve a request whose method or parameters
    differ, MUST NOT cache one that carries ``inputResponses`` or ``requestState``
    """
    if method not in CACHEABLE_METHODS:
        return None
    relevant = {name: value for name, value in params.items() if name != "_meta"} if params else {}
    if "inputResponses" in relevant or "requestState" in relevant:
        return None
    return f"{method} {canonical_json(relevant)}"
