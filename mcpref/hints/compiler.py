"""From a hint to its codec: the one place that looks at `typing` objects.

A `Compiler` is one schema document being written. It exists at registration only; what stays are codecs.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from . import containers, models, records, scalars
from .codec import JSON_TYPES, Codec, Schema, UnsupportedType, free_name, naming
from .constraints import constrain
from .scope import Scope

_LISTS: Final = frozenset(
    {
        list,
        collections.abc.Sequence,
        collections.abc.MutableSequence,
        collections.abc.Collection,
        collections.abc.Iterable,
    }
)
_SETS: Final[dict[Any, Callable[..., Any]]] = {
    set: set,
    frozenset: frozenset,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_OBJECT: Final[frozenset[type]] = frozenset({dict})
_DICTS: Final = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})

#: Types that are asked for again and again, and what to write in their place.
_REMEDIES: Final[dict[tuple[str, str], str]] = {
    ("datetime", "timedelta"): "a duration has no common JSON form; use a float of seconds",
    ("builtins", "complex"): "JSON has no complex numbers; use a dataclass with two floats",
    ("builtins", "bytearray"): "use bytes",
    ("builtins", "memoryview"): "use bytes",
    ("dataclasses", "InitVar"): "an InitVar is not a field and could not be written back; use a field",
    ("collections", "deque"): "use list",
    ("collections", "OrderedDict"): "use dict",
    ("collections", "defaultdict"): "use dict",
    ("collections", "Counter"): "use dict",
    ("collections.abc", "Callable"): "a function cannot be sent as JSON",
    ("collections.abc", "Iterator"): "use list",
    ("collections.abc", "Generator"): "use list",
    ("re", "Pattern"): "use str and compile it in the function",
}


def compile_hint(
    hint: Any,
    *,
    where: str = "",
    globalns: Mapping[str, Any] | None = None,
    localns: Mapping[str, Any] | None = None,
) -> Codec:
    """The codec of one hint, its schemas complete documents. Raises `UnsupportedType`, naming ``where``."""
    compiler = Compiler()
    with naming(where):
        codec = compiler.compile(hint, Scope(globalns or {}, localns or {}))
    return codec.replace(
        schema=compiler.document(codec.schema),
        output_schema=compiler.document(codec.output_schema, output=True),
    )


class _Reference:
    """A named type that is being compiled, for the places inside it that mean itself."""

    __slots__ = ("codec", "name")

    def __init__(self) -> None:
        self.name = ""
        self.codec: Codec | None = None

    def decode(self, value: Any) -> Any:
        assert self.codec is not None
        return self.codec.decode(value)

    def encode(self, value: Any) -> Any:
        assert self.codec is not None
        return self.codec.encode(value)


class Compiler:
    """Compiles hints that end up in one schema document and share its ``$defs``."""

    def __init__(self) -> None:
        self.defs: dict[str, Schema] = {}
        """The recursive types met so far; all others are written in place, since hosts drop ``$defs``."""
        self.output_defs: dict[str, Schema] = {}
        self._done: dict[Any, Codec] = {}
        self._open: dict[Any, _Reference] = {}

    def document(self, schema: Schema, *, output: bool = False) -> Schema:
        """``schema`` as a document of its own: with ``$defs``, and never a bare reference at its root."""
        defs = self.output_defs if output else self.defs
        if not defs:
            return schema
        reference = schema.get("$ref")
        if reference is not None:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**defs[reference.removeprefix("#/$defs/")], **rest}
        return {**schema, "$defs": dict(defs)}

    def compile(self, hint: Any, scope: Scope) -> Codec:
        hint = scope.evaluate(hint)
        try:
            if hint in scalars.BUILTIN:
                return scalars.BUILTIN[hint]
        except TypeError:  # Annotated with unhashable metadata
            pass
        origin = typing.get_origin(hint)
        if origin is not None:
            return self._compile_form(hint, origin, typing.get_args(hint), scope)
        if isinstance(hint, type):
            return self._compile_class(hint, scope)
        return self._compile_special(hint, scope)

    # -- forms with arguments ----------------------------------------------------------------------------

    def _compile_form(self, hint: Any, origin: Any, args: tuple[Any, ...], scope: Scope) -> Codec:
        if origin is typing.Annotated:
            return constrain(self.compile(args[0], scope), hint.__metadata__)
        if origin is typing.Union or origin is types.UnionType:
            return containers.union_of(self.compile(arm, scope) for arm in args)
        if origin is typing.Literal:
            return self._literal(args)
        if is_qualifier(origin):  # Final[int], Required[int]
            return self.compile(args[0], scope)
        if origin is tuple:
            return self._tuple(hint, args, scope)
        if origin in _LISTS:
            with naming("[]"):
                return containers.list_of(self.compile(args[0], scope) if args else scalars.ANY)
        if origin in _SETS:
            with naming("[]"):
                return containers.set_of(self._set_item(args, scope), _SETS[origin])
        if origin in _DICTS:
            with naming("{}"):
                key, value = args or (str, Any)
                return containers.dict_of(self.compile(key, scope), self.compile(value, scope))
        if is_alias(origin):  # a generic `type Pair[T] = tuple[T, T]`
            return self._alias(hint, origin, dict(zip(origin.__type_params__, args, strict=True)), scope)
        if is_record(origin):
            return self._record(hint, origin, scope)
        raise unsupported(origin, hint)

    def _literal(self, args: tuple[Any, ...]) -> Codec:
        values = tuple(value for value in args if value is not None)
        arms = [scalars.literal(values)] if values else []
        if len(values) < len(args):
            arms.append(scalars.NULL)
        return containers.union_of(arms)

    def _set_item(self, args: tuple[Any, ...], scope: Scope) -> Codec:
        if not args:
            return scalars.ANY
        hint = scope.evaluate(args[0])
        if getattr(typing.get_origin(hint) or hint, "__hash__", True) is None:
            raise UnsupportedType(
                "items of a set must be hashable; use list, or a frozen dataclass as the item"
            )
        return self.compile(hint, scope)

    def _tuple(self, hint: Any, args: tuple[Any, ...], scope: Scope) -> Codec:
        if hint is typing.Tuple:  # noqa: UP006 - has no arguments, like tuple[()], but means any
            return containers.tuple_of_any_length(scalars.ANY)
        if len(args) == 2 and args[1] is ...:
            with naming("[]"):
                return containers.tuple_of_any_length(self.compile(args[0], scope))
        items = []
        for index, arg in enumerate(args):
            if getattr(arg, "__unpacked__", False) or typing.get_origin(arg) is typing.Unpack:
                raise UnsupportedType(f"{hint} unpacks a tuple of unknown length; use list, or a dataclass")
            with naming(f"[{index}]"):
                items.append(self.compile(arg, scope))
        return containers.tuple_of(items)

    # -- classes -----------------------------------------------------------------------------------------

    def _compile_class(self, cls: type, scope: Scope) -> Codec:
        import enum

        codec = scalars.scalar(cls)
        if codec is not None:
            return codec
        if issubclass(cls, enum.Enum):
            return scalars.enumeration(cls)
        if cls is tuple:
            return containers.tuple_of_any_length(scalars.ANY)
        if cls in _LISTS:
            return containers.list_of(scalars.ANY)
        if cls in _SETS:
            return containers.set_of(scalars.ANY, _SETS[cls])
        if cls in _DICTS:
            return containers.dict_of(scalars.STR, scalars.ANY)
        if models.is_model(cls):
            return self._named(cls, cls.__name__, lambda: models.model_codec(cls, self), _OBJECT)
        if is_record(cls):
            return self._record(cls, cls, scope)
        raise unsupported(cls, cls)

    def _record(self, hint: Any, cls: Any, scope: Scope) -> Codec:
        """A dataclass or TypedDict; ``hint`` is more than ``cls`` where it has arguments: ``Box[int]``."""

        def build() -> Codec:
            if records.is_typed_dict(cls):
                return records.typed_dict_codec(cls, self, *typed_dict_members(hint, cls, scope))
            return records.dataclass_codec(cls, self, dataclass_hints(hint, cls, scope))

        parts = [cls, *typing.get_args(hint)]
        name = "_".join(getattr(part, "__name__", str(part)) for part in parts)
        return self._named(hint, name, build, _OBJECT)

    # -- everything else ---------------------------------------------------------------------------------

    def _compile_special(self, hint: Any, scope: Scope) -> Codec:
        if is_alias(hint):
            return self._alias(hint, hint, {}, scope)
        if hasattr(hint, "__supertype__"):  # NewType
            return self.compile(hint.__supertype__, scope)
        if isinstance(hint, TypeVar):
            raise UnsupportedType(f"the type variable {hint} has no value here; write a concrete type")
        raise unsupported(type(hint), hint)

    def _alias(self, hint: Any, alias: Any, values: Mapping[Any, Any], scope: Scope) -> Codec:
        inner = scope.of_module(alias.__module__)
        return self._named(
            hint, alias.__name__, lambda: self.compile(substitute(alias.__value__, values), inner)
        )

    def _named(
        self, key: Any, name: str, build: Callable[[], Codec], accepts: frozenset[type] = JSON_TYPES
    ) -> Codec:
        """A type that may be met again, perhaps while it is being compiled."""
        if key in self._done:
            return self._done[key]
        if key in self._open:
            reference = self._open[key]
            if not reference.name:
                reference.name = free_name(name, self.defs.keys() | self.output_defs.keys())
                self.defs[reference.name] = self.output_defs[reference.name] = {}
            schema = {"$ref": f"#/$defs/{reference.name}"}
            return Codec(schema, reference.decode, reference.encode, label=f"a {name} value", accepts=accepts)
        reference = self._open[key] = _Reference()
        try:
            codec = reference.codec = build()
        finally:
            del self._open[key]
        if reference.name:
            self.defs[reference.name] = codec.schema
            self.output_defs[reference.name] = codec.output_schema
            schema = {"$ref": f"#/$defs/{reference.name}"}
            codec = codec.replace(schema=schema, output_schema=schema, arms=())
        self._done[key] = codec
        return codec


# -- looking at typing objects ---------------------------------------------------------------------------


def is_alias(hint: Any) -> bool:
    """Whether it was made by a ``type`` statement, or by the backport of it."""
    return type(hint).__name__ == "TypeAliasType"


def is_qualifier(origin: Any) -> bool:
    """``Final``, ``Required``, ``NotRequired``, ``ReadOnly``, from `typing` or `typing_extensions`."""
    return getattr(origin, "_name", "") in ("Final", "Required", "NotRequired", "ReadOnly")


def union_arms(hint: Any) -> tuple[Any, ...]:
    """What a hint may mean: the arms of a union, without ``Annotated``."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return union_arms(typing.get_args(hint)[0])
    if origin is typing.Union or origin is types.UnionType:
        return tuple(inner for arm in typing.get_args(hint) for inner in union_arms(arm))
    return (hint,)


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (hasattr(hint, "__dataclass_fields__") or records.is_typed_dict(hint))


def unsupported(kind: Any, hint: Any) -> UnsupportedType:
    """The refusal of ``hint``, with what to write instead."""
    shown = hint.__qualname__ if isinstance(hint, type) else str(hint)
    remedy = _REMEDIES.get((getattr(kind, "__module__", ""), getattr(kind, "__name__", "")))
    if remedy is None and isinstance(hint, type) and issubclass(hint, tuple):
        remedy = "a NamedTuple would be an array without names; use a dataclass"
    if remedy is None:
        remedy = "use a dataclass, a TypedDict, a pydantic model, or built-in types"
    return UnsupportedType(f"{shown} has no JSON form here: {remedy}")


def substitute(hint: Any, values: Mapping[Any, Any]) -> Any:
    """``hint`` with type variables replaced: ``list[T]`` as ``list[int]``."""
    if isinstance(hint, TypeVar):
        return values.get(hint, hint)
    parameters = () if isinstance(hint, type) else getattr(hint, "__parameters__", ())
    if not parameters or not values:
        return hint
    return hint[tuple(values.get(parameter, parameter) for parameter in parameters)]


def type_variables(hint: Any, cls: Any) -> dict[Any, dict[Any, Any]]:
    """Per class: what its type variables stand for in ``Box[int]``, or in ``class IntBox(Box[int])``."""
    own = {} if hint is cls else dict(zip(cls.__parameters__, typing.get_args(hint), strict=True))
    found = {cls: own}
    for base in vars(cls).get("__orig_bases__", ()):
        origin = typing.get_origin(base)
        if is_record(origin):
            found.update(type_variables(substitute(base, own), origin))
    return found


def dataclass_hints(hint: Any, cls: Any, scope: Scope) -> dict[str, tuple[Any, Scope]]:
    """Each field's type and the scope it was written in, which may be a base in another module."""
    import dataclasses
    import inspect

    values = type_variables(hint, cls)
    fields = {field.name for field in dataclasses.fields(cls)}
    found: dict[str, tuple[Any, Scope]] = {}
    for base in reversed(cls.__mro__):
        if not hasattr(base, "__dataclass_fields__"):
            continue
        inner = scope.of_class(base)
        for name, annotation in inspect.get_annotations(base).items():
            with naming(f".{name}"):
                found[name] = (substitute(inner.evaluate(annotation), values.get(base, {})), inner)
                if name not in fields and "InitVar" in str(found[name][0]):
                    raise unsupported(dataclasses.InitVar, "InitVar")
    return found


def typed_dict_members(hint: Any, cls: Any, scope: Scope) -> tuple[dict[str, tuple[Any, Scope]], set[str]]:
    """The member types without their qualifiers, and which of them are required."""
    values: dict[Any, Any] = {}
    for mapping in reversed(type_variables(hint, cls).values()):
        values.update(mapping)
    inner = scope.of_class(cls)
    required = set(cls.__required_keys__)
    hints: dict[str, tuple[Any, Scope]] = {}
    for name, annotation in cls.__annotations__.items():
        with naming(f".{name}"):
            found = inner.evaluate(annotation)
            # __required_keys__ does not see qualifiers inside string hints, so they are read here again.
            while is_qualifier(typing.get_origin(found)):
                word = typing.get_origin(found)._name
                if word == "Required":
                    required.add(name)
                elif word == "NotRequired":
                    required.discard(name)
                found = inner.evaluate(typing.get_args(found)[0])
            hints[name] = (substitute(found, values), inner)
    return hints, required
