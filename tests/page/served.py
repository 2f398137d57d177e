"""A server on a real port with its page at ``/``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from werkzeug.exceptions import NotFound
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import WSGIRequestHandler, make_server

from mcpref import McpServer
from tests.threads import join


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


@contextmanager
def served(server: McpServer, *, port: int = 0, prefix: str = "", **options: Any) -> Iterator[str]:
    """Serve until the end of the block; gives the URL of the page. ``prefix`` is where it is mounted."""
    app = server.wsgi_app(page=True, threads=32, **options)
    mounted = DispatcherMiddleware(NotFound(), {prefix: app}) if prefix else app
    host = make_server("127.0.0.1", port, mounted, threaded=True, request_handler=_Quiet)
    host.daemon_threads = True  # type: ignore[attr-defined]
    thread = threading.Thread(
        target=host.serve_forever, kwargs={"poll_interval": 0.05}, name="page-host", daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{host.server_port}{prefix}/"
    finally:
        app.close(5.0)
        host.shutdown()
        join(thread)
        host.server_close()
