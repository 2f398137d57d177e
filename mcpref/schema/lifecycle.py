"""``initialize`` and ``server/discover``; ``ping`` has no fields of its own.

Spec: 2024-11-05..2025-11-25 basic/lifecycle#initialization
Spec: 2026-07-28 server/discover
"""

from typing import NotRequired

from .base import (
    CacheableResult,
    ClientCapabilities,
    Implementation,
    RequestParams,
    Result,
    ServerCapabilities,
)


class InitializeRequestParams(RequestParams):
    """The client's half of the handshake. Until 2025-11-25."""

    protocolVersion: str
    capabilities: ClientCapabilities
    clientInfo: Implementation


class InitializeResult(Result):
    """The server's half. Until 2025-11-25."""

    protocolVersion: str
    capabilities: ServerCapabilities
    serverInfo: Implementation
    instructions: NotRequired[str]


class DiscoverResult(CacheableResult):
    """What a server speaks and offers; its name and version are in ``_meta``. Since 2026-07-28."""

    supportedVersions: list[str]
    capabilities: ServerCapabilities
    instructions: NotRequired[str]
