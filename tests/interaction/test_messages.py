"""JSON-RPC on the wire: ids, envelopes, and lines that are no message at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpref import McpServer, RequestContext, Settings
from tests.server.support import EVERYTHING, LEGACY, MODERN, VERSIONS, meta

from .wire import Wire

STRANGE = "line\nfeed\r\u2028\u2029\x85 ümlaut 🙂 \ud800 \x00 \x7f"


@pytest.fixture
def server() -> McpServer:
    server = McpServer("messages")

    @server.tool
    def echo(ctx: RequestContext, text: str = "") -> str:
        ctx.report_progress(1, message=text)
        return text

    return server


def call(version: str, id: object, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": "echo", "arguments": arguments}
    if version == MODERN:
        params["_meta"] = meta()
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@pytest.mark.req(
    "2025-11-25:jsonrpc.result-id-match",
    "2025-11-25:jsonrpc.error-id-match",
    "2026-07-28:jsonrpc.result-id-echo",
    "2026-07-28:jsonrpc.error-id-echo",
    "2026-07-28:base.request-answered",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("id", [0, 1, -1, 2**63, "", "1", "a b", "é", "x" * 1000], ids=lambda i: repr(i)[:12])
def test_an_answer_has_the_id_of_its_request(server: McpServer, version: str, id: str | int) -> None:
    with Wire(server, version) as wire:
        good = wire.request("tools/list", id=id)
        bad = wire.request("no/such", id=id)
        worse = wire.request("tools/call", {"name": 5}, id=id)
    for answer in (good, bad, worse):
        assert (answer["id"], type(answer["id"])) == (id, type(id))
    assert ("result" in good, "error" in good) == (True, False)
    assert ("result" in bad, "error" in bad) == (False, True)


@pytest.mark.req(
    "2025-11-25:errors.parse",
    "2026-07-28:errors.parse-32700",
    "base.utf8",
    "2025-11-25:jsonrpc.error-id-omitted",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "line",
    [
        b"no json",
        b"{",
        b'{"jsonrpc": "2.0", "id": 1,}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b"\xff\xfe{\x00}\x00",
    ],
    ids=repr,
)
def test_what_is_not_json_is_a_parse_error_and_the_next_line_is_served(
    server: McpServer, version: str, line: bytes
) -> None:
    with Wire(server, version) as wire:
        wire.send(line)
        answer = wire.receive()
        assert answer["error"]["code"] == -32700
        # The member is null where the revision asks for it, and left out where it may be.
        assert ("id" in answer) == (version < "2025-11-25")
        assert answer.get("id") is None
        assert "result" in wire.request("tools/list")


@pytest.mark.req(
    "2025-11-25:errors.invalid-request",
    "2026-07-28:errors.invalid-request-32600",
    "2025-11-25:jsonrpc.error-id-match",
    "jsonrpc.request-id-not-null",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("message", "id"),
    [
        (5, None),
        ("text", None),
        (None, None),
        ({}, None),
        ({"jsonrpc": "2.0"}, None),
        ({"jsonrpc": "1.0", "id": 7, "method": "ping"}, 7),
        ({"id": 7, "method": "ping"}, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": 5}, 7),
        ({"jsonrpc": "2.0", "id": 7}, 7),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "result": {}}, 7),
    ],
    ids=repr,
)
def test_what_is_no_message_is_an_invalid_request(
    server: McpServer, version: str, message: object, id: int | None
) -> None:
    with Wire(server, version) as wire:
        wire.send(message)
        answer = wire.receive()
        assert answer["error"]["code"] == -32600
        assert answer.get("id") == id
        assert "result" in wire.request("tools/list")


@pytest.mark.req("2025-11-25:errors.invalid-params", "2026-07-28:errors.invalid-params-32602")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("params", [[], "x", 5, None], ids=repr)
def test_params_that_are_no_object_are_invalid(server: McpServer, version: str, params: object) -> None:
    with Wire(server, version) as wire:
        wire.send({"jsonrpc": "2.0", "id": "p", "method": "tools/list", "params": params})
        answer = wire.receive()
        assert (answer["id"], answer["error"]["code"]) == ("p", -32602)


@pytest.mark.req("jsonrpc.notification-no-response", "jsonrpc.notification-no-id")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_notification_is_never_answered(server: McpServer, version: str) -> None:
    with Wire(server, version) as wire:
        for method in (
            "notifications/initialized",
            "notifications/cancelled",
            "notifications/progress",
            "notifications/roots/list_changed",
            "notifications/never/heard/of",
            "tools/list",
            "tools/call",
            "ping",
            "",
        ):
            wire.send({"jsonrpc": "2.0", "method": method})
            wire.send({"jsonrpc": "2.0", "method": method, "params": {"x": 1}})
        assert wire.request("tools/list", id="next")["id"] == "next"
        fields = {"progressToken": 1}
        progress = wire.request("tools/call", {"name": "echo", "_meta": fields}, id="with progress")
        assert "id" not in progress
        assert wire.receive()["id"] == "with progress"


@pytest.mark.req(
    "stdio.no-embedded-newline", "base.utf8", "stdio.stdout-only-mcp", "2025-11-25:jsonrpc.version-member"
)
@pytest.mark.parametrize("version", VERSIONS)
def test_each_message_is_one_line_of_ascii_json_whatever_it_says(server: McpServer, version: str) -> None:
    with Wire(server, version) as wire:
        answer = wire.request("tools/call", {"name": "echo", "arguments": {"text": STRANGE}})
        assert answer["result"]["content"][0]["text"] == STRANGE
        for line in wire.lines:
            assert line.isascii()
            assert not set(line) & set(range(0x20))
            assert json.loads(line)["jsonrpc"] == "2.0"


@pytest.mark.req("base.utf8")
@pytest.mark.parametrize("version", VERSIONS)
def test_unescaped_utf8_is_read(server: McpServer, version: str) -> None:
    with Wire(server, version) as wire:
        line = json.dumps(call(version, 1, text="größe 漢字 🙂"), ensure_ascii=False)
        wire.send(line.encode())
        assert wire.receive()["result"]["content"][0]["text"] == "größe 漢字 🙂"


@pytest.mark.parity(87)
@pytest.mark.parametrize("version", VERSIONS)
def test_blank_lines_and_carriage_returns_are_passed_over(server: McpServer, version: str) -> None:
    with Wire(server, version) as wire:
        line = json.dumps(call(version, 1, text="x")).encode()
        wire.send(b"\n\r\n   \n" + line + b"\r\n")
        assert wire.receive()["result"]["content"][0]["text"] == "x"


@pytest.mark.parity(88)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_line_that_is_too_long_is_answered_once_and_skipped(version: str) -> None:
    server = McpServer("short", settings=Settings(max_message=2000))
    server.tool(lambda: "served", name="quick")
    with Wire(server, version) as wire:
        wire.send(b"[" * 10_000)
        answer = wire.receive()
        assert answer["error"]["code"] == -32600
        assert "2000" in answer["error"]["message"]
        assert wire.request("tools/call", {"name": "quick"})["result"]["content"][0]["text"] == "served"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reply_to_nothing_is_ignored(server: McpServer, version: str) -> None:
    with Wire(server, version) as wire:
        wire.send({"jsonrpc": "2.0", "id": 99, "result": {}})
        wire.send({"jsonrpc": "2.0", "id": "99", "error": {"code": 1, "message": "x"}})
        wire.send({"jsonrpc": "2.0", "error": {"code": 1, "message": "x"}})
        assert wire.request("tools/list", id="next")["id"] == "next"


@pytest.mark.req("2026-07-28:version.dual-server-concurrent", "2026-07-28:version.dual-server-by-opening")
def test_both_eras_are_served_without_any_opening(server: McpServer) -> None:
    """The first line decides nothing: a modern one may come before, between and after the handshake."""
    with Wire(server, MODERN) as wire:
        assert wire.request("tools/list")["result"]["resultType"] == "complete"
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t"}}
        wire.send({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params})
        assert wire.receive()["result"]["protocolVersion"] == "2025-06-18"
        assert wire.request("tools/list")["result"]["resultType"] == "complete"
        wire.send({"jsonrpc": "2.0", "id": 3, "method": "tools/list"})
        assert "resultType" not in wire.receive()["result"]


@pytest.mark.req("2025-11-25:lifecycle.operation-version", "2025-11-25:base.core-required")
@pytest.mark.parametrize("version", LEGACY)
def test_the_handshake_is_seen_by_the_very_next_line(server: McpServer, version: str) -> None:
    """Both lines are sent at once; the second is served under the version that the first one agreed on."""
    params = {"protocolVersion": version, "capabilities": EVERYTHING, "clientInfo": {"name": "t"}}
    first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    second = call(version, 2, text="x")
    second["params"]["_meta"] = {"progressToken": 5}
    with Wire(server, version, initialize=False) as wire:
        wire.send(json.dumps(first).encode() + b"\n" + json.dumps(second).encode())
        answers = [wire.receive() for _ in range(3)]
        progress = next(answer for answer in answers if answer.get("method") == "notifications/progress")
        assert ("message" in progress["params"]) == (version != "2024-11-05")
