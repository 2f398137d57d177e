"""Docstrings in Google, NumPy and Sphinx style: the description, and what is said of each parameter.

The style is not guessed for the whole text: each section is read as what it looks like. Knows nothing of
functions; what a docstring says of parameters that do not exist is the caller's to ignore.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_SECTIONS: Final = r"(?:(?:Keyword |Other )?(?:Args|Arguments|Parameters|Params)|Kwargs)"
#: Google: ``Args:`` with an indented block.
_GOOGLE_HEADER: Final = re.compile(rf"{_SECTIONS}:\s*", re.IGNORECASE)
#: ``name (type): text``; several names may share a text.
_GOOGLE_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|$)")
#: NumPy: ``Parameters`` underlined.
_NUMPY_HEADER: Final = re.compile(_SECTIONS, re.IGNORECASE)
_UNDERLINE: Final = re.compile(r"-{3,}|={3,}")
#: ``name : type``, or the name alone.
_NUMPY_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
#: Sphinx: ``:param type name: text``, and ``:type name: type``, which hints say better.
_SPHINX_FIELD: Final = re.compile(
    r":(param|parameter|arg|argument|key|keyword|type)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)"
)
_BULLET: Final = re.compile(r"([-*+]|\d+[.)])\s")


class Docstring(NamedTuple):
    description: str
    """The text without the sections about parameters."""
    params: dict[str, str]


def parse_docstring(text: str | None) -> Docstring:
    """Split a docstring as `inspect` gives it; None and "" give an empty one."""
    from inspect import cleandoc

    lines = cleandoc(text or "").splitlines()
    kept: list[str] = []
    params: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        following = lines[at + 1] if at + 1 < len(lines) else ""
        field = _SPHINX_FIELD.fullmatch(line)
        if _NUMPY_HEADER.fullmatch(line) and _UNDERLINE.fullmatch(following.strip()):
            end = _end_of_underlined(lines, at + 2)
            params.update(_entries(lines[at + 2 : end], _NUMPY_ENTRY))
        elif _GOOGLE_HEADER.fullmatch(line) and _indent(_first_text(lines, at + 1)) > _indent(lines[at]):
            end = _end_of_indented(lines, at + 1, _indent(lines[at]))
            params.update(_entries(lines[at + 1 : end], _GOOGLE_ENTRY))
        elif field:
            end = _end_of_indented(lines, at + 1, _indent(lines[at]))
            if field[1] != "type":
                params[field[2]] = _flow([field[3], *lines[at + 1 : end]])
        else:
            kept.append(lines[at])
            end = at + 1
        at = end
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return Docstring(description, {name: text for name, text in params.items() if text})


def _entries(block: list[str], entry: re.Pattern[str]) -> dict[str, str]:
    """The entries of a section: lines at its own indent begin one, deeper lines continue it."""
    base = _indent(_first_text(block, 0))
    found: dict[str, list[str]] = {}
    texts: list[str] = []
    for line in block:
        match = entry.fullmatch(line.strip()) if line.strip() and _indent(line) <= base else None
        if match:
            texts = [(match[2] or "") if entry.groups > 1 else ""]
            found.update((name.strip(" *"), texts) for name in match[1].split(","))
        else:
            texts.append(line)
    return {name: _flow(lines) for name, lines in found.items()}


def _flow(lines: Iterable[str]) -> str:
    """Wrapped lines as one paragraph; blank lines and bullets begin anew."""
    text = ""
    for line in (line.strip() for line in lines):
        if not line:
            text = text.rstrip() + "\n\n" if text else ""
        elif not text or text.endswith("\n"):
            text += line
        else:
            text += ("\n" if _BULLET.match(line) else " ") + line
    return text.strip()


def _first_text(lines: list[str], start: int) -> str:
    return next((line for line in lines[start:] if line.strip()), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end_of_indented(lines: list[str], start: int, indent: int) -> int:
    """Where the block that is indented deeper than ``indent`` ends."""
    end = start
    for at in range(start, len(lines)):
        if lines[at].strip():
            if _indent(lines[at]) <= indent:
                break
            end = at + 1
    return end


def _end_of_underlined(lines: list[str], start: int) -> int:
    """Where the next underlined heading begins."""
    for at in range(start, len(lines) - 1):
        if lines[at].strip() and _UNDERLINE.fullmatch(lines[at + 1].strip()):
            return at
    return len(lines)
