"""ctx.once keeps a value with a JSON form over the rounds of a call."""

import secrets
from typing import assert_type

from mcpref import Elicit, McpServer, RequestContext

server = McpServer("keeping", version="1.0")


def new_number() -> int:
    return secrets.randbelow(1000)


@server.tool
def order(ctx: RequestContext, what: str) -> str:
    """Place an order, under a number that does not change between the rounds."""
    number = ctx.once("number", new_number)
    assert_type(number, int)
    assert_type(ctx.once("token", lambda: secrets.token_hex(8)), str)
    assert_type(ctx.once("prices", lambda: [1.5, 2.5]), list[float])
    assert_type(ctx.once("limits", lambda: {"max": 3}), dict[str, int])
    assert_type(ctx.once("nothing", lambda: None), None)
    maybe: str | None = ctx.once("maybe", lambda: what or None)
    answer = ctx.ask("sure", Elicit(f"Order {what} as number {number}?", ["yes", "no"]))
    return f"{number} {maybe}" if answer.action == "accept" and answer.content == "yes" else "left it"
