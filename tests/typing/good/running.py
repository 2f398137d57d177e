"""Running a server, and serving a message in place."""

import sys

from mcpref import McpServer, NullContext, PeerError
from mcpref.jsonrpc import ErrorResponse, Request, Response

server = McpServer("running", version="1.0")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def answer() -> object:
    call = Request(1, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
    match server.handle(call, NullContext()):
        case Response(result=result):
            return result
        case ErrorResponse(error=error):
            raise PeerError(error.code, error.message, error.data)
        case None:
            return None


def main() -> None:
    if "--http" in sys.argv:
        server.run("http", host="0.0.0.0", port=8080)
    elif "--plain" in sys.argv:
        server.run()
    else:
        server.run(transport="stdio")


if __name__ == "__main__":
    main()
