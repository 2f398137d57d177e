"""The end of applications: together, waited for by whoever comes second, and what becomes of what comes late."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from mcpref import McpServer, RequestContext, Settings
from mcpref.errors import LocalError
from mcpref.transport import hosting
from mcpref.transport.seams import Unavailable
from tests.http.conftest import Serve
from tests.threads import eventually, join, until


@pytest.fixture(autouse=True)
def _undeclared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has the process say of its host is not for others."""
    monkeypatch.setattr(hosting, "_threads", None)


def make_server() -> McpServer:
    server = McpServer("closing")

    @server.tool
    def hold(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "was cancelled" if ctx.wait(20.0) else "was not"

    return server


def test_whoever_closes_second_waits_for_the_first(serve: Serve) -> None:
    server = make_server()
    closing, go = threading.Event(), threading.Event()
    closed: list[str] = []

    @server.lifespan
    def database() -> Iterator[str]:
        yield "database"
        closing.set()
        until(go)
        closed.append("database")

    client = serve(server)
    assert client.modern("tools/list").status == 200
    first = threading.Thread(target=client.app.close, daemon=True)
    first.start()
    until(closing)
    assert not client.app.close(0.01), "it is not over yet"
    go.set()
    assert client.app.close(10.0)
    assert closed == ["database"]
    join(first)


def test_all_streams_end_before_anything_is_waited_for(serve: Serve) -> None:
    """A call of one application that does not listen must not keep the streams of another open."""
    server = make_server()
    stuck, go = threading.Event(), threading.Event()

    @server.tool
    def deaf(ctx: RequestContext) -> str:
        stuck.set()
        until(go)
        return "at last"

    busy, quiet = serve(server), serve(make_server())
    call = busy.call("deaf")
    until(stuck)
    listen = quiet.listen({"toolsListChanged": True})
    assert listen.next_message()["method"] == "notifications/subscriptions/acknowledged"
    ending = threading.Thread(target=hosting.close_all, args=(10.0,), daemon=True)
    ending.start()
    assert "result" in listen.next_message(), "while the other application is still waited for"
    assert ending.is_alive()
    go.set()
    join(ending)
    assert call.status == 200


def test_an_app_that_was_closed_before_its_first_request_starts_nothing(serve: Serve) -> None:
    server = make_server()
    opened: list[str] = []

    @server.lifespan
    def database() -> Iterator[str]:
        opened.append("database")
        yield "database"

    app = server.wsgi_app()
    assert app.close()
    begun: list[Any] = []
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/mcp", "HTTP_HOST": "localhost"}
    assert list(app(environ, lambda *args: begun.append(args))) == []
    assert begun[0][0].startswith("503")
    assert opened == []


def test_a_listen_stream_whose_feed_cannot_be_opened_leaves_its_place(serve: Serve) -> None:
    server = make_server()
    client = serve(server, threads=8)
    follow = server.changes.follow

    def fail(*args: Any) -> Any:
        raise Unavailable("the store is away")

    for _ in range(6):
        server.changes.follow = fail  # type: ignore[method-assign,assignment]
        assert client.listen({"toolsListChanged": True}).status == 503
    server.changes.follow = follow  # type: ignore[method-assign]
    assert client.app.runtime.budget.parked == 0
    assert client.listen({"toolsListChanged": True}).status == 200


def test_a_batch_is_waited_for(serve: Serve) -> None:
    server = make_server()
    running, go = threading.Event(), threading.Event()

    @server.tool
    def slow() -> str:
        running.set()
        until(go)
        return "done"

    client = serve(server)
    session = client.connect("2025-03-26")
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
    reply = session.post([call])
    until(running)
    ending = threading.Thread(target=client.app.close, args=(20.0,), daemon=True)
    ending.start()
    eventually(lambda: client.app.runtime.closing)
    assert not client.app.runtime.ended.wait(0.05), "it waits"
    go.set()
    join(ending)
    assert reply.json()[0]["result"]["content"][0]["text"] == "done"


def test_a_call_whose_client_left_while_it_was_queued_does_not_begin(serve: Serve) -> None:
    server = McpServer("queued")
    ran: list[str] = []
    go = threading.Event()
    started = threading.Semaphore(0)

    @server.tool
    def block(ctx: RequestContext) -> str:
        started.release()
        until(go)
        return "done"

    @server.tool
    def late(ctx: RequestContext) -> str:
        ran.append("late")
        return "late"

    server.settings = Settings(workers=2, queue_patience=30.0)
    client = serve(server, threads=2)
    blocking = [client.call("block") for _ in range(2)]
    for _ in blocking:
        assert started.acquire(timeout=20.0)
    queued = client.call("late")
    eventually(lambda: client.app.runtime.requests == 3)
    queued.close()
    eventually(lambda: client.app.runtime.requests == 2)
    go.set()
    assert all(reply.status == 200 for reply in blocking)
    assert client.app.close(10.0)
    assert ran == []


def test_a_second_key_for_one_server_is_mentioned(caplog: pytest.LogCaptureFixture) -> None:
    server = make_server()
    server.suggest_secret(b"x" * 32)
    server.suggest_secret(b"x" * 32)
    assert caplog.text == ""
    server.suggest_secret(b"y" * 32)
    assert "the first application" in caplog.text


def test_a_bad_secret_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPREF_SECRET", "short")
    with pytest.raises(ValueError, match="MCPREF_SECRET"):
        make_server()


@pytest.mark.parametrize("health", ["healthz", "/mcp", "/mcp/", ""])
def test_health_needs_a_path_of_its_own(health: str) -> None:
    with pytest.raises(ValueError, match="health"):
        make_server().wsgi_app(health=health)


def test_lifespans_are_closed_where_the_address_cannot_be_had() -> None:
    import socket

    from mcpref.transport.host_servers import AddressUnavailable
    from mcpref.transport.http_server import run_http

    server = make_server()
    events: list[str] = []

    @server.lifespan
    def database() -> Iterator[str]:
        events.append("open")
        yield "database"
        events.append("closed")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressUnavailable):
            run_http(server.wsgi_app(), "127.0.0.1", port, signals=False)
    assert events == ["open", "closed"]


def test_an_error_of_the_applications_is_not_blamed_on_the_address() -> None:
    from mcpref.transport.host_servers import AddressUnavailable
    from mcpref.transport.http_server import run_http

    server = make_server()

    @server.lifespan
    def database() -> Iterator[str]:
        with open("/nowhere/database") as file:
            yield file.read()

    with pytest.raises((OSError, LocalError)) as raised:
        run_http(server.wsgi_app(), "127.0.0.1", 0, signals=False)
    assert not isinstance(raised.value, AddressUnavailable)


def test_a_host_server_that_fails_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    from mcpref.transport import host_servers, http_server

    class Broken:
        name = "broken"

        def __init__(self, app: Any, sock: Any, threads: int, settings: Any) -> None:
            self._sock = sock

        def serve(self) -> None:
            self._sock.close()
            raise RuntimeError("no more descriptors")

        def drain(self, deadline: Any) -> None: ...

        def stop(self) -> None: ...

    monkeypatch.setitem(host_servers.HOST_SERVERS, "broken", Broken)
    with pytest.raises(RuntimeError, match="broken has failed"):
        http_server.run_http(make_server().wsgi_app(), "127.0.0.1", 0, signals=False, host_server="broken")


def test_a_hook_that_would_end_the_process_fails_its_request_alone(serve: Serve) -> None:
    def principal(environ: dict[str, Any]) -> str:
        raise SystemExit("no")

    client = serve(make_server(), principal=principal)
    assert client.modern("tools/list").status == 500
    assert client.modern("tools/list").status == 500
