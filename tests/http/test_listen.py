"""``subscriptions/listen`` over HTTP: a response that stays open and tells what has changed.

Spec: 2026-07-28 basic/patterns/subscriptions
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, RequestContext, ServerMode, Settings
from mcpref.meta import MetaKey
from tests.http.conftest import Serve
from tests.http.support import HttpClient, methods, text
from tests.http.wires import JSON, SSE, Reply
from tests.threads import eventually, together

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"
LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}


def make_server(mode: ServerMode = ServerMode.STATEFUL, **settings: Any) -> McpServer:
    server = McpServer(
        "changes",
        mode=mode,
        resource_subscriptions=mode is ServerMode.STATEFUL,
        settings=Settings(**{"keep_alive": 0.05, **settings}),
    )

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def talks(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        ctx.log("info", "hello")
        return "done"

    @server.prompt
    def hello() -> str:
        return "hello"

    @server.resource("note://a")
    def note() -> str:
        return "a"

    return server


def listening(client: HttpClient, notifications: dict[str, Any], **more: Any) -> Reply:
    """A listen stream that is acknowledged."""
    reply = client.listen(notifications, **more)
    assert (reply.status, reply.kind) == (200, SSE)
    assert reply.next_message()["method"] == ACKNOWLEDGED
    return reply


def subscription(message: dict[str, Any]) -> object:
    return message["params"]["_meta"][MetaKey.SUBSCRIPTION_ID]


@pytest.mark.parity(120)
@pytest.mark.req(
    "2026-07-28:subs.ack-first",
    "2026-07-28:subs.ack-subscription-id",
    "2026-07-28:subs.ack-honored-subset",
    "2026-07-28:subs.ack-notifications-field",
    "2026-07-28:subs.id-equals-request-id",
    "2026-07-28:subs.notification-subscription-id",
    "2026-07-28:http.sse-keepalive",
)
@pytest.mark.parametrize("id", [7, "7", 0, "a stream"])
@pytest.mark.parametrize("mode", list(ServerMode))
def test_a_stream_begins_with_its_acknowledgement(serve: Serve, id: object, mode: ServerMode) -> None:
    client = serve(make_server(mode))
    reply = client.listen({"toolsListChanged": True, "unheardOf": True}, id=id)
    assert (reply.status, reply.kind) == (200, SSE)
    assert reply.headers["x-accel-buffering"] == "no"
    first = reply.next_message()
    assert first == {
        "jsonrpc": "2.0",
        "method": ACKNOWLEDGED,
        "params": {"notifications": {"toolsListChanged": True}, "_meta": {MetaKey.SUBSCRIPTION_ID: id}},
    }
    client.server.notify_list_changed("tools")
    told = reply.next_message()
    assert (told["method"], type(subscription(told)), subscription(told)) == (TOOLS, type(id), id)
    reply.until_raw(b": keep-alive\n")
    assert not any(line.startswith(b"id") for line in reply.raw.split(b"\n"))


@pytest.mark.parity(120)
@pytest.mark.req("2026-07-28:subs.only-requested-types", "2026-07-28:subs.filter-fields")
def test_every_stream_gets_what_it_asked_for_and_nothing_else(serve: Serve) -> None:
    client = serve(make_server())
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        (LISTS, [TOOLS, PROMPTS, RESOURCES]),
        ({"toolsListChanged": True}, [TOOLS]),
        ({"toolsListChanged": True, "promptsListChanged": False}, [TOOLS]),
        ({"resourceSubscriptions": ["note://a"], "promptsListChanged": True}, [PROMPTS, UPDATED]),
        ({"resourceSubscriptions": ["note://b"]}, []),
    ]
    # All with one id: each is its own request on its own connection.
    streams = [listening(client, notifications, id=1) for notifications, _ in wanted]
    for what in ("tools", "prompts", "resources"):
        client.server.notify_list_changed(what)
    client.server.notify_resource_updated("note://a")
    assert client.app.close()
    for stream, (_, expected) in zip(streams, wanted, strict=True):
        messages = stream.messages()
        assert methods(messages) == [*expected, "result"]
        assert {subscription(message) for message in messages[:-1]} <= {1}


@pytest.mark.req("2026-07-28:http.listen-no-request-scoped", "2026-07-28:subs.id-absent-elsewhere")
def test_what_belongs_to_a_call_is_not_on_a_listen_stream(serve: Serve) -> None:
    client = serve(make_server())
    stream = listening(client, LISTS, meta={MetaKey.LOG_LEVEL: "debug", "progressToken": "p"})
    call = client.call("talks", progress="p", meta={MetaKey.LOG_LEVEL: "debug"})
    messages = call.messages()
    assert methods(messages) == ["notifications/progress", "notifications/message", "result"]
    assert not any(MetaKey.SUBSCRIPTION_ID in str(message) for message in messages)
    client.server.notify_list_changed("tools")
    assert stream.next_message()["method"] == TOOLS


@pytest.mark.req(
    "2026-07-28:subs.server-graceful-response",
    "2026-07-28:subs.result-empty",
    "2026-07-28:subs.result-subscription-id",
)
@pytest.mark.parametrize("id", [3, "three"])
def test_a_closing_server_answers_every_stream(serve: Serve, id: object) -> None:
    client = serve(make_server())
    streams = [listening(client, LISTS, id=id) for _ in range(3)]
    assert client.app.close()
    for stream in streams:
        (answer,) = stream.messages()
        assert answer["id"] == id
        assert answer["result"]["resultType"] == "complete"
        assert answer["result"]["_meta"][MetaKey.SUBSCRIPTION_ID] == id
        assert set(answer["result"]) == {"resultType", "_meta"}
    assert client.listen(LISTS).status == 503


def test_a_stream_that_is_too_old_is_answered_too(serve: Serve) -> None:
    client = serve(make_server(stream_max_age=0.05))
    assert methods(listening(client, LISTS).messages()) == ["result"]


@pytest.mark.req("2026-07-28:subs.no-state-across-reconnect", "2026-07-28:base.stateless-listen-scope")
def test_nothing_of_a_stream_outlives_it(serve: Serve) -> None:
    client = serve(make_server())
    stream = listening(client, {"toolsListChanged": True}, id="again")
    stream.close()
    eventually(lambda: client.app.runtime.budget.parked == 0)
    client.server.notify_list_changed("tools")
    stream = listening(client, {"promptsListChanged": True}, id="again")
    client.server.notify_list_changed("tools")
    client.server.notify_list_changed("prompts")
    assert stream.next_message()["method"] == PROMPTS


@pytest.mark.req("2026-07-28:subs.none-before-ack")
def test_no_change_comes_before_the_acknowledgement(serve: Serve) -> None:
    client = serve(make_server())
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            client.server.notify_list_changed("tools")
            stop.wait(0.0005)

    def listen() -> None:
        try:
            for _ in range(20):
                reply = client.listen({"toolsListChanged": True})
                assert [reply.next_message()["method"] for _ in range(2)] == [ACKNOWLEDGED, TOOLS]
                reply.close()
        finally:
            stop.set()

    together(change, listen)


def test_many_changes_at_once_are_all_told(serve: Serve) -> None:
    client = serve(make_server(stream_buffer_events=4))
    stream = listening(client, {"toolsListChanged": True, "promptsListChanged": True})
    for n in range(100):
        client.server.notify_list_changed("tools" if n % 2 else "prompts")
    assert [stream.next_message()["method"] for _ in range(100)] == [PROMPTS, TOOLS] * 50


def test_too_many_streams_are_refused_before_any_byte(serve: Serve) -> None:
    client = serve(make_server(), threads=8)
    streams = [listening(client, LISTS) for _ in range(4)]
    refused = client.listen(LISTS, id="fifth")
    assert (refused.status, refused.kind) == (503, JSON)
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["id"] == "fifth"
    assert refused.error()["data"] == {"reason": "busy"}
    # Calls go on meanwhile, and a stream that ends makes room.
    assert text(client.call("add", {"a": 1, "b": 2})) == "3"
    streams[0].close()
    eventually(lambda: client.app.runtime.budget.parked == 3)
    listening(client, LISTS)


def test_an_authenticated_caller_has_a_limit_of_its_own(serve: Serve) -> None:
    client = serve(make_server(max_streams_principal=2), principal=lambda environ: environ.get("HTTP_X_USER"))
    for _ in range(2):
        listening(client, LISTS, headers={"X-User": "ann"})
    assert client.listen(LISTS, headers={"X-User": "ann"}).status == 503
    listening(client, LISTS, headers={"X-User": "bob"})
    for _ in range(5):
        listening(client, LISTS)  # nobody in particular: not one caller, but any number


@pytest.mark.parametrize(
    "notifications",
    [
        None,
        5,
        [],
        {"toolsListChanged": "yes"},
        {"resourceSubscriptions": True},
        {"resourceSubscriptions": [5]},
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(serve: Serve, notifications: Any) -> None:
    client = serve(make_server())
    params = {} if notifications is None else {"notifications": notifications}
    reply = client.modern("subscriptions/listen", params)
    assert reply.kind == JSON
    assert reply.error()["code"] == -32602
    assert client.app.runtime.budget.parked == 0


def test_a_client_that_takes_no_events_cannot_listen(serve: Serve) -> None:
    client = serve(make_server())
    reply = client.listen(LISTS, headers={"Accept": JSON}, id=9)
    assert (reply.status, reply.json()["id"], reply.error()["code"]) == (406, 9, -32600)
    assert client.app.runtime.budget.parked == 0


def test_legacy_has_no_such_method(serve: Serve) -> None:
    session = serve(make_server()).connect()
    assert session.request("subscriptions/listen", {"notifications": LISTS}).error()["code"] == -32601


def test_two_applications_of_one_server_share_its_changes(serve: Serve) -> None:
    server = make_server()
    streams = [listening(serve(server), LISTS), listening(serve(server), LISTS)]
    server.notify_list_changed("tools")
    assert [stream.next_message()["method"] for stream in streams] == [TOOLS, TOOLS]
