"""ctx.ask_all: one kind by key, or two to four kinds in their order."""

from dataclasses import dataclass
from typing import assert_type

from mcpref import (
    Elicit,
    ElicitResult,
    ElicitUrl,
    McpServer,
    RequestContext,
    Root,
    Roots,
    Sample,
    SampleResult,
)

server = McpServer("asking-all", version="1.0")


@dataclass
class Style:
    tone: str


@server.tool
def draft(ctx: RequestContext, topic: str) -> str:
    """Ask for several things in one round."""
    titles = ctx.ask_all({f"title{n}": Sample(f"Title {n} for {topic}", max_tokens=10) for n in range(3)})
    assert_type(titles, dict[str, SampleResult])

    two = ctx.ask_all(("style", Elicit("How?", Style)), ("roots", Roots()))
    assert_type(two, tuple[ElicitResult[Style], list[Root]])

    three = ctx.ask_all(
        ("text", Sample(topic, max_tokens=50)),
        ("colour", Elicit("Which?", ["red", "blue"])),
        ("roots2", Roots()),
        timeout=60,
    )
    assert_type(three, tuple[SampleResult, ElicitResult[str], list[Root]])

    style, roots, text, paid = ctx.ask_all(
        ("style2", Elicit("How?", Style)),
        ("roots3", Roots()),
        ("text2", Sample(topic, max_tokens=50)),
        ("pay", ElicitUrl("Pay", "https://example.com/pay")),
    )
    assert_type(style, ElicitResult[Style])
    assert_type(roots, list[Root])
    assert_type(text, SampleResult)
    assert_type(paid, ElicitResult[None])
    return text.text
