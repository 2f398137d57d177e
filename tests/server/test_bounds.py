"""Bounds on what a peer can make us build or keep, each at its limit and one past it; and mistakes refused early."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import pytest

from mcpref import Elicit, McpServer, Param, RequestContext, Settings
from mcpref.errors import InvalidRequest, PeerError
from mcpref.jsonrpc import MAX_BATCH, MAX_CONTAINERS, Batch, decode, parse_json
from mcpref.server.methods.lifecycle import MAX_CLIENT
from mcpref.server.state import MAX_SUBSCRIPTIONS, ConnectionState
from mcpref.testing import connect


def test_a_batch_has_a_bound() -> None:
    message = {"jsonrpc": "2.0", "method": "x"}
    batch = decode(json.dumps([message] * MAX_BATCH).encode())
    assert isinstance(batch, Batch)
    assert len(batch.entries) == MAX_BATCH
    with pytest.raises(InvalidRequest, match="at most"):
        decode(json.dumps([message] * (MAX_BATCH + 1)).encode())


def test_a_message_has_a_bound_on_arrays_and_objects() -> None:
    inside = b",".join([b"[]"] * (MAX_CONTAINERS - 1))
    assert len(parse_json(b"[" + inside + b"]")) == MAX_CONTAINERS - 1
    with pytest.raises(InvalidRequest, match="too many arrays"):
        parse_json(b"[" + inside + b",[]]")


@pytest.mark.parametrize(("extra", "refused"), [(0, False), (1, True)])
def test_what_a_client_says_of_itself_has_a_bound(extra: int, refused: bool) -> None:
    server = McpServer("bounds", version="1")
    with connect(server, "2025-11-25", initialize=False) as peer:
        peer.capabilities = {"experimental": {"x": ""}}
        frame = len(json.dumps([peer.capabilities, {"name": "a", "version": "b"}], separators=(",", ":")))
        peer.capabilities["experimental"]["x"] = "a" * (MAX_CLIENT - frame + extra)
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": peer.capabilities,
            "clientInfo": {"name": "a", "version": "b"},
        }
        if refused:
            with pytest.raises(PeerError, match="at most") as caught:
                peer.request("initialize", params)
            assert caught.value.code == -32602
        else:
            assert peer.request("initialize", params)["protocolVersion"] == "2025-11-25"


def test_watched_resources_have_a_bound() -> None:
    state = ConnectionState()
    for number in range(MAX_SUBSCRIPTIONS):
        state.subscribe(f"x://{number}")
    state.subscribe("x://0")  # watched already
    with pytest.raises(InvalidRequest, match="unsubscribe"):
        state.subscribe("x://more")
    state.unsubscribe("x://0")
    state.subscribe("x://more")
    assert state.is_subscribed("x://more")


@pytest.mark.parametrize("text", ["1E+99999999999", "1E-99999999999", "9" * 500])
def test_a_decimal_cannot_name_a_number_that_fills_the_memory(text: str) -> None:
    server = McpServer("bounds", version="1")

    @server.tool
    def price(x: Annotated[Decimal, Param(multiple_of=0.01)]) -> str:
        """Take a price."""
        return str(x)

    with connect(server) as peer:
        refused = peer.call_tool("price", {"x": text})
        assert refused["isError"] is True
        assert "out of range" in refused["content"][0]["text"]
        assert peer.call_tool("price", {"x": "1E+3"})["content"][0]["text"] == "1E+3"


def test_an_answer_whose_type_asks_a_question_of_its_own_does_not_deadlock() -> None:
    """Answers are parsed without any lock: it runs code of the application."""
    server = McpServer("bounds", version="1")
    seen: list[int] = []

    @server.tool
    def book(ctx: RequestContext) -> str:
        """Ask for a seat."""
        from dataclasses import dataclass

        @dataclass
        class Seat:
            row: int

            def __post_init__(self) -> None:
                seen.append(ctx.once("row", lambda: self.row))

        answer = ctx.ask("seat", Elicit("Which row?", Seat))
        return f"{answer.action} {seen[-1]}"

    def accept(question: Any) -> dict[str, Any]:
        return {"action": "accept", "content": {"row": 7}}

    with connect(server, on_elicit=accept) as peer:
        assert peer.call_tool("book")["content"][0]["text"] == "accept 7"


def test_a_result_that_raises_while_it_is_encoded_is_an_internal_error() -> None:
    class Lazy(dict[str, Any]):
        def items(self) -> Any:
            raise KeyError("late")

    server = McpServer("bounds", version="1")

    @server.middleware
    def spoil(request: Any, ctx: Any, call_next: Any) -> dict[str, Any]:
        result: dict[str, Any] = call_next(request, ctx)
        result["late"] = Lazy(a=1)
        return result

    with connect(server, "2025-11-25") as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("ping")
        assert caught.value.code == -32603


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_never_answers() -> None:
    server = McpServer("bounds", version="1")

    @server.tool
    def split() -> str:
        """Fork, and let the child run out of the tool."""
        child = os.fork()
        if child == 0:
            raise SystemExit(0)
        _, status = os.waitpid(child, 0)
        return f"the child left with {os.waitstatus_to_exitcode(status)}"

    with connect(server) as peer:
        assert peer.call_tool("split")["content"][0]["text"] == "the child left with 1"
        assert peer.request("server/discover")["supportedVersions"] == ["2026-07-28"]


def test_a_left_over_thread_cannot_ask_after_the_answer() -> None:
    import threading

    server = McpServer("bounds", version="1")
    go = threading.Event()
    failures: list[Exception] = []
    done = threading.Event()

    @server.tool
    def leave(ctx: RequestContext) -> str:
        """Answer, and ask later."""

        def late() -> None:
            go.wait(20)
            try:
                ctx.elicit("too late?", {"type": "object", "properties": {}})
            except Exception as error:
                failures.append(error)
            done.set()

        threading.Thread(target=late, daemon=True).start()
        return "answered"

    with connect(server, "2025-11-25", on_elicit=lambda question: {"action": "cancel"}) as peer:
        assert peer.call_tool("leave")["content"][0]["text"] == "answered"
        go.set()
        assert done.wait(20)
        assert "answered already" in str(failures[0])
        assert peer.messages == []


def test_mistakes_of_the_application_are_refused_where_they_stand() -> None:
    server = McpServer("bounds", version="1")
    with pytest.raises(TypeError, match="no option 'desc'"):
        server.tool(desc="x")(lambda: "x")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="class of exceptions"):
        server.error_handler(lambda error: error)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="generator function"):
        server.lifespan(lambda: 5)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="tuple of names"):
        Settings(allowed_hosts="example.com")  # type: ignore[arg-type]


def test_a_bad_secret_in_the_environment_is_refused_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPREF_SECRET", "short")
    with pytest.raises(ValueError, match="secret"):
        McpServer("bounds", version="1")


def test_a_middleware_that_forgets_to_return_is_named(caplog: pytest.LogCaptureFixture) -> None:
    server = McpServer("bounds", version="1")

    @server.middleware
    def forgetful(request: Any, ctx: Any, call_next: Any) -> Any:
        call_next(request, ctx)

    with connect(server) as peer, caplog.at_level(logging.ERROR), pytest.raises(PeerError):
        peer.request("server/discover")
    assert "forgetful" in caplog.text


def test_what_middleware_replaces_is_what_the_state_is_bound_to() -> None:
    server = McpServer("bounds", version="1")

    @server.middleware
    def shout(request: Any, ctx: Any, call_next: Any) -> dict[str, Any]:
        from mcpref.jsonrpc import Request

        params = dict(request.params)
        if "arguments" in params:
            params["arguments"] = {"word": params["arguments"]["word"].upper()}
        result: dict[str, Any] = call_next(Request(request.id, request.method, params), ctx)
        return result

    @server.tool
    def say(ctx: RequestContext, word: str) -> str:
        """Say a word, if the user likes it."""
        return f"{word} {ctx.ask('ok', Elicit('Say it?', ['yes', 'no'])).action}"

    accept = {"action": "accept", "content": {"choice": "yes"}}
    with connect(server, on_elicit=lambda question: accept) as peer:
        assert peer.call_tool("say", {"word": "hi"})["content"][0]["text"] == "HI accept"


def test_a_lifespan_that_fails_closes_what_was_open() -> None:
    server = McpServer("bounds", version="1")
    events: list[str] = []

    @server.lifespan
    def first() -> Iterator[int]:
        events.append("open")
        yield 1
        events.append("close")

    @server.lifespan
    def second() -> Iterator[int]:
        yield from failing()

    def failing() -> Iterator[int]:
        for _ in range(1):
            raise RuntimeError("no database")
        yield 2

    with pytest.raises(RuntimeError, match="no database"):
        server.start()
    assert events == ["open", "close"]


def test_a_refused_state_is_explained_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    server = McpServer("bounds", version="1")

    @server.tool
    def ask(ctx: RequestContext) -> str:
        """Ask something."""
        return ctx.ask("ok", Elicit("Sure?", ["yes", "no"])).action

    params = {"name": "ask", "arguments": {}, "requestState": "garbage"}
    with (
        connect(server, capabilities={"elicitation": {}}) as peer,
        caplog.at_level(logging.WARNING),
        pytest.raises(PeerError) as caught,
    ):
        peer.request("tools/call", params)
    assert caught.value.code == -32602
    assert "state was refused" in caplog.text
