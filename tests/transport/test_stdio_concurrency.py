"""Many things at once on one connection: real pipes, real threads, and barriers where a race is meant."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from mcpref import (
    Elicit,
    LocalError,
    McpServer,
    NullContext,
    PeerError,
    ProtocolError,
    RequestContext,
    ServerMode,
    Settings,
)
from mcpref.cancellation import Deadline
from mcpref.jsonrpc import Request
from mcpref.transport import duplex
from mcpref.transport.duplex import FdStream
from tests.threads import PATIENCE, eventually, join, restless, together, until

from .process import (
    Wire,
    call,
    cancel,
    initialize,
    is_method,
    line,
    listen,
    nothing_left_behind,
    notification,
    request,
    text_of,
)

ELICITATION: dict[str, Any] = {"elicitation": {}}
FORM: dict[str, Any] = {"type": "object", "properties": {"word": {"type": "string"}}}


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    with nothing_left_behind():
        yield


def make_server(**settings: Any) -> McpServer:
    """A server with a few tools, and with what the tests synchronise on."""
    server = McpServer("concurrent", version="1", settings=Settings(**settings))

    @server.tool
    def echo(text: str) -> str:
        return text

    return server


class Gate:
    """A tool that says that it runs, and runs until it is let go."""

    def __init__(self, server: McpServer, name: str = "block") -> None:
        self.running = threading.Semaphore(0)
        self.open = threading.Event()

        @server.tool(name=name)
        def block() -> str:
            self.running.release()
            until(self.open)
            return "let go"

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.running.acquire(timeout=PATIENCE), "the handler did not start"


class TestOverlap:
    """Requests run side by side."""

    @pytest.mark.parity(85)
    @pytest.mark.req(
        "2026-07-28:base.request-answered",
        "2026-07-28:base.stateless-mixed-conversations",
        "2026-07-28:jsonrpc.result-id-echo",
    )
    def test_a_hundred_calls_are_in_the_handler_at_the_same_time(self) -> None:
        server = make_server(workers=128)
        barrier = threading.Barrier(100)

        @server.tool
        def meet(number: int) -> int:
            barrier.wait(PATIENCE)  # nobody passes before all hundred are here
            return number * number

        with Wire(server) as wire:
            wire.send(*(call(f"meet {number}", "meet", {"number": number}) for number in range(100)))
            for number in reversed(range(100)):
                assert text_of(wire.answer(f"meet {number}")) == str(number * number)
            assert wire.connection.state.in_flight == {}
            assert wire.finish()
            assert wire.inbox.rest() == []

    @pytest.mark.parity(85)
    def test_answers_come_in_the_order_in_which_they_are_ready(self) -> None:
        server = make_server()
        gate = Gate(server)
        with Wire(server) as wire:
            wire.send(call(1, "block"))
            gate.wait_for(1)
            assert text_of(wire.ask(call(2, "echo", {"text": "first"}))) == "first"
            gate.open.set()
            assert text_of(wire.answer(1)) == "let go"

    @pytest.mark.parity(86)
    @pytest.mark.req("stdio.no-embedded-newline", "progress.stop-after-completion")
    def test_a_thousand_emitters_never_mix_their_lines(self) -> None:
        emitters, times = 1000, 5
        server = make_server(workers=emitters, max_in_flight=emitters)
        barrier = threading.Barrier(emitters)
        filling = "x" * 5000  # longer than what a pipe takes in one piece

        @server.tool
        def emit(ctx: RequestContext, number: int) -> str:
            barrier.wait(PATIENCE)
            for step in range(1, times + 1):
                ctx.report_progress(step, times, f"{number} {filling}")
            return f"{number} {filling}"

        with Wire(server) as wire:
            wire.send(
                *(call(number, "emit", {"number": number}, progress=number) for number in range(emitters))
            )
            for number in range(emitters):
                wire.answer(number)
            assert wire.finish()
            lines = [json.loads(raw) for raw in wire.inbox.raw]  # fails if two were mixed
        assert len(lines) == emitters * (times + 1)
        seen: dict[int, list[int]] = {}
        for message in lines:
            if "method" in message:
                params = message["params"]
                assert params["message"] == f"{params['progressToken']} {filling}"
                seen.setdefault(params["progressToken"], []).append(params["progress"])
            else:
                # Every notification of a request comes in order, and before its answer.
                assert text_of(message) == f"{message['id']} {filling}"
                assert seen[message["id"]] == list(range(1, times + 1))

    def test_the_handshake_is_seen_by_the_line_that_follows_it(self) -> None:
        server = make_server()

        @server.tool(title="The version")
        def version(ctx: RequestContext) -> str:
            return str(ctx.protocol_version.value)

        for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            with Wire(server) as wire:
                wire.send(
                    initialize(revision, 1),
                    notification("notifications/initialized"),
                    call(2, "version", modern=False),
                    request(3, "tools/list"),
                )
                assert text_of(wire.answer(2)) == revision
                assert wire.answer(1)["result"]["protocolVersion"] == revision
                # Titles came with 2025-06-18.
                titles = ["title" in tool for tool in wire.answer(3)["result"]["tools"]]
                assert titles == [False, revision >= "2025-06-18"]

    @pytest.mark.req("2026-07-28:base.stateless-no-prior-context")
    def test_two_eras_at_the_same_time_keep_their_versions(self) -> None:
        server = make_server()
        barrier = threading.Barrier(2)

        @server.tool
        def version(ctx: RequestContext) -> str:
            barrier.wait(PATIENCE)
            return str(ctx.protocol_version.value)

        with Wire(server) as wire:
            wire.handshake("2025-03-26")
            for _ in range(20):
                wire.send(call("modern", "version"), call("legacy", "version", modern=False))
                assert text_of(wire.answer("modern")) == "2026-07-28"
                assert text_of(wire.answer("legacy")) == "2025-03-26"


class TestLimits:
    """More than a connection takes."""

    def test_one_request_too_many_is_busy_and_the_others_are_served(self) -> None:
        server = make_server(workers=2, max_in_flight=3)
        gate = Gate(server)
        with Wire(server) as wire:
            wire.send(call(1, "block"), call(2, "block"), call(3, "echo", {"text": "queued"}))
            gate.wait_for(2)
            error = wire.ask(call(4, "echo", {"text": "too many"}))["error"]
            assert error["code"] == -32603
            assert error["data"] == {"reason": "busy"}
            # What is no request gets through all the same.
            wire.send(cancel(3))
            assert wire.ask(call(5, "echo", {"text": "x"}))["error"]["data"] == {"reason": "busy"}
            gate.open.set()
            assert [text_of(wire.answer(number)) for number in (1, 2)] == ["let go", "let go"]
            assert text_of(wire.ask(call(6, "echo", {"text": "room again"}))) == "room again"
            assert wire.finish()
            assert wire.inbox.rest() == []

    def test_a_request_that_was_taken_back_before_its_turn_does_not_run(self) -> None:
        server = make_server(workers=1)
        gate = Gate(server)
        ran = threading.Event()

        @server.tool
        def run() -> str:
            ran.set()
            return "ran"

        with Wire(server) as wire:
            wire.send(call(1, "block"), call(2, "run"), cancel(2), call(3, "echo", {"text": "x"}))
            gate.wait_for(1)
            _has_read_everything(wire)
            gate.open.set()
            wire.answer(3)
            assert wire.finish()
            assert not ran.is_set()
            assert [message["id"] for message in wire.inbox.rest()] == [1]
            assert wire.connection.state.in_flight == {}

    def test_a_burst_is_not_taken_for_a_client_that_does_not_read(self) -> None:
        # Far more than the outbox holds, faster than its thread gets to run, to a client that reads.
        server = make_server(workers=1, max_in_flight=1)
        gate = Gate(server)
        with Wire(server) as wire:
            wire.send(call("block", "block"))
            gate.wait_for(1)
            count = 5 * duplex.MAX_OUTBOX
            wire.send(*(call(number, "echo", {"text": "x"}) for number in range(count)))
            busy = [wire.answer(number)["error"]["data"] for number in range(count)]
            assert busy == [{"reason": "busy"}] * count
            gate.open.set()
            assert text_of(wire.answer("block")) == "let go"

    def test_a_client_that_does_not_read_is_given_up_and_others_wake(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(duplex, "OUTBOX_PATIENCE", 0.05)
        server = make_server(workers=1, max_in_flight=1)
        outcome: list[BaseException] = []

        @server.tool
        def ask(ctx: RequestContext) -> str:
            try:
                ctx.ask("word", Elicit("Well?", FORM))
            except LocalError as error:
                outcome.append(error)
            return "over"

        with Wire(server, read=False) as wire:
            wire.send(initialize("2025-11-25", capabilities=ELICITATION), call("ask", "ask", modern=False))
            eventually(lambda: len(wire.connection._channel.pending) == 1)
            count = 0
            while not wire.connection.finished.is_set():
                wire.send_bytes(b"no message\n" * 100)
                count += 100
                assert count < 100_000, "it was never given up"
            assert wire.connection.reason == "the peer does not read"
            # The thread that is stuck in its write is let go by a client that reads after all.
            wire.start_reading()
            assert wire.finish()
        assert [str(error) for error in outcome] == ["the peer does not read"]


class TestCancellation:
    """Taken back, however busy the server is."""

    @pytest.mark.parity(84, 25)
    @pytest.mark.req("2025-11-25:cancel.stop-processing", "2026-07-28:cancel.server-stop")
    def test_it_is_seen_while_every_worker_is_busy(self) -> None:
        server = make_server(workers=2)
        running = threading.Semaphore(0)
        ended: list[str] = []

        @server.tool
        def wait(ctx: RequestContext, name: str) -> str:
            running.release()
            ended.append(name if ctx.wait(PATIENCE) else f"{name} was not told")
            return name

        with Wire(server) as wire:
            wire.send(call("a", "wait", {"name": "a"}), call("b", "wait", {"name": "b"}))
            for _ in range(2):
                assert running.acquire(timeout=PATIENCE)
            wire.send(call("c", "echo", {"text": "c"}), cancel("b"))
            # There is a worker for it only once the cancellation has freed one.
            assert text_of(wire.answer("c")) == "c"
            assert ended == ["b"]
            wire.send(cancel("a"))
            assert wire.finish()
            assert ended == ["b", "a"]
            assert wire.inbox.rest() == []

    @pytest.mark.parity(27)
    @pytest.mark.req(
        "2025-11-25:cancel.no-response",
        "2026-07-28:cancel.server-no-response",
        "2026-07-28:stdio.cancel-no-more-messages",
    )
    @pytest.mark.parametrize("how", ["return", "protocol error", "exception", "answered question"])
    def test_nothing_follows_it_whatever_the_handler_does(self, how: str) -> None:
        server = make_server()
        running, proceed = threading.Event(), threading.Event()

        @server.tool
        def stubborn(ctx: RequestContext) -> str:
            running.set()
            until(proceed)
            ctx.report_progress(1)
            ctx.log("emergency", "help")
            match how:
                case "protocol error":
                    raise ProtocolError("no", code=7)
                case "exception":
                    raise RuntimeError("no")
                case "answered question":
                    ctx.ask("word", Elicit("Well?", FORM))
            return "done"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(call(7, "stubborn", progress="t", modern=False))
            until(running)
            wire.send(cancel(7))
            _has_read_everything(wire)
            proceed.set()
            assert wire.finish()
            assert wire.inbox.rest() == []
            assert wire.connection.state.in_flight == {}

    @pytest.mark.parity(28, 30)
    def test_a_duplicate_id_neither_replaces_nor_ends_the_first(self) -> None:
        server = make_server()
        running = threading.Semaphore(0)

        @server.tool
        def wait(ctx: RequestContext, name: str) -> str:
            running.release()
            ctx.wait(10 * PATIENCE)  # longer than the end is waited for
            return name

        with Wire(server) as wire:
            wire.send(call(7, "wait", {"name": "first"}))
            assert running.acquire(timeout=PATIENCE)
            wire.send(call(7, "wait", {"name": "second"}), call("7", "wait", {"name": "other"}))
            for _ in range(2):
                assert running.acquire(timeout=PATIENCE)
            wire.send(cancel(7))
            _has_read_everything(wire)
            # The first is the one that was taken back; the end of the connection reaches the second as well.
            assert wire.finish()
            assert sorted(text_of(message) for message in wire.inbox.rest()) == ["other", "second"]
            assert wire.connection.state.in_flight == {}

    @pytest.mark.parity(30)
    @pytest.mark.req(
        "2025-11-25:cancel.race",
        "2025-11-25:cancel.free-resources",
        "2026-07-28:cancel.races",
        "2026-07-28:cancel.server-free",
    )
    def test_a_cancellation_that_crosses_the_answer_leaves_one_or_none(self) -> None:
        server = make_server(max_in_flight=1000)  # none is refused
        with Wire(server) as wire, restless():
            count = 500
            for number in range(count):
                wire.send(call(number, "echo", {"text": "x"}), cancel(number))
            assert text_of(wire.ask(call("last", "echo", {"text": "still here"}))) == "still here"
            assert wire.finish()
            answered = [message["id"] for message in wire.inbox.rest()]
            assert len(answered) == len(set(answered)) <= count
            assert wire.connection.state.in_flight == {}

    @pytest.mark.req(
        "2025-11-25:cancel.sender-ignores-late",
        "2025-11-25:cancel.notification-shape",
        "2025-11-25:cancel.same-direction",
        "2025-11-25:cancel.request-id-given",
    )
    def test_a_question_of_a_cancelled_request_is_withdrawn_and_a_late_answer_ignored(self) -> None:
        server = make_server()

        @server.tool
        def ask(ctx: RequestContext) -> str:
            ctx.ask("word", Elicit("Well?", FORM))
            return "answered"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(call(7, "ask", modern=False))
            question = wire.notified("elicitation/create")
            wire.send(cancel(7))
            withdrawn = wire.notified("notifications/cancelled")
            assert withdrawn.keys() == {"jsonrpc", "method", "params"}
            assert withdrawn["params"].keys() == {"requestId", "reason"}
            assert withdrawn["params"]["requestId"] == question["id"]
            assert type(withdrawn["params"]["reason"]) is str
            wire.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}})
            assert text_of(wire.ask(call(8, "echo", {"text": "x"}, modern=False))) == "x"
            assert wire.finish()
            assert wire.inbox.rest() == []

    def test_it_is_seen_by_a_server_that_cannot_write(self) -> None:
        server = make_server(workers=4)
        seen = threading.Event()

        @server.tool
        def large() -> str:
            return "x" * 1_000_000

        @server.tool
        def wait(ctx: RequestContext) -> str:
            if ctx.wait(PATIENCE):
                seen.set()
            return "over"

        with Wire(server, read=False) as wire:
            # Three workers are stuck in their answers, which nobody reads.
            wire.send(call("wait", "wait"), *(call(number, "large") for number in range(3)))
            wire.send(cancel("wait"))
            until(seen)
            wire.start_reading()
            assert all(len(text_of(wire.answer(number))) == 1_000_000 for number in range(3))


class TestQuestions:
    """Handlers that wait for the client."""

    @pytest.mark.parity(83)
    def test_every_worker_may_ask_at_once(self) -> None:
        workers = 16
        server = make_server(workers=workers)

        @server.tool
        def ask(ctx: RequestContext, name: str) -> str:
            answer = ctx.ask("word", Elicit(name, FORM))
            assert answer.action == "accept"
            return f"{name} {answer.content['word']}"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(
                *(call(number, "ask", {"name": str(number)}, modern=False) for number in range(workers))
            )
            # All are out at the same time, and nobody is left to run anything; the answers come in reverse.
            questions = [wire.notified("elicitation/create") for _ in range(workers)]
            assert len({question["id"] for question in questions}) == workers
            for question in reversed(questions):
                word = question["params"]["message"] * 2
                result = {"action": "accept", "content": {"word": word}}
                wire.send({"jsonrpc": "2.0", "id": question["id"], "result": result})
            for number in range(workers):
                assert text_of(wire.answer(number)) == f"{number} {str(number) * 2}"

    def test_an_error_is_handed_to_the_one_who_asked(self) -> None:
        server = make_server()

        @server.tool
        def ask(ctx: RequestContext) -> str:
            try:
                ctx.ask("word", Elicit("Well?", FORM))
            except PeerError as error:
                return f"{error.code} {error.message} {error.data}"
            return "no error"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(call(1, "ask", modern=False))
            question = wire.notified("elicitation/create")
            error = {"code": -1, "message": "User rejected", "data": [1]}
            wire.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
            assert text_of(wire.answer(1)) == "-1 User rejected [1]"

    @pytest.mark.req("2025-11-25:lifecycle.timeouts", "2025-11-25:lifecycle.timeout-cancel")
    def test_no_answer_in_time_is_told_to_both(self) -> None:
        server = make_server()

        @server.tool
        def ask(ctx: RequestContext) -> str:
            try:
                ctx.ask("word", Elicit("Well?", FORM), timeout=0.01)
            except LocalError as error:
                return str(error)
            return "no error"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(call(1, "ask", modern=False))
            question = wire.notified("elicitation/create")
            assert wire.notified("notifications/cancelled")["params"]["requestId"] == question["id"]
            assert text_of(wire.answer(1)) == "the peer did not answer within 0.01 seconds"

    ROUNDS = 150

    @pytest.mark.parity(89)
    @pytest.mark.req("2025-11-25:cancel.race", "2026-07-28:cancel.races", "2026-07-28:base.request-answered")
    def test_whatever_ends_a_wait_ends_it_once(self) -> None:
        chance = random.Random(11)
        alone = {
            "reply": {"accept"},
            "cancel": {"RequestCancelled"},
            "timeout": {"RequestTimeout"},
            "end": {"ConnectionClosed"},
            "shutdown": {"ConnectionClosed", "RequestCancelled"},
        }
        for rival, outcomes in alone.items():
            assert self._race([rival], chance) in outcomes
        for _ in range(self.ROUNDS):
            rivals = chance.sample(list(alone), chance.randrange(2, len(alone) + 1))
            assert self._race(rivals, chance) in set[str]().union(*(alone[rival] for rival in rivals))

    def _race(self, rivals: list[str], chance: random.Random) -> str:
        """Let the rivals end one wait, in this order as far as they come down the wire; how it ended."""
        server = make_server()
        outcome: list[str] = []
        over = threading.Event()
        timeout = chance.choice([0.0005, 0.001, 0.002]) if "timeout" in rivals else PATIENCE

        @server.tool
        def ask(ctx: RequestContext) -> str:
            try:
                outcome.append(ctx.ask("word", Elicit("Well?", FORM), timeout=timeout).action)
            except LocalError as error:
                outcome.append(type(error).__name__)
            over.set()
            return outcome[-1]

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            wire.send(call(7, "ask", modern=False))
            question = wire.notified("elicitation/create")
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
            lines = {"reply": line(reply), "cancel": line(cancel(7))}

            def write() -> None:
                wire.send_bytes(b"".join(lines[rival] for rival in rivals if rival in lines))
                if "end" in rivals:
                    wire.close_input()

            tasks: list[Callable[[], object]] = [write]
            if "shutdown" in rivals:
                tasks.append(partial(wire.connection.shut_down, Deadline(PATIENCE)))
            together(*tasks)
            until(over)
            assert wire.finish()
            answers = [message for message in wire.inbox.rest() if message.get("id") == 7]
            assert len(outcome) == 1
            if "cancel" not in rivals:
                assert [text_of(answer) for answer in answers] == outcome
            else:
                assert len(answers) <= 1
            assert len(wire.connection._channel.pending) == 0
            assert wire.connection.state.in_flight == {}
        return outcome[0]

    @pytest.mark.parity(82, 9)
    def test_a_stateless_server_can_ask_nobody(self) -> None:
        server = McpServer("stateless", version="1", mode=ServerMode.STATELESS)
        supports: list[bool] = []

        @server.tool
        def ask(ctx: RequestContext) -> str:
            supports.append(ctx.has_back_channel)
            ctx.request("elicitation/create", {}, PATIENCE)
            return "asked"

        with Wire(server) as wire:
            wire.handshake("2025-11-25", ELICITATION)
            error = wire.ask(call(1, "ask", modern=False))["error"]
            assert (error["code"], supports) == (-32600, [False])
            assert wire.finish()
            assert wire.inbox.rest() == []

    @pytest.mark.parity(82)
    def test_a_context_without_a_channel_can_ask_nobody(self) -> None:
        context = NullContext()
        assert not context.client_supports("elicitation")
        assert not context.has_back_channel
        with pytest.raises(ProtocolError) as raised:
            context.request("elicitation/create", {}, PATIENCE)
        assert raised.value.code == -32600


class TestListening:
    """Streams that are opened and closed while other things happen."""

    def test_a_stream_that_is_cancelled_before_it_opens_stays_silent(self) -> None:
        server = make_server(max_streams=1)
        held, proceed, opened = threading.Event(), threading.Event(), threading.Event()

        @server.middleware
        def hold(request: Request, ctx: RequestContext, call_next: Any) -> Any:
            if request.method == "subscriptions/listen":
                held.set()
                until(proceed)
            result = call_next(request, ctx)
            opened.set()
            return result

        with Wire(server) as wire:
            wire.send(listen("gone", toolsListChanged=True))
            until(held)
            wire.send(cancel("gone"))
            _has_read_everything(wire)
            proceed.set()
            until(opened)
            _has_read_everything(wire)  # and the outbox has come to the stream
            # The only place is free again, and the stream that has it is the only one to be heard of.
            wire.send(listen("here", toolsListChanged=True))
            acknowledged = wire.notified("notifications/subscriptions/acknowledged")
            assert acknowledged["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "here"}
            server.notify_list_changed("tools")
            wire.notified("notifications/tools/list_changed")
            assert wire.finish()
            last = wire.inbox.rest()
            assert [message.get("id") or message["params"]["requestId"] for message in last] == ["here"] * 2
            assert wire.connection.state.in_flight.keys() <= {"here"}

    def test_there_is_a_limit_and_a_place_that_is_given_back(self) -> None:
        server = make_server(max_streams=2)
        with Wire(server) as wire:
            for _ in range(3):
                wire.send(listen(1, toolsListChanged=True), listen(2, toolsListChanged=True))
                for _ in range(2):
                    wire.notified("notifications/subscriptions/acknowledged")
                error = wire.ask(listen(3, toolsListChanged=True))["error"]
                assert (error["code"], error["data"]) == (-32603, {"reason": "busy"})
                wire.send(cancel(1), cancel(2))
                _has_read_everything(wire)

    def test_changes_reach_every_stream_in_order_while_calls_run(self) -> None:
        server = make_server()
        streams, changes = 8, 50
        uris = [f"memo://{number}" for number in range(changes)]
        server.enable_resource_subscriptions()

        @server.resource("memo://{name}")
        def memo(name: str) -> str:
            return name

        with Wire(server) as wire:
            wire.send(*(listen(number, resourceSubscriptions=uris) for number in range(streams)))
            for _ in range(streams):
                wire.notified("notifications/subscriptions/acknowledged")
            wire.send(*(call(f"call {number}", "echo", {"text": "x"}) for number in range(100)))
            for uri in uris:
                server.notify_resource_updated(uri)
            heard: dict[int, list[str]] = {number: [] for number in range(streams)}
            for _ in range(streams * changes):
                params = wire.notified("notifications/resources/updated")["params"]
                heard[params["_meta"]["io.modelcontextprotocol/subscriptionId"]].append(params["uri"])
            assert heard == dict.fromkeys(range(streams), uris)
            for number in range(100):
                wire.answer(f"call {number}")


class TestEnd:
    """The last moments of a connection."""

    def test_what_is_asked_during_the_shutdown_is_answered_and_what_runs_is_waited_for(self) -> None:
        server = make_server()
        told, proceed = threading.Event(), threading.Event()

        @server.tool
        def slow(ctx: RequestContext) -> str:
            if ctx.wait(PATIENCE):
                told.set()
            until(proceed)
            return "in time"

        with Wire(server) as wire:
            wire.send(call(1, "slow"))
            _has_read_everything(wire)
            clean: list[bool] = []
            ending = threading.Thread(
                target=lambda: clean.append(wire.connection.shut_down(Deadline(PATIENCE))), daemon=True
            )
            ending.start()
            until(told)
            assert "error" in wire.ask(call(2, "echo", {"text": "too late"}))
            proceed.set()
            assert text_of(wire.answer(1)) == "in time"
            join(ending)
            assert clean == [True]

    @pytest.mark.parametrize("through", ["worker", "outbox", "both"])
    def test_a_broken_pipe_ends_it_at_once(self, through: str) -> None:
        server = make_server()
        with Wire(server, read=False) as wire:
            wire.stop_reading()
            if through != "outbox":
                wire.send(call(1, "echo", {"text": "x"}))
            if through != "worker":
                wire.send_bytes(b"no message\n" * 10)
            until(wire.connection.finished)
            assert "Broken pipe" in wire.connection.reason
            began = time.monotonic()
            assert wire.finish(grace=PATIENCE)
            assert time.monotonic() - began < PATIENCE / 2

    def test_a_handler_that_does_not_end_is_reported(self) -> None:
        server = make_server()
        gate = Gate(server)
        wire = Wire(server)
        wire.send(call(1, "block"))
        gate.wait_for(1)
        assert wire.finish(grace=0.05) is False
        gate.open.set()
        assert wire.inbox.rest() == []

    def test_a_change_made_by_the_last_handler_is_told(self) -> None:
        server = make_server()

        @server.tool
        def change() -> str:
            server.notify_list_changed("tools")
            return "changed"

        for _ in range(20):
            with Wire(server) as wire:
                wire.handshake("2025-11-25")
                wire.send(call(1, "change", modern=False))
                assert wire.finish()
                assert any(is_method("notifications/tools/list_changed")(m) for m in wire.inbox.rest())

    def test_closing_twice_closes_nobody_elses_descriptor(self) -> None:
        read_fd, write_fd = os.pipe()
        stream = FdStream(read_fd, write_fd)
        stream.close_read()
        stream.close_write()
        # The lowest free numbers are given out again, to somebody else.
        others = os.pipe()
        assert set(others) == {read_fd, write_fd}
        stream.close_read()
        stream.close_write()
        os.write(others[1], b"x")
        assert os.read(others[0], 1) == b"x"
        for fd in others:
            os.close(fd)

    def test_many_connections_one_after_the_other_leave_nothing(self) -> None:
        server = make_server()
        for number in range(30):
            with Wire(server) as wire:
                wire.handshake("2025-11-25")
                wire.send(listen("s", toolsListChanged=True), call(number, "echo", {"text": "x"}))
                wire.answer(number)
                assert wire.finish()


def _has_read_everything(wire: Wire) -> None:
    """Until the server has read all that was sent: it answers a line that is no message in its turn."""
    wire.send_bytes(b"no message\n")
    wire.take(lambda message: "error" in message and message.get("id") is None)
