"""Batches: an array is answered with an array on 2025-03-26, and refused once everywhere else."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, RequestContext
from tests.server.support import FORM, LEGACY, MODERN, PATIENCE, meta

from .wire import Wire

BATCHING = "2025-03-26"


@pytest.fixture
def server() -> McpServer:
    server = McpServer("batches")

    @server.tool
    def echo(text: str) -> str:
        return text

    return server


def call(id: str | int, text: str) -> dict[str, Any]:
    params = {"name": "echo", "arguments": {"text": text}}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def by_id(answers: Any) -> dict[Any, Any]:
    assert isinstance(answers, list)
    return {answer["id"]: answer for answer in answers}


@pytest.mark.parity(90)
def test_a_batch_is_answered_with_one_array(server: McpServer) -> None:
    with Wire(server, BATCHING) as wire:
        wire.send([call(1, "one"), call("1", "two"), {"jsonrpc": "2.0", "id": 3, "method": "ping"}])
        answers = by_id(wire.receive())
        assert set(answers) == {1, "1", 3}
        assert answers[1]["result"]["content"][0]["text"] == "one"
        assert answers["1"]["result"]["content"][0]["text"] == "two"
        assert answers[3]["result"] == {}


@pytest.mark.parity(90)
def test_errors_stand_beside_results(server: McpServer) -> None:
    with Wire(server, BATCHING) as wire:
        wire.send(
            [
                call(1, "one"),
                {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
                {"jsonrpc": "2.0", "id": 3},
                {"jsonrpc": "2.0", "method": "notifications/unknown"},
                5,
            ]
        )
        answers = by_id(wire.receive())
        assert set(answers) == {1, 2, 3, None}
        assert "result" in answers[1]
        assert answers[2]["error"]["code"] == -32601
        assert answers[3]["error"]["code"] == -32600
        assert answers[None]["error"]["code"] == -32600


@pytest.mark.parity(90)
def test_a_batch_of_notifications_is_not_answered(server: McpServer) -> None:
    with Wire(server, BATCHING) as wire:
        wire.send([{"jsonrpc": "2.0", "method": "notifications/unknown"}] * 3)
        assert wire.request("ping", id=9) == {"jsonrpc": "2.0", "id": 9, "result": {}}


@pytest.mark.parity(90)
def test_initialize_cannot_be_part_of_a_batch(server: McpServer) -> None:
    params = {"protocolVersion": BATCHING, "capabilities": {}, "clientInfo": {"name": "t"}}
    handshake = {"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": params}
    with Wire(server, BATCHING) as wire:
        wire.send([handshake, call(1, "one")])
        answers = by_id(wire.receive())
        assert answers[5]["error"]["code"] == -32600
        assert "batch" in answers[5]["error"]["message"]
        assert "result" in answers[1]


@pytest.mark.parity(90)
def test_the_requests_of_a_batch_run_side_by_side() -> None:
    server = McpServer("together")
    together = threading.Barrier(3)

    @server.tool
    def meet() -> str:
        together.wait(PATIENCE)
        return "met"

    entry = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "meet"}}
    with Wire(server, BATCHING) as wire:
        wire.send([{**entry, "id": number} for number in range(3)])
        answers = by_id(wire.receive())
        assert [answers[number]["result"]["content"][0]["text"] for number in range(3)] == ["met"] * 3


def test_a_cancelled_entry_is_missing_from_the_answer() -> None:
    server = McpServer("cancelling")
    running = threading.Event()

    @server.tool
    def wait(ctx: RequestContext) -> str:
        running.set()
        assert ctx.wait(PATIENCE)
        return "late"

    @server.tool
    def quick() -> str:
        return "quick"

    entries = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name}}
        for number, name in enumerate(("wait", "quick"))
    ]
    with Wire(server, BATCHING) as wire:
        wire.send(entries)
        assert running.wait(PATIENCE)
        wire.send([{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}])
        assert list(by_id(wire.receive())) == [1]


def test_a_batch_may_answer_the_servers_question() -> None:
    server = McpServer("asking")

    @server.tool
    def roots(ctx: RequestContext) -> str:
        return " ".join(root.uri for root in ctx.list_roots())

    with Wire(server, BATCHING, capabilities={"roots": {}}) as wire:
        question = wire.request("tools/call", {"name": "roots"})
        assert question["method"] == "roots/list"
        reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{"uri": "file:///a"}]}}
        wire.send([reply, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
        answers = [wire.receive(), wire.receive()]
        texts = [answer for answer in answers if isinstance(answer, dict)]
        assert texts[0]["result"]["content"][0]["text"] == "file:///a"
        assert [{"jsonrpc": "2.0", "id": 2, "result": {}}] in answers


@pytest.mark.parity(90)
@pytest.mark.req("2025-11-25:stdio.single-messages", "2026-07-28:stdio.one-message-per-line")
@pytest.mark.parametrize("version", [*LEGACY, MODERN])
def test_an_empty_batch_and_every_batch_elsewhere_are_one_error(server: McpServer, version: str) -> None:
    batches: list[list[Any]] = [[]]
    if version != BATCHING:
        first = call(1, "one")
        if version == MODERN:
            first["params"]["_meta"] = meta(FORM)
        batches += [[first], [first, call(2, "two")]]
    with Wire(server, version) as wire:
        for batch in batches:
            wire.send(batch)
            answer = wire.receive()
            assert answer["error"]["code"] == -32600
            assert answer.get("id") is None
        after = wire.request("tools/list", id="after")
        assert after["id"] == "after"
        assert "result" in after
