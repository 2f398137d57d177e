"""Codecs for hints whose JSON form is one string, number, boolean or null.

Types outside the built-ins are found by the module that defines them, if it is loaded: importing this module
costs no import of ``datetime``, ``decimal``, ``pathlib`` or ``uuid``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from .codec import Codec, Convert, DecodeError, Schema, UnsupportedType, encode_any, identity, shorten

_STRING: Final[frozenset[type]] = frozenset({str})
_NUMBER: Final[frozenset[type]] = frozenset({int, float})


#: Powers of ten that a decimal number may have.
MAX_EXPONENT: Final = 400


def decode_str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise DecodeError(f"{shorten(value)} is not a string")


def decode_int(value: Any) -> int:
    if type(value) is int:
        return value
    # JSON has one kind of number: a sender may write 1 as 1.0, and the schema's "integer" allows it.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    raise DecodeError(f"{shorten(value)} is not an integer")


def decode_float(value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise DecodeError(f"{shorten(value)} is too large for a number") from None
    raise DecodeError(f"{shorten(value)} is not a number")


def decode_bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    raise DecodeError(f"{shorten(value)} is not a boolean (true or false)")


def decode_null(value: Any) -> None:
    if value is not None:
        raise DecodeError(f"{shorten(value)} is not null")


ANY: Final = Codec({}, identity, encode_any, label="any value")
NULL: Final = Codec(
    {"type": "null"}, decode_null, label="null", accepts=frozenset({type(None)}), exact=type(None)
)
STR: Final = Codec(
    {"type": "string"}, decode_str, label="a string", accepts=_STRING, exact=str, family="string"
)
INT: Final = Codec(
    {"type": "integer"}, decode_int, label="an integer", accepts=_NUMBER, exact=int, family="number"
)
FLOAT: Final = Codec(
    {"type": "number"}, decode_float, label="a number", accepts=_NUMBER, exact=float, family="number"
)
BOOL: Final = Codec(
    {"type": "boolean"}, decode_bool, label="a boolean", accepts=frozenset({bool}), exact=bool
)

#: Hints that are what they are called; compared by identity.
BUILTIN: Final[dict[Any, Codec]] = {
    Any: ANY,
    object: ANY,
    None: NULL,
    type(None): NULL,
    str: STR,
    int: INT,
    float: FLOAT,
    bool: BOOL,
}


# -- strings with a meaning ------------------------------------------------------------------------------


def _parsed(parse: Callable[[str], Any], write: Convert, label: str, **extra: str) -> Codec:
    """A string that ``parse`` turns into the value; ``extra`` are further schema keywords."""

    def decode(value: Any) -> Any:
        if not isinstance(value, str):
            raise DecodeError(f"{shorten(value)} is not a string ({label})")
        try:
            return parse(value)
        except (ValueError, OverflowError):
            raise DecodeError(f"{shorten(value)} is not {label}") from None

    return Codec({"type": "string", **extra}, decode, write, label=label, accepts=_STRING, family="string")


def _isoformat(value: Any) -> Any:
    try:
        return value.isoformat()
    except AttributeError:  # not what the hint says; the output's schema will judge it
        return encode_any(value)


def _text(value: Any) -> Any:
    return str(value)


def _datetime() -> Codec:
    from datetime import datetime

    codec = _parsed(
        datetime.fromisoformat, _isoformat, "a date-time such as 2026-07-28T12:00:00Z", format="date-time"
    )
    # Values without a zone are usual in Python but no RFC 3339 date-time, and hosts refuse them as such.
    return codec.replace(output_schema={"type": "string"})


def _time() -> Codec:
    from datetime import time

    codec = _parsed(time.fromisoformat, _isoformat, "a time such as 12:00:00Z", format="time")
    return codec.replace(output_schema={"type": "string"})


def _date() -> Codec:
    from datetime import date

    return _parsed(date.fromisoformat, _isoformat, "a date such as 2026-07-28", format="date")


def _uuid() -> Codec:
    from uuid import UUID

    return _parsed(UUID, _text, "a UUID", format="uuid")


def _bytes() -> Codec:
    from base64 import b64decode

    def parse(text: str) -> bytes:
        return b64decode(text, validate=True)

    # Lengths and patterns would speak of the encoded text, which nobody means: no constraints.
    return _parsed(parse, encode_any, "base64", contentEncoding="base64").replace(family="")


def _decimal() -> Codec:
    from decimal import Decimal, InvalidOperation

    def decode(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise DecodeError(f"{shorten(value)} is not a decimal number")
        try:
            # By way of its shortest text, so that 0.1 means 0.1 and not the binary fraction next to it.
            result = Decimal(repr(value) if isinstance(value, float) else value)
        except InvalidOperation:
            raise DecodeError(f"{shorten(value)} is not a decimal number") from None
        if not result.is_finite():
            raise DecodeError(f"{shorten(value)} is not a finite number")
        # A few characters can name a number with billions of digits, and whoever computes with it writes them out.
        if abs(result.adjusted()) > MAX_EXPONENT or len(result.as_tuple().digits) > MAX_EXPONENT:
            raise DecodeError(f"{shorten(value)} is out of range")
        return result

    return Codec(
        {"anyOf": [{"type": "number"}, {"type": "string"}]},
        decode,
        _text,
        label="a decimal number",
        accepts=_NUMBER | _STRING,
        output_schema={"type": "string"},
        family="number",
    )


_BY_MODULE: Final[tuple[tuple[str, str, Callable[[], Codec]], ...]] = (
    ("datetime", "datetime", _datetime),
    ("datetime", "date", _date),
    ("datetime", "time", _time),
    ("uuid", "UUID", _uuid),
    ("decimal", "Decimal", _decimal),
    ("builtins", "bytes", _bytes),
)


def scalar(hint: Any) -> Codec | None:
    """The codec of a scalar class, or None if ``hint`` is something else."""
    for module, name, build in _BY_MODULE:
        if hint is getattr(sys.modules.get(module), name, None):
            return build()
    pathlib = sys.modules.get("pathlib")
    if pathlib is not None and isinstance(hint, type) and issubclass(hint, pathlib.PurePath):
        return _parsed(hint, _text, "a path")
    return None


# -- choices ---------------------------------------------------------------------------------------------

#: The schema's word for each type of choice. Booleans are no integers here.
_TYPE_NAMES: Final[dict[type, str]] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def choices(members: Iterable[tuple[Any, Any]], encode: Convert, what: str) -> Codec:
    """One of several JSON scalars; ``members`` are pairs of the JSON value and the Python value.

    Always ``enum``: hosts know it better than ``const``.
    """
    pairs = list(members)
    values = [value for value, _ in pairs]
    kinds = {type(value) for value in values}
    if not pairs:
        raise UnsupportedType(f"{what} has no members, so no value could fit")
    for value in values:
        if type(value) not in _TYPE_NAMES:
            raise UnsupportedType(
                f"{what} has a member {shorten(value, 40)}, which is no JSON scalar; use strings"
            )
    schema: Schema = {"enum": values}
    if len(kinds) == 1:
        schema = {"type": _TYPE_NAMES[kinds.pop()], "enum": values}
    # True == 1 in Python but not in JSON, so booleans have a table of their own; 1.0 is 1 in both.
    table = {value: member for value, member in pairs if type(value) is not bool}
    booleans = {value: member for value, member in pairs if type(value) is bool}
    expected = "one of " + ", ".join(shorten(value, 40) for value in values[:20])

    def decode(value: Any) -> Any:
        try:
            return (booleans if type(value) is bool else table)[value]
        except (KeyError, TypeError):
            raise DecodeError(f"{shorten(value)} is not {expected}") from None

    accepts = frozenset(
        kind for value in values for kind in (_NUMBER if type(value) in _NUMBER else {type(value)})
    )
    return Codec(schema, decode, encode, label=expected, accepts=accepts)


def enumeration(cls: Any) -> Codec:
    """An Enum: its members' values."""
    import enum

    name = cls.__qualname__
    if issubclass(cls, enum.Flag):
        raise UnsupportedType(
            f"{name} is a Flag, whose combinations no schema lists; use set[...] of a plain Enum"
        )

    def plain(value: Any) -> Any:
        # A mixed-in type (StrEnum, IntEnum) makes `.value` already plain.
        return value.value if isinstance(value, enum.Enum) else value

    return choices(((member.value, member) for member in cls), plain, name)


def literal(values: tuple[Any, ...]) -> Codec:
    """A Literal without its None, which is an arm of a union (see `compiler`)."""
    import enum

    def plain(value: Any) -> Any:
        return value.value if isinstance(value, enum.Enum) else value

    encode = plain if any(isinstance(value, enum.Enum) for value in values) else identity
    return choices(((plain(value), value) for value in values), encode, "Literal")
