"""Serving a WSGI application from this process until it is told to end: `mcpref serve --http`, `server.run("http")`.

The main thread waits for a signal; the server works on threads of its own. At the end streams get their closing
result and running calls are asked to stop, while the server goes on; when all answers are out it is stopped.
"""

from __future__ import annotations

import atexit
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..cancellation import Deadline
from ..settings import Settings
from . import hosting
from .host_servers import HOST_SERVERS, HostServer, default_host_server
from .process import Bell
from .wsgi import McpApp, WsgiApp

#: Threads of a server that is started here, unless the settings say otherwise.
THREADS: Final = 64

#: What to try first: a modern request needs no session.
_CURL: Final = """  curl URL -H 'Content-Type: application/json' \\
    -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
         "io.modelcontextprotocol/protocolVersion":"2026-07-28",
         "io.modelcontextprotocol/clientCapabilities":{}}}}'"""


def run_http(
    app: WsgiApp,
    host: str,
    port: int,
    *,
    signals: bool,
    host_server: str | None = None,
    threads: int | None = None,
) -> None:
    """Serve until a signal comes, then end streams and let answers go out. Port 0 picks a free one.

    Raises `OSError` where the address cannot be had.
    """
    settings = app.settings if isinstance(app, McpApp) else Settings()
    threads = threads or settings.threads or THREADS
    hosting.declare_threads(threads)
    if isinstance(app, McpApp):
        _ = app.runtime  # opens the lifespans: one that fails must stop us before we listen
    chosen = host_server or default_host_server()
    with _quiet_queue():
        sock = listen(host, port)
        bound = sock.getsockname()[1]
        server = HOST_SERVERS[chosen](app, sock, threads, settings)
        serving = threading.Thread(target=server.serve, name="mcpref-http", daemon=True)
        serving.start()
        ending = _Ending(server, serving, settings.shutdown_grace)
        try:
            with _until_told(serving, ending, signals, lambda: announce(app, host, bound, server, threads)):
                ending.end()
        finally:
            ending.stop()


class _Ending:
    """The end of a server, once: by a signal, or by the interpreter's own."""

    def __init__(self, server: HostServer, serving: threading.Thread, grace: float) -> None:
        self._server = server
        self._serving = serving
        self._grace = grace
        self._stopped = False

    def end(self) -> None:
        """Streams first: their closing results still find their connections."""
        deadline = Deadline(self._grace)
        hosting.close_all(self._grace)
        self._server.drain(deadline)

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._server.stop()
            self._serving.join(timeout=5.0)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. A name with several addresses, as localhost has, is served on its IPv4 one."""
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    return socket.create_server(address[:2], family=family, backlog=1024)


def root_url(host: str, port: int) -> str:
    """Where a client finds what listens here, without the path."""
    # An address that means "all of them" is none that a client could call.
    shown = "localhost" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def announce(app: WsgiApp, host: str, port: int, server: HostServer | None, threads: int) -> None:
    """Tell a person where it is, and what to try."""
    root = root_url(host, port)
    by = "" if server is None else f" by {server.name} with {threads} threads"
    if not isinstance(app, McpApp):
        print(f"mcpref: serving {root}/{by} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        return
    url = f"{root}{app.path}"
    print(f"mcpref: serving {app.server.name!r} at {url}{by} (Ctrl-C ends it)", file=sys.stderr)
    if server is not None and server.name == "werkzeug":
        print(
            "mcpref: this is werkzeug's server for development, which opens a connection for every request; "
            "pip install 'mcpref[serve]' brings one that is faster",
            file=sys.stderr,
        )
    if app.has_page:
        print(f"mcpref: open {root}/ in a browser to look around, or try:", file=sys.stderr)
    else:
        print("mcpref: try:", file=sys.stderr)
    print(_CURL.replace("URL", url), file=sys.stderr, flush=True)


@contextmanager
def _quiet_queue() -> Iterator[None]:
    """waitress warns of every request that waits for a thread, which is what its queue is for."""
    log = logging.getLogger("waitress.queue")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


@contextmanager
def _until_told(
    serving: threading.Thread, ending: _Ending, signals: bool, tell: Callable[[], None]
) -> Iterator[None]:
    """Enter when a signal comes; where signals cannot be handled, when the server or the process ends.

    Inside, a second signal changes nothing: somebody impatient has to wait for the grace, or kill.
    """
    if not signals:
        atexit.register(ending.end)  # the reloader's thread of a process that is about to be replaced
        tell()
        serving.join()
        atexit.unregister(ending.end)
        yield
        return
    bell = Bell()
    try:
        with bell.rung_by_signals():
            tell()  # not before: whoever waits for it may send a signal at once
            reason = bell.wait()
            print(f"mcpref: {reason}: shutting down", file=sys.stderr, flush=True)
            yield
    finally:
        bell.close()
