"""What is measured over HTTP: one row per figure, each sampled on servers that run already.

An aim is printed beside a figure and asserted nowhere: a busy machine is no failure.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .drivers import LEGACY, MODERN
from .http_driver import Contestant, HttpPeer, IsRight
from .http_wire import Call
from .measures import LISTED_TOOLS, Plan, is_listing, is_sum

STEPS = 10
TOKEN = "bench"

MOST_A_SECOND = 40_000
"""More than any server here answers, so that the time ends a sample, not the requests.

Against the stub on several connections it is the requests: its samples are shorter, its rate is what it is.
"""

WARM_UP_SECONDS = 10.0
"""How long a server is warmed up at most."""
WARM_UP_STEP = 0.3
GROWTH, STALE = 1.03, 3
"""A server is warm when so many steps in a row were not faster than the best one by so much."""

SDK_AIM = 3.0
TYPESCRIPT_AIM = 1.0
BARE_AIM = 0.8


@dataclass(frozen=True, slots=True)
class HttpMeasure:
    """One row of the table: a call, over and over, on so many connections."""

    key: str
    """What `--only` calls it; several rows may share it."""
    title: str
    call: Call
    is_right: IsRight
    connections: int = 1
    aims: Mapping[str, float] = field(default_factory=dict)
    """The ratio that is hoped for, by the name of the other contestant."""
    streams: bool = False
    """Whether the answer is an event stream with progress in it."""

    def is_offered_by(self, contestant: Contestant) -> bool:
        return self.call.revision in contestant.revisions and (contestant.streams or not self.streams)

    def warm_up(self, peer: HttpPeer) -> None:
        """Load a server until its rate no longer grows.

        A just-in-time compiler takes seconds for each kind of call; measured half warm, its server looks slow.
        """
        until = time.monotonic() + WARM_UP_SECONDS
        best, stale = 0.0, 0
        while stale < STALE and time.monotonic() < until:
            rate = self._rate(peer, WARM_UP_STEP)
            stale = 0 if rate > best * GROWTH else stale + 1
            best = max(best, rate)

    def sample(self, peer: HttpPeer, plan: Plan) -> float:
        """Answers a second, after half the time that is not counted: other calls may have come in between."""
        self._rate(peer, plan.seconds / 2)
        return self._rate(peer, plan.seconds)

    def _rate(self, peer: HttpPeer, seconds: float) -> float:
        count = max(self.connections, int(MOST_A_SECOND * seconds))
        pumped = peer.load(self.call, count=count, connections=self.connections, seconds=seconds)
        return pumped.check(self.is_right).rate


def is_sum_alone(notifications: Sequence[Any], result: Any) -> bool:
    return not notifications and is_sum(result)


def is_listing_alone(notifications: Sequence[Any], result: Any) -> bool:
    return not notifications and is_listing(result)


def is_progress(notifications: Sequence[Any], result: Any) -> bool:
    """Every step was told, in order and under the token of the request, and the result came after them."""
    steps = [
        (told["params"]["progress"], told["params"]["total"], told["params"]["progressToken"])
        for told in notifications
        if told["method"] == "notifications/progress"
    ]
    wanted = [(step, STEPS, TOKEN) for step in range(1, STEPS + 1)]
    return (
        len(notifications) == STEPS and steps == wanted and result["structuredContent"] == {"result": STEPS}
    )


def add_call(revision: str) -> Call:
    return Call("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, revision)


def list_call(revision: str) -> Call:
    return Call("tools/list", {}, revision)


def progress_call(revision: str) -> Call:
    params = {"name": "progress", "arguments": {"steps": STEPS}, "_meta": {"progressToken": TOKEN}}
    return Call("tools/call", params, revision)


def counted(connections: int) -> str:
    return "1 connection" if connections == 1 else f"{connections} connections"


def _aims(revision: str) -> Mapping[str, float]:
    return {"sdk": SDK_AIM, "sdk-json": SDK_AIM, "typescript": TYPESCRIPT_AIM} if revision == MODERN else {}


def _calls(revision: str, connections: int) -> HttpMeasure:
    title = f"calls, {counted(connections)}, {revision}"
    return HttpMeasure("http-call", title, add_call(revision), is_sum_alone, connections, _aims(revision))


def _listing(revision: str) -> HttpMeasure:
    title = f"tools/list of {LISTED_TOOLS}, {revision}"
    return HttpMeasure("http-list", title, list_call(revision), is_listing_alone, 1, _aims(revision))


def _streaming(revision: str) -> HttpMeasure:
    title = f"call with {STEPS} events, {revision}"
    return HttpMeasure("http-sse", title, progress_call(revision), is_progress, 1, _aims(revision), True)


HTTP_MEASURES = (
    _calls(MODERN, 1),
    _calls(MODERN, 8),
    _calls(LEGACY, 1),
    _calls(LEGACY, 8),
    _listing(MODERN),
    _listing(LEGACY),
    _streaming(MODERN),
    _streaming(LEGACY),
)


def on_host(host: str, connections: int) -> HttpMeasure:
    """A modern call on one host, of mcpref and of the bare application there."""
    title = f"{host}, {counted(connections)}"
    return HttpMeasure(
        "hosts", title, add_call(MODERN), is_sum_alone, connections, {f"bare-{host}": BARE_AIM}
    )
