"""What may import what: read from the source of every module, and seen in a fresh process."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parent.parent

#: The parts of the package from the bottom up. A part imports from its own layer and from those below it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors", "versions", "schema", "cancellation", "settings", "framing"}),
    frozenset({"jsonrpc", "hints", "sse", "meta", "headers", "sampling_rules", "uri_syntax", "uri_template"}),
    frozenset({"caching", "mrtr", "pagination", "request_state", "content", "subscriptions", "discovery"}),
    frozenset({"asking"}),
    frozenset({"server", "page"}),
    frozenset({"transport"}),
    frozenset({""}),  # the package itself: the public names
    frozenset({"testing", "cli", "loading", "http_command", "demo", "contrib", "__main__"}),
)

#: Imports that point up: inside a function that starts a transport, or for the types of its signature ("").
UPWARDS = {
    ("server.core", "", "transport.wsgi"),
    ("server.core", "run", "transport.http_server"),
    ("server.core", "run", "transport.process"),
    ("server.core", "wsgi_app", "transport.wsgi"),
}

#: Modules of a layer that must not know the one below, though it is below.
IGNORANT = {"transport.duplex": "server", "transport.pending": "server"}

#: Which modules may import a library that is slow to load, and where in the module.
OWNERS: dict[str, dict[str, Literal["function", "module"]]] = {
    "jsonschema": {"hints.validation": "function"},
    "referencing": {"hints.validation": "function"},
    "cryptography": {"request_state": "function"},
    "pydantic": {},
    "urllib3": {},
    "werkzeug": {"transport.host_servers": "function", "http_command": "function", "contrib.flask": "module"},
    "waitress": {"transport.host_servers": "function"},
    "cheroot": {"transport.host_servers": "function"},
    "flask": {"contrib.flask": "module"},
    "gunicorn": {"contrib.gunicorn": "function", "http_command": "function"},
}

#: What neither ``import mcpref`` nor a call of a tool may load.
SLOW = ("asyncio", "cryptography", "jsonschema", "pydantic", "urllib3", "werkzeug")

MAX_LINES = 500


@dataclass(frozen=True, slots=True)
class Import:
    """One import of one module."""

    importer: str
    target: str
    """Of ours without ``mcpref.``, of others with a leading colon."""
    place: Literal["module", "type", "function"]
    """At module level, for the type checker alone, or inside a function."""
    function: str
    line: int


def modules() -> dict[str, Path]:
    """Every module by its name without ``mcpref.``; the package itself is ""."""
    found = {}
    for path in sorted((ROOT / "mcpref").rglob("*.py")):
        parts = path.relative_to(ROOT / "mcpref").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports(name: str) -> tuple[Import, ...]:
    """All imports of a module, wherever they stand."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    return tuple(_imports(tree, name, "module", ""))


def _imports(
    node: ast.AST, name: str, place: Literal["module", "type", "function"], function: str
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            for target in _targets(child, name):
                yield Import(name, target, place, function, child.lineno)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(child, name, "function", child.name)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for inner in child.body:
                yield from _imports(ast.Module([inner], []), name, "type", function)
            for inner in child.orelse:
                yield from _imports(ast.Module([inner], []), name, place, function)
        else:
            yield from _imports(child, name, place, function)


def _targets(node: ast.Import | ast.ImportFrom, name: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        bases = [alias.name for alias in node.names]
    elif node.level == 0:
        bases = [_submodule(str(node.module), alias.name) for alias in node.names]
    else:
        package = ["mcpref", *(name.split(".") if name else [])]
        if MODULES[name].name != "__init__.py":
            package.pop()
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *([node.module] if node.module else [])])
        bases = [_submodule(base, alias.name) for alias in node.names]
    for base in bases:
        if base == "mcpref" or base.startswith("mcpref."):
            yield base.removeprefix("mcpref").removeprefix(".")
        else:
            yield f":{base}"


def _submodule(base: str, attribute: str) -> str:
    full = f"{base}.{attribute}"
    return full if full.removeprefix("mcpref.") in MODULES else base


def layer(name: str) -> int:
    part = name.partition(".")[0]
    for number, parts in enumerate(LAYERS):
        if part in parts:
            return number
    raise AssertionError(f"mcpref/{part} has no layer yet; give it one in LAYERS")


# ---- The source -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name: str) -> None:
    up = [
        found
        for found in imports(name)
        if not found.target.startswith(":") and layer(found.target) > layer(name)
    ]
    assert [
        found
        for found in up
        if found.place == "module" or (name, found.function, found.target) not in UPWARDS
    ] == []


def test_the_list_of_imports_that_point_up_is_exact() -> None:
    found = {(entry.importer, entry.function, entry.target) for name in MODULES for entry in imports(name)}
    assert found >= UPWARDS
    assert all(layer(target) > layer(importer) for importer, _, target in UPWARDS)


def test_every_layer_names_parts_that_exist() -> None:
    parts = {name.partition(".")[0] for name in MODULES}
    assert set().union(*LAYERS) == parts


@pytest.mark.parametrize(("name", "unknown"), IGNORANT.items())
def test_some_modules_know_even_less(name: str, unknown: str) -> None:
    assert [found for found in imports(name) if found.target.partition(".")[0] == unknown] == []


def test_modules_do_not_import_one_another_in_circles() -> None:
    below = {
        name: {found.target for found in imports(name) if found.place == "module"} & set(MODULES)
        for name in MODULES
    }
    left = dict(below)
    while left:
        free = [name for name, targets in left.items() if not targets & set(left)]
        assert free, f"these import one another: {sorted(left)}"
        for name in free:
            del left[name]


@pytest.mark.parametrize("name", MODULES)
def test_there_is_no_asyncio(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    assert [
        found for found in imports(name) if found.target.startswith((":asyncio", ":anyio", ":trio"))
    ] == []
    coroutines = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    assert [node for node in ast.walk(tree) if isinstance(node, coroutines)] == []


@pytest.mark.parametrize("library", OWNERS)
def test_slow_libraries_are_imported_by_their_owners_only(library: str) -> None:
    found = {
        entry.importer: entry.place
        for name in MODULES
        for entry in imports(name)
        if entry.target.removeprefix(":").partition(".")[0] == library and entry.place != "type"
    }
    assert found == OWNERS[library]


@pytest.mark.parametrize("name", [name for name in MODULES if name])
def test_no_module_is_named_like_one_of_the_standard_library(name: str) -> None:
    last = name.rpartition(".")[2]
    assert last == "__main__" or last not in sys.stdlib_module_names


@pytest.mark.parametrize("name", MODULES)
def test_modules_stay_short_and_say_what_they_are_for(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert not text or ast.get_docstring(ast.parse(text))


# ---- A fresh process --------------------------------------------------------------------------------------


CALL = """
import sys
import mcpref
{before}
loaded = [name for name in {slow!r} if name in sys.modules]
print("loaded:", *loaded)
"""

FIRST_CALL = """
from dataclasses import dataclass
from mcpref import McpServer, NullContext, Param
from mcpref.jsonrpc import Request
from typing import Annotated

server = McpServer("first", version="1.0")

@dataclass
class Item:
    name: str
    copies: int = 1

@server.tool
def order(item: Item, urgent: Annotated[bool, Param("At once?")] = False) -> dict[str, int]:
    "Place an order."
    return {item.name: item.copies}

meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
for extra in ({}, {"_meta": meta}):
    params = {"name": "order", "arguments": {"item": {"name": "tea"}}, **extra}
    answer = server.handle(Request(1, "tools/call", params), NullContext())
    assert answer.result["structuredContent"] == {"tea": 1}, answer
    assert server.handle(Request(2, "tools/list", extra), NullContext()).result["tools"]
"""

OVER_PIPES = """
from mcpref.demo import server
from mcpref.testing import connect

for version in ("2025-11-25", "2026-07-28"):
    with connect(server, version) as client:
        assert client.call_tool("find_books", {"query": "brooks"})["content"]
"""


@pytest.mark.parametrize(
    "before", ["", FIRST_CALL, OVER_PIPES], ids=["import", "first call", "first call over pipes"]
)
def test_nothing_slow_is_loaded(before: str) -> None:
    program = CALL.format(before=before, slow=SLOW)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "loaded:\n"
