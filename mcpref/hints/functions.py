"""What a callable takes and gives: its parameters with their hints, resolved one by one.

Looks through partials, bound methods, wrappers and callable objects. Refuses what cannot be called with JSON
arguments on a plain thread, and says what to write instead.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .codec import MISSING, UnsupportedType
from .scope import Scope

_NOTHING: Mapping[str, Any] = {}


class Parameter(NamedTuple):
    name: str
    hint: Any
    """As written, maybe a string; ``Any`` if there is none."""
    default: Any
    """MISSING if the parameter is required."""
    positional_only: bool
    keyword_only: bool


class Function(NamedTuple):
    parameters: list[Parameter]
    takes_any: bool
    """Whether it has ``**kwargs``."""
    returns: Any
    """The return hint as written; MISSING if there is none."""
    scope: Scope
    doc: str
    by_position: bool
    """Whether all arguments may be passed by position, which is the fastest way to call it."""


def inspect_function(
    fn: Callable[..., object],
    *,
    localns: Mapping[str, Any] = _NOTHING,
    names: Mapping[str, Any] = _NOTHING,
    allow_kwargs: bool = False,
) -> Function:
    """Read the signature of ``fn``; raises `UnsupportedType`."""
    called = _called(fn)
    _check_kind(fn, called)
    try:
        signature = inspect.signature(fn)
    except (ValueError, TypeError):
        raise UnsupportedType("its signature cannot be read; wrap it in a function") from None
    hidden = _bound_keywords(fn)
    parameters: list[Parameter] = []
    takes_any = False
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.name in hidden:
            continue
        if parameter.kind is parameter.VAR_KEYWORD and allow_kwargs:
            takes_any = True
            continue
        _check_parameter(parameter, first=index == 0)
        unset = parameter.default is parameter.empty
        parameters.append(
            Parameter(
                parameter.name,
                Any if parameter.annotation is parameter.empty else parameter.annotation,
                MISSING if unset else parameter.default,
                parameter.kind is parameter.POSITIONAL_ONLY,
                parameter.kind is parameter.KEYWORD_ONLY,
            )
        )
    innermost = inspect.unwrap(called)
    returns = signature.return_annotation
    return Function(
        parameters,
        takes_any,
        MISSING if returns is signature.empty else returns,
        _scope_of(innermost, localns, names),
        innermost.__doc__ or ("" if _is_function(fn) else type(fn).__doc__) or "",
        # A wrapper may only look as if it took what it wraps takes: it gets keywords, as callers would write.
        _is_function(fn)
        and not hasattr(called, "__wrapped__")
        and not takes_any
        and not any(parameter.keyword_only for parameter in parameters),
    )


def function_name(fn: Callable[..., object]) -> str:
    """The name a function is known by; a lambda or a partial has none."""
    name = getattr(fn, "__name__", "")
    if not isinstance(name, str) or not name or name == "<lambda>":
        what = "a lambda" if name == "<lambda>" else f"a {type(fn).__name__} object"
        raise UnsupportedType(f"{what} has no name of its own; pass name=")
    return name


def _is_function(fn: object) -> bool:
    return isinstance(fn, (types.FunctionType, types.MethodType))


def _called(fn: Any) -> Any:
    """The function that runs first when ``fn`` is called."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif isinstance(fn, (types.MethodType, staticmethod)):
            fn = fn.__func__
        elif inspect.isroutine(fn) or isinstance(fn, type) or hasattr(fn, "__wrapped__") or not callable(fn):
            return fn
        else:
            fn = type(fn).__call__


def _check_kind(fn: object, called: object) -> None:
    if isinstance(called, type):
        raise UnsupportedType("it is a class; register a function, or a bound method of an instance")
    if isinstance(fn, classmethod) or not callable(fn):
        raise UnsupportedType(
            "it cannot be called; register a method after its class is complete, as in tool(Class.method)"
        )
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise UnsupportedType(
            "async functions are not supported, because calls run on threads, where an event loop of their own "
            "fails under gevent; write a plain `def` that blocks"
        )
    if inspect.isgeneratorfunction(called):
        raise UnsupportedType(
            "generator functions are not supported; return a list, and report progress through the context"
        )


def _check_parameter(parameter: inspect.Parameter, *, first: bool) -> None:
    name = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        raise UnsupportedType(f"parameter '*{name}': arguments come by name; use a list parameter")
    if parameter.kind is parameter.VAR_KEYWORD:
        raise UnsupportedType(
            f"parameter '**{name}': no schema can be derived from it; name the parameters, or pass input_schema="
        )
    if first and name in ("self", "cls") and parameter.annotation is parameter.empty:
        raise UnsupportedType(
            f"parameter {name!r}: the function is a method without its object; register the bound method, "
            "as in tool(obj.method)"
        )
    default = parameter.default
    if hasattr(default, "json_schema_extra") and hasattr(default, "metadata"):
        raise UnsupportedType(
            f"parameter {name!r}: a Field cannot be a default; write Annotated[..., Field(...)] = value"
        )


def _bound_keywords(fn: Any) -> set[str]:
    hidden: set[str] = set()
    while isinstance(fn, functools.partial):
        hidden |= fn.keywords.keys()
        fn = fn.func
    return hidden


def _scope_of(fn: Any, localns: Mapping[str, Any], names: Mapping[str, Any]) -> Scope:
    closure: dict[str, Any] = {}
    code = getattr(fn, "__code__", None)
    if code is not None:
        for name, cell in zip(code.co_freevars, fn.__closure__ or (), strict=True):
            try:
                closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
    closure.update((parameter.__name__, parameter) for parameter in getattr(fn, "__type_params__", ()))
    module_names = getattr(fn, "__globals__", {})
    if "<locals>" in getattr(fn, "__qualname__", ""):
        return Scope(module_names, {**localns, **closure}, names)
    # A function of a module does not see the locals of where it is registered, unless nothing else fits.
    return Scope(module_names, closure, {**names, **localns})
