"""The environments other implementations run in: one virtualenv each at the project's root, made on demand.

The exact versions stand here and nowhere else, so that a figure or a cell can be read together with what it
was measured against. Nothing of it enters mcpref's own environment, and nothing here knows what the peers are
used for.
"""

from __future__ import annotations

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

    @property
    def title(self) -> str:
        """What tables call this peer."""
        return f"python-sdk {self.version}"

    @property
    def root(self) -> Path:
        return PROJECT_ROOT / f".venv-{self.name}"

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    def ensure(self) -> Path:
        """Make the environment unless it is there already, and return its interpreter.

        The stamp is written last and holds the requirement: an interrupted install or a changed pin starts
        afresh.
        """
        requirement = f"{self.package}=={self.version}"
        stamp = self.root / ".installed"
        if stamp.is_file() and stamp.read_text() == requirement:
            return self.python
        print(f"setting up {self.root.name} with {requirement} ...", file=sys.stderr, flush=True)
        self._run([sys.executable, "-m", "venv", "--clear", str(self.root)])
        pip = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        self._run([*pip, requirement])
        stamp.write_text(requirement)
        return self.python

    def _run(self, command: list[str]) -> None:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise EnvironmentFailed(
                f"{' '.join(command)}: not done in {INSTALL_SECONDS:.0f} s; is the package index reachable?"
            ) from None
        if done.returncode:
            raise EnvironmentFailed(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr[-2000:]}")


SDK2 = Environment("sdk2", "mcp", "2.3.0")
"""The official Python SDK, current line: both eras."""

SDK1 = Environment("sdk1", "mcp", "1.30.0")
"""The official Python SDK, previous line: revisions up to 2025-11-25."""
