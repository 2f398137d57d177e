"""Testing a server through a client in memory."""

from collections.abc import Mapping
from typing import Any, assert_type

from mcpref import McpServer, PeerError
from mcpref.jsonrpc import Notification
from mcpref.testing import Peer, connect

server = McpServer("tested", version="1.0")


@server.tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def on_elicit(question: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"action": "accept", "content": {"sure": "yes" in question["message"]}}


def test_echo() -> None:
    with connect(
        server,
        "2025-11-25",
        on_elicit=on_elicit,
        on_sample=lambda params: {"role": "assistant", "model": "m", "content": params["messages"][0]},
        on_roots=lambda params: {"roots": []},
        timeout=5.0,
    ) as client:
        assert_type(client, Peer)
        result = client.call_tool("echo", {"text": "hi"}, timeout=5)
        assert_type(result, dict[str, Any])
        assert_type(client.get_prompt("greet", {"name": "Ada"}), dict[str, Any])
        assert_type(client.read_resource("config://app"), dict[str, Any])
        assert_type(client.next_notification("notifications/message"), Notification)
        call = client.start("tools/call", {"name": "echo"})
        call.cancel("too slow")
        try:
            client.request("tools/list", {"cursor": "x"})
        except PeerError as error:
            assert_type(error.code, int)
