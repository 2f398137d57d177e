"""The cells as a table per client, and the frames behind each cell that is not fine."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from .limitations import LIMITATIONS
from .matrix import CHECKS, REVISIONS, SHUTDOWN, Check, Client, Limitation
from .runner import Cell

SHOWN_FRAMES = 14
SHOWN_WIDTH = 220
NAME_WIDTH = 30
OVERVIEW_WIDTH = 18


def render(cells: list[Cell]) -> str:
    """One block per client and transport, what is behind the cells that are not ok, and the whole at a glance."""
    blocks = []
    for client in dict.fromkeys(cell.client for cell in cells):
        blocks.append(_block(client, [cell for cell in cells if cell.client == client]))
    notes = [_known(entry, cells) for entry in LIMITATIONS if any(cell.is_known_by(entry) for cell in cells)]
    notes += [note for cell in cells if (note := _note(cell))]
    return "\n\n".join([*blocks, *notes, _overview(cells), _summary(cells)])


def _block(client: Client, cells: list[Cell]) -> str:
    revisions = list(dict.fromkeys(cell.revision for cell in cells))
    verdicts = {(cell.check.name, cell.revision): cell.verdict for cell in cells}
    ran = {cell.check.name for cell in cells}
    lines = [f"{client.title:<{NAME_WIDTH}}{''.join(f'{revision:<12}' for revision in revisions)}".rstrip()]
    for check in (*CHECKS, SHUTDOWN):
        if check.name in ran:
            row = "".join(f"{verdicts.get((check.name, revision), '-'):<12}" for revision in revisions)
            lines.append(f"  {check.name:<{NAME_WIDTH - 2}}{row}".rstrip())
    return "\n".join(lines)


def _known(entry: Limitation, cells: list[Cell]) -> str:
    """A limitation, the cells it explains, and the lines that show it."""
    of = [cell for cell in cells if cell.is_known_by(entry)]

    def listed(values: Iterable[str]) -> str:
        return ", ".join(dict.fromkeys(values))

    where = f"{of[0].client.environment.title} ({listed(cell.client.transport for cell in of)})"
    what = f"{listed(cell.check.name for cell in of)} in {listed(cell.revision for cell in of)}"
    frames = "".join(f"\n    {line}" for line in entry.frames)
    return f"known: {where}: {what}: {entry.reason}{frames}"


def _note(cell: Cell) -> str:
    """What there is to say about a cell that nobody has explained."""
    where = f"{cell.client.title}, {cell.revision}, {cell.check.name}"
    if cell.verdict == "stale":
        return f"STALE: {where}: passes, but is listed as the client's limitation; take it off the list"
    if cell.verdict == "FAIL":
        frames = "\n".join(f"    {line}" for path in cell.frames[-1:] for line in excerpt(path))
        return f"FAIL: {where} ({cell.check.what}): {cell.reason}\n{frames}".rstrip()
    return ""


def _overview(cells: list[Cell]) -> str:
    """Clients and transports down, revisions across: how many cells are ok, and how many are not."""
    revisions = [
        revision for revision in reversed(REVISIONS) if any(cell.revision == revision for cell in cells)
    ]
    lines = [
        f"{'':<{NAME_WIDTH}}{''.join(f'{revision:<{OVERVIEW_WIDTH}}' for revision in revisions)}".rstrip()
    ]
    for client in dict.fromkeys(cell.client for cell in cells):
        row = ""
        for revision in revisions:
            here = [cell for cell in cells if cell.client == client and cell.revision == revision]
            row += f"{_counts(here) or '-':<{OVERVIEW_WIDTH}}"
        lines.append(f"{client.title:<{NAME_WIDTH}}{row}".rstrip())
    return "\n".join(lines)


def excerpt(path: Path) -> list[str]:
    """The last frames of a connection, one line each."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    left_out = len(records) - SHOWN_FRAMES
    above = [f"({left_out} frames more above)"] if left_out > 0 else []
    return above + [_frame(record) for record in records[-SHOWN_FRAMES:]]


def _frame(record: dict[str, object]) -> str:
    on = f" [{record['on']}]" if "on" in record else ""
    return f"{record['at']:>8}{on} {_what(record)}"


def _what(record: dict[str, object]) -> str:
    if "exit" in record:
        return f"server left with status {record['exit']}"
    if "closed" in record:
        return f"the stream was closed {record['closed']}"
    if "status" in record:
        return f"<- {record['status']} {record['headers']}"
    line = str(record["line"])
    shown = line if len(line) <= SHOWN_WIDTH else line[:SHOWN_WIDTH] + "..."
    if "request" in record:
        return f"-> {record['request']} {record['headers']} {shown}".rstrip()
    return f"{'->' if record['from'] == 'client' else '<-'} {shown}"


def _counts(cells: list[Cell]) -> str:
    counts = {
        verdict: sum(cell.verdict == verdict for cell in cells)
        for verdict in ("ok", "known", "stale", "FAIL")
    }
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)


def _summary(cells: list[Cell]) -> str:
    return f"{len(cells)} cells: {_counts(cells) or 'none'}."


def describe(checks: tuple[Check, ...]) -> str:
    """What each check asks, for `--list`."""
    return "\n".join(f"{check.name:<16}{check.what} ({check.since}..{check.until})" for check in checks)
