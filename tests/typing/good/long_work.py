"""Progress, logging and cancellation."""

from typing import assert_type

from mcpref import CancellationToken, McpServer, RequestCancelled, RequestContext

server = McpServer("worker", version="1.0")


@server.tool
def crunch(ctx: RequestContext, steps: int = 10) -> str:
    """Work for a while."""
    for step in range(1, steps + 1):
        if ctx.wait(0.01):
            return "stopped"
        ctx.check_cancelled()
        ctx.report_progress(step, steps, f"step {step}")
        ctx.report_progress(step / steps)
        ctx.log("info", {"step": step}, logger="crunch")
        ctx.log("warning")
    try:
        assert_type(ctx.wait(1), bool)
    except RequestCancelled:
        raise
    assert_type(ctx.is_cancelled, bool)
    assert_type(ctx.log_enabled("debug"), bool)
    return "done"


token = CancellationToken()
token.cancel("enough")
assert_type(token.wait(0), bool)
assert_type(token.reason, str | None)
