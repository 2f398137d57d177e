"""Codecs for objects with named members: dataclasses and TypedDicts.

`Member` and `object_schema` also serve whatever else is made of named, typed members: the parameters of a
function are described with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from .codec import MISSING, Codec, DecodeError, Schema, encode_any, identity, naming, shorten
from .containers import any_of, union_of
from .scalars import NULL

if TYPE_CHECKING:
    from .compiler import Compiler
    from .scope import Scope

_OBJECT: Final[frozenset[type]] = frozenset({dict})


class Member:
    """One named member of an object, compiled."""

    __slots__ = ("codec", "default", "factory", "name", "required", "schema")

    def __init__(
        self,
        name: str,
        codec: Codec,
        *,
        required: bool = True,
        default: Any = MISSING,
        factory: Callable[[], Any] | None = None,
        description: str = "",
    ) -> None:
        self.name = name
        self.required = required
        self.default = default
        self.factory = factory
        self.schema = member_schema(codec, default, description)
        if default is None and type(None) not in codec.accepts:
            # `count: int = None` says that None is fine, whatever the hint says.
            codec = union_of([codec, NULL])
        self.codec = codec
        """Takes null where the default is None, though the schema does not say so."""

    def with_codec(self, codec: Codec) -> Member:
        """The same member, converted in another way; its schema stays."""
        other = object.__new__(Member)
        for slot in Member.__slots__:
            setattr(other, slot, getattr(self, slot))
        other.codec = codec
        return other

    def absent(self) -> Any:
        """The value where none was sent."""
        return self.default if self.factory is None else self.factory()


def member_schema(codec: Codec, default: Any = MISSING, description: str = "") -> Schema:
    """The schema of a member: its type, a description if it has none of its own, and its default.

    A default of None makes the member optional and nothing more: neither null nor the default is listed,
    because hosts stumble over unions with null.
    """
    schema = codec.schema
    extra: Schema = {}
    if default is None:
        arms = [arm.schema for arm in codec.arms if arm is not NULL]
        if arms and len(arms) < len(codec.arms):
            schema = {**any_of(arms), **codec.annotations}
    elif default is not MISSING:
        written = json_default(codec, default)
        if written is not MISSING:
            extra["default"] = written
    if description and "description" not in codec.annotations:
        extra["description"] = description
    return {**schema, **extra} if extra else schema


def json_default(codec: Codec, default: Any) -> Any:
    """The JSON form of a default, or MISSING if it has none or one that would not be accepted back."""
    try:
        written = codec.encode(default)
        json.dumps(written, allow_nan=False)
        codec.decode(written)
    except Exception:  # a sentinel of any type may stand as a default
        return MISSING
    return written


def object_schema(
    properties: dict[str, Schema], required: Collection[str], *, closed: bool, description: str = ""
) -> Schema:
    schema: Schema = {"type": "object"}
    if description:
        schema["description"] = description
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = [name for name in properties if name in required]
    if closed:
        schema["additionalProperties"] = False
    return schema


def member_reader(
    members: Sequence[Member], *, closed: bool = True, fill: bool = True
) -> Callable[[Any], list[Any]]:
    """A function from an object to the converted values of ``members``, in their order.

    Where a member was not sent, its default stands, or MISSING without ``fill``.
    """
    rows = tuple((member.name, member.codec.exact, member.codec.decode, member) for member in members)
    total = len(rows)

    def read(value: Any) -> list[Any]:
        if not isinstance(value, dict):
            raise DecodeError(f"{shorten(value)} is not an object")
        get = value.get
        values: list[Any] = []
        append = values.append
        absent = 0
        name, item = "", MISSING
        try:
            for name, exact, decode, member in rows:
                item = get(name, MISSING)
                if type(item) is exact:
                    append(item)
                elif item is not MISSING:
                    append(decode(item))
                elif member.required:
                    raise missing_members(value, members)
                else:
                    absent += 1
                    append(member.absent() if fill else MISSING)
        except DecodeError as error:
            if item is not MISSING:
                error.under(name)
            raise
        if closed and len(value) != total - absent:
            raise unknown_members(value, members)
        return values

    return read


def missing_members(value: dict[str, Any], members: Sequence[Member]) -> DecodeError:
    names = [member.name for member in members if member.required and member.name not in value]
    listed = ", ".join(repr(name) for name in names)
    return DecodeError(f"{listed} {'is' if len(names) == 1 else 'are'} missing")


def unknown_members(value: dict[str, Any], members: Sequence[Member]) -> DecodeError:
    valid = [member.name for member in members]
    listed = ", ".join(shorten(name, 40) for name in [name for name in value if name not in valid][:5])
    return DecodeError(f"unknown: {listed}; valid names are: {', '.join(valid) or 'none'}")


def screen_for(members: Sequence[Member], *, closed: bool) -> Callable[[dict[str, Any]], bool]:
    """A shallow test by names and by members with few possible values; never false for a value that fits."""
    required = frozenset(member.name for member in members if member.required)
    names = frozenset(member.name for member in members)
    telling = [
        (member.name, frozenset(member.codec.schema["enum"]))
        for member in members
        if member.required and "enum" in member.codec.schema and not member.codec.arms
    ]

    def screen(value: dict[str, Any]) -> bool:
        keys = value.keys()
        if not required <= keys or (closed and not keys <= names):
            return False
        return all(type(value[name]) in (dict, list) or value[name] in values for name, values in telling)

    return screen


# -- dataclasses -----------------------------------------------------------------------------------------


def dataclass_codec(cls: Any, compiler: Compiler, hints: dict[str, tuple[Any, Scope]]) -> Codec:
    """A closed object. ``hints``: each field's type and the scope it was written in."""
    import dataclasses

    members: list[Member] = []
    written: dict[str, Codec] = {}
    for field in dataclasses.fields(cls):
        with naming(f".{field.name}"):
            codec = compiler.compile(*hints[field.name])
        if field.init:
            factory = None if field.default_factory is dataclasses.MISSING else field.default_factory
            default = MISSING if field.default is dataclasses.MISSING else field.default
            required = default is MISSING and factory is None
            members.append(Member(field.name, codec, required=required, default=default, factory=factory))
            codec = members[-1].codec
        written[field.name] = codec
    positional = cls.__dataclass_params__.init and not any(
        field.kw_only for field in dataclasses.fields(cls) if field.init
    )
    description = own_doc(cls)
    required_names = [member.name for member in members if member.required]
    return Codec(
        object_schema(
            {member.name: member.schema for member in members},
            required_names,
            closed=True,
            description=description,
        ),
        _dataclass_decoder(cls, members, positional=positional),
        _dataclass_encoder(cls, written),
        label=f"a {cls.__name__} object",
        accepts=_OBJECT,
        output_schema=object_schema(
            {name: codec.output_schema for name, codec in written.items()},
            # An instance has them all, but a plain dict may be returned in its place.
            required_names,
            closed=True,
            description=description,
        ),
        screen=screen_for(members, closed=True),
    )


def _dataclass_decoder(cls: Any, members: Sequence[Member], *, positional: bool) -> Callable[[Any], Any]:
    read = member_reader(members)
    names = tuple(member.name for member in members)

    def decode(value: Any) -> Any:
        values = read(value)
        try:
            return cls(*values) if positional else cls(**dict(zip(names, values, strict=True)))
        except ValueError as error:  # __post_init__ may know rules that no schema can say
            raise DecodeError(str(error) or f"not a valid {cls.__name__}") from error

    return decode


def _dataclass_encoder(cls: type, codecs: dict[str, Codec]) -> Callable[[Any], Any]:
    rows = tuple((name, None if codec.encode is identity else codec.encode) for name, codec in codecs.items())

    def encode(value: Any) -> Any:
        if not isinstance(value, cls):
            return encode_any(value)
        return {
            name: getattr(value, name) if convert is None else convert(getattr(value, name))
            for name, convert in rows
        }

    return encode


def own_doc(cls: type) -> str:
    """The docstring of ``cls``, if somebody wrote it: `dataclass` makes up ``Point(x: int, y: int)``."""
    doc = vars(cls).get("__doc__") or ""
    if doc.startswith(f"{cls.__name__}(") and doc.endswith(")"):
        return ""
    if not doc:
        return ""
    from inspect import cleandoc

    return cleandoc(doc)


# -- TypedDicts ------------------------------------------------------------------------------------------


def is_typed_dict(hint: Any) -> bool:
    """By shape, because `typing` and `typing_extensions` have a class each."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def typed_dict_codec(
    cls: Any, compiler: Compiler, hints: dict[str, tuple[Any, Scope]], required: Collection[str]
) -> Codec:
    """An open object: members that the TypedDict does not name are kept as they are."""
    members: list[Member] = []
    for name, hint in hints.items():
        with naming(f".{name}"):
            members.append(Member(name, compiler.compile(*hint), required=name in required))
    rows = tuple((member.name, member.codec.exact, member.codec.decode) for member in members)
    needed = frozenset(required)

    def decode(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise DecodeError(f"{shorten(value)} is not an object")
        if not needed <= value.keys():
            raise missing_members(value, members)
        result = dict(value)
        get = value.get
        name = ""
        try:
            for name, exact, convert in rows:
                item = get(name, MISSING)
                if type(item) is not exact and item is not MISSING:
                    result[name] = convert(item)
        except DecodeError as error:
            error.under(name)
            raise
        return result

    encoders = {member.name: member.codec.encode for member in members if member.codec.encode is not identity}

    def encode(value: Any) -> Any:
        if not isinstance(value, dict):
            return encode_any(value)
        if not encoders:
            return value
        changed = {name: convert(value[name]) for name, convert in encoders.items() if name in value}
        if all(changed[name] is value[name] for name in changed):
            return value
        return {**value, **changed}

    description = own_doc(cls)
    return Codec(
        object_schema(
            {member.name: member.schema for member in members}, needed, closed=False, description=description
        ),
        decode,
        encode,
        label=f"a {cls.__name__} object",
        accepts=_OBJECT,
        output_schema=object_schema(
            {member.name: member.codec.output_schema for member in members},
            needed,
            closed=False,
            description=description,
        ),
        screen=screen_for(members, closed=False),
    )
