"""The cells that are not ok because of the client, each with its reason."""

from __future__ import annotations

from typing import Final

from .matrix import REVISIONS, Check, Client, Limitation

_LEGACY: Final = REVISIONS[:-1]
_MODERN: Final = REVISIONS[-1:]
_HTTP_WITH_SSE: Final = REVISIONS[:1]

_EVENT_LIMIT: Final = (
    "its HTTP+SSE transport takes no event of more than 1 MiB, and has no option to change that"
)

_BURST: Final = (
    "a response takes its progress handler away at once, while notifications that came before it in the same read "
    "still wait for their turn: they are dropped"
)
_BURST_FRAMES: Final = (
    '<- {"method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":3}}',
    '<- {"method":"notifications/progress","params":{"progressToken":1,"progress":2,"total":3}}',
    '<- {"method":"notifications/progress","params":{"progressToken":1,"progress":3,"total":3}}',
    '<- {"id":1,"result":{"content":[{"type":"text","text":"3 steps"}]}}',
)

LIMITATIONS: Final[tuple[Limitation, ...]] = (
    Limitation("sdk2", ("large",), _EVENT_LIMIT, _HTTP_WITH_SSE, ("http",)),
    Limitation("fastmcp", ("large",), _EVENT_LIMIT, _HTTP_WITH_SSE, ("http",)),
    Limitation(
        "fastmcp",
        ("log",),
        "asks for all levels and has no option for another: filtering is left to the handler of the application",
        _MODERN,
        frames=(
            '-> {"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}}',
        ),
    ),
    Limitation("fastmcp", ("list-changed", "updated"), "has no method for subscriptions/listen", _MODERN),
    Limitation("ts1", ("progress-burst",), _BURST, sometimes=True, frames=_BURST_FRAMES),
    Limitation("ts2", ("progress-burst",), _BURST, sometimes=True, frames=_BURST_FRAMES),
    Limitation(
        "ts2",
        ("no-resource",),
        "shows -32002, the code of these revisions, as -32602, the one of 2026-07-28",
        _LEGACY,
        frames=(
            '<- {"id":4,"error":{"code":-32002,"message":"no resource has the URI \'note://nothing\'"}}',
        ),
    ),
    Limitation("inspector", ("pinned",), "its command line begins every connection with a probe", _MODERN),
    Limitation("inspector", ("ping", "completion"), "its command line has no such method"),
    Limitation(
        "inspector", ("large",), "takes arguments from its command line, where a megabyte has no room"
    ),
    Limitation(
        "inspector", ("no-tool",), "looks the tool up in tools/list and does not call one that is not there"
    ),
    Limitation("inspector", ("progress", "progress-burst", "log"), "its command line shows results alone"),
    Limitation(
        "inspector",
        ("cancel", "list-changed", "updated"),
        "one process and one connection for each operation, with nothing beside it",
    ),
    Limitation(
        "inspector",
        ("concurrent",),
        "one server for each operation: calls cannot meet",
        transports=("stdio",),
    ),
    Limitation(
        "inspector",
        ("close",),
        "leaves without ending its session: no DELETE follows its last request",
        frames=(
            '-> POST /mcp {"method":"tools/list"}',
            '<- 200 {"id":2,"result":{"tools":[...]}}',
            "the GET stream was closed",
        ),
        transports=("http",),
    ),
    Limitation(
        "inspector",
        ("elicit", "decline", "elicit-url", "rounds", "ask-all", "sample", "roots"),
        "its command line has no option for answers to a server's questions",
    ),
)


def limitation_for(client: Client, check: Check, revision: str) -> Limitation | None:
    """The entry for a cell, if there is one."""
    for entry in LIMITATIONS:
        if entry.covers(client, check, revision):
            return entry
    return None
