"""Progress: for whom, in what form, and never out of order."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from mcpref import McpServer, RequestContext
from mcpref.testing import RecordingContext, connect

from .support import MODERN, PATIENCE, VERSIONS, LocalContext, result


@pytest.fixture
def server() -> McpServer:
    server = McpServer("progress")

    @server.tool
    def work(ctx: RequestContext, steps: list[float], total: float | None = None, message: str = "") -> str:
        for step in steps:
            ctx.report_progress(step, total, message)
        return "done"

    return server


def reported(
    server: McpServer, version: str, token: object, steps: list[float], **more: Any
) -> list[dict[str, Any]]:
    """The parameters of every progress notification of one call."""
    ctx = LocalContext(version)
    fields = {} if token is None else {"progressToken": token}
    params = {"name": "work", "arguments": {"steps": steps, **more}, "_meta": fields}
    result(server, "tools/call", params, version=version, ctx=ctx)
    assert all(message.method == "notifications/progress" for message in ctx.sent)
    return [message.params or {} for message in ctx.sent]


@pytest.mark.parity(71)
@pytest.mark.req(
    "2026-07-28:progress.active-token-only",
    "2025-11-25:progress.active-token",
    "2025-11-25:progress.none-allowed",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("token", [None, 1.5, True, [1], {"t": 1}], ids=repr)
def test_without_a_usable_token_nothing_is_sent(server: McpServer, version: str, token: object) -> None:
    assert reported(server, version, token, [1, 2]) == []


@pytest.mark.req("2026-07-28:progress.token-echo", "progress.token-type", "progress.float")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("token", ["abc", "", "1", 1, 0, -3, 2**53], ids=repr)
def test_the_token_comes_back_as_it_was_sent(server: McpServer, version: str, token: str | int) -> None:
    (only,) = reported(server, version, token, [0.5], total=2)
    assert only == {"progressToken": token, "progress": 0.5, "total": 2}
    assert type(only["progressToken"]) is type(token)


@pytest.mark.parity(72)
@pytest.mark.req("progress.message", "2025-11-25:progress.omit-total")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_is_left_out_where_the_revision_has_none(server: McpServer, version: str) -> None:
    (only,) = reported(server, version, "t", [1], message="halfway")
    assert only.get("message") == (None if version == "2024-11-05" else "halfway")
    assert "total" not in only
    (bare,) = reported(server, version, "t", [1])
    assert "message" not in bare


@pytest.mark.parity(58)
@pytest.mark.parametrize("version", VERSIONS)
def test_whole_numbers_and_fractions_are_the_same_form(version: str) -> None:
    server = McpServer("numbers")

    @server.tool
    def integer(ctx: RequestContext) -> None:
        ctx.report_progress(1, 4, "m")

    @server.tool
    def fraction(ctx: RequestContext) -> None:
        ctx.report_progress(1.0, 4.0, "m")

    frames = []
    for name in ("integer", "fraction"):
        ctx = LocalContext(version)
        result(
            server, "tools/call", {"name": name, "_meta": {"progressToken": "t"}}, version=version, ctx=ctx
        )
        frames.append(ctx.sent)
    assert frames[0] == frames[1]
    assert len(frames[0]) == 1


@pytest.mark.req("2025-11-25:progress.increases", "2026-07-28:progress.increasing")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("steps", "sent"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ([1, 1, 2], [1, 2]),
        ([5, 3, 6, 6.0, 7], [5, 6, 7]),
        ([0, 0.1, 0.1, 0.2], [0, 0.1, 0.2]),
        ([-2, -1], [-2, -1]),
    ],
    ids=str,
)
def test_what_does_not_rise_is_not_sent(
    server: McpServer, version: str, steps: list[float], sent: list[float]
) -> None:
    assert [frame["progress"] for frame in reported(server, version, "t", steps)] == sent


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_json_cannot_say_is_refused(value: float) -> None:
    ctx = RecordingContext()
    with pytest.raises(ValueError, match="finite"):
        ctx.report_progress(value)
    with pytest.raises(ValueError, match="finite"):
        ctx.report_progress(1, value)
    assert ctx.sent == []


@pytest.mark.parity(71, 72, 81)
@pytest.mark.parametrize("version", VERSIONS)
def test_progress_over_a_connection_comes_before_the_answer(server: McpServer, version: str) -> None:
    with connect(server, version) as peer:
        for token in ("t", None):
            peer.messages.clear()
            meta = {} if token is None else {"progressToken": token}
            peer.request(
                "tools/call",
                {"name": "work", "arguments": {"steps": [1, 2], "message": "m"}, "_meta": meta},
            )
            assert [message["params"]["progress"] for message in peer.messages] == ([1, 2] if token else [])
            for message in peer.messages:
                assert message["params"].get("message") == (None if version == "2024-11-05" else "m")


@pytest.mark.req(
    "progress.stop-after-completion",
    "2025-11-25:progress.active-token",
    "2026-07-28:progress.active-token-only",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_thread_left_behind_cannot_report_after_the_answer(version: str) -> None:
    server = McpServer("late")
    answered, reported = threading.Event(), threading.Event()

    @server.tool
    def leave(ctx: RequestContext) -> str:
        def later() -> None:
            answered.wait(PATIENCE)
            ctx.report_progress(2)
            ctx.log("emergency", "late")
            reported.set()

        ctx.report_progress(1)
        threading.Thread(target=later).start()
        return "left"

    with connect(server, version) as peer:
        meta: dict[str, Any] = {"progressToken": 7}
        if version == MODERN:
            meta["io.modelcontextprotocol/logLevel"] = "debug"
        peer.request("tools/call", {"name": "leave", "_meta": meta})
        answered.set()
        assert reported.wait(PATIENCE)
        peer.request("tools/list")  # whatever was sent would be here by now
        assert [message["params"]["progress"] for message in peer.messages] == [1]


@pytest.mark.req("2025-11-25:progress.increases", "2026-07-28:progress.increasing")
def test_threads_that_report_together_still_rise_on_the_wire() -> None:
    server = McpServer("many")

    @server.tool
    def many(ctx: RequestContext) -> str:
        def report(base: int) -> None:
            for step in range(100):
                ctx.report_progress(step * 4 + base)

        threads = [threading.Thread(target=report, args=(base,)) for base in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        return "done"

    with connect(server) as peer:
        peer.request("tools/call", {"name": "many", "_meta": {"progressToken": "t"}})
        seen = [message["params"]["progress"] for message in peer.messages]
    assert seen[-1] == 399
    assert all(one < other for one, other in itertools.pairwise(seen))
