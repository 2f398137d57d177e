"""Arrays of messages: answered by one array on 2025-03-26, and by one error on every other revision."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from mcpref import McpServer, RequestContext, Sample, Settings, ToolResponse
from tests.threads import PATIENCE, until

from .process import (
    Message,
    Wire,
    call,
    cancel,
    initialize,
    launch,
    nothing_left_behind,
    notification,
    request,
    text_of,
)

BATCHES = "2025-03-26"
OTHERS = ["2024-11-05", "2025-06-18", "2025-11-25"]


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    with nothing_left_behind():
        yield


class Batches(McpServer):
    """A server whose tools say that they run, and can be let go."""

    def __init__(self) -> None:
        super().__init__("batches", version="1", settings=Settings(max_in_flight=4, workers=4))
        self.running = threading.Semaphore(0)
        self.free = threading.Event()
        self.tool(self.echo)
        self.tool(self.block)
        self.tool(self.wait)
        self.tool(self.odd)
        self.tool(self.write)

    def echo(self, text: str) -> str:
        return text

    def block(self) -> str:
        self.running.release()
        until(self.free)
        return "let go"

    def wait(self, ctx: RequestContext) -> str:
        self.running.release()
        ctx.wait(PATIENCE)
        return "over"

    def odd(self) -> ToolResponse:
        return ToolResponse("fine", meta={"example.com/value": float("nan")})

    def write(self, ctx: RequestContext, topic: str) -> str:
        return ctx.ask("text", Sample(topic, max_tokens=10)).text

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.running.acquire(timeout=PATIENCE), "the handler did not start"


@pytest.fixture
def server() -> Batches:
    return Batches()


def echo(id: int | str) -> Message:
    return call(id, "echo", {"text": str(id)}, modern=False)


def ids(batch: list[Message]) -> list[str]:
    return sorted(json.dumps(answer.get("id")) for answer in batch)


@pytest.mark.parity(90)
def test_a_batch_is_answered_by_one_array() -> None:
    with launch("tools") as process:
        process.handshake(BATCHES)
        process.send([echo(1), notification("notifications/x"), echo("1"), request(2, "no/such/method")])
        batch = process.inbox.take_batch()
        assert ids(batch) == ['"1"', "1", "2"]
        texts = {json.dumps(answer["id"]): text_of(answer) for answer in batch if "result" in answer}
        assert texts == {"1": "1", '"1"': "1"}
        (error,) = [answer["error"] for answer in batch if "error" in answer]
        assert error["code"] == -32601
        process.close_input()
        assert process.finish() == 0
        assert process.inbox.rest() == []


@pytest.mark.parity(90)
@pytest.mark.req("2025-11-25:stdio.single-messages")
@pytest.mark.parametrize("version", OTHERS)
def test_no_other_revision_has_batches(version: str) -> None:
    with launch("tools") as process:
        process.handshake(version)
        process.send([echo(1), echo(2)])
        error = process.take(lambda message: "error" in message)
        assert error["error"]["code"] == -32600
        assert version in error["error"]["message"]
        assert error.get("id") is None
        process.is_alive_and_well("after")
        process.close_input()
        assert process.finish() == 0
        assert process.inbox.rest() == []


@pytest.mark.parity(90)
@pytest.mark.req("2026-07-28:stdio.one-message-per-line")
def test_a_modern_client_has_no_batches() -> None:
    with launch("tools") as process:
        process.send([call(1, "echo", {"text": "x"}), call(2, "echo", {"text": "x"})])
        error = process.take(lambda message: "error" in message)
        assert error["error"]["code"] == -32600
        assert "id" not in error
        process.is_alive_and_well(1)
        process.close_input()
        assert process.finish() == 0
        assert process.inbox.rest() == []


class TestEntries:
    """What may stand in a batch, and what comes of it."""

    @pytest.fixture
    def wire(self, server: Batches) -> Iterator[Wire]:
        with Wire(server) as wire:
            wire.handshake(BATCHES)
            yield wire
            # Nothing but what the test took was written.
            assert wire.finish()
            assert wire.inbox.rest() == []

    def test_a_batch_of_notifications_has_no_answer(self, wire: Wire) -> None:
        wire.send([notification("notifications/x"), {**notification("notifications/y"), "params": []}])
        assert text_of(wire.ask(echo("next"))) == "next"

    def test_an_empty_batch_is_one_error(self, wire: Wire) -> None:
        wire.send([])
        error = wire.take(lambda message: "error" in message)
        assert (error["error"]["code"], error["id"]) == (-32600, None)

    def test_what_is_wrong_with_an_entry_stands_in_the_array(self, wire: Wire) -> None:
        wire.send_bytes(
            b'[7, "x", [], {"jsonrpc":"2.0","id":"a"}, {"jsonrpc":"2.0","id":"b","method":"tools/list","params":1},'
            b' {"jsonrpc":"2.0","id":"c","method":"ping"}]\n'
        )
        batch = wire.inbox.take_batch()
        assert ids(batch) == ['"a"', '"b"', '"c"', "null", "null", "null"]
        codes = {json.dumps(answer["id"]): answer.get("error", {}).get("code") for answer in batch}
        assert codes == {'"a"': -32600, '"b"': -32602, '"c"': None, "null": -32600}

    def test_the_handshake_cannot_be_part_of_one(self, server: Batches) -> None:
        with Wire(server) as wire:
            wire.handshake(BATCHES)
            wire.send([initialize(BATCHES, "again"), request("ping", "ping")])
            batch = wire.inbox.take_batch()
            assert ids(batch) == ['"again"', '"ping"']
            (error,) = [answer["error"] for answer in batch if "error" in answer]
            assert (error["code"], "batch" in error["message"]) == (-32600, True)

    def test_one_request_too_many_is_busy_in_the_array(self, wire: Wire, server: Batches) -> None:
        wire.send(*(call(f"block {number}", "block", modern=False) for number in range(3)))
        server.wait_for(3)
        wire.send([call(1, "block", modern=False), echo(2), echo(3)])
        server.wait_for(1)
        server.free.set()
        batch = wire.inbox.take_batch()
        answers = {answer["id"]: answer.get("error", {}).get("data") for answer in batch}
        assert answers == {1: None, 2: {"reason": "busy"}, 3: {"reason": "busy"}}
        for number in range(3):
            wire.answer(f"block {number}")

    def test_a_cancelled_entry_is_left_out(self, wire: Wire, server: Batches) -> None:
        wire.send([call("w", "wait", modern=False), echo("e")])
        server.wait_for(1)
        wire.send(cancel("w"))
        assert ids(wire.inbox.take_batch()) == ['"e"']

    def test_a_batch_of_which_everything_is_cancelled_has_no_answer(
        self, wire: Wire, server: Batches
    ) -> None:
        wire.send([call("w", "wait", modern=False)])
        server.wait_for(1)
        wire.send([cancel("w")])
        assert text_of(wire.ask(echo("next"))) == "next"

    def test_an_answer_without_a_json_form_spoils_no_other(self, wire: Wire) -> None:
        wire.send([call("odd", "odd", modern=False), echo("e")])
        batch = {answer["id"]: answer for answer in wire.inbox.take_batch()}
        assert text_of(batch["e"]) == "e"
        assert batch["odd"]["error"]["code"] == -32603

    def test_answers_of_the_client_may_come_in_one(self, server: Batches) -> None:
        with Wire(server) as wire:
            wire.handshake(BATCHES, {"sampling": {}})
            wire.send(*(call(topic, "write", {"topic": topic}, modern=False) for topic in ("sun", "rain")))
            questions = [wire.notified("sampling/createMessage") for _ in range(2)]
            answers = []
            for question in questions:
                topic = question["params"]["messages"][0]["content"]["text"]
                content = {"type": "text", "text": f"about {topic}"}
                result = {"role": "assistant", "model": "m", "content": content}
                answers.append({"jsonrpc": "2.0", "id": question["id"], "result": result})
            wire.send([*answers, echo("and a request")])
            assert ids(wire.inbox.take_batch()) == ['"and a request"']
            assert text_of(wire.answer("sun")) == "about sun"
            assert text_of(wire.answer("rain")) == "about rain"
