"""`python -m tests.interop`: a server of ours, on stdio and HTTP, driven by other implementations' real clients.

Each check of each client on each revision is one cell: ok, or the reason. Exits 1 if a cell is not ok, unless
it is listed as the client's own limitation.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .environments import EnvironmentFailed
from .matrix import CHECKS, CLIENTS, REVISIONS, SHUTDOWN, TRANSPORTS, Client
from .report import describe, render
from .runner import Cell, ServerFailed, check_server, run_row


def parse_arguments() -> argparse.Namespace:
    names = [check.name for check in CHECKS]
    clients = list(dict.fromkeys(client.key for client in CLIENTS))
    parser = argparse.ArgumentParser(prog="python -m tests.interop", description=__doc__)
    parser.add_argument("--client", action="append", choices=clients, help="these clients alone")
    parser.add_argument("--transport", action="append", choices=TRANSPORTS, help="these transports alone")
    parser.add_argument("--revision", action="append", choices=REVISIONS, help="these revisions alone")
    parser.add_argument("--only", metavar="CHECK,...", help="these checks alone; --list names them")
    parser.add_argument("--list", action="store_true", help="say what the checks ask, and leave")
    parser.add_argument(
        "--frames", type=Path, metavar="DIR", help="keep the records of all connections there"
    )
    parser.add_argument(
        "--jobs", type=int, default=(os.cpu_count() or 1) + 2, help="how many rows run at once"
    )
    parser.add_argument("--stderr", action="store_true", help="show what clients and servers wrote to stderr")
    arguments = parser.parse_args()
    arguments.only = frozenset(arguments.only.split(",") if arguments.only else ())
    if unknown := arguments.only - set(names):
        parser.error(f"no such check: {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return arguments


def chosen(arguments: argparse.Namespace) -> list[tuple[Client, str]]:
    """The rows that were asked for."""
    return [
        (client, revision)
        for client in CLIENTS
        if not arguments.client or client.key in arguments.client
        if not arguments.transport or client.transport in arguments.transport
        for revision in client.revisions
        if not arguments.revision or revision in arguments.revision
    ]


def run(arguments: argparse.Namespace, frames: Path) -> list[Cell]:
    """Run the rows, a few at a time; what is printed on the way comes in any order, the cells in the table's."""
    rows = chosen(arguments)
    for environment in dict.fromkeys(client.environment for client, _ in rows):
        environment.ensure()

    def run_one(chosen: tuple[Client, str]) -> list[Cell]:
        client, revision = chosen
        begin = time.monotonic()
        row = run_row(client, revision, frames / client.key / client.transport / revision, arguments.only)
        took = f"{time.monotonic() - begin:.0f} s"
        print(f"{client.title}, {revision}: {took}", file=sys.stderr, flush=True)
        if arguments.stderr:
            print(row.stderr, file=sys.stderr)
        return row.cells

    with ThreadPoolExecutor(arguments.jobs) as pool:
        return [cell for cells in pool.map(run_one, rows) for cell in cells]


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
