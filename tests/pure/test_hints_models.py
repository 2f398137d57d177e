"""pydantic models, known by their shape."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from enum import Enum
from types import ModuleType
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field, field_validator

from mcpref.hints import DecodeError, UnsupportedType, compile_hint


class Color(Enum):
    RED = "red"


class Address(BaseModel):
    street: str = Field(description="with number", min_length=1)
    color: Color = Color.RED
    note: str | None = None
    kind: Literal["home"] = "home"


class Person(BaseModel):
    """Somebody."""

    name: str
    born: datetime
    addresses: list[Address] = []
    # names that look like keywords
    const: int = 1
    anyOf: int | None = None

    @field_validator("name")
    @classmethod
    def no_digits(cls, value: str) -> str:
        if any(char.isdigit() for char in value):
            raise ValueError("a name has no digits")
        return value


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Forest(BaseModel):
    trees: list[Tree]
    favourite: Tree | None = None


def test_schema_is_inline() -> None:
    schema = compile_hint(Person).schema
    assert "$defs" not in schema
    assert schema["description"] == "Somebody."
    assert schema["required"] == ["name", "born"]
    address = schema["properties"]["addresses"]["items"]["properties"]
    assert address["street"]["description"] == "with number"
    assert address["kind"]["enum"] == ["home"]
    assert "const" not in address["kind"]
    assert address["color"]["enum"] == ["red"]
    # None is the default: no null and no default
    assert address["note"] == {"type": "string", "title": "Note"}


def test_members_named_like_keywords_stay() -> None:
    properties = compile_hint(Person).schema["properties"]
    assert properties["const"]["type"] == "integer"
    assert properties["anyOf"]["type"] == "integer"


def test_output_schema_leaves_out_formats_that_naive_values_break() -> None:
    codec = compile_hint(Person)
    assert codec.schema["properties"]["born"]["format"] == "date-time"
    assert "format" not in codec.output_schema["properties"]["born"]


def test_recursive_models_share_the_defs_of_the_document() -> None:
    codec = compile_hint(dict[str, Forest])
    assert list(codec.schema["$defs"]) == ["Tree"]
    for schema in (codec.schema, codec.output_schema):
        Draft202012Validator.check_schema(schema)
    value = {"f": {"trees": [{"name": "a", "children": [{"name": "b"}]}]}}
    Draft202012Validator(codec.schema).validate(value)
    assert codec.decode(value)["f"].trees[0].children[0].name == "b"
    assert compile_hint(Tree).schema["type"] == "object"


def test_round_trip() -> None:
    codec = compile_hint(Person)
    value = {"name": "Ada", "born": "2026-07-28T00:00:00Z", "addresses": [{"street": "x"}]}
    person = codec.decode(value)
    assert person.addresses[0].color is Color.RED
    encoded = codec.encode(person)
    assert encoded["addresses"] == [{"street": "x", "color": "red", "note": None, "kind": "home"}]
    Draft202012Validator(codec.output_schema).validate(encoded)


def test_plain_data_in_place_of_a_model_is_read_as_one() -> None:
    encoded = compile_hint(Tree).encode({"name": "a"})
    assert encoded == {"name": "a", "children": []}
    assert compile_hint(Tree).encode({"name": 1}) == {"name": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"born": "2026-07-28T00:00:00Z"}, "name: Field required"),
        ({"name": "A1", "born": "2026-07-28T00:00:00Z"}, "name: Value error, a name has no digits"),
        (
            {"name": "A", "born": "2026-07-28T00:00:00Z", "addresses": [{"street": ""}]},
            "addresses[0].street: String should have at least 1 character",
        ),
    ],
)
def test_refusals(value: Any, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        compile_hint(Person).decode(value)
    assert str(caught.value) == message


def test_a_model_without_a_schema_is_refused() -> None:
    class Handle(BaseModel):
        model_config = {"arbitrary_types_allowed": True}
        handle: ModuleType

    with pytest.raises(UnsupportedType, match=r"p: the model .*Handle has no JSON Schema"):
        compile_hint(Handle, where="p")


def test_neither_pydantic_nor_jsonschema_is_imported() -> None:
    program = (
        "import sys; from mcpref.hints import compile_hint; "
        "from dataclasses import make_dataclass as m; compile_hint(m('D', [('x', int)])).decode({'x': 1}); "
        "print([n for n in ('pydantic', 'annotated_types', 'jsonschema', 'asyncio') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
