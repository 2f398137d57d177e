"""The stream that a GET opens, and coming back to a stream by ``Last-Event-ID`` (legacy sessions).

Spec: 2025-03-26..2025-11-25 basic/transports#listening-for-messages-from-the-server
Spec: 2025-03-26..2025-11-25 basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, RequestContext, Settings
from tests.http.conftest import Serve
from tests.http.support import SESSIONS, SessionClient, methods, text
from tests.http.wires import SSE, Reply
from tests.threads import eventually, until

TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
UPDATED = "notifications/resources/updated"
PROGRESS = "notifications/progress"


def make_server(**settings: Any) -> McpServer:
    options = {"keep_alive": 0.02, **settings}
    server = McpServer("pushes", resource_subscriptions=True, settings=Settings(**options))

    @server.resource("note://a")
    def note() -> str:
        return "a"

    @server.tool
    def steps(ctx: RequestContext, n: int) -> str:
        for step in range(n):
            ctx.report_progress(step)
        return "done"

    return server


def opened(session: SessionClient, last_event_id: str | None = None, **headers: str | None) -> Reply:
    """A GET stream that is there."""
    reply = session.get(last_event_id, **headers)
    assert (reply.status, reply.kind) == (200, SSE)
    reply.until_raw(b"\n")
    return reply


@pytest.mark.req(
    "2025-11-25:http.single-endpoint",
    "2025-11-25:http.get-response",
    "2025-11-25:http.get-stream",
    "2025-11-25:http.get-messages",
    "2025-11-25:http.get-client-close",
)
@pytest.mark.parametrize("version", SESSIONS)
def test_a_get_stream_carries_changes(serve: Serve, version: str) -> None:
    client = serve(make_server())
    session = client.connect(version)
    stream = opened(session)
    client.server.notify_list_changed("tools")
    assert stream.next_message() == {"jsonrpc": "2.0", "method": TOOLS}
    client.server.notify_list_changed("prompts")
    assert stream.next_message() == {"jsonrpc": "2.0", "method": PROMPTS}
    stream.close()
    assert session.request("ping").status == 200


@pytest.mark.parity(79)
@pytest.mark.req("2025-11-25:http.no-broadcast", "2025-11-25:http.multiple-streams")
def test_a_change_goes_to_every_session_once(serve: Serve) -> None:
    client = serve(make_server())
    sessions = [client.connect(version) for version in SESSIONS]
    streams = [opened(session) for session in sessions]
    # A second stream of the same session takes over from the first, and a call's stream carries its own alone.
    second = opened(sessions[0])
    assert streams[0].messages() == []
    call = sessions[0].call("steps", {"n": 2}, progress="p")
    client.server.notify_list_changed("tools")
    client.server.notify_list_changed("prompts")
    for stream in (second, streams[1], streams[2]):
        assert [stream.next_message()["method"] for _ in range(2)] == [TOOLS, PROMPTS]
    assert methods(call.messages()) == [PROGRESS, PROGRESS, "result"]


@pytest.mark.parity(79)
def test_an_update_goes_to_whoever_watches(serve: Serve) -> None:
    client = serve(make_server())
    watching, other = client.connect(), client.connect()
    assert watching.request("resources/subscribe", {"uri": "note://a"}).status == 200
    streams = [opened(watching), opened(other)]
    for uri in ("note://a", "note://b"):
        client.server.notify_resource_updated(uri)
    client.server.notify_list_changed("tools")
    assert streams[0].next_message()["params"] == {"uri": "note://a"}
    assert streams[0].next_message()["method"] == TOOLS
    assert streams[1].next_message()["method"] == TOOLS
    assert watching.request("resources/unsubscribe", {"uri": "note://a"}).status == 200
    client.server.notify_resource_updated("note://a")
    client.server.notify_list_changed("prompts")
    assert streams[0].next_message()["method"] == PROMPTS


def test_a_stream_opened_before_the_handshake_ends_gets_changes_after_it(serve: Serve) -> None:
    client = serve(make_server())
    reply = client.initialize()
    session = SessionClient(client, reply.headers["mcp-session-id"], "2025-11-25")
    stream = opened(session)
    client.server.notify_list_changed("tools")
    stream.until_raw(b": keep-alive")
    assert session.notify("notifications/initialized").status == 202
    client.server.notify_list_changed("prompts")
    assert stream.next_message()["method"] == PROMPTS


def test_many_changes_at_once_are_all_told(serve: Serve) -> None:
    client = serve(make_server(stream_buffer_events=4))
    stream = opened(client.connect())
    for n in range(100):
        client.server.notify_list_changed("tools" if n % 2 else "prompts")
    assert [stream.next_message()["method"] for _ in range(100)] == [PROMPTS, TOOLS] * 50


@pytest.mark.req("2025-11-25:http.get-no-response", "2025-11-25:http.get-unrelated")
def test_no_answer_comes_on_a_get_stream(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect()
    stream = opened(session)
    assert text(session.call("steps", {"n": 3}, progress="p")) == "done"
    assert session.request("tools/list").status == 200
    client.server.notify_list_changed("tools")
    assert stream.next_message()["method"] == TOOLS


@pytest.mark.req("2025-11-25:http.get-server-close")
def test_a_get_stream_ends_in_time_and_can_be_opened_again(serve: Serve) -> None:
    client = serve(make_server(stream_max_age=0.05))
    session = client.connect()
    assert opened(session).messages() == []
    assert opened(session).messages() == []


@pytest.mark.req("2025-11-25:lifecycle.http-shutdown")
def test_a_get_stream_ends_when_the_server_closes(serve: Serve) -> None:
    client = serve(make_server())
    stream = opened(client.connect())
    assert client.app.close()
    assert stream.messages() == []


@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_get_needs_to_take_events(serve: Serve, accept: str) -> None:
    assert serve(make_server()).connect().get(Accept=accept).status == 406


@pytest.mark.req("2025-11-25:http.sse-prime", "2025-11-25:http.get-polling")
@pytest.mark.parametrize("version", SESSIONS)
def test_a_get_stream_is_primed_on_2025_11_25(serve: Serve, version: str) -> None:
    stream = opened(serve(make_server(retry_ms=77)).connect(version))
    if version == "2025-11-25":
        event = stream.next_event()
        assert event is not None
        assert (event.data, event.retry) == ("", 77)
        assert event.id
    else:
        assert stream.raw == b": open\n"


# ---- Coming back --------------------------------------------------------------------------------------


@pytest.mark.parity(78)
@pytest.mark.req(
    "2025-11-25:http.resume-replay",
    "2025-11-25:http.resume-via-get",
    "2025-11-25:http.event-id-cursor",
    "2025-11-25:http.event-id",
)
@pytest.mark.parametrize("version", SESSIONS)
def test_a_stream_is_replayed_from_any_of_its_events(serve: Serve, version: str) -> None:
    session = serve(make_server()).connect(version)
    events = session.call("steps", {"n": 4}, progress="p").events()
    for place, event in enumerate(events):
        again = opened_or_empty(session, event.id)
        assert [(e.id, e.data) for e in again.events()] == [(e.id, e.data) for e in events[place + 1 :]]


def opened_or_empty(session: SessionClient, last_event_id: str) -> Reply:
    reply = session.get(last_event_id)
    assert (reply.status, reply.kind) == (200, SSE)
    return reply


@pytest.mark.parity(78)
@pytest.mark.req("2025-11-25:http.resume-replay")
def test_what_was_missed_is_replayed_and_then_it_goes_on(serve: Serve) -> None:
    server = make_server()
    go = threading.Semaphore(0)

    @server.tool
    def slow(ctx: RequestContext) -> str:
        for step in range(6):
            assert go.acquire(timeout=20)
            ctx.report_progress(step)
        return "done"

    session = serve(server).connect()
    call = session.call("slow", progress="p", id="mine")
    go.release(2)
    seen = [call.next_event() for _ in range(3)]
    last = seen[-1]
    assert last is not None
    call.close()
    go.release(2)
    back = session.get(last.id)
    assert [back.next_message()["params"]["progress"] for _ in range(2)] == [2, 3]
    go.release(2)
    messages = back.messages()
    assert [m["params"]["progress"] for m in messages[:-1]] == [4, 5]
    assert messages[-1]["id"] == "mine"


@pytest.mark.parity(78)
@pytest.mark.req("2025-11-25:http.resume-no-cross-stream")
def test_another_stream_or_session_is_never_replayed(serve: Serve) -> None:
    client = serve(make_server())
    session, stranger = client.connect(), client.connect()
    mine = session.call("steps", {"n": 3}, progress="mine").events()
    other = session.call("steps", {"n": 3}, progress="other").events()
    theirs = stranger.call("steps", {"n": 3}, progress="theirs").events()
    assert [e.id for e in opened_or_empty(session, mine[1].id).events()] == [e.id for e in mine[2:]]
    assert [e.id for e in opened_or_empty(session, other[2].id).events()] == [e.id for e in other[3:]]
    # Another session's id, or none at all, opens a stream of its own.
    for unknown in (theirs[0].id, f"{mine[0].id}9", "nonsense", "0" * 16 + ".0", "a.b.c", ".", "." * 50):
        stream = opened(session, unknown)
        client.server.notify_list_changed("tools")
        assert stream.next_message()["method"] == TOOLS
        stream.close()


@pytest.mark.parity(78)
def test_a_get_stream_that_is_resumed_is_live_again(serve: Serve) -> None:
    client = serve(make_server())
    session = client.connect()
    stream = opened(session)
    client.server.notify_list_changed("tools")
    first = stream.next_event()
    second = stream.next_event()
    assert first is not None
    assert second is not None
    stream.close()
    back = session.get(first.id)
    assert back.next_message()["method"] == TOOLS, "replayed"
    client.server.notify_list_changed("prompts")
    assert back.next_message()["method"] == PROMPTS, "live"


def test_a_stream_that_is_resumed_twice_has_one_reader(serve: Serve) -> None:
    server = make_server()
    go = threading.Event()

    @server.tool
    def slow(ctx: RequestContext) -> str:
        ctx.report_progress(0)
        assert go.wait(20)
        return "done"

    session = serve(server).connect()
    call = session.call("slow", progress="p")
    first = call.next_event()
    assert first is not None
    call.next_event()
    one = session.get(first.id)
    assert one.next_message()["method"] == PROGRESS
    two = session.get(first.id)
    assert two.next_message()["method"] == PROGRESS
    assert one.messages() == [], "the newer one has taken over"
    go.set()
    assert methods(two.messages()) == ["result"]
    assert call.messages() == []


@pytest.mark.req(
    "2025-11-25:http.sse-close-early",
    "2025-11-25:http.sse-retry-sent",
    "2025-11-25:http.sse-response-eventually",
)
def test_the_server_may_let_the_client_go_and_come_back(serve: Serve) -> None:
    server = make_server(retry_ms=10)
    away = threading.Event()

    @server.tool
    def polled(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        ctx.close_stream()
        ctx.report_progress(2)
        assert away.wait(20)
        ctx.report_progress(3)
        return "done"

    session = serve(server).connect()
    call = session.call("polled", progress="p", id=1)
    events = call.events()
    assert events[0].retry == 10
    assert len(events) == 2, "the priming event and what came before the connection was closed"
    away.set()
    messages = session.get(events[-1].id).messages()
    assert [m["params"]["progress"] for m in messages[:-1]] == [2, 3]
    assert messages[-1]["id"] == 1


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
def test_letting_the_client_go_means_nothing_before_2025_11_25(serve: Serve, version: str) -> None:
    server = make_server()

    @server.tool
    def polled(ctx: RequestContext) -> str:
        ctx.close_stream()
        ctx.report_progress(1)
        return "done"

    reply = serve(server).connect(version).call("polled", progress="p")
    assert methods(reply.messages()) == [PROGRESS, "result"]


def test_what_is_kept_of_a_stream_is_bounded(serve: Serve) -> None:
    client = serve(make_server(stream_buffer_events=4))
    session = client.connect()
    events = session.call("steps", {"n": 20}, progress="p").events()
    assert [e.id for e in opened_or_empty(session, events[-3].id).events()] == [e.id for e in events[-2:]]
    # What is no longer there is not replayed with a gap: a fresh stream instead.
    fresh = opened(session, events[2].id)
    client.server.notify_list_changed("tools")
    assert fresh.next_message()["method"] == TOOLS


def test_too_many_streams_are_refused_before_any_byte(serve: Serve) -> None:
    client = serve(make_server(), threads=6)
    sessions = [client.connect() for _ in range(4)]
    streams = [opened(session) for session in sessions[:3]]
    refused = sessions[3].get()
    assert refused.status == 503
    assert refused.headers["retry-after"] == "1"
    streams[0].close()
    eventually(lambda: client.app.runtime.budget.parked == 2)
    opened(sessions[3])


def test_changes_reach_every_process_thread_without_a_stream(serve: Serve) -> None:
    """Nobody listens: announcing a change costs nothing and blocks nobody."""
    client = serve(make_server())
    client.connect()
    done = threading.Event()

    def announce() -> None:
        for _ in range(5000):
            client.server.notify_list_changed("tools")
        done.set()

    threading.Thread(target=announce, daemon=True).start()
    until(done)
