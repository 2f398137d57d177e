"""What the adapters for web frameworks share: a WSGI answer as three values, and a framework's key as a secret."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..transport.exchange import Environ
from ..transport.wsgi import McpApp


class WsgiAnswer(NamedTuple):
    """What a WSGI application answered."""

    status: int
    headers: list[tuple[str, str]]
    body: Iterable[bytes]
    """A list, or an event stream with a ``close`` that must be called."""

    @property
    def is_stream(self) -> bool:
        return not isinstance(self.body, list)


def call_app(app: McpApp, environ: Environ) -> WsgiAnswer:
    """Have the application answer a request that a framework has routed to it."""
    begun: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        begun.append((status, headers))

    body = app(environ, start_response)
    status, headers = begun[0]
    return WsgiAnswer(int(status.partition(" ")[0]), headers, body)


def secrets_of(keys: Sequence[str | bytes]) -> list[bytes]:
    """A framework's secret keys as secrets to seal with, the first to seal, the others for what is still about.

    Hashed, because a framework takes keys of any length, and so that no two uses of one key can interact.
    """
    raw = [key.encode() if isinstance(key, str) else key for key in keys if key]
    return [hashlib.sha256(b"mcpref requestState " + key).digest() for key in raw]
