"""`mcpref.contrib.flask` inside small Flask applications: routing, configuration, users, hooks, contexts."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pytest

pytest.importorskip("flask")

import flask
from flask import Blueprint, Flask, abort, g, request, session
from flask.testing import FlaskClient
from werkzeug.datastructures import Headers, WWWAuthenticate
from werkzeug.exceptions import Unauthorized
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import EnvironBuilder, TestResponse

from mcpref import Auth, Elicit, McpServer, RequestContext, RequestInfo, Settings
from mcpref.contrib.flask import Mcp
from mcpref.meta import MetaKey
from mcpref.page import HEADERS
from mcpref.request_state import BadRequestState, Binding
from mcpref.sse import EventDecoder
from tests.http_robust.clients import ELICITS, LEGACY, MODERN, Client, Connection, modern_message
from tests.http_robust.hosts import FixedThreads, QuietHandler
from tests.threads import eventually, join


def make_server(**options: Any) -> McpServer:
    server = McpServer("small", version="1.0", **options)

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def whoami(info: RequestInfo) -> str:
        return repr(info.auth)

    @server.tool
    def stream(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "streamed"

    @server.tool
    def body() -> str:
        return str(request.get_json()["id"])

    return server


@pytest.fixture
def app() -> Flask:
    return Flask("small")


def post(
    client: FlaskClient,
    tool: str,
    arguments: dict[str, Any] | None = None,
    path: str = "/mcp",
    **options: Any,
) -> TestResponse:
    """A modern call."""
    message = modern_message("tools/call", {"name": tool, "arguments": arguments or {}})
    message["params"]["_meta"][MetaKey.CLIENT_CAPABILITIES] = ELICITS
    message["params"].update(options.pop("more", {}))
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    headers |= {"Accept": "application/json, text/event-stream", **options.pop("headers", {})}
    return client.post(path, json=message, headers=headers, **options)


def answer(response: TestResponse) -> dict[str, Any]:
    """The message that answers, of a body of either form."""
    assert response.status_code == 200, response.data
    if response.mimetype == "application/json":
        found: dict[str, Any] = response.get_json()
        return found
    last: dict[str, Any] = json.loads([event.data for event in EventDecoder().feed(response.data)][-1])
    return last


def text(response: TestResponse) -> str:
    found: str = answer(response)["result"]["content"][0]["text"]
    return found


# ---- Where it is served -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_with_and_without_a_slash(app: Flask, path: str) -> None:
    Mcp(app, make_server())
    assert text(post(app.test_client(), "echo", {"text": "hello"}, path)) == "hello"
    with app.test_request_context():
        assert flask.url_for("mcp") == "/mcp"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "HEAD"])
def test_methods_are_refused_in_the_protocols_form(app: Flask, method: str) -> None:
    Mcp(app, make_server())
    response = app.test_client().open("/mcp", method=method)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, POST, DELETE"
    if method != "HEAD":
        assert response.get_json()["error"]["code"] == -32600


def test_a_notification_has_no_content_type(app: Flask) -> None:
    Mcp(app, make_server())
    client = app.test_client()
    about = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    begun = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
    headers = {"Mcp-Session-Id": begun.headers["Mcp-Session-Id"], "MCP-Protocol-Version": LEGACY}
    told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = client.post("/mcp", json=told, headers=headers)
    assert response.status_code == 202
    assert "Content-Type" not in response.headers


@pytest.mark.parametrize(("given", "path"), [("/", "/"), ("", "/"), ("ai/mcp/", "/ai/mcp"), ("/ai", "/ai/")])
def test_other_paths(app: Flask, given: str, path: str) -> None:
    Mcp(app, make_server(), path=given)
    assert text(post(app.test_client(), "echo", {"text": "hello"}, path)) == "hello"


@pytest.mark.parametrize(
    ("given", "path"), [("/mcp", "/api/mcp"), ("/mcp", "/api/mcp/"), ("/", "/api"), ("", "/api/")]
)
def test_in_a_blueprint(app: Flask, given: str, path: str) -> None:
    blueprint = Blueprint("api", __name__)
    Mcp(blueprint, make_server(), path=given)
    app.register_blueprint(blueprint, url_prefix="/api")
    assert text(post(app.test_client(), "echo", {"text": "hello"}, path)) == "hello"
    with app.test_request_context():
        assert flask.url_for("api.mcp") == path.rstrip("/")


def test_in_a_blueprint_without_a_prefix(app: Flask) -> None:
    blueprint = Blueprint("api", __name__)
    Mcp(blueprint, make_server())
    app.register_blueprint(blueprint)
    assert text(post(app.test_client(), "echo", {"text": "hello"})) == "hello"


def test_in_nested_blueprints_and_with_variables(app: Flask) -> None:
    server = make_server()

    @server.tool
    def tenant(ctx: RequestContext) -> str:
        return str((request.view_args or {})["tenant"])

    outer, inner = Blueprint("outer", __name__), Blueprint("inner", __name__)
    Mcp(inner, server)
    outer.register_blueprint(inner, url_prefix="/ai")
    app.register_blueprint(outer, url_prefix="/<tenant>")
    client = app.test_client()
    assert text(post(client, "tenant", path="/acme/ai/mcp")) == "acme"
    assert text(post(client, "tenant", path="/umbrella/ai/mcp/")) == "umbrella"
    assert "outer.inner.mcp" in app.view_functions


def test_a_blueprint_in_several_apps_and_twice_in_one() -> None:
    """Each place has sessions of its own."""
    blueprint = Blueprint("api", __name__)
    mcp = Mcp(blueprint, make_server())
    one, two = Flask("one"), Flask("two")
    one.register_blueprint(blueprint, url_prefix="/a")
    one.register_blueprint(blueprint, url_prefix="/b", name="again")
    two.register_blueprint(blueprint, url_prefix="/a")
    for app, path in ((one, "/a/mcp"), (one, "/b/mcp"), (two, "/a/mcp")):
        assert text(post(app.test_client(), "echo", {"text": "hello"}, path)) == "hello"
    assert len(mcp.apps) == 3
    with pytest.raises(LookupError, match="3 places"):
        _ = mcp.mcp_app
    assert list(one.extensions["mcpref"]) == ["/a/mcp", "/b/mcp"]
    assert mcp.close(1)
    assert post(two.test_client(), "echo", {"text": "hello"}, "/a/mcp").status_code == 503


def test_with_a_factory() -> None:
    mcp = Mcp(server=make_server())

    def create_app() -> Flask:
        app = Flask("made")
        mcp.init_app(app)
        return app

    one, two = create_app(), create_app()
    assert text(post(one.test_client(), "echo", {"text": "one"})) == "one"
    assert text(post(two.test_client(), "echo", {"text": "two"})) == "two"
    assert one.extensions["mcpref"]["/mcp"] is not two.extensions["mcpref"]["/mcp"]


def test_with_a_server_given_late(app: Flask) -> None:
    mcp = Mcp()
    with pytest.raises(TypeError, match="needs a server"):
        mcp.init_app(app)
    mcp.init_app(app, make_server())
    assert text(post(app.test_client(), "echo", {"text": "late"})) == "late"
    assert mcp.mcp_app is app.extensions["mcpref"]["/mcp"]


def test_an_app_without_a_server(app: Flask) -> None:
    with pytest.raises(TypeError, match="needs a server"):
        Mcp(app)


def test_several_in_one_app(app: Flask) -> None:
    Mcp(app, make_server())
    other = McpServer("other", version="1.0")
    other.tool(lambda: "other", name="which")
    Mcp(app, other, path="/other/mcp")
    client = app.test_client()
    assert text(post(client, "echo", {"text": "small"})) == "small"
    assert text(post(client, "which", path="/other/mcp")) == "other"
    assert {"mcp", "mcp_2"} <= set(app.view_functions)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "mcp"])
def test_a_path_that_is_taken(app: Flask, path: str) -> None:
    Mcp(app, make_server())
    with pytest.raises(ValueError, match="/mcp leads to 'mcp' already"):
        Mcp(app, make_server(), path=path)


def test_a_path_that_the_application_has_taken(app: Flask) -> None:
    app.add_url_rule("/mcp/", "mine", lambda: "mine")
    with pytest.raises(ValueError, match="leads to 'mine' already"):
        Mcp(app, make_server())


def test_below_another_application(app: Flask) -> None:
    """``SCRIPT_NAME`` is not part of the path."""
    Mcp(app, make_server(), page=True)
    client = app.test_client()
    below = {"SCRIPT_NAME": "/below"}
    assert text(post(client, "echo", {"text": "hello"}, environ_overrides=below)) == "hello"


# ---- Configuration ----------------------------------------------------------------------------------------


def test_only_loopback_names_unless_told(app: Flask) -> None:
    Mcp(app, make_server())
    client = app.test_client()
    assert post(client, "echo", {"text": "x"}, headers={"Host": "shop.example"}).status_code == 403
    assert text(post(client, "echo", {"text": "x"}, headers={"Host": "127.0.0.1:5000"})) == "x"


@pytest.mark.parametrize("hosts", [["shop.example"], [".example"], ["shop.example:443"], "shop.example"])
def test_trusted_hosts(app: Flask, hosts: list[str]) -> None:
    Mcp(app, make_server())
    app.config["TRUSTED_HOSTS"] = hosts  # late, as configuration may be
    client = app.test_client()
    assert text(post(client, "echo", {"text": "x"}, headers={"Host": "shop.example:8000"})) == "x"
    assert post(client, "echo", {"text": "x"}, headers={"Host": "localhost"}).status_code in (400, 403)
    own_page = {"Host": "shop.example", "Origin": "https://shop.example"}
    assert text(post(client, "echo", {"text": "x"}, headers=own_page)) == "x"
    foreign = {"Host": "shop.example", "Origin": "https://evil.test"}
    assert post(client, "echo", {"text": "x"}, headers=foreign).status_code == 403


def test_settings_for_this_app_alone(app: Flask) -> None:
    Mcp(app, make_server(), settings=Settings(max_message=1000))
    assert post(app.test_client(), "echo", {"text": "x" * 1000}).status_code == 413


def test_the_limit_of_a_body_is_the_settings(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = 10
    Mcp(app, make_server())
    assert text(post(app.test_client(), "echo", {"text": "x"})) == "x"


def asking_server(**options: Any) -> McpServer:
    server = make_server(**options)

    @server.tool
    def ask(ctx: RequestContext) -> str:
        reply = ctx.ask("sure", Elicit("Sure?", {"type": "object", "properties": {}}))
        return reply.action

    return server


def ask_in(app: Flask) -> str:
    state: str = answer(post(app.test_client(), "ask"))["result"]["requestState"]
    return state


def accept_in(app: Flask, state: str) -> TestResponse:
    responses = {"sure": {"action": "accept", "content": {}}}
    return post(app.test_client(), "ask", more={"requestState": state, "inputResponses": responses})


def keyed_app(server: McpServer, key: str | None, *fallbacks: str) -> Flask:
    app = Flask("keyed")
    Mcp(app, server)
    app.secret_key = key  # late
    app.config["SECRET_KEY_FALLBACKS"] = list(fallbacks)
    return app


def test_the_secret_key_seals_state() -> None:
    """Another process with the same key can go on; one with a new key too, while it knows the old one."""
    state = ask_in(keyed_app(asking_server(), "old"))
    assert text(accept_in(keyed_app(asking_server(), "old"), state)) == "accept"
    assert text(accept_in(keyed_app(asking_server(), "new", "old"), state)) == "accept"
    refused = accept_in(keyed_app(asking_server(), "new"), state)
    assert refused.get_json()["error"]["code"] == -32602


def test_a_secret_that_was_given_counts_more() -> None:
    given = "a secret of the server's own"
    state = ask_in(keyed_app(asking_server(secret=given), "one"))
    assert text(accept_in(keyed_app(asking_server(secret=given), "two"), state)) == "accept"


def test_without_a_secret_one_process_can_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPREF_SECRET", raising=False)
    app = keyed_app(asking_server(), None)
    assert text(accept_in(app, ask_in(app))) == "accept"
    response = post(app.test_client(), "ask", environ_overrides={"wsgi.multiprocess": True})
    assert "one secret" in str(answer_error(response))


def answer_error(response: TestResponse) -> object:
    return response.get_json()["error"]["message"]


# ---- Users ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ("ann", repr(Auth("ann"))),
        (Auth("ann", frozenset({"a"})), repr(Auth("ann", frozenset({"a"})))),
        (None, "None"),
    ],
)
def test_a_principal(app: Flask, who: Any, told: str) -> None:
    app.before_request(lambda: setattr(g, "user", who))
    Mcp(app, make_server(), principal=lambda: g.user)
    assert text(post(app.test_client(), "whoami")) == told


def test_a_principal_that_refuses(app: Flask) -> None:
    def who() -> str:
        challenges = [WWWAuthenticate("basic", {"realm": "a"}), WWWAuthenticate("bearer")]
        raise Unauthorized("who are you?", www_authenticate=challenges)

    Mcp(app, make_server(), principal=who)
    app.register_error_handler(401, lambda error: ("a page for people", 401))
    response = post(app.test_client(), "whoami")
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Basic realm=a, Bearer"
    assert response.mimetype == "application/json"
    assert answer_error(response) == "who are you?"


@pytest.mark.parametrize(
    ("refuse", "status", "name", "value"),
    [
        (lambda: abort(flask.redirect("/login", 307)), 307, "Location", "/login"),
        (lambda: abort(flask.make_response("closed", 503, {"Retry-After": "60"})), 503, "Retry-After", "60"),
        (lambda: abort(403), 403, "Content-Type", "application/json"),
    ],
)
def test_how_else_it_may_refuse(
    app: Flask, refuse: Callable[[], Any], status: int, name: str, value: str
) -> None:
    Mcp(app, make_server(), principal=refuse)
    response = post(app.test_client(), "whoami")
    assert (response.status_code, response.headers.getlist(name)) == (status, [value])
    assert response.get_json()["error"]["code"] == -32600


def test_a_principal_that_fails_lets_nobody_in(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    Mcp(app, make_server(), principal=lambda: str(1 // 0))
    response = post(app.test_client(), "whoami")
    assert response.status_code == 500
    assert "ZeroDivisionError" in caplog.text
    assert "ZeroDivisionError" not in response.text


# ---- Hooks and the body -----------------------------------------------------------------------------------

READERS: dict[str, Callable[[], object]] = {
    "get_json": lambda: request.get_json(),
    "get_data": lambda: request.get_data(),
    "data": lambda: request.data,
    "form": lambda: request.form,
    "stream": lambda: request.stream,
    "nothing": lambda: None,
}


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_a_body_that_was_read_before_is_read_again(
    app: Flask, read: Callable[[], object], chunked: bool
) -> None:
    after: list[object] = []

    @app.before_request
    def before() -> None:
        read()

    @app.after_request
    def audit(response: flask.Response) -> flask.Response:
        after.append(request.get_json()["id"])
        return response

    Mcp(app, make_server())
    message = json.dumps(modern_message("tools/call", {"name": "body", "arguments": {}}, 7)).encode()
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "body"}
    options: dict[str, Any] = {"input_stream": io.BytesIO(message), "content_length": len(message)}
    if chunked:
        options = {
            "input_stream": io.BytesIO(message),
            "environ_overrides": {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
        }
    response = app.test_client().post("/mcp", headers=headers, content_type="application/json", **options)
    assert text(response) == "7"
    assert after == [7]


def test_a_body_that_nobody_kept(app: Flask) -> None:
    app.before_request(lambda: (request.get_data(cache=False), None)[1])
    Mcp(app, make_server())
    response = post(app.test_client(), "echo", {"text": "x"})
    assert response.status_code == 400
    assert "body ended after 0 of" in str(answer_error(response))


def test_hooks_and_error_handlers(app: Flask) -> None:
    Mcp(app, make_server())
    app.before_request(lambda: ("closed", 503) if "X-Closed" in request.headers else None)
    app.register_error_handler(404, lambda error: ("nothing here", 404))

    @app.after_request
    def mark(response: flask.Response) -> flask.Response:
        response.headers["X-Seen"] = f"{response.status_code} {response.is_streamed}"
        return response

    client = app.test_client()
    assert post(client, "echo", {"text": "x"}).headers["X-Seen"] == "200 False"
    streamed = post(client, "stream")
    assert streamed.headers["X-Seen"] == "200 True"
    assert text(streamed) == "streamed"
    assert post(client, "echo", headers={"X-Closed": "yes"}).text == "closed"
    assert client.get("/nowhere").text == "nothing here"


def test_a_hook_that_would_wait_for_a_whole_stream_fails(app: Flask, torn_down: list[str]) -> None:
    """It would never end: the client's answer to what was asked on it cannot come."""
    app.config["PROPAGATE_EXCEPTIONS"] = False
    record(app, torn_down)
    app.after_request(lambda response: (response.get_data(), response)[1])
    mcp = Mcp(app, make_server())
    client = app.test_client()
    assert text(post(client, "echo", {"text": "x"})) == "x"
    del torn_down[:]
    assert post(client, "stream").status_code == 500
    eventually(lambda: mcp.mcp_app.runtime.requests == 0)
    assert sorted(entry.partition(" after")[0] for entry in torn_down) == [
        "appcontext: ",
        "appcontext: lent",
        "request",
    ]
    assert not flask.has_app_context()


def test_a_hook_that_puts_something_before_a_stream(app: Flask, torn_down: list[str]) -> None:
    record(app, torn_down)

    @app.after_request
    def wrap(response: flask.Response) -> flask.Response:
        response.call_on_close(lambda: torn_down.append("response"))
        body: Any = response.response
        response.response = chain([b": first\n\n"], body)
        return response

    Mcp(app, make_server())
    response = post(app.test_client(), "stream")
    assert response.data.startswith(b": first\n\n")
    response.close()
    assert torn_down == ["appcontext: ", "request", "appcontext: lent", "response"]


def test_behind_a_proxy(app: Flask) -> None:
    app.wsgi_app = ProxyFix(app.wsgi_app, x_host=1)  # type: ignore[method-assign]
    app.config["TRUSTED_HOSTS"] = ["shop.example"]
    Mcp(app, make_server())
    headers = {"Host": "internal", "X-Forwarded-Host": "shop.example"}
    assert text(post(app.test_client(), "echo", {"text": "x"}, headers=headers)) == "x"


# ---- Contexts ---------------------------------------------------------------------------------------------


@pytest.fixture
def torn_down() -> list[str]:
    return []


def record(app: Flask, torn_down: list[str]) -> None:
    """Write down each teardown, with what it found in ``g``; the request has one value of its own there."""

    @app.before_request
    def lend() -> None:
        g.lent = "lent"

    @app.teardown_request
    def of_request(error: BaseException | None) -> None:
        torn_down.append("request" + (f" after {error!r}" if error else ""))

    @app.teardown_appcontext
    def of_appcontext(error: BaseException | None) -> None:
        torn_down.append("appcontext: " + " ".join(f"{g.get(name)}" for name in sorted(g)))


def use(name: str) -> str:
    """What a handler may do with ``g``; what it found."""
    found = str(g.lent)
    if name == "replace":
        g.lent = "replaced"
    elif name == "delete":
        del g.lent
    elif name == "add":
        g.more = "added"
    return found


def using_server() -> McpServer:
    server = make_server()

    @server.tool
    def in_place(how: str) -> str:
        return use(how)

    @server.tool
    def on_worker(how: str, ctx: RequestContext) -> str:
        return use(how)

    @server.tool
    def streaming(how: str, ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return use(how)

    return server


@pytest.mark.parametrize("tool", ["on_worker", "streaming"])
@pytest.mark.parametrize(
    ("how", "left"), [("keep", ""), ("replace", "replaced"), ("delete", ""), ("add", "added")]
)
def test_each_value_is_torn_down_by_its_owner(
    app: Flask, torn_down: list[str], tool: str, how: str, left: str
) -> None:
    record(app, torn_down)
    Mcp(app, using_server())
    response = post(app.test_client(), tool, {"how": how})
    assert text(response) == "lent"
    assert torn_down == [f"appcontext: {left}", "request", "appcontext: lent"]
    assert not flask.has_app_context()


def test_in_place_there_is_one_context(app: Flask, torn_down: list[str]) -> None:
    record(app, torn_down)
    Mcp(app, using_server())
    assert text(post(app.test_client(), "in_place", {"how": "add"})) == "lent"
    assert torn_down == ["request", "appcontext: lent added"]


def test_the_request_on_a_worker(app: Flask) -> None:
    app.secret_key = "key"
    server = make_server()

    @server.tool
    def everything(ctx: RequestContext) -> list[Any]:
        ctx.report_progress(1)

        @flask.copy_current_request_context
        def elsewhere() -> str:
            return request.path

        return [
            request.path,
            request.headers["X-Mine"],
            session.get("user"),
            flask.current_app.name,
            flask.url_for("static", filename="a"),
            flask.has_request_context(),
            elsewhere(),
        ]

    Mcp(app, server)
    client = app.test_client()
    with client.session_transaction() as started:
        started["user"] = "ann"
    found = answer(post(client, "everything", headers={"X-Mine": "yes"}))["result"]["structuredContent"]
    assert found == ["/mcp", "yes", "ann", "small", "/static/a", True, "/mcp"]


@pytest.mark.parametrize("tool", ["on_worker", "streaming"])
def test_a_teardown_that_fails_loses_no_answer(
    app: Flask, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    """On a worker, where nobody else would notice; and after a stream, where everything was sent."""
    host = threading.current_thread()

    @app.teardown_appcontext
    def fail(error: BaseException | None) -> None:
        if tool == "streaming" or threading.current_thread() is not host:
            raise OSError("cannot close")

    Mcp(app, using_server())
    app.before_request(lambda: setattr(g, "lent", "lent"))
    assert text(post(app.test_client(), tool, {"how": "keep"})) == "lent"
    failures = [line.exc_info for line in caplog.records if line.levelno == logging.ERROR]
    assert len(failures) == (2 if tool == "streaming" else 1)
    assert not flask.has_app_context()


def test_a_tool_that_fails_is_torn_down_as_any(app: Flask, torn_down: list[str]) -> None:
    record(app, torn_down)
    server = make_server()

    @server.tool
    def fail(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        raise OSError("private")

    Mcp(app, server)
    assert "private" not in post(app.test_client(), "fail").text
    assert torn_down == ["appcontext: ", "request", "appcontext: lent"]


@contextmanager
def live(app: Flask, threads: int = 2) -> Iterator[Client]:
    """On a host that uses its threads again."""
    server = FixedThreads("127.0.0.1", 0, app, QuietHandler)
    server.start(threads)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    serving.start()
    try:
        yield Client(server.server_port)
    finally:
        server.shutdown()
        join(serving)
        server.stop()
        server.server_close()


@pytest.mark.parametrize("leave", [Connection.close, Connection.reset])
def test_nothing_stays_on_a_thread_whose_client_went(
    app: Flask, torn_down: list[str], leave: Callable[[Connection], None]
) -> None:
    """The next request on it would see what the last one had in ``g``."""
    record(app, torn_down)
    left: list[bool] = []
    inner = app.wsgi_app

    def watch(environ: Any, start_response: Any) -> Any:
        left.append(flask.has_app_context())
        return inner(environ, start_response)

    app.wsgi_app = watch  # type: ignore[method-assign]
    server = make_server()

    @server.tool
    def hold(ctx: RequestContext) -> str:
        g.held = "held"
        ctx.report_progress(1)
        ctx.wait(15)
        return "held"

    mcp = Mcp(app, server, threads=8)
    with live(app) as client:
        for _ in range(2):
            connection = client.call("hold")
            connection.begin()
            connection.message()
            leave(connection)
        eventually(lambda: len(torn_down) == 6)
        assert sorted(torn_down) == 2 * ["appcontext: held"] + 2 * ["appcontext: lent"] + 2 * ["request"]
        for _ in range(4):
            with client.call("echo", {"text": "x"}) as connection:
                assert connection.text() == "x"
        assert mcp.close(5)
    assert left == [False] * 6


def test_a_host_that_forgets_to_close(app: Flask, torn_down: list[str]) -> None:
    record(app, torn_down)
    server = make_server()

    @server.tool
    def hold(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        ctx.wait(15)
        return "held"

    mcp = Mcp(app, server)
    message = modern_message("tools/call", {"name": "hold", "arguments": {}})
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "hold"}
    builder = EnvironBuilder("/mcp", method="POST", json=message, headers=Headers(headers))
    body = iter(app.wsgi_app(builder.get_environ(), lambda *begun: lambda data: None))
    assert b"progress" in next(body)
    assert torn_down == []
    del body
    assert torn_down == ["request", "appcontext: lent"]
    assert not flask.has_app_context()
    eventually(lambda: len(torn_down) == 3 and mcp.mcp_app.runtime.requests == 0)


def test_closing_ends_streams(app: Flask) -> None:
    mcp = Mcp(app, make_server(), threads=8)
    with live(app) as client, client.listen() as connection:
        connection.begin()
        assert connection.message() is not None
        assert mcp.close(5)
        assert "result" in connection.answer()


def test_a_hook_may_ask_a_live_host_for_the_body_afterwards(app: Flask) -> None:
    """This host does not end its input: reading on would wait for the client, and the client for the answer."""
    seen: list[object] = []

    @app.after_request
    def audit(response: flask.Response) -> flask.Response:
        seen.append(request.get_json()["method"])
        return response

    mcp = Mcp(app, make_server())
    with live(app) as client:
        with client.call("echo", {"text": "x"}) as connection:
            assert connection.text() == "x"
        assert mcp.close(5)
    assert seen == ["tools/call"]


# ---- The page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "/api"])
def test_the_page(app: Flask, prefix: str) -> None:
    blueprint = Blueprint("ai", __name__)
    Mcp(blueprint, make_server(), page=True)
    app.register_blueprint(blueprint, url_prefix=prefix or None)
    client = app.test_client()
    assert client.get(prefix + "/mcp/page").headers["Location"].endswith(prefix + "/mcp/page/")
    page = client.get(prefix + "/mcp/page/")
    assert page.status_code == 200
    assert page.mimetype == "text/html"
    assert {name: page.headers[name] for name in HEADERS} == HEADERS
    assert client.get(prefix + "/mcp/page/wire.js").mimetype == "text/javascript"
    assert client.get(prefix + "/mcp/page/nothing.js").status_code == 404
    assert client.get(prefix + "/mcp/page/", headers={"Host": "evil.test"}).status_code == 403
    # What it says of the endpoint, relative to itself, is where the endpoint is.
    assert '"../"' in page.text or '".."' in page.text
    assert text(post(client, "echo", {"text": "x"}, prefix + "/mcp/")) == "x"


def test_no_page_unless_asked_for(app: Flask) -> None:
    Mcp(app, make_server())
    assert app.test_client().get("/mcp/page/").status_code == 404
    shown = Flask("shown")
    Mcp(shown, make_server(settings=Settings(page=True)))
    assert shown.test_client().get("/mcp/page/").status_code == 200


def test_only_what_is_named_goes_along_to_a_worker() -> None:
    """What is bound to its thread stays: the function finds none, and opens its own."""
    app = Flask("carry")
    server = McpServer("carry")
    Mcp(app, server, carry=["user"])

    @app.before_request
    def prepare() -> None:
        g.user, g.db = "ada", "a connection of this thread's"

    @server.tool
    def there(ctx: RequestContext) -> list[str]:
        return sorted(g)

    meta = {MetaKey.PROTOCOL_VERSION: "2026-07-28", MetaKey.CLIENT_CAPABILITIES: {}}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "there", "arguments": {}, "_meta": meta},
    }
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "there"}
    answer = app.test_client().post("/mcp", json=message, headers=headers)
    assert answer.get_json()["result"]["structuredContent"] == ["user"]


def test_mistakes_in_the_arguments_are_named() -> None:
    with pytest.raises(TypeError, match=r"Mcp\(app, server\)"):
        Mcp(McpServer("swapped"), Flask("swapped"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="principal"):
        Mcp(Flask("who"), McpServer("who"), principal="me")  # type: ignore[arg-type]


class _Endless:
    """A body that goes on for ever, as a client may send it in chunks."""

    def __init__(self) -> None:
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        assert 0 < size < 10_000_000, "nobody may ask for all of it"
        self.taken += size
        return b"x" * size

    readline = readlines = read

    def __iter__(self) -> Iterator[bytes]:
        raise NotImplementedError


def test_a_hook_that_looks_for_a_form_does_not_lift_the_bound() -> None:
    app = Flask("bounded")
    Mcp(app, McpServer("bounded", settings=Settings(max_message=1000)))

    @app.before_request
    def look() -> None:
        assert request.form.get("csrf_token") is None  # as extensions do on every POST

    body = _Endless()
    environ = EnvironBuilder("/mcp", method="POST", content_type="application/json").get_environ()
    environ |= {"wsgi.input": body, "wsgi.input_terminated": True, "wsgi.multithread": True}
    environ.pop("CONTENT_LENGTH", None)
    begun: list[str] = []

    def start_response(status: str, headers: Any, exc_info: Any = None) -> Callable[[bytes], object]:
        begun.append(status)
        return lambda data: None

    list(app.wsgi_app(environ, start_response))
    assert begun[0].startswith("413")
    assert body.taken < 200_000


def test_what_one_server_sealed_does_not_open_in_another_with_the_same_key() -> None:
    servers = [McpServer("sandbox"), McpServer("live")]
    for server in servers:
        server.suggest_secret(b"k" * 32)
    binding = Binding("7", "digest")
    sealed = servers[0].sealer.seal({"once": {"paid": 0}}, binding)
    assert servers[0].sealer.unseal(sealed, binding) == {"once": {"paid": 0}}
    with pytest.raises(BadRequestState):
        servers[1].sealer.unseal(sealed, binding)
