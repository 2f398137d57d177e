"""What every check and every client's program needs: expectations, the adapter's handlers, and the runner.

Runs inside the client's environment: standard library and anyio (which every client here brings) alone. A
client's program supplies `connect` and calls `main`; the checks are in checks.py.
"""

import argparse
import contextlib
import functools
import json
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import anyio

CHECK_SECONDS = 20
START_SECONDS = 15
STOP_SECONDS = 10

MODERN = "2026-07-28"

CHECKS = {}


class Failed(Exception):
    """What a check found wrong."""


class PeerSaid(Exception):
    """A JSON-RPC error, whatever class the client wraps it in."""

    def __init__(self, code, message, data=None):
        super().__init__(f"error {code}: {message}")
        self.code, self.message, self.data = code, message, data


class Cannot(Exception):
    """What the client offers no way to do."""


class Target:
    """Where a connection goes: a command for stdio; a URL for HTTP, or for the HTTP+SSE of 2024-11-05."""

    def __init__(self, kind, *, command=(), url=""):
        self.kind, self.command, self.url = kind, list(command), url


class Handlers:
    """The client's side of a connection: what it answers, and what it was told."""

    def __init__(self, *, elicit=None, sample=None, roots=None, log_level=None):
        self.elicit, self.sample, self.roots, self.log_level = elicit, sample, roots, log_level
        self.asked = []
        self.logs = []
        self.notifications = []

    def told(self, method):
        """The parameters of each notification of a method, in order."""
        return [params for name, params in self.notifications if name == method]


def check(name):
    """Register a check under its name in the matrix."""

    def register(function):
        CHECKS[name] = function
        return function

    return register


def expect(condition, what):
    if not condition:
        raise Failed(what)


def same(actual, wanted, what):
    expect(actual == wanted, f"{what}: {short(actual)} instead of {short(wanted)}")


def short(value):
    text = repr(value)
    return text if len(text) <= 300 else text[:300] + "..."


async def eventually(condition, what, seconds=5.0):
    """Wait until a condition holds: notifications and results come on different tasks."""
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(0.01)
        return
    raise Failed(f"not within {seconds:g} s: {what}")


async def error_of(awaitable):
    """The JSON-RPC error a request ends in."""
    try:
        result = await awaitable
    except PeerSaid as error:
        return error
    raise Failed(f"no error but {short(result)}")


def text_of(result):
    expect(not result.get("isError"), f"isError: {short(result)}")
    return result["content"][0]["text"]


def since(peer, revision):
    """Whether the revision that was asked for has what came with another; `connect` checks that it is spoken."""
    return peer.revision >= revision


class HttpServer:
    """A server on a port of its own for the length of a block, shared by all checks of a row."""

    def __init__(self, command, frames):
        self._frames = frames
        self._command = [part.replace("{frames}", str(frames / "server")) for part in command]

    def __enter__(self):
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stderr=self._said)
        try:
            self.url = self._wait_for_url()
        except BaseException:
            self.__exit__()
            raise
        (self._path,) = self._frames.glob("server.*.jsonl")
        return self

    def _wait_for_url(self):
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            if found := re.search(r"http://\S+", self._words()):
                return found[0]
            time.sleep(0.01)
        raise SystemExit(f"the server does not start: {self._words()}")

    def _words(self):
        self._said.seek(0)
        return self._said.read().decode(errors="replace")

    def records(self, skip=0):
        """What was recorded so far."""
        return [json.loads(line) for line in self._path.read_text().split("\n")[skip:-1]]

    def __exit__(self, *exc):
        """End the server; how it leaves goes into its record."""
        self._process.terminate()
        try:
            status = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        sys.stderr.write(self._words())
        self._said.close()
        for path in self._frames.glob("server.*.jsonl"):
            with path.open("a") as out:
                out.write(json.dumps({"at": "end", "exit": status}) + "\n")


class Peer:
    """What a check gets: how to connect, and what passed on the wire."""

    def __init__(self, connect, name, arguments, http):
        self.revision, self._http = arguments.revision, http
        self._connect, self._prefix, self._command = connect, arguments.frames / name, arguments.server
        self._skip = len(http.records()) if http else 0

    @property
    def is_http(self):
        """Whether each request has a connection of its own."""
        return bool(self._http) and self.revision != "2024-11-05"

    @contextlib.asynccontextmanager
    async def connect(self, handlers=None, *, probe=True):
        """A new connection; on stdio to a new server."""
        if self.is_http:
            target = Target("http", url=self._http.url)
        elif self._http:
            target = Target("sse", url=f"{self._http.url}/sse")
        else:
            command = [part.replace("{frames}", str(self._prefix)) for part in self._command]
            target = Target("stdio", command=command)
        async with self._connect(target, self.revision, handlers or Handlers(), probe=probe) as session:
            session.peer = self
            yield session

    def records(self):
        """What was recorded so far, one list for each server of the check."""
        if self._http:
            return [self._http.records(self._skip)]
        files = sorted(self._prefix.parent.glob(f"{self._prefix.name}.*.jsonl"))
        return [[json.loads(line) for line in path.read_text().split("\n")[:-1]] for path in files]

    def keep_records(self):
        """Leave the check's share of a common record where those of servers of its own would be."""
        if self._http:
            lines = [json.dumps(record) + "\n" for record in self._http.records(self._skip)]
            Path(f"{self._prefix}.0.jsonl").write_text("".join(lines))

    def lines(self, origin):
        """The lines one side has sent so far."""
        return [record["line"] for file in self.records() for record in file if _is_from(record, origin)]

    def frames(self, origin):
        return [json.loads(line) for line in self.lines(origin)]

    def sent(self, method):
        """What the client has sent of one method."""
        return [frame for frame in self.frames("client") if frame.get("method") == method]

    def results(self, method):
        """The server's results to one method, raw."""
        found = []
        for file in self.records():
            sides = {
                origin: [json.loads(record["line"]) for record in file if _is_from(record, origin)]
                for origin in ("client", "server")
            }
            ids = [frame["id"] for frame in sides["client"] if frame.get("method") == method]
            found += [
                frame["result"] for frame in sides["server"] if frame.get("id") in ids and "result" in frame
            ]
        return found

    def requests(self, start):
        """The HTTP requests whose line begins so, each with its answer's status (None: none yet) and its end."""
        found = []
        for file in self.records():
            for record in file:
                if record.get("request", "").startswith(start):
                    about = [other for other in file if other.get("on") == record["on"]]
                    status = [other["status"] for other in about if "status" in other]
                    closed = [other["closed"] for other in about if "closed" in other]
                    found.append({**record, "status": (status or [None])[0], "closed": (closed or [None])[0]})
        return found


def _is_from(record, origin):
    return record.get("from") == origin and record["line"] != ""


def reason_of(error):
    """One line for the table; an exception group tells of its first member."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Failed):
        return str(error)
    if isinstance(error, Cannot):
        return f"the client cannot: {error}"
    return f"{type(error).__name__}: {error}".splitlines()[0]


async def run_check(peer, name):
    try:
        with anyio.fail_after(CHECK_SECONDS):
            await CHECKS[name](peer)
    except Exception as error:
        traceback.print_exc()
        return {"check": name, "ok": False, "reason": reason_of(error)}
    return {"check": name, "ok": True}


def main(connect):
    """Run the checks named on the command line; one JSON object each on stdout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--revision", required=True)
    parser.add_argument("--transport", required=True, choices=("stdio", "http"))
    parser.add_argument("--checks", required=True, help="names, comma-separated")
    parser.add_argument("--frames", required=True, type=Path, help="where the records go")
    parser.add_argument("server", nargs="+", help="the server's command; {frames} stands for its record")
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        http = None
        if arguments.transport == "http":
            http = stack.enter_context(HttpServer(arguments.server, arguments.frames))
        for name in arguments.checks.split(","):
            print(f"== {name}", file=sys.stderr, flush=True)
            peer = Peer(connect, name, arguments, http)
            result = anyio.run(functools.partial(run_check, peer, name))
            peer.keep_records()
            print(json.dumps(result), flush=True)
