"""What may stand beside a type in ``Annotated``."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Optional

import annotated_types
import pytest
import typing_extensions
from pydantic import Field

from mcpref.hints import DecodeError, Param, UnsupportedType, compile_hint
from mcpref.hints.constraints import MAX_PATTERN_INPUT


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, Param("how many")], {"type": "integer", "description": "how many"}),
        (
            Annotated[int, Param("days", title="Days", header="Days", minimum=1, maximum=10, examples=[3])],
            {
                "type": "integer",
                "minimum": 1,
                "maximum": 10,
                "description": "days",
                "title": "Days",
                "x-mcp-header": "Days",
                "examples": [3],
            },
        ),
        (
            Annotated[float, Param(exclusive_minimum=0, exclusive_maximum=1.5, multiple_of=0.5)],
            {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5, "multipleOf": 0.5},
        ),
        (
            Annotated[str, Param(min_length=1, max_length=5, pattern="^a", format="email")],
            {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a", "format": "email"},
        ),
        (
            Annotated[list[int], Param(min_items=1, max_items=2)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        ),
        # annotated-types; lengths are of whatever the type is
        (
            Annotated[int, annotated_types.Ge(1), annotated_types.Lt(9), annotated_types.MultipleOf(2)],
            {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2},
        ),
        (
            Annotated[float, annotated_types.Interval(gt=0, le=1)],
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        ),
        (Annotated[str, annotated_types.Len(2, 3)], {"type": "string", "minLength": 2, "maxLength": 3}),
        (Annotated[str, annotated_types.Len(0, 3)], {"type": "string", "maxLength": 3}),
        (
            Annotated[list[int], annotated_types.MinLen(2)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        ),
        (
            Annotated[dict[str, Any], annotated_types.MaxLen(2)],
            {"type": "object", "additionalProperties": True, "maxProperties": 2},
        ),
        (Annotated[int, typing_extensions.Doc("told")], {"type": "integer", "description": "told"}),
        # pydantic
        (
            Annotated[int, Field(ge=1, lt=5, description="d", title="t", examples=[2])],
            {
                "type": "integer",
                "minimum": 1,
                "exclusiveMaximum": 5,
                "description": "d",
                "title": "t",
                "examples": [2],
            },
        ),
        (
            Annotated[str, Field(pattern="^a$", max_length=3)],
            {"type": "string", "maxLength": 3, "pattern": "^a$"},
        ),
        (Annotated[str, Field(json_schema_extra={"x-order": 1})], {"type": "string", "x-order": 1}),
        # what is unknown is left alone
        (Annotated[int, object(), int, ["x"]], {"type": "integer"}),
    ],
)
def test_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert compile_hint(hint).schema == schema


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Annotated[int, Param(minimum=1)], [1, 2.0], [0]),
        (Annotated[int, Param(maximum=1)], [1], [2]),
        (Annotated[int, Param(exclusive_minimum=1)], [2], [1]),
        (Annotated[int, Param(exclusive_maximum=1)], [0], [1]),
        (Annotated[int, Param(multiple_of=3)], [0, 3, -6], [1]),
        (Annotated[float, Param(multiple_of=0.5)], [1.5, 1e308], [1.25]),
        (Annotated[int, Param(multiple_of=0.5)], [1, 10**400], []),
        (Annotated[Decimal, Param(minimum=0, multiple_of=0.1)], ["0.3", 1], ["-0.1", "0.35", -1]),
        (Annotated[str, Param(min_length=2, max_length=3)], ["ab", "äöü"], ["a", "abcd"]),
        (Annotated[str, Param(pattern="b")], ["abc"], ["ac"]),
        (Annotated[date, Param(pattern="^2026")], ["2026-07-28"], ["2025-07-28"]),
        (Annotated[list[int], Param(min_items=1, max_items=2)], [[1], [1, 2]], [[], [1, 2, 3]]),
        (Annotated[set[int], Param(max_items=1)], [[1]], [[1, 2]]),
        (Annotated[dict[str, int], annotated_types.MinLen(1)], [{"a": 1}], [{}]),
        # a limit applies to the arms that it fits
        (Annotated[int | str | None, Param(minimum=1)], [1, "x", None], [0]),
        (Annotated[int, Param(minimum=1)] | None, [1, None], [0]),
        (list[Annotated[int, Param(minimum=1)]], [[1]], [[0]]),
        (dict[Annotated[str, Param(pattern="^x")], int], [{"x1": 1}], [{"y": 1}]),
    ],
)
def test_limits_are_enforced(hint: Any, good: list[Any], bad: list[Any]) -> None:
    decode = compile_hint(hint).decode
    for value in good:
        decode(value)
    for value in bad:
        with pytest.raises(DecodeError):
            decode(value)


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Annotated[str, Param(minimum=1)], "p: minimum cannot apply to a string"),
        (Annotated[int, Param(min_length=1)], "p: minLength cannot apply to an integer"),
        (
            Annotated[list[int], Param(min_length=1)],
            "p: minLength cannot apply to an array; for arrays use min_items and max_items",
        ),
        (Annotated[str, Param(max_items=1)], "p: maxItems cannot apply to a string"),
        (Annotated[bool, Param(minimum=1)], "p: minimum cannot apply to a boolean"),
        (Annotated[bytes, Param(min_length=1)], "p: minLength cannot apply to base64"),
        (Annotated[int, annotated_types.MinLen(1)], "p: min_length cannot apply to an integer"),
        (Annotated[int, Param(pattern="x")], "p: pattern cannot apply to an integer"),
        (Annotated[str, Param(pattern="(")], "p: the pattern '(' is no regular expression"),
        (Annotated[str, Param(pattern=re.compile("x"))], "p: pattern must be a string"),  # type: ignore[arg-type]
        (Annotated[str, Param(min_length=-1)], "p: minLength must be a whole number from 0 up"),
        (Annotated[int, Param(multiple_of=0)], "p: multipleOf must be greater than 0"),
        (Annotated[int, Param(minimum=True)], "p: minimum must be a number, not True"),
        (Annotated[date, annotated_types.Ge(date(2026, 7, 28))], "p: minimum must be a number"),
        (Annotated[str, Param(format=1)], "p: format must be a string"),  # type: ignore[arg-type]
        (Annotated[int, Field(default=1)], "p: a Field in Annotated cannot carry a default"),
        (Annotated[int, Field(default_factory=int)], "p: a Field in Annotated cannot carry a default"),
        (Annotated[int, Field(alias="q")], "p: a Field in Annotated cannot rename its parameter"),
        (list[Annotated[str, Param(minimum=1)]], "p[]: minimum cannot apply to a string"),
    ],
)
def test_a_constraint_of_the_wrong_kind_fails(hint: Any, message: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        compile_hint(hint, where="p")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("hint", [float, list[int], dict[str, int], int | str, Any])
@pytest.mark.req("2026-07-28:headers.xh-primitive-only")
def test_a_header_needs_an_integer_a_string_or_a_boolean(hint: Any) -> None:
    with pytest.raises(UnsupportedType, match="a header can mirror"):
        compile_hint(Annotated[hint, Param(header="X")])


@pytest.mark.parametrize("hint", [int, str, bool, int | None])
def test_headers_are_for_inputs_only(hint: Any) -> None:
    codec = compile_hint(Annotated[hint, Param(header="X")])
    assert codec.schema["x-mcp-header"] == "X"
    assert "x-mcp-header" not in codec.output_schema


def test_a_description_of_one_arm_describes_the_whole() -> None:
    described = {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "days"}
    assert compile_hint(Annotated[int, "days"] | None).schema == described
    assert compile_hint(Annotated[int | None, "days"]).schema == described
    assert compile_hint(Optional[Annotated[int, Param("days")]]).schema == described  # noqa: UP045


def test_descriptions_of_several_arms_stay_with_them() -> None:
    schema = compile_hint(Annotated[int, "a count"] | Annotated[str, "a name"]).schema
    assert [arm["description"] for arm in schema["anyOf"]] == ["a count", "a name"]


def test_the_text_that_a_pattern_is_tried_on_is_bounded() -> None:
    decode = compile_hint(Annotated[str, Param(pattern="x")]).decode
    assert decode("x" * MAX_PATTERN_INPUT)
    with pytest.raises(DecodeError, match="too long"):
        decode("x" * (MAX_PATTERN_INPUT + 1))


def test_repr_names_what_is_set() -> None:
    assert repr(Param("x", minimum=1)) == "Param(description='x', minimum=1)"
