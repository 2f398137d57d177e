"""RequestInfo: facts about a request, for handlers that need no more; and who sent it."""

from collections.abc import Mapping
from typing import Any, assert_type

from mcpref import Auth, McpServer, ProtocolVersion, RequestContext, RequestInfo, ToolError

server = McpServer("info", version="1.0")


@server.tool
def whoami(info: RequestInfo) -> str:
    """Who is asking."""
    assert_type(info.request_id, str | int | None)
    assert_type(info.method, str)
    assert_type(info.protocol_version, ProtocolVersion)
    assert_type(info.client_info, Mapping[str, Any] | None)
    assert_type(info.meta, Mapping[str, Any])
    assert_type(info.headers, Mapping[str, str])
    assert_type(info.auth, Auth | None)
    if info.auth is None:
        raise ToolError("nobody is signed in")
    assert_type(info.auth.scopes, frozenset[str])
    return info.auth.subject


@server.tool(scopes={"admin"})
def reset(ctx: RequestContext) -> bool:
    """A context tells all that an info does."""
    return whoami(ctx) == "root" and ctx.protocol_version is ProtocolVersion.V2026_07_28


admin = Auth("root", frozenset({"admin"}), user={"id": 1})
assert_type(admin.subject, str)
