"""What can be done with the connection itself, on hosts that let an application see it.

WSGI tells only by a failing write that the client has gone. Where the socket is exposed, a look at it tells at once,
and a call that writes nothing can be cancelled too; and a client that does not read can be bounded in time, which
hosts do not do by themselves.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

Probe = Callable[[], bool]

#: Where hosts put the connection's socket: werkzeug's own server, gunicorn (gthread and gevent).
_SOCKETS: Final = ("werkzeug.socket", "gunicorn.socket")
#: The first byte of Linux's ``tcp_info``.
_ESTABLISHED: Final = b"\x01"


def host_socket(environ: Mapping[str, Any]) -> socket.socket | None:
    """The connection's socket, if the host shows it."""
    for key in _SOCKETS:
        sock = environ.get(key)
        if sock is not None:
            return sock  # type: ignore[no-any-return]
    return None


def bound_sending(sock: socket.socket, seconds: float) -> None:
    """Have writes fail when the client takes nothing for so long.

    By the system where it can: a timeout of the socket's own would go on into the next request of the connection,
    where the host waits for it, and is ignored under gevent.
    """
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
    except (AttributeError, OSError):
        sock.settimeout(seconds)


def make_probe(environ: Mapping[str, Any]) -> Probe | None:
    """A function that says whether the client is still there; None if this host cannot tell."""
    disconnected = environ.get("waitress.client_disconnected")
    if disconnected is not None:
        return lambda: not disconnected()
    sock = host_socket(environ)
    if sock is None:
        return None
    if sys.platform == "linux" and sock.family in (socket.AF_INET, socket.AF_INET6):
        return lambda: _is_established(sock)
    # A TLS socket refuses to peek, and what it would show is the cipher's, not the client's.
    if hasattr(sock, "cipher") or not hasattr(select, "poll"):
        return None
    return lambda: _is_open(sock)


def _is_established(sock: socket.socket) -> bool:
    """Whether neither end has closed, as the system sees the connection. Never blocks, and costs under 1 us.

    It sees a close behind data that nobody has read, and through TLS. Under gevent a poll goes through its loop, and
    costs ten times as much.
    """
    try:
        return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == _ESTABLISHED
    except (OSError, ValueError):
        return False


def _is_open(sock: socket.socket) -> bool:
    """The same for other sockets and systems. Never blocks either.

    Peeks only after poll() says readable: a peek without it blocks on gevent and on a socket with a timeout, and
    select() fails above descriptor 1023.
    """
    try:
        poller = select.poll()
        poller.register(sock, select.POLLIN | select.POLLHUP | select.POLLERR)
        ready = poller.poll(0)
        if not ready:
            return True
        if ready[0][1] & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
            return False
        return bool(sock.recv(1, socket.MSG_PEEK))
    except (OSError, ValueError):
        return False
