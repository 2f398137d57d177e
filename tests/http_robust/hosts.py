"""WSGI hosts to attack: werkzeug's server, the same with a fixed number of threads, waitress, gunicorn.

The last two are no dependencies: where they are not installed, their tests are skipped.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Any

import pytest
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler, make_server

from mcpref.cancellation import Deadline
from mcpref.transport.host_servers import Waitress
from mcpref.transport.http_server import listen
from mcpref.transport.wsgi import McpApp
from tests.hosts import processes
from tests.hosts.processes import ROOT, running
from tests.threads import PATIENCE, join

from .clients import Client
from .served import LIMITS, build

__all__ = [
    "HOSTS",
    "ROOT",
    "Host",
    "comes_to_rest",
    "every_host",
    "fixed",
    "gunicorn",
    "waitress",
    "werkzeug",
]

#: A host that serves the application, given as the keywords of `build`.
Host = Callable[..., AbstractContextManager[Client]]


class QuietHandler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


class FixedThreads(ThreadedWSGIServer):
    """Serves every connection on one of so many threads, as hosts in production do. A later one waits its turn."""

    request_queue_size = 512

    def start(self, threads: int) -> None:
        self.waiting: queue.Queue[tuple[Any, Any] | None] = queue.Queue()
        self.workers = [
            threading.Thread(target=self._work, name=f"host-{n}", daemon=True) for n in range(threads)
        ]
        for worker in self.workers:
            worker.start()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.waiting.put((request, client_address))

    def _work(self) -> None:
        while (item := self.waiting.get()) is not None:
            self.process_request_thread(*item)

    def stop(self) -> None:
        for _ in self.workers:
            self.waiting.put(None)
        for worker in self.workers:
            join(worker)


@contextmanager
def _served(server: Any, app: McpApp) -> Iterator[Client]:
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    serving.start()
    try:
        yield Client(server.server_port)
        assert app.close(PATIENCE), "something was stuck"
    finally:
        app.close(0)
        server.shutdown()
        join(serving)


@contextmanager
def werkzeug(**options: Any) -> Iterator[Client]:
    """A thread for every connection; ``threads`` is what the budget is told."""
    app = build(**options)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    server.socket.listen(512)
    with _served(server, app) as client:
        yield client


@contextmanager
def fixed(**options: Any) -> Iterator[Client]:
    """As many threads as the budget is told, and not one more."""
    app = build(**options)
    server = FixedThreads("127.0.0.1", 0, app, QuietHandler)
    server.start(options.get("threads", 8))
    try:
        with _served(server, app) as client:
            yield client
    finally:
        server.stop()


def needs(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@contextmanager
def waitress(**options: Any) -> Iterator[Client]:
    """As `mcpref serve` runs it."""
    needs("waitress")
    app = build(**options)
    sock = listen("127.0.0.1", 0)
    port: int = sock.getsockname()[1]
    server = Waitress(app, sock, options.get("threads", 8), app.settings)
    serving = threading.Thread(target=server.serve, name="waitress", daemon=True)
    serving.start()
    try:
        yield Client(port)
        assert app.close(PATIENCE), "something was stuck"
        server.drain(Deadline(PATIENCE))
    finally:
        app.close(0)
        server.stop()
        join(serving)


@contextmanager
def gunicorn(**options: Any) -> Iterator[Client]:
    """In a process of its own, with 8 threads and the limits of served.py."""
    needs("gunicorn")
    assert options.pop("threads", 8) == 8, "it serves the application as served.py has it"
    assert not options
    with running(processes.HOSTS["gunicorn gthread"], **LIMITS, upgrade_after=10.0) as process:
        yield process.client
        process.is_well()


HOSTS = [werkzeug, fixed, waitress, gunicorn]
every_host = pytest.mark.parametrize("host", HOSTS, ids=[host.__name__ for host in HOSTS])


def comes_to_rest(client: Client, within: float = PATIENCE) -> None:
    """Wait until nothing is under way any more; say what is left if that does not happen."""
    deadline = Deadline(within)
    while True:
        left = {name: value for name, value in client.figures().items() if value > (name == "host threads")}
        if not left:
            return
        assert not deadline.expired, f"left over: {left}"
        threading.Event().wait(0.02)
