"""Middleware around every request."""

import time
from typing import Any, assert_type

from mcpref import CallNext, McpServer, ProtocolError, RequestContext
from mcpref.jsonrpc import Request

server = McpServer("timed", version="1.0")


@server.middleware
def timed(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
    start = time.monotonic()
    try:
        return call_next(request, ctx)
    finally:
        ctx.log("debug", {"method": request.method, "seconds": time.monotonic() - start})


class Quota:
    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self, request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        if self.left == 0:
            raise ProtocolError("the quota is used up", code=-31001, data={"retry": False})
        self.left -= 1
        result = call_next(request, ctx)
        assert_type(result, dict[str, Any])
        return result


quota = server.middleware(Quota(100))
assert_type(quota, Quota)
