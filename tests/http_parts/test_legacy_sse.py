"""The stream of the transport of 2024-11-05: how it ends, from either side."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

from mcpref import McpServer, Settings
from mcpref.transport.event_stream import EventIterator
from mcpref.transport.wsgi import McpApp
from tests.threads import PATIENCE, eventually, join


def application() -> McpApp:
    return McpServer("test", settings=Settings(shutdown_grace=PATIENCE)).wsgi_app(threads=8, legacy_sse=True)


def opened(app: McpApp) -> EventIterator:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/mcp/sse",
        "HTTP_HOST": "localhost",
        "HTTP_ACCEPT": "text/event-stream",
        "wsgi.input": io.BytesIO(),
    }
    statuses: list[str] = []
    body = app(environ, lambda status, headers: statuses.append(status))
    assert statuses == ["200 OK"]
    assert isinstance(body, EventIterator)
    assert next(body).startswith(b"event: endpoint\ndata: /mcp/messages?session=")
    return body


def readers() -> int:
    """Threads that read what a client of this transport sends."""
    return sum(thread.name == "mcpref-stdio-reader" for thread in threading.enumerate())


def test_the_end_of_the_server_ends_its_streams() -> None:
    app = application()
    body = opened(app)
    assert app.runtime.budget.parked == 1
    rest: list[bytes] = []
    reading = threading.Thread(target=lambda: rest.extend(body), daemon=True)
    reading.start()
    assert app.close() is True
    join(reading)
    assert rest == []
    assert app.runtime.budget.parked == 0
    eventually(lambda: readers() == 0)


@pytest.mark.parametrize("clients", [1, 4])
def test_a_client_that_goes_leaves_no_thread_and_no_place(clients: int) -> None:
    app = application()
    for _ in range(3):
        bodies = [opened(app) for _ in range(clients)]
        assert app.runtime.budget.parked == clients
        for body in bodies:
            body.close()
            body.close()
        assert app.runtime.budget.parked == 0
    eventually(lambda: readers() == 0)
    assert app.close() is True
