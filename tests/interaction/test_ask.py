"""``ctx.ask``: one blocking line that serves both eras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from mcpref import (
    Elicit,
    ElicitAccepted,
    ElicitUrl,
    McpServer,
    PeerError,
    RequestContext,
    Roots,
    Sample,
)
from mcpref.testing import RecordingContext, connect
from tests.server.support import EVERYTHING, MODERN, texts

#: The revisions that have forms, oldest first.
FORMS = ["2025-06-18", "2025-11-25", MODERN]
BOTH_ERAS = ["2025-11-25", MODERN]

WRITTEN = {"role": "assistant", "content": {"type": "text", "text": "a poem"}, "model": "m"}


@dataclass
class Trip:
    city: str
    days: int = 1


@dataclass
class Confirm:
    sure: bool


def booking_server() -> McpServer:
    server = McpServer("booking")

    @server.tool
    def book(ctx: RequestContext, name: str) -> str:
        """Two questions in a row, the second about the first one's answer."""
        trip = ctx.ask("trip", Elicit(f"Where to, {name}?", Trip))
        if trip.action != "accept":
            return f"no trip: {trip.action}"
        sure = ctx.ask("sure", Elicit(f"{trip.content.days} days in {trip.content.city}?", Confirm))
        if sure.action == "accept" and sure.content.sure:
            return f"booked {trip.content.city} for {name}"
        return f"not booked: {sure.action}"

    return server


class Traveller:
    """A user who fills in forms."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []

    def __call__(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.questions.append(params["message"])
        return self.answers.pop(0)


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@pytest.mark.req(
    "2026-07-28:mrtr.only-path",
    "2026-07-28:jsonrpc.result-type-input-required",
    "2026-07-28:elicitation.server-handles-actions",
    "2026-07-28:base.support-core",
)
@pytest.mark.parametrize("version", FORMS)
def test_two_questions_in_one_handler(version: str) -> None:
    user = Traveller(accept(city="Oslo", days=3), accept(sure=True))
    with connect(booking_server(), version, on_elicit=user) as peer:
        assert texts(peer.call_tool("book", {"name": "Ann"})) == "booked Oslo for Ann"
        requests = [message for message in peer.messages if "id" in message]
        assert len(requests) == (0 if version == MODERN else 2)
    assert user.questions == ["Where to, Ann?", "3 days in Oslo?"]


@pytest.mark.req("elicitation.actions", "2026-07-28:elicitation.handle-decline")
@pytest.mark.parametrize("version", FORMS)
@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ([{"action": "decline"}], "no trip: decline"),
        ([{"action": "cancel"}], "no trip: cancel"),
        ([accept(city="Oslo"), {"action": "decline"}], "not booked: decline"),
        ([accept(city="Oslo"), accept(sure=False)], "not booked: accept"),
    ],
    ids=str,
)
def test_whatever_the_user_says(version: str, answers: list[dict[str, Any]], outcome: str) -> None:
    user = Traveller(*answers)
    with connect(booking_server(), version, on_elicit=user) as peer:
        assert texts(peer.call_tool("book", {"name": "Ann"})) == outcome
    assert user.answers == []


@pytest.mark.req(
    "2026-07-28:elicitation.common-params",
    "2026-07-28:elicitation.accept-is-consent",
    "elicitation.url-params",
    "elicitation.url-valid",
)
@pytest.mark.parametrize("version", BOTH_ERAS)
def test_every_kind_of_question(version: str) -> None:
    server = McpServer("kinds")

    @server.tool
    def kinds(ctx: RequestContext) -> list[str]:
        choice = ctx.ask("choice", Elicit("Which?", ["red", "blue"]))
        visit = ctx.ask("visit", ElicitUrl("Sign in", "https://example.com/in"))
        poem = ctx.ask("poem", Sample("Write.", max_tokens=10))
        roots = ctx.ask("roots", Roots())
        return [str(choice.content), repr(visit), poem.text, *(root.uri for root in roots)]

    asked: list[Mapping[str, Any]] = []

    def elicit(params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        return {"action": "accept"} if params.get("mode") == "url" else accept(choice="blue")

    def write(params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked.append(params)
        return WRITTEN

    with connect(
        server,
        version,
        on_elicit=elicit,
        on_sample=write,
        on_roots=lambda params: {"roots": [{"uri": "file:///home"}]},
    ) as peer:
        found = peer.call_tool("kinds")
    assert (
        texts(found) == '["blue","ElicitAccepted(content=None, action=\'accept\')","a poem","file:///home"]'
    )
    form, url, sample = asked
    assert form["requestedSchema"]["properties"] == {"choice": {"type": "string", "enum": ["red", "blue"]}}
    assert (url["mode"], url["message"], url["url"]) == ("url", "Sign in", "https://example.com/in")
    # The id exists in one revision only, and is unguessable there.
    assert ("elicitationId" in url) == (version == "2025-11-25")
    assert sample["maxTokens"] == 10


@pytest.mark.req("2025-11-25:elicitation.id-unique")
def test_the_id_of_a_url_is_new_each_time() -> None:
    server = McpServer("urls")

    @server.tool
    def visit(ctx: RequestContext) -> str:
        return ctx.ask("visit", ElicitUrl("Sign in", "https://example.com/in")).action

    seen: list[str] = []

    def elicit(params: Mapping[str, Any]) -> Mapping[str, Any]:
        seen.append(params["elicitationId"])
        return {"action": "accept"}

    with connect(server, "2025-11-25", on_elicit=elicit) as peer:
        for _ in range(20):
            assert texts(peer.call_tool("visit")) == "accept"
    assert len(set(seen)) == 20
    assert min(map(len, seen)) >= 32


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_several_questions_of_one_kind_in_one_round(version: str) -> None:
    server = McpServer("several")
    runs = []

    @server.tool
    def several(ctx: RequestContext) -> str:
        runs.append(1)
        answers = ctx.ask_all({f"q{n}": Elicit(f"Question {n}?", Confirm) for n in range(3)})
        return " ".join(f"{key}={answer.action}" for key, answer in answers.items())

    user = Traveller(accept(sure=True), {"action": "decline"}, {"action": "cancel"})
    with connect(server, version, on_elicit=user) as peer:
        assert texts(peer.call_tool("several")) == "q0=accept q1=decline q2=cancel"
    assert user.questions == ["Question 0?", "Question 1?", "Question 2?"]
    assert len(runs) == (2 if version == MODERN else 1)


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_questions_of_several_kinds_in_one_round(version: str) -> None:
    server = McpServer("mixed")
    runs = []

    @server.tool
    def mixed(ctx: RequestContext) -> str:
        runs.append(1)
        sure, poem, roots = ctx.ask_all(
            ("sure", Elicit("Sure?", Confirm)),
            ("poem", Sample("Write.", max_tokens=5)),
            ("roots", Roots()),
        )
        return f"{sure.action} {poem.text} {len(roots)}"

    with connect(
        server,
        version,
        on_elicit=Traveller(accept(sure=True)),
        on_sample=lambda params: WRITTEN,
        on_roots=lambda params: {"roots": []},
    ) as peer:
        assert texts(peer.call_tool("mixed")) == "accept a poem 0"
    assert len(runs) == (2 if version == MODERN else 1)


@pytest.mark.req("2026-07-28:mrtr.allowed-methods")
@pytest.mark.parametrize("version", BOTH_ERAS)
def test_prompts_and_resources_ask_as_well(version: str) -> None:
    server = McpServer("others")

    @server.prompt
    def greet(ctx: RequestContext, name: str) -> str:
        return f"{name} {ctx.ask('sure', Elicit('Sure?', Confirm)).action}"

    @server.resource("doc://{name}")
    def doc(ctx: RequestContext, name: str) -> str:
        return f"{name} {[root.uri for root in ctx.ask('roots', Roots())]}"

    @server.resource("fixed://doc")
    def fixed(ctx: RequestContext) -> str:
        return ctx.ask("sure", Elicit("Sure?", Confirm)).action

    user = Traveller(accept(sure=True), {"action": "decline"})
    with connect(
        server, version, on_elicit=user, on_roots=lambda params: {"roots": [{"uri": "file:///r"}]}
    ) as peer:
        prompt = peer.get_prompt("greet", {"name": "Ann"})
        assert prompt["messages"][0]["content"]["text"] == "Ann accept"
        assert peer.read_resource("doc://a")["contents"][0]["text"] == "a ['file:///r']"
        assert peer.read_resource("fixed://doc")["contents"][0]["text"] == "decline"


# ---- What is kept -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_a_value_is_computed_once_and_looks_the_same_in_every_round(version: str) -> None:
    server = McpServer("once")
    computed: list[str] = []

    @server.tool
    def order(ctx: RequestContext) -> str:
        def draw() -> dict[str, Any]:
            computed.append("drawn")
            return {"number": len(computed), "pair": (1, 2), "nothing": None}

        drawn = ctx.once("number", draw)
        # A tuple has become a list already in the first round, as it will be in the next.
        assert (drawn["pair"], drawn["nothing"]) == ([1, 2], None)
        first = ctx.ask("first", Elicit("First?", Confirm))
        second = ctx.ask("second", Elicit("Second?", Confirm))
        assert ctx.once("number", draw) == drawn
        return f"{drawn['number']} {first.action} {second.action}"

    user = Traveller(accept(sure=True), accept(sure=True))
    with connect(server, version, on_elicit=user) as peer:
        assert texts(peer.call_tool("order")) == "1 accept accept"
        assert computed == ["drawn"]
        user.answers = [accept(sure=True), {"action": "decline"}]
        assert texts(peer.call_tool("order")) == "2 accept decline"
    assert computed == ["drawn", "drawn"]


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_what_json_cannot_say_cannot_be_kept(version: str) -> None:
    server = McpServer("once")

    @server.tool
    def keep(ctx: RequestContext) -> str:
        with pytest.raises((TypeError, ValueError)):
            ctx.once("x", lambda: {"x": object()})
        with pytest.raises(ValueError):
            ctx.once("y", lambda: float("nan"))
        return "refused"

    with connect(server, version) as peer:
        assert texts(peer.call_tool("keep")) == "refused"


# ---- What is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", BOTH_ERAS)
def test_a_key_is_used_once_in_a_run(version: str) -> None:
    server = McpServer("twice")

    @server.tool
    def twice(ctx: RequestContext) -> str:
        ctx.ask("sure", Elicit("Sure?", Confirm))
        ctx.ask("sure", Elicit("Really?", Confirm))
        return "unreachable"

    with connect(server, version, on_elicit=lambda params: accept(sure=True)) as peer:
        found = peer.call_tool("twice")
    assert found["isError"] is True
    assert "'sure' was asked already" in texts(found)


@pytest.mark.req("2026-07-28:meta.missing-capability-32021", "2026-07-28:meta.no-undeclared-capability-use")
@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        ({}, {"elicitation": {"form": {}}, "sampling": {}}),
        ({"sampling": {}}, {"elicitation": {"form": {}}}),
        ({"elicitation": {}}, {"sampling": {}}),
        ({"elicitation": {"url": {}}, "sampling": {}}, {"elicitation": {"form": {}}}),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", BOTH_ERAS)
def test_what_was_not_declared_fails_before_anybody_is_asked(
    version: str, declared: dict[str, Any], missing: dict[str, Any]
) -> None:
    server = McpServer("undeclared")

    @server.tool
    def both(ctx: RequestContext) -> str:
        ctx.ask_all(("sure", Elicit("Sure?", Confirm)), ("poem", Sample("Write.", max_tokens=5)))
        return "unreachable"

    with connect(server, version, capabilities=declared) as peer:
        with pytest.raises(PeerError) as caught:
            peer.call_tool("both")
        assert [message for message in peer.messages if "id" in message] == []
    if version == MODERN:
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": missing}
    else:
        assert caught.value.code == -32600


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
def test_a_revision_without_forms_says_so(version: str) -> None:
    with connect(booking_server(), version, capabilities=EVERYTHING) as peer:
        with pytest.raises(PeerError) as caught:
            peer.call_tool("book", {"name": "Ann"})
        assert caught.value.code == -32600
        assert version in caught.value.message


def test_a_handler_can_be_tested_without_any_server() -> None:
    server = McpServer("direct")

    @server.tool
    def ask(ctx: RequestContext) -> str:
        answer = ctx.ask("sure", Elicit("Sure?", Confirm))
        return f"{answer == ElicitAccepted(Confirm(True))} {ctx.once('x', lambda: (1,))}"

    ctx = RecordingContext(answers={"sure": accept(sure=True)})
    assert ask(ctx) == "True [1]"
    assert list(ctx.asked) == ["sure"]
