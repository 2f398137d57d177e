"""The application inside others: under a prefix, behind a proxy, beside other routes, and asked for its health."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix

from mcpref import McpServer, RequestContext, Settings
from mcpref.transport.wsgi import McpApp
from tests.http.conftest import Serve
from tests.http.support import text


def make_server(**limits: Any) -> McpServer:
    server = McpServer("mounted", settings=Settings(**limits))

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def steps(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "done"

    return server


def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Somebody's application, which shows where it was reached."""
    body = f"site {environ.get('SCRIPT_NAME', '')}|{environ['PATH_INFO']}".encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]


# ---- Prefixes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/mcp", "/mcp/"])
def test_both_slash_forms_of_the_endpoint(serve: Serve, target: str) -> None:
    client = serve(make_server())
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    assert client.post(message, target=target).status == 200


HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@pytest.mark.parametrize("path", ["", "/"])
@pytest.mark.parametrize("target", ["/tools", "/tools/"])
def test_mounted_as_a_whole_under_a_prefix(serve: Serve, path: str, target: str) -> None:
    def mount(app: McpApp) -> Any:
        return DispatcherMiddleware(site, {"/tools": app})

    client = serve(make_server(), path=path, wrap=mount)
    reply = client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}, target=target)
    assert reply.result()["serverInfo"]["name"] == "mounted"
    assert client.send("GET", "/elsewhere").body() == b"site |/elsewhere"


def test_mounted_with_a_path_of_its_own(serve: Serve) -> None:
    client = serve(make_server(), path="/v1/mcp", wrap=lambda app: DispatcherMiddleware(site, {"/api": app}))
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    assert client.post(message, target="/api/v1/mcp").status == 200
    assert client.post(message, target="/api/mcp").status == 404


def test_an_app_that_was_routed_already_takes_every_path(serve: Serve) -> None:
    client = serve(make_server(), path=None)
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    assert client.post(message, target="/any/where").status == 200


def test_the_endpoint_event_of_the_oldest_transport_names_the_prefix(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True, wrap=lambda app: DispatcherMiddleware(site, {"/api": app}))
    reply = client.send("GET", "/api/mcp/sse", {"Accept": "text/event-stream"})
    event = reply.next_event()
    assert event is not None
    assert event.data.startswith("/api/mcp/messages?session=")


# ---- Proxies ------------------------------------------------------------------------------------------


def test_behind_a_proxy_the_host_is_the_one_it_was_asked_for(serve: Serve) -> None:
    client = serve(
        make_server(allowed_hosts=("mcp.example.com",)), wrap=lambda app: ProxyFix(app, x_host=1, x_prefix=1)
    )
    forwarded = {"X-Forwarded-Host": "mcp.example.com", "X-Forwarded-Prefix": "/ai"}
    assert client.modern("tools/list", headers=forwarded).status == 200
    assert client.modern("tools/list", headers={"X-Forwarded-Host": "evil.example"}).status == 403
    assert client.modern("tools/list").status == 403, "the proxy's own name is not served"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("example.com", 200),
        ("mcp.example.com:8443", 200),
        ("a.b.example.com", 200),
        ("notexample.com", 403),
        ("example.com.evil", 403),
        (".example.com", 200),
        ("", 403),
        ("localhost", 403),
    ],
)
def test_a_name_with_a_dot_before_it_admits_all_below_it(serve: Serve, host: str, status: int) -> None:
    client = serve(make_server(allowed_hosts=(".example.com",)))
    assert client.modern("tools/list", headers={"Host": host}).status == status


# ---- Other routes -------------------------------------------------------------------------------------


def test_other_applications_have_paths_of_their_own(serve: Serve) -> None:
    client = serve(make_server(), routes={"/about": site, "/": site})
    assert client.send("GET", "/about").body() == b"site |/about"
    assert client.send("GET", "/about/").body() == b"site |/about/"
    assert client.send("GET", "/", {"Host": "anything"}).body() == b"site |/"
    assert client.send("GET", "/other").status == 404
    assert text(client.call("add", {"a": 1, "b": 2})) == "3"


@pytest.mark.parametrize("host", ["localhost", "10.0.0.7", "balancer.internal"])
def test_health_is_told_to_whoever_asks(serve: Serve, host: str) -> None:
    client = serve(make_server(), health="/healthz")
    reply = client.send("GET", "/healthz", {"Host": host})
    assert (reply.status, reply.body(), reply.kind) == (200, b"ok\n", "text/plain")
    assert client.modern("tools/list", headers={"Host": "balancer.internal"}).status == 403


def test_health_ends_before_the_server_does(serve: Serve) -> None:
    client = serve(make_server(), health="/healthz")
    assert client.send("GET", "/healthz").status == 200
    client.app.begin_close()
    assert client.send("GET", "/healthz").status == 503
    assert client.modern("tools/list").status == 503
    assert client.app.close()
    assert client.send("GET", "/healthz").status == 503


def test_health_is_bad_where_the_server_cannot_start(serve: Serve) -> None:
    server = make_server()
    broken = [True]

    @server.lifespan
    def database() -> Any:
        if broken:
            raise RuntimeError("no database")
        yield "database"

    client = serve(server, health="/healthz")
    assert client.send("GET", "/healthz").status == 503
    broken.clear()
    assert client.send("GET", "/healthz").status == 200


# ---- The page -----------------------------------------------------------------------------------------


def test_the_page_is_off_unless_asked_for(serve: Serve) -> None:
    assert serve(make_server()).send("GET", "/").status == 404


@pytest.mark.parametrize("by", ["option", "settings"])
def test_the_page_and_its_files(serve: Serve, by: str) -> None:
    client = serve(make_server(), page=True) if by == "option" else serve(make_server(page=True))
    reply = client.send("GET", "/")
    assert (reply.status, reply.kind) == (200, "text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert client.send("GET", "/page.js").status == 200
    assert client.send("GET", "/nothing.js").status == 404
    assert client.send("GET", "/../settings.py").status == 404
    assert client.send("GET", "/", {"Host": "evil.example"}).status == 403
    assert client.send("POST", "/").status == 404
    head = client.send("HEAD", "/")
    assert (head.status, head.body()) == (200, b"")


def test_the_option_overrides_the_settings(serve: Serve) -> None:
    assert serve(make_server(page=True), page=False).send("GET", "/").status == 404


@pytest.mark.parametrize("hosts", ["socket"], indirect=True)  # the lint wants a URL where a path will do
def test_the_page_under_a_prefix_loads_what_lies_beside_it(serve: Serve) -> None:
    client = serve(make_server(), page=True, wrap=lambda app: DispatcherMiddleware(site, {"/demo": app}))
    moved = client.send("GET", "/demo")
    assert (moved.status, moved.headers["location"]) == (308, "/demo/")
    assert client.send("GET", "/demo/").status == 200
    assert client.send("GET", "/demo/page.css").status == 200


def test_a_page_needs_a_place_beside_the_endpoint() -> None:
    with pytest.raises(ValueError, match="page=True"):
        make_server().wsgi_app(path="", page=True)
    assert not make_server(page=True).wsgi_app(path="").has_page, "a setting is for apps that have a place"
    with pytest.raises(ValueError, match="legacy_sse"):
        make_server().wsgi_app(path=None, legacy_sse=True)
