"""The README's code blocks, each with the name that a ``.. snippet:`` comment gives it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.rst"

_SNIPPET = re.compile(r"snippet: ([\w-]+)")


@dataclass(frozen=True, slots=True)
class Block:
    """One code block."""

    language: str
    text: str
    name: str | None
    """None if no comment stands before it."""


@cache
def document() -> nodes.document:
    """The README, parsed; what is wrong with it is in there as system messages."""
    return publish_doctree(
        README.read_text(encoding="utf-8"),
        source_path=str(README),
        settings_overrides={
            "report_level": 1,
            "halt_level": 5,
            "warning_stream": False,
            "syntax_highlight": "none",
            "file_insertion_enabled": False,
        },
    )


@cache
def blocks() -> list[Block]:
    """Every code block, in the README's order. A comment names the block that comes next."""
    found: list[Block] = []
    name: str | None = None
    for node in document().findall():
        if isinstance(node, nodes.comment):
            match = _SNIPPET.fullmatch(node.astext())
            name = match[1] if match else None
        elif isinstance(node, nodes.literal_block):
            languages = [kind for kind in node["classes"] if kind != "code"]
            found.append(Block(languages[0] if languages else "", node.astext() + "\n", name))
            name = None
    return found


def snippet(name: str) -> str:
    """The text of a named block."""
    (text,) = (block.text for block in blocks() if block.name == name)
    return text


COVERED: set[str] = set()
"""The blocks that tests run."""


def covers(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The test below runs the block of this name."""
    COVERED.add(name)
    return lambda test: test


def run(*names: str) -> dict[str, Any]:
    """Run blocks as one module; what it defines."""
    namespace: dict[str, Any] = {"__name__": "readme"}
    for name in names:
        exec(compile(snippet(name), f"README.rst:{name}", "exec", dont_inherit=True), namespace)
    return namespace


def commands() -> list[list[str]]:
    """What the console blocks have after the prompt, without comments."""
    lines = [line for block in blocks() if block.language == "console" for line in block.text.splitlines()]
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ").partition("#")[0].split() for line in lines]


def literals() -> list[str]:
    """What stands between double backquotes."""
    return [node.astext() for node in document().findall(nodes.literal)]
