"""The exceptions a handler raises and a caller meets."""

from typing import assert_type

from mcpref import (
    InvalidParams,
    LocalError,
    McpError,
    McpServer,
    PeerError,
    ProtocolError,
    ResourceNotFound,
    Sample,
    ToolError,
)
from mcpref.server.context import RequestContext

server = McpServer("failing", version="1.0")


@server.tool
def divide(a: float, b: float) -> float:
    """Divide."""
    if b == 0:
        raise ToolError("b must not be 0; ask for another number")
    if a < 0:
        raise InvalidParams("a must not be negative", data={"a": a})
    return a / b


@server.tool
def write(ctx: RequestContext) -> str:
    """Tell the client's refusal from our own failure."""
    try:
        return ctx.sample(Sample("A poem", max_tokens=50)).text
    except PeerError as error:
        assert_type(error.message, str)
        return f"the client refused with {error.code}"
    except LocalError as error:
        raise ToolError(str(error)) from error


def code_of(error: McpError) -> int | None:
    match error:
        case ProtocolError():
            return error.code
        case PeerError(code=code):
            return code
        case _:
            return None


assert_type(code_of(ResourceNotFound("a://b")), int | None)
