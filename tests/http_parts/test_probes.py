"""Probes on real sockets: what they say of a client that is there, half gone, and gone."""

from __future__ import annotations

import os
import resource
import socket
import ssl
import struct
import sys
from collections.abc import Callable, Iterator

import pytest

from mcpref.transport.probes import host_socket, make_probe
from tests.threads import eventually


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    return server, client


def unix_pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair()


@pytest.fixture(params=[tcp_pair, unix_pair], ids=["tcp", "unix"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    make: Callable[[], tuple[socket.socket, socket.socket]] = request.param
    server, client = make()
    with server, client:
        yield server, client


def probe_of(server: socket.socket, key: str = "werkzeug.socket") -> Callable[[], bool]:
    probe = make_probe({key: server})
    assert probe is not None
    return probe


@pytest.mark.parametrize("key", ["werkzeug.socket", "gunicorn.socket"])
def test_a_client_that_is_there(pair: tuple[socket.socket, socket.socket], key: str) -> None:
    probe = probe_of(pair[0], key)
    assert probe()
    assert probe()


def test_a_client_that_has_sent_more_is_there(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    client.sendall(b"more")
    probe = probe_of(server)
    assert all(probe() for _ in range(3))
    assert server.recv(10) == b"more", "nothing was taken"
    assert probe()


def test_a_client_that_has_closed(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    probe = probe_of(server)
    client.close()
    eventually(lambda: not probe())
    assert not probe()


def test_a_client_that_has_shut_its_sending_side(pair: tuple[socket.socket, socket.socket]) -> None:
    server, client = pair
    probe = probe_of(server)
    client.shutdown(socket.SHUT_WR)
    eventually(lambda: not probe())


def test_a_client_that_has_reset_the_connection() -> None:
    server, client = tcp_pair()
    with server:
        probe = probe_of(server)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        eventually(lambda: not probe())


def test_a_socket_that_was_closed_on_our_side(pair: tuple[socket.socket, socket.socket]) -> None:
    server, _ = pair
    probe = probe_of(server)
    server.close()
    assert not probe()


@pytest.mark.parametrize("timeout", [None, 0.0, 30.0])
def test_it_never_waits_whatever_the_sockets_timeout(
    pair: tuple[socket.socket, socket.socket], timeout: float | None
) -> None:
    server, client = pair
    server.settimeout(timeout)
    probe = probe_of(server)
    assert probe()
    client.sendall(b"x")
    eventually(probe)
    assert server.gettimeout() == timeout


def test_descriptors_above_1023() -> None:
    """Where `select.select` fails."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 1200:
        if hard != resource.RLIM_INFINITY and hard < 1200:
            pytest.skip(f"this machine allows {hard} descriptors only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (1200, hard))
    server, client = tcp_pair()
    try:
        number = os.dup(server.fileno())
        high = 1100
        os.dup2(number, high)
        os.close(number)
        with server, client, socket.socket(fileno=high) as moved:
            probe = probe_of(moved)
            assert probe()
            client.close()
            eventually(lambda: not probe())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("alive", [True, False])
def test_a_host_that_tells_by_itself_is_asked(alive: bool) -> None:
    probe = make_probe({"waitress.client_disconnected": lambda: not alive})
    assert probe is not None
    assert probe() is alive


def test_a_host_that_shows_nothing_has_no_probe() -> None:
    assert make_probe({}) is None
    assert host_socket({}) is None


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot be asked for the state")


@LINUX
def test_a_close_behind_what_nobody_has_read() -> None:
    server, client = tcp_pair()
    with server:
        probe = probe_of(server)
        client.sendall(b"the next request")
        client.close()
        eventually(lambda: not probe())
        assert server.recv(100) == b"the next request", "nothing was taken"


@LINUX
def test_an_encrypted_connection() -> None:
    server, client = tcp_pair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with client, context.wrap_socket(server, server_side=True, do_handshake_on_connect=False) as encrypted:
        probe = probe_of(encrypted)
        assert host_socket({"werkzeug.socket": encrypted}) is encrypted
        assert probe()
        client.close()
        eventually(lambda: not probe())


def test_where_only_a_peek_could_tell_an_encrypted_connection_has_no_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "another")
    server, client = tcp_pair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with client, context.wrap_socket(server, server_side=True, do_handshake_on_connect=False) as encrypted:
        assert make_probe({"werkzeug.socket": encrypted}) is None
        assert make_probe({"werkzeug.socket": client}) is not None
