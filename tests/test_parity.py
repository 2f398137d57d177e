"""The parity checklist: every item of ``parity.tsv`` is covered by a test, or stands here with the reason why not.

A test covers an item by ``@pytest.mark.parity(n)``. The column ``where`` says what an item needs: ``core``
(no transport), ``stdio``, ``http``, ``client`` or ``auth``; ``stdio+http`` is shown on both.
"""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent

#: What a part of the library that does not exist yet keeps from being shown.
REASONS = {"client": "needs the client"}
#: Items that wait for such a part. One that gets a test is taken off here, in the same change.
PENDING = {106: "client", 114: "client"}


class Item(NamedTuple):
    number: int
    group: str
    where: frozenset[str]
    behaviour: str


def _items() -> dict[int, Item]:
    with (TESTS / "parity.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {
        int(row["number"]): Item(
            int(row["number"]), row["group"], frozenset(row["where"].split("+")), row["behaviour"]
        )
        for row in rows
    }


def _markers() -> Iterator[tuple[int, str]]:
    """The number in every ``parity`` marker of every test file, and where it stands."""
    for path in sorted(TESTS.rglob("*.py")):
        if "typing" in path.parts:
            continue  # programs that are checked and not run
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "parity"
            ):
                where = f"{path.relative_to(TESTS)}:{node.lineno}"
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{where}: write the number itself"
                    assert type(argument.value) is int, f"{where}: {argument.value!r} is no number"
                    yield argument.value, where


ITEMS = _items()
COVERED: dict[int, list[str]] = {}
for _number, _where in _markers():
    COVERED.setdefault(_number, []).append(_where)


def test_the_list_is_whole() -> None:
    assert list(ITEMS) == list(range(1, 121))
    starts = {"A": 1, "B": 16, "C": 25, "D": 37, "E": 61, "F": 81, "G": 91, "H": 108}
    expected = [max(group for group, start in starts.items() if number >= start) for number in ITEMS]
    assert [item.group for item in ITEMS.values()] == expected
    parts = {"core", "stdio", "http", "auth", *REASONS}
    for item in ITEMS.values():
        assert item.where <= parts, item.number
        assert item.behaviour.endswith("."), item.number


def test_no_marker_names_an_item_that_does_not_exist() -> None:
    assert {number: places for number, places in COVERED.items() if number not in ITEMS} == {}


@pytest.mark.parametrize("number", [number for number in ITEMS if number not in PENDING])
def test_an_item_is_covered(number: int) -> None:
    item = ITEMS[number]
    assert number in COVERED, (
        f"no test covers {item.group}{number} ({'+'.join(sorted(item.where))}): {item.behaviour}"
    )


@pytest.mark.parametrize("number", [number for number, item in ITEMS.items() if "http" in item.where])
def test_an_item_of_http_is_shown_over_http(number: int) -> None:
    item = ITEMS[number]
    assert any(place.startswith("http") for place in COVERED[number]), (
        f"no test in http/ covers {item.group}{number}: {item.behaviour}"
    )


@pytest.mark.parametrize("number", PENDING)
def test_an_item_that_waits_is_not_covered_yet(number: int) -> None:
    reason = REASONS[PENDING[number]]
    assert number not in COVERED, f"{number} {reason} no longer: take it off PENDING ({COVERED[number]})"


def test_what_waits_is_what_needs_a_missing_part() -> None:
    """Nothing is put off that needs no more than what is there."""
    for number, part in PENDING.items():
        assert ITEMS[number].where == {part}, number
