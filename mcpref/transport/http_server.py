"""Serving an application on werkzeug's own server: for development, and where nothing else is installed.

It answers one request per connection; real hosts are in the README.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..cancellation import Deadline
from .process import Bell

if TYPE_CHECKING:
    from .wsgi import McpApp

#: What to try first: a modern request needs no session.
_CURL: Final = """  curl URL -H 'Content-Type: application/json' \\
    -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
         "io.modelcontextprotocol/protocolVersion":"2026-07-28",
         "io.modelcontextprotocol/clientCapabilities":{}}}}'"""

#: Threads that may be parked, counted by us: this server starts one for each connection.
THREADS: Final = 64


def run_http(app: McpApp, host: str, port: int, *, signals: bool) -> None:
    """Serve until a signal comes, then end streams and let answers go out. Port 0 picks a free one."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    responses = _Responses()

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def run_wsgi(self) -> None:
            with responses:
                super().run_wsgi()

        def log(self, type: str, message: str, *args: Any) -> None:
            pass  # what matters is logged by the application

    app.use_threads(THREADS)
    _ = app.runtime  # opens the lifespans: one that fails must stop us before we listen
    server = make_server(host, port, app, threaded=True, request_handler=Handler)
    server.daemon_threads = True  # type: ignore[attr-defined]
    # An address that means "all of them" is none that a client could call.
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{server.server_port}{app.path}"

    def announce() -> None:
        print(f"mcpref: serving {app.server.name!r} at {url} (Ctrl-C ends it); try:", file=sys.stderr)
        print(_CURL.replace("URL", url), file=sys.stderr, flush=True)

    serving = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="mcpref-http", daemon=True
    )
    serving.start()
    try:
        with _until_told(serving, signals, announce):
            deadline = Deadline(app.settings.shutdown_grace)
            app.close()  # streams first: their closing results still find their connections
            responses.wait(deadline)
    finally:
        server.shutdown()
        serving.join(timeout=5.0)
        server.server_close()


class _Responses:
    """Counts the responses under way: the threads that send them are daemons, and nobody else waits for those."""

    def __init__(self) -> None:
        self._none = threading.Condition()
        self._count = 0

    def __enter__(self) -> None:
        with self._none:
            self._count += 1

    def __exit__(self, *exc: object) -> None:
        with self._none:
            self._count -= 1
            self._none.notify_all()

    def wait(self, deadline: Deadline) -> None:
        """Until all are sent, or the time is up."""
        with self._none:
            self._none.wait_for(lambda: not self._count, deadline.remaining())


@contextmanager
def _until_told(serving: threading.Thread, signals: bool, announce: Callable[[], None]) -> Iterator[None]:
    """Enter when a signal comes; where signals cannot be handled, when the server ends.

    Inside, a second signal changes nothing: somebody impatient has to wait for the grace, or kill.
    """
    if not signals:
        announce()
        serving.join()
        yield
        return
    bell = Bell()
    try:
        with bell.rung_by_signals():
            announce()  # not before: whoever waits for it may send a signal at once
            reason = bell.wait()
            print(f"mcpref: {reason}: shutting down", file=sys.stderr, flush=True)
            yield
    finally:
        bell.close()
