"""What the tests of the server share: requests of any revision, and a context that keeps what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpref import Auth, McpServer, ProtocolError, ProtocolVersion, RequestContext
from mcpref.cancellation import CancellationToken
from mcpref.jsonrpc import ErrorResponse, Notification, Request, RequestId, Response
from mcpref.meta import MetaKey
from mcpref.server.state import ConnectionState
from mcpref.versions import LATEST_LEGACY, is_modern, parse_version
from tests.threads import PATIENCE as PATIENCE

MODERN = "2026-07-28"
LEGACY = [version.value for version in ProtocolVersion if not is_modern(version)]
VERSIONS = [version.value for version in ProtocolVersion]

FORM: Mapping[str, Any] = {"elicitation": {}}
EVERYTHING: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
}


class LocalContext(RequestContext):
    """One peer's connection: keeps a state, records what is sent, and answers requests from a table."""

    def __init__(
        self,
        version: str = LATEST_LEGACY.value,
        capabilities: Mapping[str, Any] | None = None,
        *,
        answers: Mapping[str, Any] | None = None,
        auth: Auth | None = None,
    ) -> None:
        legacy = LATEST_LEGACY if version == MODERN else ProtocolVersion(version)
        self._state = ConnectionState(legacy, capabilities)
        self._answers = dict(answers or {})
        self._auth = auth
        self.sent: list[Notification] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.cancelled = False

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def auth(self) -> Auth | None:
        return self._auth

    @property
    def has_back_channel(self) -> bool:
        return True

    @property
    def is_cancelled(self) -> bool:
        return self.cancelled

    def send(self, notification: Notification) -> None:
        self.sent.append(notification)

    def request(
        self, method: str, params: Mapping[str, Any], timeout: float, token: CancellationToken | None = None
    ) -> Any:
        self.asked.append((method, dict(params)))
        return self._answers[method]


def meta(
    capabilities: Mapping[str, Any] | None = None, version: object = MODERN, **more: object
) -> dict[str, Any]:
    """The ``_meta`` of a modern request."""
    return {
        MetaKey.PROTOCOL_VERSION: version,
        MetaKey.CLIENT_CAPABILITIES: dict(capabilities or {}),
        MetaKey.CLIENT_INFO: {"name": "tests", "version": "1"},
        **more,
    }


def request(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    id: RequestId = 1,
) -> Request:
    """A request as a client of this revision sends it."""
    sent = dict(params or {})
    parsed = parse_version(version)
    if parsed is not None and is_modern(parsed):
        sent["_meta"] = {**meta(capabilities), **sent.get("_meta", {})}
    return Request(id, method, sent)


def answer(
    server: McpServer,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    ctx: RequestContext | None = None,
) -> Response | ErrorResponse | None:
    """What the server says to one request."""
    ctx = ctx or LocalContext(version, capabilities)
    return server.handle(request(method, params, version=version, capabilities=capabilities), ctx)


def result(
    server: McpServer,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    ctx: RequestContext | None = None,
) -> dict[str, Any]:
    """The result of one request; an error fails the test."""
    found = answer(server, method, params, version=version, capabilities=capabilities, ctx=ctx)
    assert isinstance(found, Response), found
    assert isinstance(found.result, dict)
    return found.result


def refusal(
    server: McpServer,
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    ctx: RequestContext | None = None,
) -> ProtocolError:
    """The error that answers one request; a result fails the test."""
    found = answer(server, method, params, version=version, capabilities=capabilities, ctx=ctx)
    assert isinstance(found, ErrorResponse), found
    return found.error


def call(
    server: McpServer,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    version: str = MODERN,
    capabilities: Mapping[str, Any] | None = None,
    ctx: RequestContext | None = None,
) -> dict[str, Any]:
    """The result of one tool call."""
    params = {"name": name, "arguments": dict(arguments or {})}
    return result(server, "tools/call", params, version=version, capabilities=capabilities, ctx=ctx)


def texts(result: Mapping[str, Any]) -> str:
    """The text blocks of a tool's result, joined."""
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
