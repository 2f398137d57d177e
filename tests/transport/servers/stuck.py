"""A server with handlers that do not stop, little patience for them, and work to do at exit."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading

from mcpref import McpServer, RequestContext, Settings

server = McpServer("stuck", version="1", settings=Settings(shutdown_grace=0.5))

atexit.register(lambda: print("the atexit function ran", file=sys.stderr))
signal.signal(signal.SIGUSR1, lambda *_: print("the application's own signal", file=sys.stderr))


@server.tool
def echo(text: str) -> str:
    return text


@server.tool
def fork() -> int:
    """A child that shares everything, as multiprocessing starts them, and waits."""
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(1)
    return child


@server.tool
def terminate(child: int) -> int:
    """End a child by the signal that multiprocessing uses; how it ended."""
    os.kill(child, signal.SIGTERM)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@server.tool
def stuck(ctx: RequestContext) -> str:
    """Ignores its cancellation."""
    ctx.report_progress(1)
    threading.Event().wait()
    return "never"
