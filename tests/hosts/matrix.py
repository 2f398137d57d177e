"""The table of what to expect: for every capability, what each host does. The README shows it.

A `Within` stands for seconds that were measured and may be fewer; ``None`` for what never happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from .capabilities import Found
from .processes import CONNECTIONS, HOSTS, THREADS


@dataclass(frozen=True)
class Within:
    """A time that a busy machine keeps too."""

    seconds: float

    def __str__(self) -> str:
        return f"< {self.seconds:g} s"


Expected: TypeAlias = str | int | Within | None

#: By a look at the connection, which comes every second; or at the second comment that nobody takes.
NOTICED: Final = Within(4.0)
#: Beside others that take their time.
SOON: Final = Within(4.0)
ENDS: Final = Within(6.0)


def _all(value: Expected, **others: Expected) -> dict[str, Expected]:
    """The same for every host but those named; "gunicorn" is all of its kinds."""
    row: dict[str, Expected] = {}
    for host in HOSTS:
        kind, _, worker = host.partition(" ")
        row[host] = others.get(worker, others.get(kind, value))
    return row


EXPECTED: Final[dict[str, dict[str, Expected]]] = {
    "modern call": _all("yes"),
    "legacy session": _all("yes"),
    "keeps connections": _all("yes", werkzeug="no"),
    "keeps idle connections": _all("yes", werkzeug="no", cheroot="no"),
    "events one by one": _all("yes"),
    "elicitation, legacy": _all("yes"),
    "elicitation, modern": _all("yes"),
    "questions waiting": _all(THREADS - 2, gevent=8),
    "odd requests": _all("served", cheroot="absolute form: 400"),
    "listen stream": _all("yes"),
    "GET stream, resumed": _all("yes"),
    "streams held": _all(THREADS // 2, gevent=CONNECTIONS // 2),
    "a streaming call's client goes": _all(NOTICED),
    "a silent call's client goes": _all(NOTICED, cheroot=None),
    "an idle stream's client goes": _all(NOTICED),
    "a legacy client comes back": _all("yes"),
    "chunked body": _all("yes"),
    "Expect: 100-continue": _all("yes"),
    "body too long": _all("413"),
    "half a header, from ten": _all(SOON, gthread=None, preload=None),
    "slow bodies, from ten": _all(SOON, cheroot=None),
    "a slow body gets": _all("408", waitress="waits", cheroot="waits"),
    "answers unread, by eight": _all(SOON),
    "a stream unread ends": _all(SOON),
    "SIGTERM: all answered, ends": _all(ENDS),
    "SIGINT: all answered, ends": _all(ENDS, gunicorn=None),
    "SIGTERM twice, a client deaf": _all(ENDS),
    "SIGHUP: serves on": _all("no", gunicorn="yes"),
}


def is_as_expected(expected: Expected, found: Found) -> bool:
    if isinstance(expected, Within):
        return isinstance(found, float) and found < expected.seconds
    return type(found) is type(expected) and found == expected


def shown(value: Expected | Found) -> str:
    """How the table says it."""
    if value is None:
        return "never"
    return f"{value:.1f} s" if isinstance(value, float) else str(value)


def as_text(rows: Mapping[str, Mapping[str, Expected | Found]]) -> str:
    """A table with columns of equal width."""
    return "\n".join("  ".join(cells).rstrip() for cells in _aligned(rows))


def as_rst(rows: Mapping[str, Mapping[str, Expected | Found]]) -> str:
    """The same as a simple table of reStructuredText."""
    head, *body = _aligned(rows)
    rule = "  ".join("=" * len(cell) for cell in head)
    lines = ["  ".join(cells).rstrip() for cells in (head, *body)]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])


def _aligned(rows: Mapping[str, Mapping[str, Expected | Found]]) -> list[list[str]]:
    hosts = list(next(iter(rows.values())))
    cells = [["", *hosts], *([title, *(shown(row[host]) for host in hosts)] for title, row in rows.items())]
    widths = [max(len(line[column]) for line in cells) for column in range(len(hosts) + 1)]
    return [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in cells]
