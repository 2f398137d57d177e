"""`python -m tests.interop`: a stdio server of ours, driven by the real clients of other implementations.

Each check of each client on each revision is one cell: ok, or the reason. Exits 1 if a cell is not ok, unless
it is listed as the client's own limitation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .environments import EnvironmentFailed
from .matrix import CHECKS, CLIENTS, REVISIONS, SHUTDOWN
from .report import describe, render
from .runner import Cell, ServerFailed, check_server, run_row


def parse_arguments() -> argparse.Namespace:
    names = [check.name for check in CHECKS]
    clients = [client.key for client in CLIENTS]
    parser = argparse.ArgumentParser(prog="python -m tests.interop", description=__doc__)
    parser.add_argument("--client", action="append", choices=clients, help="these clients alone")
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="these revisions alone")
    parser.add_argument("--only", metavar="CHECK,...", help="these checks alone; --list names them")
    parser.add_argument("--list", action="store_true", help="say what the checks ask, and leave")
    parser.add_argument(
        "--frames", type=Path, metavar="DIR", help="keep the records of all connections there"
    )
    parser.add_argument("--stderr", action="store_true", help="show what clients and servers wrote to stderr")
    arguments = parser.parse_args()
    arguments.only = frozenset(arguments.only.split(",") if arguments.only else ())
    if unknown := arguments.only - set(names):
        parser.error(f"no such check: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return arguments


def run(arguments: argparse.Namespace, frames: Path) -> list[Cell]:
    cells: list[Cell] = []
    for client in CLIENTS:
        if arguments.client and client.key not in arguments.client:
            continue
        for revision in client.revisions:
            if arguments.revision and revision not in arguments.revision:
                continue
            print(f"{client.title}, {revision} ...", file=sys.stderr, flush=True)
            row = run_row(client, revision, frames / client.key / revision, arguments.only)
            if arguments.stderr:
                print(row.stderr, file=sys.stderr)
            cells += row.cells
    return cells


def main() -> int:
    arguments = parse_arguments()
    if arguments.list:
        print(describe((*CHECKS, SHUTDOWN)))
        return 0
    try:
        check_server()
        with tempfile.TemporaryDirectory(prefix="mcpref-interop-") as scratch:
            cells = run(arguments, arguments.frames or Path(scratch))
            print(render(cells))
    except (EnvironmentFailed, ServerFailed) as error:
        print(f"broken: {error}", file=sys.stderr)
        return 1
    return 0 if cells and all(cell.is_fine for cell in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
