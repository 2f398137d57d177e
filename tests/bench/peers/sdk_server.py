"""The bench server on the official SDK: its high-level API, sync tools, defaults throughout.

Every tool but one returns an object, so that both servers owe the same: structured content, its text, and an
output schema. Runs inside an environment of that SDK, never inside mcpref's own. The 1.x line calls the same
class FastMCP.
"""

import time
from dataclasses import dataclass

try:
    from mcp.server.mcpserver import Context, MCPServer
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("bench")


@dataclass
class Sum:
    result: int


@dataclass
class Line:
    text: str


@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two integers."""
    return Sum(a + b)


@server.tool()
def sleep(seconds: float) -> str:
    """Sleep, then say so."""
    time.sleep(seconds)
    return "slept"


@server.tool()
async def progress(ctx: Context, steps: int) -> Sum:
    """Report every step as it is made, without waiting in between."""
    for step in range(1, steps + 1):  # async because reporting is: nothing else is offered
        await ctx.report_progress(step, steps)
    return Sum(steps)


def numbered(number: int):
    def tool(name: str, count: int = 1, ratio: float = 0.5, flag: bool = False) -> Line:
        """Format the arguments of a call into one line of text."""
        return Line(f"{number} {name} {count} {ratio} {flag}")

    return tool


for number in range(47):
    server.tool(name=f"tool_{number:02}")(numbered(number))

if __name__ == "__main__":
    server.run()
