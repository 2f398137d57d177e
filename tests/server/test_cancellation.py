"""Cancellation: seen while the handler runs, answered by nobody, and harmless when it comes too late."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcpref import InvalidParams, McpServer, RequestCancelled, RequestContext, Settings, ToolError
from mcpref.errors import RequestTimeout
from mcpref.testing import Call, Peer, connect

from .support import LEGACY, MODERN, PATIENCE, VERSIONS, texts

#: One worker: whatever comes second is answered after all that the first one sends.
ONE_WORKER = Settings(workers=1)


def waiting_server(settings: Settings | None = None) -> tuple[McpServer, threading.Semaphore]:
    """A server with a tool that runs until it is cancelled; the semaphore counts how many run."""
    server = McpServer("waiting", settings=settings)
    running = threading.Semaphore(0)

    @server.tool
    def wait(ctx: RequestContext, end: str = "return") -> str:
        running.release()
        assert ctx.wait(PATIENCE)
        assert ctx.is_cancelled
        errors: dict[str, Exception] = {
            "protocol error": InvalidParams("late"),
            "tool error": ToolError("late"),
            "crash": RuntimeError("late"),
        }
        if end in errors:
            raise errors[end]
        if end == "check":
            ctx.check_cancelled()
        return "late"

    @server.tool
    def quick() -> str:
        return "quick"

    return server, running


def unanswered(call: Call) -> bool:
    """Whether nothing has come for a call; whatever would come has come by now."""
    try:
        call.result(timeout=0.001)
    except RequestTimeout:
        return True
    return False


@pytest.mark.parity(25, 27, 84)
@pytest.mark.req(
    "2025-11-25:cancel.no-response",
    "2025-11-25:cancel.stop-processing",
    "2026-07-28:cancel.server-no-response",
    "2026-07-28:cancel.server-stop",
    "2026-07-28:stdio.cancel-no-more-messages",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("end", ["return", "protocol error", "tool error", "crash", "check"])
def test_a_cancelled_request_stops_and_is_not_answered(
    version: str, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    server, running = waiting_server(ONE_WORKER)
    with connect(server, version) as peer:
        call = peer.start("tools/call", {"name": "wait", "arguments": {"end": end}})
        assert running.acquire(timeout=PATIENCE)
        call.cancel()
        assert texts(peer.call_tool("quick")) == "quick"
        assert unanswered(call)
        assert peer.connection is not None
        assert peer.connection.state.in_flight == {}


@pytest.mark.req("2026-07-28:stdio.cancel-no-more-messages", "2026-07-28:progress.active-token-only")
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_at_all_is_sent_after_a_cancellation(version: str) -> None:
    server = McpServer("noisy", settings=ONE_WORKER)
    running = threading.Event()

    @server.tool
    def noisy(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        running.set()
        assert ctx.wait(PATIENCE)
        ctx.report_progress(2)
        ctx.log("emergency", "too late")
        return "late"

    with connect(server, version) as peer:
        meta: dict[str, Any] = {"progressToken": "t"}
        if version == MODERN:
            meta["io.modelcontextprotocol/logLevel"] = "debug"
        call = peer.start("tools/call", {"name": "noisy", "_meta": meta})
        assert running.wait(PATIENCE)
        call.cancel()
        peer.request("tools/list")
        assert [message["params"]["progress"] for message in peer.messages] == [1]


@pytest.mark.parity(26)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_same_id_on_another_connection_is_another_request(version: str) -> None:
    server, running = waiting_server()
    with connect(server, version) as one, connect(server, version) as other:
        calls = [peer.start("tools/call", {"name": "wait"}, id=77) for peer in (one, other)]
        for _ in calls:
            assert running.acquire(timeout=PATIENCE)
        calls[0].cancel()
        one.request("tools/list")
        assert other.connection is not None
        token = other.connection.state.in_flight[77]
        assert not token.cancelled
        # A cancel that is not the client's lets the answer out.
        token.cancel(by_client=False)
        assert texts(calls[1].result()) == "late"


@pytest.mark.parity(28)
@pytest.mark.req("2026-07-28:cancel.request-id-param")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_number_and_its_text_are_cancelled_apart(version: str) -> None:
    server, running = waiting_server()
    with connect(server, version) as peer:
        number = peer.start("tools/call", {"name": "wait"}, id=501)
        text = peer.start("tools/call", {"name": "wait"}, id="501")
        for _ in range(2):
            assert running.acquire(timeout=PATIENCE)
        assert peer.connection is not None
        tokens = peer.connection.state.in_flight
        text.cancel("no")
        peer.request("tools/list")
        assert (tokens[501].cancelled, tokens["501"].cancelled) == (False, True)
        assert tokens["501"].reason == "no"
        number.cancel()


@pytest.mark.parity(29)
@pytest.mark.parametrize("version", LEGACY)
def test_initialize_cannot_be_cancelled(version: str) -> None:
    server, _ = waiting_server()
    with connect(server, version, initialize=False) as peer:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t"}}
        call = prepared(peer, 9, "initialize", params)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
        peer.send_line(call.line + b"\n" + json.dumps(cancel).encode())
        assert call.result()["protocolVersion"] == version


@pytest.mark.parity(30)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_duplicate_id_runs_but_does_not_take_the_place_of_the_first(version: str) -> None:
    server, running = waiting_server()
    with connect(server, version) as peer:
        first = peer.start("tools/call", {"name": "wait"}, id=5)
        assert running.acquire(timeout=PATIENCE)
        assert peer.connection is not None
        token = peer.connection.state.in_flight[5]
        second = prepared(peer, 5, "tools/call", {"name": "quick"})
        peer.send_line(second.line)
        assert texts(second.result()) == "quick"
        assert peer.connection.state.in_flight == {5: token}
        first.cancel()
        peer.request("tools/list")
        assert token.cancelled


@pytest.mark.parity(31)
@pytest.mark.req(
    "cancel.ignore-invalid",
    "jsonrpc.notification-no-response",
    "2025-11-25:cancel.ignore-allowed",
    "2026-07-28:cancel.server-may-ignore",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params",
    [
        {"requestId": 12345},
        {"requestId": "nothing"},
        {},
        {"requestId": None},
        {"requestId": 1.5},
        {"requestId": True},
        {"requestId": [1]},
        {"requestId": {"id": 1}},
        {"requestId": 12345, "reason": {"not": "text"}},
    ],
    ids=repr,
)
def test_a_cancellation_of_nothing_is_ignored(version: str, params: dict[str, Any]) -> None:
    server, _ = waiting_server()
    with connect(server, version) as peer:
        peer.notify("notifications/cancelled", params)
        peer.notify("notifications/cancelled")
        assert texts(peer.call_tool("quick")) == "quick"
        assert peer.messages == []


@pytest.mark.parity(31)
@pytest.mark.req("2025-11-25:cancel.race", "2026-07-28:cancel.races")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancellation_that_crosses_the_answer_does_no_harm(version: str) -> None:
    server, _ = waiting_server()
    with connect(server, version) as peer:
        for _ in range(50):
            call = peer.start("tools/call", {"name": "quick"})
            call.cancel()
        done = peer.start("tools/call", {"name": "quick"})
        assert texts(done.result()) == "quick"
        done.cancel()
        assert texts(peer.call_tool("quick")) == "quick"
        assert peer.messages == []
        assert peer.connection is not None
        assert peer.connection.state.in_flight == {}


@pytest.mark.req("2026-07-28:base.request-answered", "2025-11-25:cancel.free-resources")
@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_every_request_that_was_not_cancelled_is_answered_once(version: str) -> None:
    server, running = waiting_server()
    with connect(server, version) as peer:
        held = [peer.start("tools/call", {"name": "wait"}) for _ in range(4)]
        for _ in held:
            assert running.acquire(timeout=PATIENCE)
        quick = [peer.start("tools/call", {"name": "quick"}) for _ in range(20)]
        assert [texts(call.result()) for call in quick] == ["quick"] * 20
        for call in held:
            call.cancel()
    assert peer.messages == []


# ---- Requests of the server's -----------------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:cancel.notification-shape",
    "2025-11-25:cancel.same-direction",
    "2025-11-25:cancel.request-id-given",
    "2025-11-25:lifecycle.timeouts",
    "2025-11-25:lifecycle.timeout-cancel",
    "2025-11-25:lifecycle.timeout-per-request",
    "2025-11-25:lifecycle.error-timeout",
)
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_question_that_is_not_answered_in_time_is_taken_back(version: str) -> None:
    server = McpServer("impatient")
    answered = threading.Event()

    @server.tool
    def ask(ctx: RequestContext) -> str:
        with pytest.raises(RequestTimeout):
            ctx.elicit("Sure?", ["yes"], timeout=0.01)
        return "gave up"

    def slow(params: object) -> dict[str, Any]:
        answered.wait(PATIENCE)
        return {"action": "cancel"}

    with connect(server, version, on_elicit=slow) as peer:
        assert texts(peer.call_tool("ask")) == "gave up"
        cancelled = peer.next_notification("notifications/cancelled").params or {}
        (question,) = [message for message in peer.messages if message["method"] == "elicitation/create"]
        assert cancelled["requestId"] == question["id"]
        assert isinstance(cancelled["reason"], str)
        answered.set()  # the late answer is ignored
        assert peer.request("ping") == {}


@pytest.mark.parity(25)
@pytest.mark.req("2025-11-25:cancel.same-direction")
def test_a_cancelled_call_takes_its_question_back() -> None:
    server = McpServer("asking", settings=ONE_WORKER)
    asked, answered = threading.Event(), threading.Event()
    outcome: list[BaseException] = []

    @server.tool
    def ask(ctx: RequestContext) -> str:
        try:
            ctx.elicit("Sure?", ["yes"])
        except RequestCancelled as error:
            outcome.append(error)
            raise
        return "unreachable"

    def slow(params: object) -> dict[str, Any]:
        asked.set()
        answered.wait(PATIENCE)
        return {"action": "cancel"}

    with connect(server, "2025-11-25", on_elicit=slow) as peer:
        call = peer.start("tools/call", {"name": "ask"})
        assert asked.wait(PATIENCE)
        call.cancel()
        taken_back = peer.next_notification("notifications/cancelled")
        assert (taken_back.params or {})["requestId"] == peer.messages[0]["id"]
        peer.request("tools/list")
        assert unanswered(call)
        answered.set()
    assert len(outcome) == 1


class prepared:
    """A request whose answer is awaited but whose line the test sends itself."""

    def __init__(self, peer: Peer, id: int, method: str, params: dict[str, Any]) -> None:
        if peer.version.value == MODERN:
            params = {**params, "_meta": peer.meta()}
        self.line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
        waiter = peer._channel.pending.expect(request_id=id)
        self.result: Callable[[], Any] = lambda: waiter.wait(PATIENCE)
