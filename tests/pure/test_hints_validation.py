"""Schemas written by hand: dialects, references, bounds; and how complaints are worded."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref.hints import InvalidSchema, SchemaValidator
from mcpref.hints.constraints import MAX_PATTERN_INPUT
from mcpref.hints.validation import MAX_PROBLEMS, MAX_SCHEMA_DEPTH, MAX_SUBSCHEMAS

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
#: Says of an array: its first item is a string. Each dialect has its own word for it.
NEW_PAIR = {"prefixItems": [{"type": "string"}]}
TOO_COMPLEX = "the value is too complex for its schema to be checked"
OLD_PAIR = {"items": [{"type": "string"}]}


def errors(schema: dict[str, Any], value: Any) -> list[str]:
    validator = SchemaValidator(schema)
    validator.check()
    return validator.errors(value)


@pytest.mark.req("2026-07-28:schema.default-dialect-2020-12", "2026-07-28:schema.support-2020-12")
@pytest.mark.req("2025-11-25:tools.input-schema-dialect")
def test_the_default_dialect_is_2020_12() -> None:
    assert errors(NEW_PAIR, [1]) == ["[0]: 1 is not of type 'string'"]
    assert errors({"dependentRequired": {"a": ["b"]}}, {"a": 1}) == ["'b' is a dependency of 'a'"]
    assert errors({"$schema": DRAFT_2020, **NEW_PAIR}, [1]) == ["[0]: 1 is not of type 'string'"]


@pytest.mark.req("2026-07-28:schema.explicit-dialect", "2026-07-28:schema.validate-by-dialect")
def test_a_named_dialect_rules() -> None:
    assert errors({"$schema": DRAFT_7, **NEW_PAIR}, [1]) == []  # unknown there
    assert errors({"$schema": DRAFT_7, **OLD_PAIR}, [1]) == ["[0]: 1 is not of type 'string'"]
    with pytest.raises(InvalidSchema, match="not a valid JSON Schema at items"):
        SchemaValidator(OLD_PAIR).check()


@pytest.mark.parametrize("dialect", ["https://example.com/dialect", "", 7])
@pytest.mark.req("2026-07-28:schema.unsupported-dialect-error")
def test_an_unsupported_dialect_is_named(dialect: Any) -> None:
    with pytest.raises(
        InvalidSchema, match=r"^tool 'x': the dialect .* is not supported; use https://json-schema"
    ):
        SchemaValidator({"$schema": dialect, "type": "object"}).check("tool 'x'")


@pytest.mark.parametrize(
    ("schema", "where"),
    [
        ({"type": "objekt"}, "at type"),
        ({"properties": {"a": {"minimum": "1"}}}, "at properties.a.minimum"),
        ({"pattern": "("}, "at pattern"),
        ({"required": "a"}, "at required"),
    ],
)
@pytest.mark.req("2026-07-28:schema.valid-per-dialect", "2025-11-25:tools.input-schema-valid")
def test_an_invalid_schema_is_refused(schema: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidSchema, match=f"not a valid JSON Schema {where}"):
        SchemaValidator(schema).check()


# -- references ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        "http://127.0.0.1:9/schema.json",
        "https://example.com/x",
        "file:///etc/passwd",
        "#/$defs/none",
        "other",
    ],
)
@pytest.mark.req(
    "2026-07-28:schema.ref-no-network-fetch",
    "2026-07-28:schema.ref-fetch-default-off",
    "2026-07-28:schema.ref-unresolved-reject",
)
def test_a_foreign_reference_is_refused_and_never_followed(
    reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("urllib.request.urlopen", opened.append)
    monkeypatch.setattr("socket.create_connection", opened.append)
    schema = {"properties": {"a": {"$ref": reference}}}
    with pytest.raises(
        InvalidSchema, match=r"\$ref .* does not resolve within the schema, and nothing is fetched"
    ):
        SchemaValidator(schema).check()
    assert opened == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name", "type": "integer"}}},
        {
            "$id": "https://example.com/root",
            "$ref": "inner",
            "$defs": {"a": {"$id": "inner", "type": "integer"}},
        },
    ],
)
def test_references_within_the_schema_resolve(schema: dict[str, Any]) -> None:
    assert errors(schema, 1) == []
    assert errors(schema, "1") == ["'1' is not of type 'integer'"]


def test_the_metaschemas_are_at_hand() -> None:
    assert errors({"$ref": DRAFT_2020}, {"type": "string"}) == []
    assert errors({"$ref": DRAFT_2020}, {"type": "objekt"}) != []


# -- bounds ----------------------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(depth - 1):
        schema = {"properties": {"a": schema}}
    return schema


@pytest.mark.req("2026-07-28:schema.validation-bounds")
def test_depth_is_bounded() -> None:
    SchemaValidator(nested(MAX_SCHEMA_DEPTH)).check()
    for depth in (MAX_SCHEMA_DEPTH + 1, 5_000):
        with pytest.raises(InvalidSchema, match="nested too deeply: at most 32 levels"):
            SchemaValidator(nested(depth)).check()


@pytest.mark.req("2026-07-28:schema.validation-bounds")
def test_size_is_bounded() -> None:
    def wide(count: int) -> dict[str, Any]:
        return {"properties": {f"p{index}": {} for index in range(count - 1)}}

    SchemaValidator(wide(MAX_SUBSCHEMAS)).check()
    with pytest.raises(InvalidSchema, match="too large: at most 1000 subschemas"):
        SchemaValidator(wide(MAX_SUBSCHEMAS + 1)).check()


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
@pytest.mark.req("2026-07-28:schema.validation-bounds")
def test_endless_references_are_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchema, match="leads back to itself without end"):
        SchemaValidator(schema).check()


@pytest.mark.req("2026-07-28:schema.validation-bounds")
def test_an_exponential_schema_ends_soon() -> None:
    """Each definition asks for the next one twice: 2**30 evaluations without a bound."""
    defs: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    defs["d30"] = {"type": "string"}
    assert errors({"$ref": "#/$defs/d0", "$defs": defs}, "x") == [TOO_COMPLEX]


@pytest.mark.req("2026-07-28:schema.validation-bounds")
def test_a_hostile_value_for_an_honest_schema_ends_soon() -> None:
    """Either arm of the union looks at the whole inside: 2**40 evaluations without a bound."""
    arm = {"type": "object", "properties": {"next": {"$ref": "#"}, "kind": {"type": "string"}}}
    schema = {
        "anyOf": [
            {**arm, "required": ["a"]},
            {**arm, "required": ["b"]},
            {"type": "integer"},
        ]
    }
    validator = SchemaValidator(schema)
    validator.check()
    value: Any = 1
    for _ in range(40):
        value = {"next": value}
    assert validator.errors(value) == [TOO_COMPLEX]
    assert validator.errors({"next": {"next": 1, "a": 1}, "b": 1}) == []


def test_large_honest_values_pass() -> None:
    tree = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}
    value: Any = {"kids": [{"kids": [{} for _ in range(300)]} for _ in range(50)]}
    assert errors(tree, value) == []


def test_unique_items_of_objects_take_linear_time() -> None:
    schema = {"uniqueItems": True}
    objects = [{"id": index} for index in range(20_000)]
    assert errors(schema, objects) == []
    assert "has non-unique elements" in errors(schema, [*objects, {"id": 5}])[0]
    assert errors(schema, [1, True, "1", [1], {"a": 1}]) == []
    assert errors(schema, [1, 1.0]) != []


@pytest.mark.parametrize("schema", [{"pattern": "x"}, {"properties": {"a": {"pattern": "x"}}}])
def test_the_text_that_a_pattern_is_tried_on_is_bounded(schema: dict[str, Any]) -> None:
    def wrap(text: str) -> Any:
        return text if "pattern" in schema else {"a": text}

    assert errors(schema, wrap("x" * MAX_PATTERN_INPUT)) == []
    assert "is too long" in errors(schema, wrap("x" * (MAX_PATTERN_INPUT + 1)))[0]


def test_the_names_that_a_pattern_is_tried_on_are_bounded() -> None:
    schema = {"patternProperties": {"^x": {"type": "integer"}}}
    assert errors(schema, {"x" * MAX_PATTERN_INPUT: 1}) == []
    assert errors(schema, {"x": "a"}) == ["x: 'a' is not of type 'integer'"]
    assert "a name is too long" in errors(schema, {"x" * (MAX_PATTERN_INPUT + 1): 1})[0]


def test_a_number_beyond_floats_does_not_crash() -> None:
    assert errors({"multipleOf": 0.5}, 10**400) == ["a number is too large to be checked"]


# -- wording ---------------------------------------------------------------------------------------------

STOPS = {
    "type": "object",
    "properties": {
        "stops": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "kind": {"enum": ["bus", "tram"]}},
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "when": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stops": [{"name": 5}]}, ["stops[0].name: 5 is not of type 'string'"]),
        ({"stops": [{}]}, ["stops[0]: 'name' is a required property"]),
        ({"stops": [{"name": "a", "kind": "car"}]}, ["stops[0].kind: 'car' is not one of ['bus', 'tram']"]),
        ({"stops": [{"name": "a", "x y": 1}]}, ["stops[0]: unknown: 'x y'; valid names are: name, kind"]),
        (
            {"when": "now"},
            [
                "when: 'now' is not valid under any of the given schemas "
                "('now' is not of type 'integer'; 'now' is not of type 'null')"
            ],
        ),
    ],
)
def test_wording(value: Any, expected: list[str]) -> None:
    assert errors(STOPS, value) == expected


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, "x" * 1_000_000),
        ({"type": "integer"}, {"a": ["x" * 1_000_000]}),
        ({"anyOf": [{"type": "integer"}, {"maxLength": 3}]}, "x" * 1_000_000),
        ({"items": False}, ["x" * 1_000_000] * 2),
        ({"additionalProperties": False}, {"x" * 1_000_000: 1}),
        ({"properties": {"a": {"enum": [f"choice {n}" for n in range(1_000)]}}}, {"a": "b"}),
    ],
)
def test_messages_are_cut(schema: dict[str, Any], value: Any) -> None:
    (message,) = errors(schema, value)
    assert len(message) < 400


def test_the_number_of_complaints_is_bounded() -> None:
    assert len(errors({"items": {"type": "string"}}, [1] * 1_000)) == MAX_PROBLEMS


def test_first_use_by_many_threads_at_once() -> None:
    validator = SchemaValidator(STOPS)
    barrier = threading.Barrier(8)
    found: list[list[str]] = []

    def use() -> None:
        barrier.wait(timeout=10)
        found.append(validator.errors({"when": "now"}))

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(found) == 8
    assert all(messages == found[0] for messages in found)
