"""Write the index of what may be cited: every page of the specification and every anchor in it.

    python -m tests.spec.anchors <checkout of the specification>/docs/specification > tests/spec/citations.tsv

One row for each anchor: revision, page, anchor. ``top`` stands for the page itself. An anchor is a heading's
slug or an explicit ``<div id>``; the latter are the types and members on the schema page.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mcpref.versions import ProtocolVersion

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.M | re.S)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$")
_DIV_ID = re.compile(r'<div [^>]*\bid="([^"]+)"')


def slug(heading: str) -> str:
    """The anchor that the documentation's host makes of a heading.

    Punctuation goes, except a slash and the colon of a URI scheme, which are percent-encoded: ``tools/call``
    becomes ``tools%2Fcall``. The links inside the specification were the measure.
    """
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
    text = text.replace("://", "%3A%2F%2F").replace("/", "%2F").replace("+", " ")
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s%-]", "", text).strip(" _"))


def anchors(page: str) -> list[str]:
    """The anchors of one page, ``top`` first, in the order of the page."""
    found = ["top"]
    seen: dict[str, int] = {}
    for line in _FENCE.sub("", page).splitlines():
        if heading := _HEADING.match(line):
            name = slug(heading[1])
            count = seen.get(name, 0)
            seen[name] = count + 1
            found.append(f"{name}-{count}" if count else name)
        found += (name for name in _DIV_ID.findall(line) if name != "enable-section-numbers")
    return list(dict.fromkeys(found))


def rows(docs: Path) -> Iterator[tuple[str, str, str]]:
    """Revision, page and anchor of everything under ``docs/<revision>/``."""
    for version in ProtocolVersion:
        root = docs / version.value
        pages = sorted(root.rglob("*.mdx"))
        if not pages:
            raise FileNotFoundError(
                f"no pages under {root}: name the directory that has one for each revision"
            )
        for path in pages:
            page = path.relative_to(root).with_suffix("").as_posix()
            for anchor in anchors(path.read_text(encoding="utf-8")):
                yield version.value, page, anchor


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for row in rows(Path(sys.argv[1])):
        print(*row, sep="\t")
