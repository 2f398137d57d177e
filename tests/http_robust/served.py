"""The application under attack: tools that stream, ask, hold on and talk much, and one that shows what is left over.

``gunicorn tests.http_robust.served:app`` serves it too, with the limits that tests use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcpref import McpServer, RequestContext, Settings
from mcpref.transport.coordinator import CancelTable, StreamCoordinator
from mcpref.transport.replay import EventLog
from mcpref.transport.wsgi import McpApp

#: Small, so that what is to end ends soon.
LIMITS: dict[str, Any] = {
    "body_deadline": 0.4,
    "send_timeout": 0.4,
    "resume_within": 0.2,
    "keep_alive": 5.0,
    "shutdown_grace": 5.0,
    "max_message": 64 * 1024,
}


@dataclass
class Name:
    name: str


def build(threads: int = 8, principal: Any = None, **limits: Any) -> McpApp:
    """A fresh application."""
    server = build_server(lambda: app, **limits)
    app = server.wsgi_app(threads=threads, principal=principal)
    return app


def build_server(serving: Callable[[], McpApp], **limits: Any) -> McpServer:
    """Its server; ``serving`` is the application whose figures it tells."""
    server = McpServer("robust", settings=Settings(**{**LIMITS, **limits}))

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    def stream(text: str, ctx: RequestContext) -> str:
        ctx.report_progress(1, message=text)
        ctx.report_progress(2, message=text)
        return text

    @server.tool
    def hold(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "was cancelled" if ctx.wait(20.0) else "was not"

    @server.tool
    def ask(ctx: RequestContext) -> str:
        answer = ctx.elicit("Who are you?", Name, timeout=20.0)
        return f"hello {answer.content.name}" if answer.action == "accept" else answer.action

    @server.tool
    def flood(count: int, size: int, ctx: RequestContext) -> str:
        for number in range(count):
            ctx.report_progress(number, message="x" * size)
        return "all of it"

    @server.tool
    def large(size: int) -> str:
        return "x" * size

    @server.tool
    def figures() -> dict[str, int]:
        return count(serving())

    return server


def count(app: McpApp) -> dict[str, int]:
    """What is under way, without the request that asks."""
    runtime = app.runtime
    seams = runtime.seams
    assert isinstance(seams.replies, StreamCoordinator)
    assert isinstance(seams.cancels, CancelTable)
    assert isinstance(seams.streams, EventLog)
    return {
        "requests": runtime.requests - 1,
        "parked": runtime.budget.parked,
        "replies": len(seams.replies),
        "cancels": len(seams.cancels),
        "busy": runtime.pool.busy,
        "bodies": len(runtime.bodies),
        "open": len(runtime._open),
        "running": len(runtime._tokens),
        "followers": len(app.server.changes._readers),  # type: ignore[attr-defined]
        "host threads": sum("process_request_thread" in thread.name for thread in threading.enumerate()),
    }


#: For hosts that import it.
app = build()
