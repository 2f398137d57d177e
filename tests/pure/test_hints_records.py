"""Dataclasses and TypedDicts; generic and recursive types."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)

import pytest
import typing_extensions
from jsonschema import Draft202012Validator

from mcpref.hints import DecodeError, UnsupportedType, compile_hint

T = TypeVar("T")


@dataclass
class Point:
    x: int
    y: float = 1.5


@dataclass
class Documented:
    """Somebody wrote this.

    And this.
    """

    x: int


@dataclass
class Full:
    name: str
    limit: ClassVar[int] = 3
    count: int | None = None
    when: date | None = date(2026, 7, 28)
    tags: list[str] = field(default_factory=list)
    mode: Literal["a", "b"] = "a"
    fixed: Final[int] = 1
    computed: int = field(init=False, default=7)
    _: KW_ONLY
    key: str = "k"


def test_dataclass_schema() -> None:
    assert compile_hint(Point).schema == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "number", "default": 1.5}},
        "required": ["x"],
        "additionalProperties": False,
    }


def test_only_a_written_docstring_is_a_description() -> None:
    assert "description" not in compile_hint(Point).schema
    assert compile_hint(Documented).schema["description"] == "Somebody wrote this.\n\nAnd this."


def test_defaults_and_nulls_of_members() -> None:
    schema = compile_hint(Full).schema
    assert schema["required"] == ["name"]
    assert schema["properties"] == {
        "name": {"type": "string"},
        # None is the default: not required, no default, no null
        "count": {"type": "integer"},
        "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": "2026-07-28"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "fixed": {"type": "integer", "default": 1},
        "key": {"type": "string", "default": "k"},
    }


def test_dataclass_output() -> None:
    schema = compile_hint(Full).output_schema
    assert schema["required"] == ["name"]
    assert list(schema["properties"]) == [field.name for field in dataclasses.fields(Full)]
    assert schema["properties"]["computed"] == {"type": "integer"}
    assert schema["properties"]["count"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert "limit" not in schema["properties"]


def test_dataclass_round_trip() -> None:
    codec = compile_hint(Full)
    value = codec.decode({"name": "n", "count": None, "when": "2026-01-01", "tags": ["t"], "key": "q"})
    assert value == Full("n", None, date(2026, 1, 1), ["t"], key="q")
    encoded = codec.encode(value)
    assert encoded["when"] == "2026-01-01"
    assert encoded["computed"] == 7
    Draft202012Validator(codec.output_schema).validate(encoded)


def test_defaults_are_not_shared() -> None:
    decode = compile_hint(Full).decode
    assert decode({"name": "a"}).tags is not decode({"name": "a"}).tags


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "[] is not an object"),
        ({}, "'x' is missing"),
        ({"x": 1, "z": 2}, "unknown: 'z'; valid names are: x, y"),
        ({"x": "1"}, "x: '1' is not an integer"),
    ],
)
def test_dataclass_refusals(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(Point).decode(value)
    assert str(caught.value) == message


@dataclass
class Range:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low is above high")
        if self.high == 13:
            raise KeyError("a bug")


def test_a_value_error_of_post_init_is_an_input_error() -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(list[Range]).decode([{"low": 2, "high": 1}])
    assert str(caught.value) == "[0]: low is above high"


def test_another_error_of_post_init_is_a_bug() -> None:
    with pytest.raises(KeyError, match="a bug"):
        compile_hint(Range).decode({"low": 2, "high": 13})


def test_a_subclass_is_written_with_the_declared_members() -> None:
    @dataclass
    class Point3(Point):
        z: int = 0

    assert compile_hint(Point).encode(Point3(1, 2.0, 3)) == {"x": 1, "y": 2.0}


def test_an_implied_none_is_taken() -> None:
    cls = dataclasses.make_dataclass("Old", [("count", int, None)])
    codec = compile_hint(cls)
    assert codec.schema["properties"] == {"count": {"type": "integer"}}
    assert codec.decode({"count": None}).count is None
    assert codec.output_schema["properties"] == {"count": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}


@pytest.mark.parametrize("default", [float("nan"), object(), -1])
def test_a_default_without_a_json_form_is_left_out(default: Any) -> None:
    cls = dataclasses.make_dataclass("Odd", [("x", Annotated[float, "a number"], default)])
    assert compile_hint(cls).schema["properties"]["x"] == {
        "type": "number",
        "description": "a number",
        **({"default": -1} if default == -1 else {}),
    }


@dataclass
class UsesInitVar:
    x: InitVar[int]
    y: int = 0


class Pair(NamedTuple):
    a: int
    b: int


@dataclass
class HoldsPair:
    inner: list[Pair]


class Plain:
    pass


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (UsesInitVar, "p.x: InitVar has no JSON form here: an InitVar is not a field"),
        (
            Pair,
            "p: Pair has no JSON form here: a NamedTuple would be an array without names; use a dataclass",
        ),
        (HoldsPair, "p.inner[]: Pair has no JSON form here"),
        (Plain, "p: Plain has no JSON form here: use a dataclass, a TypedDict, a pydantic model"),
        (complex, "p: complex has no JSON form here: JSON has no complex numbers"),
    ],
)
def test_unsupported(hint: Any, message: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        compile_hint(hint, where="p")
    assert str(caught.value).startswith(message)


def test_timedelta_is_refused_with_the_remedy() -> None:
    from datetime import timedelta

    with pytest.raises(UnsupportedType, match="use a float of seconds"):
        compile_hint(timedelta)


# -- TypedDicts ------------------------------------------------------------------------------------------


class Base(TypedDict):
    id: int


class Movie(Base, total=False):
    """A film."""

    title: Required[str]
    year: int
    seen: NotRequired[date]
    note: str | None


class Backport(typing_extensions.TypedDict):
    a: typing_extensions.ReadOnly[int]
    b: typing_extensions.NotRequired[str]


def test_typed_dict_schema() -> None:
    assert compile_hint(Movie).schema == {
        "type": "object",
        "description": "A film.",
        "properties": {
            "id": {"type": "integer"},
            "title": {"type": "string"},
            "year": {"type": "integer"},
            "seen": {"type": "string", "format": "date"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["id", "title"],
    }


def test_typed_dict_of_the_backport() -> None:
    schema = compile_hint(Backport).schema
    assert schema["properties"] == {"a": {"type": "integer"}, "b": {"type": "string"}}
    assert schema["required"] == ["a"]


def test_a_typed_dict_is_open() -> None:
    codec = compile_hint(Movie)
    value = {"id": 1, "title": "M", "seen": "2026-07-28", "other": [1]}
    decoded = codec.decode(value)
    assert decoded == {"id": 1, "title": "M", "seen": date(2026, 7, 28), "other": [1]}
    assert decoded is not value
    assert codec.encode(decoded) == value


def test_a_typed_dict_that_is_json_is_not_copied() -> None:
    value = {"id": 1, "title": "M"}
    assert compile_hint(Movie).encode(value) is value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"year": 1}, "'id', 'title' are missing"),
        ({"id": 1, "title": "M", "year": "x"}, "year: 'x' is not an integer"),
        ("x", "'x' is not an object"),
    ],
)
def test_typed_dict_refusals(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(Movie).decode(value)
    assert str(caught.value) == message


# -- generic types ---------------------------------------------------------------------------------------


@dataclass
class Box(Generic[T]):
    item: T
    more: list[T]


@dataclass
class IntBox(Box[int]):
    name: str


@dataclass
class Nested(Box[list[T]], Generic[T]):
    own: T


class Page(TypedDict, Generic[T]):
    items: list[T]


def _types(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: inner.get("items", inner) for name, inner in schema["properties"].items()}


def test_generic_dataclasses() -> None:
    integer, string = {"type": "integer"}, {"type": "string"}
    assert _types(compile_hint(Box[int]).schema) == {"item": integer, "more": integer}
    assert _types(compile_hint(IntBox).schema) == {"item": integer, "more": integer, "name": string}
    nested = compile_hint(Nested[str]).schema["properties"]
    assert nested["item"] == {"type": "array", "items": string}
    assert nested["own"] == string
    assert compile_hint(Box[date]).decode({"item": "2026-07-28", "more": []}) == Box(date(2026, 7, 28), [])


def test_generic_typed_dict() -> None:
    assert _types(compile_hint(Page[int]).schema) == {"items": {"type": "integer"}}


def test_an_open_type_variable_is_refused() -> None:
    with pytest.raises(UnsupportedType, match="type variable ~T has no value here"):
        compile_hint(Box)


# -- recursive types -------------------------------------------------------------------------------------


@dataclass
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)
    parent: Tree | None = None


class Json(TypedDict):
    value: Json | list[Json] | None


@dataclass
class Left:
    right: Right | None = None


@dataclass
class Right:
    left: Left | None = None


def test_defs_hold_recursive_types_only() -> None:
    @dataclass
    class Holder:
        tree: Tree
        point: Point

    schema = compile_hint(Holder).schema
    assert list(schema["$defs"]) == ["Tree"]
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["properties"]["point"]["type"] == "object"


def test_the_root_of_a_document_is_no_reference() -> None:
    codec = compile_hint(Tree)
    assert codec.schema["type"] == codec.output_schema["type"] == "object"
    assert codec.schema["properties"]["parent"] == {"$ref": "#/$defs/Tree"}
    assert codec.output_schema["properties"]["parent"] == {
        "anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]
    }


def test_recursive_round_trip() -> None:
    codec = compile_hint(Tree)
    value = codec.decode({"name": "a", "children": [{"name": "b", "children": [{"name": "c"}]}]})
    assert value.children[0].children[0] == Tree("c")
    encoded = codec.encode(value)
    Draft202012Validator(codec.output_schema).validate(encoded)
    with pytest.raises(DecodeError) as caught:
        codec.decode({"name": "a", "children": [{"name": "b", "children": [{"name": 1}]}]})
    assert caught.value.path == "children[0].children[0].name"


@pytest.mark.parametrize("hint", [Tree, Json, Left, list[Right], dict[str, Tree] | Left])
def test_recursive_schemas_are_valid(hint: Any) -> None:
    codec = compile_hint(hint)
    for schema in (codec.schema, codec.output_schema):
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).is_valid({})


def test_types_of_one_name_stay_apart() -> None:
    other: Any = dataclass(type("Tree", (), {"__annotations__": {"again": "Tree | None"}, "again": None}))

    @dataclass
    class Holder:
        a: Tree
        b: Any

    Holder.__annotations__["b"] = other
    schema = compile_hint(Holder).schema
    assert list(schema["$defs"]) == ["Tree", "Tree2"]
    assert schema["$defs"]["Tree2"]["properties"] == {"again": {"$ref": "#/$defs/Tree2"}}


Alias = typing_extensions.TypeAliasType("Alias", "dict[str, Alias] | list[Alias] | str | int | None")


def test_a_recursive_alias() -> None:
    codec = compile_hint(Alias)
    Draft202012Validator.check_schema(codec.schema)
    value = {"a": [1, {"b": None}]}
    assert codec.decode(value) == value
    with pytest.raises(DecodeError) as caught:
        codec.decode({"a": [1, True]})
    assert "a[1]" in str(caught.value)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with Python 3.12")
def test_type_statements() -> None:
    namespace: dict[str, Any] = {"__name__": __name__}
    exec("type Pair[T] = tuple[T, T]\ntype Id = int | None\nclass Box[T]:\n  item: T", namespace)
    assert compile_hint(namespace["Pair"][int]).decode([1, 2]) == (1, 2)
    assert compile_hint(namespace["Id"]).schema == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    box = dataclass(namespace["Box"])
    assert compile_hint(box[int]).schema["properties"] == {"item": {"type": "integer"}}
