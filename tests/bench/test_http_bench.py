"""The HTTP half of the bench measures what it says: framings, reconnects, and servers that lie, die and hang."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import WSGIRequestHandler, make_server

from . import contestants, http_driver
from .drivers import LEGACY, MODERN, PeerFailed
from .http_driver import FIRST_ID, Contestant, HttpPeer
from .http_measures import (
    HTTP_MEASURES,
    STEPS,
    HttpMeasure,
    add_call,
    is_progress,
    is_sum_alone,
    progress_call,
)
from .http_wire import Call, Response, ResponseReader, WrongAnswer, parse_response, read_messages
from .measures import Plan

PEERS = Path(__file__).parent / "peers"
STUB = Contestant("stub", "stub", (sys.executable, str(PEERS / "stub_http.py"), "--port", "{port}"))

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LENGTH = HEAD + b"Content-Length: 4\r\n\r\ntrue"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\ntr\r\n2;x=y\r\nue\r\n0\r\n\r\n"
TRAILED = HEAD + b"Transfer-Encoding: Chunked\r\n\r\n4\r\ntrue\r\n0\r\nX-Trailer: 1\r\n\r\n"
CLOSED = HEAD + b"Connection: close\r\nContent-Length: 4\r\n\r\ntrue"
EMPTY = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("data", [LENGTH, CHUNKED, TRAILED, CLOSED, EMPTY])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_response_is_whole_at_its_last_byte_and_not_before(data: bytes, step: int) -> None:
    reader = ResponseReader()
    whole = [reader.feed(data[start : start + step]) for start in range(0, len(data), step)]
    assert whole == [False] * (len(whole) - 1) + [True]
    assert reader.data == data
    assert reader.closes is (data is CLOSED)
    assert parse_response(reader.data).body == (b"" if data is EMPTY else b"true")


@pytest.mark.parametrize("head", [HEAD, HEAD.replace(b"1.1", b"1.0")])
def test_without_a_length_the_end_of_the_connection_is_the_end(head: bytes) -> None:
    reader = ResponseReader()
    assert not reader.feed(head + b"\r\ntrue")
    assert reader.closes
    assert reader.finish()
    assert parse_response(reader.data).body == b"true"


@pytest.mark.parametrize("data", [b"", LENGTH[:-1], CHUNKED[:-1], HEAD])
def test_an_end_within_a_response_is_none(data: bytes) -> None:
    reader = ResponseReader()
    assert not data or not reader.feed(data)
    assert not reader.finish()


@pytest.mark.parametrize("data", [b"SSH-2.0\r\n\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"])
def test_what_is_no_http_is_refused(data: bytes) -> None:
    with pytest.raises(WrongAnswer):
        ResponseReader().feed(data)


def test_an_old_server_that_keeps_the_connection_says_so() -> None:
    reader = ResponseReader()
    assert reader.feed(
        LENGTH.replace(b"1.1", b"1.0").replace(b"\r\n\r\n", b"\r\nConnection: Keep-Alive\r\n\r\n")
    )
    assert not reader.closes


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_the_messages_of_an_event_stream(newline: bytes) -> None:
    lines = [
        b": open",
        b"",
        b"id: 1",
        b"data: ",
        b"",
        b"event: message",
        b"data: [1,",
        b"data:2]",
        b"",
        b"data: 3",
    ]
    stream = newline.join([*lines, b"", b""])
    assert read_messages(Response(200, {"content-type": "text/event-stream; charset=utf-8"}, stream)) == [
        [1, 2],
        3,
    ]


@pytest.mark.parametrize(
    "response",
    [
        Response(503, {"content-type": "application/json"}, b"{}"),
        Response(200, {"content-type": "text/html"}, b"{}"),
        Response(200, {"content-type": "application/json"}, b"{"),
        Response(200, {"content-type": "text/event-stream"}, b"data: {\n\n"),
    ],
)
def test_a_response_without_messages_is_wrong(response: Response) -> None:
    with pytest.raises(WrongAnswer):
        read_messages(response)


def test_requests_are_what_their_revision_asks_for_and_equally_long() -> None:
    modern = add_call(MODERN).encode(range(FIRST_ID, FIRST_ID + 3), host="h:1")
    head, _, body = modern[1].partition(b"\r\n\r\n")
    assert b"\r\nMcp-Method: tools/call\r\nMcp-Name: add" in head
    assert f"\r\nContent-Length: {len(body)}".encode() in head
    assert json.loads(body)["id"] == FIRST_ID + 1
    assert json.loads(body)["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN
    assert len({len(request) for request in modern}) == 1
    legacy = progress_call(LEGACY).encode(range(1, 2), host="h:1", session="s")[0]
    assert b"\r\nMcp-Session-Id: s\r\n" in legacy
    assert b"Mcp-Method" not in legacy
    assert json.loads(legacy.partition(b"\r\n\r\n")[2])["params"]["_meta"] == {"progressToken": "bench"}


class InProcess(HttpPeer):
    """A server in this very process, for what needs no other one."""

    def __init__(self, port: int) -> None:
        super().__init__(STUB)
        self.port = port

    def failure(self, what: str) -> PeerFailed:
        return PeerFailed(what)


@pytest.fixture(params=["HTTP/1.1", "HTTP/1.0"])
def bare(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcess]:
    """The bare application on werkzeug's server, which closes after each response."""
    monkeypatch.syspath_prepend(str(PEERS))
    import bare_http  # type: ignore[import-not-found]

    class Handler(WSGIRequestHandler):
        protocol_version = request.param

        def log(self, type: str, message: str, *args: Any) -> None:
            pass

    server = make_server("127.0.0.1", 0, bare_http.app, threaded=True, request_handler=Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield InProcess(server.server_port)
    server.shutdown()
    thread.join(20)
    server.server_close()


@pytest.mark.parametrize("measure", HTTP_MEASURES, ids=lambda measure: measure.title)
def test_the_bare_application_owes_what_all_servers_owe(bare: InProcess, measure: HttpMeasure) -> None:
    answers = bare.load(measure.call, count=20, connections=measure.connections, seconds=60)
    assert len(answers.check(measure.is_right).responses) == 20
    assert answers.rate > 0


@pytest.mark.parametrize("connections", [1, 3, 8, 100])
def test_every_request_is_answered_once_on_any_number_of_connections(connections: int) -> None:
    with HttpPeer(STUB) as peer:
        answers = peer.load(add_call(MODERN), count=50, connections=connections, seconds=60).check(
            is_sum_alone
        )
        assert sorted(number for number, _ in answers.responses) == list(range(50))
        stopped = peer.load(add_call(MODERN), count=500, connections=connections, seconds=0).check(
            is_sum_alone
        )
        assert len(stopped.responses) == connections
        answers.responses.pop(10)
        with pytest.raises(PeerFailed, match="without an answer"):
            answers.check(is_sum_alone)


def test_a_sample_is_a_rate() -> None:
    with HttpPeer(STUB) as peer:
        assert HTTP_MEASURES[0].sample(peer, Plan(1, 0.01)) > 0


def server(answer: str) -> Contestant:
    """A server that does something to the first connection that has sent a request, and is otherwise silent."""
    program = (
        "import socket, sys, time\n"
        "listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "while True:\n"
        "    connection = listener.accept()[0]\n"
        "    if connection.recv(65536):\n"
        f"        {answer}\n"
    )
    return Contestant(
        "program", "program", (sys.executable, "-c", program.replace("{", "{{").replace("}", "}}"), "{port}")
    )


def sends(body: str, status: str = "200 OK") -> str:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"connection.sendall({(head + body).encode()!r})"


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (sends('{"id":100000,"error":{"code":-32603}}'), "answered wrongly"),
        (sends('{"id":100000,"result":{"content":[{"text":"4"}]}}'), "answered wrongly"),
        (sends('{"id":7,"result":{}}'), "another id"),
        (sends("{}", "500 Internal Server Error"), "status 500"),
        ("connection.sendall(b'hello\\r\\n\\r\\n')", "not a response"),
        ("connection.close()", "within a response"),
        ("sys.exit('out of cheese')", r"exit status 1(.|\n)*out of cheese"),
    ],
)
def test_a_wrong_answer_is_no_figure(answer: str, complaint: str) -> None:
    with HttpPeer(server(answer)) as peer, pytest.raises(PeerFailed, match=complaint):
        peer.load(add_call(MODERN), count=1, connections=1, seconds=60).check(is_sum_alone)


def test_a_server_that_hangs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_driver, "ANSWER_SECONDS", 0.3)
    with (
        HttpPeer(server("time.sleep(60)")) as peer,
        pytest.raises(PeerFailed, match="did not answer in time"),
    ):
        peer.load(add_call(MODERN), count=1, connections=1, seconds=60)


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("import sys; sys.exit('no such module')", r"ended before it listened(.|\n)*no such module"),
        ("import time; time.sleep(60)", "did not listen within"),
    ],
)
def test_a_server_that_does_not_start_is_told(
    program: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_driver, "START_SECONDS", 0.3 if "sleep" in program else 60.0)
    contestant = Contestant("program", "program", (sys.executable, "-c", program))
    with pytest.raises(PeerFailed, match=complaint), HttpPeer(contestant):
        pass


@pytest.mark.parametrize("host", contestants.HOSTS)
def test_on_every_host_the_wheel_is_measured_and_not_the_checkout(host: str) -> None:
    """What stands where a server runs is imported first, and by gunicorn before what is installed."""
    for make in (contestants.http_mcpref, contestants.http_bare):
        contestant = make(Path("python"), host)
        assert contestant.directory == PEERS
        assert not (PEERS / "mcpref").exists()
        assert any("mcpref_http" in part or "bare_http" in part for part in contestant.command)


def test_who_never_streams_is_not_asked_to() -> None:
    silent = Contestant("silent", "silent", (), streams=False)
    old = Contestant("old", "old", (), revisions=(LEGACY,))
    offered = [
        (measure.key, measure.call.revision) for measure in HTTP_MEASURES if measure.is_offered_by(silent)
    ]
    assert {key for key, _ in offered} == {"http-call", "http-list"}
    assert {m.call.revision for m in HTTP_MEASURES if m.is_offered_by(old)} == {LEGACY}


def told(*steps: int) -> list[Any]:
    params = [{"progressToken": "bench", "progress": step, "total": STEPS} for step in steps]
    return [{"method": "notifications/progress", "params": one} for one in params]


def test_progress_is_right_when_every_step_was_told_in_order() -> None:
    result = {"structuredContent": {"result": STEPS}}
    steps = list(range(1, STEPS + 1))
    assert is_progress(told(*steps), result)
    assert not is_progress(told(*steps[1:]), result)
    assert not is_progress(told(*reversed(steps)), result)
    assert not is_progress([*told(*steps), {"method": "notifications/message", "params": {}}], result)
    assert not is_progress(told(*steps), {"structuredContent": {"result": 9}})


def test_a_call_has_no_id_of_its_own() -> None:
    first, second = Call("ping", {}, LEGACY).encode(range(1, 3), host="h:1")
    assert first.replace(b'"id":1', b'"id":2') == second
