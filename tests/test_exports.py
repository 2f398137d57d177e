"""The public names: all of them there, in order, documented, and no others."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import mcpref

#: Names that are types written out of others. They cannot have a docstring; a ``#:`` comment says what they are.
ALIASES = {"CallNext": "server/core.py", "ElicitResult": "asking.py"}

PACKAGE = Path(mcpref.__file__).parent


def test_all_is_sorted_and_without_repetition() -> None:
    assert sorted(set(mcpref.__all__)) == mcpref.__all__


@pytest.mark.parametrize("name", mcpref.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from mcpref import {name}", namespace)
    assert namespace[name] is getattr(mcpref, name)


def test_nothing_else_is_public() -> None:
    others = {
        name: value
        for name, value in vars(mcpref).items()
        if not name.startswith("_") and name not in mcpref.__all__
    }
    strays = [
        name
        for name, value in others.items()
        if not (isinstance(value, ModuleType) and value.__name__ == f"mcpref.{name}")
    ]
    assert strays == []


@pytest.mark.parametrize("name", [name for name in mcpref.__all__ if name != "__version__"])
def test_every_name_is_documented(name: str) -> None:
    value = getattr(mcpref, name)
    if name in ALIASES:
        lines = (PACKAGE / ALIASES[name]).read_text(encoding="utf-8").splitlines()
        (at,) = (number for number, line in enumerate(lines) if line.startswith(f"{name}: TypeAlias = "))
        assert lines[at - 1].startswith("#: ")
        return
    documentation = vars(value).get("__doc__")
    assert documentation, f"{name} has no docstring of its own"
    assert not documentation.startswith(f"{name}("), f"{name} has the docstring that dataclass makes"


CLASSES = [name for name in mcpref.__all__ if inspect.isclass(getattr(mcpref, name))]


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_and_property_is_documented(name: str) -> None:
    """By itself, or by what it overrides."""
    cls = getattr(mcpref, name)
    bare = [
        attribute
        for attribute, value in inspect.getmembers(cls)
        if not attribute.startswith("_")
        and (inspect.isfunction(value) or inspect.ismethod(value) or isinstance(value, property))
        if not inspect.getdoc(getattr(cls, attribute))
    ]
    assert bare == []


@pytest.mark.parametrize("path", ["content.py", "testing.py"])
def test_every_public_function_of_the_other_public_modules_is_documented(path: str) -> None:
    tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        if not node.name.startswith("_") and not ast.get_docstring(node)
    ]
    assert bare == []


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert mcpref.__version__ == version("mcpref")
