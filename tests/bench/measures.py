"""What is measured: one function per figure, each taking one sample of one server in a process of its own.

An aim is printed beside a figure and asserted nowhere: a busy machine is no failure.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .drivers import ANSWER_SECONDS, LEGACY, MODERN, Peer, PeerFailed, Script, Target

LISTED_TOOLS = 50
SLEEPERS = 64
SLEEP_SECONDS = 0.1
WARM_UP = 300
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """How long a run may take."""

    rounds: int
    seconds: float
    """How long one sample of a rate lasts."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the table."""

    key: str
    """What `--only` calls it; several rows may share it."""
    title: str
    unit: str
    aim: float | None
    """The ratio to the other implementation that is hoped for; None where the row only informs."""
    more_is_better: bool
    sample: Callable[[Target, Plan], float]
    revision: str = LEGACY


def start(target: Target) -> Peer:
    return Peer([str(target.python), str(target.server)])


# The servers are held to the same answers, or a figure would compare different work: what one implementation
# leaves out by default (structured content, output schemas) would count as speed.


def is_sum(result: Any) -> bool:
    same_text = json.loads(result["content"][0]["text"]) == {"result": 3}
    return same_text and result.get("structuredContent") == {"result": 3} and not result.get("isError")


def is_slept(result: Any) -> bool:
    return bool(result["content"][0]["text"] == "slept") and not result.get("isError")


def is_listing(result: Any) -> bool:
    tools = result["tools"]
    complete = all(
        tool["inputSchema"]["properties"] and tool["description"] and "outputSchema" in tool
        for tool in tools
        if tool["name"] != "sleep"  # returns text, for which not every implementation has a schema
    )
    return len(tools) == LISTED_TOOLS and complete


def add_script(revision: str, ids: range) -> Script:
    return Script("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, revision=revision, ids=ids)


def list_script(revision: str, ids: range) -> Script:
    return Script("tools/list", {}, revision=revision, ids=ids)


def rate(
    make_script: Callable[[str, range], Script],
    is_right: Callable[[Any], bool],
    *,
    revision: str,
    depth: int,
    warm_up: int,
) -> Callable[[Target, Plan], float]:
    """A sampler of answers a second at a depth, after a warm-up that is not counted."""

    def sample(target: Target, plan: Plan) -> float:
        first = make_script(revision, range(1_000, 1_000 + warm_up))
        # No stdio server in Python answers more than this a second, so the time ends the run, not the script.
        script = make_script(revision, range(10_000, 10_000 + int(60_000 * plan.seconds)))
        with start(target) as peer:
            peer.handshake(revision)
            peer.pump(first, depth=depth).check(is_right)
            return peer.pump(script, depth=depth, seconds=plan.seconds).check(is_right).rate

    return sample


def sleepers(target: Target, plan: Plan) -> float:
    """Milliseconds until all of many calls that each sleep are answered, sent at once to a fresh server."""
    sleeping = {"name": "sleep", "arguments": {"seconds": SLEEP_SECONDS}}
    with start(target) as peer:
        peer.handshake(LEGACY)
        peer.pump(add_script(LEGACY, range(1_000, 1_000 + WARM_UP)), depth=1).check(is_sum)
        script = Script("tools/call", sleeping, revision=LEGACY, ids=range(10_000, 10_000 + SLEEPERS))
        return peer.pump(script, depth=SLEEPERS).check(is_slept).seconds * 1000


def cold_start(target: Target, plan: Plan) -> float:
    """Milliseconds from spawning the process to its first answer."""
    with start(target) as peer:
        peer.handshake(LEGACY)
        return (time.perf_counter() - peer.started) * 1000


def cold_call(target: Target, plan: Plan) -> float:
    """Milliseconds from spawning the process to a first tool's result: what is loaded late counts too."""
    with start(target) as peer:
        peer.handshake(LEGACY)
        peer.pump(add_script(LEGACY, range(1_000, 1_001)), depth=1).check(is_sum)
        return (time.perf_counter() - peer.started) * 1000


def import_time(target: Target, plan: Plan) -> float:
    """Milliseconds the import itself takes, inside a fresh interpreter."""
    program = (
        f"import time; t = time.perf_counter(); {target.import_statement}; print(time.perf_counter() - t)"
    )
    done = subprocess.run(
        [str(target.python), "-c", program], capture_output=True, text=True, timeout=ANSWER_SECONDS
    )
    if done.returncode:
        raise PeerFailed(f"{target.title}: {target.import_statement}: {done.stderr[-2000:]}")
    return float(done.stdout) * 1000


def memory_at_start(target: Target, plan: Plan) -> float:
    """Resident MiB after the first answer."""
    with start(target) as peer:
        peer.handshake(LEGACY)
        return peer.resident_bytes() / MEBIBYTE


def memory_loaded(target: Target, plan: Plan) -> float:
    """Resident MiB after many calls at once."""
    with start(target) as peer:
        peer.handshake(LEGACY)
        peer.pump(add_script(LEGACY, range(10_000, 11_000)), depth=32).check(is_sum)
        return peer.resident_bytes() / MEBIBYTE


def _calls(revision: str, depth: int, aim: float) -> Measure:
    sample = rate(add_script, is_sum, revision=revision, depth=depth, warm_up=WARM_UP)
    return Measure("call", f"calls, depth {depth}, {revision}", "/s", aim, True, sample, revision)


def _listing(revision: str) -> Measure:
    sample = rate(list_script, is_listing, revision=revision, depth=1, warm_up=WARM_UP // 10)
    return Measure("list", f"tools/list of {LISTED_TOOLS}, {revision}", "/s", 6, True, sample, revision)


MEASURES = (
    _calls(LEGACY, 1, 6),
    _calls(LEGACY, 32, 12),
    _calls(MODERN, 1, 6),
    _calls(MODERN, 32, 12),
    _listing(LEGACY),
    _listing(MODERN),
    Measure("sleep", f"{SLEEPERS} sleepers of 100 ms", "ms", 0.5, False, sleepers),
    Measure("cold", "cold start, first answer", "ms", 0.2, False, cold_start),
    Measure("cold", "cold start, first result", "ms", None, False, cold_call),
    Measure("import", "import", "ms", 0.1, False, import_time),
    Measure("memory", "memory, first answer", "MiB", 0.4, False, memory_at_start),
    Measure("memory", "memory, 1000 calls on", "MiB", None, False, memory_loaded),
)


def driver_ceiling(stub: Target, plan: Plan) -> dict[int, float]:
    """Calls a second at each depth against a server that does nothing: what the driver can see at most."""
    return {depth: _calls(LEGACY, depth, aim=0).sample(stub, plan) for depth in (1, 32)}
