"""``resources/subscribe`` and the notifications that follow, on the revisions that have a handshake."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, PeerError
from mcpref.testing import Peer, connect
from tests.server.support import LEGACY

UPDATED = "notifications/resources/updated"


@pytest.fixture
def server() -> McpServer:
    server = McpServer("watched", resource_subscriptions=True)

    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.resource("item://{name}")
    def item(name: str) -> str:
        return name

    return server


def updates(peer: Peer, server: McpServer) -> list[str]:
    """The URIs of all updates that were announced before; a change of the list comes behind them."""
    server.notify_list_changed("resources")
    found = []
    while (told := peer.next_notification()).method != "notifications/resources/list_changed":
        assert told.method == UPDATED
        assert list(told.params or {}) == ["uri"]
        found.append((told.params or {})["uri"])
    return found


@pytest.mark.req(
    "2025-11-25:resources.subscribe",
    "resources.updated-only-subscribed",
    "2025-11-25:resources.updates-need-subscribe-cap",
)
@pytest.mark.parametrize("version", LEGACY)
def test_only_what_is_watched_is_told(server: McpServer, version: str) -> None:
    with connect(server, version) as peer:
        for uri in ("note://a", "item://x", "item://x"):
            assert peer.request("resources/subscribe", {"uri": uri}) == {}
        for uri in ("note://a", "item://x", "item://y"):
            server.notify_resource_updated(uri)
        assert updates(peer, server) == ["note://a", "item://x"]

        assert peer.request("resources/unsubscribe", {"uri": "note://a"}) == {}
        assert peer.request("resources/unsubscribe", {"uri": "never://watched"}) == {}
        for uri in ("note://a", "item://x"):
            server.notify_resource_updated(uri)
        assert updates(peer, server) == ["item://x"]


@pytest.mark.req("resources.updated-only-subscribed")
@pytest.mark.parametrize("version", LEGACY)
def test_each_connection_watches_for_itself(server: McpServer, version: str) -> None:
    with connect(server, version) as one, connect(server, version) as other:
        one.request("resources/subscribe", {"uri": "note://a"})
        other.request("ping")
        server.notify_resource_updated("note://a")
        assert updates(one, server) == ["note://a"]
        assert updates(other, server) == []


@pytest.mark.req("2025-11-25:resources.updates-need-subscribe-cap")
def test_a_server_that_did_not_declare_it_tells_nobody() -> None:
    server = McpServer("plain")
    server.resource("note://a", name="a")(lambda: "x")
    with connect(server, "2025-11-25") as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("resources/subscribe", {"uri": "note://a"})
        assert caught.value.code == -32601
        server.notify_resource_updated("note://a")
        assert updates(peer, server) == []


@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"uri": "none://such"}, -32002),
        ({"uri": "no uri"}, -32602),
        ({"uri": 5}, -32602),
        ({}, -32602),
    ],
    ids=repr,
)
def test_what_is_not_there_cannot_be_watched(
    server: McpServer, version: str, params: dict[str, Any], code: int
) -> None:
    with connect(server, version) as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("resources/subscribe", params)
        assert caught.value.code == code


def test_a_new_connection_watches_nothing(server: McpServer) -> None:
    with connect(server, "2025-11-25") as peer:
        peer.request("resources/subscribe", {"uri": "note://a"})
    with connect(server, "2025-11-25") as peer:
        peer.request("ping")
        server.notify_resource_updated("note://a")
        assert updates(peer, server) == []
