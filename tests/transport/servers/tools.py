"""A server with a tool for each thing that the tests of the transport make a handler do."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Iterator

from mcpref import Elicit, LocalError, McpServer, RequestContext, Settings

server = McpServer(
    "tools",
    version="1",
    resource_subscriptions=True,
    settings=Settings(shutdown_grace=20, max_message=100_000),
)


@server.lifespan
def pool() -> Iterator[str]:
    yield "open"
    print("the lifespan is closed", file=sys.stderr)


@server.tool
def echo(text: str) -> str:
    return text


@server.tool
def fail() -> str:
    raise RuntimeError("a secret of the server's")


@server.tool
def wait(ctx: RequestContext) -> str:
    """Report that it runs, and wait to be cancelled."""
    ctx.report_progress(1)
    return "cancelled" if ctx.wait(600) else "nobody came"


@server.tool
def progress(ctx: RequestContext, times: int) -> str:
    for number in range(1, times + 1):
        ctx.report_progress(number, times, f"step {number}")
    return "done"


@server.tool
def ask(ctx: RequestContext) -> str:
    """Ask, and if the connection ends, ask once more."""
    form = {"type": "object", "properties": {"word": {"type": "string"}}}
    try:
        answer = ctx.ask("first", Elicit("Well?", form))
    except LocalError as first:
        try:
            ctx.ask("second", Elicit("Well?", form))
        except LocalError as second:
            return f"{type(first).__name__}, then {type(second).__name__}"
        return "the second question was answered"
    return f"{answer.action} {answer.content}"


@server.tool
def version(ctx: RequestContext) -> str:
    return str(ctx.protocol_version.value)


# ---- What touches the standard streams ----------------------------------------------------------------


@server.tool
def speak() -> str:
    """Print, log, and have a child print."""
    print("printed by a handler")
    sys.stdout.flush()
    sys.__stdout__.write("written by a handler\n")  # type: ignore[union-attr]
    logging.getLogger("application").warning("logged by a handler")
    subprocess.run(["echo", "printed by a child"], check=True, timeout=30)
    return "spoken"


@server.tool
def hear() -> str:
    """Read, and have a child read."""
    own = sys.stdin.readline()
    child = subprocess.run(["cat"], check=True, stdout=subprocess.PIPE, timeout=30).stdout
    return f"{own!r} {child!r}"


# ---- What changes -------------------------------------------------------------------------------------


@server.resource("memo://{name}")
def memo(name: str) -> str:
    return name


@server.prompt
def greet() -> str:
    return "Good day."


@server.tool
def touch(uri: str) -> str:
    server.notify_resource_updated(uri)
    return "touched"


@server.tool
def change(what: str) -> str:
    """Announce that a list has changed."""
    server.notify_list_changed(what)  # type: ignore[arg-type]
    return "changed"


@server.tool
def threads() -> int:
    return threading.active_count()
