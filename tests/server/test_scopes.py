"""The ``scopes`` option: a collection of texts, and never a text."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer


@pytest.mark.parametrize(
    "scopes", [["read", "write"], ("write", "read"), {"read", "write"}, frozenset({"read", "write"})]
)
def test_any_collection_is_taken(scopes: Any) -> None:
    server = McpServer("scoped", version="1.0")
    server.tool(lambda: None, name="tool", scopes=scopes)
    server.prompt(lambda: "", name="prompt", scopes=scopes)
    server.resource("a://b", name="resource", scopes=scopes)(lambda: "")
    catalog = server.catalog
    assert catalog.tools["tool"].scopes == {"read", "write"}
    assert catalog.prompts["prompt"].scopes == {"read", "write"}
    assert catalog.resources["a://b"].scopes == {"read", "write"}


def test_a_text_is_refused() -> None:
    """It is a sequence too: each of its letters would have become a scope."""
    server = McpServer("scoped", version="1.0")
    text: Any = "admin"
    with pytest.raises(TypeError, match=r"as in scopes=\['admin'\]"):
        server.tool(lambda: None, name="tool", scopes=text)
    assert server.catalog.tools == {}
