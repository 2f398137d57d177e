"""Partial functions, and the application's own decorators below ours."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar, assert_type

from mcpref import McpServer

server = McpServer("wrapped", version="1.0")
P = ParamSpec("P")
R = TypeVar("R")


def counted(fn: Callable[P, R]) -> Callable[P, R]:
    """Count the calls."""
    calls: list[str] = []

    @functools.wraps(fn)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        calls.append(fn.__name__)
        return fn(*args, **kwargs)

    return wrapper


@server.tool
@counted
def twice(number: int, /, *, shout: bool = False) -> str:
    """Double a number."""
    return str(number * 2) + ("!" if shout else "")


def power(base: float, exponent: float) -> float:
    """Raise to a power."""
    return float(base**exponent)


square = server.tool(functools.partial(power, exponent=2.0), name="square")

assert_type(twice(2, shout=True), str)
assert_type(square(3.0), float)
