"""Hosts as processes, started as their users start them; the port is read from what they print."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from tests.http_robust.clients import Client
from tests.threads import PATIENCE, until

ROOT = Path(__file__).parents[2]
THREADS = 8
CONNECTIONS = 200
"""What the gevent worker may have open at a time; its greenlets are as many."""


@dataclass(frozen=True)
class Host:
    """A way to serve."""

    name: str
    package: str
    """What has to be installed for it."""
    command: tuple[str, ...]
    """Behind the interpreter."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ for it."""
    threads: int = THREADS

    @property
    def is_gunicorn(self) -> bool:
        return self.name.startswith("gunicorn")

    @property
    def is_installed(self) -> bool:
        return find_spec(self.package) is not None


def _in_process(name: str, **limits: Any) -> Host:
    address, threads = ("--http", "127.0.0.1:0"), ("--threads", str(THREADS))
    served = ("-m", "mcpref", "serve", "tests.hosts.served:server")
    return Host(name, name, (*served, *address, "--wsgi", name, *threads), limits)


def _gunicorn(name: str, *options: str, package: str = "gunicorn", threads: int = THREADS) -> Host:
    config = ("-m", "gunicorn", "-c", "python:mcpref.contrib.gunicorn", "-b", "127.0.0.1:0")
    # Its control socket would lie in the home directory, one for all of them.
    options = ("--no-control-socket", *options)
    command = (*config, *options, "--threads", str(THREADS), "tests.hosts.served:app")
    return Host(f"gunicorn {name}", package, command, threads=threads)


#: In the order of the table.
HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        _in_process("waitress"),
        _gunicorn("gthread"),
        _gunicorn("preload", "--preload"),
        _gunicorn(
            "gevent",
            "-k",
            "gevent",
            "--worker-connections",
            str(CONNECTIONS),
            package="gevent",
            threads=CONNECTIONS,
        ),
        # It shows nothing of a connection, so that its client has gone is seen at the second failing write.
        _in_process("cheroot", keep_alive=0.5),
        _in_process("werkzeug"),
    )
}


class HostProcess:
    """A host that runs, what it prints, and a client for it."""

    def __init__(self, host: Host, process: subprocess.Popen[str]) -> None:
        self.host = host
        self.process = process
        self.printed: list[str] = []
        self._port = 0
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, name=f"stderr of {host.name}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.printed.append(line)
            found = re.search(r"(?:serving|Listening at).* http://[^/]*:(\d+)", line)
            if found:
                self._port = int(found[1])  # of the latest, where it starts anew
                self._ready.set()
        self._ready.set()

    @property
    def port(self) -> int:
        until(self._ready)
        assert self._port, f"it did not start:\n{self.stderr}"
        return self._port

    @property
    def client(self) -> Client:
        return Client(self.port)

    @property
    def stderr(self) -> str:
        return "".join(self.printed)

    def is_well(self) -> None:
        """Nothing failed in it so far."""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}:\n{self.stderr}"
        assert "Traceback" not in self.stderr, self.stderr

    def send(self, number: signal.Signals, *, everybody: bool = False) -> None:
        """To the process that was started; or also to those that it has started itself, as a supervisor does."""
        if everybody:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM, within: float = PATIENCE) -> tuple[int, float]:
        """Send a signal; the exit status, and the seconds that it took."""
        started = monotonic()
        self.send(number)
        return self.ended(within), monotonic() - started

    def ended(self, within: float = PATIENCE) -> int:
        """Wait for its end, of which a signal has told it; the exit status."""
        try:
            status = self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end within {within} seconds:\n{self.stderr}") from None
        self._reader.join(PATIENCE)
        assert "Traceback" not in self.stderr, self.stderr
        return status


@contextmanager
def running(host: Host, *options: str, **limits: Any) -> Iterator[HostProcess]:
    """A host in a process of its own, with settings that differ from those of served.py; killed in the end."""
    given = json.dumps({**host.limits, **limits})
    with launched(host, *options, env={"SERVED_LIMITS": given}) as process:
        yield process


@contextmanager
def launched(
    host: Host, *options: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> Iterator[HostProcess]:
    """The same anywhere, with any environment."""
    given = {"PYTHONPATH": str(ROOT), **(env or {})}
    with subprocess.Popen(
        [sys.executable, *host.command, *options],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **given},
    ) as process:
        try:
            yield HostProcess(host, process)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended, with all that it had started
