"""The setting ``MCPREF``: read, checked, and made into routes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import re_path
from django.utils.module_loading import import_string

from ...page import Page
from ...server.core import McpServer
from .views import DjangoPrincipal, mcp_view, page_view

#: What the setting may say.
KEYS: Final[Mapping[str, str]] = {
    "SERVER": "the dotted path of an McpServer, such as 'shop.mcp.server'",
    "PATH": "where it is served, 'mcp' unless said otherwise",
    "PRINCIPAL": "a function, or the dotted path of one: who sent a request, in place of request.user",
    "THREADS": "how many threads the host has",
    "PAGE": "whether a page for people is shown below the path, at 'page/'",
}


@dataclass(frozen=True, slots=True)
class Config:
    """The setting, checked."""

    server: McpServer
    path: str
    principal: DjangoPrincipal | None
    threads: int | None
    page: bool


def read_config() -> Config:
    """The setting; `ImproperlyConfigured` says what is wrong with it."""
    given = getattr(django_settings, "MCPREF", None)
    if not isinstance(given, Mapping) or "SERVER" not in given:
        raise ImproperlyConfigured(
            "the setting MCPREF must be a dictionary that names a server, "
            f"such as {{'SERVER': 'shop.mcp.server'}}; it is {given!r}"
        )
    unknown = sorted(str(key) for key in given if key not in KEYS)
    if unknown:
        known = "; ".join(f"{key}: {meaning}" for key, meaning in KEYS.items())
        raise ImproperlyConfigured(f"MCPREF has no {', '.join(unknown)}. It may have {known}.")
    server = _imported("SERVER", given["SERVER"])
    if not isinstance(server, McpServer):
        raise _wrong("SERVER", given["SERVER"], f"is no McpServer but a {type(server).__name__}: {server!r}")
    path, threads, page = (
        given.get("PATH", "mcp"),
        given.get("THREADS"),
        given.get("PAGE", server.settings.page),
    )
    if not isinstance(path, str):
        raise _wrong("PATH", path, "is no string")
    if threads is not None and (not isinstance(threads, int) or isinstance(threads, bool) or threads < 1):
        raise _wrong("THREADS", threads, "is no number of threads")
    if not isinstance(page, bool):
        raise _wrong("PAGE", page, "is neither True nor False")
    principal = given.get("PRINCIPAL")
    if isinstance(principal, str):
        principal = _imported("PRINCIPAL", principal)
    if principal is not None and not callable(principal):
        raise _wrong("PRINCIPAL", given["PRINCIPAL"], "cannot be called")
    return Config(server, path.strip("/"), principal, threads, page)


def _imported(key: str, path: object) -> Any:
    if not isinstance(path, str):
        raise _wrong(key, path, f"is no dotted path but a {type(path).__name__}")
    try:
        return import_string(path)
    except ImportError as error:
        raise _wrong(key, path, f"cannot be imported: {error}") from error


def _wrong(key: str, value: object, what: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"MCPREF[{key!r}] = {value!r} {what}. It is {KEYS[key]}.")


def routes(config: Config) -> list[Any]:
    """What ``mcpref.contrib.django.urls`` has: the endpoint with and without a slash, and maybe the page."""
    path = re.escape(config.path)
    # One route for both forms, so that APPEND_SLASH finds nothing to redirect: clients do not send a body twice.
    endpoint = rf"^{path}/?$" if path else r"^$"
    found = [
        re_path(
            endpoint, mcp_view(config.server, principal=config.principal, threads=config.threads), name="mcp"
        )
    ]
    if config.page:
        below = f"{path}/" if path else ""
        found.append(re_path(rf"^{below}page/(?P<name>[\w.]*)$", page_view(Page("../")), name="mcp-page"))
    return found
