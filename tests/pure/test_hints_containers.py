"""Arrays, objects with free keys, and unions."""

from __future__ import annotations

import collections.abc
import enum
import typing
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal
from uuid import UUID

import pytest

from mcpref.hints import DecodeError, UnsupportedType, compile_hint, encode_any
from mcpref.hints.containers import MAX_WRONG_ARMS

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


class Color(enum.StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass
class Point:
    x: int


@dataclass(frozen=True)
class Frozen:
    x: int


SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    # `items` is always there
    (list, {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": INTEGER}),
    (typing.List[int], {"type": "array", "items": INTEGER}),  # noqa: UP006
    (typing.List, {"type": "array", "items": {}}),  # noqa: UP006
    (collections.abc.Sequence[int], {"type": "array", "items": INTEGER}),
    (tuple, {"type": "array", "items": {}}),
    (typing.Tuple, {"type": "array", "items": {}}),  # noqa: UP006
    (tuple[int, ...], {"type": "array", "items": INTEGER}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [INTEGER, STRING], "minItems": 2, "maxItems": 2, "items": False},
    ),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0, "items": False}),
    (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    (frozenset[str], {"type": "array", "items": STRING, "uniqueItems": True}),
    (dict, {"type": "object", "additionalProperties": True}),
    (dict[str, Any], {"type": "object", "additionalProperties": True}),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (typing.Dict, {"type": "object", "additionalProperties": True}),  # noqa: UP006
    (collections.abc.Mapping[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (
        dict[Color, int],
        {
            "type": "object",
            "propertyNames": {"type": "string", "enum": ["red", "green"]},
            "additionalProperties": INTEGER,
        },
    ),
    # `anyOf`, never a list of types
    (int | str, {"anyOf": [INTEGER, STRING]}),
    (int | None, {"anyOf": [INTEGER, NULL]}),
    (int | str | None, {"anyOf": [INTEGER, STRING, NULL]}),
    (typing.Optional[int], {"anyOf": [INTEGER, NULL]}),  # noqa: UP045
    (Literal["a", None], {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]}),
    (int | Any, {}),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS)
def test_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert compile_hint(hint).schema == schema


CONVERSIONS: list[tuple[Any, Any, Any]] = [
    (list[int], [1, 2.0], [1, 2]),
    (list[date], ["2026-07-28"], [date(2026, 7, 28)]),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, date], [1, "2026-07-28"], (1, date(2026, 7, 28))),
    (tuple[()], [], ()),
    (set[int], [1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (set[Frozen], [{"x": 1}], {Frozen(1)}),
    (dict[str, date], {"a": "2026-07-28"}, {"a": date(2026, 7, 28)}),
    (dict[Color, int], {"red": 1}, {Color.RED: 1}),
    (int | str, "1", "1"),
    (int | str, 1, 1),
    (str | int, 1, 1),
    # the first arm that fits
    (date | str, "2026-07-28", date(2026, 7, 28)),
    (date | str, "tomorrow", "tomorrow"),
    (int | float, 1.5, 1.5),
    (int | float, 1.0, 1),
    (float | int, 1, 1.0),
    (int | None, None, None),
    (bool | int, True, True),
    (bool | int, 1, 1),
    (list[int] | list[str], ["a"], ["a"]),
    (list[int] | int, 5, 5),
]


@pytest.mark.parametrize(("hint", "value", "expected"), CONVERSIONS)
def test_decode(hint: Any, value: Any, expected: Any) -> None:
    result = compile_hint(hint).decode(value)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (list[int], "12", "'12' is not an array"),
        (list[int], [1, "x"], "[1]: 'x' is not an integer"),
        (list[list[int]], [[1], [2, None]], "[1][1]: None is not an integer"),
        (tuple[int, str], [1], "an array of exactly 2 items is needed, not of 1"),
        (tuple[int, str], [1, 2], "[1]: 2 is not a string"),
        (set[int], [1, 1], "[1, 1] has non-unique items"),
        (set[int], [1, 1.0], "[1, 1.0] has non-unique items"),
        (set, [[1]], "arrays and objects cannot be items of a set"),
        (dict[str, int], [], "[] is not an object"),
        (dict[str, int], {"a b": None}, "['a b']: None is not an integer"),
        (dict[Color, int], {"blue": 1}, "blue: 'blue' is not one of 'red', 'green'"),
        (int | str, None, "None is not an integer or a string"),
        (int | str, True, "True is not an integer or a string"),
        (Point | None, {"x": "a"}, "x: 'a' is not an integer"),
    ],
)
def test_refused(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(hint).decode(value)
    assert str(caught.value) == message


def test_two_spellings_of_one_value_fall_together() -> None:
    text = "12345678-1234-5678-1234-56781234567a"
    assert compile_hint(set[UUID]).decode([text, text.upper()]) == {UUID(text)}


@pytest.mark.parametrize(
    "hint", [list[str], dict[str, str], tuple[str, ...], dict[str, Any], list[list[str]]]
)
def test_a_converted_container_is_a_new_one(hint: Any) -> None:
    value: Any = (
        {"a": "x"} if typing.get_origin(hint) is dict else [["x"] if hint == list[list[str]] else "x"]
    )
    assert compile_hint(hint).decode(value) is not value


@pytest.mark.parametrize(
    ("hint", "remedy"),
    [
        (dict[int, str], r"use dict\[str, \.\.\.\]"),
        (set[list[int]], "must be hashable"),
        (set[Point], "frozen dataclass"),
        (tuple[int, *tuple[str, ...]], "use list"),
        (collections.abc.Iterator[int], "use list"),
        (collections.deque[int], "use list"),
        (collections.abc.Callable[[], int], "cannot be sent"),
    ],
)
def test_unsupported(hint: Any, remedy: str) -> None:
    with pytest.raises(UnsupportedType, match=remedy) as caught:
        compile_hint(hint, where="items")
    assert str(caught.value).startswith("items")


# -- encoding --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (list[int], [1, 2]),
        (list[list[int]], [[1], [2]]),
        (dict[str, int], {"a": 1}),
        (dict[str, Any], {"a": [1, {"b": None}]}),
        (int | str, 5),
        (Any, {"a": [1]}),
    ],
)
def test_what_is_json_already_is_not_copied(hint: Any, value: Any) -> None:
    assert compile_hint(hint).encode(value) is value


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (list[int], (1, 2), [1, 2]),
        (list[date], [date(2026, 7, 28)], ["2026-07-28"]),
        (list[list[date]], [[], [date(2026, 7, 28)], []], [[], ["2026-07-28"], []]),
        (set[int], {1}, [1]),
        (tuple[int, date], (1, date(2026, 7, 28)), [1, "2026-07-28"]),
        (
            dict[str, date],
            {"a": date(2026, 7, 28), "b": date(2026, 7, 29)},
            {"a": "2026-07-28", "b": "2026-07-29"},
        ),
        (dict[Color, int], {Color.RED: 1}, {"red": 1}),
        (date | None, None, None),
        (date | None, date(2026, 7, 28), "2026-07-28"),
        (Point | date, Point(1), {"x": 1}),
        (list[Any], [Point(1), {2: 3}], [{"x": 1}, {"2": 3}]),
    ],
)
def test_encode(hint: Any, value: Any, expected: Any) -> None:
    original = repr(value)
    result = compile_hint(hint).encode(value)
    assert result == expected
    assert type(result) is type(expected)
    assert repr(value) == original


def test_encoding_nested_values_takes_linear_time() -> None:
    """Each value is encoded once, however deep it lies."""
    calls = 0

    class Counting(enum.Enum):
        A = "a"

        @property
        def value(self) -> str:
            nonlocal calls
            calls += 1
            return "a"

    value: Any = Counting.A
    for _ in range(40):
        value = [value]
    encode_any(value)
    assert calls == 1


# -- unions of objects -----------------------------------------------------------------------------------


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    tricks: list[str]


@dataclass
class Add:
    left: Add | Mul | int
    right: Add | Mul | int
    op: Literal["+"] = "+"


@dataclass
class Mul:
    left: Add | Mul | int
    right: Add | Mul | int
    op: Literal["*"] = "*"


def test_a_telling_member_chooses_the_arm_and_its_error() -> None:
    decode = compile_hint(Cat | Dog).decode
    assert decode({"kind": "dog", "tricks": []}) == Dog("dog", [])
    with pytest.raises(DecodeError) as caught:
        decode({"kind": "dog", "tricks": [1]})
    assert str(caught.value) == "tricks[0]: 1 is not a string"


def test_an_object_that_fits_no_arm_is_told_why() -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(Cat | Dog).decode({"kind": "cow"})
    assert "a Cat object: kind: 'cow' is not one of 'cat'" in str(caught.value)


def test_hostile_nesting_of_a_recursive_union_ends_soon() -> None:
    """Both arms fit halfway at every level: without a bound, this would take 2**40 steps."""
    value: Any = "no number"
    for _ in range(40):
        value = {"left": value, "right": 1}
    with pytest.raises(DecodeError) as caught:
        compile_hint(Add | Mul).decode(value)
    assert len(str(caught.value)) < 1_000


def test_the_bound_on_wrong_guesses_is_per_value() -> None:
    decode = compile_hint(list[list[int] | list[str]]).decode
    value = [["a"]] * (MAX_WRONG_ARMS + 1)
    assert decode(value) == value
