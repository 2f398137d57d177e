"""Lists, tuples, sets, mappings and their nesting."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

from mcpref import McpServer

server = McpServer("containers", version="1.0")


@server.tool
def average(values: list[float], weights: tuple[float, ...] = ()) -> dict[str, float]:
    """The mean of some numbers."""
    return {"mean": sum(values) / len(values), "weights": sum(weights)}


@server.tool
def tags(names: set[str], pairs: list[tuple[str, int]], extra: Mapping[str, Any]) -> list[str]:
    """Sorted names."""
    return sorted(names | {name for name, _ in pairs} | set(extra))


@server.tool
def matrix(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """The transposed matrix."""
    return [list(column) for column in zip(*rows, strict=True)]


assert_type(average([1.0]), dict[str, float])
assert_type(tags({"a"}, [("b", 1)], {}), list[str])
assert_type(matrix([[1, 2]]), list[list[int]])
