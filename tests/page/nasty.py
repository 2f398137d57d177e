"""A server whose every word tries to break out of the page, and that asks for every kind of input."""

from __future__ import annotations

import threading
from typing import Annotated, Any, Literal

from mcpref import (
    Content,
    Elicit,
    ElicitUrl,
    McpServer,
    Param,
    RequestContext,
    Roots,
    ToolError,
    content,
)

SCRIPT = "<script>window.__pwned = 1</script>"
IMAGE = '<img src=x onerror="window.__pwned = 1">'
#: One word, wider than any window.
LONG = "W" * 900


def make() -> McpServer:
    """A new one for each use: nothing of it is shared."""
    server = McpServer(
        "nasty",
        version=f"1 {IMAGE}",
        title=f"Nasty {SCRIPT}",
        description=f"{IMAGE} {LONG}",
        instructions=f"{SCRIPT} {LONG}",
    )

    @server.tool(title=f"Echo {IMAGE}", description=f"{SCRIPT}\n{IMAGE}\n{LONG}")
    def echo(
        words: Annotated[str, Param(f"Any words {SCRIPT} {LONG}")] = f'"{IMAGE}',
        choice: Literal["plain", "<b>bold</b>"] = "<b>bold</b>",
    ) -> dict[str, str]:
        return {"words": words, "choice": choice, SCRIPT: IMAGE, "long": LONG}

    @server.tool
    def fail() -> str:
        raise ToolError(f"It failed: {SCRIPT} {IMAGE} {LONG}")

    @server.tool
    def kinds() -> list[Content]:
        """Content of every kind, with names to match."""
        return [
            content.text(f"{SCRIPT} {LONG}"),
            content.link("x://y", f"{IMAGE} {LONG}"),
            content.embedded("x://z", f"{SCRIPT} {LONG}", mime_type="text/html"),
            content.image(b"<svg onload=alert(1)>", "text/html"),
        ]

    @server.tool
    def question(ctx: RequestContext) -> str:
        """Asks by a form of every field."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": f"Name {SCRIPT}", "minLength": 2},
                "mail": {"type": "string", "format": "email"},
                "day": {"type": "string", "format": "date"},
                "size": {
                    "type": "string",
                    "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
                },
                "colours": {
                    "type": "array",
                    "items": {"type": "string", "enum": ["red", "green", "blue"]},
                    "minItems": 1,
                },
                "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
                "sure": {"type": "boolean"},
            },
            "required": ["name", "size", "colours"],
        }
        answer = ctx.ask("q", Elicit(f"Fill this in {IMAGE} {LONG}", schema))
        return f"{answer.action}: {answer.content!r}"

    @server.tool
    def visit(ctx: RequestContext) -> str:
        """Asks to visit a page."""
        answer = ctx.ask("v", ElicitUrl(f"Please visit {SCRIPT}", "https://login.example.com/start?x=<y>"))
        return f"visit: {answer.action}"

    @server.tool
    def directories(ctx: RequestContext) -> str:
        """Asks for roots."""
        found = ctx.ask("r", Roots())
        return ", ".join(root.uri for root in found)

    @server.tool
    def routed(
        region: Annotated[str, Param("Where", header="Region")],
        number: Annotated[int, Param("Which", header="Number")] = 7,
    ) -> str:
        """Arguments that are repeated in headers."""
        return f"{region} {number}"

    @server.tool
    def hang(ctx: RequestContext) -> str:
        """Says that it is there, and then nothing until it is cancelled."""
        ctx.report_progress(1, 10, "hanging")
        hanging.set()
        if ctx.wait(30):
            stopped.set()
        return "never"

    @server.tool
    def twice(ctx: RequestContext) -> str:
        """Asks one thing after the other."""
        first = ctx.ask("first", Elicit("First?", ["one", "two"]))
        second = ctx.ask("second", Elicit(f"After {first.content}, second?", ["three", "four"]))
        return f"{first.content} and {second.content}"

    @server.tool
    def at_once(ctx: RequestContext) -> str:
        """Asks two things at the same time."""
        a, b = ctx.ask_all(("a", Elicit("A?", ["x"])), ("b", Elicit("B?", ["y"])))
        return f"a={a.action}, b={b.action}"

    @server.tool
    def leave(ctx: RequestContext) -> str:
        """Ends its stream before the answer; 2025-11-25 lets a client come back for it."""
        ctx.report_progress(1, 2, "leaving")
        ctx.close_stream()
        return "came back"

    @server.tool
    def nested(filters: dict[str, Any], tags: list[str] | None = None) -> str:
        """Arguments that are JSON."""
        return f"{filters!r} {tags!r}"

    @server.resource("x://y", name=f"{IMAGE} {LONG}", description=SCRIPT, mime_type="text/html")
    def resource() -> str:
        return f"{SCRIPT}{IMAGE}{LONG}"

    @server.prompt(title=f"Prompt {SCRIPT}")
    def prompt(subject: str) -> str:
        """A prompt."""
        return f"{SCRIPT} about {subject} {LONG}"

    return server


#: What `hang` tells: that it runs, and that it was cancelled.
hanging = threading.Event()
stopped = threading.Event()
