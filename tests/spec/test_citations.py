"""Every citation of the specification names a page and a section that each revision it names has.

The index is citations.tsv; anchors.py writes it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpref.versions import ProtocolVersion

from . import anchors, citations, index, official


def test_every_citation_resolves() -> None:
    found = list(citations.scan())
    assert found, "no citation found: has the form changed?"
    problems = [f"{c.where}: {problem}" for c in found for problem in citations.problems(c)]
    assert not problems, "unresolved citations:\n" + "\n".join(problems)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-28 basic/index#meta", []),
        ("2026-07-28 basic/index#meta MUST do as it says", []),
        ("2026-07-28 server/discover", []),
        ("2026-07-28 basic/patterns/cancellation#top", []),
        ("2025-11-25 schema#implementation-title", []),
        ("2024-11-05..2026-07-28 server/tools#error-handling", []),
        # The page is not in the two oldest revisions, which lie inside the range or at its end.
        ("2024-11-05..2026-07-28 client/elicitation", []),
        ("2026-07-28 basic/index#metal", ["2026-07-28 basic/index has no anchor #metal"]),
        ("2026-07-28 basic/lifecycle", ["2026-07-28 has no page basic/lifecycle"]),
        ("2024-11-05 changelog", ["2024-11-05 has no page changelog"]),
        (
            "2024-11-05..2025-03-26 client/elicitation",
            ["no revision of the range has a page client/elicitation"],
        ),
        # Where the page is, the section must be.
        (
            "2025-03-26..2025-11-25 server/resources#annotations",
            ["2025-03-26 server/resources has no anchor #annotations"],
        ),
        ("2025-01-01 basic/index", ["2025-01-01 is not a revision"]),
        ("2026-07-28..2025-11-25 basic/index", ["the range ends before it starts"]),
        ("each revision's changelog", ["not of the form <revision or a..b> <page>[#<anchor>]"]),
    ],
)
def test_what_resolves(text: str, expected: list[str]) -> None:
    assert citations.problems(citations.Citation("file.py", 1, text)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    Spec: 2026-07-28 basic/index#meta MUST x", "2026-07-28 basic/index#meta MUST x"),
        ("# Spec: 2026-07-28 basic/index", "2026-07-28 basic/index"),
        ("#: Spec: each revision", "each revision"),
        ('    """Spec: 2026-07-28 basic/index"""', '2026-07-28 basic/index"""'),
        ("limit = 5  # Spec: 2026-07-28 basic/index", "2026-07-28 basic/index"),
        ("the form is ``Spec: <revision> <page>``", None),
        ("This Spec: is prose", None),
    ],
)
def test_what_is_a_citation(line: str, expected: str | None) -> None:
    assert citations.find(line) == expected


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("Error Codes", "error-codes"),
        ("`_meta`", "meta"),
        ("`$ref` Resolution", "ref-resolution"),
        ("Server Requirements (Basic Workflow)", "server-requirements-basic-workflow"),
        ("HTTP+SSE Transport (2024-11-05)", "http-sse-transport-2024-11-05"),
        ("Security and Trust & Safety", "security-and-trust-safety"),
        ("https://", "https%3A%2F%2F"),
        ("`notifications/tools/list_changed`", "notifications%2Ftools%2Flist_changed"),
        ("x-mcp-header", "x-mcp-header"),
    ],
)
def test_slugs(heading: str, slug: str) -> None:
    assert anchors.slug(heading) == slug


def test_anchors_of_a_page() -> None:
    page = """---
title: Page
---

<div id="enable-section-numbers" />

## Same

```python
# not a heading
```

## Same

<div id="by-hand" />
### Last ###
"""
    assert anchors.anchors(page) == ["top", "same", "same-1", "by-hand", "last"]


def test_the_index_covers_every_revision() -> None:
    assert {revision for revision, _ in citations.index()} == {version.value for version in ProtocolVersion}


def test_the_index_is_that_of_the_official_pages() -> None:
    root = official.spec_dir()
    if root is None:
        pytest.skip(official.HOW_TO_GET)
    docs = root / "docs" / "specification"
    if not docs.is_dir():
        pytest.skip(f"{official.VARIABLE}={root} has the schemas but no docs/specification to compare with")
    assert {*anchors.rows(docs)} == {(r, p, a) for (r, p), found in citations.index().items() for a in found}


def test_the_printed_index_leads_from_a_section_to_code_and_tests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    tmp_path.joinpath("requirements-2026-07-28.tsv").write_text(
        "id\tpage\tanchor\nerrors.legacy-range-no-new\tbasic/index\terror-codes\n", encoding="utf-8"
    )
    monkeypatch.setenv(official.VARIABLE, str(tmp_path))
    index.main("2026-07-28 basic/index#error-codes")
    section, *entries = capsys.readouterr().out.splitlines()
    assert section == "2026-07-28 basic/index#error-codes"
    assert any(entry.startswith("    code  mcpref/errors.py:") for entry in entries)
    assert any(
        "test_no_code_is_added_to_the_legacy_range [2026-07-28:errors.leg" in entry for entry in entries
    )


def test_without_the_tables_a_requirement_is_listed_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(official.VARIABLE, raising=False)
    assert "requirement 2026-07-28:errors.legacy-range-no-new" in index.build()
