"""Figures into a table and into JSON: per row the medians, and the ratio round by round with its spread."""

from __future__ import annotations

import json
import os
import platform
import statistics
from dataclasses import dataclass, field
from typing import Any

from .drivers import Target
from .measures import Measure, Plan


@dataclass(slots=True)
class Row:
    """The samples of one measure, in pairs: the n-th of each side comes from the n-th round."""

    measure: Measure
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [mine / other for mine, other in zip(self.ours, self.theirs, strict=True)]

    @property
    def verdict(self) -> str:
        """How the ratios stand to the aim: only rounds that all agree say met or not met."""
        aim, measure = self.measure.aim, self.measure
        if aim is None:
            return ""
        wanted = f"{'>=' if measure.more_is_better else '<='} {aim:g}x"
        agreeing = {measure.meets_aim(ratio) for ratio in self.ratios}
        if len(agreeing) == 2:
            return f"{wanted:<9}in {sum(map(measure.meets_aim, self.ratios))} of {len(self.ratios)} rounds"
        return f"{wanted:<9}{'met' if agreeing == {True} else 'not met'}"


def render(rows: list[Row], ours: Target, theirs: Target, ceiling: dict[int, float]) -> str:
    """The table as printed."""
    lines = [
        f"{'':<28}{ours.title:>16}{theirs.title:>20}    {'ratio':<9}{'min..max':<16}aim",
        *(_render_row(row) for row in rows),
    ]
    if ceiling:
        limits = ", ".join(f"{rate:,.0f}/s at depth {depth}" for depth, rate in ceiling.items())
        lines.append(f"\nThe driver against a server that does nothing: {limits}.")
    lines.append("Ratio: ours to theirs in the same round; median, and lowest..highest over the rounds.")
    lines.append(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: above the bench's own 1 to 2, others ran too."
    )
    return "\n".join(lines)


def _render_row(row: Row) -> str:
    ratios, unit = row.ratios, row.measure.unit
    ours, theirs = (_amount(statistics.median(side), unit) for side in (row.ours, row.theirs))
    spread = f"{_ratio(min(ratios))}..{_ratio(max(ratios))}"
    ratio = f"{_ratio(statistics.median(ratios))}x"
    return f"{row.measure.title:<28}{ours:>16}{theirs:>20}    {ratio:<9}{spread:<16}{row.verdict}".rstrip()


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def _ratio(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def as_json(rows: list[Row], ours: Target, theirs: Target, plan: Plan, ceiling: dict[int, float]) -> str:
    """The raw figures and what is needed to read them."""
    document: dict[str, Any] = {
        "ours": ours.title,
        "theirs": theirs.title,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "rounds": plan.rounds,
        "seconds_per_sample": plan.seconds,
        "driver_ceiling": {str(depth): rate for depth, rate in ceiling.items()},
        "figures": [
            {
                "measure": row.measure.title,
                "unit": row.measure.unit,
                "aim": row.measure.aim,
                "more_is_better": row.measure.more_is_better,
                "ours": row.ours,
                "theirs": row.theirs,
                "ratios": row.ratios,
            }
            for row in rows
        ],
    }
    return json.dumps(document, indent=2) + "\n"
