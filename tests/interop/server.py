"""The server that other implementations' clients are let loose on: one tool, resource or prompt per check.

Written as an application would be, on the public API alone. The peers' checks name what is here. Only what
follows the last tool is for the checks' sake: on HTTP the server records what passes, as tee.py does on stdio.
"""

from __future__ import annotations

import argparse
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mcpref import (
    Content,
    Elicit,
    ElicitUrl,
    McpServer,
    RequestContext,
    Roots,
    Sample,
    ToolError,
    content,
)

if TYPE_CHECKING:
    from mcpref.transport.wsgi import McpApp

PNG = b"\x89PNG\r\n\x1a\n"
RAW = bytes(range(256))
MEETING_SECONDS = 10.0
HOLDING_SECONDS = 15.0


class InteropServer(McpServer):
    """What `run("http")` serves is recorded, and speaks the transport of 2024-11-05 too."""

    frames: Path | None = None

    def wsgi_app(self, **options: Any) -> McpApp:
        if self.frames is None:
            return super().wsgi_app(legacy_sse=True, **options)
        from .recording import RecordingApp
        from .records import Recorder, create_next

        return RecordingApp(self, Recorder(create_next(self.frames)), legacy_sse=True, **options)


server = InteropServer("interop", version="1.0", instructions="Ask me anything.", resource_subscriptions=True)


@dataclass
class Forecast:
    city: str
    highs: list[float]
    sunny: bool


@dataclass
class Confirm:
    sure: bool


@dataclass
class Place:
    city: str


# ---- Plain calls --------------------------------------------------------------------------------------


@server.tool(title="Add", annotations={"readOnlyHint": True})
def add(a: int, b: int = 22) -> int:
    """Add two integers."""
    return a + b


@server.tool
def forecast(city: str, days: int = 3) -> Forecast:
    """The highs of the coming days."""
    return Forecast(city, [day + 0.5 for day in range(1, days + 1)], True)


@server.tool(name="content")
def every_kind() -> list[Content]:
    """Each kind of content that every revision knows."""
    return [
        content.text("plain"),
        content.image(PNG, "image/png"),
        content.embedded("note://embedded", "a note"),
        content.embedded("raw://embedded", RAW),
    ]


@server.tool
def sound() -> Content:
    """Something to hear."""
    return content.audio(RAW, "audio/wav")


@server.tool
def point() -> Content:
    """A link to a resource."""
    return content.link("note://shopping", "shopping")


@server.tool
def echo(text: str) -> str:
    """What was said."""
    return text


@server.tool
def chatter() -> str:
    """Write to stdout, as libraries do."""
    print("this must not reach the wire", flush=True)
    return "quiet on the wire"


@server.tool
def refuse(why: str) -> str:
    """Fail on purpose."""
    raise ToolError(why)


@server.tool
def crash() -> str:
    """Fail by accident."""
    raise RuntimeError("secret of the server")


# ---- Calls that take their time -----------------------------------------------------------------------


@server.tool
def steps(ctx: RequestContext, count: int, linger: float = 0.0) -> str:
    """Report progress at each step, and take some more time after the last."""
    for number in range(1, count + 1):
        ctx.report_progress(number, count, f"step {number}")
    if linger:
        ctx.wait(linger)
    return f"{count} steps"


@server.tool
def report(ctx: RequestContext) -> str:
    """Log at three levels."""
    ctx.log("info", "all is well")
    ctx.log("warning", "the disk is filling up")
    ctx.log("error", {"disk": "full"}, "storage")
    return "reported"


meeting = threading.Barrier(6)


@server.tool
def meet(parties: Literal[6]) -> str:
    """Return once as many calls are running."""
    meeting.wait(MEETING_SECONDS)
    return "met"


holding: Literal["not asked", "holding", "cancelled", "ran out"] = "not asked"


@server.tool
def hold(ctx: RequestContext) -> str:
    """Wait to be cancelled."""
    global holding
    holding = "holding"
    ctx.report_progress(0)
    holding = "cancelled" if ctx.wait(HOLDING_SECONDS) and ctx.is_cancelled else "ran out"
    return holding


@server.tool
def hold_outcome() -> str:
    """How the holding ended."""
    return holding


# ---- Questions to the client --------------------------------------------------------------------------


@server.tool
def book(ctx: RequestContext, city: str) -> str:
    """Book, if the user is sure."""
    answer = ctx.ask("confirm", Elicit("Book it?", Confirm))
    if answer.action == "accept" and answer.content.sure:
        return f"booked {city}"
    return f"left it: {answer.action}"


@server.tool
def pay(ctx: RequestContext) -> str:
    """Send the user elsewhere."""
    return ctx.ask("payment", ElicitUrl("Pay here", "https://example.com/pay")).action


draws = 0


def draw() -> int:
    global draws
    draws += 1
    return draws


@server.tool
def trip(ctx: RequestContext) -> str:
    """Ask twice, with work in between that must not be repeated."""
    origin = ctx.ask("origin", Elicit("From?", Place))
    number = ctx.once("number", draw)
    target = ctx.ask("target", Elicit("To?", Place))
    if origin.action != "accept" or target.action != "accept":
        raise ToolError("no trip")
    return f"{origin.content.city} to {target.content.city}, number {number}"


@server.tool
def drawn() -> int:
    """How many numbers were drawn."""
    return draws


@server.tool
def survey(ctx: RequestContext) -> str:
    """Ask three things at once."""
    form, poem, roots = ctx.ask_all(
        ("form", Elicit("Sure?", Confirm)),
        ("poem", Sample("Write a poem.", max_tokens=100)),
        ("roots", Roots()),
    )
    sure = form.action == "accept" and form.content.sure
    return f"{sure}, {poem.text}, {' '.join(root.uri for root in roots)}"


@server.tool
def write(ctx: RequestContext, topic: str) -> str:
    """Have the client's model write."""
    return ctx.ask("text", Sample(topic, max_tokens=100)).text


@server.tool
def where(ctx: RequestContext) -> str:
    """The client's roots."""
    return " ".join(root.uri for root in ctx.ask("roots", Roots()))


# ---- Resources, prompts, completion -------------------------------------------------------------------


@server.resource("note://shopping", mime_type="text/plain")
def shopping() -> str:
    """What to buy."""
    return "milk"


@server.resource("raw://bytes", mime_type="application/octet-stream")
def raw() -> bytes:
    """All the bytes there are."""
    return RAW


@server.resource("weather://{city}/now")
def now(city: str) -> str:
    """The weather in a city."""
    return f"{city}: fine"


@server.prompt
def plan(city: str, days: int = 1) -> str:
    """Plan a stay."""
    return f"Plan {days} days in {city}."


@server.completion(plan, "city")
@server.completion(now, "city")
def complete_city(value: str) -> list[str]:
    return [city for city in ("Oslo", "Ottawa", "Rome") if city.startswith(value)]


# ---- Changes ------------------------------------------------------------------------------------------


def sprout() -> str:
    """Came later than the others."""
    return "sprouted"


@server.tool
def grow(name: str) -> str:
    """Offer one tool more."""
    server.tool(sprout, name=name)
    return "grown"


@server.tool
def shrink(name: str) -> str:
    """Offer one tool less."""
    server.remove_tool(name)
    return "shrunk"


@server.tool
def touch(uri: str) -> str:
    """Say that a resource changed."""
    server.notify_resource_updated(uri)
    return "touched"


# ---- Serving ------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="serve HTTP on this port, at /mcp; 0 picks a free one")
    parser.add_argument(
        "--frames", type=Path, help="where the record of an HTTP server goes, without its number"
    )
    arguments = parser.parse_args()
    if arguments.port is None:
        server.run()
        return
    server.frames = arguments.frames
    server.run("http", port=arguments.port)


if __name__ == "__main__":
    main()
