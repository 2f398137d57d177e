"""ctx.ask: the answer has the type that the form says."""

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from mcpref import (
    Elicit,
    ElicitAccepted,
    ElicitCancelled,
    ElicitDeclined,
    ElicitResult,
    ElicitUrl,
    McpServer,
    RequestContext,
    Root,
    Roots,
    Sample,
    SampleResult,
)

server = McpServer("asking", version="1.0")


@dataclass
class Confirm:
    sure: bool


class Seat(TypedDict):
    row: int


@server.tool
def book(ctx: RequestContext, city: str) -> str:
    """Ask for everything."""
    answer = ctx.ask("confirm", Elicit("Really?", Confirm), timeout=30)
    assert_type(answer, ElicitResult[Confirm])
    if answer.action != "accept" or not answer.content.sure:
        return "left it"
    assert_type(answer.content, Confirm)
    seat = ctx.ask("seat", Elicit("Where?", Seat))
    assert_type(seat, ElicitAccepted[Seat] | ElicitDeclined | ElicitCancelled)
    colour = ctx.ask("colour", Elicit("Which?", ["red", "blue"]))
    assert_type(colour, ElicitResult[str])
    raw = ctx.ask("raw", Elicit("Name?", {"type": "object", "properties": {"name": {"type": "string"}}}))
    assert_type(raw, ElicitResult[dict[str, Any]])
    paid = ctx.ask("pay", ElicitUrl("Pay here", "https://example.com/pay"))
    assert_type(paid, ElicitResult[None])
    assert_type(ctx.ask("roots", Roots()), list[Root])
    assert_type(ctx.ask("text", Sample("A poem", max_tokens=50)), SampleResult)
    match seat:
        case ElicitAccepted(content=chosen):
            assert_type(chosen, Seat)
            return f"row {chosen['row']}"
        case ElicitDeclined() | ElicitCancelled():
            assert_type(seat.content, None)
            return "no seat"
