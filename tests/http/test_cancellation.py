"""Taking a request back over HTTP: by a notification (legacy), or by going away (modern)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from mcpref import McpServer, ProtocolError, RequestContext, Settings
from tests.http.conftest import Hosts, Serve
from tests.http.support import MODERN, SESSIONS, HttpClient, SessionClient, methods, text
from tests.http.test_streaming import inner
from tests.http.wires import SSE, Reply
from tests.threads import eventually, until


class Work:
    """A server with a tool that runs until it is cancelled or told to end."""

    def __init__(self) -> None:
        self.server = McpServer("works", settings=Settings(keep_alive=0.02))
        self.began = threading.Semaphore(0)
        self.release = threading.Event()
        self.cancelled = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)

        @self.server.tool
        def work(ctx: RequestContext, name: str = "", how: str = "return", talk: bool = False) -> str:
            if talk:
                ctx.report_progress(1)
            self.began.release()
            try:
                while not self.release.is_set():
                    if ctx.wait(0.01):
                        self.cancelled.release()
                        break
                if how == "refuse":
                    raise ProtocolError("refused", code=5)
                if how == "crash":
                    raise RuntimeError("crashed")
                return f"{name} done"
            finally:
                self.ended.release()

    def started(self) -> None:
        assert self.began.acquire(timeout=20), "the tool did not begin"

    def was_cancelled(self) -> None:
        assert self.cancelled.acquire(timeout=20), "the tool was not cancelled"

    def has_ended(self) -> None:
        assert self.ended.acquire(timeout=20), "the tool did not end"


@pytest.fixture
def work() -> Work:
    return Work()


def cancel(session: SessionClient, request_id: object) -> None:
    params = {"requestId": request_id, "reason": "no longer needed"}
    assert session.notify("notifications/cancelled", params).status == 202


@pytest.mark.parity(27)
@pytest.mark.req("2025-11-25:http.cancel-explicit", "2025-11-25:cancel.no-response")
@pytest.mark.parametrize("version", SESSIONS)
@pytest.mark.parametrize("talk", [False, True])
@pytest.mark.parametrize("how", ["return", "refuse", "crash"])
def test_a_cancelled_request_is_a_stream_without_an_answer(
    serve: Serve, work: Work, how: str, talk: bool, version: str
) -> None:
    session = serve(work.server).connect(version)
    call = session.call("work", {"how": how, "talk": talk}, progress="p", id="mine")
    work.started()
    cancel(session, "mine")
    work.was_cancelled()
    assert (call.status, call.kind) == (200, SSE)
    assert methods(call.messages()) == (["notifications/progress"] if talk else [])


@pytest.mark.parity(26)
@pytest.mark.req("cancel.ignore-invalid")
def test_a_cancellation_stays_in_its_session(serve: Serve, work: Work) -> None:
    client = serve(work.server)
    one, other = client.connect(), client.connect()
    first, second = one.call("work", {"name": "first"}, id=1), other.call("work", {"name": "second"}, id=1)
    modern = client.call("work", {"name": "third"}, id=1)
    for _ in range(3):
        work.started()
    cancel(one, 1)
    work.was_cancelled()
    assert first.body() == b""
    for request_id in ("1", 2, None, 1.5, [1]):
        cancel(other, request_id)
    work.release.set()
    assert text(second) == "second done"
    assert text(modern) == "third done"


@pytest.mark.parity(28)
@pytest.mark.parametrize(("mine", "other"), [(1, "1"), ("1", 1)])
def test_a_number_and_its_text_are_two_ids(serve: Serve, work: Work, mine: object, other: object) -> None:
    session = serve(work.server).connect()
    kept, taken = session.call("work", {"name": "kept"}, id=mine), session.call("work", id=other)
    work.started()
    work.started()
    cancel(session, other)
    work.was_cancelled()
    assert taken.body() == b""
    work.release.set()
    assert text(kept) == "kept done"
    assert kept.json()["id"] == mine


@pytest.mark.parity(30)
def test_a_duplicate_id_does_not_evict_the_one_that_runs(serve: Serve, work: Work) -> None:
    client = serve(work.server)
    session = client.connect()
    first = session.call("work", id=1)
    work.started()
    assert session.request("ping", id=1).status == 200
    cancel(session, 1)
    work.was_cancelled()
    assert first.body() == b""
    eventually(lambda: client.app.runtime.seams.cancels.running(session.id) == 0)


@pytest.mark.parity(31)
@pytest.mark.parametrize(
    "params", [None, {}, {"requestId": None}, {"requestId": {}}, {"requestId": "gone"}, []]
)
def test_what_cannot_be_cancelled_is_ignored(serve: Serve, work: Work, params: Any) -> None:
    session = serve(work.server).connect()
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    reply = session.post(message if params is None else {**message, "params": params})
    assert reply.status in ((400,) if params == [] else (202,))
    assert session.request("ping").result() == {}


@pytest.mark.req("2025-11-25:http.disconnect-not-cancel", "2025-11-25:http.sse-disconnect-any-time")
def test_a_legacy_client_that_goes_has_not_cancelled(serve: Serve, work: Work) -> None:
    session = serve(work.server).connect()
    call = session.call("work", {"talk": True}, progress="p", id="mine")
    work.started()
    first = call.next_event()
    assert first is not None
    call.close()
    assert not work.cancelled.acquire(timeout=0.2)
    work.release.set()
    work.has_ended()
    messages = session.get(first.id).messages()
    assert methods(messages) == ["notifications/progress", "result"]


@pytest.mark.parity(35)
@pytest.mark.req(
    "2026-07-28:http.disconnect-cancels",
    "2026-07-28:http.cancel-no-more-messages",
    "2026-07-28:cancel.server-stop",
    "2026-07-28:cancel.server-free",
)
@pytest.mark.parametrize("talk", [False, True])
@pytest.mark.parametrize("how", ["return", "refuse", "crash"])
def test_a_modern_client_that_goes_has_cancelled(serve: Serve, work: Work, how: str, talk: bool) -> None:
    client = serve(work.server)
    call = client.call("work", {"talk": talk, "how": how}, progress="p")
    work.started()
    if talk:
        assert call.next_message()["method"] == "notifications/progress"
    call.close()
    work.was_cancelled()
    work.has_ended()
    assert b'"result"' not in call.body()
    assert b'"error"' not in call.body()
    eventually(lambda: client.app.runtime.requests == 0)


@pytest.mark.parity(34, 36)
@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
def test_a_probe_that_can_be_replaced_tells_whether_the_client_is_there(serve: Serve, version: str) -> None:
    server = McpServer("probed")
    seen: list[bool] = []

    @server.tool
    def looks(ctx: RequestContext) -> str:
        alive = True
        inner(ctx).set_connection_probe(lambda: alive)
        seen.append(ctx.is_cancelled)
        alive = False
        seen.append(ctx.is_cancelled)
        return "done"

    client = serve(server)
    reply = client.call("looks") if version == MODERN else client.connect(version).call("looks")
    if version == MODERN:
        assert (reply.body(), seen) == (b"", [False, True])
    else:
        assert (text(reply), seen) == ("done", [False, False])


@pytest.mark.req("2026-07-28:http.notification-202")
def test_a_modern_notification_cancels_nothing(serve: Serve, work: Work) -> None:
    client = serve(work.server)
    call = client.call("work", {"name": "it"}, id=1)
    work.started()
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    reply = client.post(message, {"MCP-Protocol-Version": MODERN})
    assert (reply.status, reply.body()) == (202, b"")
    work.release.set()
    assert text(call) == "it done"


ENDS: list[Callable[[HttpClient, SessionClient], object]] = [
    lambda client, session: session.delete().status,
    lambda client, session: client.app.runtime.seams.sessions.end(session.id),
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.req("2025-11-25:http.sse-session-expiry")
def test_what_runs_in_a_session_ends_with_it(
    serve: Serve, work: Work, end: Callable[[HttpClient, SessionClient], object]
) -> None:
    client = serve(work.server)
    session = client.connect()
    call = session.call("work", {"talk": True}, progress="p")
    work.started()
    assert call.next_message()["method"] == "notifications/progress"
    end(client, session)
    work.was_cancelled()
    assert call.messages() == []


def test_a_shutdown_lets_answers_out(hosts: Hosts, work: Work) -> None:
    """The server's own end sets the tokens too, but what was computed in time is sent."""
    client = hosts.serve(work.server)
    session = client.connect()
    calls: list[Reply] = [
        client.call("work", {"name": "modern"}),
        session.call("work", {"name": "legacy"}),
        client.call("work", {"name": "stream", "talk": True}, progress="p"),
    ]
    for _ in calls:
        work.started()
    assert client.app.close(grace=20.0)
    assert [text(call) for call in calls] == ["modern done", "legacy done", "stream done"]
    assert client.modern("tools/list").status == 503
    assert client.app.close(), "twice is once"


def test_waiting_in_a_handler_is_woken_by_a_disconnect(serve: Serve) -> None:
    server = McpServer("sleeps")
    began, woken = threading.Event(), threading.Event()

    @server.tool
    def sleeps(ctx: RequestContext) -> str:
        began.set()
        if ctx.wait(20):
            woken.set()
        return "done"

    call = serve(server).call("sleeps")
    until(began)
    call.close()
    until(woken)
