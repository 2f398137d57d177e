"""Constructing, configuring and running a server."""

from collections.abc import Iterator
from typing import Any

from mcpref import CallNext, McpServer, RequestContext, ServerMode, Settings, ToolError
from mcpref.jsonrpc import Request

McpServer()  # refused: a server has a name
McpServer("weather", "1.0")  # refused: version has a name
McpServer("weather", versoin="1.0")  # refused: no such option
McpServer("weather", version=1.0)  # refused: text
McpServer("weather", mode="stateful")  # refused: a ServerMode
McpServer("weather", settings={"workers": 3})  # refused: Settings
McpServer("weather", secret=42)  # refused: text or bytes
Settings(workers="many")  # refused: a number
Settings(worker=3)  # refused: no such setting
Settings(16)  # refused: which one?
Settings().workers = 3  # refused: frozen

server = McpServer("weather", version="1.0")
server.mode = ServerMode.STATELESS  # refused: fixed at construction
server.run(transport="htp")  # refused: stdio or http
server.run("stdio", port=8000)  # refused: stdio has no port
server.run("http", port="8000")  # refused: a number
server.run(debug=True)  # refused: given to the constructor
server.wsgi_app("/mcp")  # refused: path has a name
server.wsgi_app(principal=lambda environ: 42)  # refused: an Auth, a text or None
server.wsgi_app(principal="root")  # refused: a function that looks


class Pool:
    def query(self) -> int:
        return 1


@server.lifespan
def pool() -> Iterator[Pool]:
    yield Pool()


@server.lifespan  # refused: a lifespan yields
def opened() -> Pool:
    return Pool()


@server.lifespan  # refused: and takes nothing
def opened_with(path: str) -> Iterator[Pool]:
    yield Pool()


pool.query()  # refused: called first
pool().fetch()  # refused: no such method
text: str = pool().query()  # refused: a number


@server.middleware  # refused: it takes three
def short(request: Request, ctx: RequestContext) -> dict[str, Any]:
    return {}


@server.middleware  # refused: it returns a result
def wordy(request: Request, ctx: RequestContext, call_next: CallNext) -> str:
    return str(call_next(request, ctx))


@server.middleware
def forgetful(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
    return call_next(request)  # refused: the context too


@server.error_handler(ValueError)  # refused: of another kind
def missing(error: KeyError) -> ToolError:
    return ToolError(str(error))


@server.error_handler(ValueError)  # refused: an exception, not its text
def worded(error: ValueError) -> str:
    return str(error)


@server.error_handler(ValueError)  # refused: the client cannot be told that
def passed_on(error: ValueError) -> ValueError:
    return error


server.error_handler("ValueError")  # refused: the class
server.error_handler(3)  # refused: the class
