"""Serving an application on werkzeug's own server: for development, and where nothing else is installed.

It answers one request per connection; real hosts are in the README.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any, Final

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

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, type: str, message: str, *args: Any) -> None:
            pass  # what matters is logged by the application

    app.use_threads(THREADS)
    server = make_server(host, port, app, threaded=True, request_handler=Handler)
    server.daemon_threads = True  # type: ignore[attr-defined]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{server.server_port}{app.path}"
    print(f"mcpref: serving {app.server.name!r} at {url} (Ctrl-C ends it); try:", file=sys.stderr)
    print(_CURL.replace("URL", url), file=sys.stderr, flush=True)
    serving = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="mcpref-http", daemon=True
    )
    serving.start()
    try:
        _wait(serving, signals)
        app.close()  # streams first: their closing results still find their connections
    finally:
        server.shutdown()
        serving.join(timeout=5.0)
        server.server_close()


def _wait(serving: threading.Thread, signals: bool) -> None:
    """Until a signal comes; where signals cannot be handled, until the server ends."""
    if not signals:
        serving.join()
        return
    bell = Bell()
    try:
        with bell.rung_by_signals():
            reason = bell.wait()
    finally:
        bell.close()
    print(f"mcpref: {reason}: shutting down", file=sys.stderr, flush=True)
