"""A function's signature as an ``inputSchema``, and the binding of arguments that checks as it converts.

(Public surface; bodies follow.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ..errors import McpError

Kind: TypeAlias = Literal["tool", "prompt", "resource"]
ContextKind: TypeAlias = Literal["none", "info", "context"]


class InputError(McpError):
    """The arguments do not fit; ``messages`` says what and why, one line per mistake, echoes cut."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = list(messages)
        super().__init__("; ".join(self.messages))


class Signature:
    """What registration learnt about a function. Immutable; shared by all threads."""

    __slots__ = ("bind", "context", "description", "input_schema", "name", "prompt_arguments")

    name: str
    input_schema: dict[str, Any]
    """As listed; a hand-written one is listed untouched."""
    description: str
    """The docstring without its parameter sections; "" if there is none."""
    context: ContextKind
    prompt_arguments: list[dict[str, Any]]
    """``{name, title?, description?, required?}`` per argument; for prompts."""
    bind: Callable[[Mapping[str, Any], object], tuple[tuple[Any, ...], dict[str, Any]]]
    """``args, kwargs = signature.bind(arguments, context)``, then ``fn(*args, **kwargs)``. Raises `InputError`."""

    def explain(self, arguments: Mapping[str, Any]) -> list[str]:
        """Why ``arguments`` are refused; empty if they are not."""
        raise NotImplementedError


class ReturnSpec:
    """What the return hint promises."""

    __slots__ = ("encode", "is_object", "output_schema")

    output_schema: dict[str, Any] | None
    is_object: bool
    """Whether structured values are JSON objects (what revisions before 2026-07-28 can carry)."""
    encode: Callable[[Any], Any]
    """A returned structured value -> JSON. Works without ``output_schema`` as well (by run-time type)."""


def compile_signature(
    fn: Callable[..., object],
    *,
    kind: Kind,
    name: str,
    input_schema: Mapping[str, Any] | None = None,
    context_types: Mapping[type, ContextKind] | None = None,
    lenient: bool = False,
    variables: Sequence[str] = (),
    localns: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
) -> Signature:
    """``localns``: the decorating frame's locals; ``names``: our own names, tried last."""
    raise NotImplementedError


def compile_return(
    fn: Callable[..., object],
    *,
    name: str,
    is_content_type: Callable[[Any], bool],
    response_type: type | None = None,
    localns: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
) -> ReturnSpec:
    """``response_type``: the class whose ``[S]`` holds the structured type (``ToolResponse``)."""
    raise NotImplementedError


def function_name(fn: Callable[..., object]) -> str:
    """The name to register under; a lambda or a partial has none and is refused with the remedy."""
    raise NotImplementedError
