"""Codecs for arrays, for objects with free keys, and for unions.

A converted container is always a new one: a function that changes its arguments does not change the request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from .codec import (
    Codec,
    Convert,
    DecodeError,
    Schema,
    UnsupportedType,
    encode_any,
    encode_items,
    encode_mapping,
    identity,
    json_key,
    shorten,
)
from .scalars import NULL

_ARRAY: Final[frozenset[type]] = frozenset({list})
_OBJECT: Final[frozenset[type]] = frozenset({dict})

#: Wrong guesses between the arms of nested unions in one value, before it is refused. Recursive unions
#: without a telling member could otherwise be made to try every combination: two to the power of the depth.
MAX_WRONG_ARMS: Final = 10_000


# -- arrays ----------------------------------------------------------------------------------------------


def _not_array(value: Any) -> DecodeError:
    return DecodeError(f"{shorten(value)} is not an array")


def list_of(item: Codec) -> Codec:
    decode, exact = item.decode, item.exact

    def decode_list(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _not_array(value)
        result: list[Any] = []
        append = result.append
        try:
            for element in value:
                append(element if type(element) is exact else decode(element))
        except DecodeError as error:
            error.under(len(result))
            raise
        return result

    return Codec(
        {"type": "array", "items": item.schema},
        decode_list,
        _array_encoder(item.encode),
        label="an array",
        accepts=_ARRAY,
        output_schema={"type": "array", "items": item.output_schema},
        family="array",
    )


def _array_encoder(encode: Convert) -> Convert:
    def encode_array(value: Any) -> Any:
        if type(value) is not list:
            if isinstance(value, (str, bytes, dict)):
                return encode_any(value)  # not what the hint says; the output's schema will judge it
            value = list(value)
        return value if encode is identity else encode_items(value, encode)

    return encode_array


def tuple_of_any_length(item: Codec) -> Codec:
    codec = list_of(item)
    decode_list = codec.decode
    return codec.replace(decode=lambda value: tuple(decode_list(value)))


def tuple_of(items: Sequence[Codec]) -> Codec:
    """A tuple of fixed length: ``prefixItems``, and nothing after them."""
    decoders = tuple(item.decode for item in items)
    length = len(decoders)

    def decode(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _not_array(value)
        if len(value) != length:
            raise DecodeError(f"an array of exactly {length} items is needed, not of {len(value)}")
        result: list[Any] = []
        try:
            for convert, element in zip(decoders, value, strict=True):
                result.append(convert(element))
        except DecodeError as error:
            error.under(len(result))
            raise
        return tuple(result)

    def encode(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != length:
            return encode_any(value)
        return [item.encode(element) for item, element in zip(items, value, strict=True)]

    def schema(parts: list[Schema]) -> Schema:
        bounds: Schema = {"minItems": length, "maxItems": length, "items": False}
        return {"type": "array", "prefixItems": parts, **bounds} if parts else {"type": "array", **bounds}

    return Codec(
        schema([item.schema for item in items]),
        decode,
        encode,
        label=f"an array of {length} items",
        accepts=_ARRAY,
        output_schema=schema([item.output_schema for item in items]),
    )


def set_of(item: Codec, build: Callable[[Iterable[Any]], Any]) -> Codec:
    """``build`` is ``set`` or ``frozenset``."""
    codec = list_of(item)
    decode_list = codec.decode

    def decode(value: Any) -> Any:
        items = decode_list(value)
        try:
            result = build(items)
        except TypeError:
            raise DecodeError("arrays and objects cannot be items of a set") from None
        # Two spellings of one value (a UUID in both cases) fall together; one JSON value twice is an error.
        if len(result) != len(items) and len({json_key(element) for element in value}) != len(value):
            raise DecodeError(f"{shorten(value)} has non-unique items")
        return result

    return codec.replace(
        schema={**codec.schema, "uniqueItems": True},
        output_schema={**codec.output_schema, "uniqueItems": True},
        decode=decode,
    )


# -- objects with free keys ------------------------------------------------------------------------------


def dict_of(key: Codec, value_codec: Codec) -> Codec:
    """A mapping. Member names of JSON are strings, so the keys must be written as strings."""
    if key.schema.get("type") != "string":
        raise UnsupportedType(
            f"the keys of a dict must be strings in JSON, not {key.label}; use dict[str, ...], "
            "or a list of dataclasses"
        )
    decode_value, exact = value_codec.decode, value_codec.exact
    decode_key = None if key.exact is str else key.decode

    def decode(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise DecodeError(f"{shorten(value)} is not an object")
        result: dict[Any, Any] = {}
        name = ""
        try:
            for name, item in value.items():
                converted = item if type(item) is exact else decode_value(item)
                result[name if decode_key is None else decode_key(name)] = converted
        except DecodeError as error:
            error.under(name)
            raise
        return result

    def encode(value: Any) -> Any:
        if not isinstance(value, dict):
            return encode_any(value)
        # Keys such as StrEnum members are strings but not plain ones, hence the exact test inside.
        return encode_mapping(value, value_codec.encode, key.encode)

    def schema(key_schema: Schema, item_schema: Schema) -> Schema:
        names = {} if key_schema == {"type": "string"} else {"propertyNames": key_schema}
        return {"type": "object", **names, "additionalProperties": item_schema or True}

    return Codec(
        schema(key.schema, value_codec.schema),
        decode,
        encode,
        label="an object",
        accepts=_OBJECT,
        output_schema=schema(key.output_schema, value_codec.output_schema),
        family="object",
    )


# -- unions ----------------------------------------------------------------------------------------------


def union_of(arms: Iterable[Codec]) -> Codec:
    """The first arm that fits. Nested unions are opened, so that ``anyOf`` stays flat."""
    given = list(arms)
    if len(given) == 1:
        return given[0]
    some = [arm for arm in given if arm is not NULL]
    if len(some) == 1 and some[0].annotations:
        # `Annotated[int, "..."] | None` describes the whole, as `Annotated[int | None, "..."]` does.
        return annotate(union_of(_bare(arm) for arm in given), some[0].annotations)
    flat = tuple(
        inner for arm in given for inner in (arm.arms if arm.arms and not arm.annotations else (arm,))
    )
    accepts = frozenset[type]().union(*(arm.accepts for arm in flat))
    # One arm or a loop over few: chosen by the type of the value, so that the usual union never guesses.
    table = {kind: _first_of([arm for arm in flat if kind in arm.accepts]) for kind in accepts}
    label = " or ".join(dict.fromkeys(arm.label for arm in flat))
    fallback = _first_of(flat)

    def decode(value: Any) -> Any:
        convert = table.get(type(value))
        if convert is not None:
            return convert(value)
        if type(value) is not bool and isinstance(value, tuple(accepts)):
            return fallback(value)  # a subclass, which JSON does not make but a caller in Python may
        raise DecodeError(f"{shorten(value)} is not {label}")

    return Codec(
        any_of([arm.schema for arm in flat]),
        decode,
        _union_encoder(flat),
        label=label,
        accepts=accepts,
        output_schema=any_of([arm.output_schema for arm in flat]),
        arms=flat,
    )


def annotate(codec: Codec, annotations: Mapping[str, Any]) -> Codec:
    """``codec`` with keywords added that do not change which values fit."""
    shown = {key: value for key, value in annotations.items() if key != "x-mcp-header"}
    return codec.replace(
        schema={**codec.schema, **annotations},
        output_schema={**codec.output_schema, **shown},
        annotations={**codec.annotations, **annotations},
    )


def _bare(codec: Codec) -> Codec:
    """``codec`` without its annotations."""
    if not codec.annotations:
        return codec
    schema, output = (
        {key: value for key, value in schema.items() if key not in codec.annotations}
        for schema in (codec.schema, codec.output_schema)
    )
    return codec.replace(schema=schema, output_schema=output, annotations={})


def any_of(schemas: Iterable[Schema]) -> Schema:
    """``anyOf``, flat and without repetition; never a list of types, which fewer hosts understand."""
    flat: list[Schema] = []
    for schema in schemas:
        for part in schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]:
            if part not in flat:
                flat.append(part)
    if {} in flat:
        return {}
    return flat[0] if len(flat) == 1 else {"anyOf": flat}


def _union_encoder(arms: tuple[Codec, ...]) -> Convert:
    if all(arm.encode is identity for arm in arms):
        return identity
    some = [arm for arm in arms if arm is not NULL]
    if len(some) > 1:
        return encode_any
    encode = some[0].encode
    return lambda value: None if value is None else encode(value)


class _Guesses(threading.local):
    """Per thread: how deep in unions that must guess, and how often wrong since the outermost began."""

    depth = 0
    wrong = 0


_guesses = _Guesses()


def _first_of(arms: Sequence[Codec]) -> Convert:
    if len(arms) == 1:
        return arms[0].decode

    def decode(value: Any) -> Any:
        candidates = arms
        if type(value) is dict:
            # Names and telling members first: usually one arm is left, and its error is to the point.
            candidates = [arm for arm in arms if arm.screen is None or arm.screen(value)] or arms
            if len(candidates) == 1:
                return candidates[0].decode(value)
        state = _guesses
        if state.depth == 0:
            state.wrong = 0
        state.depth += 1
        reasons: list[str] = []
        try:
            for arm in candidates:
                try:
                    return arm.decode(value)
                except DecodeError as error:
                    reasons.append(str(error))
                    state.wrong += 1
                    if state.wrong > MAX_WRONG_ARMS:
                        raise DecodeError("the value fits too many arms of the union halfway") from None
        finally:
            state.depth -= 1
        raise DecodeError(_fits_none(value, candidates, reasons))

    return decode


def _fits_none(value: Any, arms: Sequence[Codec], reasons: list[str]) -> str:
    told = "; ".join(f"{arm.label}: {reason}" for arm, reason in zip(arms, reasons, strict=True))
    text = f"{shorten(value, 60)} fits none of the allowed types ({told})"
    # Reasons hold reasons where unions nest: keep the whole readable, and bounded.
    return text if len(text) <= 400 else f"{text[:397]}..."
