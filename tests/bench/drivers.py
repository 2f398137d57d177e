"""A server process and the lean client that loads it: raw bytes over pipes, the same code for every server.

Requests are encoded before the clock starts and answers are only counted while it runs; whether they were
right is looked at afterwards. Nothing here knows which implementation is on the other end, or what a figure
means.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

CHUNK = 1 << 16
"""How much one read takes: the capacity of a pipe."""

WINDOW_BYTES = CHUNK // 2
"""No window of outstanding requests may be larger: it then fits the pipe, so a write never blocks."""

ANSWER_SECONDS = 30.0
"""How long a peer may take beyond the time it is loaded for; then it is killed and the run fails."""

CLIENT_INFO = {"name": "mcpref-bench", "version": "1"}


class PeerFailed(Exception):
    """A server died, hung, or answered something else than it was asked; the message ends with its stderr."""


@dataclass(frozen=True, slots=True)
class Target:
    """One implementation under measurement."""

    name: str
    title: str
    python: Path
    server: Path
    """The program that serves the bench's tools on stdin and stdout."""
    import_statement: str
    """What an author of a server imports."""


class Script:
    """Request lines with ids of their own, encoded once and sent to every server byte for byte."""

    def __init__(self, method: str, params: Mapping[str, Any], *, revision: str, ids: range) -> None:
        """`params` is what the request carries, without `_meta`: that belongs to the revision."""
        if revision == MODERN:
            params = {**params, "_meta": modern_meta()}
        tail = json.dumps({"method": method, "params": params}, separators=(",", ":"))[1:]
        lines = [f'{{"jsonrpc":"2.0","id":{number},{tail}\n'.encode() for number in ids]
        self.ids = ids
        self.data = memoryview(b"".join(lines))
        self.offsets = [0]
        for line in lines:
            self.offsets.append(self.offsets[-1] + len(line))

    def __len__(self) -> int:
        return len(self.ids)


def modern_meta() -> dict[str, Any]:
    """What each request says about its client where there is no handshake.

    Spec: 2026-07-28 basic/index#meta
    """
    return {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": CLIENT_INFO,
        "io.modelcontextprotocol/clientCapabilities": {},
    }


class Peer:
    """One running server, used as a context manager; leaving it ends the process, by force if need be."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._expired = False

    def __enter__(self) -> Self:
        # A file, not a pipe: nobody would read a pipe while the clock runs, and a full one stops the server.
        self._stderr = tempfile.TemporaryFile()
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin.fileno()
        self._stdout = self._process.stdout.fileno()
        return self

    def __exit__(self, *exc_info: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Kill the server when the block takes longer: the read inside then ends, at no cost per read."""
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self._expired = True
        self._process.kill()

    def resident_bytes(self) -> int:
        """The process's resident memory now."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def handshake(self, revision: str) -> None:
        """Wait for a first answer; on a legacy revision that is `initialize`, which also opens the session.

        Spec: 2025-11-25 basic/lifecycle#initialization
        Spec: 2026-07-28 server/discover
        """
        if revision == MODERN:
            opening = Script("server/discover", {}, revision=MODERN, ids=range(1, 2))
        else:
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT_INFO}
            opening = Script("initialize", params, revision=revision, ids=range(1, 2))
        self.pump(opening, depth=1).check(lambda result: True)
        if revision != MODERN:
            self._write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def pump(self, script: Script, *, depth: int, seconds: float = float("inf")) -> Pumped:
        """Keep `depth` requests outstanding until the time or the script is over, then collect what is owed.

        Each read is answered by one write of as many requests as it brought answers, whoever the server is.
        """
        depth = min(depth, len(script))
        if script.offsets[depth] > WINDOW_BYTES:
            raise ValueError(f"{depth} requests of this script do not fit a pipe's buffer; lower the depth")
        data, offsets, total = script.data, script.offsets, len(script)
        clock = time.perf_counter
        chunks: list[bytes] = []
        answered, sent = 0, depth
        with self.deadline(ANSWER_SECONDS + (seconds if seconds != float("inf") else 0.0)):
            begin = clock()
            until = begin + seconds
            self._write(data[: offsets[depth]])
            while answered < sent:
                chunk = os.read(self._stdout, CHUNK)
                if not chunk:
                    raise self.failure("closed its stdout")
                chunks.append(chunk)
                arrived = chunk.count(b"\n")
                answered += arrived
                following = min(sent + arrived, total)
                if following > sent and clock() < until:
                    self._write(data[offsets[sent] : offsets[following]])
                    sent = following
            took = clock() - begin
        return Pumped(self, script.ids[:sent], took, chunks)

    def _write(self, data: bytes | memoryview) -> None:
        try:
            os.write(self._stdin, data)
        except BrokenPipeError:
            raise self.failure("closed its stdin") from None

    def failure(self, what: str) -> PeerFailed:
        """`what` happened, with what the server itself had to say about it."""
        if self._expired:
            what = "did not answer in time and was killed"
        try:
            status = f"exit status {self._process.wait(1)}"
        except subprocess.TimeoutExpired:
            status = "still running"
        self._stderr.seek(0)
        tail = self._stderr.read()[-3000:].decode(errors="replace").strip()
        return PeerFailed(
            f"{' '.join(self._command)}\n  {what} ({status}); the end of its stderr:\n{tail or '(nothing)'}"
        )


@dataclass(slots=True)
class Pumped:
    """What came back from one pumping."""

    peer: Peer
    ids: range
    seconds: float
    chunks: list[bytes]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.ids) / self.seconds

    def check(self, is_right: Callable[[Any], bool]) -> Self:
        """Raise unless every request got exactly one answer and `is_right` holds for each result."""
        answers = [json.loads(line) for line in b"".join(self.chunks).split(b"\n") if line]
        for answer in answers:
            if "result" not in answer or not is_right(answer["result"]):
                raise self.peer.failure(f"answered wrongly: {json.dumps(answer)[:500]}")
        if sorted(answer["id"] for answer in answers) != list(self.ids):
            raise self.peer.failure(f"gave {len(answers)} answers with other ids to {len(self.ids)} requests")
        return self
