"""Find the citations of the specification in this repository, and tell which of them lead nowhere.

A citation stands on a line of a comment or a docstring and has the form ``<revision> <page>`` or
``<revision>..<revision> <page>``, then ``#<anchor>`` if a section is meant, then any words. A range means
every revision in it that has the page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcpref.versions import ProtocolVersion

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("mcpref", "conformance", "tests")
SUFFIXES = {".py", ".rst", ".md", ".txt", ".yml", ".yaml", ".toml", ".cfg"}

_REVISIONS = [version.value for version in ProtocolVersion]
# At the start of a line or of a comment; anywhere else it is prose.
_MARK = re.compile(r"""(?:^\s*(?:\.\.|\*|-)?\s*(?:["']{3})?|#:? )Spec: (?P<text>.+)""")
_FORM = re.compile(
    r"(?P<first>\d{4}-\d\d-\d\d)(?:\.\.(?P<last>\d{4}-\d\d-\d\d))?"
    r" (?P<page>[a-z0-9_/-]+)(?:#(?P<anchor>[\w%-]+))?"
)
# Lines of this package that show malformed citations on purpose.
_EXEMPT = {"tests/spec/test_citations.py"}


@dataclass(frozen=True)
class Citation:
    """What follows the mark, and where it stands."""

    file: str
    line: int
    text: str

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@functools.cache
def index() -> Mapping[tuple[str, str], frozenset[str]]:
    """(revision, page) -> its anchors."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in Path(__file__).with_name("citations.tsv").read_text(encoding="utf-8").splitlines():
        revision, page, anchor = row.split("\t")
        found.setdefault((revision, page), set()).add(anchor)
    return {key: frozenset(anchors) for key, anchors in found.items()}


def find(line: str) -> str | None:
    """The text of the citation in this line, if there is one."""
    match = _MARK.search(line)
    return match["text"] if match else None


def scan() -> Iterator[Citation]:
    """Every citation under the places where code and tests are."""
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        if name in _EXEMPT:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = find(line)
            if text is not None:
                yield Citation(name, number, text)


def files() -> Iterator[Path]:
    """The text files of this repository that may cite or be indexed."""
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*")):
            parts = path.relative_to(ROOT).parts
            hidden = any(part.startswith(".") or part in ("__pycache__", "node_modules") for part in parts)
            if path.suffix in SUFFIXES and path.is_file() and not hidden:
                yield path


def targets(citation: Citation) -> list[tuple[str, str, str]]:
    """(revision, page, anchor) of each revision that the citation names and that has the page."""
    match = _FORM.match(citation.text)
    if match is None:
        return []
    first, last = match["first"], match["last"] or match["first"]
    return [
        (revision, match["page"], match["anchor"] or "top")
        for revision in _REVISIONS
        if first <= revision <= last and (revision, match["page"]) in index()
    ]


def problems(citation: Citation) -> list[str]:
    """What is wrong with a citation; nothing if it resolves."""
    match = _FORM.match(citation.text)
    if match is None:
        return ["not of the form <revision or a..b> <page>[#<anchor>]"]
    first, last, page = match["first"], match["last"], match["page"]
    unknown = [f"{end} is not a revision" for end in (first, last) if end and end not in _REVISIONS]
    if unknown:
        return unknown
    if last is None:
        if (first, page) not in index():
            return [f"{first} has no page {page}"]
    elif last <= first:
        return ["the range ends before it starts"]
    homes = targets(citation)
    if not homes:
        return [f"no revision of the range has a page {page}"]
    return [
        f"{revision} {page} has no anchor #{anchor}"
        for revision, page, anchor in homes
        if anchor not in index()[revision, page]
    ]
