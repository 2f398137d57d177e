"""Runs a client's program for one revision and turns what it prints into cells.

Knows how a program is started, watched and read; what the checks ask is the program's own affair.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .environments import NODE, PROJECT_ROOT
from .limitations import limitation_for
from .matrix import SHUTDOWN, Check, Client, Limitation, checks_for

SERVER: Final = (sys.executable, "-m", "tests.interop.server")
TEE: Final = (sys.executable, "-m", "tests.interop.tee", "{frames}")

ON_TRANSPORT: Final = {
    "stdio": (*TEE, *SERVER),
    "http": (*SERVER, "--port", "0", "--frames", "{frames}"),
}
"""The server that a client's program starts: on stdio for each connection, on HTTP for all of a row."""

ROW_SECONDS: Final = 300.0
"""How long one client may take for all checks of one revision; each check has a deadline of its own."""


START_SECONDS: Final = 30.0


class ServerFailed(Exception):
    """Our own server does not even start; no client is to blame."""


@dataclass(slots=True)
class Cell:
    """What came out of one check of one client on one revision."""

    client: Client
    revision: str
    check: Check
    ok: bool
    reason: str = ""
    frames: list[Path] = field(default_factory=list)
    """The records of its connections."""

    @property
    def limitation(self) -> Limitation | None:
        """Why the client itself is the reason, if that is known."""
        return limitation_for(self.client, self.check, self.revision)

    @property
    def verdict(self) -> str:
        """ok, known (the client's own limitation), stale (it is listed as one, yet passes) or FAIL."""
        limitation = self.limitation
        if limitation is None or (limitation.sometimes and self.ok):
            return "ok" if self.ok else "FAIL"
        return "stale" if self.ok else "known"

    def is_known_by(self, entry: Limitation) -> bool:
        return self.verdict == "known" and self.limitation is entry

    @property
    def is_fine(self) -> bool:
        return self.verdict in ("ok", "known")


@dataclass(slots=True)
class Row:
    """All cells of one client on one revision."""

    cells: list[Cell]
    stderr: str


def check_server() -> None:
    """Start the server with nobody to talk to, once, before each cell would fail for one and the same reason."""
    done = subprocess.run(
        SERVER,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        cwd=PROJECT_ROOT,
    )
    if done.returncode:
        raise ServerFailed(f"{' '.join(SERVER)}: exit {done.returncode}\n{done.stderr[-3000:]}")


def run_row(client: Client, revision: str, frames: Path, only: frozenset[str]) -> Row:
    """Run a client's checks on one revision. A program that dies or hangs fails the cells it left out."""
    checks = [check for check in checks_for(client.transport, revision) if not only or check.name in only]
    if not checks:
        return Row([], "")
    shutil.rmtree(frames, ignore_errors=True)  # records of an earlier run would be taken for this one's
    frames.mkdir(parents=True)
    command = [
        *(str(client.environment.ensure()), str(client.program)),
        *("--revision", revision, "--transport", client.transport, "--frames", str(frames.resolve())),
        *("--checks", ",".join(check.name for check in checks)),
        *("--", *ON_TRANSPORT[client.transport]),
    ]
    stdout, stderr, ending = _run(command, client.environment.root)
    found = {result["check"]: result for result in _results(stdout)}
    cells = []
    for check in checks:
        result = found.get(
            check.name, {"ok": False, "reason": f"not reported: the client's program {ending}"}
        )
        files = sorted(frames.glob(f"{check.name}.*.jsonl"))
        cells.append(Cell(client, revision, check, result["ok"], result.get("reason", ""), files))
    cells.append(_shutdown_cell(client, revision, frames, cells))
    return Row(cells, stderr)


def _run(command: list[str], root: Path) -> tuple[str, str, str]:
    # What a peer that is no Python program needs to know: where its packages and its interpreter are.
    where = {"INTEROP_ROOT": str(root), "INTEROP_NODE": str(NODE.root / "bin" / "node")}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=PROJECT_ROOT,
        env={**os.environ, **where},
    )
    try:
        stdout, stderr = process.communicate(timeout=ROW_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate()
        return stdout, stderr, f"was killed after {ROW_SECONDS:.0f} s"
    return stdout, stderr, f"left with status {process.returncode}"


def _results(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]


def _shutdown_cell(client: Client, revision: str, frames: Path, cells: list[Cell]) -> Cell:
    """Every server of the row must have left on its own; the record of one that was killed ends early."""
    one_for_all = list(frames.glob("server.*.jsonl"))
    bad = []
    for path in one_for_all or [path for cell in cells for path in cell.frames]:
        status = _exit_status(path)
        if status != 0:
            how = "was killed" if status is None else f"left with status {status}"
            bad.append((path, how))
    reason = f"in {bad[0][0].stem} the server {bad[0][1]}; {len(bad)} such" if bad else ""
    return Cell(client, revision, SHUTDOWN, not bad, reason, [path for path, _ in bad[:1]])


def _exit_status(path: Path) -> int | None:
    lines = path.read_text(encoding="utf-8").splitlines()
    status = json.loads(lines[-1]).get("exit") if lines else None
    return status if isinstance(status, int) else None
