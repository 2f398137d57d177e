"""Content blocks of every kind."""

from typing import assert_type

from mcpref import Content, McpServer, content

server = McpServer("gallery", version="1.0")


@server.tool
def show(name: str) -> list[Content]:
    """A picture and what belongs to it."""
    hint = content.hints(audience=["user"], priority=0.8, last_modified="2026-07-28T00:00:00Z")
    return [
        content.text(name, annotations=hint),
        content.image(b"\x89PNG", "image/png"),
        content.audio("UklGRg==", "audio/wav", meta={"com.example/take": 2}),
        content.link("art://1", "The original", title="Original", mime_type="image/png", size=4),
        content.embedded("art://1/label", "Oil on canvas", mime_type="text/plain"),
    ]


@server.tool
def caption(name: str) -> Content:
    """One block alone."""
    return content.text(f"It is called {name}")


@server.tool
def either(found: bool) -> Content | str | None:
    """Text, a block, or nothing."""
    return content.text("found") if found else None


assert_type(show("Night"), list[Content])
assert_type(caption("Night"), Content)
assert_type(content.user("hi"), content.PromptMessage)
