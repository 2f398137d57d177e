"""When an answer is one JSON body and when a stream of events, and what the stream looks like.

Spec: 2026-07-28 basic/transports/streamable-http#receiving-messages
Spec: 2025-03-26..2025-11-25 basic/transports#sending-messages-to-the-server
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, RequestContext, Settings
from mcpref.jsonrpc import Notification
from mcpref.server.scope import RequestScope
from mcpref.transport.http_context import HttpStreamContext
from tests.http.conftest import Serve
from tests.http.support import BOTH, MODERN, SESSIONS, HttpClient, SessionClient, methods, text
from tests.http.wires import JSON, SSE, Reply

PROGRESS = "notifications/progress"


def inner(ctx: RequestContext) -> HttpStreamContext:
    """The transport's own context behind the one that a handler is given."""
    assert isinstance(ctx, RequestScope)
    assert isinstance(ctx.inner, HttpStreamContext)
    return ctx.inner


@pytest.fixture
def server() -> McpServer:
    server = McpServer("streams")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    def quiet(ctx: RequestContext) -> str:
        return "nothing was sent"

    @server.tool
    def steps(ctx: RequestContext, n: int) -> str:
        for step in range(n):
            ctx.report_progress(step + 1, n, f"step {step + 1}")
        return "done"

    @server.tool
    def watched(ctx: RequestContext) -> str:
        seen = [inner(ctx).streaming]
        ctx.check_cancelled()
        seen.append(inner(ctx).streaming)
        ctx.report_progress(1)
        seen.append(inner(ctx).streaming)
        return " ".join(map(str, seen))

    return server


def call_in(client: HttpClient, version: str, *arguments: Any, **more: Any) -> Reply:
    """A tool called in a revision."""
    if version == MODERN:
        return client.call(*arguments, **more)
    return client.connect(version).call(*arguments, **more)


@pytest.mark.parity(61)
@pytest.mark.req("2025-11-25:http.response-content-type", "2026-07-28:http.request-content-type")
@pytest.mark.parametrize("version", [*SESSIONS, MODERN])
def test_an_answer_is_a_stream_only_if_something_was_sent(
    serve: Serve, server: McpServer, version: str
) -> None:
    client = serve(server)
    for tool, arguments in (("add", {"a": 1, "b": 2}), ("quiet", {}), ("steps", {"n": 0})):
        reply = call_in(client, version, tool, arguments, progress="p")
        assert (reply.status, reply.kind) == (200, JSON)
        assert "content" in reply.result()
    reply = call_in(client, version, "steps", {"n": 1}, progress="p")
    assert (reply.status, reply.kind) == (200, SSE)
    assert methods(reply.messages()) == [PROGRESS, "result"]


@pytest.mark.parity(62)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_the_flag_turns_with_the_first_message(serve: Serve, server: McpServer, version: str) -> None:
    reply = call_in(serve(server), version, "watched", progress=1)
    assert text(reply) == "False False True"


@pytest.mark.parity(63)
@pytest.mark.req(
    "2025-11-25:http.sse-end-after-response",
    "2025-11-25:http.sse-response-eventually",
    "2026-07-28:http.sse-final-closes",
)
@pytest.mark.parametrize("version", [*SESSIONS, MODERN])
def test_the_answer_is_the_last_event(serve: Serve, server: McpServer, version: str) -> None:
    messages = call_in(serve(server), version, "steps", {"n": 3}, progress="p", id="mine").messages()
    assert methods(messages) == [PROGRESS] * 3 + ["result"]
    assert messages[-1]["id"] == "mine"
    assert [message["params"]["progress"] for message in messages[:-1]] == [1, 2, 3]


@pytest.mark.parity(63)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_an_error_after_the_first_event_is_an_event_too(serve: Serve, version: str) -> None:
    server = McpServer("fails")

    @server.resource("late://error")
    def late(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        raise RuntimeError("a secret")

    client = serve(server)
    params = {"uri": "late://error", "_meta": {"progressToken": "p"}}
    if version == MODERN:
        reply = client.modern("resources/read", {"uri": "late://error"}, meta={"progressToken": "p"})
    else:
        reply = client.connect(version).request("resources/read", params)
    assert (reply.status, reply.kind) == (200, SSE)
    messages = reply.messages()
    assert methods(messages) == [PROGRESS, "error"]
    assert messages[-1]["error"]["code"] == -32603
    assert b"a secret" not in reply.raw


@pytest.mark.parity(64)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_a_client_that_takes_no_events_gets_406_when_something_is_sent(
    serve: Serve, server: McpServer, version: str
) -> None:
    refusals = []

    @server.tool
    def sends(ctx: RequestContext) -> str:
        try:
            ctx.report_progress(1)
        except Exception as error:
            refusals.append((type(error).__name__, inner(ctx).stream_refused, inner(ctx).streaming))
            raise
        return "unreachable"

    client = serve(server)
    reply = call_in(client, version, "sends", progress="p", headers={"Accept": JSON}, id=7)
    assert (reply.status, reply.kind) == (406, JSON)
    assert reply.json()["id"] == 7
    assert reply.error()["code"] == -32600
    assert refusals == [("InvalidRequest", True, False)]
    # The same tool answers as long as it sends nothing: without a token there is no progress.
    assert call_in(client, version, "sends", headers={"Accept": JSON}).status == 200


ACCEPT = [
    # header, whether JSON is taken, whether events are
    (None, True, True),
    ("", True, True),
    ("  ", True, True),
    ("*/*", True, True),
    (BOTH, True, True),
    ("application/json", True, False),
    ("APPLICATION/JSON", True, False),
    ("application/json;q=0.1", True, False),
    ("application/*", True, False),
    ("text/event-stream", False, True),
    ("Text/Event-Stream; charset=utf-8", False, True),
    ("text/*", False, True),
    ("text/event-stream;q=0, application/json;q=0", True, True),
    ("application/json , text/event-stream", True, True),
    ("text/html", False, False),
    ("text/html, image/*", False, False),
    ("text/event-streams", False, False),
    ("application/jsonx", False, False),
]


@pytest.mark.parity(65, 66)
@pytest.mark.parametrize(("accept", "json", "events"), ACCEPT)
def test_what_an_accept_header_admits(
    serve: Serve, server: McpServer, accept: str | None, json: bool, events: bool
) -> None:
    client = serve(server)
    plain = client.call("add", {"a": 1, "b": 2}, headers={"Accept": accept})
    streamed = client.call("steps", {"n": 1}, progress="p", headers={"Accept": accept})
    if not json and not events:
        assert plain.status == streamed.status == 406
        assert plain.error()["code"] == -32600
        return
    assert plain.status == 200
    # A client that takes events alone gets the answer as the only one.
    assert plain.kind == (JSON if json else SSE)
    assert text(plain) == "3"
    assert streamed.status == (200 if events else 406)


@pytest.mark.parity(66)
def test_no_session_is_made_for_a_client_that_takes_nothing(serve: Serve, server: McpServer) -> None:
    client = serve(server)
    reply = client.initialize(headers={"Accept": "text/html"})
    assert reply.status == 406
    assert "mcp-session-id" not in reply.headers
    assert len(client.app.runtime.seams.sessions) == 0  # type: ignore[arg-type]


def _ids(reply: Reply) -> list[str]:
    """The ids that stand in the stream itself."""
    return [
        line.removeprefix(b"id: ").decode() for line in reply.body().split(b"\n") if line.startswith(b"id: ")
    ]


@pytest.mark.parity(67)
@pytest.mark.req("2025-11-25:http.event-id-unique", "2025-11-25:http.event-id-stream")
def test_event_ids_are_unique_and_rise(serve: Serve, server: McpServer) -> None:
    promised: list[str] = []

    @server.tool
    def promises(ctx: RequestContext) -> str:
        for step in range(3):
            ctx.report_progress(step)
            promised.append(inner(ctx).next_event_id())
        return "done"

    client = serve(server)
    found = []
    for session in (client.connect(), client.connect("2025-06-18")):
        for _ in range(3):
            found.append(_ids(session.call("promises", progress="p")))
    together = [event_id for stream in found for event_id in stream]
    assert len(set(together)) == len(together)
    assert set(promised) <= set(together)
    for stream in found:
        names = {event_id.rpartition(".")[0] for event_id in stream}
        assert len(names) == 1, "an id says which stream it belongs to"
        order = [int(event_id.rpartition(".")[2]) for event_id in stream]
        assert order == list(range(order[0], order[0] + len(order)))


@pytest.mark.parity(68)
@pytest.mark.req("2026-07-28:http.no-resumption", "2026-07-28:http.ignore-last-event-id")
def test_a_modern_stream_has_no_ids_and_is_not_resumed(serve: Serve, server: McpServer) -> None:
    client = serve(server)
    reply = client.call("steps", {"n": 2}, progress="p", headers={"Last-Event-ID": "abc.1"})
    assert methods(reply.messages()) == [PROGRESS, PROGRESS, "result"]
    assert not any(line.startswith((b"id", b"retry")) for line in reply.raw.split(b"\n"))
    resumed = client.send(
        "GET", headers={"MCP-Protocol-Version": MODERN, "Accept": SSE, "Last-Event-ID": "abc.1"}
    )
    assert resumed.status == 405


@pytest.mark.parity(69)
@pytest.mark.req("2025-11-25:http.sse-prime")
@pytest.mark.parametrize("version", ["2024-11-05", *SESSIONS, MODERN])
def test_a_stream_is_primed_on_2025_11_25_alone(serve: Serve, version: str) -> None:
    server = McpServer("primed", settings=Settings(retry_ms=250))

    @server.tool
    def steps(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "done"

    events = call_in(serve(server), version, "steps", progress="p").events()
    if version == "2025-11-25":
        first = events.pop(0)
        assert (first.data, first.retry) == ("", 250)
        assert first.id
    assert all(event.data and event.retry is None for event in events)
    assert len(events) == 2


@pytest.mark.parity(70)
@pytest.mark.req("2026-07-28:http.sse-x-accel-buffering")
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_no_cache_and_no_proxy_holds_events_back(serve: Serve, server: McpServer, version: str) -> None:
    headers = call_in(serve(server), version, "steps", {"n": 1}, progress="p").headers
    assert headers["cache-control"] == "no-cache"
    if version == MODERN:
        assert headers["x-accel-buffering"] == "no"


@pytest.mark.parity(71)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_without_a_token_no_progress_is_sent(serve: Serve, server: McpServer, version: str) -> None:
    reply = call_in(serve(server), version, "steps", {"n": 3})
    assert reply.kind == JSON


@pytest.mark.parity(72)
@pytest.mark.parametrize("version", ["2024-11-05", *SESSIONS, MODERN])
def test_a_progress_message_is_sent_where_the_revision_has_one(
    serve: Serve, server: McpServer, version: str
) -> None:
    progress = call_in(serve(server), version, "steps", {"n": 1}, progress="p").messages()[0]["params"]
    assert progress.get("message") == (None if version == "2024-11-05" else "step 1")


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_a_burst_waits_for_its_reader_and_loses_nothing(serve: Serve, version: str) -> None:
    server = McpServer("burst", settings=Settings(stream_buffer_events=8, stream_buffer_bytes=2000))

    @server.tool
    def burst(ctx: RequestContext, n: int) -> str:
        for step in range(n):
            ctx.report_progress(step, message="x" * (step % 300))
        return "done"

    messages = call_in(serve(server), version, "burst", {"n": 500}, progress="p").messages()
    assert [message["params"]["progress"] for message in messages[:-1]] == list(range(500))
    assert methods(messages[-1:]) == ["result"]


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_a_silent_call_becomes_a_stream(serve: Serve, version: str) -> None:
    server = McpServer("silent", settings=Settings(upgrade_after=0.0, keep_alive=0.02))
    asked = threading.Event()

    @server.tool
    def waits(ctx: RequestContext) -> str:
        assert asked.wait(20)
        return "at last"

    client = serve(server)
    session = None if version == MODERN else client.connect(version)
    reply = client.call("waits") if session is None else session.call("waits")
    assert (reply.status, reply.kind) == (200, SSE)
    reply.until_raw(b": keep-alive")
    asked.set()
    assert methods(reply.messages()) == ["result"]


def test_a_silent_call_stays_as_it_is_for_a_client_without_events(serve: Serve) -> None:
    server = McpServer("silent", settings=Settings(upgrade_after=0.0))

    @server.tool
    def waits(ctx: RequestContext) -> str:
        ctx.wait(1.2)
        return "at last"

    reply = serve(server).call("waits", headers={"Accept": JSON})
    assert (reply.status, reply.kind) == (200, JSON)


@pytest.mark.req("2026-07-28:http.sse-notifications-related", "2026-07-28:http.sse-no-requests")
def test_a_modern_stream_carries_what_belongs_to_its_request_alone(serve: Serve) -> None:
    server = McpServer("two")
    both = threading.Barrier(2)

    @server.tool
    def talks(ctx: RequestContext, name: str) -> str:
        both.wait(20)
        for step in range(20):
            ctx.report_progress(step)
            ctx.log("info", name)
        return name

    client = serve(server)
    replies = [
        client.call(
            "talks", {"name": name}, progress=name, id=1, meta={"io.modelcontextprotocol/logLevel": "info"}
        )
        for name in ("a", "b")
    ]
    for name, reply in zip(("a", "b"), replies, strict=True):
        messages = reply.messages()
        assert methods(messages) == [PROGRESS, "notifications/message"] * 20 + ["result"]
        assert {m["params"]["progressToken"] for m in messages[:-1:2]} == {name}
        assert {m["params"]["data"] for m in messages[1:-1:2]} == {name}
        assert messages[-1]["result"]["content"][0]["text"] == name
        assert not any("id" in message for message in messages[:-1]), "no request among them"


@pytest.mark.req("2026-07-28:http.sse-no-requests")
def test_no_request_leaves_on_a_modern_stream(serve: Serve) -> None:
    server = McpServer("raw")

    @server.tool
    def sneaks(ctx: RequestContext) -> str:
        ctx.send(Notification("notifications/progress", {"progressToken": "p", "progress": 1}))
        ctx.request("roots/list", {}, 1.0)
        return "sent"

    reply = serve(server).call("sneaks", capabilities={"roots": {}})
    messages = reply.messages()
    assert methods(messages) == [PROGRESS, "error"]
    assert messages[-1]["error"]["code"] == -32603


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_lines_and_other_separators_in_text_survive(serve: Serve, version: str) -> None:
    text = "a\nb\r\nc\u2028d\u0085e\x0bf"
    server = McpServer("lines")

    @server.tool
    def says(ctx: RequestContext) -> str:
        ctx.report_progress(1, message=text)
        return text

    messages = call_in(serve(server), version, "says", progress="p").messages()
    assert messages[0]["params"]["message"] == text
    assert messages[1]["result"]["content"][0]["text"] == text


def test_each_session_and_each_modern_client_may_use_the_same_id(serve: Serve, server: McpServer) -> None:
    client = serve(server)
    sessions: list[SessionClient] = [client.connect(), client.connect()]
    replies = [s.call("add", {"a": n, "b": 0}, id=1) for n, s in enumerate(sessions)]
    replies += [client.call("add", {"a": n, "b": 0}, id=1) for n in range(2, 12)]
    assert [text(reply) for reply in replies] == [str(n) for n in range(12)]
    assert [reply.json()["id"] for reply in replies] == [1] * 12
