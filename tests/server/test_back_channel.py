"""Asking the client while a legacy request runs: the question out, the thread waiting, the answer back."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from mcpref import McpServer, NullContext, PeerError, RequestCancelled, RequestContext
from mcpref.errors import ConnectionClosed, InvalidRequest, RequestTimeout
from mcpref.jsonrpc import Batch, Notification, Request
from mcpref.server.state import ConnectionState
from mcpref.testing import Call, connect
from mcpref.transport.duplex import DuplexChannel
from mcpref.transport.stdio import StdioContext

from .support import LEGACY, PATIENCE, texts

ROOTS = {"roots": [{"uri": "file:///home", "name": "home"}, {"uri": "file:///tmp"}]}


@pytest.fixture
def server() -> McpServer:
    server = McpServer("asking")

    @server.tool
    def roots(ctx: RequestContext) -> str:
        return " ".join(root.uri for root in ctx.list_roots())

    @server.tool
    def impatient(ctx: RequestContext) -> str:
        with pytest.raises(RequestTimeout):
            ctx.list_roots(timeout=0.01)
        return "gave up"

    @server.tool
    def refused(ctx: RequestContext) -> dict[str, Any]:
        with pytest.raises(PeerError) as caught:
            ctx.list_roots()
        return {"code": caught.value.code, "message": caught.value.message, "data": caught.value.data}

    return server


@pytest.mark.parity(83)
@pytest.mark.req("2025-11-25:jsonrpc.request-id-unique", "2025-11-25:jsonrpc.request-id-type")
@pytest.mark.parametrize("version", LEGACY)
def test_a_question_is_written_and_its_answer_delivered(server: McpServer, version: str) -> None:
    with connect(server, version, on_roots=lambda params: ROOTS) as peer:
        for _ in range(3):
            assert texts(peer.call_tool("roots")) == "file:///home file:///tmp"
        ids = [message["id"] for message in peer.messages]
        assert len(set(ids)) == 3
        assert {type(each) for each in ids} == {int}
        assert {message["method"] for message in peer.messages} == {"roots/list"}


@pytest.mark.parity(83, 85)
def test_answers_may_come_in_any_order(server: McpServer) -> None:
    order = threading.Barrier(2)
    asked: list[int] = []
    lock = threading.Lock()
    first_answered = threading.Event()

    def answer(params: object) -> dict[str, Any]:
        order.wait(PATIENCE)  # both questions are out
        with lock:
            asked.append(1)
            mine = len(asked)
        if mine == 1:
            assert first_answered.wait(PATIENCE)  # the other one is answered before
        return {"roots": [{"uri": f"file:///{mine}"}]}

    with connect(server, "2025-11-25", on_roots=answer) as peer:
        calls = [peer.start("tools/call", {"name": "roots"}) for _ in range(2)]
        done: list[str] = []

        def collect(call: Call) -> None:
            done.append(texts(call.result()))
            first_answered.set()

        waiting = [threading.Thread(target=collect, args=(call,)) for call in calls]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join(PATIENCE)
        assert done == ["file:///2", "file:///1"]


@pytest.mark.parity(76)
@pytest.mark.parametrize("version", LEGACY)
def test_an_error_reply_is_raised_with_its_code(server: McpServer, version: str) -> None:
    def refuse(params: object) -> dict[str, Any]:
        raise PeerError(-12345, "not now", {"retry": 5})

    with connect(server, version, on_roots=refuse) as peer:
        told = json.loads(texts(peer.call_tool("refused")))
        assert told == {"code": -12345, "message": "not now", "data": {"retry": 5}}
        assert peer.connection is not None
        assert len(peer.connection._channel.pending) == 0


@pytest.mark.parity(76)
def test_a_question_that_times_out_leaves_no_waiter(server: McpServer) -> None:
    release = threading.Event()

    def slow(params: object) -> dict[str, Any]:
        release.wait(PATIENCE)
        return ROOTS

    with connect(server, "2025-11-25", on_roots=slow) as peer:
        assert texts(peer.call_tool("impatient")) == "gave up"
        assert peer.connection is not None
        assert len(peer.connection._channel.pending) == 0
        release.set()


class BrokenStream:
    """A stream whose other end is gone."""

    def read(self, size: int) -> bytes:
        return b""

    def write(self, data: bytes) -> None:
        raise BrokenPipeError("gone")

    def close_read(self) -> None: ...

    def close_write(self) -> None: ...


class Nobody:
    """An owner that expects no message."""

    def on_message(self, message: Request | Notification | Batch) -> None:
        raise AssertionError(message)

    def on_malformed(self, error: Exception) -> None:
        raise AssertionError(error)

    def on_end(self, reason: str) -> None: ...


@pytest.mark.parity(76)
def test_a_failed_write_leaves_no_waiter() -> None:
    channel = DuplexChannel(BrokenStream(), Nobody(), max_line=1024, name="mcpref-test")
    ctx = StdioContext(channel, ConnectionState())
    with pytest.raises(ConnectionClosed):
        ctx.request("roots/list", {}, PATIENCE)
    assert len(channel.pending) == 0


@pytest.mark.parity(82)
def test_without_a_channel_nobody_can_be_asked() -> None:
    ctx = NullContext()
    assert not ctx.client_supports("roots")
    assert not ctx.has_back_channel
    with pytest.raises(InvalidRequest):
        ctx.request("roots/list", {}, PATIENCE)
    stateless = StdioContext(
        DuplexChannel(BrokenStream(), Nobody(), max_line=1024, name="mcpref-test"),
        ConnectionState(),
        stateless=True,
    )
    assert not stateless.has_back_channel
    with pytest.raises(InvalidRequest):
        stateless.request("roots/list", {}, PATIENCE)


@pytest.mark.parity(77)
@pytest.mark.parametrize("version", LEGACY)
def test_only_the_question_of_that_very_id_is_answered(version: str) -> None:
    """A reply to 1.0 answers our request 1; "1" and 1.5 answer nothing."""
    server = McpServer("ids")

    @server.tool
    def roots(ctx: RequestContext) -> str:
        return " ".join(root.uri for root in ctx.list_roots())

    asked = threading.Event()
    release = threading.Event()

    def hold(params: object) -> dict[str, Any]:
        asked.set()
        assert release.wait(PATIENCE)
        return {"roots": []}

    with connect(server, version, on_roots=hold) as peer:
        call = peer.start("tools/call", {"name": "roots"})
        assert asked.wait(PATIENCE)
        number = peer.messages[0]["id"]
        for written, uri in ((f'"{number}"', "text"), (f"{number}.5", "half"), (f"{number}.0", "whole")):
            reply = f'{{"jsonrpc":"2.0","id":{written},"result":{{"roots":[{{"uri":"file:///{uri}"}}]}}}}'
            peer.send_line(reply.encode())
        assert texts(call.result()) == "file:///whole"
        release.set()


@pytest.mark.parity(77)
@pytest.mark.parametrize("version", LEGACY)
def test_incoming_ids_are_never_confused(version: str) -> None:
    server = McpServer("ids")
    running = threading.Semaphore(0)

    @server.tool
    def wait(ctx: RequestContext) -> str:
        running.release()
        assert ctx.wait(PATIENCE)
        return "late"

    with connect(server, version) as peer:
        peer.start("tools/call", {"name": "wait"}, id=901)
        peer.start("tools/call", {"name": "wait"}, id="901")
        for _ in range(2):
            assert running.acquire(timeout=PATIENCE)
        for other in ("901.0", "true"):
            peer.send_line(
                f'{{"jsonrpc":"2.0","id":{other},"method":"tools/call","params":{{"name":"wait"}}}}'.encode()
            )
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}
            peer.send_line(json.dumps(cancel).replace("0}", other + "}").encode())
        peer.request("ping")
        assert peer.connection is not None
        tokens = peer.connection.state.in_flight
        assert {(type(each), each) for each in tokens} == {(int, 901), (str, "901")}
        assert not any(token.cancelled for token in tokens.values())


@pytest.mark.req("2025-11-25:elicitation.bind-identity", "2025-11-25:elicitation.state-user")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_another_client_cannot_answer_the_question(version: str) -> None:
    """A question waits on the connection it was put on; the same id on another one is nobody's answer."""
    server = McpServer("asking")

    @server.tool
    def ask(ctx: RequestContext) -> str:
        return str(ctx.elicit("Who?", ["me", "the other one"]).content)

    asked, release = threading.Event(), threading.Event()

    def hold(params: object) -> dict[str, Any]:
        asked.set()
        assert release.wait(PATIENCE)
        return {"action": "accept", "content": {"choice": "me"}}

    with connect(server, version, on_elicit=hold) as one, connect(server, version) as other:
        call = one.start("tools/call", {"name": "ask"})
        assert asked.wait(PATIENCE)
        stolen = {"action": "accept", "content": {"choice": "the other one"}}
        other.send_line(
            json.dumps({"jsonrpc": "2.0", "id": one.messages[0]["id"], "result": stolen}).encode()
        )
        assert other.request("ping") == {}
        release.set()
        assert texts(call.result()) == "me"


@pytest.mark.parity(89)
def test_the_end_of_the_connection_releases_whoever_waits() -> None:
    server = McpServer("ending")
    outcome: list[Exception] = []
    ended = threading.Event()
    asked = threading.Event()

    @server.tool
    def ask(ctx: RequestContext) -> str:
        for _ in range(2):  # the second one fails at once: nobody is there any more
            try:
                ctx.list_roots()
            except Exception as error:
                outcome.append(error)
        ended.set()
        return "released"

    def hold(params: object) -> dict[str, Any]:
        asked.set()
        ended.wait(PATIENCE)
        return ROOTS

    peer = connect(server, "2025-11-25", on_roots=hold)
    try:
        peer.start("tools/call", {"name": "ask"})
        assert asked.wait(PATIENCE)
    finally:
        peer.close()
    assert ended.wait(PATIENCE)
    assert len(outcome) == 2
    # By the second question the shutdown may have cancelled the call as well.
    assert isinstance(outcome[0], ConnectionClosed)
    assert isinstance(outcome[1], ConnectionClosed | RequestCancelled)
