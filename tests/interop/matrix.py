"""What is asked of whom: the clients, the revisions each can speak, and the checks, one cell for each.

The peers only run the checks they are told to; that a feature does not exist in a revision, and so makes no
cell there, is known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .environments import SDK1, SDK2, Environment

PEERS: Final = Path(__file__).parent / "peers"

REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""Oldest first, so that a position can be compared."""


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table."""

    name: str
    what: str
    since: str = REVISIONS[0]
    until: str = REVISIONS[-1]

    def exists_in(self, revision: str) -> bool:
        position = REVISIONS.index
        return position(self.since) <= position(revision) <= position(self.until)


@dataclass(frozen=True, slots=True)
class Client:
    """Another implementation's client: a program in its own environment that runs checks against a server."""

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
    """A cell that cannot be ok, because of the client. It fails the run as soon as it is ok after all."""

    client: str
    check: str
    revisions: tuple[str, ...]
    reason: str
    frames: tuple[str, ...] = ()
    """The lines on the wire that show it, where it is the client that misbehaves."""


CLIENTS: Final = (
    Client("sdk2", SDK2, PEERS / "sdk2_client.py", "stdio", tuple(reversed(REVISIONS))),
    Client("sdk1", SDK1, PEERS / "sdk1_client.py", "stdio", tuple(reversed(REVISIONS[:-1]))),
)

SHUTDOWN: Final = Check(
    "shutdown", "the server leaves by itself, with status 0, when its client closes stdin"
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
    Check("tool-error", "a tool's own error, and a tool that is not there"),
    Check("bad-arguments", "arguments that do not fit are explained, to whom the revision wants"),
    Check("crash", "a tool that crashes is an internal error that tells nothing of the server"),
    Check("progress", "progress reports, in order and before the result"),
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
    Check("resources", "list and read, text and binary, and a resource that is not there"),
    Check("templates", "templates are listed, and read through a variable"),
    Check("prompts", "list and get, with arguments, and a missing one"),
    Check("completion", "completion of a prompt's argument and of a template's variable"),
    Check("list-changed", "a tool comes and goes, and the client hears of it"),
    Check("updated", "a resource changes, and only who asked for it hears of it"),
)


def checks_for(revision: str) -> list[Check]:
    """The checks that make a cell on this revision, in the table's order."""
    return [check for check in CHECKS if check.exists_in(revision)]
