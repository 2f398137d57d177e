"""The transport of 2024-11-05, on paths of its own: one stream for everything from the server, POSTs to it.

Spec: 2024-11-05 basic/transports#http-with-sse
"""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from mcpref import McpServer, RequestContext, RequestInfo, Settings
from mcpref.transport.legacy_sse import LegacySse
from tests.http.conftest import Serve
from tests.http.support import HttpClient, methods
from tests.http.wires import JSON, SSE, Reply
from tests.threads import eventually, until


def make_server(**settings: Any) -> McpServer:
    server = McpServer(
        "old", resource_subscriptions=True, settings=Settings(**{"keep_alive": 0.05, **settings})
    )

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def steps(ctx: RequestContext, n: int) -> str:
        for step in range(n):
            ctx.report_progress(step, n, "a message")
        return "done"

    @server.tool
    def sample(ctx: RequestContext) -> str:
        return ctx.sample({"messages": [], "maxTokens": 1}).text

    @server.tool
    def whoami(info: RequestInfo) -> str:
        return "nobody" if info.auth is None else info.auth.subject

    @server.tool
    def elicit(ctx: RequestContext) -> str:
        return ctx.elicit("?", {"type": "object", "properties": {}}).action

    return server


class OldClient:
    """A client that knows nothing newer."""

    def __init__(
        self, client: HttpClient, target: str = "/mcp/sse", headers: dict[str, str] | None = None
    ) -> None:
        self.client = client
        self.headers = headers or {}
        self.stream: Reply = client.send("GET", target, {"Accept": SSE, **self.headers})
        assert (self.stream.status, self.stream.kind) == (200, SSE)
        first = self.stream.next_event()
        assert first is not None
        assert first.event == "endpoint"
        self.endpoint = first.data

    def send(self, message: object, headers: dict[str, str | None] | None = None) -> Reply:
        return self.client.post(message, {**self.headers, **(headers or {})}, target=self.endpoint)

    def request(self, id: object, method: str, **params: Any) -> None:
        reply = self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        assert (reply.status, reply.body()) == (202, b"")

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        info = {"name": "old", "version": "1"}
        self.request(
            0, "initialize", protocolVersion="2024-11-05", capabilities=capabilities, clientInfo=info
        )
        answer = self.stream.next_message()
        assert self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, id: object, name: str, **arguments: Any) -> None:
        self.request(id, "tools/call", name=name, arguments=arguments, _meta={"progressToken": "p"})


def connections(client: HttpClient) -> int:
    old = client.app._legacy_sse
    assert isinstance(old, LegacySse)
    return len(old._connections)


@pytest.mark.req("2025-11-25:http.compat-server-old-endpoints", "2026-07-28:http.sse-2024-server-both")
def test_answers_come_on_the_stream(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True)
    old = OldClient(client)
    assert old.initialize()["protocolVersion"] == "2024-11-05"
    old.call("one", "add", a=1, b=2)
    answer = old.stream.next_message()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == ("one", "3")
    old.call("two", "steps", n=2)
    messages = [old.stream.next_message() for _ in range(3)]
    assert methods(messages) == ["notifications/progress", "notifications/progress", "result"]
    assert "message" not in messages[0]["params"]
    # The newer ways are served beside it.
    assert client.modern("tools/list").status == 200
    assert client.connect().request("ping").status == 200


def test_it_is_off_unless_asked_for(serve: Serve) -> None:
    client = serve(make_server())
    assert client.send("GET", "/mcp/sse", {"Accept": SSE}).status == 404
    assert client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, target="/mcp/messages").status == 404


def test_a_change_is_told_on_the_stream(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True)
    old = OldClient(client)
    old.initialize()
    old.request(1, "ping")
    assert old.stream.next_message()["id"] == 1
    client.server.notify_list_changed("tools")
    assert old.stream.next_message()["method"] == "notifications/tools/list_changed"


def test_a_client_can_be_asked_to_sample(serve: Serve) -> None:
    old = OldClient(serve(make_server(), legacy_sse=True))
    old.initialize(sampling={})
    old.call(1, "sample")
    question = old.stream.next_message()
    assert question["method"] == "sampling/createMessage"
    answer = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hello"}}
    assert old.send({"jsonrpc": "2.0", "id": question["id"], "result": answer}).status == 202
    assert old.stream.next_message()["result"]["content"][0]["text"] == "hello"


def test_elicitation_is_not_of_that_revision(serve: Serve) -> None:
    old = OldClient(serve(make_server(), legacy_sse=True))
    old.initialize(elicitation={})
    old.call(1, "elicit")
    assert old.stream.next_message()["error"]["code"] == -32600


def test_a_request_can_be_cancelled(serve: Serve) -> None:
    server = make_server()
    began, cancelled = threading.Event(), threading.Event()

    @server.tool
    def waits(ctx: RequestContext) -> str:
        began.set()
        if ctx.wait(20):
            cancelled.set()
        return "done"

    old = OldClient(serve(server, legacy_sse=True))
    old.initialize()
    old.call(1, "waits")
    until(began)
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert old.send(note).status == 202
    until(cancelled)
    old.request(2, "ping")
    assert old.stream.next_message()["id"] == 2


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"{}", {}, 400),
        (b" " * 5000, {}, 413),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"Content-Type": "text/plain"}, 415),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"Origin": "http://evil.example"}, 403),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"Host": "evil.example"}, 403),
    ],
)
def test_a_bad_post_is_refused(
    serve: Serve, body: bytes, headers: dict[str, str | None], status: int
) -> None:
    old = OldClient(serve(make_server(max_message=4000), legacy_sse=True))
    assert old.send(body, headers).status == status
    assert old.initialize()["serverInfo"]["name"] == "old"


def test_lines_in_a_message_do_no_harm(serve: Serve) -> None:
    old = OldClient(serve(make_server(), legacy_sse=True))
    old.initialize()
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert old.send(json.dumps(message, indent=1).replace("\n", "\r\n").encode()).status == 202
    assert old.stream.next_message() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize("session", ["", "?session=", "?session=" + "0" * 64, "?session=x&session=y"])
def test_there_is_no_other_connection(serve: Serve, session: str) -> None:
    client = serve(make_server(), legacy_sse=True)
    OldClient(client)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert client.post(message, target=f"/mcp/messages{session}").status == 404


def test_a_connection_belongs_to_whoever_opened_it(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True, principal=lambda environ: environ.get("HTTP_X_USER"))
    old = OldClient(client, headers={"X-User": "ann"})
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert old.send(message, {"X-User": "bob"}).status == 404
    assert old.send(message, {"X-User": None}).status == 404
    assert old.send(message).status == 202
    assert old.stream.next_message()["id"] == 1
    old.call(2, "whoami")
    assert old.stream.next_message()["result"]["content"][0]["text"] == "ann"


@pytest.mark.parametrize(
    ("method", "target", "allow"), [("POST", "/mcp/sse", "GET"), ("GET", "/mcp/messages", "POST")]
)
def test_each_path_has_its_method(serve: Serve, method: str, target: str, allow: str) -> None:
    client = serve(make_server(), legacy_sse=True)
    reply = client.send(method, target, {"Content-Type": JSON}, b"{}" if method == "POST" else None)
    assert (reply.status, reply.headers["allow"]) == (405, allow)


def test_nothing_is_left_of_a_client_that_goes(serve: Serve) -> None:
    server = make_server()
    began, ended = threading.Event(), threading.Event()

    @server.tool
    def waits(ctx: RequestContext) -> str:
        began.set()
        if ctx.wait(20):
            ended.set()
        return "done"

    client = serve(server, legacy_sse=True)
    old = OldClient(client)
    old.initialize()
    old.call(1, "waits")
    until(began)
    old.stream.close()
    until(ended)
    eventually(lambda: connections(client) == 0 and client.app.runtime.budget.parked == 0)
    assert old.send({"jsonrpc": "2.0", "id": 2, "method": "ping"}).status == 404
    names = ("mcpref-sse-close",)
    eventually(lambda: not any(thread.name in names for thread in threading.enumerate()))


def test_streams_end_when_the_server_closes(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True)
    old = OldClient(client)
    old.initialize()
    assert client.app.close()
    assert old.stream.messages() == []


def test_too_many_streams_are_refused(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True, threads=4)
    OldClient(client)
    OldClient(client)
    refused = client.send("GET", "/mcp/sse", {"Accept": SSE})
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")


def test_the_endpoint_is_right_behind_a_prefix(serve: Serve) -> None:
    client = serve(
        make_server(), legacy_sse=True, wrap=lambda app: DispatcherMiddleware(NotFound(), {"/pre": app})
    )
    old = OldClient(client, "/pre/mcp/sse")
    assert old.endpoint.startswith("/pre/mcp/messages?")
    assert old.initialize()["protocolVersion"] == "2024-11-05"


def test_several_processes_cannot_share_a_stream(serve: Serve) -> None:
    client = serve(make_server(), legacy_sse=True, environ={"wsgi.multiprocess": True})
    refused = client.send("GET", "/mcp/sse", {"Accept": SSE})
    assert refused.status == 503
    assert "several processes" in refused.error()["message"]


def test_a_burst_waits_for_its_reader(serve: Serve) -> None:
    old = OldClient(serve(make_server(stream_buffer_events=8), legacy_sse=True))
    old.initialize()
    old.call(1, "steps", n=500)
    progress = [old.stream.next_message()["params"]["progress"] for _ in range(500)]
    assert progress == list(range(500))
    assert old.stream.next_message()["id"] == 1
