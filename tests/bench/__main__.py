"""`python -m tests.bench`: mcpref beside other implementations, over stdio and over HTTP, in interleaved runs.

Exits 0 unless something broke: figures are printed, never asserted.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import NoReturn

from tests.interop.environments import EnvironmentFailed

from . import contestants
from .drivers import PeerFailed
from .http_measures import HTTP_MEASURES
from .measures import MEASURES, Plan
from .report import Table, as_json, render
from .runs import run_hosts, run_http, run_stdio

FULL = Plan(rounds=5, seconds=0.8)
QUICK = Plan(rounds=2, seconds=0.3)

STDIO_KEYS = frozenset(measure.key for measure in MEASURES)
HTTP_KEYS = frozenset({"hosts", *(measure.key for measure in HTTP_MEASURES)})


def parse_arguments(argv: list[str] | None = None) -> argparse.Namespace:
    keys = STDIO_KEYS | HTTP_KEYS
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--stdio", action="store_true", help="over stdio alone")
    half.add_argument("--http", action="store_true", help="over HTTP alone")
    parser.add_argument("--quick", action="store_true", help="a short run; its spread is wide")
    parser.add_argument("--rounds", type=int, help="how many rounds")
    parser.add_argument("--only", metavar="KEY,...", help=f"some measures alone: {', '.join(sorted(keys))}")
    parser.add_argument(
        "--against", choices=["sdk2", "sdk1"], default="sdk2", help="which line of the Python SDK"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures there")
    arguments = parser.parse_args(argv)
    chosen = set(arguments.only.split(",")) if arguments.only else keys
    if unknown := chosen - keys:
        parser.error(f"no such measure: {', '.join(sorted(unknown))}; there are {', '.join(sorted(keys))}")
    arguments.only = chosen & (STDIO_KEYS if arguments.stdio else HTTP_KEYS if arguments.http else keys)
    if not arguments.only:
        parser.error("--stdio and --http leave nothing of what --only names")
    if arguments.rounds is not None and arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def run(only: set[str], plan: Plan, against: str) -> list[Table]:
    """The tables of what was chosen; every environment is there before the first is measured."""
    python = contestants.install_mcpref(hosts=bool(only & HTTP_KEYS))
    measures = [row for row in MEASURES if row.key in only]
    http_measures = [row for row in HTTP_MEASURES if row.key in only]
    sdk = contestants.stdio_sdk(against) if measures else None
    ours, bare = (make(python, "waitress") for make in (contestants.http_mcpref, contestants.http_bare))
    others = []
    if http_measures:
        sdks = [contestants.http_sdk(against), contestants.http_sdk_json(against)]
        others = [*sdks, contestants.http_typescript(), bare]
    tables = []
    if sdk is not None:
        tables.append(run_stdio(measures, plan, contestants.stdio_mcpref(python), sdk))
    if http_measures:
        tables.append(run_http(http_measures, plan, ours, others))
    if "hosts" in only:
        pairs = [
            (host, contestants.http_mcpref(python, host), contestants.http_bare(python, host))
            for host in contestants.HOSTS
        ]
        tables.append(run_hosts(plan, pairs))
    return tables


def _terminate(*_: object) -> NoReturn:
    sys.exit("terminated")


def main() -> int:
    arguments = parse_arguments()
    plan = QUICK if arguments.quick else FULL
    if arguments.rounds:
        plan = Plan(arguments.rounds, plan.seconds)
    # Unwinds, so that no server outlives the run: they are in process groups of their own.
    signal.signal(signal.SIGTERM, _terminate)
    try:
        tables = run(arguments.only, plan, arguments.against)
    except (PeerFailed, EnvironmentFailed) as error:
        print(f"\nbroken: {error}", file=sys.stderr)
        return 1
    print(render(tables))
    if arguments.json:
        arguments.json.write_text(as_json(tables, plan), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
