"""A script that prints before it serves, and serves at import: it has no guard for being a module."""

from __future__ import annotations

from mcpref import McpServer

server = McpServer("script", version="1")


@server.tool
def echo(text: str) -> str:
    return text


print("about to serve")
server.run()
