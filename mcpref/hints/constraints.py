"""`Param`, and what else may stand beside a type in ``Annotated``.

Three notations mean the same: our own `Param`, annotated-types (``Ge(1)``), pydantic's ``Field(ge=1)``. The
last two are read by their attributes, never imported. Metadata of other kinds is left alone, as PEP 593 asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from .codec import Codec, DecodeError, Family, Schema, UnsupportedType, shorten
from .containers import annotate, union_of
from .scalars import NULL

#: Longest text that a ``pattern`` is tried on. Patterns that backtrack take time out of all proportion to it.
MAX_PATTERN_INPUT: Final = 10_000

Number = int | float


class Param:
    """Describes a parameter or a field: ``Annotated[int, Param("how many days", minimum=1, header="Days")]``.

    ``header`` mirrors the argument into the HTTP header ``Mcp-Param-<header>``.

    Spec: 2026-07-28 basic/transports/streamable-http#schema-extension
    """

    __slots__ = (
        "description",
        "examples",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "header",
        "max_items",
        "max_length",
        "maximum",
        "min_items",
        "min_length",
        "minimum",
        "multiple_of",
        "pattern",
        "title",
    )

    def __init__(
        self,
        description: str | None = None,
        /,
        *,
        title: str | None = None,
        header: str | None = None,
        minimum: Number | None = None,
        maximum: Number | None = None,
        exclusive_minimum: Number | None = None,
        exclusive_maximum: Number | None = None,
        multiple_of: Number | None = None,
        min_length: int | None = None,
        max_length: int | None = None,
        pattern: str | None = None,
        format: str | None = None,
        min_items: int | None = None,
        max_items: int | None = None,
        examples: Sequence[Any] | None = None,
    ) -> None:
        self.description = description
        self.title = title
        self.header = header
        self.minimum = minimum
        self.maximum = maximum
        self.exclusive_minimum = exclusive_minimum
        self.exclusive_maximum = exclusive_maximum
        self.multiple_of = multiple_of
        self.min_length = min_length
        self.max_length = max_length
        self.pattern = pattern
        self.format = format
        self.min_items = min_items
        self.max_items = max_items
        self.examples = examples

    def __repr__(self) -> str:
        given = ((name, getattr(self, name)) for name in self.__slots__)
        return f"Param({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"


# -- reading metadata ------------------------------------------------------------------------------------

#: Attribute of a `Param` -> keyword of the schema.
_PARAM_KEYWORDS: Final = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusive_minimum": "exclusiveMinimum",
    "exclusive_maximum": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
    "min_items": "minItems",
    "max_items": "maxItems",
}
#: Attribute of annotated-types and pydantic metadata -> keyword; lengths are of whatever the type is.
_FOREIGN_KEYWORDS: Final = {
    "gt": "exclusiveMinimum",
    "ge": "minimum",
    "lt": "exclusiveMaximum",
    "le": "maximum",
    "multiple_of": "multipleOf",
    "min_length": "min",
    "max_length": "max",
    "pattern": "pattern",
}
_ANNOTATIONS: Final = {"description": "description", "title": "title", "header": "x-mcp-header"}

_FAMILIES: Final[dict[str, Family]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("minItems", "maxItems"), "array"),
    **dict.fromkeys(("minProperties", "maxProperties"), "object"),
}
#: How a length is called in each family.
_LENGTHS: Final[dict[tuple[str, Family], str]] = {
    ("min", "string"): "minLength",
    ("max", "string"): "maxLength",
    ("min", "array"): "minItems",
    ("max", "array"): "maxItems",
    ("min", "object"): "minProperties",
    ("max", "object"): "maxProperties",
}


def _read(metadata: Any) -> Iterator[tuple[str, Any]]:
    """The keywords that one piece of metadata gives."""
    if isinstance(metadata, str):
        yield "description", metadata
    elif isinstance(metadata, Param):
        for attribute, keyword in (*_PARAM_KEYWORDS.items(), *_ANNOTATIONS.items()):
            value = getattr(metadata, attribute)
            if value is not None:
                yield keyword, value
        if metadata.examples is not None:
            yield "examples", list(metadata.examples)
    else:
        yield from _read_foreign(metadata)


def _read_foreign(metadata: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(metadata, type):
        return
    extra = getattr(metadata, "json_schema_extra", None)
    inner = getattr(metadata, "metadata", None)
    if isinstance(inner, list):  # pydantic's FieldInfo keeps its constraints in a list of its own
        _check_field(metadata)
        for item in inner:
            yield from _read_foreign(item)
    for attribute, keyword in _FOREIGN_KEYWORDS.items():
        value = getattr(metadata, attribute, None)
        # A minimal length of 0 is the default of `Len` and says nothing.
        if value is not None and not callable(value) and (keyword, value) != ("min", 0):
            yield keyword, value
    for attribute, keyword in (
        ("documentation", "description"),
        ("description", "description"),
        ("title", "title"),
    ):
        value = getattr(metadata, attribute, None)
        if isinstance(value, str):
            yield keyword, value
    examples = getattr(metadata, "examples", None)
    if isinstance(examples, (list, tuple)) and examples:
        yield "examples", list(examples)
    if isinstance(extra, dict):
        yield from extra.items()


def _check_field(field: Any) -> None:
    unset = type(getattr(field, "default", None)).__name__ == "PydanticUndefinedType"
    if not unset or getattr(field, "default_factory", None) is not None:
        raise UnsupportedType("a Field in Annotated cannot carry a default; write it as `= value`")
    if getattr(field, "alias", None) is not None:
        raise UnsupportedType("a Field in Annotated cannot rename its parameter; leave out the alias")


# -- applying them ---------------------------------------------------------------------------------------


def constrain(codec: Codec, metadata: Iterable[Any]) -> Codec:
    """``codec`` with all that stands beside it in ``Annotated``; a limit that cannot apply is an error."""
    keywords = {keyword: value for item in metadata for keyword, value in _read(item)}
    limits = {key: value for key, value in keywords.items() if key in _FAMILIES or key in ("min", "max")}
    annotations = {key: value for key, value in keywords.items() if key not in limits}
    for keyword, value in limits.items():
        _check_value(keyword, value)
    if limits:
        codec = _limit(codec, limits)
    if "x-mcp-header" in annotations:
        _check_header(codec)
    return annotate(codec, annotations) if annotations else codec


def _check_value(keyword: str, value: Any) -> None:
    if keyword == "pattern":
        if not isinstance(value, str):
            raise UnsupportedType(f"pattern must be a string, not {shorten(value, 40)}")
        try:
            re.compile(value)
        except re.error as error:
            raise UnsupportedType(f"the pattern {value!r} is no regular expression: {error}") from None
    elif keyword == "format":
        if not isinstance(value, str):
            raise UnsupportedType(f"format must be a string, not {shorten(value, 40)}")
    elif _FAMILIES.get(keyword) == "number":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise UnsupportedType(f"{keyword} must be a number, not {shorten(value, 40)}")
        if keyword == "multipleOf" and value <= 0:
            raise UnsupportedType("multipleOf must be greater than 0")
    elif isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UnsupportedType(f"{keyword} must be a whole number from 0 up, not {shorten(value, 40)}")


def _check_header(codec: Codec) -> None:
    # Spec: 2026-07-28 basic/transports/streamable-http#schema-extension MUST be integer, string or boolean
    kinds = [arm.schema.get("type") for arm in (codec.arms or (codec,)) if arm is not NULL]
    if len(kinds) != 1 or kinds[0] not in ("integer", "string", "boolean"):
        raise UnsupportedType(f"a header can mirror an integer, a string or a boolean, not {codec.label}")


def _limit(codec: Codec, limits: dict[str, Any]) -> Codec:
    """Apply each limit to the arms it fits; one that fits none is of the wrong kind."""
    arms = codec.arms or (codec,)
    unused = set(limits)
    limited: list[Codec] = []
    for arm in arms:
        fitting: dict[str, Any] = {}
        for keyword, value in limits.items():
            name = _LENGTHS.get((keyword, arm.family), keyword)
            if arm.family and _FAMILIES.get(name) == arm.family:
                fitting[name] = value
                unused.discard(keyword)
        limited.append(_limit_one(arm, fitting) if fitting else arm)
    if unused:
        names = ", ".join(
            sorted({"min": "min_length", "max": "max_length"}.get(name, name) for name in unused)
        )
        hint = "; for arrays use min_items and max_items" if codec.family == "array" else ""
        raise UnsupportedType(f"{names} cannot apply to {codec.label}{hint}")
    if not codec.arms:
        return limited[0]
    result = union_of(limited)
    return result.replace(annotations=codec.annotations) if codec.annotations else result


def _limit_one(codec: Codec, limits: dict[str, Any]) -> Codec:
    checks = [_CHECKS[keyword](value) for keyword, value in limits.items() if keyword in _CHECKS]
    decode = codec.decode
    if codec.family == "number":

        def checked(value: Any) -> Any:
            result = decode(value)  # a Decimal may have come as text: numbers are judged as numbers
            for check in checks:
                check(result)
            return result

    else:

        def checked(value: Any) -> Any:
            result = decode(value)
            for check in checks:
                check(value)
            return result

    def limit_schema(schema: Schema) -> Schema:
        if "anyOf" in schema:  # Decimal: a number, or a string that no keyword can bound
            return {**schema, "anyOf": [_if_type(part, "number", limits) for part in schema["anyOf"]]}
        return schema if codec.family == "number" and schema.get("type") == "string" else {**schema, **limits}

    return codec.replace(
        schema=limit_schema(codec.schema),
        output_schema=limit_schema(codec.output_schema),
        decode=checked if checks else decode,
        exact=None if checks else codec.exact,
    )


def _if_type(schema: Schema, kind: str, limits: dict[str, Any]) -> Schema:
    return {**schema, **limits} if schema.get("type") == kind else schema


Check = Callable[[Any], None]


def _minimum(limit: Number) -> Check:
    def check(value: Any) -> None:
        if value < limit:
            raise DecodeError(f"{shorten(value)} is less than the minimum of {limit}")

    return check


def _maximum(limit: Number) -> Check:
    def check(value: Any) -> None:
        if value > limit:
            raise DecodeError(f"{shorten(value)} is greater than the maximum of {limit}")

    return check


def _exclusive_minimum(limit: Number) -> Check:
    def check(value: Any) -> None:
        if value <= limit:
            raise DecodeError(f"{shorten(value)} is not greater than {limit}")

    return check


def _exclusive_maximum(limit: Number) -> Check:
    def check(value: Any) -> None:
        if value >= limit:
            raise DecodeError(f"{shorten(value)} is not less than {limit}")

    return check


def _multiple_of(step: Number) -> Check:
    from fractions import Fraction

    def check(value: Any) -> None:
        if not isinstance(step, float):
            failed = value % step != 0
        elif isinstance(value, (int, float)):
            # jsonschema's rule, rounding included: float division, exact only where that overflows.
            try:
                quotient = value / step
                failed = int(quotient) != quotient
            except OverflowError:
                failed = (Fraction(value) / Fraction(step)).denominator != 1
        else:
            failed = (Fraction(value) / Fraction(str(step))).denominator != 1
        if failed:
            raise DecodeError(f"{shorten(value)} is not a multiple of {step}")

    return check


def _at_least(limit: int) -> Check:
    def check(value: Any) -> None:
        if len(value) < limit:
            raise DecodeError(f"{shorten(value)} is too short: at least {limit} needed")

    return check


def _at_most(limit: int) -> Check:
    def check(value: Any) -> None:
        if len(value) > limit:
            raise DecodeError(f"{shorten(value)} is too long: at most {limit} allowed")

    return check


def _pattern(pattern: str) -> Check:
    search = re.compile(pattern).search

    def check(value: Any) -> None:
        if len(value) > MAX_PATTERN_INPUT:
            raise DecodeError(
                f"a text of {len(value)} characters is too long: at most {MAX_PATTERN_INPUT} allowed"
            )
        if search(value) is None:
            raise DecodeError(f"{shorten(value)} does not match {pattern!r}")

    return check


_CHECKS: Final[dict[str, Callable[[Any], Check]]] = {
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "minLength": _at_least,
    "maxLength": _at_most,
    "minItems": _at_least,
    "maxItems": _at_most,
    "minProperties": _at_least,
    "maxProperties": _at_most,
    "pattern": _pattern,
}
