"""Who is let in, how large a message may be, and where an application may be mounted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from mcpref import McpServer, RequestContext, ServerMode, Settings
from mcpref.transport.runtime import memory_seams
from tests.http.conftest import Serve
from tests.http.support import MODERN, HttpClient, methods, modern_meta, text
from tests.http.wires import JSON, SSE


def make_server(mode: ServerMode = ServerMode.STATEFUL, **settings: Any) -> McpServer:
    server = McpServer("entry", mode=mode, settings=Settings(**settings))

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def steps(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "done"

    @server.tool
    def asks(ctx: RequestContext) -> str:
        return ctx.sample({"messages": [], "maxTokens": 1}).text

    return server


# ---- Host and Origin ----------------------------------------------------------------------------------

HOSTS = [
    ("localhost", True),
    ("localhost:1234", True),
    ("LocalHost", True),
    ("localhost.", True),
    ("127.0.0.1:80", True),
    ("[::1]", True),
    ("[::1]:8000", True),
    ("evil.example", False),
    ("localhost.evil.example", False),
    ("localhost:80.evil.example", False),
    ("localhost@evil.example", False),
    ("127.0.0.1.evil.example", False),
    ("[::1].evil.example", False),
    ("127.0.0.2", False),
    ("::1", False),
    ("", False),
    ("localhost localhost", False),
    ("localhost/evil", False),
]


@pytest.mark.parametrize(("host", "allowed"), HOSTS)
def test_the_host_must_be_this_machine_unless_set(serve: Serve, host: str, allowed: bool) -> None:
    client = serve(make_server())
    for reply in (
        client.modern("tools/list", headers={"Host": host}),
        client.initialize(headers={"Host": host}),
    ):
        assert reply.status == (200 if allowed else 403)
    if not allowed:
        assert "allowed_hosts" in client.modern("tools/list", headers={"Host": host}).error()["message"]
        assert client.send("GET", headers={"Host": host, "Accept": SSE}).status == 403
        assert client.send("DELETE", headers={"Host": host}).status == 403


def test_other_hosts_can_be_allowed(serve: Serve) -> None:
    client = serve(make_server(allowed_hosts=("mcp.example",)))
    assert client.modern("tools/list", headers={"Host": "mcp.example:443"}).status == 200
    assert client.modern("tools/list", headers={"Host": "localhost"}).status == 403
    anywhere = serve(make_server(allowed_hosts=("*",)))
    assert anywhere.modern("tools/list", headers={"Host": "any.example"}).status == 200


ORIGINS = [
    (None, True),
    ("http://localhost", True),
    ("http://localhost:3000", True),
    ("https://127.0.0.1", True),
    ("http://[::1]:5", True),
    ("http://evil.example", False),
    ("http://localhost.evil.example", False),
    ("http://localhost@evil.example", False),
    ("http://user@localhost", False),
    ("https://evil.example#localhost", False),
    ("file://localhost", False),
    ("null", False),
    ("", False),
    ("localhost", False),
    ("http://[", False),
]


@pytest.mark.req("http.origin-validate", "http.origin-403", "http.origin-403-body")
@pytest.mark.parametrize(("origin", "allowed"), ORIGINS)
def test_a_page_of_another_origin_is_refused(serve: Serve, origin: str | None, allowed: bool) -> None:
    client = serve(make_server())
    session = client.connect()
    headers = {"Origin": origin}
    replies = [
        client.modern("tools/list", headers=headers),
        session.request("tools/list", headers=headers),
        client.initialize(headers=headers),
    ]
    if allowed:
        assert [reply.status for reply in replies] == [200, 200, 200]
        return
    replies += [
        session.get(Origin=origin),
        client.send("DELETE", headers={**session.headers, "Origin": origin}),
        session.post({"jsonrpc": "2.0", "method": "notifications/x"}, headers),
    ]
    for reply in replies:
        assert reply.status == 403
        assert reply.json().get("id") is None
        assert "access-control-allow-origin" not in reply.headers
    assert session.request("ping").status == 200, "nothing was done"


def test_other_origins_can_be_allowed(serve: Serve) -> None:
    client = serve(make_server(allowed_origins=("https://app.example",)))
    assert client.modern("tools/list", headers={"Origin": "https://app.example"}).status == 200
    for other in ("https://app.example:444", "http://app.example", "https://sub.app.example"):
        assert client.modern("tools/list", headers={"Origin": other}).status == 403
    anywhere = serve(make_server(allowed_origins=("*",)))
    assert anywhere.modern("tools/list", headers={"Origin": "https://any.example"}).status == 200


# ---- Pages that read answers --------------------------------------------------------------------------

APP = "https://app.example"


def preflight(client: HttpClient, origin: str, asked: str = "content-type, mcp-method") -> Any:
    return client.send(
        "OPTIONS",
        headers={
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": asked,
        },
    )


def test_pages_cannot_read_answers_unless_set(serve: Serve) -> None:
    client = serve(make_server(allowed_origins=(APP,)))
    assert preflight(client, APP).status == 405
    reply = client.modern("tools/list", headers={"Origin": APP})
    assert not any(name.startswith("access-control") for name in reply.headers)


def test_pages_of_an_allowed_origin_can_read_answers(serve: Serve) -> None:
    client = serve(make_server(cors=True, allowed_origins=(APP,)))
    asked = "Content-Type,Mcp-Param-User_Id, MCP-Protocol-Version, bad name, x:y"
    reply = preflight(client, APP, asked)
    assert (reply.status, reply.body()) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == APP
    assert reply.headers["access-control-allow-headers"] == (
        "Content-Type, Mcp-Param-User_Id, MCP-Protocol-Version"
    )
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE"
    assert reply.headers["vary"] == "Origin"

    session = client.initialize(headers={"Origin": APP})
    assert session.headers["access-control-allow-origin"] == APP
    assert "mcp-session-id" in session.headers["access-control-expose-headers"].lower()
    streamed = client.call("steps", progress="p", headers={"Origin": APP})
    assert streamed.headers["access-control-allow-origin"] == APP
    error = client.modern("no/such", headers={"Origin": APP})
    assert (error.status, error.headers["access-control-allow-origin"]) == (404, APP)
    assert "access-control-allow-origin" not in client.modern("tools/list").headers
    assert preflight(client, "https://evil.example").status == 403


def test_a_preflight_needs_no_authentication(serve: Serve) -> None:
    """A browser sends none with it."""
    from mcpref.transport.http_request import HttpRefusal

    def nobody(environ: dict[str, Any]) -> str:
        raise HttpRefusal(401, "who are you?")

    client = serve(make_server(cors=True, allowed_origins=(APP,)), principal=nobody)
    assert preflight(client, APP).status == 204
    assert client.modern("tools/list", headers={"Origin": APP}).status == 401


# ---- Content-Type and size ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [
        ("application/json", True),
        ("Application/JSON", True),
        ("application/json; charset=utf-8", True),
        (" application/json ;x=y", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("multipart/form-data; boundary=x", False),
        ("application/json-rpc", False),
        ("text/json", False),
        ("", False),
    ],
)
def test_a_message_is_json(serve: Serve, kind: str, accepted: bool) -> None:
    reply = serve(make_server()).modern("tools/list", headers={"Content-Type": kind})
    assert reply.status == (200 if accepted else 415)


def padded(size: int) -> bytes:
    """A modern request of exactly this many bytes."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}}
    body = json.dumps(message).encode()
    return body + b" " * (size - len(body))


HEADERS = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list", "Content-Type": JSON}


@pytest.mark.parametrize(("size", "status"), [(1999, 200), (2000, 200), (2001, 413), (9000, 413)])
@pytest.mark.parametrize("how", ["length", "chunked"])
def test_a_message_has_a_largest_size(serve: Serve, size: int, status: int, how: str) -> None:
    client = serve(make_server(max_message=2000))
    body = padded(size)
    if how == "length":
        reply = client.send("POST", headers=HEADERS, body=body)
    else:
        reply = client.send("POST", headers=HEADERS, body=_pieces(body))
    assert reply.status == status
    if status == 413:
        assert "2000" in reply.error()["message"]
    assert client.modern("tools/list").status == 200


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), 700):
        yield body[start : start + 700]


def test_a_body_that_breaks_off_is_refused(serve: Serve) -> None:
    client = serve(make_server())
    body = padded(500)
    reply = client.send("POST", headers={**HEADERS, "Content-Length": "600"}, body=body)
    reply.say_no_more()
    assert reply.status == 400
    assert "500 of 600" in reply.error()["message"]


def test_a_length_bounds_what_is_read(serve: Serve) -> None:
    body = padded(500)
    client = serve(make_server())
    reply = client.send("POST", headers={**HEADERS, "Content-Length": "500"}, body=body + b"more")
    assert reply.status == 200


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "1_0", "0x10", "+5", "5 5"])
def test_a_length_that_is_no_number_is_refused(serve: Serve, length: str) -> None:
    headers = {**HEADERS, "Content-Length": length}
    reply = serve(make_server()).send("POST", headers=headers, body=padded(500))
    assert reply.status == 400
    assert "Content-Length" in reply.error()["message"]


def test_a_post_without_a_body_is_refused(serve: Serve) -> None:
    reply = serve(make_server()).send("POST", headers={**HEADERS, "Content-Length": "0"}, body=b"")
    assert (reply.status, reply.error()["code"]) == (400, -32700)


# ---- Mounting -----------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:http.single-endpoint-post", "2025-11-25:http.single-endpoint")
@pytest.mark.parametrize(
    ("path", "targets"),
    [
        ("/mcp", ["/mcp", "/mcp/"]),
        ("mcp/", ["/mcp", "/mcp/"]),
        ("/a/b", ["/a/b", "/a/b/"]),
        ("/", ["/", ""]),
        ("", ["/"]),
    ],
)
def test_both_forms_of_a_path_are_the_endpoint(serve: Serve, path: str, targets: list[str]) -> None:
    client = serve(make_server(), path=path)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}}
    for target in targets:
        assert client.post(message, HEADERS, target=target or "/").status == 200
    elsewhere = client.post(message, HEADERS, target="/elsewhere")
    assert elsewhere.status == 404
    assert (client.app.path or "/") in elsewhere.error()["message"]


@pytest.mark.parametrize("inner", ["/mcp", "/"])
def test_an_application_works_behind_a_prefix(serve: Serve, inner: str) -> None:
    client = serve(
        make_server(), path=inner, wrap=lambda app: DispatcherMiddleware(NotFound(), {"/tools/v1": app})
    )
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta()}}
    target = f"/tools/v1{inner}"
    assert client.post(message, HEADERS, target=target.rstrip("/")).status == 200
    assert client.post(message, HEADERS, target=target.rstrip("/") + "/").status == 200
    assert client.post(message, HEADERS, target="/mcp").status == 404
    reply = client.initialize()
    assert reply.status == 404


# ---- What the host says of itself ---------------------------------------------------------------------


def test_sessions_of_one_process_are_refused_where_there_are_several(serve: Serve) -> None:
    several = {"wsgi.multiprocess": True}
    client = serve(make_server(), environ=several)
    reply = client.initialize()
    assert "mcp-session-id" not in reply.headers
    assert "several processes" in reply.error()["message"]
    assert text(client.call("add", {"a": 1, "b": 2})) == "3", "modern requests need no session"
    stateless = serve(make_server(ServerMode.STATELESS), environ=several)
    assert stateless.initialize().result()["protocolVersion"] == "2025-11-25"


def test_shared_sessions_are_served_by_several_processes(serve: Serve) -> None:
    def seams() -> Any:
        made = memory_seams(Settings())
        made.in_memory = False
        return made

    client = serve(make_server(), environ={"wsgi.multiprocess": True}, seams=seams)
    assert client.connect().request("tools/list").status == 200


def test_a_host_with_one_thread_serves_plain_requests(serve: Serve) -> None:
    client = serve(make_server(), environ={"wsgi.multithread": False})
    assert text(client.call("add", {"a": 1, "b": 2})) == "3"
    assert methods(client.call("steps", progress="p").messages()) == ["notifications/progress", "result"]
    listen = client.listen({"toolsListChanged": True})
    assert listen.status == 503
    assert "gunicorn --threads" in listen.error()["message"]
    session = client.connect(capabilities={"sampling": {}})
    get = session.get()
    assert get.status == 503
    assert "gunicorn --threads" in get.error()["message"]
    assert "gunicorn --threads" in str(session.call("asks").json())


def test_the_number_of_threads_can_be_told(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make_server()
    client = serve(server, threads=None)
    monkeypatch.setenv("MCPREF_THREADS", "12")
    assert client.app.runtime.budget.threads == 12
    assert serve(make_server(threads=9), threads=None).app.runtime.budget.threads == 9
    monkeypatch.setenv("MCPREF_THREADS", "many")
    with pytest.raises(ValueError, match="MCPREF_THREADS"):
        _ = server.wsgi_app().runtime


def test_too_many_requests_are_refused_before_they_are_read(serve: Serve) -> None:
    client = serve(make_server(max_requests=1))
    assert client.app.runtime.enter()
    try:
        reply = client.modern("tools/list")
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    finally:
        client.app.runtime.leave()
    assert client.modern("tools/list").status == 200
