"""The cells as a table per client, and the frames behind each cell that is not fine."""

from __future__ import annotations

import json
from pathlib import Path

from .matrix import CHECKS, SHUTDOWN, Check, Client
from .runner import Cell

SHOWN_FRAMES = 14
SHOWN_WIDTH = 220


def render(cells: list[Cell]) -> str:
    """One block per client and transport: checks down, revisions across; `-` where the revision lacks it."""
    blocks = []
    for client in dict.fromkeys(cell.client for cell in cells):
        blocks.append(_block(client, [cell for cell in cells if cell.client == client]))
    notes = [note for cell in cells if (note := _note(cell))]
    return "\n\n".join([*blocks, *notes, _summary(cells)])


def _block(client: Client, cells: list[Cell]) -> str:
    revisions = list(dict.fromkeys(cell.revision for cell in cells))
    verdicts = {(cell.check.name, cell.revision): cell.verdict for cell in cells}
    ran = {cell.check.name for cell in cells}
    lines = [f"{client.title:<28}{''.join(f'{revision:<12}' for revision in revisions)}".rstrip()]
    for check in (*CHECKS, SHUTDOWN):
        if check.name in ran:
            row = "".join(f"{verdicts.get((check.name, revision), '-'):<12}" for revision in revisions)
            lines.append(f"  {check.name:<26}{row}".rstrip())
    return "\n".join(lines)


def _note(cell: Cell) -> str:
    """What there is to say about a cell that is not ok."""
    where = f"{cell.client.title}, {cell.revision}, {cell.check.name}"
    match cell.verdict:
        case "ok":
            return ""
        case "known":
            return f"known: {where}: {cell.limitation}"
        case "stale":
            return f"STALE: {where}: passes, but is listed as the client's limitation; take it off the list"
        case _:
            frames = "\n".join(f"    {line}" for path in cell.frames[-1:] for line in excerpt(path))
            return f"FAIL: {where} ({cell.check.what}): {cell.reason}\n{frames}".rstrip()


def excerpt(path: Path) -> list[str]:
    """The last frames of a connection, one line each."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    left_out = len(records) - SHOWN_FRAMES
    above = [f"({left_out} frames more above)"] if left_out > 0 else []
    return above + [_frame(record) for record in records[-SHOWN_FRAMES:]]


def _frame(record: dict[str, object]) -> str:
    if "exit" in record:
        return f"{record['at']:>8} server left with status {record['exit']}"
    arrow = "->" if record["from"] == "client" else "<-"
    line = str(record["line"])
    return f"{record['at']:>8} {arrow} {line if len(line) <= SHOWN_WIDTH else line[:SHOWN_WIDTH] + '...'}"


def _summary(cells: list[Cell]) -> str:
    counts = {
        verdict: sum(cell.verdict == verdict for cell in cells)
        for verdict in ("ok", "known", "stale", "FAIL")
    }
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{len(cells)} cells: {told or 'none'}."


def describe(checks: tuple[Check, ...]) -> str:
    """What each check asks, for `--list`."""
    return "\n".join(f"{check.name:<16}{check.what} ({check.since}..{check.until})" for check in checks)
