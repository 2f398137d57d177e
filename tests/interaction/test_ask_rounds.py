"""``ctx.ask`` on the modern wire, round by round: what counts as an answer and what does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from mcpref import Elicit, ElicitUrl, McpServer, RequestContext, Roots, Settings
from mcpref.jsonrpc import ErrorResponse
from tests.server.support import EVERYTHING, answer, refusal, result, texts


@dataclass
class Confirm:
    sure: bool


YES = {"action": "accept", "content": {"sure": True}}


class Client:
    """Calls one tool, round by round, with whatever the test makes of it."""

    def __init__(self, server: McpServer, name: str, arguments: Mapping[str, Any] | None = None) -> None:
        self.server = server
        self.call: dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
        self.last: dict[str, Any] = {}

    def send(self, **members: Any) -> dict[str, Any]:
        """One round; the state of the last one goes along unless the test gives its own."""
        if "requestState" in self.last:
            members.setdefault("requestState", self.last["requestState"])
        sent = {name: value for name, value in members.items() if value is not None}
        self.last = result(self.server, "tools/call", {**self.call, **sent}, capabilities=EVERYTHING)
        return self.last

    @property
    def asked(self) -> list[str]:
        return list(self.last["inputRequests"])

    @property
    def questions(self) -> list[str]:
        return [entry["params"]["message"] for entry in self.last["inputRequests"].values()]


def server_with(fn: Callable[..., Any], **options: Any) -> McpServer:
    server = McpServer("rounds", secret="0123456789abcdef", **options)
    server.tool(fn, name="act")
    return server


def three(ctx: RequestContext) -> str:
    answers = [ctx.ask(key, Elicit(f"{key}?", Confirm)) for key in ("a", "b", "c")]
    return " ".join(answer.action for answer in answers)


# ---- The rounds -------------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:mrtr.repeat-allowed", "2026-07-28:mrtr.may-include-state")
def test_a_client_sends_the_latest_answers_only() -> None:
    client = Client(server_with(three), "act")
    client.send()
    for key, action in (("a", "accept"), ("b", "decline"), ("c", "cancel")):
        assert client.asked == [key]
        client.send(inputResponses={key: YES if action == "accept" else {"action": action}})
    assert texts(client.last) == "accept decline cancel"
    assert client.last["resultType"] == "complete"


@pytest.mark.req("2026-07-28:mrtr.reask-missing")
def test_of_several_questions_only_the_open_ones_are_asked_again() -> None:
    def act(ctx: RequestContext) -> str:
        answers = ctx.ask_all({key: Elicit(f"{key}?", Confirm) for key in ("a", "b", "c")})
        return " ".join(answer.action for answer in answers.values())

    client = Client(server_with(act), "act")
    client.send()
    assert client.asked == ["a", "b", "c"]
    client.send(inputResponses={"b": {"action": "decline"}})
    assert client.asked == ["a", "c"]
    client.send(inputResponses={"a": YES})
    assert client.asked == ["c"]
    client.send(inputResponses={"c": {"action": "cancel"}})
    assert texts(client.last) == "accept decline cancel"


def test_a_round_without_any_answer_asks_the_same_again() -> None:
    client = Client(server_with(three), "act")
    client.send()
    client.send()
    assert client.asked == ["a"]
    client.send(inputResponses={})
    assert client.asked == ["a"]


# ---- What does not count ----------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:mrtr.ignore-unexpected", "2026-07-28:mrtr.reask-missing")
def test_an_answer_to_a_question_that_was_not_put_does_not_count() -> None:
    client = Client(server_with(three), "act")
    client.send(inputResponses={"a": YES, "b": YES, "c": YES})
    assert client.asked == ["a"]
    client.send(inputResponses={"a": YES, "b": YES, "c": YES, "d": YES})
    assert client.asked == ["b"], "only what was put counts, whatever else came along"


def test_a_state_that_was_left_out_starts_again() -> None:
    client = Client(server_with(three), "act")
    client.send()
    client.last = {}
    client.send(inputResponses={"a": YES})
    assert client.asked == ["a"]


def test_a_question_that_changed_meanwhile_is_put_again() -> None:
    price = ["10"]

    def act(ctx: RequestContext) -> str:
        return ctx.ask("buy", Elicit(f"Buy for {price[0]}?", Confirm)).action

    client = Client(server_with(act), "act")
    client.send()
    assert client.questions == ["Buy for 10?"]
    price[0] = "1000"
    client.send(inputResponses={"buy": YES})
    assert client.questions == ["Buy for 1000?"], "a yes to the old price is no yes to the new one"
    client.send(inputResponses={"buy": YES})
    assert texts(client.last) == "accept"


def test_a_url_may_change_between_the_rounds() -> None:
    """It may carry a one-time token; what the user is told must stay the same."""
    visits = []

    def act(ctx: RequestContext) -> str:
        visits.append(1)
        return ctx.ask("in", ElicitUrl("Sign in", f"https://example.com/?t={len(visits)}")).action

    client = Client(server_with(act), "act")
    client.send()
    assert "elicitationId" not in client.last["inputRequests"]["in"]["params"]
    client.send(inputResponses={"in": {"action": "accept"}})
    assert texts(client.last) == "accept"


@pytest.mark.req("2026-07-28:elicitation.server-validate", "2026-07-28:elicitation.no-success-assumption")
@pytest.mark.parametrize(
    "unfit",
    [
        {"action": "accept", "content": {"sure": "yes"}},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": []},
        {"action": "accept"},
        {"action": "maybe"},
        {},
        [],
        "accept",
        None,
        5,
    ],
    ids=repr,
)
def test_an_answer_that_does_not_fit_is_asked_for_again(unfit: object) -> None:
    client = Client(server_with(three), "act")
    client.send()
    client.send(inputResponses={"a": unfit})
    assert client.asked == ["a"]
    client.send(inputResponses={"a": YES})
    assert client.asked == ["b"]


def test_roots_and_text_are_held_to_their_form_too() -> None:
    def act(ctx: RequestContext) -> str:
        return str([root.uri for root in ctx.ask("roots", Roots())])

    client = Client(server_with(act), "act")
    client.send()
    for bad in ({"roots": "x"}, {"roots": [{"name": "x"}]}, {}):
        client.send(inputResponses={"roots": bad})
        assert client.asked == ["roots"]
    client.send(inputResponses={"roots": {"roots": [{"uri": "file:///a"}]}})
    assert texts(client.last) == "['file:///a']"


# ---- Handlers that get in the way -------------------------------------------------------------------------


def swallowing(ctx: RequestContext) -> str:
    try:
        return ctx.ask("a", Elicit("a?", Confirm)).action
    except BaseException:
        return "swallowed"


def replacing(ctx: RequestContext) -> str:
    try:
        return ctx.ask("a", Elicit("a?", Confirm)).action
    except BaseException:
        raise ValueError("something else") from None


def asking_on(ctx: RequestContext) -> str:
    try:
        return ctx.ask("a", Elicit("a?", Confirm)).action
    except BaseException:
        return ctx.ask("b", Elicit("b?", Confirm)).action


@pytest.mark.parametrize("handler", [swallowing, replacing])
def test_a_handler_that_catches_everything_still_ends_its_round(handler: Callable[..., str]) -> None:
    client = Client(server_with(handler), "act")
    client.send()
    assert client.asked == ["a"]
    client.send(inputResponses={"a": YES})
    assert texts(client.last) == "accept"


def test_a_handler_that_asks_on_after_catching_asks_both() -> None:
    client = Client(server_with(asking_on), "act")
    client.send()
    assert client.asked == ["a", "b"]
    client.send(inputResponses={"a": YES, "b": YES})
    assert texts(client.last) == "accept"


def test_an_ordinary_except_does_not_catch_the_end_of_a_round() -> None:
    cleaned: list[str] = []

    def act(ctx: RequestContext) -> str:
        try:
            return ctx.ask("a", Elicit("a?", Confirm)).action
        except Exception:
            return "caught"
        finally:
            cleaned.append("clean")

    client = Client(server_with(act), "act")
    client.send()
    assert client.asked == ["a"]
    client.send(inputResponses={"a": YES})
    assert texts(client.last) == "accept"
    assert cleaned == ["clean", "clean"]


def test_an_error_after_the_answers_is_an_error() -> None:
    def act(ctx: RequestContext) -> str:
        ctx.ask("a", Elicit("a?", Confirm))
        raise ValueError("afterwards")

    client = Client(server_with(act), "act")
    client.send()
    state = client.last["requestState"]
    params = {**client.call, "requestState": state, "inputResponses": {"a": YES}}
    assert refusal(client.server, "tools/call", params, capabilities=EVERYTHING).code == -32603


# ---- The size of what is carried --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "answered", "named"),
    [(5000, 1, "the value kept under 'big'"), (1, 5000, "the answer under 'a'")],
)
def test_a_state_that_grows_too_large_names_the_key(kept: int, answered: int, named: str) -> None:
    def act(ctx: RequestContext) -> str:
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        ctx.ask("a", Elicit("a?", text))
        ctx.once("big", lambda: "x" * kept)
        ctx.ask("b", Elicit("b?", Confirm))
        return "unreachable"

    server = server_with(act, settings=Settings(state_limit=4096))
    client = Client(server, "act")
    client.send()
    long = {"action": "accept", "content": {"text": "y" * answered}}
    params = {**client.call, "requestState": client.last["requestState"], "inputResponses": {"a": long}}
    error = refusal(server, "tools/call", params, capabilities=EVERYTHING)
    assert error.code == -32603
    assert named in error.message
    assert "4096" in error.message


def test_a_state_of_the_largest_size_still_goes() -> None:
    def act(ctx: RequestContext, size: int) -> str:
        ctx.once("big", lambda: "x" * size)
        return ctx.ask("a", Elicit("a?", Confirm)).action

    server = server_with(act, settings=Settings(state_limit=4096))
    lengths: list[int] = []
    # One size after the other, over the limit; each state is as long as the one before or a little longer.
    for size in range(2700, 3000):
        params = {"name": "act", "arguments": {"size": size}}
        found = answer(server, "tools/call", params, capabilities=EVERYTHING)
        if isinstance(found, ErrorResponse):
            assert found.error.code == -32603
            break
        assert found is not None
        lengths.append(len(found.result["requestState"]))
    assert 4093 <= lengths[-1] <= 4096
    assert lengths == sorted(lengths)
