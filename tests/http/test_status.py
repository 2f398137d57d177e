"""Which status each situation has, and which of several faults is told: the first rung of the ladder.

Host . Origin . authentication . (GET, DELETE: version header) . method . Content-Type . Accept . size . envelope
. era . required _meta . headers equal body . version known . session . params
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mcpref import McpServer, MissingRequiredClientCapability, RequestInfo, ServerMode, Settings
from mcpref.meta import MetaKey
from mcpref.transport.http_request import HttpRefusal
from tests.http.conftest import Serve
from tests.http.support import BOTH, MODERN, HttpClient, SessionClient, modern_meta
from tests.http.wires import JSON, SSE, Body, Reply

PROBLEM = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"'


def make_server(**options: Any) -> McpServer:
    server = McpServer("status", **options)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def needs(info: RequestInfo) -> str:
        raise MissingRequiredClientCapability({"sampling": {}})

    @server.tool
    def crashes() -> str:
        raise RuntimeError("a secret")

    return server


Situation = Callable[[HttpClient, SessionClient], Reply]
LEGACY_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}
REPLY = {"jsonrpc": "2.0", "id": "x", "result": {}}

#: The table, row by row: the situation, the status, and the code of the error if there is one.
TABLE: list[tuple[str, Situation, int, int | None]] = [
    ("not JSON", lambda c, s: s.post(b"{"), 400, -32700),
    ("not UTF-8", lambda c, s: s.post(b'"\xff"'), 400, -32700),
    ("empty", lambda c, s: s.post(b""), 400, -32700),
    ("no envelope", lambda c, s: s.post({"hello": 1}), 400, -32600),
    ("bad id", lambda c, s: s.post({"jsonrpc": "2.0", "id": None, "method": "ping"}), 400, -32600),
    ("a number", lambda c, s: s.post(5), 400, -32600),
    (
        "unknown version: POST",
        lambda c, s: s.request("ping", headers={"MCP-Protocol-Version": "1999"}),
        400,
        -32022,
    ),
    ("unknown version: note", lambda c, s: s.post(NOTE, {"MCP-Protocol-Version": "1999"}), 400, -32022),
    ("unknown version: reply", lambda c, s: s.post(REPLY, {"MCP-Protocol-Version": "1999"}), 400, -32022),
    ("unknown version: batch", lambda c, s: s.post([NOTE], {"MCP-Protocol-Version": "1999"}), 400, -32022),
    ("unknown version: GET", lambda c, s: s.get(**{"MCP-Protocol-Version": "1999"}), 400, -32022),
    (
        "unknown version: DELETE",
        lambda c, s: c.send("DELETE", headers={**s.headers, "MCP-Protocol-Version": ""}),
        400,
        -32022,
    ),
    (
        "unknown version: initialize",
        lambda c, s: c.initialize(headers={"MCP-Protocol-Version": "x"}),
        400,
        -32022,
    ),
    ("no session id", lambda c, s: c.post(LEGACY_CALL), 400, -32600),
    ("no session id: note", lambda c, s: c.post(NOTE), 400, -32600),
    ("no session id: reply", lambda c, s: c.post(REPLY), 400, -32600),
    ("no session id: GET", lambda c, s: c.send("GET", headers={"Accept": SSE}), 400, -32600),
    ("no session id: DELETE", lambda c, s: c.send("DELETE"), 400, -32600),
    ("unknown session id", lambda c, s: c.post(LEGACY_CALL, {"Mcp-Session-Id": "f" * 64}), 404, -32600),
    ("unknown session id: note", lambda c, s: c.post(NOTE, {"Mcp-Session-Id": "f" * 64}), 404, -32600),
    ("header mismatch", lambda c, s: c.modern("tools/list", headers={"Mcp-Method": "ping"}), 400, -32020),
    ("capability missing", lambda c, s: c.call("needs"), 400, -32021),
    (
        "unsupported version",
        lambda c, s: c.modern(
            "tools/list",
            meta={MetaKey.PROTOCOL_VERSION: "1900-01-01"},
            headers={"MCP-Protocol-Version": "1900-01-01"},
        ),
        400,
        -32022,
    ),
    (
        "required metadata missing",
        lambda c, s: c.modern("ping", meta={MetaKey.CLIENT_CAPABILITIES: 1}),
        400,
        -32602,
    ),
    ("method not found: modern", lambda c, s: c.modern("no/such"), 404, -32601),
    ("method not found: removed", lambda c, s: c.modern("logging/setLevel"), 404, -32601),
    ("method not offered: modern", lambda c, s: c.modern("prompts/list"), 404, -32601),
    ("method not found: legacy", lambda c, s: s.request("no/such"), 200, -32601),
    ("method not offered: legacy", lambda c, s: s.request("prompts/list"), 200, -32601),
    ("notification: legacy", lambda c, s: s.post(NOTE), 202, None),
    ("notification: unknown", lambda c, s: s.notify("notifications/no/such"), 202, None),
    ("notification: modern", lambda c, s: c.post(NOTE, {"MCP-Protocol-Version": MODERN}), 202, None),
    ("response: legacy", lambda c, s: s.post(REPLY), 202, None),
    ("response: modern", lambda c, s: c.post(REPLY, {"MCP-Protocol-Version": MODERN}), 400, -32600),
    ("bad Host", lambda c, s: s.request("ping", headers={"Host": "evil.example"}), 403, -32600),
    ("bad Origin", lambda c, s: s.request("ping", headers={"Origin": "http://evil.example"}), 403, -32600),
    ("DELETE", lambda c, s: s.delete(), 204, None),
    ("DELETE: modern", lambda c, s: c.send("DELETE", headers={"MCP-Protocol-Version": MODERN}), 405, -32600),
    ("GET: modern", lambda c, s: c.send("GET", headers={"MCP-Protocol-Version": MODERN}), 405, -32600),
    ("PUT", lambda c, s: c.send("PUT", headers=s.headers, body=b"{}"), 405, -32600),
    ("OPTIONS", lambda c, s: c.send("OPTIONS", headers=s.headers), 405, -32600),
    ("another path", lambda c, s: c.post(LEGACY_CALL, target="/other"), 404, -32600),
    (
        "wrong Content-Type",
        lambda c, s: s.request("ping", headers={"Content-Type": "text/plain"}),
        415,
        -32600,
    ),
    ("no Content-Type", lambda c, s: s.request("ping", headers={"Content-Type": None}), 415, -32600),
    ("nothing acceptable", lambda c, s: s.request("ping", headers={"Accept": "text/html"}), 406, -32600),
    ("too large", lambda c, s: s.post(b" " * 5000), 413, -32600),
    ("bad params: modern", lambda c, s: c.call("no-such-tool"), 200, -32602),
    ("bad params: legacy", lambda c, s: s.call("no-such-tool"), 200, -32602),
]


@pytest.mark.parity(80)
@pytest.mark.req(
    "2025-11-25:http.post-reject-status",
    "2025-11-25:http.post-reject-body",
    "2025-11-25:http.version-header-400",
    "2026-07-28:http.unknown-method-404",
    "2026-07-28:version.unsupported-http-400",
    "2026-07-28:http.get-delete-405",
    "2026-07-28:headers.mismatch-400",
    "2025-11-25:http.post-202",
    "2026-07-28:http.notification-202",
)
@pytest.mark.parametrize(
    ("situation", "status", "code"),
    [pytest.param(*row[1:], id=row[0].replace(" ", "-")) for row in TABLE],
)
def test_every_situation_has_its_status(
    serve: Serve, situation: Situation, status: int, code: int | None
) -> None:
    client = serve(make_server(settings=Settings(max_message=4000)))
    reply = situation(client, client.connect())
    assert reply.status == status
    if code is None:
        assert reply.body() == b""
    else:
        assert reply.error()["code"] == code
    if status == 405:
        assert reply.headers["allow"] in ("POST", "GET, POST, DELETE")


@pytest.mark.req("2026-07-28:http.notification-reject-status", "2026-07-28:http.notification-reject-body")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Origin": "http://evil.example"}, 403),
        ({"Accept": "text/html"}, 406),
    ],
)
def test_a_notification_that_is_refused_has_a_status(
    serve: Serve, headers: dict[str, str], status: int
) -> None:
    reply = serve(make_server()).post(NOTE, {"MCP-Protocol-Version": MODERN, **headers})
    assert reply.status == status
    assert "id" not in reply.json()


@pytest.mark.parametrize(
    ("version", "null"), [("2025-03-26", True), ("2025-06-18", True), ("2025-11-25", False), (MODERN, False)]
)
def test_an_error_to_nobody_names_no_request(serve: Serve, version: str, null: bool) -> None:
    """The older revisions write null for that, the newer ones leave the id out."""
    body = serve(make_server()).post(b"{", {"MCP-Protocol-Version": version}).json()
    assert body["error"]["code"] == -32700
    assert ("id" in body) is null
    assert body.get("id") is None


def test_head_is_answered_without_a_body(serve: Serve) -> None:
    client = serve(make_server())
    reply = client.send("HEAD", headers=client.connect().headers)
    assert (reply.status, reply.body()) == (405, b"")


def test_no_secret_leaves_in_an_error(serve: Serve) -> None:
    reply = serve(make_server()).call("crashes")
    assert reply.status == 200
    assert b"a secret" not in reply.body()
    assert b"Traceback" not in reply.body()


@pytest.mark.parametrize("status", [401, 403])
def test_authentication_answers_by_itself(serve: Serve, status: int) -> None:
    def principal(environ: Mapping[str, Any]) -> str:
        if "HTTP_AUTHORIZATION" not in environ:
            raise HttpRefusal(status, "who are you?", {"WWW-Authenticate": 'Bearer realm="mcp"'})
        return "ann"

    client = serve(make_server(), principal=principal)
    for reply in (
        client.modern("tools/list"),
        client.initialize(),
        client.send("GET"),
        client.send("DELETE"),
    ):
        assert reply.status == status
        assert reply.headers["www-authenticate"] == 'Bearer realm="mcp"'
    assert client.modern("tools/list", headers={"Authorization": "x"}).status == 200


# ---- The ladder ---------------------------------------------------------------------------------------

MODERN_BODY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 1, "b": 2}, "_meta": modern_meta()},
}
MODERN_HEADERS = {
    "Content-Type": JSON,
    "Accept": BOTH,
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "add",
}


class Draft:
    """A good modern request, to which faults are added."""

    def __init__(self) -> None:
        self.headers: dict[str, str | None] = dict(MODERN_HEADERS)
        self.meta: dict[str, Any] = dict(modern_meta())
        self.params: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}
        self.body: bytes | None = None

    def send(self, client: HttpClient) -> Reply:
        message = {**MODERN_BODY, "params": {**self.params, "_meta": self.meta}}
        if self.body is not None:
            return client.send("POST", headers=self.headers, body=self.body)
        return client.post(message, self.headers)


def _header(name: str, value: str | None) -> Callable[[Draft], None]:
    return lambda draft: draft.headers.update({name: value})


def _meta(name: str, value: Any) -> Callable[[Draft], None]:
    return lambda draft: draft.meta.update({name: value})


def _body(body: bytes) -> Callable[[Draft], None]:
    return lambda draft: setattr(draft, "body", body)


def _unknown_version(draft: Draft) -> None:
    draft.headers["MCP-Protocol-Version"] = "1900-01-01"
    draft.meta[MetaKey.PROTOCOL_VERSION] = "1900-01-01"


#: Faults from the first rung to the last, with what each one is told by.
RUNGS: list[tuple[str, Callable[[Draft], None], int, int]] = [
    ("host", _header("Host", "evil.example"), 403, -32600),
    ("origin", _header("Origin", "http://evil.example"), 403, -32600),
    ("auth", _header("Authorization", "bad"), 401, -32600),
    ("type", _header("Content-Type", "text/plain"), 415, -32600),
    ("accept", _header("Accept", "image/png"), 406, -32600),
    ("size", _body(b"x" * 5000), 413, -32600),
    ("envelope", _body(b"{}"), 400, -32600),
    ("meta", _meta(MetaKey.CLIENT_CAPABILITIES, None), 400, -32602),
    ("mismatch", _header("Mcp-Name", "other"), 400, -32020),
    ("version", _unknown_version, 400, -32022),
    ("params", lambda draft: draft.params.update(arguments={"a": "x"}), 200, 0),
]
PAIRS = [
    pytest.param(first, later, id=f"{first[0]}-before-{later[0]}")
    for place, first in enumerate(RUNGS)
    for later in RUNGS[place + 1 :]
    # A body that is not there has no metadata and no arguments to be wrong.
    if not (first[0] == "size" and later[0] == "envelope")
]


def _refuses_bad(environ: Mapping[str, Any]) -> str | None:
    if environ.get("HTTP_AUTHORIZATION") == "bad":
        raise HttpRefusal(401, "bad token")
    return None


@pytest.mark.parametrize(("first", "later"), PAIRS)
def test_the_first_fault_is_told(
    serve: Serve,
    first: tuple[str, Callable[[Draft], None], int, int],
    later: tuple[str, Callable[[Draft], None], int, int],
) -> None:
    client = serve(make_server(settings=Settings(max_message=4000)), principal=_refuses_bad)
    draft = Draft()
    later[1](draft)
    first[1](draft)
    reply = draft.send(client)
    # A host that says nothing tells the message of the rung apart from its neighbours of the same status.
    alone = Draft()
    first[1](alone)
    expected = alone.send(client).error()
    assert reply.status == first[2]
    assert reply.error()["code"] == expected["code"] == first[3]
    assert reply.error()["message"] == expected["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        # The version header of GET and DELETE comes before the method, which comes before the session.
        ({"MCP-Protocol-Version": "nonsense", "Mcp-Session-Id": "f" * 64}, 400),
        ({"MCP-Protocol-Version": MODERN, "Mcp-Session-Id": "f" * 64}, 405),
        ({"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "f" * 64}, 404),
        ({"MCP-Protocol-Version": "2025-11-25"}, 400),
    ],
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_the_ladder_of_get_and_delete(
    serve: Serve, method: str, headers: dict[str, str], status: int
) -> None:
    client = serve(make_server())
    assert client.send(method, headers={"Accept": SSE, **headers}).status == status


def test_a_get_that_takes_no_events_is_refused_before_its_session_is_looked_for(serve: Serve) -> None:
    headers = {"Accept": JSON, "Mcp-Session-Id": "f" * 64}
    assert serve(make_server()).send("GET", headers=headers).status == 406


def test_an_unknown_version_comes_before_the_method_on_a_stateless_server(serve: Serve) -> None:
    client = serve(make_server(mode=ServerMode.STATELESS))
    for method in ("GET", "DELETE"):
        assert client.send(method, headers={"MCP-Protocol-Version": "x"}).status == 400
        assert client.send(method).status == 405


def test_whoever_is_not_let_in_learns_nothing_of_sessions(serve: Serve) -> None:
    client = serve(make_server(), principal=_refuses_bad)
    session = client.connect()
    for sid in (session.id, "f" * 64):
        headers = {"Authorization": "bad", "Mcp-Session-Id": sid}
        assert session.request("ping", headers=headers).status == 401


def test_legacy_faults_stand_in_the_same_order(serve: Serve) -> None:
    client = serve(make_server(settings=Settings(max_message=4000)))
    unknown = {"Mcp-Session-Id": "f" * 64, "MCP-Protocol-Version": "1999"}
    body: Body = b"{"
    assert client.post(body, {**unknown, "Content-Type": "text/plain", "Accept": "image/*"}).status == 415
    assert client.post(body, {**unknown, "Accept": "image/*"}).status == 406
    assert client.post(b" " * 5000, unknown).status == 413
    assert client.post(body, unknown).error()["code"] == -32700
    assert client.post(LEGACY_CALL, unknown).error()["code"] == -32022
    assert client.post(LEGACY_CALL, {"Mcp-Session-Id": "f" * 64}).status == 404
