"""What a handler may do with its context."""

from mcpref import Auth, CancellationToken, Elicit, McpServer, ProtocolVersion, RequestContext, RequestInfo

server = McpServer("contexts", version="1.0")


@server.tool
def crunch(ctx: RequestContext) -> str:
    if ctx.is_cancelled():  # refused: a property
        return "stopped"
    if ctx.is_resubmit():  # refused: a property
        return "again"
    ctx.is_cancelled = True  # refused: read-only
    ctx.request_id = 3  # refused: read-only
    ctx.protocol_version = ProtocolVersion.V2025_11_25  # refused: read-only
    ctx.wait()  # refused: for how long?
    ctx.wait("1s")  # refused: seconds
    ctx.report_progress("half")  # refused: a number
    ctx.log("loud", "hello")  # refused: no such level
    ctx.progress(1, 2)  # refused: it is report_progress
    ctx.input_responses["key"] = 1  # refused: read-only
    ctx.client_info["name"]  # refused: there may be none
    return ctx.auth.subject  # refused: there may be nobody


@server.tool
async def awaited(ctx: RequestContext) -> str:
    await ctx.wait(1)  # refused: nothing here is awaited
    return "done"


@server.tool
def informed(info: RequestInfo) -> str:
    info.report_progress(1)  # refused: facts only
    info.ask("sure", Elicit("Really?", ["yes"]))  # refused: facts only
    return crunch(info)  # refused: less than a context


Auth("root", ["admin"])  # refused: a frozenset
Auth(None)  # refused: a subject is text
Auth("root").subject = "me"  # refused: frozen
CancellationToken().is_cancelled = False  # refused: cancelled once, cancelled for good
