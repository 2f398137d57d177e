"""A page for people: what a server offers, forms to try it, and what goes over the wire while they do.

Plain files, sent as they are: there is no build step and nothing of a third party. The page is an ordinary client of
the MCP endpoint, which it finds by a relative URL, and may do nothing that another client could not.

Whatever a server says of itself is untrusted here. The script puts it into the page as text, never as markup, and
the policy in `HEADERS` would stop it if it did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

#: Sent with each file.
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "media-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # A server that was updated must not meet the script of the one before it.
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_INDEX: Final = "index.html"
_PLACEHOLDER: Final = "{{endpoint}}"
_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}

#: What may be asked for, apart from the page itself. Names are looked up here and never made into a path.
FILES: Final = (
    "page.css",
    "page.js",
    "codec.js",
    "failures.js",
    "forms.js",
    "log.js",
    "shown.js",
    "spec.js",
    "wire.js",
)


class Page:
    """The page's files, ready to be sent."""

    def __init__(self, endpoint: str) -> None:
        """``endpoint`` is the URL of the MCP endpoint relative to the page, as in ``mcp``."""
        self.endpoint = endpoint
        self._read: dict[str, tuple[bytes, str]] = {}

    def file(self, name: str) -> tuple[bytes, str] | None:
        """A file's body and its content type; "" is the page itself. None if there is no such file."""
        found = self._read.get(name)
        if found is None and (name == "" or name in FILES):
            # Two threads may both read it; they read the same.
            found = self._read[name] = self._load(name or _INDEX)
        return found

    def _load(self, name: str) -> tuple[bytes, str]:
        from importlib.resources import files  # here, because most servers show no page

        text = files(__name__).joinpath(name).read_text(encoding="utf-8")
        if name == _INDEX:
            text = text.replace(_PLACEHOLDER, escape(self.endpoint))
        return text.encode("utf-8"), _TYPES[name[name.rindex(".") :]]
