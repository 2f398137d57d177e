"""Testing a handler alone, with a context that records."""

from dataclasses import dataclass
from typing import Any, assert_type

from mcpref import Ask, Elicit, McpServer, RequestContext
from mcpref.testing import RecordingContext

server = McpServer("recorded", version="1.0")


@dataclass
class Confirm:
    sure: bool


@server.tool
def book(ctx: RequestContext, city: str) -> str:
    """Book a trip."""
    ctx.report_progress(1, 2)
    answer = ctx.ask("confirm", Elicit(f"Book {city}?", Confirm))
    return "booked" if answer.action == "accept" and answer.content.sure else "left it"


def test_book() -> None:
    ctx = RecordingContext(
        answers={"confirm": {"action": "accept", "content": {"sure": True}}},
        version="2025-11-25",
        progress_token=7,
        capabilities={"elicitation": {}},
    )
    assert_type(book(ctx, "Oslo"), str)
    assert_type(ctx.progress, list[float])
    assert_type(ctx.logged, list[tuple[str, Any]])
    assert_type(ctx.asked, dict[str, Ask[Any]])
    assert_type(ctx.ask("other", Elicit("Sure?", Confirm)).action == "accept", bool)
    ctx.token.cancel()
    assert ctx.is_cancelled
