"""Sessions of legacy clients: where they begin, whose they are, and how they end.

Spec: 2025-03-26..2025-11-25 basic/transports#session-management
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from typing import Any

import pytest

from mcpref import Auth, McpServer, RequestContext, RequestInfo, ServerMode, Settings
from mcpref.server.state import ConnectionState
from mcpref.transport.seams import Full
from mcpref.transport.sessions import SessionManager
from tests.http.conftest import Serve
from tests.http.support import MODERN, SESSIONS, HttpClient, text
from tests.http.wires import JSON, SSE
from tests.threads import eventually


def make_server(**options: Any) -> McpServer:
    server = McpServer("sessions", **options)

    @server.tool
    def who(ctx: RequestContext) -> str:
        info = ctx.client_info or {}
        return f"{info.get('name')} {ctx.protocol_version} {sorted(ctx.client_capabilities)}"

    @server.tool
    def token(ctx: RequestContext) -> str:
        return ctx.connection_token

    @server.tool
    def level(ctx: RequestContext) -> str:
        assert ctx.state is not None
        return ctx.state.log_level

    return server


def sessions_of(client: HttpClient) -> SessionManager:
    found = client.app.runtime.seams.sessions
    assert isinstance(found, SessionManager)
    return found


@pytest.mark.parity(3)
def test_a_session_has_one_state_that_every_request_finds(serve: Serve) -> None:
    client = serve(make_server())
    one = client.connect("2025-06-18", {"sampling": {}})
    other = client.connect("2025-11-25", {"roots": {}})
    assert one.request("logging/setLevel", {"level": "error"}).status == 200
    for _ in range(2):
        assert text(one.call("who")) == "test 2025-06-18 ['sampling']"
        assert text(other.call("who")) == "test 2025-11-25 ['roots']"
        assert (text(one.call("level")), text(other.call("level"))) == ("error", "info")
    assert len(sessions_of(client)) == 2


@pytest.mark.parity(4)
def test_the_state_of_a_modern_request_ends_with_it(serve: Serve) -> None:
    server = McpServer("modern")
    seen: list[int] = []

    @server.tool
    def marks(ctx: RequestContext) -> str:
        assert ctx.state is not None
        marked = ctx.state.is_subscribed("mark://here")
        ctx.state.subscribe("mark://here")
        seen.append(id(ctx.state))
        return str(marked)

    client = serve(server)
    assert [text(client.call("marks")) for _ in range(2)] == ["False", "False"]
    assert len(seen) == 2

    def left() -> list[object]:
        gc.collect()
        found = [thing for thing in gc.get_objects() if type(thing) is ConnectionState]
        return [state for state in found if state.is_subscribed("mark://here")]

    eventually(lambda: not left())
    assert len(sessions_of(client)) == 0


@pytest.mark.parity(5)
@pytest.mark.req("2025-11-25:http.version-header-default")
def test_a_stateless_server_knows_of_a_request_what_the_request_says(serve: Serve) -> None:
    client = serve(make_server(mode=ServerMode.STATELESS))
    assert "mcp-session-id" not in client.initialize("2025-11-25", {"sampling": {}}).headers
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who"}}
    for header, version in ((None, "2025-03-26"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05")):
        reply = client.post(call, {"MCP-Protocol-Version": header})
        assert text(reply) == f"None {version} []"
    assert len(sessions_of(client)) == 0


@pytest.mark.parity(9)
@pytest.mark.parametrize("question", ["sample", "elicit", "roots"])
def test_a_stateless_server_asks_nobody_anything(serve: Serve, question: str) -> None:
    server = McpServer("stateless", mode=ServerMode.STATELESS)

    @server.tool
    def asks(ctx: RequestContext) -> str:
        if question == "sample":
            ctx.sample({"messages": [], "maxTokens": 1})
        elif question == "elicit":
            ctx.elicit("?", {"type": "object", "properties": {}})
        else:
            ctx.list_roots()
        return "unreachable"

    client = serve(server)
    everything: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {}}
    client.initialize("2025-11-25", everything)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "asks"}}
    reply = client.post(call, {"MCP-Protocol-Version": "2025-11-25"})
    assert (reply.kind, reply.error()["code"]) == (JSON, -32600)


@pytest.mark.parity(12)
@pytest.mark.req(
    "2025-11-25:sessions.assign", "2025-11-25:sessions.id-charset", "2025-11-25:sessions.id-secure"
)
def test_session_ids_are_long_and_new(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serve(make_server())
    ids = [client.initialize().headers["mcp-session-id"] for _ in range(20)]
    assert all(re.fullmatch(r"[0-9a-f]{64}", found) for found in ids)
    assert len(set(ids)) == 20

    drawn: list[int] = []
    import secrets

    def token_hex(size: int) -> str:
        drawn.append(size)
        return "ab" * size

    monkeypatch.setattr(secrets, "token_hex", token_hex)
    assert client.initialize().headers["mcp-session-id"] == "ab" * 32
    assert drawn == [32], "from the system's source of randomness"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def manager(**options: Any) -> tuple[SessionManager, Clock, list[str]]:
    clock, ended = Clock(), list[str]()
    settings: dict[str, Any] = {"idle": 100.0, "limit": 3, "on_end": ended.append, "clock": clock, **options}
    return SessionManager(**settings), clock, ended


@pytest.mark.parity(13)
@pytest.mark.req("2025-11-25:sessions.terminate")
def test_an_idle_session_is_gone_and_a_lookup_keeps_one_alive() -> None:
    sessions, clock, ended = manager()
    kept = sessions.create("2025-11-25", {}, None)
    idle = sessions.create("2025-11-25", {}, None)
    clock.now += 60
    assert sessions.open(kept.id, None) == kept
    clock.now += 39.9
    assert sessions.open(kept.id, None) == kept
    clock.now += 0.2
    assert sessions.open(idle.id, None) is None
    assert ended == [idle.id]
    assert sessions.open(kept.id, None) == kept
    assert len(sessions) == 1


@pytest.mark.parity(13)
def test_a_session_that_is_in_use_does_not_expire() -> None:
    busy = set[str]()
    sessions, clock, ended = manager(is_busy=busy.__contains__)
    session = sessions.create("2025-11-25", {}, None)
    busy.add(session.id)
    clock.now += 1000
    assert sessions.open(session.id, None) is not None
    busy.clear()
    clock.now += 1000
    assert sessions.open(session.id, None) is None
    assert ended == [session.id]


@pytest.mark.parity(14)
def test_a_full_table_lets_the_longest_idle_session_go() -> None:
    busy = set[str]()
    sessions, clock, ended = manager(is_busy=busy.__contains__)
    first, second, third = (sessions.create("2025-11-25", {}, None) for _ in range(3))
    clock.now += 1
    sessions.open(first.id, None)
    fourth = sessions.create("2025-11-25", {}, None)
    assert ended == [second.id]
    busy.update((third.id, first.id))
    sessions.create("2025-11-25", {}, None)
    assert ended == [second.id, fourth.id]
    busy.update(found.session.id for found in sessions._entries.values())
    with pytest.raises(Full, match="3 sessions"):
        sessions.create("2025-11-25", {}, None)
    assert len(sessions) == 3
    assert ended == [second.id, fourth.id]


def test_an_ended_session_never_comes_back() -> None:
    sessions, _, ended = manager()
    session = sessions.create("2025-11-25", {}, "ann")
    assert sessions.update(session.id, level="error", subscribe="a://b")
    assert sessions.subscribed(session.id, "a://b")
    assert sessions.end(session.id)
    assert not sessions.update(session.id, level="debug", initialized=True, subscribe="a://b")
    assert not sessions.subscribed(session.id, "a://b")
    assert not sessions.end(session.id)
    assert sessions.open(session.id, "ann") is None
    assert ended == [session.id]


@pytest.mark.parity(14)
def test_over_the_limit_a_session_ends_or_the_newcomer_is_refused(serve: Serve) -> None:
    client = serve(make_server(settings=Settings(max_sessions=2)))
    one, two = client.connect(), client.connect()
    stream = two.get()
    assert stream.status == 200
    third = client.connect()
    assert one.request("ping").status == 404, "it was idle for longest"
    assert two.request("ping").status == 200, "its stream is open"
    also = third.get()
    assert also.status == 200
    refused = client.initialize()
    assert refused.status == 503
    assert refused.headers["retry-after"]
    assert "mcp-session-id" not in refused.headers


@pytest.mark.parity(15)
@pytest.mark.req("2025-11-25:sessions.404-terminated", "2025-11-25:sessions.delete")
@pytest.mark.parametrize("version", SESSIONS)
def test_delete_ends_a_session(serve: Serve, version: str) -> None:
    client = serve(make_server())
    session, other = client.connect(version), client.connect(version)
    stream = session.get()
    assert stream.status == 200
    reply = session.delete()
    assert (reply.status, reply.body()) == (204, b"")
    stream.body()  # ends
    assert session.delete().status == 404
    assert session.request("ping").status == 404
    assert session.notify("notifications/initialized").status == 404
    assert session.get().status == 404
    assert session.reply("x", {}).status == 404
    assert other.request("ping").status == 200
    assert len(sessions_of(client)) == 1


@pytest.mark.parity(23)
@pytest.mark.parametrize("version", [None, 7, "", ["2025-11-25"]])
def test_a_failed_initialize_leaves_no_session(serve: Serve, version: object) -> None:
    client = serve(make_server())
    reply = client.initialize(version)
    assert (reply.status, reply.error()["code"]) == (200, -32602)
    assert "mcp-session-id" not in reply.headers
    assert len(sessions_of(client)) == 0
    good = client.initialize("2025-11-25")
    assert good.headers["mcp-session-id"]
    assert len(sessions_of(client)) == 1


@pytest.mark.parity(23)
def test_only_initialize_brings_a_session_header(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect()
    replies = [session.request("tools/list"), session.call("who"), session.notify("notifications/x")]
    replies += [
        client.modern("tools/list"),
        client.modern("tools/list", headers={"Mcp-Session-Id": session.id}),
    ]
    assert [reply.status for reply in replies] == [200, 200, 202, 200, 200]
    assert not any("mcp-session-id" in reply.headers for reply in replies)


@pytest.mark.req("2026-07-28:http.ignore-session-id")
@pytest.mark.parametrize("session", ["", "no-such-session", "0" * 64])
def test_a_modern_request_has_no_session(serve: Serve, session: str) -> None:
    reply = serve(make_server()).call("token", headers={"Mcp-Session-Id": session})
    assert reply.status == 200
    assert "mcp-session-id" not in reply.headers
    assert text(reply) == ""


@pytest.mark.parity(16)
def test_a_second_initialize_in_a_session_is_refused(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect("2025-06-18", {"roots": {}})
    again = client.initialize("2025-11-25", {"sampling": {}}, session.headers)
    assert again.error()["code"] == -32600
    assert "mcp-session-id" not in again.headers
    assert text(session.call("who")) == "test 2025-06-18 ['roots']"


@pytest.mark.parity(33)
def test_the_connection_token_is_the_session_id(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect()
    assert text(session.call("token")) == session.id
    assert text(client.call("token")) == ""
    stateless = serve(make_server(mode=ServerMode.STATELESS))
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "token"}}
    assert text(stateless.post(call)) == ""


@pytest.mark.req("2025-11-25:sessions.missing-400")
def test_a_message_without_a_session_is_refused(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect()
    for headers, status in (({"Mcp-Session-Id": None}, 400), ({"Mcp-Session-Id": ""}, 400)):
        reply = session.request("tools/list", headers=headers, id=5)
        assert (reply.status, reply.json()["id"]) == (status, 5)
        assert "initialize" in reply.error()["message"]
        assert session.post({"jsonrpc": "2.0", "method": "notifications/x"}, headers).status == status
    assert session.request("tools/list", headers={"Mcp-Session-Id": "f" * 64}).status == 404
    assert session.request("tools/list", headers={"Mcp-Session-Id": session.id.upper()}).status == 404
    assert session.request("tools/list", headers={"Mcp-Session-Id": f" {session.id}\t"}).status == 200


@pytest.mark.req("2025-11-25:sessions.delete-405", "2025-11-25:http.get-response")
def test_a_stateless_server_has_nothing_to_get_or_delete(serve: Serve) -> None:
    client = serve(make_server(mode=ServerMode.STATELESS))
    for method in ("GET", "DELETE"):
        reply = client.send(method, headers={"Accept": SSE, "MCP-Protocol-Version": "2025-11-25"})
        assert (reply.status, reply.headers["allow"]) == (405, "POST")


def by_header(environ: dict[str, Any]) -> str | None:
    """Believe whoever says who they are: a test's authentication."""
    found: str | None = environ.get("HTTP_X_USER")
    return found


def test_a_session_belongs_to_whoever_opened_it(serve: Serve) -> None:
    client = serve(make_server(), principal=by_header)
    session = client.connect(headers={"X-User": "ann"})
    assert session.request("ping").status == 200
    for stranger in ("bob", None, "Ann"):
        headers = {**session.headers, "X-User": stranger}
        assert session.request("ping", headers=headers).status == 404
        assert client.send("GET", headers={**headers, "Accept": SSE}).status == 404
        assert client.send("DELETE", headers=headers).status == 404
    assert session.request("ping").status == 200


@pytest.mark.parity(60)
def test_a_handler_learns_who_asks(serve: Serve) -> None:
    server = McpServer("auth")

    @server.tool
    def whoami(info: RequestInfo) -> str:
        return "nobody" if info.auth is None else f"{info.auth.subject} {sorted(info.auth.scopes)}"

    @server.tool
    def whoami_too(ctx: RequestContext) -> str:
        return "nobody" if ctx.auth is None else ctx.auth.subject

    def principal(environ: dict[str, Any]) -> Auth | None:
        user = environ.get("HTTP_X_USER")
        return None if user is None else Auth(user, frozenset({"read", "write"}))

    client = serve(server, principal=principal)
    assert text(client.call("whoami", headers={"X-User": "ann"})) == "ann ['read', 'write']"
    assert text(client.call("whoami_too", headers={"X-User": "ann"})) == "ann"
    assert text(client.call("whoami")) == "nobody"
    session = client.connect(headers={"X-User": "bob"})
    assert text(session.call("whoami")) == "bob ['read', 'write']"
    assert text(serve(server).call("whoami", headers={"X-User": "ann"})) == "nobody"


HANDSHAKES: list[tuple[str, Callable[[HttpClient], int]]] = [
    ("legacy", lambda client: client.initialize().status),
    ("modern", lambda client: client.modern("server/discover").status),
]


@pytest.mark.req("2026-07-28:version.dual-era-server")
@pytest.mark.parametrize(("era", "begin"), HANDSHAKES)
def test_both_eras_are_served_on_one_path(serve: Serve, era: str, begin: Callable[[HttpClient], int]) -> None:
    assert begin(serve(make_server())) == 200
    assert begin(serve(make_server(mode=ServerMode.STATELESS))) == 200


def test_a_session_and_modern_requests_do_not_touch(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect("2025-06-18", {"roots": {}})
    assert text(client.call("who", capabilities={"sampling": {}})) == f"None {MODERN} ['sampling']"
    assert text(session.call("who")) == "test 2025-06-18 ['roots']"
