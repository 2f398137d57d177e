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
from .host_servers import HOST_SERVERS, AddressUnavailable, HostServer, default_host_server
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

    Raises `AddressUnavailable`. Without ``signals`` it serves until the process ends.
    """
    settings = app.settings if isinstance(app, McpApp) else Settings()
    threads = threads or settings.threads or THREADS
    hosting.declare_threads(threads)
    try:
        if isinstance(app, McpApp):
            _ = app.runtime  # opens the lifespans: one that fails must stop us before we listen
        sock = listen(host, port)
        bound = sock.getsockname()[1]
        with _quiet_queue():
            server = HOST_SERVERS[host_server or default_host_server()](app, sock, threads, settings)
            _serve(server, settings, signals, lambda: announce(app, host, bound, server, threads))
    finally:
        if isinstance(app, McpApp):
            app.close(0)  # the lifespans, where it did not come to its end in good order


def _serve(server: HostServer, settings: Settings, signals: bool, tell: Callable[[], None]) -> None:
    bell = Bell()
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            server.serve()
        except BaseException as error:
            failures.append(error)
        finally:
            bell.ring()

    def end() -> None:
        # Streams first: their closing results still find their connections.
        deadline = Deadline(settings.shutdown_grace)
        hosting.close_all(settings.shutdown_grace)
        server.drain(deadline)

    def stop() -> None:
        if serving.is_alive():
            server.stop()
            serving.join(timeout=5.0)

    serving = threading.Thread(target=serve, name="mcpref-http", daemon=True)
    serving.start()
    try:
        if signals:
            # Inside, a second signal changes nothing: somebody impatient has to wait for the grace, or kill.
            with bell.rung_by_signals():
                tell()  # not before: whoever waits for it may send a signal at once
                if (reason := bell.wait()) is not None:
                    patience = f"shutting down; what runs has {settings.shutdown_grace:g} seconds"
                    print(f"mcpref: {reason}: {patience}", file=sys.stderr, flush=True)
                    end()
                    stop()  # here, because some servers drain while they stop
        else:
            atexit.register(end)  # the reloader's process is about to be replaced
            tell()
            bell.wait()
            atexit.unregister(end)
    finally:
        stop()
        bell.close()
    if failures:
        raise RuntimeError(f"{server.name} has failed") from failures[0]


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. A name with several addresses, as localhost has, is served on its IPv4 one."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        raise AddressUnavailable(error.errno, error.strerror or str(error)) from error


def root_url(host: str, port: int) -> str:
    """Where a client finds what listens here, without the path."""
    # An address that means "all of them" is none that a client could call.
    shown = "localhost" if host in ("0.0.0.0", "::", "") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def announce(app: WsgiApp, host: str, port: int, server: HostServer, threads: int) -> None:
    """Tell a person where it is, and what to try."""
    root = root_url(host, port)
    by = f" by {server.name} with {threads} threads"
    if not isinstance(app, McpApp):
        print(f"mcpref: serving {root}/{by} (Ctrl-C ends it)", file=sys.stderr, flush=True)
        return
    url = f"{root}{app.path}"
    print(f"mcpref: serving {app.server.name!r} at {url}{by} (Ctrl-C ends it)", file=sys.stderr)
    if server.name == "werkzeug":
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
