"""The cells that are not ok because of the client, each with its reason."""

from __future__ import annotations

from typing import Final

from .matrix import Limitation

LIMITATIONS: Final[tuple[Limitation, ...]] = ()


def limitation_for(client: str, check: str, revision: str) -> Limitation | None:
    """The entry for a cell, if there is one."""
    for entry in LIMITATIONS:
        if entry.client == client and entry.check == check and revision in entry.revisions:
            return entry
    return None
