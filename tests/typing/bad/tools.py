"""Registering tools, and calling what was registered."""

from collections.abc import Mapping
from typing import Any

from mcpref import McpServer

server = McpServer("weather", version="1.0")


@server.tool
def forecast(city: str, days: int = 3) -> str:
    return city * days


@server.tool(nme="other")  # refused: no such option
def other(city: str) -> str:
    return city


def plain(city: str) -> str:
    return city


server.tool(plain, nme="plain")  # refused: no such option
server.tool("plain")  # refused: a text is not a function
server.tool(42, name="answer")  # refused: neither is a number
server.tool()(42)  # refused: nor here
server.tool(plain, "name")  # refused: options have names
server.tool(plain, title=3)  # refused: a title is text
server.tool(plain, annotations=["readOnlyHint"])  # refused: annotations are a mapping
server.tool(plain, input_schema='{"type": "object"}')  # refused: a schema is a mapping
server.tool(plain, scopes="admin")  # refused: a text would be taken for its letters
server.tool(plain, lenient="yes")  # refused: a bool

forecast("Oslo", days="3")  # refused: the function stays typed
forecast()  # refused: and so do its parameters
forecast("Oslo").items()  # refused: and its result
server.remove_tool(forecast)  # refused: removed by name


async def wait() -> str:
    return await forecast("Oslo")  # refused: nothing here is awaited


def wrong_wire(server: McpServer) -> Mapping[str, Any]:
    return server.tools  # refused: no such attribute
