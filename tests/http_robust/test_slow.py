"""Clients that send or read slowly, send too much, or send what is no body."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from mcpref.cancellation import Deadline
from tests.threads import PATIENCE, join, together

from .clients import MODERN, Client, Connection, modern_message
from .hosts import Host, comes_to_rest, every_host, fixed, gunicorn, werkzeug
from .served import LIMITS

LIMIT: int = LIMITS["max_message"]

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": "tools/call",
    "Mcp-Name": "echo",
}


def message(text: str = "x") -> bytes:
    return json.dumps(modern_message("tools/call", {"name": "echo", "arguments": {"text": text}})).encode()


def chunked(body: bytes, size: int = 1000) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        part = body[start : start + size]
        yield b"%x\r\n%s\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


# ---- Slow bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["length", "chunked"])
@pytest.mark.parametrize("host", [werkzeug, fixed, gunicorn], ids=["werkzeug", "fixed", "gunicorn"])
def test_a_byte_now_and_then_gets_408(host: Host, kind: str) -> None:
    with host() as client, Connection(client.port) as slow:
        over = threading.Event()
        size = {"Content-Length": "5000"} if kind == "length" else {"Transfer-Encoding": "chunked"}
        slow.head("POST", {**HEADERS, **size})

        def dribble() -> None:
            while not over.wait(0.05):
                try:
                    slow.send(b" " if kind == "length" else b"1\r\n \r\n")
                except OSError:
                    return

        sender = threading.Thread(target=dribble, daemon=True)
        sender.start()
        deadline = Deadline(5.0)
        client.canary()
        assert slow.begin() == 408
        assert "within 0.4 seconds" in slow.json()["error"]["message"]
        assert not deadline.expired
        over.set()
        join(sender)
        slow.close()
        comes_to_rest(client)


def test_silence_in_the_middle_of_a_body_gets_408() -> None:
    with fixed() as client, Connection(client.port) as slow:
        slow.head("POST", {**HEADERS, "Content-Length": "100"})
        slow.send(b'{"jsonrpc"')
        assert slow.begin() == 408
        slow.close()
        comes_to_rest(client)


def test_slow_bodies_on_every_thread_do_not_last() -> None:
    with fixed(threads=4) as client:
        slow = [Connection(client.port) for _ in range(12)]
        for connection in slow:
            connection.head("POST", {**HEADERS, "Content-Length": "100"})
        client.canary()
        for connection in slow:
            assert connection.begin() == 408
            connection.close()
        comes_to_rest(client)


# ---- Slow readers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("host", [werkzeug, fixed, gunicorn], ids=["werkzeug", "fixed", "gunicorn"])
def test_a_client_that_never_reads_a_stream_loses_it(host: Host, era: str) -> None:
    with host() as client:
        session = client.session()
        caller = client if era == "modern" else session
        arguments = {"count": 3000, "size": 10_000}
        deaf = [caller.call("flood", arguments, receive_buffer=4096) for _ in range(3)]
        together(*[client.canary] * 4)
        comes_to_rest(client)
        for connection in deaf:
            connection.close()
        client.canary()
        session.delete()


@pytest.mark.parametrize("host", [werkzeug, fixed, gunicorn], ids=["werkzeug", "fixed", "gunicorn"])
def test_a_client_that_never_reads_a_large_answer_frees_its_thread(host: Host) -> None:
    with host() as client:
        # More than there are threads; gunicorn closes them one by one, each in two seconds.
        crowd = 3 if host is gunicorn else 9
        deaf = [client.call("large", {"size": 8_000_000}, receive_buffer=4096) for _ in range(crowd)]
        client.canary()
        comes_to_rest(client)
        for connection in deaf:
            connection.close()


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_client_that_reads_gets_all_of_a_burst(era: str) -> None:
    """More than the buffer holds, written faster than threads change: the writer waits for a healthy reader."""
    with werkzeug(send_timeout=PATIENCE) as client:
        session = client.session()
        caller = client if era == "modern" else session
        with caller.call("flood", {"count": 2000, "size": 100}) as connection:
            assert connection.begin() == 200
            numbers = []
            while (received := connection.message()) is not None and "method" in received:
                numbers.append(received["params"]["progress"])
            assert numbers == list(range(2000))
            assert received is not None
            assert received["result"]["content"][0]["text"] == "all of it"


# ---- Sizes --------------------------------------------------------------------------------------------


@every_host
def test_a_body_at_the_limit_and_one_past_it(host: Host) -> None:
    room = LIMIT - len(message(""))
    with host() as client:
        with Connection(client.port).request("POST", HEADERS, message("x" * room)) as fits:
            assert len(fits.text()) == room
        with Connection(client.port).request("POST", HEADERS, message("x" * (room + 1))) as large:
            assert large.begin() == 413
            assert f"longer than {LIMIT} bytes" in large.json()["error"]["message"]
        client.canary()


@every_host
def test_a_body_that_is_only_announced_as_too_large(host: Host) -> None:
    with host() as client, Connection(client.port) as liar:
        liar.head("POST", {**HEADERS, "Content-Length": str(10**15)})
        if host.__name__ == "waitress":
            assert liar.begin() == 413, "by its own limit"
        else:
            assert liar.begin() == 413
            assert "longer than" in liar.json()["error"]["message"]
        client.canary()


@every_host
def test_chunked_bodies(host: Host) -> None:
    with host() as client:
        with Connection(client.port) as fine:
            fine.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
            fine.send(b"".join(chunked(message("chunked"), 7)))
            assert fine.text() == "chunked"
        with Connection(client.port) as large:
            large.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
            large.send(b"".join(chunked(message("x" * LIMIT))))
            assert large.begin() == 413
        client.canary()


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-5\r\n{}\r\n0\r\n\r\n",
        b"5\r\n{}\r\n0\r\n\r\n",
        b"ffffffffffffffffff\r\n{}",
        b"2\r\n{}",
    ],
)
@pytest.mark.parametrize("host", [werkzeug, fixed, gunicorn], ids=["werkzeug", "fixed", "gunicorn"])
def test_broken_chunks(host: Host, body: bytes) -> None:
    with host() as client, Connection(client.port) as broken:
        broken.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
        broken.send(body)
        assert broken.begin() in (400, 408, 413)
        broken.close()
        client.canary()
        comes_to_rest(client)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b"\xff\xfe", b'{"jsonrpc":"2.0"'])
def test_bodies_that_are_no_message(body: bytes) -> None:
    with fixed() as client, Connection(client.port).request("POST", HEADERS, body) as connection:
        assert connection.begin() == 400
        assert connection.json()["error"]["code"] in (-32700, -32600)
        client.canary()


@pytest.mark.parametrize("sent", [0, 1, 50])
def test_a_body_that_ends_before_its_length(sent: int) -> None:
    with fixed() as client, Connection(client.port) as short:
        short.head("POST", {**HEADERS, "Content-Length": "100"})
        short.send(b" " * sent)
        short.socket.shutdown(socket.SHUT_WR)
        assert short.begin() == 400
        assert f"ended after {sent} of 100 bytes" in short.json()["error"]["message"]
        client.canary()


def test_crowds_of_bad_bodies_leave_nothing_behind() -> None:
    with fixed(threads=8) as client:

        def attack(place: int) -> None:
            bad = Client(client.port)
            for number in range(6):
                with Connection(bad.port) as connection:
                    match (place + number) % 3:
                        case 0:
                            connection.head("POST", {**HEADERS, "Content-Length": "9999999999"})
                        case 1:
                            connection.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
                            connection.send(b"nonsense\r\n")
                        case _:
                            connection.head("POST", {**HEADERS, "Content-Length": "10"})
                            connection.reset()
                            continue
                    assert connection.begin() in (400, 413)

        together(*[lambda place=place: attack(place) for place in range(12)])
        comes_to_rest(client)
        client.canary()
