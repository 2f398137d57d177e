"""A server as a WSGI application, and who is behind a request."""

from typing import Any, assert_type

from mcpref import Auth, McpServer, RequestInfo
from mcpref.transport.wsgi import McpApp

server = McpServer("mounted", version="1.0")


@server.tool
def whoami(info: RequestInfo) -> str:
    """Who is asking."""
    return info.auth.subject if info.auth else f"nobody, with {info.headers.get('user-agent', '')}"


def principal(environ: dict[str, Any]) -> Auth | None:
    token = environ.get("HTTP_AUTHORIZATION", "")
    return Auth("root", frozenset({"admin"}), user={"id": 1}) if token == "Bearer secret" else None


def subject(environ: dict[str, Any]) -> str | None:
    return environ.get("REMOTE_USER")


app = server.wsgi_app(path="/mcp", principal=principal, threads=8)
assert_type(app, McpApp)
assert_type(server.wsgi_app(principal=subject), McpApp)
