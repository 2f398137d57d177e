"""Middleware: what wraps a request, in which order, and what it may change."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref import McpServer, PeerError, ProtocolError, RequestContext, Settings, ToolError
from mcpref.jsonrpc import Request
from mcpref.server.core import CallNext
from mcpref.testing import connect

from .support import LEGACY, MODERN, PATIENCE, VERSIONS, call, refusal, result, texts


@pytest.fixture
def server() -> McpServer:
    server = McpServer("wrapped")

    @server.tool
    def greet(name: str = "you") -> str:
        return f"Hello {name}"

    @server.tool
    def fail() -> str:
        raise ToolError("no")

    return server


def test_the_first_registered_is_the_outermost(server: McpServer) -> None:
    order: list[str] = []

    def make(name: str) -> Any:
        def wrap(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
            order.append(f"{name} in")
            answered = call_next(request, ctx)
            order.append(f"{name} out")
            return answered

        return wrap

    for name in ("outer", "middle", "inner"):
        server.middleware(make(name))
    assert texts(call(server, "greet")) == "Hello you"
    assert order == ["outer in", "middle in", "inner in", "inner out", "middle out", "outer out"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_but_initialize_is_wrapped(server: McpServer, version: str) -> None:
    seen: list[tuple[str, str]] = []

    @server.middleware
    def note(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        seen.append((request.method, ctx.protocol_version.value))
        return call_next(request, ctx)

    with connect(server, version) as peer:
        if version == MODERN:
            peer.request("server/discover")
        else:
            peer.request("ping")
        peer.request("tools/list")
        peer.call_tool("greet")
    first = "server/discover" if version == MODERN else "ping"
    assert seen == [(first, version), ("tools/list", version), ("tools/call", version)]


def test_it_may_change_the_request_and_the_result(server: McpServer) -> None:
    @server.middleware
    def rename(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        params = {**(request.params or {}), "arguments": {"name": "Ann"}}
        answered = call_next(Request(request.id, request.method, params), ctx)
        return {**answered, "_meta": {"com.example/by": "middleware"}}

    answered = call(server, "greet", {"name": "Bob"})
    assert texts(answered) == "Hello Ann"
    assert answered["_meta"]["com.example/by"] == "middleware"
    assert answered["resultType"] == "complete"


def test_it_may_answer_by_itself(server: McpServer) -> None:
    @server.middleware
    def short(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "cached"}]}

    answered = call(server, "greet")
    assert texts(answered) == "cached"
    assert answered["resultType"] == "complete"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_it_raises_is_the_answer(
    server: McpServer, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    raised: list[Exception] = [ProtocolError("closed", code=7), RuntimeError("secret")]

    @server.middleware
    def refuse(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        raise raised[0]

    error = refusal(server, "tools/list", version=version)
    assert (error.code, error.message) == (7, "closed")
    del raised[0]
    error = refusal(server, "tools/list", version=version)
    assert error.code == -32603
    assert "secret" not in error.message
    assert "secret" in caplog.text


def test_a_tools_own_error_passes_as_a_result(server: McpServer) -> None:
    outcomes: list[bool] = []

    @server.middleware
    def watch(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        answered = call_next(request, ctx)
        outcomes.append(answered["isError"])
        return answered

    call(server, "fail")
    call(server, "greet")
    assert outcomes == [True, False]


def test_a_refused_request_never_gets_to_it(server: McpServer) -> None:
    seen = []

    @server.middleware
    def note(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        seen.append(request.method)
        return call_next(request, ctx)

    assert refusal(server, "no/such", version=LEGACY[-1]).code == -32601
    assert seen == []


def test_a_decorated_middleware_stays_callable(server: McpServer) -> None:
    def note(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        return call_next(request, ctx)

    assert server.middleware(note) is note


# ---- Limits -----------------------------------------------------------------------------------------------


@pytest.mark.req("tools.rate-limit", "completion.rate-limit")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_application_limits_the_rate_of_calls_here(version: str) -> None:
    """Middleware is the hook: it sees every call before the handler, and its refusal is the answer."""
    server = McpServer("limited")
    ran = []

    @server.tool
    def costly() -> None:
        ran.append("tool")

    @server.prompt
    def hello(name: str = "") -> str:
        return name

    @server.completion(hello, "name")
    def names(value: str) -> list[str]:
        ran.append("completion")
        return []

    left = {"tools/call": 3, "completion/complete": 3}

    @server.middleware
    def limit(request: Request, ctx: RequestContext, call_next: CallNext) -> dict[str, Any]:
        if request.method in left:
            left[request.method] -= 1
            if left[request.method] < 0:
                raise ProtocolError("too many calls: try again later", code=429)
        return call_next(request, ctx)

    complete = {"ref": {"type": "ref/prompt", "name": "hello"}, "argument": {"name": "name", "value": ""}}
    with connect(server, version) as peer:
        for method, params in (("tools/call", {"name": "costly"}), ("completion/complete", complete)):
            codes = []
            for _ in range(10):
                try:
                    peer.request(method, params)
                except PeerError as error:
                    codes.append(error.code)
            assert codes == [429] * 7
    assert ran == ["tool"] * 3 + ["completion"] * 3


@pytest.mark.req("tools.rate-limit")
@pytest.mark.parametrize("version", [LEGACY[-1], MODERN])
def test_a_flood_of_calls_is_refused_and_the_rest_is_served(version: str) -> None:
    server = McpServer("flooded", settings=Settings(max_in_flight=4, workers=4))
    release = threading.Event()
    entered = threading.Semaphore(0)

    @server.tool
    def hold(ctx: RequestContext) -> str:
        entered.release()
        assert release.wait(PATIENCE)
        return "held"

    with connect(server, version) as peer:
        running = [peer.start("tools/call", {"name": "hold"}) for _ in range(4)]
        for _ in running:
            assert entered.acquire(timeout=PATIENCE)
        for _ in range(50):
            with pytest.raises(PeerError) as caught:
                peer.request("tools/list")
            assert (caught.value.code, caught.value.data) == (-32603, {"reason": "busy"})
        release.set()
        assert [texts(held.result()) for held in running] == ["held"] * 4
        assert result(server, "tools/list", version=version)["tools"]
        assert peer.request("tools/list")["tools"][0]["name"] == "hold"
