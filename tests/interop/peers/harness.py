"""What every check and every client's program needs: expectations, the adapter's handlers, and the runner.

Runs inside the client's environment: standard library and anyio (which every client here brings) alone. A
client's program supplies `connect` and calls `main`; the checks are in checks.py.
"""

import argparse
import functools
import json
import sys
import traceback
from pathlib import Path

import anyio

CHECK_SECONDS = 20

CHECKS = {}


class Failed(Exception):
    """What a check found wrong."""


class PeerSaid(Exception):
    """A JSON-RPC error, whatever class the client wraps it in."""

    def __init__(self, code, message, data=None):
        super().__init__(f"error {code}: {message}")
        self.code, self.message, self.data = code, message, data


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


def since(session, revision):
    return session.revision >= revision


class Peer:
    """What a check gets: how to connect, and what passed on the wire."""

    def __init__(self, connect, name, revision, frames, command):
        self.revision = revision
        self._connect, self._name, self._frames, self._command = connect, name, frames, command
        self._files = []

    def connect(self, handlers=None, *, probe=True):
        """A new connection to a new server, as an async context manager."""
        path = self._frames / f"{self._name}.{len(self._files)}.jsonl"
        self._files.append(path)
        command = [part.replace("{frames}", str(path)) for part in self._command]
        return self._connect(command, self.revision, handlers or Handlers(), probe=probe)

    def lines(self, origin):
        """The lines one side has sent so far, over all connections of the check."""
        records = [json.loads(line) for path in self._files for line in path.read_text().splitlines()]
        return [record["line"] for record in records if record.get("from") == origin]

    def frames(self, origin):
        return [json.loads(line) for line in self.lines(origin)]

    def sent(self, method):
        """What the client has sent of one method."""
        return [frame for frame in self.frames("client") if frame.get("method") == method]

    def results(self, method):
        """The server's results to one method, raw."""
        ids = [frame["id"] for frame in self.sent(method)]
        return [
            frame["result"] for frame in self.frames("server") if frame.get("id") in ids and "result" in frame
        ]


def reason_of(error):
    """One line for the table; an exception group tells of its first member."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, Failed):
        return str(error)
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
    parser.add_argument("--checks", required=True, help="names, comma-separated")
    parser.add_argument("--frames", required=True, type=Path, help="where the records of each connection go")
    parser.add_argument("server", nargs="+", help="the server's command; {frames} in it stands for a file")
    arguments = parser.parse_args()
    for name in arguments.checks.split(","):
        print(f"== {name}", file=sys.stderr, flush=True)
        peer = Peer(connect, name, arguments.revision, arguments.frames, arguments.server)
        print(json.dumps(anyio.run(functools.partial(run_check, peer, name))), flush=True)
