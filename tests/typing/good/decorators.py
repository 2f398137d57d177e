"""Every form of the decorator gives back the function itself."""

from collections.abc import Callable
from typing import assert_type

from mcpref import McpServer

server = McpServer("decorators", version="1.0")


@server.tool
def bare(city: str, days: int = 3) -> str:
    """Without parentheses."""
    return city * days


@server.tool()
def called(city: str) -> str:
    """With them."""
    return city


@server.tool(
    name="with.options",
    title="With options",
    description="Every option there is",
    icons=[{"src": "https://example.com/icon.png", "sizes": ["48x48"]}],
    meta={"com.example/team": "weather"},
    annotations={"readOnlyHint": True},
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    output_schema={"type": "object"},
    scopes=["weather.read"],
    lenient=True,
)
def optioned(city: str) -> dict[str, int]:
    return {city: 1}


def plain(city: str) -> int:
    """Registered by a call."""
    return len(city)


length: Callable[[str], int] = server.tool(plain, name="length")
assert_type(server.tool(plain, name="again")("Oslo"), int)
assert_type(bare("Oslo", days=2), str)
assert_type(called("Oslo"), str)
assert_type(optioned("Oslo"), dict[str, int])
