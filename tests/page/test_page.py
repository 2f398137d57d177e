"""The page's files: what is served, and what must never be in them."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

import mcpref.page
from mcpref import McpServer
from mcpref.page import FILES, HEADERS, Page
from tests.spec import citations

FOLDER = Path(mcpref.page.__file__).parent
SCRIPTS = sorted(FOLDER.glob("*.js"))
SITE = "https://modelcontextprotocol.io/specification/"


# ---- What is served -------------------------------------------------------------------------------------


def test_every_file_is_served_with_its_type() -> None:
    page = Page("mcp")
    types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
    for name in FILES:
        found = page.file(name)
        assert found is not None
        body, kind = found
        assert body == (FOLDER / name).read_bytes()
        assert kind == types[Path(name).suffix]
    index = page.file("")
    assert index is not None
    assert index[1] == "text/html; charset=utf-8"


def test_every_file_of_the_folder_is_one_that_is_served() -> None:
    there = {path.name for path in FOLDER.iterdir() if path.is_file()} - {"__init__.py"}
    assert there == {*FILES, "index.html"}


@pytest.mark.parametrize(
    "name", ["index.html", "__init__.py", "../settings.py", "/page.js", "page.js/", "PAGE.JS"]
)
def test_nothing_else_is(name: str) -> None:
    assert Page("mcp").file(name) is None


def test_the_headers_let_the_page_do_what_it_must_and_nothing_more() -> None:
    assert dict(HEADERS) == {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
            "media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def test_an_application_sends_them() -> None:
    app = McpServer("shop").wsgi_app(page=True)
    try:
        client = Client(app)
        for path in ("/", "/page.js"):
            reply = client.get(path)
            assert reply.status_code == 200
            assert {name: reply.headers.get(name) for name in HEADERS} == dict(HEADERS)
        assert client.get("/nothing.js").status_code == 404
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    finally:
        app.close()


@pytest.mark.parametrize("endpoint", ["mcp", "../../mcp", '"><script>alert(1)</script>', "a&b='c'"])
def test_the_endpoint_is_put_into_the_page_and_cannot_leave_its_attribute(endpoint: str) -> None:
    found = Page(endpoint).file("")
    assert found is not None
    seen = _Seen()
    seen.feed(found[0].decode())
    assert seen.metas["mcp-endpoint"] == endpoint
    assert seen.scripts == [{"type": "module", "src": "page.js"}]
    assert b"{{" not in found[0]


# ---- What must not be in them ---------------------------------------------------------------------------


class _Seen(HTMLParser):
    """What the page's markup has in it."""

    def __init__(self) -> None:
        super().__init__()
        self.metas: dict[str, str | None] = {}
        self.scripts: list[dict[str, str | None]] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.attributes += given
        self.urls += [value or "" for name, value in attrs if name in ("href", "src", "action")]
        if tag == "meta" and given.get("name"):
            self.metas[str(given["name"])] = given.get("content")
        if tag == "script":
            self.scripts.append(given)


def test_the_markup_has_no_script_style_or_handler_of_its_own() -> None:
    seen = _Seen()
    seen.feed((FOLDER / "index.html").read_text(encoding="utf-8"))
    assert seen.scripts == [{"type": "module", "src": "page.js"}]
    assert "style" not in seen.tags
    assert "style" not in seen.attributes
    assert [name for name in seen.attributes if name.startswith("on")] == []
    assert "noscript" in seen.tags
    assert [url for url in seen.urls if ":" in url and url != "data:,"] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|document\.write|DOMParser"
        r"|\beval\b|new Function|srcdoc|javascript:|setAttribute\(\s*[\"'](on|style)|localStorage|document\.cookie"
    )
    assert re.findall(forbidden, text) == []


@pytest.mark.parametrize(
    "path", [*SCRIPTS, FOLDER / "page.css", FOLDER / "index.html"], ids=lambda path: path.name
)
def test_nothing_leads_elsewhere_but_to_the_specification(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    urls = set(re.findall(r"(?:https?:)?//[a-z0-9-]+\.[a-z][^\s\"'`)]*", text))
    assert urls <= {SITE}
    assert "@import" not in text
    assert not re.search(r"\burl\(", text)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_load_only_one_another(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    loaded = re.findall(r"^\s*(?:import|export)\b[^;]*?from \"([^\"]+)\"", text, re.M)
    assert set(loaded) <= {f"./{script.name}" for script in SCRIPTS}
    assert "import(" not in text


# ---- Links into the specification -----------------------------------------------------------------------


def notes() -> dict[str, dict[str, Any]]:
    """The table of notes, which is JSON inside of a script."""
    text = (FOLDER / "spec.js").read_text(encoding="utf-8")
    start = text.index("export const NOTES = ") + len("export const NOTES = ")
    value, _ = json.JSONDecoder().raw_decode(text, start)
    assert isinstance(value, dict)
    return value


def revisions() -> list[str]:
    text = (FOLDER / "spec.js").read_text(encoding="utf-8")
    return re.findall(r'id: "(\d{4}-\d\d-\d\d)"', text)


def links() -> list[tuple[str, str, str]]:
    """Note, revision and place of every link that the page can show."""
    found = []
    for key, note in notes().items():
        for revision in revisions():
            era = "modern" if revision == "2026-07-28" else "legacy"
            place = note[revision] if revision in note else note.get(era)
            if place is not None:
                found.append((key, revision, place))
    return found


def test_every_link_leads_to_a_section_that_is_there() -> None:
    assert revisions() == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert len(links()) > 150
    wrong = []
    for key, revision, place in links():
        page, _, anchor = place.partition("#")
        if not anchor or anchor not in citations.index().get((revision, page), ()):
            wrong.append((key, revision, place))
    assert wrong == []


def test_every_note_has_words_for_each_era_it_has_a_link_in() -> None:
    known = {"text", "modern", "legacy", "modern.text", "legacy.text", *revisions()}
    for key, note in notes().items():
        assert note.keys() <= known, key
        for era in ("modern", "legacy"):
            if era in note:
                assert note.get(f"{era}.text", note.get("text")), key
        assert any(name == key for name, _, _ in links()), key


def test_every_note_that_the_script_names_is_in_the_table() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    named = set(re.findall(r'"((?:status|end|event|headers|meta|result|send|reply)[ .][a-z0-9 _]+)"', text))
    assert len(named) > 20
    assert named - notes().keys() == set()
