"""A real server process at its end: streams get their closing result, answers are sent, and it leaves with 0."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.threads import PATIENCE, until

from .clients import Client
from .hosts import ROOT
from .test_crowds import begin

PROGRAM = [sys.executable, "conformance/server.py", "--port", "0"]

#: One whose calls take their time; what it does when asked to stop is up to the call.
HOLDING = [
    sys.executable,
    "-c",
    "from tests.http_robust.served import app; app.server.run('http', port=0)",
]


class Process:
    """A server, what it prints, and a client for it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.printed: list[str] = []
        self._ready = threading.Event()
        self._port = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.printed.append(line)
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", line)
            if found and not self._port:
                self._port = int(found[1])
                self._ready.set()
        self._ready.set()

    def client(self) -> Client:
        until(self._ready)
        assert self._port, "".join(self.printed)
        return Client(self._port)

    def end(self, number: signal.Signals, within: float = PATIENCE) -> int:
        """Send a signal; the exit status."""
        self.process.send_signal(number)
        status = self.process.wait(within)
        self._reader.join(PATIENCE)
        return status

    @property
    def stderr(self) -> str:
        return "".join(self.printed)


@contextmanager
def running(command: list[str]) -> Iterator[Process]:
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Process(process)
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.req("subs.server-graceful-response")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_open_listen_stream_gets_its_closing_result(number: signal.Signals) -> None:
    with running(PROGRAM) as server:
        client = server.client()
        with begin(client.listen(id="mine")) as listen:
            acknowledged = listen.message()
            assert acknowledged is not None
            assert server.end(number) == 0
            answer = listen.answer()
            assert answer["id"] == "mine"
            assert answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "mine"
            assert listen.message() is None
        assert "Traceback" not in server.stderr
        assert f"{number.name}: shutting down" in server.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_running_call_is_asked_to_stop_and_its_answer_is_sent(number: signal.Signals, era: str) -> None:
    with running(HOLDING) as server:
        client = server.client()
        with begin((client if era == "modern" else client.session()).call("hold")) as call:
            assert call.message() is not None, "it runs"
            assert server.end(number, within=4.0) == 0, "before the grace is over"
            assert call.text() == "was cancelled"
        assert "Traceback" not in server.stderr


def test_everything_at_once() -> None:
    with running(HOLDING) as server:
        client = server.client()
        session = client.session()
        call, legacy, question = (
            begin(client.call("hold")),
            begin(session.call("hold")),
            begin(session.call("ask", id=2)),
        )
        listen, stream = begin(client.listen()), begin(session.get())
        assert all(one.message() is not None for one in (call, legacy, question, listen))
        assert server.end(signal.SIGTERM, within=4.0) == 0
        assert call.text() == legacy.text() == "was cancelled"
        assert "cancelled" in str(question.answer())
        assert "result" in listen.answer()
        assert stream.message() is None
        for one in (call, legacy, question, listen, stream):
            one.close()
        assert "Traceback" not in server.stderr


def test_an_idle_server_leaves_at_once_without_a_trace() -> None:
    with running(PROGRAM) as server:
        server.client()
        assert server.end(signal.SIGINT, within=3.0) == 0
        assert "Traceback" not in server.stderr


def test_a_client_that_does_not_read_cannot_hold_up_the_end() -> None:
    with running(HOLDING) as server:
        client = server.client()
        with client.call("flood", {"count": 3000, "size": 10_000}, receive_buffer=4096):
            client.canary()
            assert server.end(signal.SIGTERM, within=8.0) == 0
