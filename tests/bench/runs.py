"""The runs: every round samples each measure on each server, right after each other.

Whatever the machine does meanwhile then falls on all of them. Over stdio each sample has a process of its own.
Over HTTP the servers run side by side through all rounds, all but one idle, and are warm before the first; a
host's pair of servers is started afresh in each round.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from . import contestants
from .drivers import MODERN, Target
from .http_driver import Contestant, HttpPeer
from .http_measures import HTTP_MEASURES, HttpMeasure, counted, on_host
from .measures import Measure, Plan, driver_ceiling
from .report import Row, Side, Table

CONNECTIONS = (1, 8)


def run_stdio(measures: Sequence[Measure], plan: Plan, ours: Target, theirs: Target) -> Table:
    """mcpref beside the Python SDK, over pipes."""
    # Byte code and page cache are warm for both before anything is timed.
    for target in (ours, theirs):
        for measure in measures:
            if measure.key in ("cold", "import"):
                measure.sample(target, plan)
    rows = []
    for measure in measures:
        # The 1.x line knows no modern revision.
        offered = not (theirs.name == "sdk1" and measure.revision == MODERN)
        side = Side(theirs.title, measure.aim, [] if offered else None)
        rows.append(Row(measure.title, measure.unit, measure.more_is_better, [side]))
    for _ in rounds("stdio", plan):
        for measure, row in zip(measures, rows, strict=True):
            row.ours.append(measure.sample(ours, plan))
            samples = row.sides[0].samples
            if samples is not None:
                samples.append(measure.sample(theirs, plan))
    ceiling = {}
    if any(measure.key == "call" for measure in measures):
        ceiling = {f"depth {depth}": rate for depth, rate in driver_ceiling(contestants.STUB, plan).items()}
    return Table("stdio", ours.title, rows, ceiling)


def run_http(
    measures: Sequence[HttpMeasure], plan: Plan, ours: Contestant, others: Sequence[Contestant]
) -> Table:
    """mcpref beside other implementations, and beside the bare application on its own host."""
    rows = [_row(measure, others) for measure in measures]
    with running([ours, *others]) as peers:
        print("http: warming up", file=sys.stderr, flush=True)
        for measure in measures:
            for contestant, peer in zip([ours, *others], peers, strict=True):
                if measure.is_offered_by(contestant):
                    measure.warm_up(peer)
        for _ in rounds("http", plan):
            for measure, row in zip(measures, rows, strict=True):
                _sample(measure, row, plan, peers)
    return Table(f"http, {ours.title}", "mcpref", rows, http_ceiling(plan))


def run_hosts(plan: Plan, pairs: Sequence[tuple[str, Contestant, Contestant]]) -> Table:
    """Per host, mcpref's share of what the bare application reaches there: a modern call."""
    measures = [[on_host(host, connections) for connections in CONNECTIONS] for host, _, _ in pairs]
    rows = [
        [_row(measure, [bare]) for measure in of_host]
        for of_host, (_, _, bare) in zip(measures, pairs, strict=True)
    ]
    for _ in rounds("hosts", plan):
        for (_, ours, bare), of_host, its_rows in zip(pairs, measures, rows, strict=True):
            with running([ours, bare]) as peers:
                for measure, row in zip(of_host, its_rows, strict=True):
                    _sample(measure, row, plan, peers)
    return Table(f"hosts, calls, {MODERN}", "mcpref", [row for its_rows in rows for row in its_rows])


def rounds(what: str, plan: Plan) -> Iterator[int]:
    for number in range(1, plan.rounds + 1):
        print(f"{what}: round {number} of {plan.rounds}", file=sys.stderr, flush=True)
        yield number


@contextmanager
def running(started: Sequence[Contestant]) -> Iterator[list[HttpPeer]]:
    """All of them at once, in the order given; whatever happens, none is left."""
    with ExitStack() as stack:
        yield [stack.enter_context(HttpPeer(contestant)) for contestant in started]


def _row(measure: HttpMeasure, others: Sequence[Contestant]) -> Row:
    sides = [
        Side(other.title, measure.aims.get(other.name), [] if measure.is_offered_by(other) else None)
        for other in others
    ]
    return Row(measure.title, "/s", True, sides)


def _sample(measure: HttpMeasure, row: Row, plan: Plan, peers: Sequence[HttpPeer]) -> None:
    ours, *others = peers
    row.ours.append(measure.sample(ours, plan))
    for side, peer in zip(row.sides, others, strict=True):
        if side.samples is not None:
            side.samples.append(measure.sample(peer, plan))


def http_ceiling(plan: Plan) -> dict[str, float]:
    """Calls a second against a server that does nothing: what the driver can see at most."""
    calls = [row for row in HTTP_MEASURES if row.key == "http-call" and row.call.revision == MODERN]
    with HttpPeer(contestants.HTTP_STUB) as stub:
        return {counted(row.connections): row.sample(stub, plan) for row in calls}
