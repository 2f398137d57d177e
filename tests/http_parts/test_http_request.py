"""Reading a request from its ``environ``: headers, Accept, Host, Origin and the body."""

from __future__ import annotations

import io
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref import Settings
from mcpref.transport.body_watch import BodyWatch
from mcpref.transport.http_request import (
    EnvironHeaders,
    HttpRefusal,
    accepts,
    check_content_type,
    check_host,
    check_origin,
    host_name,
    is_allowed_origin,
    read_body,
)
from tests.threads import PATIENCE, eventually, join

# ---- EnvironHeaders -----------------------------------------------------------------------------------

HEADERS = EnvironHeaders(
    {
        "REQUEST_METHOD": "POST",
        "wsgi.input": io.BytesIO(),
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": "",
        "HTTP_MCP_METHOD": "tools/call",
        "HTTP_X_EMPTY": "",
    }
)


@pytest.mark.parametrize("name", ["mcp-method", "Mcp-Method", "MCP-METHOD"])
def test_a_header_is_found_in_any_case(name: str) -> None:
    assert HEADERS[name] == HEADERS.get(name) == "tools/call"
    assert name in HEADERS


def test_headers_are_what_the_client_sent_and_nothing_else() -> None:
    assert dict(HEADERS) == {"content-type": "application/json", "mcp-method": "tools/call", "x-empty": ""}
    assert len(HEADERS) == 3
    for name in ("request-method", "wsgi.input", "missing", "content-length"):
        assert name not in HEADERS
        assert HEADERS.get(name) is None
        assert HEADERS.get(name, "default") == "default"
        with pytest.raises(KeyError):
            HEADERS[name]
    not_a_name: Any = 1
    assert not_a_name not in HEADERS


# ---- Accept -------------------------------------------------------------------------------------------


@pytest.mark.parity(65)
@pytest.mark.parametrize(
    ("header", "json", "sse"),
    [
        (None, True, True),
        ("", True, True),
        ("   ", True, True),
        ("*/*", True, True),
        ("application/json", True, False),
        ("text/event-stream", False, True),
        ("application/json, text/event-stream", True, True),
        ("text/*", False, True),
        ("application/*", True, False),
        ("APPLICATION/JSON", True, False),
        ("Text/Event-Stream", False, True),
        ("application/json;q=0", True, False),
        ("text/event-stream; q=0.5 , application/json ; charset=utf-8", True, True),
        ("text/html, */*;q=0.1", True, True),
        ("text/html", False, False),
        ("application/jsonp", False, False),
        ("json", False, False),
        ("*", False, False),
        (",,,", False, False),
        (";", False, False),
        ("application/json,", True, False),
    ],
)
def test_accept(header: str | None, json: bool, sse: bool) -> None:
    assert accepts(header, "application/json") is json
    assert accepts(header, "text/event-stream") is sse


@given(st.text(max_size=60))
def test_any_accept_gets_a_verdict(header: str) -> None:
    assert accepts(header, "application/json") in (True, False)


@pytest.mark.parametrize(
    ("kind", "fine"),
    [
        ("application/json", True),
        ("application/json; charset=utf-8", True),
        (" APPLICATION/JSON ", True),
        ("", False),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("application/json-patch+json", False),
        ("text/plain; application/json", False),
    ],
)
def test_content_type(kind: str, fine: bool) -> None:
    if fine:
        check_content_type({"CONTENT_TYPE": kind})
    else:
        with pytest.raises(HttpRefusal) as refusal:
            check_content_type({"CONTENT_TYPE": kind})
        assert refusal.value.status == 415


# ---- Host and Origin ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:8000", "localhost"),
        ("localhost.", "localhost"),
        ("localhost.:80", "localhost"),
        ("127.0.0.1:8000", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("[::1]:8000", "[::1]"),
        ("[::1]:", "[::1]"),
        ("localhost:", "localhost"),
        (" localhost ", "localhost"),
        ("", ""),
        (":80", ""),
        ("localhost:port", ""),
        ("localhost:80:90", ""),
        ("localhost:-1", ""),
        ("[::1]x", ""),
        ("[::1]80", ""),
        ("localhost:80@evil.example", ""),
    ],
)
def test_host_names(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "localhost@evil.example",
        "user:pw@localhost",
        "evil.example:localhost",
        "localhost/",
        "localhost#",
        "localhost,evil.example",
        "local\x00host",
        "[::1",
        "::1",
        "[::ffff:127.0.0.1]",
        "127.1",
        "",
    ],
)
def test_only_our_own_names_come_in(host: str) -> None:
    with pytest.raises(HttpRefusal) as refusal:
        check_host({"HTTP_HOST": host}, Settings())
    assert refusal.value.status == 403
    with pytest.raises(HttpRefusal):
        check_host({}, Settings())


def test_names_can_be_allowed() -> None:
    check_host({"HTTP_HOST": "api.example:443"}, Settings(allowed_hosts=("api.example",)))
    check_host({"HTTP_HOST": "anything"}, Settings(allowed_hosts=("*",)))


hosts = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="localhst127.0[]:@/#?.%\x00 \t", max_size=40),
    st.binary(max_size=40).map(lambda raw: raw.decode("latin-1")),
)


@given(hosts)
def test_any_host_is_parsed(host: str) -> None:
    name = host_name(host)
    assert not name.endswith(".")
    if name in Settings().allowed_hosts:
        check_host({"HTTP_HOST": host}, Settings())
    else:
        with pytest.raises(HttpRefusal):
            check_host({"HTTP_HOST": host}, Settings())


@given(hosts)
def test_any_origin_is_parsed(origin: str) -> None:
    assert is_allowed_origin(origin, Settings()) in (True, False)
    if not is_allowed_origin(origin, Settings()):
        with pytest.raises(HttpRefusal):
            check_origin({"HTTP_ORIGIN": origin}, Settings())


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("http://localhost:3000", True),
        ("https://127.0.0.1", True),
        ("http://[::1]:80", True),
        ("http://evil.example", False),
        ("http://localhost.evil.example", False),
        ("http://user@localhost", False),
        ("http://localhost@evil.example", False),
        ("null", False),
        ("", False),
        ("file://", False),
        ("localhost", False),
        ("ftp://localhost", False),
        ("http://[::1", False),
        ("http://localhost:x", False),
    ],
)
def test_origins(origin: str, allowed: bool) -> None:
    assert is_allowed_origin(origin, Settings()) is allowed


def test_a_request_without_an_origin_is_no_pages() -> None:
    check_origin({}, Settings())


# ---- The body -----------------------------------------------------------------------------------------

SMALL = Settings(max_message=10, body_deadline=0.2)


class Trickle(io.RawIOBase):
    """An input that gives a byte at a time."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._data.read(1)


def environ(data: bytes, declared: str | None, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"wsgi.input": io.BytesIO(data), **more}
    if declared is not None:
        made["CONTENT_LENGTH"] = declared
    return made


def refused(made: dict[str, Any], settings: Settings = SMALL) -> int:
    with pytest.raises(HttpRefusal) as refusal:
        read_body(made, settings)
    return refusal.value.status


def test_a_body_is_read_up_to_its_length() -> None:
    assert read_body(environ(b"12345 and the next request", "5"), SMALL) == b"12345"
    assert read_body(environ(b"", "0"), SMALL) == b""
    made = environ(b"", "5")
    made["wsgi.input"] = Trickle(b"12345678")
    assert read_body(made, SMALL) == b"12345"


def test_the_limit_and_one_past_it() -> None:
    assert len(read_body(environ(b"x" * 10, "10"), SMALL)) == 10
    assert refused(environ(b"x" * 11, "11")) == 413
    chunked = {"wsgi.input_terminated": True}
    assert len(read_body({"wsgi.input": io.BytesIO(b"x" * 10), **chunked}, SMALL)) == 10
    assert refused({"wsgi.input": io.BytesIO(b"x" * 11), **chunked}) == 413
    assert refused({"wsgi.input": Trickle(b"x" * 11), **chunked}) == 413


def test_nothing_is_read_of_a_body_that_is_too_large() -> None:
    made = environ(b"x" * 100, "100")
    assert refused(made) == 413
    assert made["wsgi.input"].tell() == 0
    endless = {"wsgi.input": io.BytesIO(b"x" * 1000), "wsgi.input_terminated": True}
    assert refused(endless) == 413
    stream: io.BytesIO = endless["wsgi.input"]  # type: ignore[assignment]
    assert stream.tell() == 11


@pytest.mark.parametrize("declared", ["-1", "+5", "5.0", "0x5", "five", " ", "5 5", "1_0", "²"])
def test_a_length_that_is_no_number(declared: str) -> None:
    assert refused(environ(b"12345", declared)) == 400


def test_a_body_that_ends_early() -> None:
    assert refused(environ(b"123", "5")) == 400


@pytest.mark.parametrize("terminated", [None, False])
def test_a_request_without_a_length_has_no_body(terminated: bool | None) -> None:
    made = environ(b"ignored", None)
    if terminated is not None:
        made["wsgi.input_terminated"] = terminated
    assert read_body(made, SMALL) == b""


class Failing(io.RawIOBase):
    def read(self, size: int = -1) -> bytes:
        raise OSError("broken chunk")


def test_a_body_that_cannot_be_read() -> None:
    made = environ(b"", "5")
    made["wsgi.input"] = Failing()
    assert refused(made) == 400


# ---- The connection -----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system bounds sending otherwise")
def test_the_next_request_of_a_connection_finds_its_timeout_as_it_was() -> None:
    """Under gevent a timeout left behind ended idle connections with a traceback in the log."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname())
        server, _ = listening.accept()
        with server, client, server.makefile("rb") as stream:
            client.sendall(b"12345")
            made = {"wsgi.input": stream, "CONTENT_LENGTH": "5", "gunicorn.socket": server}
            assert read_body(made, SMALL) == b"12345"
            assert server.gettimeout() is None
            bound = server.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert bound == int(SMALL.send_timeout * 1000)


# ---- Late bodies --------------------------------------------------------------------------------------


def test_silence_ends_at_the_deadline() -> None:
    server, client = socket.socketpair()
    with server, client, server.makefile("rb") as stream:
        client.sendall(b"12")
        made = {"wsgi.input": stream, "CONTENT_LENGTH": "5", "werkzeug.socket": server}
        assert refused(made) == 408
        assert server.gettimeout() == SMALL.send_timeout, "what is sent from now on has a limit too"


def test_a_byte_now_and_then_ends_at_the_deadline_too() -> None:
    server, client = socket.socketpair()
    watch = BodyWatch(SMALL.body_deadline)
    over = threading.Event()

    def dribble() -> None:
        while not over.wait(SMALL.body_deadline / 10):
            client.send(b"x")

    sender = threading.Thread(target=dribble, daemon=True)
    with server, client, server.makefile("rb") as stream:
        sender.start()
        made = {"wsgi.input": stream, "CONTENT_LENGTH": "1000", "werkzeug.socket": server}
        with pytest.raises(HttpRefusal) as refusal:
            read_body(made, Settings(body_deadline=SMALL.body_deadline), watch)
        over.set()
        join(sender)
        assert refusal.value.status == 408
        server.sendall(b"the answer can still be sent")
        assert client.recv(100) == b"the answer can still be sent"
    assert len(watch) == 0


def test_a_body_in_time_is_not_cut_off() -> None:
    server, client = socket.socketpair()
    watch = BodyWatch(PATIENCE)
    with server, client, server.makefile("rb") as stream:
        client.sendall(b"12345")
        made = {"wsgi.input": stream, "CONTENT_LENGTH": "5", "werkzeug.socket": server}
        assert read_body(made, SMALL, watch) == b"12345"
        assert len(watch) == 0
        client.sendall(b"more")
        assert stream.read(4) == b"more"


def test_a_watch_cuts_off_the_late_ones_only() -> None:
    server, client = socket.socketpair()
    with server, client:
        late, early = BodyWatch(0.01), BodyWatch(PATIENCE)
        one, other = late.enter(server), early.enter(client)
        eventually(lambda: one.cut_off)
        assert late.leave(one) is True
        assert early.leave(other) is False
        assert server.recv(1) == b""
        assert (len(late), len(early)) == (0, 0)


def test_a_socket_that_has_gone_is_cut_off_without_harm() -> None:
    server, client = socket.socketpair()
    watch = BodyWatch(0.01)
    read = watch.enter(server)
    server.close()
    client.close()
    eventually(lambda: read.cut_off)
    second, client = socket.socketpair()
    with second, client:
        again = watch.enter(second)
        eventually(lambda: again.cut_off)
