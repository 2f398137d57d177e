"""Print which code and which tests belong to each section of the specification.

    python -m tests.spec.index [text]

A section is listed with the lines that cite it and the tests marked with one of its requirements. With a
text, only sections whose ``revision page#anchor`` contains it. A requirement's section is known where
``MCP_SPEC_DIR`` has the tables (``requirements-<revision>.tsv``); otherwise its id stands for it.
"""

from __future__ import annotations

import ast
import csv
import sys
from collections.abc import Iterator

from mcpref.versions import ProtocolVersion

from . import citations, official


def marked_tests() -> Iterator[tuple[str, str]]:
    """(requirement id, ``file:line name``) of every ``req`` marker on a test, class or parameter."""
    for path in citations.files():
        if path.suffix != ".py" or not path.is_relative_to(citations.ROOT / "tests"):
            continue
        name = path.relative_to(citations.ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        homes: dict[ast.AST, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                # Walked from the outside in, so that the innermost name is the one that stays.
                homes |= dict.fromkeys(ast.walk(node), node.name)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.req":
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        yield str(argument.value), f"{name}:{node.lineno} {homes.get(node, '')}".rstrip()


def requirement_sections() -> dict[str, list[str]]:
    """Requirement id, bare and with its revision -> the sections it comes from; empty without the tables."""
    found: dict[str, list[str]] = {}
    root = official.spec_dir()
    for version in ProtocolVersion:
        table = root / f"requirements-{version}.tsv" if root else None
        if table is None or not table.is_file():
            continue
        with table.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                section = f"{version} {row['page']}#{row['anchor']}"
                found.setdefault(row["id"], []).append(section)
                found[f"{version}:{row['id']}"] = [section]
    return found


def build() -> dict[str, list[str]]:
    """Section (or requirement id) -> what belongs to it, code first."""
    code: dict[str, list[str]] = {}
    tests: dict[str, list[str]] = {}
    for citation in citations.scan():
        side = tests if citation.file.startswith("tests/") else code
        for revision, page, anchor in citations.targets(citation):
            side.setdefault(f"{revision} {page}#{anchor}", []).append(citation.where)
    sections = requirement_sections()
    for requirement, where in marked_tests():
        for section in sections.get(requirement, [f"requirement {requirement}"]):
            tests.setdefault(section, []).append(f"{where} [{requirement}]")
    return {
        section: [f"code  {where}" for where in code.get(section, ())]
        + [f"test  {where}" for where in tests.get(section, ())]
        for section in sorted(code.keys() | tests.keys())
    }


def main(wanted: str = "") -> None:
    for section, entries in build().items():
        if wanted in section:
            print(section, *(f"    {entry}" for entry in entries), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:2])
