"""A server process that listens, and the lean client that loads it: one thread, raw keep-alive sockets.

Every server is sent the same bytes, encoded before the clock starts. While it runs, only the ends of responses
are looked for; whether they were right is looked at afterwards. Nothing here knows which implementation is on
the other end, or what a figure means.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from .drivers import ANSWER_SECONDS, CHUNK, CLIENT_INFO, LEGACY, MODERN, PeerFailed
from .http_wire import Call, ResponseReader, WrongAnswer, encode_post, parse_response, read_messages

ADDRESS = "127.0.0.1"

START_SECONDS = 60.0
"""How long a server may take until it accepts connections; a cold page cache makes some of them slow."""

FIRST_ID = 100_000
"""All ids have as many digits, so that all requests of a script are equally long."""

IsRight = Callable[[Sequence[Any], Any], bool]
"""Judges an answer: the notifications before it, and the result."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One implementation on one host server."""

    name: str
    """What aims call it."""
    title: str
    command: tuple[str, ...]
    """The program; `{port}` in it stands for the port to listen on."""
    environ: Mapping[str, str] | None = None
    """What its environment has besides."""
    revisions: tuple[str, ...] = (LEGACY, MODERN)
    """What it offers."""
    streams: bool = True
    """Whether it tells progress while a call runs."""
    directory: Path | None = None
    """Where it runs; that of the bench unless told."""


class HttpPeer:
    """One running server, used as a context manager; leaving it kills its whole process group."""

    def __init__(self, contestant: Contestant) -> None:
        self._contestant = contestant
        self._sessions: dict[str, str | None] = {}
        self.port = 0

    def __enter__(self) -> Self:
        self.port = free_port()
        self._command = [part.format(port=self.port) for part in self._contestant.command]
        # A file, not a pipe: nobody would read a pipe while the clock runs, and a full one stops the server.
        self._output = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            env={**os.environ, **(self._contestant.environ or {})},
            cwd=self._contestant.directory,
            start_new_session=True,  # a group of its own: gunicorn's workers are to end with their master
        )
        try:
            self._await_listening()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended, and so have its children
        self._process.wait()
        self._output.close()

    @property
    def host(self) -> str:
        return f"{ADDRESS}:{self.port}"

    def _await_listening(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection((ADDRESS, self.port), timeout=5.0).close()
                return
            except OSError:
                if self._process.poll() is not None:
                    raise self.failure("ended before it listened") from None
                if time.monotonic() >= until:
                    raise self.failure(f"did not listen within {START_SECONDS:.0f} seconds") from None
                time.sleep(0.02)

    def connect(self) -> socket.socket:
        try:
            connection = socket.create_connection((ADDRESS, self.port), timeout=ANSWER_SECONDS)
        except OSError as error:
            raise self.failure(f"refused a connection: {error}") from None
        # Blocking from here on: a timeout would cost a system call for each read, and poll() has one anyway.
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def session(self, revision: str) -> str | None:
        """The session for a revision, opened on first use; None where there are no sessions.

        Spec: 2025-11-25 basic/lifecycle#initialization
        Spec: 2025-11-25 basic/transports#session-management
        """
        if revision == MODERN:
            return None
        if revision not in self._sessions:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}
            opening = Call("initialize", params, revision).encode(range(1, 2), host=self.host)
            answers = pump(self, opening, connections=1)
            answers.check(lambda notifications, result: bool(result["protocolVersion"] == revision), first=1)
            session = parse_response(answers.responses[0][1]).headers.get("mcp-session-id")
            names = [("MCP-Protocol-Version", revision)]
            if session is not None:
                names.append(("Mcp-Session-Id", session))
            initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
            taken = pump(self, [encode_post(initialized, host=self.host, headers=names)], connections=1)
            if (status := parse_response(taken.responses[0][1]).status) != 202:
                raise self.failure(f"answered a notification with status {status}")
            self._sessions[revision] = session
        return self._sessions[revision]

    def load(self, call: Call, *, count: int, connections: int, seconds: float) -> Pumped:
        """Send a call over and over, until the time or the count is over."""
        ids = range(FIRST_ID, FIRST_ID + count)
        requests = call.encode(ids, host=self.host, session=self.session(call.revision))
        return pump(self, requests, connections=connections, seconds=seconds)

    def failure(self, what: str) -> PeerFailed:
        """`what` happened, with what the server itself had to say about it."""
        try:
            status = f"exit status {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            status = "still running"
        self._output.seek(0)
        tail = self._output.read()[-3000:].decode(errors="replace").strip()
        return PeerFailed(
            f"{' '.join(self._command)}\n  {what} ({status}); the end of its output:\n{tail or '(nothing)'}"
        )


def free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


class _Link:
    """One connection, with one request outstanding at a time."""

    __slots__ = ("number", "peer", "reader", "socket")

    def __init__(self, peer: HttpPeer) -> None:
        self.peer = peer
        self.socket = peer.connect()
        self.reader = ResponseReader()
        self.number = 0
        """Which request is outstanding."""

    def send(self, number: int, request: bytes) -> None:
        self.number = number
        self.reader = ResponseReader()
        try:
            self.socket.sendall(request)
        except OSError as error:
            raise self.peer.failure(f"closed a connection that it had kept open: {error}") from None

    def receive(self) -> bool:
        """Take what is there; whether the response is whole."""
        try:
            data = self.socket.recv(CHUNK)
            if data:
                return self.reader.feed(data)
        except OSError as error:
            raise self.peer.failure(f"broke a connection off: {error}") from None
        except WrongAnswer as error:
            raise self.peer.failure(str(error)) from None
        if not self.reader.finish():
            raise self.peer.failure(f"closed a connection within a response: {self.reader.data[-200:]!r}")
        return True


def pump(
    peer: HttpPeer, requests: Sequence[bytes], *, connections: int, seconds: float = float("inf")
) -> Pumped:
    """Keep each connection busy until the time or the requests are over, then collect what is owed.

    One thread polls all connections, so that the driver costs the same whoever is on the other end. Where the
    server closes after a response, connecting again is inside the clock: whoever uses that server pays for it.
    """
    clock = time.perf_counter
    total = len(requests)
    responses: list[tuple[int, bytes]] = []
    poller = select.poll()
    links: dict[int, _Link] = {}

    def open_link() -> _Link:
        link = _Link(peer)
        links[link.socket.fileno()] = link
        poller.register(link.socket, select.POLLIN)
        return link

    def close_link(link: _Link) -> None:
        poller.unregister(link.socket)
        del links[link.socket.fileno()]
        link.socket.close()

    try:
        opened = [open_link() for _ in range(min(connections, total))]
        sent = busy = len(opened)
        begin = clock()
        until = begin + seconds
        for number, link in enumerate(opened):
            link.send(number, requests[number])
        while busy:
            ready = poller.poll(ANSWER_SECONDS * 1000)
            if not ready:
                raise peer.failure("did not answer in time")
            for descriptor, _ in ready:
                link = links[descriptor]
                if not link.receive():
                    continue
                responses.append((link.number, link.reader.data))
                if sent == total or clock() >= until:
                    close_link(link)
                    busy -= 1
                    continue
                if link.reader.closes:
                    close_link(link)
                    link = open_link()
                link.send(sent, requests[sent])
                sent += 1
        took = clock() - begin
    finally:
        for link in list(links.values()):
            link.socket.close()
    return Pumped(peer, took, responses)


@dataclass(slots=True)
class Pumped:
    """What came back from one pumping: the number of each request, and the bytes of its response."""

    peer: HttpPeer
    seconds: float
    responses: list[tuple[int, bytes]]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.responses) / self.seconds

    def check(self, is_right: IsRight, *, first: int = FIRST_ID) -> Self:
        """Raise unless every request got exactly one answer, its own, and `is_right` holds for each."""
        if sorted(number for number, _ in self.responses) != list(range(len(self.responses))):
            raise self.peer.failure(f"left some of {len(self.responses)} requests without an answer")
        for number, data in self.responses:
            try:
                messages = read_messages(parse_response(data))
            except WrongAnswer as error:
                raise self.peer.failure(f"answered wrongly: {error}") from None
            if not messages:
                raise self.peer.failure("gave an event stream without an answer")
            *notifications, answer = messages
            if answer.get("id") != first + number:
                raise self.peer.failure(f"gave an answer with another id: {json.dumps(answer)[:500]}")
            if "result" not in answer or not is_right(notifications, answer["result"]):
                raise self.peer.failure(f"answered wrongly: {json.dumps(messages)[:500]}")
        return self
