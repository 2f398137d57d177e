"""Many idle streams on one gevent worker: what they cost, and what they leave for calls.

``python -m tests.hosts.streams --count 2000`` opens so many listen streams, calls a tool meanwhile, announces a
change to all of them, and ends the server. Every step has a time limit.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import signal
import socket
from dataclasses import dataclass, fields
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

from mcpref.cancellation import Deadline
from tests.http_robust.clients import MODERN, Connection, modern_message
from tests.threads import PATIENCE, together

from .calling import HEADERS, echo
from .processes import HOSTS, HostProcess, running
from .streaming import announce

ACKNOWLEDGED = b"notifications/subscriptions/acknowledged"
CHANGED = b"notifications/tools/list_changed"
RESULT = b'"result"'


class Crowd:
    """Streams that one thread reads, as they become readable."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()
        self._received: dict[socket.socket, bytearray] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for sock in self._received:
            sock.close()
        self._selector.close()

    def open(self, count: int) -> None:
        """Ask for so many listen streams; what is answered is read later."""
        message = modern_message("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        body = json.dumps(message).encode()
        lines = [
            "POST /mcp HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"MCP-Protocol-Version: {MODERN}",
            "Mcp-Method: subscriptions/listen",
            f"Content-Length: {len(body)}",
        ]
        request = "\r\n".join([*lines, "", ""]).encode() + body
        for _ in range(count):
            sock = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
            sock.sendall(request)
            sock.setblocking(False)
            self._received[sock] = bytearray()
            self._selector.register(sock, selectors.EVENT_READ)

    def wait_for(self, marker: bytes, within: float) -> float:
        """Until every stream has received this; the seconds since it was called."""
        started = monotonic()
        deadline = Deadline(within)
        missing = {sock for sock, data in self._received.items() if marker not in data}
        while missing:
            assert not deadline.expired, f"{len(missing)} streams did not receive {marker.decode()}"
            for key, _ in self._selector.select(deadline.remaining()):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                data = sock.recv(65536)
                if not data:
                    self._selector.unregister(sock)
                    assert sock not in missing, f"a stream ended without {marker.decode()}"
                self._received[sock] += data
                if marker in self._received[sock]:
                    missing.discard(sock)
        return monotonic() - started


@dataclass
class Figures:
    """What was measured."""

    streams: int = 0
    open_seconds: float = 0.0
    rss_before_mb: float = 0.0
    rss_after_mb: float = 0.0
    kb_per_stream: float = 0.0
    calls_per_second_alone: float = 0.0
    calls_per_second_beside: float = 0.0
    calls_per_second_on_8_alone: float = 0.0
    calls_per_second_on_8_beside: float = 0.0
    cpu_percent_idle: float = 0.0
    cpu_us_per_stream_second: float = 0.0
    change_reached_all_seconds: float = 0.0
    end_seconds: float = 0.0

    def __str__(self) -> str:
        lines = [(field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self)]
        return "\n".join(f"{name:30} {value:10.3f}" for name, value in lines)


class Worker:
    """The process that serves, as the system sees it."""

    def __init__(self, process: HostProcess) -> None:
        with process.client.call("process") as connection:
            self._pid = int(connection.text())

    def rss_mb(self) -> float:
        status = Path(f"/proc/{self._pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def cpu_seconds(self) -> float:
        times = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def call_rate(port: int, connections: int, seconds: float) -> float:
    """Calls in a second, one after the other on each connection."""
    body = echo("x")

    def call() -> int:
        calls = 0
        deadline = Deadline(seconds)
        with Connection(port).request("POST", HEADERS, body) as connection:
            while True:
                assert connection.text() == "x"
                calls += 1
                if deadline.expired:
                    return calls
                connection.again("POST", HEADERS, body)

    counts: list[int] = together(*[call] * connections)
    return sum(counts) / seconds


def measure(count: int, *, seconds: float, idle: float) -> Figures:
    """Run it all. ``seconds`` is how long each rate is measured, ``idle`` how long the streams are left alone."""
    allow_descriptors(2 * count + 500)
    figures = Figures(streams=count)
    limits = {"keep_alive": 15.0, "send_timeout": 20.0, "body_deadline": 10.0, "shutdown_grace": 10.0}
    patience = PATIENCE + count / 50
    with running(HOSTS["gunicorn gevent"], "--worker-connections", str(2 * count + 100), **limits) as process:
        worker = Worker(process)
        call_rate(process.port, 1, min(seconds, 0.5))  # so that what is made on first use is made
        figures.rss_before_mb = worker.rss_mb()
        figures.calls_per_second_alone = call_rate(process.port, 1, seconds)
        figures.calls_per_second_on_8_alone = call_rate(process.port, 8, seconds)
        with Crowd(process.port) as crowd:
            started = monotonic()
            crowd.open(count)
            crowd.wait_for(ACKNOWLEDGED, patience)
            figures.open_seconds = monotonic() - started
            assert process.client.figures()["parked"] == count
            figures.rss_after_mb = worker.rss_mb()
            figures.kb_per_stream = (figures.rss_after_mb - figures.rss_before_mb) * 1024 / count
            before = worker.cpu_seconds()
            sleep(idle)
            used = worker.cpu_seconds() - before
            figures.cpu_percent_idle = 100 * used / idle
            figures.cpu_us_per_stream_second = 1e6 * used / idle / count
            figures.calls_per_second_beside = call_rate(process.port, 1, seconds)
            figures.calls_per_second_on_8_beside = call_rate(process.port, 8, seconds)
            started = monotonic()
            announce(process.client, "tools")
            crowd.wait_for(CHANGED, patience)
            figures.change_reached_all_seconds = monotonic() - started
            started = monotonic()
            process.send(signal.SIGTERM)
            crowd.wait_for(RESULT, patience)
            assert process.ended(patience) == 0
            figures.end_seconds = monotonic() - started
    return figures


def allow_descriptors(count: int) -> None:
    """For this process, and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        assert hard == resource.RLIM_INFINITY or hard >= count, f"the system allows {hard} descriptors only"
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.hosts.streams", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="streams (default: 2000)")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each rate is measured")
    parser.add_argument("--idle", type=float, default=10.0, help="how long the streams are left alone")
    options = parser.parse_args()
    print(measure(options.count, seconds=options.seconds, idle=options.idle))


if __name__ == "__main__":
    main()
