"""Figures into tables and into JSON: per row the medians, and the ratio round by round with its spread."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .measures import Plan

TITLE, OURS, PEER, THEIRS = 34, 12, 26, 12
"""How wide the columns are."""


@dataclass(slots=True)
class Side:
    """Another implementation's samples of one measure."""

    title: str
    aim: float | None = None
    """The ratio of ours to theirs that is hoped for; None where it only informs."""
    samples: list[float] | None = field(default_factory=list)
    """None if it does not offer what is measured."""


@dataclass(slots=True)
class Row:
    """The samples of one measure: the n-th of each side comes from the n-th round."""

    title: str
    unit: str
    more_is_better: bool
    sides: list[Side]
    ours: list[float] = field(default_factory=list)

    def ratios(self, side: Side) -> list[float]:
        return [mine / other for mine, other in zip(self.ours, side.samples or (), strict=True)]

    def verdict(self, side: Side) -> str:
        """How the ratios stand to the aim: only rounds that all agree say met or not met."""
        if side.aim is None or side.samples is None:
            return ""
        wanted = f"{'>=' if self.more_is_better else '<='} {side.aim:g}x"
        ratios = self.ratios(side)
        met = sum(ratio >= side.aim if self.more_is_better else ratio <= side.aim for ratio in ratios)
        if 0 < met < len(ratios):
            return f"{wanted:<9}in {met} of {len(ratios)} rounds"
        return f"{wanted:<9}{'met' if met else 'not met'}"


@dataclass(slots=True)
class Table:
    """The rows that belong together, and what the driver itself could do."""

    title: str
    ours: str
    rows: list[Row]
    ceiling: dict[str, float] = field(default_factory=dict)


def render(tables: Sequence[Table]) -> str:
    """The tables as printed."""
    lines = []
    for table in tables:
        lines += [*_render_table(table), ""]
    lines.append("Ratio: ours to theirs in the same round; median, and lowest..highest over the rounds.")
    lines.append(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: above the bench's own 1 to 2, others ran too."
    )
    return "\n".join(lines)


def _render_table(table: Table) -> list[str]:
    head = f"{table.title:<{TITLE}}{table.ours:>{OURS}}    {'beside':<{PEER}}{'':>{THEIRS}}"
    lines = [f"{head}    {'ratio':<9}{'min..max':<16}aim"]
    for row in table.rows:
        lines += _render_row(row)
    if table.ceiling:
        limits = ", ".join(f"{rate:,.0f}/s at {load}" for load, rate in table.ceiling.items())
        lines.append(f"The driver against a server that does nothing: {limits}.")
    return lines


def _render_row(row: Row) -> list[str]:
    """One line per other side; what is ours stands in the first."""
    ours = _amount(statistics.median(row.ours), row.unit)
    start = f"{row.title:<{TITLE}}{ours:>{OURS}}"
    lines = []
    for side in row.sides:
        lines.append(f"{start}    {side.title:<{PEER}}{_render_side(row, side)}".rstrip())
        start = " " * (TITLE + OURS)
    return lines


def _render_side(row: Row, side: Side) -> str:
    if side.samples is None:
        return f"{'not offered':>{THEIRS}}"
    ratios = row.ratios(side)
    theirs = _amount(statistics.median(side.samples), row.unit)
    spread = f"{_ratio(min(ratios))}..{_ratio(max(ratios))}"
    ratio = f"{_ratio(statistics.median(ratios))}x"
    return f"{theirs:>{THEIRS}}    {ratio:<9}{spread:<16}{row.verdict(side)}"


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def as_json(tables: Sequence[Table], plan: Plan) -> str:
    """The raw figures and what is needed to read them."""
    document: dict[str, Any] = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "rounds": plan.rounds,
        "seconds_per_sample": plan.seconds,
        "tables": [
            {
                "title": table.title,
                "ours": table.ours,
                "driver_ceiling": table.ceiling,
                "figures": [_row_as_json(row) for row in table.rows],
            }
            for table in tables
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _row_as_json(row: Row) -> dict[str, Any]:
    return {
        "measure": row.title,
        "unit": row.unit,
        "more_is_better": row.more_is_better,
        "ours": row.ours,
        "beside": [
            {
                "title": side.title,
                "aim": side.aim,
                "theirs": side.samples,
                "ratios": None if side.samples is None else row.ratios(side),
            }
            for side in row.sides
        ],
    }
