"""Servers in processes of their own, seen through their standard streams as a client sees them.

Every wait has a deadline, and a process that is left behind is killed when its block is left.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcpref import McpServer
from mcpref.cancellation import Deadline
from mcpref.jsonrpc import RequestId
from mcpref.meta import MetaKey
from mcpref.transport.duplex import FdStream
from mcpref.transport.stdio import StdioConnection
from tests.threads import PATIENCE

SERVERS = Path(__file__).parent / "servers"
MODERN = "2026-07-28"

Message = dict[str, Any]


def serve_command(target: str, *options: str) -> list[str]:
    """The command that serves a target: ``module:name``, or a name in ``tests/transport/servers``."""
    if ":" not in target:
        target = f"{SERVERS / target}.py:server"
    return [sys.executable, "-m", "mcpref", "serve", target, *options]


def meta(capabilities: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The ``_meta`` of a modern request; ``more`` adds keys such as ``progressToken``."""
    return {
        MetaKey.PROTOCOL_VERSION: MODERN,
        MetaKey.CLIENT_CAPABILITIES: dict(capabilities or {}),
        MetaKey.CLIENT_INFO: {"name": "tests", "version": "0"},
        **more,
    }


def request(id: RequestId, method: str, params: Mapping[str, Any] | None = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": id, "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def notification(method: str, params: Mapping[str, Any] | None = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = dict(params)
    return message


def call(
    id: RequestId,
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    progress: RequestId | None = None,
    modern: bool = True,
) -> Message:
    """A ``tools/call`` of either era, with a progress token if one is given."""
    params: dict[str, Any] = {"name": tool, "arguments": dict(arguments or {})}
    extra: dict[str, Any] = {} if progress is None else {"progressToken": progress}
    if modern:
        params["_meta"] = meta(**extra)
    elif extra:
        params["_meta"] = extra
    return request(id, "tools/call", params)


def initialize(
    version: str, id: RequestId = "init", capabilities: Mapping[str, Any] | None = None
) -> Message:
    return request(
        id,
        "initialize",
        {
            "protocolVersion": version,
            "capabilities": dict(capabilities or {}),
            "clientInfo": {"name": "tests", "version": "0"},
        },
    )


def listen(id: RequestId, **notifications: Any) -> Message:
    return request(id, "subscriptions/listen", {"_meta": meta(), "notifications": notifications})


def cancel(id: RequestId, reason: str = "not needed") -> Message:
    return notification("notifications/cancelled", {"requestId": id, "reason": reason})


def line(*messages: Message | list[Message]) -> bytes:
    """The messages, each on a line of its own."""
    return b"".join(json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)


def text_of(answer: Message) -> str:
    """The text of a tool's answer."""
    assert "result" in answer, answer
    text: str = answer["result"]["content"][0]["text"]
    return text


def answers_to(id: RequestId) -> Callable[[Message], bool]:
    # The type too: `1 == 1.0 == True`.
    return lambda message: (
        "method" not in message and message.get("id") == id and type(message["id"]) is type(id)
    )


def is_method(method: str) -> Callable[[Message], bool]:
    return lambda message: message.get("method") == method


class Inbox:
    """What a server wrote, message by message; whoever waits for one says which."""

    def __init__(self) -> None:
        self.raw: list[bytes] = []
        """Every line, as it came."""
        self._new = threading.Condition()
        self._waiting: list[Any] = []
        self._ended = False

    def add(self, raw: bytes) -> None:
        with self._new:
            self.raw.append(raw)
            try:
                self._waiting.append(json.loads(raw))
            except ValueError:
                self._waiting.append(raw)  # no message: `take` will say so
            self._new.notify_all()

    def end(self) -> None:
        with self._new:
            self._ended = True
            self._new.notify_all()

    def take(self, wanted: Callable[[Message], bool], timeout: float = PATIENCE) -> Message:
        """The first message that is wanted, taken out; fails if none comes or the output ends."""
        found: Message = self._take(lambda value: isinstance(value, dict) and wanted(value), timeout)
        return found

    def take_batch(self, timeout: float = PATIENCE) -> list[Message]:
        """The first array, taken out."""
        found: list[Message] = self._take(lambda value: isinstance(value, list), timeout)
        return found

    def _take(self, wanted: Callable[[Any], bool], timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        with self._new:
            while True:
                for index, value in enumerate(self._waiting):
                    assert not isinstance(value, bytes), f"not a message: {value[:200]!r}"
                    if wanted(value):
                        return self._waiting.pop(index)
                if self._ended:
                    raise AssertionError(f"the output ended; what came: {self._waiting}")
                if not self._new.wait(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(
                        f"nothing like this came in {timeout:g} s; what came: {self._waiting}"
                    )

    def rest(self, timeout: float = PATIENCE) -> list[Message]:
        """Everything that was not taken, once the output has ended."""
        with self._new:
            if not self._new.wait_for(lambda: self._ended, timeout):
                raise AssertionError(f"the output did not end in {timeout:g} s")
            assert not any(isinstance(message, bytes) for message in self._waiting), self._waiting
            return list(self._waiting)


class Conversation:
    """Both directions of a wire, as a client has them."""

    inbox: Inbox

    def send_bytes(self, data: bytes) -> None:
        raise NotImplementedError

    def send(self, *messages: Message | list[Message]) -> None:
        """Put the messages on the wire, all in one write."""
        self.send_bytes(line(*messages))

    def take(self, wanted: Callable[[Message], bool]) -> Message:
        return self.inbox.take(wanted)

    def answer(self, id: RequestId) -> Message:
        """The answer to a request; waits for it."""
        return self.inbox.take(answers_to(id))

    def ask(self, message: Message) -> Message:
        """Send a request and return its answer."""
        self.send(message)
        return self.answer(message["id"])

    def notified(self, method: str) -> Message:
        """The next notification, or request, of this method."""
        return self.inbox.take(is_method(method))

    def handshake(self, version: str, capabilities: Mapping[str, Any] | None = None) -> Message:
        answer = self.ask(initialize(version, capabilities=capabilities))
        self.send(notification("notifications/initialized"))
        return answer


class ServerProcess(Conversation):
    """One process, its wire, and what it says on stderr."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        read: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=cwd,
            # Python's own buffer is part of what is tested; nobody's environment may take it away.
            env={**os.environ, "PYTHONUNBUFFERED": "", **(env or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self._stderr = self.process.stdin, self.process.stdout, self.process.stderr
        self.inbox = Inbox()
        self._errors = bytearray()
        self._error_lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._read_errors, name="stderr", daemon=True)]
        if read:
            self._threads.append(threading.Thread(target=self._read_output, name="stdout", daemon=True))
        for thread in self._threads:
            thread.start()

    def _read_output(self) -> None:
        with open(self.stdout.fileno(), "rb", closefd=False) as output:
            for raw in output:
                self.inbox.add(raw)
        self.inbox.end()

    def _read_errors(self) -> None:
        with open(self._stderr.fileno(), "rb", closefd=False) as errors:
            for raw in errors:
                self._errors += raw
                self._error_lines.put(raw)
        self._error_lines.put(None)

    def send_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self.stdin.write(view) :]

    def close_input(self) -> None:
        self.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def is_alive_and_well(self, id: RequestId) -> None:
        """An innocent call is answered with its own answer, by the same process."""
        answer = self.ask(call(id, "echo", {"text": f"canary {id}"}))
        assert text_of(answer) == f"canary {id}"
        assert self.process.poll() is None

    def wait_for_stderr(self, text: str) -> None:
        """Until a line with this text was written to stderr."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                raw = self._error_lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"{text!r} was not said on stderr: {self.errors}") from None
            if raw is None:
                raise AssertionError(f"{text!r} was not said on stderr: {self.errors}")
            if text in raw.decode(errors="replace"):
                return

    @property
    def errors(self) -> str:
        """What was written to stderr so far; all of it once `finish` has returned."""
        return self._errors.decode(errors="replace")

    def memory_peak(self) -> int:
        """The most memory the process ever had, in bytes."""
        for entry in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if entry.startswith("VmHWM:"):
                return int(entry.split()[1]) * 1024
        raise AssertionError("the system does not tell")

    # ---- The end --------------------------------------------------------------------------------------

    def finish(self, timeout: float = PATIENCE) -> int:
        """Wait until the process has ended and all it wrote was read; its exit code."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout:g} s; stderr: {self.errors}") from None
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self.stdin, self.stdout, self._stderr):
            stream.close()


def launch(
    target: str, *options: str, read: bool = True, env: Mapping[str, str] | None = None
) -> ServerProcess:
    """Serve a target in a process of its own; use it in a ``with`` block."""
    return ServerProcess(serve_command(target, *options), read=read, env=env)


class Wire(Conversation):
    """A connection in this process, over pipes: for tests that look at both ends."""

    def __init__(self, server: McpServer, *, read: bool = True) -> None:
        self.inbox = Inbox()
        server_reads, self._write_fd = os.pipe()
        self._read_fd, server_writes = os.pipe()
        self.connection = StdioConnection(server, FdStream(server_reads, server_writes))
        self.connection.start()
        self._reader: threading.Thread | None = None
        if read:
            self.start_reading()

    def start_reading(self) -> None:
        """Read what the server writes, from now on."""
        self._reader = threading.Thread(target=self._read, args=(self._read_fd,), name="client", daemon=True)
        self._read_fd = -1  # the thread's, which closes it
        self._reader.start()

    def _read(self, fd: int) -> None:
        with open(fd, "rb") as output:
            for raw in output:
                self.inbox.add(raw)
        self.inbox.end()

    def stop_reading(self) -> None:
        """Close the reading end, which nobody reads yet: what the server writes next, fails."""
        fd, self._read_fd = self._read_fd, -1
        os.close(fd)

    def send_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._write_fd, view) :]

    def close_input(self) -> None:
        """The server sees the end of its input."""
        fd, self._write_fd = self._write_fd, -1
        if fd >= 0:
            os.close(fd)

    def finish(self, grace: float = PATIENCE) -> bool:
        """Close, and wait until the server's end is down; False if something was stuck."""
        self.close_input()
        assert self.connection.finished.wait(PATIENCE), "the end of input was not noticed"
        clean = self.connection.shut_down(Deadline(grace))
        if clean and self._reader is not None:
            self._reader.join(PATIENCE)
        return clean

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.finish()
        if self._read_fd >= 0:
            os.close(self._read_fd)


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Checks that the block leaves no thread of the library and no open descriptor."""
    threads = set(threading.enumerate())
    descriptors = _descriptors()
    yield
    deadline = time.monotonic() + PATIENCE
    for thread in set(threading.enumerate()) - threads:
        if thread.name.startswith("mcpref-"):
            thread.join(max(0.0, deadline - time.monotonic()))
            assert not thread.is_alive(), f"{thread.name} was left behind"
    left = _descriptors() - descriptors
    assert not left, f"descriptors were left open: {left}"


def _descriptors() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} -> {os.readlink(f'/proc/self/fd/{name}')}")
        except OSError:
            pass  # the listing's own
    return found
