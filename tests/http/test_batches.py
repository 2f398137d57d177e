"""Arrays of messages over HTTP, which 2025-03-26 alone has.

Spec: 2025-03-26 basic/index#batching
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, RequestContext, ServerMode
from tests.http.conftest import Serve
from tests.http.support import MODERN
from tests.http.wires import JSON


def make_server(mode: ServerMode = ServerMode.STATEFUL) -> McpServer:
    server = McpServer("batches", mode=mode)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def talks(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "done"

    return server


def request(id: object, method: str = "ping", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


NOTE = {"jsonrpc": "2.0", "method": "notifications/x"}
REPLY = {"jsonrpc": "2.0", "id": "nobody", "result": {}}


@pytest.mark.parity(90)
def test_a_batch_is_answered_by_one_array(serve: Serve) -> None:
    session = serve(make_server()).connect("2025-03-26")
    batch = [
        request(1, "tools/call", name="add", arguments={"a": 1, "b": 2}),
        NOTE,
        request("1", "no/such"),
        REPLY,
        5,
        request(2),
    ]
    reply = session.post(batch)
    assert (reply.status, reply.kind) == (200, JSON)
    answers = reply.json()
    assert [answer["id"] for answer in answers] == [1, "1", None, 2]
    assert answers[0]["result"]["content"][0]["text"] == "3"
    assert [answers[1]["error"]["code"], answers[2]["error"]["code"]] == [-32601, -32600]
    assert answers[3]["result"] == {}


@pytest.mark.parity(90)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_no_other_revision_has_batches(serve: Serve, version: str) -> None:
    reply = serve(make_server()).connect(version).post([request(1), NOTE])
    assert reply.status == 400
    assert reply.error()["code"] == -32600
    assert reply.json().get("id") is None


@pytest.mark.parity(90)
def test_the_newest_revision_has_no_batches(serve: Serve) -> None:
    reply = serve(make_server()).post([request(1)], {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.error()["code"]) == (400, -32600)


@pytest.mark.parametrize("batch", [[NOTE], [REPLY], [NOTE, REPLY, NOTE]])
def test_a_batch_that_asks_nothing_gets_202(serve: Serve, batch: list[Any]) -> None:
    reply = serve(make_server()).connect("2025-03-26").post(batch)
    assert (reply.status, reply.body()) == (202, b"")


def test_an_empty_batch_is_refused(serve: Serve) -> None:
    reply = serve(make_server()).connect("2025-03-26").post([])
    assert reply.status == 400
    assert reply.error()["code"] == -32600


def test_initialize_is_not_part_of_a_batch(serve: Serve) -> None:
    client = serve(make_server())
    message = request(0, "initialize", protocolVersion="2025-03-26", capabilities={}, clientInfo={})
    assert client.post([message]).status == 400, "there is no session yet"
    (answer,) = client.connect("2025-03-26").post([message]).json()
    assert answer["error"]["code"] == -32600


def test_nothing_streams_out_of_a_batch(serve: Serve) -> None:
    session = serve(make_server()).connect("2025-03-26")
    call = request(1, "tools/call", name="talks", arguments={}, _meta={"progressToken": "p"})
    reply = session.post([call, request(2)])
    assert (reply.status, reply.kind) == (200, JSON)
    answers = reply.json()
    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[0]["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize(("header", "status"), [(None, 200), ("2025-03-26", 200), ("2025-11-25", 400)])
def test_a_stateless_server_goes_by_the_header(serve: Serve, header: str | None, status: int) -> None:
    client = serve(make_server(ServerMode.STATELESS))
    assert client.post([request(1)], {"MCP-Protocol-Version": header}).status == status
