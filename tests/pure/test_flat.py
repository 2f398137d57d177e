"""Elicitation forms: from types, by hand, and the answers to them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field

from mcpref.hints import DecodeError, Param
from mcpref.hints.flat import check_requested_schema, decode_form, elicitation_codec
from mcpref.versions import ProtocolVersion
from tests.spec import official


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass
class Booking:
    """Not shown: a form has no description."""

    name: Annotated[
        str, Param("as in the passport", title="Name", min_length=1, max_length=40, examples=["Ada"])
    ]
    nights: Annotated[int, Param(minimum=1, maximum=30)]
    price: float
    sure: bool
    room: Literal["single", "double"] = "single"
    color: Color = Color.RED
    extras: list[Literal["tea", "sauna"]] = field(default_factory=list)
    shades: Annotated[set[Color], Param(max_items=2)] = field(default_factory=set)
    arrival: date | None = None
    called: datetime | None = None
    email: Annotated[str | None, Param(format="email")] = None
    note: str | None = None
    floor: int | None = 2


class Short(TypedDict):
    name: str
    age: NotRequired[int]
    nick: str | None


class Model(BaseModel):
    name: str = Field(description="d", min_length=2)
    color: Color = Color.RED
    when: date | None = None


#: PrimitiveSchemaDefinition of schema.ts, each form closed.
_TEXT = {"title": {"type": "string"}, "description": {"type": "string"}}
_STRINGS = {"type": "array", "items": {"type": "string"}, "minItems": 1}


def _form(**properties: Any) -> dict[str, Any]:
    required = [name for name, schema in properties.items() if "const" in schema or name in ("items", "enum")]
    return {"properties": {**_TEXT, **properties}, "required": required, "additionalProperties": False}


PRIMITIVE = {
    "oneOf": [
        _form(
            type={"const": "string"},
            minLength={"type": "integer"},
            maxLength={"type": "integer"},
            format={"enum": ["email", "uri", "date", "date-time"]},
            default={"type": "string"},
        ),
        _form(
            type={"const": "number"},
            minimum={"type": "number"},
            maximum={"type": "number"},
            default={"type": "number"},
        ),
        _form(
            type={"const": "integer"},
            minimum={"type": "number"},
            maximum={"type": "number"},
            default={"type": "number"},
        ),
        _form(type={"const": "boolean"}, default={"type": "boolean"}),
        _form(type={"const": "string"}, enum=_STRINGS, default={"type": "string"}),
        _form(
            type={"const": "array"},
            items={
                "properties": {"type": {"const": "string"}, "enum": _STRINGS},
                "required": ["type", "enum"],
                "additionalProperties": False,
            },
            minItems={"type": "integer"},
            maxItems={"type": "integer"},
            default=_STRINGS,
        ),
    ]
}


@pytest.mark.parity(54)
@pytest.mark.req("elicitation.schema-flat", "elicitation.schema-formats")
@pytest.mark.parametrize("tp", [Booking, Short, Model])
def test_forms_from_types_are_flat(tp: type) -> None:
    form = elicitation_codec(tp).schema
    assert form.keys() <= {"type", "properties", "required"}
    assert form["type"] == "object"
    Draft202012Validator.check_schema(form)
    for schema in form["properties"].values():
        Draft202012Validator(PRIMITIVE).validate(schema)
    check_requested_schema(form)


@pytest.mark.parametrize("tp", [Booking, Short, Model])
@pytest.mark.req("elicitation.form-params")
def test_forms_from_types_fit_the_official_schema(tp: type) -> None:
    root = official.spec_dir()
    if root is None:
        pytest.skip(official.HOW_TO_GET)
    params = {"message": "?", "requestedSchema": elicitation_codec(tp).schema}
    for version in (ProtocolVersion.V2025_11_25, ProtocolVersion.V2026_07_28):
        document = official.load_schemas(root)[version].document
        Draft202012Validator({**document, "$ref": "#/$defs/ElicitRequestFormParams"}).validate(params)


def test_form_of_a_dataclass() -> None:
    form = elicitation_codec(Booking).schema
    assert form["required"] == ["name", "nights", "price", "sure"]
    assert form["properties"] == {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 40,
            "description": "as in the passport",
            "title": "Name",
        },
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
        "price": {"type": "number"},
        "sure": {"type": "boolean"},
        "room": {"type": "string", "enum": ["single", "double"], "default": "single"},
        "color": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["tea", "sauna"]}},
        "shades": {"type": "array", "items": {"type": "string", "enum": ["red", "green"]}, "maxItems": 2},
        "arrival": {"type": "string", "format": "date"},
        "called": {"type": "string", "format": "date-time"},
        "email": {"type": "string", "format": "email"},
        "note": {"type": "string"},
        "floor": {"type": "integer", "default": 2},
    }


def test_a_nullable_field_is_not_required() -> None:
    codec = elicitation_codec(Short)
    assert codec.schema["required"] == ["name"]
    assert codec.decode({"name": "a"}) == {"name": "a", "nick": None}
    assert codec.decode({"name": "a", "nick": "b", "age": 3.0}) == {"name": "a", "nick": "b", "age": 3}


def test_answers_become_instances() -> None:
    answer = {
        "name": "Ada",
        "nights": 2.0,
        "price": 10,
        "sure": True,
        "color": "green",
        "extras": ["tea"],
        "shades": ["red", "red"],
        "arrival": "2026-07-28",
        "called": "2026-07-28T12:00:00Z",
        "unasked": "dropped",
        "note": None,
    }
    booking = elicitation_codec(Booking).decode(answer)
    assert booking.nights == 2
    assert type(booking.nights) is int
    assert booking.color is Color.GREEN
    assert booking.shades == {Color.RED}
    assert booking.arrival == date(2026, 7, 28)
    assert booking.called.tzinfo is not None
    assert booking.note is None


def test_answers_become_models() -> None:
    codec = elicitation_codec(Model)
    assert codec.decode({"name": "ab", "color": "green"}) == Model(name="ab", color=Color.GREEN)
    with pytest.raises(DecodeError, match="name: 'a' is below the minimum of 2"):
        codec.decode({"name": "a"})


@pytest.mark.req("2025-11-25:elicitation.server-validates", "2026-07-28:elicitation.server-validate")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": None}, "'name' is missing"),
        ({"name": ""}, "name: '' is below the minimum of 1"),
        ({"nights": 31}, "nights: 31 is above the maximum of 30"),
        ({"nights": "2"}, "nights: '2' is not an integer"),
        ({"sure": "yes"}, "sure: 'yes' is not a boolean (true or false)"),
        ({"room": "suite"}, "room: 'suite' is not one of 'single', 'double'"),
        ({"extras": ["tea", "gold"]}, "extras: 'gold' is not one of 'tea', 'sauna'"),
        ({"extras": "tea"}, "extras: 'tea' is not an array"),
        ({"shades": ["red", "green", "red"]}, "shades: ['red', 'green', 'red'] is above the maximum of 2"),
        ({"arrival": "soon"}, "arrival: 'soon' is not of the format 'date'"),
        ({"called": "2026-07-28"}, "called: '2026-07-28' is not of the format 'date-time'"),
        ({"email": "nobody"}, "email: 'nobody' is not of the format 'email'"),
    ],
)
def test_answers_are_checked(change: dict[str, Any], message: str) -> None:
    answer = {"name": "Ada", "nights": 2, "price": 10, "sure": True, **change}
    with pytest.raises(DecodeError) as caught:
        elicitation_codec(Booking).decode(answer)
    assert str(caught.value) == message


@dataclass
class Inner:
    x: int


@dataclass
class Recursive:
    next: Recursive | None = None


class NestedModel(BaseModel):
    inner: list[int]


def _with_field(hint: Any) -> type:
    return dataclass(type("Form", (), {"__annotations__": {"f": hint}, "__module__": __name__}))


@pytest.mark.parity(54)
@pytest.mark.req("elicitation.schema-flat", "elicitation.schema-formats")
@pytest.mark.parametrize(
    ("tp", "message"),
    [
        (_with_field(Inner), "Form.f: forms are flat, so a field cannot be an object"),
        (_with_field(Inner | None), "Form.f: forms are flat"),
        (_with_field(dict[str, int]), "Form.f: forms are flat"),
        (Recursive, "Recursive.next: forms are flat"),
        (NestedModel, "NestedModel.inner: an array in a form is a choice of several"),
        (_with_field(list[str]), "Form.f: an array in a form is a choice of several"),
        (_with_field(list[Inner]), "Form.f: an array in a form is a choice of several"),
        (_with_field(list[Literal[1]]), "Form.f: choices must be strings"),
        (_with_field(Literal[1, 2]), "Form.f: choices must be strings"),
        (_with_field(Literal["a", 1]), "Form.f: a field of a form is a string, number"),
        (_with_field(int | str), "Form.f: a field of a form has one type, not several"),
        (_with_field(Decimal), "Form.f: a field of a form has one type, not several"),
        (_with_field(Any), "Form.f: a field of a form is a string, number"),
        (_with_field(time), "Form.f: the format 'time' cannot be used in a form"),
        (_with_field(UUID), "Form.f: the format 'uuid' cannot be used in a form"),
        (_with_field(bytes), "Form.f: 'contentEncoding' cannot be used in a form"),
        (_with_field(tuple[int, int]), "Form.f: 'prefixItems' cannot be used in a form"),
        (_with_field(Annotated[str, Param(pattern="x")]), "Form.f: 'pattern' cannot be used in a form"),
        (_with_field(Annotated[int, Param(multiple_of=2)]), "Form.f: 'multipleOf' cannot be used in a form"),
        (_with_field(Annotated[str, Param(header="X")]), "Form.f: 'x-mcp-header' cannot be used in a form"),
        (_with_field(Annotated[str, Param(format="ipv4")]), "Form.f: the format 'ipv4' cannot be used"),
        (_with_field(complex), "Form.f: complex has no JSON form"),
        (int, "int is no form; use a dataclass, a TypedDict or a pydantic model"),
        (dict, "dict is no form"),
    ],
)
def test_what_is_not_flat_is_refused(tp: type, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        elicitation_codec(tp)
    assert str(caught.value).startswith(message)


# -- by hand ---------------------------------------------------------------------------------------------

TITLED = {"oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]}
TITLED_ITEMS = {"anyOf": TITLED["oneOf"]}
BY_HAND: dict[str, dict[str, Any]] = {
    "plain": {"type": "string", "title": "T", "description": "d", "default": "x"},
    "email": {"type": "string", "format": "email", "default": "a@b"},
    "uri": {"type": "string", "format": "uri"},
    "count": {"type": "integer", "minimum": 0, "maximum": 5, "default": 3},
    "ratio": {"type": "number", "maximum": 1.5, "default": 1},
    "flag": {"type": "boolean", "default": False},
    "one": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "legacy": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "titled": {"type": "string", **TITLED, "default": "#f00"},
    "some": {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1,
        "maxItems": 2,
        "default": ["a"],
    },
    "some-titled": {"type": "array", "items": TITLED_ITEMS, "default": ["#0f0"]},
    "custom": {"type": "string", "x-order": 1},
}
FORM = {"type": "object", "properties": BY_HAND, "required": ["plain"]}


@pytest.mark.req("2026-07-28:elicitation.schema-enum-forms", "2025-11-25:elicitation.schema-enums")
def test_all_primitive_forms_are_accepted() -> None:
    check_requested_schema(FORM)
    check_requested_schema({"type": "object", "properties": {}, "$schema": "x", "title": "t"})


@pytest.mark.req("elicitation.schema-flat", "elicitation.schema-formats")
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "object"}, "property 'p': forms are flat"),
        ({"$ref": "#/x"}, "property 'p': forms are flat"),
        ({"type": ["string", "null"]}, "property 'p': a field of a form has one type"),
        ({"anyOf": [{"type": "string"}]}, "property 'p': a field of a form has one type"),
        ({"type": "null"}, "property 'p': a field of a form is a string"),
        ({}, "property 'p': a field of a form is a string"),
        ("string", "property 'p': not a schema"),
        ({"type": "string", "format": "uuid"}, "property 'p': the format 'uuid' cannot be used"),
        ({"type": "string", "pattern": "x"}, "property 'p': 'pattern' cannot be used"),
        ({"type": "string", "minLength": "1"}, "property 'p': 'minLength' must be an integer"),
        ({"type": "string", "title": 1}, "property 'p': 'title' must be a string"),
        ({"type": "string", "default": 1}, "property 'p': the default does not fit"),
        ({"type": "string", "enum": []}, "property 'p': choices must be a list that is not empty"),
        ({"type": "string", "enum": [1]}, "property 'p': choices must be strings"),
        ({"type": "string", "enum": ["a"], "enumNames": []}, "property 'p': 'enumNames' must have one name"),
        ({"type": "string", "enum": ["a"], "default": "b"}, "property 'p': the default does not fit"),
        (
            {"type": "string", "oneOf": [{"const": "a"}]},
            "property 'p': a titled choice needs 'const' and 'title'",
        ),
        ({"type": "integer", "enum": [1]}, "property 'p': choices must be strings"),
        ({"type": "integer", "minimum": "1"}, "property 'p': 'minimum' must be a number"),
        ({"type": "integer", "default": 1.5}, "property 'p': the default does not fit"),
        ({"type": "array"}, "property 'p': an array in a form is a choice of several"),
        ({"type": "array", "items": {"type": "string"}}, "property 'p': an array in a form is a choice"),
        ({"type": "array", "items": {"type": "object"}}, "property 'p': an array in a form is a choice"),
        ({"type": "array", "items": {"enum": ["a"]}}, "property 'p': choices must be strings"),
    ],
)
def test_other_properties_are_refused(schema: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_requested_schema({"type": "object", "properties": {"p": schema}})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "a form needs 'type': 'object' and 'properties'"),
        ({"type": "object"}, "a form needs 'type': 'object' and 'properties'"),
        ({"type": "object", "properties": {}, "additionalProperties": False}, "a form has only"),
        ({"type": "object", "properties": {}, "$defs": {}}, "a form has only"),
        ({"type": "object", "properties": {}, "required": ["x"]}, "'required' must list names of properties"),
        ({"type": "object", "properties": {}, "required": "x"}, "'required' must list names of properties"),
    ],
)
def test_other_roots_are_refused(schema: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        check_requested_schema(schema)
    assert str(caught.value).startswith(message)


def test_an_answer_to_a_form_by_hand() -> None:
    answer = {"plain": "x", "count": 2.0, "titled": "#0f0", "some-titled": ["#f00"], "one": None, "more": 1}
    assert decode_form(FORM, answer) == {"plain": "x", "count": 2, "titled": "#0f0", "some-titled": ["#f00"]}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([], "[] is not an object"),
        ({}, "'plain' is missing"),
        ({"plain": 1}, "plain: 1 is not a string"),
        ({"plain": "x", "count": 6}, "count: 6 is above the maximum of 5"),
        ({"plain": "x", "ratio": "1"}, "ratio: '1' is not a number"),
        ({"plain": "x", "titled": "Red"}, "titled: 'Red' is not one of '#f00', '#0f0'"),
        ({"plain": "x", "some": []}, "some: [] is below the minimum of 1"),
        ({"plain": "x", "some": [1]}, "some: 1 is not one of 'a', 'b'"),
        ({"plain": "x", "uri": "no scheme"}, "uri: 'no scheme' is not of the format 'uri'"),
    ],
)
@pytest.mark.req("2025-11-25:elicitation.server-validates", "2026-07-28:elicitation.server-validate")
def test_answers_to_a_form_by_hand_are_checked(answer: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_form(FORM, answer)
    assert str(caught.value) == message


def test_a_form_is_compiled_once() -> None:
    assert elicitation_codec(Booking) is elicitation_codec(Booking)
