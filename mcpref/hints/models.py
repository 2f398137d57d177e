"""Codecs for pydantic models, recognised by their shape: a model checks by its own rules and settings.

The model writes its own schema; here it is only brought into the form that the rest of a document has:
without ``$defs`` unless a type is recursive, ``enum`` for ``const``, no null where None is but the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .codec import Codec, DecodeError, Schema, UnsupportedType, encode_any, free_name, shorten
from .containers import any_of

if TYPE_CHECKING:
    from .compiler import Compiler

_DEFS = "#/$defs/"


def is_model(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "model_json_schema") and hasattr(hint, "model_validate")


def model_codec(cls: Any, compiler: Compiler) -> Codec:
    try:
        schema = cls.model_json_schema(mode="validation")
        output_schema = cls.model_json_schema(mode="serialization")
    except Exception as error:
        raise UnsupportedType(
            f"the model {cls.__qualname__} has no JSON Schema: {shorten(str(error), 300)}"
        ) from error
    validate = cls.model_validate

    def decode(value: Any) -> Any:
        try:
            return validate(value)
        except ValueError as error:
            raise _decode_error(error) from error

    def encode(value: Any) -> Any:
        if not isinstance(value, cls):
            try:
                value = validate(value)  # plain data in place of a model
            except ValueError:
                return encode_any(value)
        return value.model_dump(mode="json", by_alias=True)

    return Codec(
        _inline(schema, compiler.defs, _for_input),
        decode,
        encode,
        label=f"a {cls.__name__} object",
        accepts=frozenset({dict}),
        output_schema=_inline(output_schema, compiler.output_defs, _for_output),
    )


def _decode_error(error: ValueError) -> DecodeError:
    """The first complaint of a ``ValidationError``, without the input and the link it likes to add."""
    errors = getattr(error, "errors", None)
    if not callable(errors):
        return DecodeError(shorten(str(error), 300))
    first = errors(include_url=False, include_context=False, include_input=False)[0]
    result = DecodeError(str(first["msg"]))
    for segment in reversed(first["loc"]):
        result.under(segment)
    return result


# -- the model's schema, brought into our form -----------------------------------------------------------


#: Keywords whose value is no schema but data, to be left alone.
_DATA = frozenset({"const", "default", "enum", "examples"})
#: Keywords whose value maps names, which may look like keywords, to schemas.
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})


def _inline(schema: Schema, shared: dict[str, Schema], tidy: Callable[[Schema], Schema]) -> Schema:
    """``schema`` with its ``$defs`` put in place; recursive ones move to ``shared``, under free names."""
    defs: dict[str, Schema] = schema.get("$defs", {})
    recursive = [name for name in defs if name in _reachable(defs[name], defs)]
    names: dict[str, str] = {}
    for name in recursive:
        names[name] = free_name(name, shared)
        shared[names[name]] = {}  # taken; filled below, when all names are known

    def place(node: Any) -> Any:
        if isinstance(node, list):
            return [place(item) for item in node]
        if not isinstance(node, dict):
            return node
        placed: Schema = {}
        for key, item in node.items():
            if key in _NAMED:
                placed[key] = {name: place(inner) for name, inner in item.items()}
            elif key not in ("$ref", "$defs"):
                placed[key] = item if key in _DATA else place(item)
        reference = node.get("$ref")
        if reference is None:
            return tidy(placed)
        name = reference.removeprefix(_DEFS)
        if name in names:
            return {"$ref": _DEFS + names[name], **placed}
        return tidy({**place(defs[name]), **placed})

    for name in recursive:
        shared[names[name]] = place(defs[name])
    result: Schema = place(schema)
    return result


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith(_DEFS):
            yield reference.removeprefix(_DEFS)
        for item in node.values():
            yield from _references(item)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


def _reachable(node: Schema, defs: dict[str, Schema]) -> set[str]:
    found: set[str] = set()
    waiting = list(_references(node))
    while waiting:
        name = waiting.pop()
        if name not in found and name in defs:
            found.add(name)
            waiting.extend(_references(defs[name]))
    return found


def _with_enum(node: Schema) -> Schema:
    if "const" not in node:
        return node
    return {**{key: item for key, item in node.items() if key != "const"}, "enum": [node["const"]]}


def _for_output(node: Schema) -> Schema:
    """Without the formats that a value without a zone would break."""
    if node.get("format") in ("date-time", "time"):
        node = {key: item for key, item in node.items() if key != "format"}
    return _with_enum(node)


def _for_input(node: Schema) -> Schema:
    """``X | None`` that defaults to None as X, not required, without a default."""
    node = _with_enum(node)
    if "anyOf" not in node or node.get("default", ...) is not None:
        return node
    rest = {key: item for key, item in node.items() if key not in ("anyOf", "default")}
    return {**any_of([arm for arm in node["anyOf"] if arm != {"type": "null"}]), **rest}
