"""`Codec`: one compiled hint. And what converters have in common: errors, encoding by run-time type.

A codec is built at registration from closures over other codecs; nothing here looks at hints.
"""

from __future__ import annotations

import contextlib
import reprlib
import sys
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

Schema: TypeAlias = dict[str, Any]
Convert: TypeAlias = Callable[[Any], Any]
#: Which group of constraints a hint takes; "" takes none.
Family: TypeAlias = Literal["number", "string", "array", "object", ""]

#: Stands for "no value", where None is a value.
MISSING: Final[Any] = type("Missing", (), {})()

#: The Python types that JSON values have after parsing.
JSON_TYPES: Final[frozenset[type]] = frozenset({dict, list, str, int, float, bool, type(None)})

#: Longest echo of a value in a message: what a peer sent is not sent back whole.
MAX_ECHO: Final = 100


class DecodeError(ValueError):
    """A JSON value does not fit its hint. ``path`` says where, as in ``stops[2].name``."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self._segments: list[str | int] = []

    def under(self, segment: str | int) -> None:
        """Add the enclosing member: called on the way out, innermost first."""
        self._segments.append(segment)

    @property
    def path(self) -> str:
        return format_path(reversed(self._segments))

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self._segments else self.message


class UnsupportedType(TypeError):
    """A hint that cannot be served, found at registration; the message says where, why and what to write."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self._where = ""

    def under(self, where: str) -> None:
        """Add the enclosing name (``.field``, ``[]``): called on the way out, innermost first."""
        self._where = where + self._where

    def __str__(self) -> str:
        return f"{self._where.lstrip('.')}: {self.message}" if self._where else self.message


@contextlib.contextmanager
def naming(where: str) -> Iterator[None]:
    """Names the place that a hint stands at, in the message should it be refused."""
    try:
        yield
    except UnsupportedType as error:
        error.under(where)
        raise


def identity(value: Any) -> Any:
    return value


class Codec:
    """One hint, compiled. Immutable; its schemas are shared and must not be changed."""

    __slots__ = (
        "accepts",
        "annotations",
        "arms",
        "decode",
        "encode",
        "exact",
        "family",
        "label",
        "output_schema",
        "schema",
        "screen",
    )

    def __init__(
        self,
        schema: Schema,
        decode: Convert,
        encode: Convert = identity,
        *,
        label: str,
        accepts: frozenset[type] = JSON_TYPES,
        output_schema: Schema | None = None,
        exact: type | None = None,
        family: Family = "",
        arms: tuple[Codec, ...] = (),
        annotations: Mapping[str, Any] | None = None,
        screen: Callable[[dict[str, Any]], bool] | None = None,
    ) -> None:
        self.schema = schema
        """What a caller must send."""
        self.output_schema = schema if output_schema is None else output_schema
        """What ``encode`` gives."""
        self.decode = decode
        """JSON value -> instance of the annotated type, or `DecodeError`."""
        self.encode = encode
        """Instance -> JSON value; the value itself if nothing needs converting."""
        self.label = label
        """How a message names the type: "an integer"."""
        self.accepts = accepts
        """Types of JSON values that may fit: unions choose their arm by it."""
        self.exact = exact
        """Values of exactly this type pass unchanged, so that a loop can spare the call of ``decode``."""
        self.family = family
        self.arms = arms
        """The arms of a union."""
        self.annotations = annotations or {}
        """What ``Annotated`` added around the schema: a description, a title, a header."""
        self.screen = screen
        """A shallow test for objects; false means that ``decode`` would fail. Unions choose by it."""

    def replace(self, **changes: Any) -> Codec:
        """A copy with some attributes changed."""
        values = {name: getattr(self, name) for name in Codec.__slots__}
        values.update(changes)
        return Codec(**values)


def format_path(segments: Any) -> str:
    """``["stops", 2, "name"]`` as ``stops[2].name``; keys that are no identifiers are quoted."""
    text = ""
    for segment in segments:
        if isinstance(segment, int):
            text += f"[{segment}]"
        elif segment.isidentifier():
            text += f".{segment}" if text else segment
        else:
            text += f"[{shorten(segment, 40)}]"
    return text


def shorten(value: object, limit: int = MAX_ECHO) -> str:
    """``repr(value)``, cut to about ``limit`` characters; a large value is not rendered whole first."""
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = limit
    short.maxdict = short.maxlist = short.maxtuple = short.maxset = 6
    short.maxlevel = 3
    try:
        text = short.repr(value)
    except Exception:  # a foreign __repr__ may do anything
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def json_key(value: Any) -> Any:
    """Equal for JSON values that JSON Schema holds equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, list):
        return ("array", tuple(json_key(item) for item in value))
    if isinstance(value, dict):
        return ("object", frozenset((key, json_key(item)) for key, item in value.items()))
    return (isinstance(value, bool), value)


def free_name(name: str, taken: Container[str]) -> str:
    """``name``, or with the first number that makes it new."""
    name = "".join(char if char.isalnum() or char in "._-" else "_" for char in name)
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        candidate = f"{name}{number}"
    return candidate


# -- encoding by run-time type ---------------------------------------------------------------------------

_ATOMS: Final[frozenset[type]] = frozenset({str, int, float, bool, type(None)})


def encode_any(value: Any) -> Any:
    """Any supported Python value as JSON, by its run-time type; parts without need of it are not copied."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return encode_mapping(value, encode_any, atoms=_ATOMS)
    if kind is list:
        return encode_items(value, encode_any, atoms=_ATOMS)
    return _encode_object(value)


def encode_items(value: list[Any], encode: Convert, *, atoms: Container[type] = ()) -> list[Any]:
    """``value`` with every item encoded; the same list if no item changed. Those of ``atoms`` never do."""
    result: list[Any] | None = None
    for index, item in enumerate(value):
        encoded = item if type(item) in atoms else encode(item)
        if result is not None:
            result.append(encoded)
        elif encoded is not item:
            result = [*value[:index], encoded]
    return value if result is None else result


def encode_mapping(
    value: dict[Any, Any], encode: Convert, encode_key: Convert | None = None, *, atoms: Container[type] = ()
) -> dict[str, Any]:
    """``value`` with every member encoded; the same dict if none changed. Those of ``atoms`` never do."""
    changed: dict[Any, Any] = {}
    plain_keys = True
    for key, item in value.items():
        if type(item) not in atoms:
            encoded = encode(item)
            if encoded is not item:
                changed[key] = encoded
        if type(key) is not str:
            plain_keys = False
    if changed:
        value = {**value, **changed}
    if plain_keys:
        return value
    to_key = encode_key or _encode_key
    return {key if type(key) is str else to_key(key): item for key, item in value.items()}


def _encode_key(key: Any) -> str:
    encoded = _encode_object(key) if type(key) not in _ATOMS else key
    if type(encoded) is str:
        return encoded
    if type(encoded) in (int, float) or isinstance(encoded, str):
        return str(encoded)
    raise TypeError(f"{shorten(key)} cannot be the name of a JSON member; use strings as keys")


def _encode_object(value: Any) -> Any:
    """The values that JSON has no type for. Modules that are not loaded cannot have made the value."""
    import enum

    if isinstance(value, enum.Enum):
        return encode_any(value.value)
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(type(value), "__dataclass_fields__"):
        import dataclasses

        return {field.name: encode_any(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return encode_mapping(dict(value), encode_any)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode_any(item) for item in value]
    if isinstance(value, (bytes, bytearray)):
        return encode_base64(value)
    if isinstance(value, _loaded("datetime", "date", "time")):
        return value.isoformat()
    if isinstance(
        value, _loaded("uuid", "UUID") + _loaded("decimal", "Decimal") + _loaded("pathlib", "PurePath")
    ):
        return str(value)
    raise TypeError(
        f"a value of type {type(value).__qualname__} cannot be written as JSON; "
        "return a dataclass, a TypedDict, a pydantic model or plain JSON values"
    )


def _loaded(module: str, *names: str) -> tuple[Any, ...]:
    """Classes of a module, if it has been imported; none otherwise."""
    found = sys.modules.get(module)
    return tuple(getattr(found, name) for name in names) if found else ()


def encode_base64(value: bytes | bytearray) -> str:
    import base64

    return base64.b64encode(value).decode("ascii")
