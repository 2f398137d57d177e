"""The bench server on mcpref: the same tools as its siblings, defaults throughout."""

import time

from mcpref import McpServer

server = McpServer("bench", version="1")


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool
def sleep(seconds: float) -> str:
    """Sleep, then say so."""
    time.sleep(seconds)
    return "slept"


def numbered(number: int):
    def tool(name: str, count: int = 1, ratio: float = 0.5, flag: bool = False) -> str:
        """Format the arguments of a call into one line of text."""
        return f"{number} {name} {count} {ratio} {flag}"

    return tool


for number in range(48):
    server.tool(name=f"tool_{number:02}")(numbered(number))

if __name__ == "__main__":
    server.run()
