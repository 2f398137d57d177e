"""`python -m tests.bench`: mcpref beside the official Python SDK on stdio, in one interleaved run.

Every round samples each measure on one server and then at once on the other, so that whatever the machine
does meanwhile falls on both. Exits 0 unless something broke: figures are printed, never asserted.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.interop.environments import SDK1, SDK2, Environment, EnvironmentFailed

from .drivers import MODERN, PeerFailed, Target
from .measures import MEASURES, Measure, Plan, driver_ceiling
from .report import Row, as_json, render

PEERS = Path(__file__).parent / "peers"
HERE = Path(sys.executable)

ROOT = Path(__file__).resolve().parents[2]
STUB = Target("stub", "stub", HERE, PEERS / "stub_server.py", "import os")

FULL = Plan(rounds=5, seconds=0.8)
QUICK = Plan(rounds=2, seconds=0.3)


def mcpref() -> Target:
    """The checkout as users get it: installed from a wheel, in an environment of its own.

    An editable install would not do: its import hook costs what no user pays.
    """
    directory = ROOT / ".venv-bench"
    python = directory / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as copy:
        # Built from a copy: setuptools leaves a build directory where it works.
        for name in ("mcpref", "setup.cfg", "pyproject.toml", "README.rst", "LICENSE"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(copy, name), ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
        subprocess.run([*pip, "--upgrade", copy], check=True)
        subprocess.run([*pip, "--force-reinstall", "--no-deps", copy], check=True)
    return Target("mcpref", "mcpref", python, PEERS / "mcpref_server.py", "from mcpref import McpServer")


def sdk(environment: Environment, module: str, name: str) -> Target:
    """The official SDK in an environment of its own, which is made if it is missing."""
    statement = f"from {module} import {name}"
    return Target(
        environment.name, environment.title, environment.ensure(), PEERS / "sdk_server.py", statement
    )


def other(name: str) -> Target:
    if name == "sdk1":
        return sdk(SDK1, "mcp.server.fastmcp", "FastMCP")
    return sdk(SDK2, "mcp.server", "MCPServer")


def supports(theirs: Target, measure: Measure) -> bool:
    """Whether the other side can be asked at all: the 1.x line knows no modern revision."""
    return not (theirs.name == "sdk1" and measure.revision == MODERN)


def run(measures: list[Measure], plan: Plan, ours: Target, theirs: Target) -> list[Row]:
    rows = [Row(measure) for measure in measures]
    for number in range(1, plan.rounds + 1):
        print(f"round {number} of {plan.rounds}", file=sys.stderr, flush=True)
        for row in rows:
            row.ours.append(row.measure.sample(ours, plan))
            row.theirs.append(row.measure.sample(theirs, plan))
    return rows


def parse_arguments() -> argparse.Namespace:
    keys = sorted({measure.key for measure in MEASURES})
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run; its spread is wide")
    parser.add_argument("--rounds", type=int, help="how many rounds")
    parser.add_argument("--only", metavar="KEY,...", help=f"some measures alone: {', '.join(keys)}")
    parser.add_argument("--against", choices=["sdk2", "sdk1"], default="sdk2", help="which line of the SDK")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures there")
    arguments = parser.parse_args()
    arguments.only = set(arguments.only.split(",")) if arguments.only else set(keys)
    if unknown := arguments.only - set(keys):
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; there are {', '.join(keys)}")
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    plan = QUICK if arguments.quick else FULL
    if arguments.rounds:
        plan = Plan(arguments.rounds, plan.seconds)
    try:
        ours = mcpref()
        theirs = other(arguments.against)
        measures = [row for row in MEASURES if row.key in arguments.only and supports(theirs, row)]
        # Byte code and page cache are warm for both before anything is timed.
        for target in (ours, theirs):
            for measure in measures:
                if measure.key in ("cold", "import"):
                    measure.sample(target, plan)
        rows = run(measures, plan, ours, theirs)
        ceiling = driver_ceiling(STUB, plan) if "call" in arguments.only else {}
    except (PeerFailed, EnvironmentFailed) as error:
        print(f"\nbroken: {error}", file=sys.stderr)
        return 1
    print(render(rows, ours, theirs, ceiling))
    if arguments.json:
        arguments.json.write_text(as_json(rows, ours, theirs, plan, ceiling), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
