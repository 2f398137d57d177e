"""Probes: the end of a host, with everything under way."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from time import monotonic

from mcpref.cancellation import Deadline
from tests.http_robust.clients import Connection
from tests.threads import PATIENCE, eventually

from .calling import HEADERS, echo
from .capabilities import capability
from .processes import HostProcess
from .streaming import listening

#: What the end may take, with nobody who holds it up.
END = 6.0


class Everything:
    """One of each under way: a listen stream, streaming calls of both eras, a question, an idle connection."""

    def __init__(self, running: HostProcess, stack: ExitStack) -> None:
        client = running.client
        session = client.session()
        self.listen = stack.enter_context(listening(client))
        self.call = stack.enter_context(client.call("hold"))
        self.legacy = stack.enter_context(session.call("hold"))
        self.question = stack.enter_context(session.call("greet", id=2))
        for connection in (self.call, self.legacy, self.question):
            assert connection.begin() == 200
            assert connection.message() is not None, "it runs"
        idle = Connection(running.port).request("POST", HEADERS, echo("kept"))
        self.idle = stack.enter_context(idle)
        assert self.idle.text() == "kept"

    def was_ended_well(self) -> None:
        """Each got what it was owed."""
        answer = self.listen.answer()
        assert answer["id"] == "mine"
        assert answer["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "mine"
        assert self.listen.message() is None
        assert self.call.text() == self.legacy.text() == "was cancelled"
        assert "cancelled" in str(self.question.answer())


@capability("SIGTERM: all answered, ends", ends=True)
def everything_is_ended_by_sigterm(running: HostProcess) -> float:
    with ExitStack() as stack:
        everything = Everything(running, stack)
        status, seconds = running.end(signal.SIGTERM)
        assert status == 0
        everything.was_ended_well()
    return seconds


@capability("SIGINT: all answered, ends", ends=True)
def everything_is_ended_by_sigint(running: HostProcess) -> float | None:
    """For gunicorn this is a quick end, which answers nobody."""
    if running.host.is_gunicorn:
        running.client.canary()
        assert running.end(signal.SIGINT)[0] == 0
        return None
    with ExitStack() as stack:
        everything = Everything(running, stack)
        status, seconds = running.end(signal.SIGINT)
        assert status == 0
        everything.was_ended_well()
    return seconds


@capability("SIGTERM twice, a client deaf", ends=True)
def neither_impatience_nor_a_deaf_client_does_harm(running: HostProcess) -> float:
    """The second signal goes to all of its processes, as a supervisor sends it."""
    client = running.client
    with (
        listening(client) as listen,
        client.call("flood", {"count": 3000, "size": 10_000}, receive_buffer=4096),
        client.call("large", {"size": 6_000_000}, receive_buffer=4096),
    ):
        client.canary()
        started = monotonic()
        running.send(signal.SIGTERM)
        assert "result" in listen.answer()
        running.send(signal.SIGTERM, everybody=True)
        assert running.ended(PATIENCE) == 0
        return monotonic() - started


@capability("SIGHUP: serves on", ends=True)
def gunicorn_reloads(running: HostProcess) -> str:
    """Another worker takes over; streams of the former one get their closing result. Others end, unasked."""
    client = running.client
    if not running.host.is_gunicorn:
        client.canary()
        running.send(signal.SIGHUP)
        assert running.process.wait(PATIENCE) == -signal.SIGHUP
        return "no"
    before = process_of(running)
    with listening(client) as listen:
        running.send(signal.SIGHUP)
        assert "result" in listen.answer()
    eventually(lambda: process_of(running) not in (before, ""))
    deadline = Deadline(END)
    while not deadline.expired and _is_alive(int(before)):
        threading.Event().wait(0.02)
    assert not _is_alive(int(before)), "the former worker has gone"
    running.is_well()
    assert running.end()[0] == 0
    return "yes"


def process_of(running: HostProcess) -> str:
    """The process that answers; "" while one is about to end, and refuses."""
    with running.client.call("process") as connection:
        return connection.text() if connection.begin() == 200 else ""


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
