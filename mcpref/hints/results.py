"""What a function promises to return: the output schema of its return hint, and the encoder that goes with it.

Which hints mean content rather than data, the caller says: content is a matter of the protocol.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any, Final

from .codec import MISSING, Codec, DecodeError, UnsupportedType, encode_any, naming
from .compiler import Compiler, union_arms
from .functions import inspect_function
from .validation import SchemaValidator


class ReturnSpec:
    """What the return hint promises."""

    __slots__ = ("check", "encode", "is_object", "output_schema")

    def __init__(self, codec: Codec | None) -> None:
        self.output_schema: dict[str, Any] | None = None if codec is None else codec.output_schema
        """None where the hint promises no structured result."""
        self.is_object = codec is not None and codec.output_schema.get("type") == "object"
        """Whether structured results are JSON objects, which is all that revisions before 2026-07-28 carry."""
        self.encode: Callable[[Any], Any] = encode_any if codec is None else codec.encode
        """A returned value -> JSON; by its run-time type where nothing is promised."""
        self.check: Callable[[Any], list[str]] = _no_complaints if codec is None else _checker(codec)
        """What is wrong with an encoded value."""


def _no_complaints(value: Any) -> list[str]:
    return []


def _checker(codec: Codec) -> Callable[[Any], list[str]]:
    """The converter decides in the usual case, far faster; what it does not take, jsonschema judges and words."""
    decode = codec.decode
    validator = SchemaValidator(codec.output_schema)

    def check(value: Any) -> list[str]:
        try:
            decode(value)
        except DecodeError:
            return validator.errors(value)
        return []

    return check


def compile_return(
    fn: Callable[..., object],
    *,
    name: str,
    is_content_type: Callable[[Any], bool],
    response_type: type | None = None,
    localns: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
) -> ReturnSpec:
    """The output schema that the return hint of ``fn`` promises, if it promises one.

    Text, None, content (``is_content_type``), ``Any`` and no hint at all promise nothing. In ``response_type[S]``
    it is S that promises. A union promises something only if each of its arms does; None stands for null there.
    """
    try:
        function = inspect_function(fn, localns=localns or {}, names=names or {}, allow_kwargs=True)
        with naming("return"):
            hint = None if function.returns is MISSING else function.scope.evaluate(function.returns)
            promised = _promised(hint, is_content_type, response_type)
            if promised is None:
                return ReturnSpec(None)
            compiler = Compiler()
            codec = compiler.compile(promised, function.scope)
    except UnsupportedType as error:
        raise UnsupportedType(f"tool {name!r}: {error}") from error.__cause__
    return ReturnSpec(codec.replace(output_schema=compiler.document(codec.output_schema, output=True)))


def _promised(hint: Any, is_content_type: Callable[[Any], bool], response_type: type | None) -> Any:
    """The hint of the structured result; None if there is none."""
    arms: list[Any] = []
    nullable = False
    for arm in union_arms(hint):
        if arm is None or arm is type(None):
            nullable = True
        elif response_type is not None and typing.get_origin(arm) is response_type:
            inner = typing.get_args(arm)[0]
            if inner in (Any, object, None, type(None)):
                return None
            arms.append(inner)
        elif arm in _SILENT or arm is response_type or arm is str or is_content_type(arm):
            return None
        else:
            arms.append(arm)
    if not arms:
        return None
    if len(arms) == 1 and not nullable:
        return hint if union_arms(hint) == (arms[0],) else arms[0]
    return typing.Union[tuple([*arms, None] if nullable else arms)]  # noqa: UP007 - made at run time


#: Hints that say nothing about the result.
_SILENT: Final = (Any, object, typing.NoReturn, typing.Never)
