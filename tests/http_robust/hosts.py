"""WSGI hosts to attack: werkzeug's server, the same with a fixed number of threads, waitress, gunicorn.

The last two are no dependencies: where they are not installed, their tests are skipped.
"""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler, make_server

from mcpref.cancellation import Deadline
from mcpref.transport.wsgi import McpApp
from tests.threads import PATIENCE, eventually, join

from .clients import Client
from .served import build

ROOT = Path(__file__).parents[2]

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
    needs("waitress")
    from waitress.server import create_server  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from waitress.wasyncore import close_all  # type: ignore[import-not-found,import-untyped,unused-ignore]

    app = build(**options)
    server = create_server(
        app,
        host="127.0.0.1",
        port=0,
        threads=options.get("threads", 8),
        connection_limit=500,
        channel_request_lookahead=1,
    )
    serving = threading.Thread(target=server.run, name="waitress", daemon=True)
    serving.start()
    try:
        yield Client(int(server.effective_port))
        assert app.close(PATIENCE), "something was stuck"
    finally:
        app.close(0)
        # On its own thread, which is selecting on what is to be closed.
        server.trigger.pull_trigger(lambda: close_all(server._map))
        join(serving)
        server.task_dispatcher.shutdown(timeout=1)


@contextmanager
def gunicorn(**options: Any) -> Iterator[Client]:
    """In a process of its own, with the application of served.py and 8 threads."""
    needs("gunicorn")
    assert options.pop("threads", 8) == 8, "it serves the application as served.py has it"
    assert not options
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "tests.http_robust.served:app", "-k", "gthread", "-w", "1"]
    process = subprocess.Popen(
        [
            *command,
            "--threads",
            "8",
            "-b",
            f"127.0.0.1:{port}",
            "--log-level",
            "critical",
            "--graceful-timeout",
            "5",
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )
    try:
        eventually(lambda: process.poll() is not None or _accepts(port))
        yield Client(port)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.wait(PATIENCE)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


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
