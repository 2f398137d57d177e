"""The MCP endpoint at /mcp, and again as a plain view, with callers of its own."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import include, path, re_path

from mcpref import Auth
from mcpref.contrib.django import mcp_view
from mcpref.transport.http_request import HttpRefusal

from .mcp import server


def by_header(request: Any) -> Auth | str | None:
    """Who sent a request, as it says itself."""
    name = request.headers.get("X-Caller")
    if name == "banned":
        raise PermissionDenied("not you")
    if name == "nobody":
        raise HttpRefusal(401, "say who you are", {"WWW-Authenticate": 'Bearer realm="shop"'})
    return str(name) if name else None


urlpatterns = [
    path("", include("mcpref.contrib.django.urls")),
    re_path(r"^internal/mcp/?$", mcp_view(server, principal=by_header)),
]
