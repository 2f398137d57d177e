"""What a web framework puts around functions: on which thread, around what, and what becomes of its failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from mcpref import Elicit, McpServer, RequestContext, RequestInfo, ToolError
from mcpref.server.embedding import Embedding
from tests.http.conftest import Serve
from tests.http.support import text


@dataclass
class Sure:
    sure: bool


class Recorder(Embedding):
    """Keeps what happened, with the thread it happened on."""

    def __init__(self, events: list[str], host: int, fail: str = "") -> None:
        self.events = events
        self._host = host
        self._fail = fail

    def _note(self, what: str) -> None:
        where = "host" if threading.get_ident() == self._host else "worker"
        self.events.append(f"{what} on {where}")
        if self._fail == what:
            raise RuntimeError(f"{what} failed, and this must not be seen")

    def on_worker(self) -> AbstractContextManager[object]:
        self._note("asked")

        @contextmanager
        def around() -> Iterator[None]:
            self._note("entered")
            yield
            self._note("left")

        return around()

    def call(self, fn: Callable[..., Any], invoke: Callable[[], Any]) -> Any:
        name = fn.__name__
        self._note(f"begin {name}")
        try:
            value = invoke()
        except BaseException as error:
            self._note(f"rolled back {name} for {type(error).__name__}")
            raise
        self._note(f"committed {name}")
        return value


def make_server() -> McpServer:
    server = McpServer("embedded")

    @server.tool
    def plain(info: RequestInfo) -> str:
        return "plain"

    @server.tool
    def worked(ctx: RequestContext) -> str:
        return "worked"

    @server.tool
    def asks(ctx: RequestContext) -> str:
        answer = ctx.ask("sure", Elicit("Sure?", Sure))
        return answer.action

    @server.tool
    def fails(ctx: RequestContext, how: str) -> str:
        raise ToolError("no") if how == "tool" else ZeroDivisionError("secret")

    @server.prompt
    def greet(who: str) -> str:
        return f"Hello {who}"

    @server.completion(greet, "who")
    def names(value: str) -> list[str]:
        return ["Ada"]

    @server.resource("thing://one")
    def thing() -> str:
        return "a thing"

    return server


class Embedded:
    """A served application and what its embedding saw."""

    def __init__(self, serve: Serve, fail: str = "") -> None:
        self.events: list[str] = []

        def embed(environ: dict[str, Any]) -> Embedding:
            return Recorder(self.events, threading.get_ident(), fail)

        self.client = serve(make_server(), embedding=embed)


@pytest.fixture
def embedded(serve: Serve) -> Embedded:
    return Embedded(serve)


def test_a_function_without_a_context_stays_on_the_hosts_thread(embedded: Embedded) -> None:
    assert text(embedded.client.call("plain")) == "plain"
    assert embedded.events == ["begin plain on host", "committed plain on host"]


def test_one_with_a_context_is_wrapped_on_its_worker(embedded: Embedded) -> None:
    assert text(embedded.client.call("worked")) == "worked"
    assert embedded.events == [
        "asked on host",
        "entered on worker",
        "begin worked on worker",
        "committed worked on worker",
        "left on worker",
    ]


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "greet", "arguments": {"who": "Ada"}}, "greet"),
        ("resources/read", {"uri": "thing://one"}, "thing"),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}},
            "names",
        ),
    ],
)
def test_every_kind_of_function_is_wrapped(
    embedded: Embedded, method: str, params: dict[str, Any], name: str
) -> None:
    assert embedded.client.modern(method, params).result()
    assert embedded.events == [f"begin {name} on host", f"committed {name} on host"]


def test_what_runs_no_function_wraps_nothing(embedded: Embedded) -> None:
    assert embedded.client.modern("tools/list").result()["tools"]
    assert embedded.events == []


@pytest.mark.parametrize(("how", "raised"), [("tool", "ToolError"), ("bug", "ZeroDivisionError")])
def test_a_failure_reaches_the_framework(embedded: Embedded, how: str, raised: str) -> None:
    reply = embedded.client.call("fails", {"how": how})
    assert "secret" not in str(reply.json())
    assert f"rolled back fails for {raised} on worker" in embedded.events


def test_a_round_that_ends_with_a_question_has_succeeded(embedded: Embedded) -> None:
    elicits: dict[str, Any] = {"elicitation": {}}
    first = embedded.client.call("asks", capabilities=elicits).result()
    assert first["resultType"] == "input_required"
    assert embedded.events[-2:] == ["committed asks on worker", "left on worker"]
    answers = {"sure": {"action": "accept", "content": {"sure": True}}}
    params = {
        "name": "asks",
        "arguments": {},
        "inputResponses": answers,
        "requestState": first["requestState"],
    }
    second = embedded.client.modern("tools/call", params, capabilities=elicits)
    assert text(second) == "accept"
    assert embedded.events.count("committed asks on worker") == 2


def test_on_a_legacy_session_too(embedded: Embedded) -> None:
    session = embedded.client.connect(capabilities={"elicitation": {}})
    reply = session.call("asks")
    question = reply.next_message()
    assert "committed asks on worker" not in embedded.events, "it waits inside"
    session.reply(question["id"], {"action": "decline"})
    assert text(reply) == "decline"
    assert embedded.events[-2:] == ["committed asks on worker", "left on worker"]


@pytest.mark.parametrize("where", ["asked", "entered"])
def test_a_framework_that_cannot_begin_is_an_internal_error(
    serve: Serve, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    embedded = Embedded(serve, fail=where)
    reply = embedded.client.call("worked")
    assert "must not be seen" not in reply.body().decode()
    assert reply.error()["code"] == -32603
    assert "must not be seen" in caplog.text
    assert text(embedded.client.call("plain")) == "plain"


def test_a_framework_that_cannot_end_does_not_lose_the_answer(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    embedded = Embedded(serve, fail="left")
    assert text(embedded.client.call("worked")) == "worked"
    assert "must not be seen" in caplog.text
