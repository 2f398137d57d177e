"""Elicitation forms: the narrow part of JSON Schema that a client can show as one flat form.

A form is an object of strings, numbers, booleans and choices; nothing nests. `elicitation_codec` makes one
from a type, `check_requested_schema` accepts one written by hand, `decode_form` holds an answer against it.
Everything is checked without jsonschema: the forms are few.

Spec: 2025-11-25..2026-07-28 client/elicitation#requested-schema
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from .codec import Codec, DecodeError, Schema, UnsupportedType, shorten
from .compiler import compile_hint, is_record
from .containers import any_of
from .models import is_model
from .scalars import decode_bool, decode_float, decode_int, decode_str

FORMATS: Final = ("email", "uri", "date", "date-time")

_COMMON: Final = frozenset({"type", "title", "description", "default"})
_KEYWORDS: Final[dict[str, frozenset[str]]] = {
    "string": _COMMON | {"minLength", "maxLength", "format", "enum", "enumNames", "oneOf"},
    "number": _COMMON | {"minimum", "maximum"},
    "integer": _COMMON | {"minimum", "maximum"},
    "boolean": _COMMON,
    "array": _COMMON | {"minItems", "maxItems", "items"},
}


# -- forms from types ------------------------------------------------------------------------------------


def elicitation_codec(tp: Any) -> Codec:
    """The form that asks for an instance of ``tp``: a flat dataclass, TypedDict or pydantic model.

    A field that may be None is not required, and None where the answer leaves it out. Raises `TypeError`,
    naming the field and why it cannot stand in a form.
    """
    return _compile_form(tp)


@lru_cache(maxsize=256)  # handlers ask in the middle of a call: only the first of them waits for this
def _compile_form(tp: type) -> Codec:
    if not is_record(tp) and not is_model(tp):
        raise UnsupportedType(
            f"{getattr(tp, '__qualname__', tp)} is no form; use a dataclass, a TypedDict or a pydantic model"
        )
    codec = compile_hint(tp, where=tp.__qualname__)
    required = set(codec.schema.get("required", ()))
    properties: dict[str, Schema] = {}
    nullable: list[str] = []
    unique: list[str] = []
    for name, schema in codec.schema.get("properties", {}).items():
        field, takes_null = _form_field(schema)
        if takes_null and name in required:
            required.discard(name)
            nullable.append(name)
        try:
            _check_field(field)
        except ValueError as error:
            raise UnsupportedType(f"{tp.__qualname__}.{name}: {error}") from None
        if schema.get("uniqueItems"):
            unique.append(name)
        properties[name] = field
    form: Schema = {"type": "object", "properties": properties}
    if required:
        form["required"] = [name for name in properties if name in required]
    decode = codec.decode

    def decode_answer(content: Any) -> Any:
        answer = decode_form(form, content)
        for name in nullable:
            answer.setdefault(name, None)
        for name in unique:  # which a form cannot ask for
            if name in answer:
                answer[name] = list(dict.fromkeys(answer[name]))
        return decode(answer)

    return codec.replace(schema=form, decode=decode_answer)


def _form_field(schema: Schema) -> tuple[Schema, bool]:
    """``schema`` without null and without what forms cannot say but need not, and whether it took null."""
    field = {key: value for key, value in schema.items() if key not in ("examples", "uniqueItems")}
    arms = field.get("anyOf")
    if arms is None or {"type": "null"} not in arms:
        return field, False
    del field["anyOf"]
    return {**any_of([arm for arm in arms if arm != {"type": "null"}]), **field}, True


# -- forms written by hand -------------------------------------------------------------------------------


def check_requested_schema(schema: Mapping[str, Any]) -> None:
    """Raise `ValueError`, naming the property, unless ``schema`` is a flat form.

    Spec: 2025-11-25..2026-07-28 client/elicitation#requested-schema
    """
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), Mapping):
        raise ValueError("a form needs 'type': 'object' and 'properties'")
    unknown = schema.keys() - {"$schema", "type", "properties", "required", "title", "description"}
    if unknown:
        raise ValueError(f"a form has only 'type', 'properties' and 'required', not {_list(unknown)}")
    for name, field in schema["properties"].items():
        try:
            _check_field(field)
        except ValueError as error:
            raise ValueError(f"property {name!r}: {error}") from None
    required = schema.get("required", [])
    if not isinstance(required, (list, tuple)) or not all(name in schema["properties"] for name in required):
        raise ValueError("'required' must list names of properties")


def _check_field(field: Any) -> None:
    if not isinstance(field, Mapping):
        raise ValueError("not a schema")
    kind = field.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise ValueError(_why_not(field))
    if "enum" in field and kind != "string":
        raise ValueError("choices must be strings")
    for keyword in sorted(field.keys() - _KEYWORDS[kind]):
        if not keyword.startswith("x-") or keyword == "x-mcp-header":
            raise ValueError(f"{keyword!r} cannot be used in a form ({kind})")
    if kind == "array" or "enum" in field or "oneOf" in field:
        _choices_of(field)
    if field.get("format", "date") not in FORMATS:
        raise ValueError(
            f"the format {field['format']!r} cannot be used in a form; these can: {', '.join(FORMATS)}"
        )
    for keyword in ("title", "description"):
        if not isinstance(field.get(keyword, ""), str):
            raise ValueError(f"{keyword!r} must be a string")
    for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        if type(field.get(keyword, 0)) is not int:
            raise ValueError(f"{keyword!r} must be an integer")
    for keyword in ("minimum", "maximum"):
        if type(field.get(keyword, 0)) not in (int, float):
            raise ValueError(f"{keyword!r} must be a number")
    if "default" in field:
        try:
            _decode_field(field, field["default"])
        except DecodeError as error:
            raise ValueError(f"the default does not fit: {error}") from None


def _why_not(field: Mapping[str, Any]) -> str:
    kind = field.get("type")
    if kind == "object" or "$ref" in field or "properties" in field:
        return "forms are flat, so a field cannot be an object; ask for its members one by one"
    if "anyOf" in field or "oneOf" in field or isinstance(kind, list):
        return "a field of a form has one type, not several"
    return f"a field of a form is a string, number, integer, boolean or a choice, not {shorten(kind, 40)}"


def _choices_of(field: Mapping[str, Any]) -> list[str]:
    """The values of a choice in any of its forms, plain or titled, single or multiple."""
    if field.get("type") == "array":
        items = field.get("items")
        if not isinstance(items, Mapping) or not ("enum" in items or "anyOf" in items):
            raise ValueError(
                "an array in a form is a choice of several: its items need 'enum', or 'anyOf' of const"
            )
        if "enum" in items and items.get("type") != "string":
            raise ValueError("choices must be strings")
        options = items.get("enum", items.get("anyOf"))
        titled = "anyOf" in items
    else:
        options = field.get("enum", field.get("oneOf"))
        titled = "oneOf" in field
    if not isinstance(options, (list, tuple)) or not options:
        raise ValueError("choices must be a list that is not empty")
    if titled:
        for option in options:
            if not isinstance(option, Mapping) or not isinstance(option.get("title"), str):
                raise ValueError("a titled choice needs 'const' and 'title'")
        options = [option.get("const") for option in options]
    if not all(isinstance(value, str) for value in options):
        raise ValueError("choices must be strings")
    names = field.get("enumNames")
    if names is not None and (not isinstance(names, (list, tuple)) or len(names) != len(options)):
        raise ValueError("'enumNames' must have one name for each choice")
    return list(options)


def _list(names: Any) -> str:
    return ", ".join(repr(name) for name in sorted(names))


# -- answers ---------------------------------------------------------------------------------------------


def decode_form(schema: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """The members of ``content`` that the form asked for, checked; raises `DecodeError`.

    What was not asked for is dropped. Null stands for "not filled in", where that is allowed.

    Spec: 2025-11-25..2026-07-28 client/elicitation#form-mode-security SHOULD validate what was received
    """
    if not isinstance(content, dict):
        raise DecodeError(f"{shorten(content)} is not an object")
    required = schema.get("required", ())
    answer: dict[str, Any] = {}
    for name, field in schema["properties"].items():
        value = content.get(name)
        if value is None:
            if name in required:
                raise DecodeError(f"{name!r} is missing")
            continue
        try:
            answer[name] = _decode_field(field, value)
        except DecodeError as error:
            error.under(name)
            raise
    return answer


def _decode_field(field: Mapping[str, Any], value: Any) -> Any:
    kind = field["type"]
    if kind == "array":
        return _decode_several(field, value)
    value = _DECODERS[kind](value)
    if kind in ("integer", "number"):
        _within(value, field.get("minimum"), field.get("maximum"), value)
    elif kind == "string":
        if "enum" in field or "oneOf" in field:
            _one_of(value, _choices_of(field))
        _within(len(value), field.get("minLength"), field.get("maxLength"), value)
        if "format" in field and not _FORMAT_CHECKS[field["format"]](value):
            raise DecodeError(f"{shorten(value)} is not of the format {field['format']!r}")
    return value


def _decode_several(field: Mapping[str, Any], value: Any) -> list[str]:
    if not isinstance(value, list):
        raise DecodeError(f"{shorten(value)} is not an array")
    options = _choices_of(field)
    for item in value:
        _one_of(item, options)
    _within(len(value), field.get("minItems"), field.get("maxItems"), value)
    return list(value)


def _one_of(value: Any, options: list[str]) -> None:
    if not isinstance(value, str) or value not in options:
        raise DecodeError(f"{shorten(value)} is not one of {', '.join(shorten(o, 40) for o in options[:20])}")


def _within(measure: float, low: float | None, high: float | None, value: Any) -> None:
    if low is not None and measure < low:
        raise DecodeError(f"{shorten(value)} is below the minimum of {low}")
    if high is not None and measure > high:
        raise DecodeError(f"{shorten(value)} is above the maximum of {high}")


_DECODERS: Final[dict[str, Callable[[Any], Any]]] = {
    "string": decode_str,
    "integer": decode_int,
    "number": decode_float,
    "boolean": decode_bool,
}


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        return len(text) == 10 and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_datetime(text: str) -> bool:
    from datetime import datetime

    try:
        # A date alone is ISO 8601 as well, but no date-time.
        return len(text) > 10 and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


#: Plausible, not proven: whether an address exists is not to be seen in its text.
_FORMAT_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "email": lambda text: re.fullmatch(r"[^@\s]+@[^@\s]+", text) is not None,
    "uri": lambda text: re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:\S+", text) is not None,
    "date": _is_date,
    "date-time": _is_datetime,
}
