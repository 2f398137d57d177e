"""What is asked of whom: the clients, the revisions each can speak, and the checks, one cell for each.

The peers only run the checks they are told to; that a feature does not exist in a revision, and so makes no
cell there, is known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .environments import FASTMCP, INSPECTOR, SDK1, SDK2, TS1, TS2, Environment

PEERS: Final = Path(__file__).parent / "peers"

REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""Oldest first, so that a position can be compared."""

TRANSPORTS: Final = ("stdio", "http")
"""On HTTP the oldest revision has a transport of its own, HTTP+SSE; all others have Streamable HTTP."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table."""

    name: str
    what: str
    since: str = REVISIONS[0]
    until: str = REVISIONS[-1]
    transports: tuple[str, ...] = TRANSPORTS

    def exists_in(self, transport: str, revision: str) -> bool:
        position = REVISIONS.index
        in_time = position(self.since) <= position(revision) <= position(self.until)
        return in_time and transport in self.transports


@dataclass(frozen=True, slots=True)
class Client:
    """Another implementation's client on one transport: a program in its own environment that runs checks."""

    key: str
    environment: Environment
    program: Path
    transport: str
    revisions: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.environment.title}, {self.transport}"


@dataclass(frozen=True, slots=True)
class Limitation:
    """Cells that cannot be ok, because of the client. One that is ok after all fails the run."""

    client: str
    checks: tuple[str, ...]
    reason: str
    """What the client lacks, or does wrong."""
    revisions: tuple[str, ...] = REVISIONS
    transports: tuple[str, ...] = TRANSPORTS
    sometimes: bool = False
    """A matter of luck: a cell that is ok is then no surprise."""
    frames: tuple[str, ...] = ()
    """The lines on the wire that show it, where it is the client that misbehaves."""

    def covers(self, client: Client, check: Check, revision: str) -> bool:
        return (
            client.key == self.client
            and client.transport in self.transports
            and check.name in self.checks
            and revision in self.revisions
        )


def _on_each_transport(
    key: str, environment: Environment, program: str, revisions: tuple[str, ...]
) -> tuple[Client, ...]:
    newest_first = tuple(reversed(revisions))
    return tuple(
        Client(key, environment, PEERS / program, transport, newest_first) for transport in TRANSPORTS
    )


_LEGACY: Final = REVISIONS[:-1]

CLIENTS: Final = (
    *_on_each_transport("sdk2", SDK2, "sdk2_client.py", REVISIONS),
    *_on_each_transport("sdk1", SDK1, "sdk1_client.py", _LEGACY),
    *_on_each_transport("fastmcp", FASTMCP, "fastmcp_client.py", REVISIONS),
    *_on_each_transport("ts2", TS2, "ts2_client.py", REVISIONS),
    *_on_each_transport("ts1", TS1, "ts1_client.py", _LEGACY),
    # The newest of each era is all that its command line can ask for.
    *_on_each_transport("inspector", INSPECTOR, "inspector_client.py", REVISIONS[-2:]),
)

SHUTDOWN: Final = Check(
    "shutdown", "the server leaves with status 0: on stdio when its client closes stdin, on HTTP on SIGTERM"
)

CHECKS: Final = (
    Check("connect", "revision, server name, instructions and capabilities as negotiated"),
    Check("pinned", "a first request without any probe or handshake", since="2026-07-28"),
    Check("ping", "ping", until="2025-11-25"),
    Check("list-tools", "every tool with its input schema, and no field newer than the revision"),
    Check("call", "a flat call with a default argument"),
    Check("structured", "structured output that the client holds against outputSchema", since="2025-06-18"),
    Check("content", "text, image and embedded resources, text and binary"),
    Check("audio", "audio content", since="2025-03-26"),
    Check("link", "a resource link", since="2025-06-18"),
    Check("unicode", "text in many scripts, line separators, lone controls and an empty string"),
    Check("large", "an argument and a result of a megabyte"),
    Check("stray-output", "print() in a tool does not reach the wire"),
    Check("tool-error", "a tool's own error"),
    Check("no-tool", "a tool that is not there"),
    Check("bad-arguments", "arguments that do not fit are explained, to whom the revision wants"),
    Check("crash", "a tool that crashes is an internal error that tells nothing of the server"),
    Check("progress", "progress reports, in order"),
    Check("progress-burst", "progress reports with the result right behind them"),
    Check("log", "log messages, filtered by level"),
    Check("concurrent", "calls that wait for each other are run at once"),
    Check("cancel", "a call is abandoned: the handler notices, no answer comes, the next call works"),
    Check("elicit", "a form is accepted", since="2025-06-18"),
    Check("decline", "a form is declined, and cancelled", since="2025-06-18"),
    Check("elicit-url", "the user is sent to a URL", since="2025-11-25"),
    Check(
        "rounds", "two questions after each other, with work in between that is done once", since="2025-06-18"
    ),
    Check("ask-all", "a form, a sample and the roots in one round", since="2025-06-18"),
    Check("sample", "the client's model is asked"),
    Check("roots", "the client's roots are asked for"),
    Check("undeclared", "a question to a client that did not declare it is refused"),
    Check("resources", "list and read, text and binary"),
    Check("no-resource", "a resource that is not there"),
    Check("templates", "templates are listed, and read through a variable"),
    Check("prompts", "list and get, with arguments, and a missing one"),
    Check("completion", "completion of a prompt's argument and of a template's variable"),
    Check("list-changed", "a tool comes and goes, and the client hears of it"),
    Check("updated", "a resource changes, and only who asked for it hears of it"),
    Check(
        "close",
        "the client ends its session",
        since="2025-03-26",
        until="2025-11-25",
        transports=("http",),
    ),
)


def checks_for(transport: str, revision: str) -> list[Check]:
    """The checks that make a cell there, in the table's order."""
    return [check for check in CHECKS if check.exists_in(transport, revision)]
