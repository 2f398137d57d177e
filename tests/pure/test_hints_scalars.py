"""Scalars: schema, conversion in both directions, and what is refused."""

from __future__ import annotations

import enum
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NewType
from uuid import UUID

import pytest

from mcpref.hints import DecodeError, UnsupportedType, compile_hint, encode_any
from mcpref.hints.codec import identity


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Size(enum.StrEnum):
    S = "s"
    L = "l"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


UserId = NewType("UserId", str)
WHEN = datetime(2026, 7, 28, 12, 30, tzinfo=UTC)
UUID_TEXT = "12345678-1234-5678-1234-567812345678"

SCHEMAS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (UserId, {"type": "string"}),
    (datetime, {"type": "string", "format": "date-time"}),
    (date, {"type": "string", "format": "date"}),
    (time, {"type": "string", "format": "time"}),
    (UUID, {"type": "string", "format": "uuid"}),
    (Path, {"type": "string"}),
    (Decimal, {"anyOf": [{"type": "number"}, {"type": "string"}]}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    # `enum`, never `const`, also where there is one choice only
    (Literal["a"], {"type": "string", "enum": ["a"]}),
    (Literal["a", 1, True], {"enum": ["a", 1, True]}),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
    (Color, {"type": "string", "enum": ["red", "green"]}),
    (Size, {"type": "string", "enum": ["s", "l"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
]


@pytest.mark.parametrize(("hint", "schema"), SCHEMAS)
def test_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert compile_hint(hint).schema == schema


@pytest.mark.parametrize("hint", [datetime, time])
def test_outputs_leave_out_formats_that_naive_values_break(hint: Any) -> None:
    assert compile_hint(hint).output_schema == {"type": "string"}


@pytest.mark.parametrize("hint", [date, UUID, str, Color])
def test_other_outputs_are_like_inputs(hint: Any) -> None:
    codec = compile_hint(hint)
    assert codec.output_schema == codec.schema


def test_decimals_are_written_as_strings() -> None:
    codec = compile_hint(Decimal)
    assert codec.output_schema == {"type": "string"}
    assert codec.encode(Decimal("0.10")) == "0.10"


CONVERSIONS: list[tuple[Any, Any, Any]] = [
    (str, "x", "x"),
    (int, 3, 3),
    (int, 1.0, 1),
    (int, 1e20, 10**20),
    (float, 1.5, 1.5),
    (float, 3, 3.0),
    (bool, True, True),
    (None, None, None),
    (Any, [1, {"a": None}], [1, {"a": None}]),
    (UserId, "u1", "u1"),
    (datetime, "2026-07-28T12:30:00Z", WHEN),
    (datetime, "2026-07-28T12:30:00", datetime(2026, 7, 28, 12, 30)),
    (date, "2026-07-28", date(2026, 7, 28)),
    (time, "12:30:00", time(12, 30)),
    (UUID, UUID_TEXT, UUID(UUID_TEXT)),
    (Path, "a/b", Path("a/b")),
    (PurePosixPath, "a/b", PurePosixPath("a/b")),
    (Decimal, "1.10", Decimal("1.10")),
    (Decimal, 3, Decimal(3)),
    (Decimal, 0.1, Decimal("0.1")),
    (bytes, "aGk=", b"hi"),
    (Literal["a", 1], "a", "a"),
    (Literal["a", 1], 1.0, 1),
    (Literal[Color.RED], "red", Color.RED),
    (Color, "green", Color.GREEN),
    (Size, "l", Size.L),
    (Level, 2, Level.HIGH),
]


@pytest.mark.parametrize(("hint", "value", "expected"), CONVERSIONS)
def test_decode(hint: Any, value: Any, expected: Any) -> None:
    result = compile_hint(hint).decode(value)
    assert result == expected
    assert type(result) is type(expected)


REFUSED: list[tuple[Any, Any]] = [
    (str, 1),
    (str, None),
    (int, "10"),
    (int, 1.5),
    (int, True),
    (int, float("inf")),
    (float, "1.5"),
    (float, True),
    (float, 10**400),
    (bool, 1),
    (bool, "true"),
    (None, 0),
    (None, False),
    (datetime, "yesterday"),
    (datetime, 0),
    (date, "2026-07-28T12:30:00"),
    (time, "noon"),
    (UUID, "1234"),
    (UUID, 7),
    (Path, 7),
    (Decimal, "one"),
    (Decimal, "NaN"),
    (Decimal, "Infinity"),
    (Decimal, True),
    (Decimal, None),
    (bytes, "not base64!"),
    (bytes, "ä"),
    (Literal["a", 1], "b"),
    (Literal["a", 1], True),
    (Literal[True], 1),
    (Color, "RED"),
    (Color, ["red"]),
    (Level, 3),
    (Level, True),
]


@pytest.mark.parametrize(("hint", "value"), REFUSED)
def test_refused(hint: Any, value: Any) -> None:
    with pytest.raises(DecodeError):
        compile_hint(hint).decode(value)


@pytest.mark.parametrize("hint", [str, int, float, bool, None])
def test_plain_scalars_are_not_encoded_at_all(hint: Any) -> None:
    assert compile_hint(hint).encode is identity


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (datetime, WHEN, "2026-07-28T12:30:00+00:00"),
        (date, date(2026, 7, 28), "2026-07-28"),
        (time, time(12, 30), "12:30:00"),
        (UUID, UUID(UUID_TEXT), UUID_TEXT),
        (Path, Path("a/b"), "a/b"),
        (bytes, b"hi", "aGk="),
        (Color, Color.RED, "red"),
        (Size, Size.L, "l"),
        (Level, Level.HIGH, 2),
        (Literal[Color.RED], Color.RED, "red"),
    ],
)
def test_encode(hint: Any, value: Any, expected: Any) -> None:
    typed = compile_hint(hint).encode(value)
    by_run_time_type = encode_any(value)
    assert typed == by_run_time_type == expected
    assert type(typed) is type(expected)


def test_the_echo_of_a_value_is_cut() -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(int).decode("x" * 100_000)
    assert len(str(caught.value)) < 150
    assert "is not an integer" in str(caught.value)


class Permission(enum.Flag):
    READ = 1


class Nothing(enum.Enum):
    pass


class Odd(enum.Enum):
    PAIR = (1, 2)


@pytest.mark.parametrize(
    ("hint", "remedy"),
    [
        (Permission, "plain Enum"),
        (Nothing, "no members"),
        (Odd, "use strings"),
        (Literal[b"x"], "use strings"),
    ],
)
def test_choices_that_no_schema_can_list(hint: Any, remedy: str) -> None:
    with pytest.raises(UnsupportedType, match=remedy):
        compile_hint(hint, where="mode")


def test_encoding_something_without_a_json_form() -> None:
    with pytest.raises(TypeError, match="type object cannot be written as JSON"):
        encode_any({"a": [object()]})
