"""``subscriptions/listen``: the acknowledgement first, then what was asked for, on every stream that wants it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, PeerError, RequestContext, Settings
from mcpref.cancellation import Deadline
from mcpref.errors import RequestTimeout
from mcpref.jsonrpc import Notification
from mcpref.meta import MetaKey
from mcpref.testing import Call, Peer, connect
from tests.server.support import FORM, PATIENCE, meta, texts

ACK = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
ALL: dict[str, Any] = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["note://a"],
}


@pytest.fixture
def server() -> McpServer:
    server = McpServer("listened", resource_subscriptions=True)

    @server.tool
    def talk(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        ctx.log("error", "x")
        return "done"

    @server.prompt
    def hello() -> str:
        return "Hello"

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    return server


def listen(peer: Peer, id: str | int | None = None, **wanted: Any) -> tuple[Call, dict[str, Any]]:
    """Open a stream; the call, and what was acknowledged."""
    call = peer.start("subscriptions/listen", {"notifications": wanted}, id=id)
    acknowledged = peer.next_notification(ACK)
    assert stream_of(acknowledged) == call.id
    return call, (acknowledged.params or {})["notifications"]


def stream_of(notification: Notification) -> object:
    return (notification.params or {})["_meta"][MetaKey.SUBSCRIPTION_ID]


def synchronise(peer: Peer) -> None:
    """The server has read everything that was sent before."""
    peer.request("server/discover")


def received(peer: Peer, server: McpServer) -> list[tuple[object, str]]:
    """Stream and method of every change that was announced before.

    Changes are passed on in their order, so one more, on a stream of its own, comes behind them all.
    """
    sentinel, _ = listen(peer, id=f"sentinel {len(peer.messages)}", resourceSubscriptions=["note://sentinel"])
    server.notify_resource_updated("note://sentinel")
    while (peer.next_notification(UPDATED).params or {})["uri"] != "note://sentinel":
        pass
    sentinel.cancel()
    synchronise(peer)
    changes = [message["params"] | {"method": message["method"]} for message in peer.messages]
    return [
        (change["_meta"][MetaKey.SUBSCRIPTION_ID], change["method"])
        for change in changes
        if change["method"] != ACK and change.get("uri") != "note://sentinel"
    ]


# ---- Opening ----------------------------------------------------------------------------------------------


@pytest.mark.parity(120)
@pytest.mark.req("2026-07-28:subs.ack-first", "2026-07-28:subs.none-before-ack")
def test_the_acknowledgement_is_first(server: McpServer) -> None:
    with connect(server) as peer:
        for number in range(30):
            call = peer.start("subscriptions/listen", {"notifications": ALL})
            server.notify_resource_updated("note://a")
            server.notify_list_changed("tools")
            first = peer.next_notification()
            while stream_of(first) != call.id:
                first = peer.next_notification()
            assert first.method == ACK, number
            call.cancel()


@pytest.mark.parity(120)
@pytest.mark.req(
    "2026-07-28:resources.subscribe-capability",
    "2026-07-28:subs.ack-subscription-id",
    "2026-07-28:subs.ack-notifications-field",
    "2026-07-28:subs.filter-fields",
)
@pytest.mark.parametrize(
    ("wanted", "honored"),
    [
        ({}, {}),
        (ALL, ALL),
        ({"toolsListChanged": True}, {"toolsListChanged": True}),
        ({"toolsListChanged": False, "promptsListChanged": True}, {"promptsListChanged": True}),
        (
            {"resourceSubscriptions": ["note://b", "note://a", "note://b"]},
            {"resourceSubscriptions": ["note://b", "note://a"]},
        ),
        ({"resourceSubscriptions": []}, {}),
        ({"somethingNew": True, "toolsListChanged": True}, {"toolsListChanged": True}),
    ],
    ids=str,
)
def test_what_is_honored_is_acknowledged(
    server: McpServer, wanted: dict[str, Any], honored: dict[str, Any]
) -> None:
    with connect(server) as peer:
        _, acknowledged = listen(peer, **wanted)
        assert acknowledged == honored


@pytest.mark.parity(120)
@pytest.mark.req("2026-07-28:resources.subscribe-capability", "2026-07-28:subs.ack-honored-subset")
def test_what_the_server_does_not_offer_is_left_out() -> None:
    server = McpServer("plain")
    server.resource("note://a", name="a")(lambda: "x")
    with connect(server) as peer:
        _, acknowledged = listen(peer, **ALL)
        assert acknowledged == {"resourcesListChanged": True}
        server.notify_resource_updated("note://a")
        server.notify_list_changed("tools")
        server.notify_list_changed("resources")
        assert peer.next_notification().method == "notifications/resources/list_changed"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": []},
        {"notifications": {"toolsListChanged": "yes"}},
        {"notifications": {"resourceSubscriptions": "note://a"}},
        {"notifications": {"resourceSubscriptions": [5]}},
        {"notifications": {"resourceSubscriptions": ["no uri"]}},
        {"notifications": {"resourceSubscriptions": True}},
    ],
    ids=repr,
)
def test_a_malformed_filter_opens_nothing(server: McpServer, params: dict[str, Any]) -> None:
    with connect(server) as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("subscriptions/listen", params)
        assert caught.value.code == -32602
        assert peer.messages == []


# ---- Carrying ---------------------------------------------------------------------------------------------


@pytest.mark.parity(119, 120)
@pytest.mark.req(
    "2026-07-28:subs.only-requested-types",
    "2026-07-28:subs.notification-subscription-id",
    "2026-07-28:subs.id-equals-request-id",
    "2026-07-28:resources.updated-delivered",
    "resources.updated-only-subscribed",
    "2026-07-28:base.stateless-listen-scope",
)
def test_each_stream_gets_what_it_asked_for(server: McpServer) -> None:
    with connect(server) as peer:
        listen(peer, id=71, toolsListChanged=True, resourceSubscriptions=["note://a"])
        listen(peer, id="71", toolsListChanged=True)
        listen(peer, id="prompts", promptsListChanged=True)
        server.notify_list_changed("tools")
        server.notify_list_changed("prompts")
        server.notify_list_changed("resources")
        server.notify_resource_updated("note://a")
        server.notify_resource_updated("note://b")
        assert received(peer, server) == [
            (71, "notifications/tools/list_changed"),
            ("71", "notifications/tools/list_changed"),
            ("prompts", "notifications/prompts/list_changed"),
            (71, UPDATED),
        ]
        updates = [message["params"] for message in peer.messages if message["method"] == UPDATED]
        assert updates[0]["uri"] == "note://a"


@pytest.mark.parity(120)
def test_every_client_that_listens_is_told(server: McpServer) -> None:
    with connect(server) as one, connect(server) as other, connect(server) as deaf:
        for peer in (one, other):
            listen(peer, id="same", toolsListChanged=True)
        server.notify_list_changed("tools")
        for peer in (one, other):
            assert received(peer, server) == [("same", "notifications/tools/list_changed")]
        assert received(deaf, server) == []


@pytest.mark.req("2026-07-28:subs.id-absent-elsewhere", "2026-07-28:logging.request-scoped")
def test_what_belongs_to_another_request_is_not_on_a_stream(server: McpServer) -> None:
    with connect(server) as peer:
        listen(peer, **ALL)
        fields = {"progressToken": "t", MetaKey.LOG_LEVEL: "debug"}
        assert texts(peer.request("tools/call", {"name": "talk", "_meta": fields})) == "done"
        progress = peer.next_notification("notifications/progress")
        logged = peer.next_notification("notifications/message")
        assert "_meta" not in (progress.params or {})
        assert "_meta" not in (logged.params or {})


@pytest.mark.req("2026-07-28:base.in-flight-notifications", "2026-07-28:base.binding-delivery")
def test_requests_are_served_while_streams_are_open(server: McpServer) -> None:
    with connect(server) as peer:
        for number in range(10):
            listen(peer, id=f"s{number}", **ALL)
        for _ in range(5):
            assert texts(peer.call_tool("talk")) == "done"


# ---- Closing ----------------------------------------------------------------------------------------------


@pytest.mark.parity(120)
@pytest.mark.req("2026-07-28:cancel.server-no-response", "2026-07-28:cancel.server-free")
def test_a_client_closes_one_stream_and_keeps_the_other(server: McpServer) -> None:
    with connect(server) as peer:
        one, _ = listen(peer, id=901, toolsListChanged=True)
        other, _ = listen(peer, id="901", toolsListChanged=True)
        one.cancel()
        synchronise(peer)
        server.notify_list_changed("tools")
        assert received(peer, server) == [("901", "notifications/tools/list_changed")]
        with pytest.raises(RequestTimeout):
            one.result(timeout=0.001)
        assert peer.connection is not None
        assert list(peer.connection.state.in_flight) == ["901"]
        other.cancel()
        synchronise(peer)
        assert peer.connection.state.in_flight == {}


@pytest.mark.req(
    "2026-07-28:cancel.server-on-listen-teardown",
    "2026-07-28:subs.server-graceful-response",
    "2026-07-28:subs.result-empty",
    "2026-07-28:subs.result-subscription-id",
    "2026-07-28:cancel.server-no-other-use",
)
def test_the_servers_end_closes_every_stream_with_a_result(server: McpServer) -> None:
    peer = connect(server)
    try:
        calls = [listen(peer, id=name, toolsListChanged=True)[0] for name in (901, "901", "x")]
        closed, _ = listen(peer, id="closed by the client")
        closed.cancel()
        synchronise(peer)
        peer.request("tools/call", {"name": "talk"})
        connection = peer.connection
        assert connection is not None
        connection.shut_down(Deadline(PATIENCE))
        for call in calls:
            ended = call.result()
            assert ended["resultType"] == "complete"
            assert set(ended) == {"resultType", "_meta"}
            assert ended["_meta"][MetaKey.SUBSCRIPTION_ID] == call.id
            assert type(ended["_meta"][MetaKey.SUBSCRIPTION_ID]) is type(call.id)
        cancelled = [
            message["params"]["requestId"]
            for message in peer.messages
            if message["method"] == "notifications/cancelled"
        ]
        assert cancelled == [901, "901", "x"]
    finally:
        peer.close()


@pytest.mark.req("2026-07-28:cancel.server-no-other-use")
def test_the_servers_end_cancels_nothing_else() -> None:
    server = McpServer("ending")

    @server.tool
    def wait(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        ctx.wait(PATIENCE)
        return "stopped"

    peer = connect(server)
    try:
        call = peer.start("tools/call", {"name": "wait", "_meta": {"progressToken": 1}})
        peer.next_notification("notifications/progress")
        assert peer.connection is not None
        peer.connection.shut_down(Deadline(PATIENCE))
        assert texts(call.result()) == "stopped", "an answer computed in time still goes out"
        assert [message["method"] for message in peer.messages] == ["notifications/progress"]
    finally:
        peer.close()


@pytest.mark.req("2026-07-28:subs.no-state-across-reconnect")
def test_a_new_connection_listens_to_nothing(server: McpServer) -> None:
    with connect(server) as peer:
        listen(peer, id=5, **ALL)
    with connect(server) as peer:
        server.notify_list_changed("tools")
        server.notify_resource_updated("note://a")
        assert received(peer, server) == []


def test_streams_are_limited(server: McpServer) -> None:
    limited = McpServer("limited", settings=Settings(max_streams=2))
    with connect(limited) as peer:
        first, _ = listen(peer)
        listen(peer)
        with pytest.raises(PeerError) as caught:
            peer.request("subscriptions/listen", {"notifications": {}})
        assert (caught.value.code, caught.value.data) == (-32603, {"reason": "busy"})
        first.cancel()
        synchronise(peer)
        listen(peer)


# ---- Both eras on one connection --------------------------------------------------------------------------


def test_a_legacy_connection_may_open_modern_streams(server: McpServer) -> None:
    with connect(server, "2025-11-25", capabilities=FORM) as peer:
        peer.request("ping")
        peer.start(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": meta()}, id="m"
        )
        peer.next_notification(ACK)
        server.notify_list_changed("tools")
        stamped = peer.next_notification("notifications/tools/list_changed")
        plain = peer.next_notification("notifications/tools/list_changed")
        assert stream_of(stamped) == "m"
        assert plain.params is None
