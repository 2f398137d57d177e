"""Probes: bodies in pieces, bodies that are too long, clients that send or read slowly or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic

from tests.http_robust.clients import Client, Connection
from tests.http_robust.served import LIMITS
from tests.threads import join

from .calling import HEADERS, echo
from .capabilities import capability
from .processes import THREADS, HostProcess
from .streaming import at_rest

LIMIT: int = LIMITS["max_message"]
#: How long a call is waited for that may never be answered.
SOON = 3.0
#: More than there are threads, on hosts that have few.
CROWD = THREADS + 2


def seconds_to_a_call(client: Client, within: float = SOON) -> float | None:
    """How long an innocent call takes; None if it is not answered in time."""
    started = monotonic()
    connection = Connection(client.port).request("POST", HEADERS, echo("canary"))
    connection.socket.settimeout(within)
    with connection:
        try:
            assert connection.text() == "canary"
        except TimeoutError:
            return None
    return monotonic() - started


# ---- Bodies -------------------------------------------------------------------------------------------


@capability("chunked body")
def a_body_may_come_in_chunks(running: HostProcess) -> str:
    body = echo("in pieces")
    pieces = [body[start : start + 40] for start in range(0, len(body), 40)]
    with Connection(running.port) as connection:
        connection.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
        for piece in [*pieces, b""]:
            connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        if connection.begin() != 200:
            return str(connection.status)
        assert connection.text() == "in pieces"
    return "yes"


@capability("Expect: 100-continue")
def a_client_may_ask_before_it_sends_the_body(running: HostProcess) -> str:
    body = echo("expected")
    with Connection(running.port) as connection:
        connection.head(
            "POST",
            {**HEADERS, "Content-Length": str(len(body)), "Expect": "100-continue", "Connection": "close"},
        )
        connection.socket.settimeout(1.0)
        try:
            asked = connection.begin() == 100
        except TimeoutError:
            asked = False
        assert asked, "no host leaves a client waiting"
        connection.send(body)
        while connection.begin() == 100:
            pass  # werkzeug says it twice
        assert connection.status == 200
        assert connection.text() == "expected"
    return "yes"


@capability("body too long")
def a_body_over_the_limit_is_refused(running: HostProcess) -> str:
    room = LIMIT - len(echo(""))
    with Connection(running.port).request("POST", HEADERS, echo("x" * room)) as fits:
        assert len(fits.text()) == room
    with Connection(running.port).request("POST", HEADERS, echo("x" * (room + 1))) as large:
        assert large.begin() == 413
        assert f"longer than {LIMIT} bytes" in large.json()["error"]["message"]
    with Connection(running.port) as liar:
        liar.head("POST", {**HEADERS, "Content-Length": str(10**15)})
        assert liar.begin() == 413
    with Connection(running.port) as endless:
        endless.head("POST", {**HEADERS, "Transfer-Encoding": "chunked"})
        try:
            for _ in range(40):
                endless.send(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
            endless.send(b"0\r\n\r\n")
            assert endless.begin() == 413
        except ConnectionError:
            pass  # it has hung up on what it does not want
    running.client.canary()
    return "413"


# ---- Clients that take their time ---------------------------------------------------------------------


@capability("half a header, from ten")
def half_a_header_holds_up_nobody(running: HostProcess) -> float | None:
    """The seconds that an innocent call takes beside clients that have sent half a header and no more."""
    with ExitStack() as crowd:
        for _ in range(CROWD):
            slow = crowd.enter_context(Connection(running.port))
            slow.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        seconds = seconds_to_a_call(running.client)
    running.client.canary()
    at_rest(running.client)
    return seconds


@contextmanager
def dribbling(port: int, crowd: int) -> Iterator[list[Connection]]:
    """Clients that send a body byte by byte, for as long as the block takes."""
    with ExitStack() as stack:
        slow = [stack.enter_context(Connection(port)) for _ in range(crowd)]
        for connection in slow:
            connection.head("POST", {**HEADERS, "Content-Length": "5000"})
        over = threading.Event()

        def dribble() -> None:
            alive = list(slow)
            while not over.wait(0.05):
                for connection in list(alive):
                    try:
                        connection.send(b" ")
                    except OSError:
                        alive.remove(connection)

        sender = threading.Thread(target=dribble, name="dribble", daemon=True)
        sender.start()
        try:
            yield slow
        finally:
            over.set()
            join(sender)


@capability("slow bodies, from ten")
def slow_bodies_hold_up_nobody(running: HostProcess) -> float | None:
    """The seconds that an innocent call takes beside clients that send a byte now and then."""
    with dribbling(running.port, CROWD):
        seconds = seconds_to_a_call(running.client)
    running.client.canary()
    at_rest(running.client)
    return seconds


@capability("a slow body gets")
def a_slow_body_is_ended(running: HostProcess) -> str:
    """The status that ends it, where the application can see to it."""
    with dribbling(running.port, 1) as (slow,):
        slow.socket.settimeout(1.5)
        try:
            status = slow.begin()
            assert status == 408
            return "408"
        except TimeoutError:
            return "waits"


@capability("answers unread, by eight")
def clients_that_never_read_an_answer_hold_up_nobody(running: HostProcess) -> float | None:
    """The seconds until an innocent call is answered beside as many of them as there are threads."""
    client = running.client
    with ExitStack() as crowd:
        for _ in range(THREADS):
            crowd.enter_context(client.call("large", {"size": 6_000_000}, receive_buffer=4096))
        seconds = seconds_to_a_call(client, 3 * SOON)
    at_rest(client)
    return seconds


@capability("a stream unread ends")
def a_client_that_never_reads_a_stream_loses_it(running: HostProcess) -> float | None:
    client = running.client
    started = monotonic()
    with client.call("flood", {"count": 3000, "size": 10_000}, receive_buffer=4096):
        client.canary()
        assert client.figures()["requests"] == 1
        at_rest(client)
        return monotonic() - started
