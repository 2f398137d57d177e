"""The converters and jsonschema give the same verdict on any value, save where they differ on purpose.

The values are made from what fits by small damage: a member lost, added or replaced at any depth. Random JSON
would nearly always be refused by both for the same dull reason.
"""

from __future__ import annotations

import copy
import enum
import random
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mcpref.hints import DecodeError, Param, compile_hint
from mcpref.hints.results import compile_return


class Color(enum.StrEnum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Stop:
    name: str
    minutes: int = 0
    tags: list[str] = field(default_factory=list)
    color: Color | None = Color.RED


@dataclass
class Tree:
    label: Annotated[str, Param(min_length=1, max_length=4)]
    children: list[Tree] = field(default_factory=list)


class Note(TypedDict):
    text: str
    stars: NotRequired[Annotated[int, Param(minimum=1, maximum=5)]]


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    good: bool = True


#: A hint and a value that fits; every part of each schema is one that both sides can judge.
CASES: list[tuple[Any, Any]] = [
    (str, "a"),
    (int, 3),
    (float, 1.5),
    (bool, True),
    (None, None),
    (Any, {"a": [1]}),
    (int | str, 3),
    (int | None, None),
    (bool | float | list[int], [1]),
    (Literal["a", 1, None], "a"),
    (Literal[True, 2], True),
    (Color, "red"),
    (Level, 1),
    (list[int], [1, 2]),
    (list[list[str] | int], [["a"], 1]),
    (tuple[int, str], [1, "a"]),
    (tuple[()], []),
    (set[int | str], [1, "a"]),
    (dict[str, float], {"a": 1.5, "b": 2}),
    (dict[Color, list[Level]], {"red": [1, 2]}),
    (Annotated[int, Param(minimum=1, maximum=5, multiple_of=2)], 4),
    (Annotated[float, Param(exclusive_minimum=0, exclusive_maximum=10, multiple_of=0.5)], 1.5),
    (Annotated[str, Param(pattern="^[a-c]+$", max_length=3)], "abc"),
    (Annotated[list[int], Param(min_items=1, max_items=2)], [1]),
    (Stop, {"name": "a", "minutes": 3, "tags": ["x"], "color": "green"}),
    (list[Stop], [{"name": "a"}, {"name": "b", "color": None}]),
    (Tree, {"label": "a", "children": [{"label": "b", "children": [{"label": "c"}]}]}),
    (Note, {"text": "a", "stars": 3, "more": [1]}),
    (list[Note | None], [{"text": "a"}, None]),
    (Cat | Dog, {"kind": "dog", "good": False}),
    (list[Cat | Dog | str], [{"kind": "cat", "lives": 9}, "x"]),
    (dict[str, Tree | list[Cat]], {"a": {"label": "x"}, "b": [{"kind": "cat", "lives": 1}]}),
]
COMPILED = [(compile_hint(hint), value) for hint, value in CASES]

ODDITIES: list[Any] = [
    None, True, False, 0, 1, 2, -1, 1.0, 2.0, 1.5, 4, 5, 6, 10**30, "", "a", "red", "cat", "1", "aaaa", "aaaaa",
    [], [1], [1, 1], [1, 1.0], [1, True], ["a"], [[]], {}, {"a": 1}, {"name": "x"}, {"label": "x"}, {"kind": "cat"},
]  # fmt: skip
NAMES = ["name", "label", "kind", "minutes", "color", "a", "red", "children", "x y", ""]


def damaged(value: Any, chance: random.Random) -> Any:
    """``value`` with one change somewhere inside."""
    if isinstance(value, dict) and value and chance.random() < 0.7:
        key = chance.choice(list(value))
        choice = chance.random()
        if choice < 0.2:
            return {name: item for name, item in value.items() if name != key}
        if choice < 0.4:
            return {**value, chance.choice(NAMES): copy.deepcopy(chance.choice(ODDITIES))}
        return {**value, key: damaged(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.7:
        index = chance.randrange(len(value))
        choice = chance.random()
        if choice < 0.2:
            return value[:index] + value[index + 1 :]
        if choice < 0.4:
            return [*value, copy.deepcopy(chance.choice([*value, *ODDITIES]))]
        return [*value[:index], damaged(value[index], chance), *value[index + 1 :]]
    return copy.deepcopy(chance.choice(ODDITIES))


def accepts(decode: Any, value: Any) -> bool:
    try:
        decode(value)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize(("codec", "value"), COMPILED, ids=[str(hint) for hint, _ in CASES])
def test_what_fits_is_accepted_by_both(codec: Any, value: Any) -> None:
    assert accepts(codec.decode, value)
    Draft202012Validator(codec.schema).validate(value)


@pytest.mark.req("2026-07-28:tools.validate-inputs", "2025-11-25:tools.validate-input")
@given(case=st.sampled_from(COMPILED), seed=st.integers(0, 2**32), times=st.integers(1, 3))
def test_same_verdict(case: Any, seed: int, times: int) -> None:
    codec, value = case
    chance = random.Random(seed)
    for _ in range(times):
        value = damaged(value, chance)
    before = copy.deepcopy(value)
    assert accepts(codec.decode, value) == Draft202012Validator(codec.schema).is_valid(value), value
    assert value == before, "decoding changed the request"


@given(case=st.sampled_from(COMPILED), seed=st.integers(0, 2**32))
def test_what_is_written_fits_the_output_schema_and_is_read_back(case: Any, seed: int) -> None:
    codec, value = case
    value = damaged(value, random.Random(seed))
    try:
        decoded = codec.decode(value)
    except DecodeError:
        return
    written = codec.encode(decoded)
    Draft202012Validator(codec.output_schema).validate(written)
    assert codec.decode(written) == decoded


def _promise(hint: Any) -> Any:
    def function() -> Any: ...

    function.__annotations__["return"] = hint
    return compile_return(function, name="f", is_content_type=lambda hint: False)


RETURNS = [
    (_promise(hint), value)
    for hint, value in [*CASES, (list[Decimal], ["1.5"]), (list[date], ["2026-07-28"])]
]


@pytest.mark.req("2026-07-28:tools.output-conforms", "2025-11-25:tools.output-conforms")
@given(
    case=st.sampled_from([case for case in RETURNS if case[0].output_schema is not None]),
    seed=st.integers(0, 2**32),
)
def test_what_passes_the_check_of_results_fits_the_output_schema(case: Any, seed: int) -> None:
    """Functions return what they like; whatever is not complained about is as promised."""
    spec, value = case
    try:
        written = spec.encode(damaged(value, random.Random(seed)))
    except TypeError:
        return
    if not spec.check(written):
        Draft202012Validator(spec.output_schema).validate(written)


@pytest.mark.parametrize(("codec", "value"), COMPILED, ids=[str(hint) for hint, _ in CASES])
@pytest.mark.req("2026-07-28:schema.valid-per-dialect", "2026-07-28:schema.use-2020-12")
def test_every_schema_is_valid_2020_12(codec: Any, value: Any) -> None:
    for schema in (codec.schema, codec.output_schema):
        Draft202012Validator.check_schema(schema)
        assert not _has_type_list(schema)


def _has_type_list(schema: Any) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("type"), list) or any(_has_type_list(item) for item in schema.values())
    return isinstance(schema, list) and any(_has_type_list(item) for item in schema)


# -- where they differ on purpose ------------------------------------------------------------------------


@dataclass
class Span:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        # formats are annotations to jsonschema; we must have the value
        (datetime, "yesterday"),
        (date, "yesterday"),
        (UUID, "1234"),
        (bytes, "?"),
        (Decimal, "one"),
        # rules that no schema can say
        (Span, {"low": 2, "high": 1}),
        # numbers that a float cannot hold
        (float, 10**400),
        # what would have to be hashed
        (set[Any], [[1]]),
        # a text so long that trying a pattern on it could take for ever
        (Annotated[str, Param(pattern="a")], "a" * 10_001),
        (Annotated[Decimal, Param(minimum=1)], "0"),
    ],
)
def test_the_converter_knows_more(hint: Any, value: Any) -> None:
    codec = compile_hint(hint)
    Draft202012Validator(codec.schema).validate(value)
    assert not accepts(codec.decode, value)


@dataclass
class Optional_:
    count: int | None = None


def test_null_is_taken_where_it_is_the_default() -> None:
    codec = compile_hint(Optional_)
    assert accepts(codec.decode, {"count": None})
    assert not Draft202012Validator(codec.schema).is_valid({"count": None})


def test_numbers_mean_what_json_schema_says() -> None:
    """1.0 is an integer, and true is no number: both agree."""
    codec = compile_hint(int)
    for value, fits in ((1.0, True), (1.5, False), (True, False), (2**70, True)):
        assert accepts(codec.decode, value) == Draft202012Validator(codec.schema).is_valid(value) == fits


def test_paths_take_any_text() -> None:
    assert compile_hint(Path).decode("a\0b") == Path("a\0b")
