"""Log messages to the client: which level passes, on which revision, and what the frame looks like."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, RequestContext
from mcpref.jsonrpc import Notification
from mcpref.meta import MetaKey
from mcpref.schema.logs import LoggingLevel
from mcpref.server.context import LOG_LEVELS
from mcpref.testing import connect

from .support import LEGACY, MODERN, VERSIONS, LocalContext, call, refusal, request, result

#: RFC 5424 6.2.1, from the least severe.
LEVELS: list[LoggingLevel] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def talking(**options: Any) -> McpServer:
    server = McpServer("talking", **options)

    @server.tool
    def talk(ctx: RequestContext) -> str:
        for level in LEVELS:
            ctx.log(level, level)
        return "done"

    @server.tool
    def say(ctx: RequestContext, level: str, logger: str = "") -> str:
        ctx.log(level, {"k": [1, None]}, logger)  # type: ignore[arg-type]  # also names nobody knows
        return "done"

    @server.tool
    def say_nothing(ctx: RequestContext) -> str:
        ctx.log("error")
        return "done"

    return server


def modern_call(server: McpServer, name: str, wanted: object, /, **arguments: Any) -> list[Notification]:
    ctx = LocalContext(MODERN)
    fields = {} if wanted is None else {MetaKey.LOG_LEVEL: wanted}
    params = {"name": name, "arguments": arguments, "_meta": fields}
    result(server, "tools/call", params, ctx=ctx)
    return ctx.sent


def levels(sent: list[Notification]) -> list[str]:
    assert all(message.method == "notifications/message" for message in sent)
    return [(message.params or {})["level"] for message in sent]


# ---- Levels -----------------------------------------------------------------------------------------------


@pytest.mark.parity(42)
@pytest.mark.req("logging.levels")
def test_the_levels_are_those_of_rfc_5424_in_rising_order() -> None:
    assert sorted(LOG_LEVELS, key=LOG_LEVELS.__getitem__) == LEVELS


@pytest.mark.parity(41)
@pytest.mark.parametrize("version", LEGACY)
def test_by_default_only_debug_is_dropped(version: str) -> None:
    ctx = LocalContext(version)
    call(talking(), "talk", version=version, ctx=ctx)
    assert levels(ctx.sent) == LEVELS[1:]


@pytest.mark.parity(41, 42)
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize("level", LEVELS)
def test_a_legacy_client_sets_the_level_of_its_connection(version: str, level: LoggingLevel) -> None:
    server = talking()
    ctx = LocalContext(version)
    assert result(server, "logging/setLevel", {"level": level}, version=version, ctx=ctx) == {}
    call(server, "talk", version=version, ctx=ctx)
    assert levels(ctx.sent) == LEVELS[LEVELS.index(level) :]


@pytest.mark.req("2025-11-25:logging.error-invalid-level")
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize("level", ["loud", "", "ERROR", 3, None], ids=repr)
def test_a_legacy_level_that_does_not_exist_is_refused(version: str, level: object) -> None:
    ctx = LocalContext(version)
    error = refusal(talking(), "logging/setLevel", {"level": level}, version=version, ctx=ctx)
    assert error.code == -32602
    assert ctx.state.log_level == "info"


@pytest.mark.parity(45)
@pytest.mark.req("2026-07-28:logging.opt-in", "2026-07-28:logging.at-or-above")
@pytest.mark.parametrize("level", [None, *LEVELS])
def test_a_modern_request_gets_what_it_asks_for_and_nothing_unasked(level: LoggingLevel | None) -> None:
    expected = [] if level is None else LEVELS[LEVELS.index(level) :]
    assert levels(modern_call(talking(), "talk", level)) == expected


@pytest.mark.parity(46)
@pytest.mark.req("2026-07-28:logging.invalid-level-32602")
@pytest.mark.parametrize("level", ["loud", "", "INFO", 3, ["info"], {}], ids=repr)
def test_a_modern_level_that_does_not_exist_refuses_the_request(level: object) -> None:
    params = {"name": "talk", "_meta": {MetaKey.LOG_LEVEL: level}}
    error = refusal(talking(), "tools/call", params)
    assert error.code == -32602
    assert MetaKey.LOG_LEVEL in error.message


@pytest.mark.parity(43)
def test_a_level_nobody_knows_passes() -> None:
    server = talking()
    assert levels(modern_call(server, "say", "emergency", level="audit")) == ["audit"]
    ctx = LocalContext("2025-11-25")
    ctx.state.set_log_level("whatever")  # as a session store of an older release could hold it
    call(server, "talk", version="2025-11-25", ctx=ctx)
    assert levels(ctx.sent) == LEVELS


@pytest.mark.parity(45)
@pytest.mark.req("2026-07-28:base.stateless-no-prior-context")
def test_the_level_of_a_connection_means_nothing_to_a_modern_request() -> None:
    server = talking()
    ctx = LocalContext("2025-11-25")
    ctx.state.set_log_level("debug")
    server.handle(request("tools/call", {"name": "talk"}), ctx)
    assert ctx.sent == []
    server.handle(request("tools/call", {"name": "talk", "_meta": {MetaKey.LOG_LEVEL: "alert"}}), ctx)
    assert levels(ctx.sent) == ["alert", "emergency"]


@pytest.mark.parity(44)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_server_without_logging_sends_none(version: str) -> None:
    server = talking(logging=False)
    ctx = LocalContext(version)
    fields = {"_meta": {MetaKey.LOG_LEVEL: "debug"}} if version == MODERN else {}
    result(server, "tools/call", {"name": "talk", **fields}, version=version, ctx=ctx)
    assert ctx.sent == []


# ---- The frame --------------------------------------------------------------------------------------------


@pytest.mark.parity(47)
@pytest.mark.req("2026-07-28:logging.fields")
def test_text_and_json_make_the_same_frame_as_the_raw_form() -> None:
    server = McpServer("frames")

    @server.tool
    def frames(ctx: RequestContext) -> str:
        ctx.log("error", "text", logger="db")
        ctx.send(Notification("notifications/message", {"level": "error", "data": "text", "logger": "db"}))
        ctx.log("error", {"k": [1, None]})
        ctx.send(Notification("notifications/message", {"level": "error", "data": {"k": [1, None]}}))
        return "done"

    typed_text, raw_text, typed_json, raw_json = modern_call(server, "frames", "error")
    assert typed_text == raw_text
    assert typed_json == raw_json


@pytest.mark.parity(48)
@pytest.mark.req("2026-07-28:logging.fields")
def test_data_is_always_there_and_the_logger_only_when_named() -> None:
    server = talking()
    (nothing,) = modern_call(server, "say_nothing", "debug")
    assert nothing.params == {"level": "error", "data": None}
    (anonymous,) = modern_call(server, "say", "debug", level="error")
    assert anonymous.params == {"level": "error", "data": {"k": [1, None]}}
    (named,) = modern_call(server, "say", "debug", level="error", logger="db")
    assert named.params == {"level": "error", "data": {"k": [1, None]}, "logger": "db"}


# ---- On a connection --------------------------------------------------------------------------------------


@pytest.mark.parity(81)
@pytest.mark.req("2026-07-28:logging.request-scoped", "2026-07-28:subs.id-absent-elsewhere")
@pytest.mark.parametrize("version", VERSIONS)
def test_messages_come_before_the_answer_one_frame_each(version: str) -> None:
    server = talking()
    with connect(server, version) as peer:
        params: dict[str, Any] = {"name": "talk"}
        if version == MODERN:
            listening = peer.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            peer.next_notification("notifications/subscriptions/acknowledged")
            params["_meta"] = {MetaKey.LOG_LEVEL: "info"}
        peer.messages.clear()
        peer.request("tools/call", params)
        got = [message["params"] for message in peer.messages]
        assert got == [{"level": level, "data": level} for level in LEVELS[1:]]
        if version == MODERN:
            listening.cancel()


def test_two_requests_at_once_each_get_their_own_level() -> None:
    server = talking()
    with connect(server) as peer:
        quiet = peer.start("tools/call", {"name": "talk", "_meta": {MetaKey.LOG_LEVEL: "emergency"}})
        silent = peer.start("tools/call", {"name": "talk"})
        quiet.result()
        silent.result()
        assert levels([Notification(m["method"], m["params"]) for m in peer.messages]) == ["emergency"]
