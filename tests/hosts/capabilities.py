"""The list of what is asked of a host. Each entry is a probe: a function that finds out, on a host that runs.

A probe returns what it has found, which a table says what to expect of (matrix.py): whether it can, how many, or
within how many seconds. What no host may do wrong, it asserts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .processes import HostProcess

#: A word, a number of things, or seconds; None for what never happened.
Found: TypeAlias = str | int | float | None
Probe: TypeAlias = Callable[[HostProcess], Found]


@dataclass(frozen=True)
class Capability:
    """One thing that is asked."""

    title: str
    probe: Probe
    ends: bool
    """Whether the probe ends the host, which therefore runs for it alone."""


CAPABILITIES: dict[str, Capability] = {}


def capability(title: str, *, ends: bool = False) -> Callable[[Probe], Probe]:
    """Enter a probe in the list, under the words that the table has for it."""

    def enter(probe: Probe) -> Probe:
        CAPABILITIES[title] = Capability(title, probe, ends)
        return probe

    return enter


def load() -> dict[str, Capability]:
    """All of them, in the order of the table."""
    from . import calling, ending, rough, streaming  # noqa: F401

    return CAPABILITIES
