"""What the hosts serve: the tools of tests/http_robust, and some that a client leads by the hand.

``tests.hosts.served:server`` for ``mcpref serve``, ``tests.hosts.served:app`` for gunicorn. The environment may
change limits: ``SERVED_LIMITS`` is a JSON object.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from time import monotonic
from typing import Any

from mcpref import Elicit, RequestContext
from mcpref.transport import hosting
from mcpref.transport.wsgi import McpApp
from tests.http_robust.served import Name, build_server

LIMITS: dict[str, Any] = {
    # A call that says nothing stays silent.
    "upgrade_after": None,
    "resume_within": 5.0,
    **json.loads(os.environ.get("SERVED_LIMITS", "{}")),
}
#: How long a tool waits for its client at most.
PATIENCE = 15.0


def serving() -> McpApp:
    """The application that this process serves: the one that has begun."""
    return next(app for app in hosting._apps if app._runtime is not None)


server = build_server(serving, **LIMITS)
server.enable_resource_subscriptions()

_lock = threading.Lock()
_gates: defaultdict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(0))
_outcomes: dict[str, str] = {}


def _gate(key: str) -> threading.Semaphore:
    with _lock:
        return _gates[key]


@server.tool
def confirm(key: str) -> str:
    """Let `steps` or `gated` go on by one step."""
    _gate(key).release()
    return key


@server.tool
def steps(key: str, count: int, ctx: RequestContext) -> str:
    """Report progress, each time only after the client has confirmed what came before."""
    for number in range(count):
        ctx.report_progress(number)
        if not _gate(key).acquire(timeout=PATIENCE):
            return f"nobody confirmed step {number}"
    return "every step was confirmed"


@server.tool
def gated(key: str, ctx: RequestContext) -> str:
    """Begin to stream, and answer once the client has confirmed."""
    ctx.report_progress(1)
    return "went on" if _gate(key).acquire(timeout=PATIENCE) else "was forgotten"


@server.tool
def linger(key: str, seconds: float, stream: bool, ctx: RequestContext) -> str:
    """Wait to be cancelled, aloud or in silence, and note how it ended."""
    if stream:
        ctx.report_progress(1)
    _outcomes[key] = "waits"
    started = monotonic()
    cancelled = ctx.wait(seconds)
    _outcomes[key] = f"{'cancelled' if cancelled else 'ended'} {monotonic() - started:.2f}"
    return _outcomes[key]


@server.tool
def outcome(key: str) -> str:
    """How a `linger` ended."""
    return _outcomes.get(key, "unknown")


@server.tool
def change(what: str) -> str:
    """Announce a change: of a list, or of a resource."""
    if what == "tools":
        server.notify_list_changed("tools")
    else:
        server.notify_resource_updated(what)
    return what


@server.tool
def greet(ctx: RequestContext) -> str:
    """Ask who it is, in either era."""
    answer = ctx.ask("who", Elicit("Who are you?", Name))
    return f"hello {answer.content.name}" if answer.action == "accept" else answer.action


@server.tool
def process() -> int:
    """The process that serves."""
    return os.getpid()


@server.resource("thing://one")
def thing() -> str:
    """Something to watch."""
    return "one"


#: For hosts that import it.
app = server.wsgi_app()
