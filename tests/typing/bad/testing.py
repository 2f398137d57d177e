"""Testing a server."""

from mcpref import McpServer, ProtocolVersion, RequestContext
from mcpref.testing import RecordingContext, connect

server = McpServer("tested", version="1.0")


@server.tool
def echo(ctx: RequestContext, text: str) -> str:
    return text


def test_echo() -> None:
    connect("tested")  # refused: the server itself
    connect(server, on_elict=lambda question: {"action": "accept"})  # refused: no such callback
    connect(server, on_elicit=lambda question: "accept")  # refused: a result
    connect(server, on_elicit=lambda: {"action": "accept"})  # refused: it is given the question
    connect(server, ProtocolVersion.V2025_11_25)  # refused: as it stands on the wire
    with connect(server) as client:
        client.call_tool(echo, {"text": "hi"})  # refused: by name
        client.call_tool("echo", text="hi")  # refused: arguments are a mapping
        client.call_tool("echo", ["hi"])  # refused: arguments are a mapping
        client.get_prompt("echo", {"times": 3})  # refused: a prompt's arguments are texts
        client.call_tool("echo").structuredContent  # refused: a dict, as on the wire


def test_echo_alone() -> None:
    RecordingContext({"confirm": {"action": "accept"}})  # refused: answers has a name
    ctx = RecordingContext(answers=[{"action": "accept"}])  # refused: by key
    ctx.is_cancelled = True  # refused: cancel its token
    echo("hi")  # refused: the context too
    echo(ctx, 42)  # refused: text
