"""What a handler can ask of the client directly: the gates, and what goes over the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypedDict

import pytest

from mcpref import (
    Auth,
    ElicitAccepted,
    ElicitCancelled,
    ElicitDeclined,
    McpServer,
    NullContext,
    ProtocolError,
    RequestContext,
    Root,
    Sample,
)
from mcpref.errors import InvalidAnswer
from mcpref.testing import connect

from .support import EVERYTHING, LEGACY, MODERN, LocalContext, request, texts

MESSAGE = {"role": "user", "content": {"type": "text", "text": "Hi"}}
SAMPLE: dict[str, Any] = {"messages": [MESSAGE], "maxTokens": 10}
WRITTEN = {"role": "assistant", "content": {"type": "text", "text": "Hello"}, "model": "m"}
TOOL = {"name": "t", "inputSchema": {"type": "object"}}
FORM_SCHEMA = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
ELICITING = ["2025-06-18", "2025-11-25"]

Step = Callable[[RequestContext], object]


def sample(ctx: RequestContext) -> object:
    return ctx.sample(SAMPLE)


def form(ctx: RequestContext) -> object:
    return ctx.elicit("Sure?", FORM_SCHEMA)


def url(ctx: RequestContext) -> object:
    return ctx.elicit_url("Go", "https://example.com/x", "e1")


def roots(ctx: RequestContext) -> object:
    return ctx.list_roots()


STEPS = [sample, form, url, roots]


def sampling(**extra: Any) -> Step:
    return lambda ctx: ctx.sample({**SAMPLE, **extra})


def run(
    step: Step,
    version: str,
    capabilities: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
) -> tuple[object, list[tuple[str, dict[str, Any]]]]:
    """What a step in a tool comes to (an exception is returned), and what the client was asked."""
    server = McpServer("gates")
    outcome: list[object] = []

    @server.tool
    def act(ctx: RequestContext) -> None:
        try:
            outcome.append(step(ctx))
        except Exception as error:
            outcome.append(error)

    inner = LocalContext(version, capabilities, answers=answers)
    server.handle(request("tools/call", {"name": "act"}, version=version, capabilities=capabilities), inner)
    (only,) = outcome
    return only, inner.asked


def code(outcome: object) -> int:
    assert isinstance(outcome, ProtocolError), outcome
    return outcome.code


# ---- Gates ------------------------------------------------------------------------------------------------


@pytest.mark.parity(49)
@pytest.mark.req("2026-07-28:mrtr.only-path", "2026-07-28:base.server-no-requests")
@pytest.mark.parametrize("step", STEPS)
def test_a_modern_request_cannot_be_interrupted_by_a_question(step: Step) -> None:
    outcome, asked = run(step, MODERN, EVERYTHING)
    assert code(outcome) == -32603
    assert "ctx.ask" in str(outcome)
    assert asked == []


@pytest.mark.parity(50)
@pytest.mark.req(
    "2025-11-25:sampling.needs-cap",
    "2025-11-25:elicitation.no-unsupported-mode",
    "2025-11-25:lifecycle.operation-capabilities",
    "2025-11-25:lifecycle.error-capability",
)
@pytest.mark.parametrize("version", LEGACY)
@pytest.mark.parametrize("step", STEPS)
def test_a_client_that_did_not_declare_it_is_not_asked(version: str, step: Step) -> None:
    outcome, asked = run(step, version, {})
    assert code(outcome) == -32600
    assert asked == []


@pytest.mark.parity(51)
@pytest.mark.req("2025-11-25:sampling.tools-not-undeclared")
@pytest.mark.parametrize(
    ("extra", "needs"),
    [
        ({"tools": [TOOL]}, "tools"),
        ({"toolChoice": {"mode": "none"}}, "tools"),
        ({"includeContext": "thisServer"}, "context"),
        ({"includeContext": "allServers"}, "context"),
    ],
    ids=repr,
)
def test_the_extras_of_sampling_have_capabilities_of_their_own(extra: dict[str, Any], needs: str) -> None:
    step = sampling(**extra)
    outcome, asked = run(step, "2025-11-25", {"sampling": {}})
    assert (code(outcome), asked) == (-32600, [])
    answers = {"sampling/createMessage": WRITTEN}
    outcome, asked = run(step, "2025-11-25", {"sampling": {needs: {}}}, answers)
    assert asked == [("sampling/createMessage", {**SAMPLE, **extra})]


@pytest.mark.parity(51)
def test_no_context_needs_no_capability() -> None:
    step = sampling(includeContext="none")
    _, asked = run(step, "2025-11-25", {"sampling": {}}, {"sampling/createMessage": WRITTEN})
    assert len(asked) == 1


@pytest.mark.req("2025-11-25:sampling.tools-not-undeclared")
@pytest.mark.parametrize("version", LEGACY[:-1])
def test_sampling_with_tools_does_not_exist_in_older_revisions(version: str) -> None:
    step = sampling(tools=[TOOL])
    outcome, asked = run(step, version, EVERYTHING)
    assert (code(outcome), asked) == (-32600, [])


@pytest.mark.parity(52)
@pytest.mark.req("2025-11-25:elicitation.empty-is-form", "2025-11-25:elicitation.no-unsupported-mode")
@pytest.mark.parametrize(
    ("declared", "has_form", "has_url"),
    [
        ({}, True, False),
        ({"form": {}}, True, False),
        ({"url": {}}, False, True),
        ({"form": {}, "url": {}}, True, True),
    ],
    ids=repr,
)
def test_the_modes_of_elicitation(declared: dict[str, Any], has_form: bool, has_url: bool) -> None:
    answers = {"elicitation/create": {"action": "cancel"}}
    for step, allowed in ((form, has_form), (url, has_url)):
        outcome, asked = run(step, "2025-11-25", {"elicitation": declared}, answers)
        assert len(asked) == allowed
        assert isinstance(outcome, ElicitCancelled) is allowed
    outcome, _ = run(
        lambda ctx: (ctx.client_supports("elicitation.form"), ctx.client_supports("elicitation.url")),
        "2025-11-25",
        {"elicitation": declared},
    )
    assert outcome == (has_form, has_url)


@pytest.mark.parametrize(("version", "allowed"), [(v, v in ELICITING) for v in LEGACY])
def test_forms_exist_from_their_revision_on(version: str, allowed: bool) -> None:
    outcome, asked = run(form, version, EVERYTHING, {"elicitation/create": {"action": "decline"}})
    assert len(asked) == allowed
    if not allowed:
        assert code(outcome) == -32600


@pytest.mark.parametrize(("version", "allowed"), [(v, v == "2025-11-25") for v in LEGACY])
def test_urls_exist_in_their_revision_only(version: str, allowed: bool) -> None:
    _, asked = run(url, version, EVERYTHING, {"elicitation/create": {"action": "accept"}})
    assert len(asked) == allowed


# ---- What is sent -----------------------------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:elicitation.message-required",
    "2025-11-25:elicitation.mode-values",
    "2025-11-25:elicitation.form-params",
)
@pytest.mark.parametrize("version", ELICITING)
def test_a_form_is_sent_with_its_schema_and_no_mode(version: str) -> None:
    answer = {"action": "accept", "content": {"sure": True}}
    outcome, asked = run(form, version, EVERYTHING, {"elicitation/create": answer})
    assert asked == [("elicitation/create", {"message": "Sure?", "requestedSchema": FORM_SCHEMA})]
    assert outcome == ElicitAccepted({"sure": True})


@pytest.mark.parity(53)
@pytest.mark.req(
    "2025-11-25:elicitation.url-params",
    "2025-11-25:elicitation.mode-values",
    "2025-11-25:elicitation.accept-not-complete",
)
def test_a_url_is_sent_with_mode_and_id() -> None:
    outcome, asked = run(url, "2025-11-25", EVERYTHING, {"elicitation/create": {"action": "accept"}})
    assert asked == [
        (
            "elicitation/create",
            {"mode": "url", "message": "Go", "url": "https://example.com/x", "elicitationId": "e1"},
        )
    ]
    # Accepted says that the user went there, and so it has no content.
    assert outcome == ElicitAccepted(None)


@pytest.mark.parity(53)
@pytest.mark.req("2025-11-25:elicitation.url-valid", "elicitation.url-no-sensitive")
@pytest.mark.parametrize(
    ("target", "id"),
    [
        ("", "e1"),
        ("/relative", "e1"),
        ("example.com/x", "e1"),
        ("ftp://example.com", "e1"),
        ("javascript:alert(1)", "e1"),
        ("https://", "e1"),
        ("https://exa mple.com", "e1"),
        ("https://example.com/\n", "e1"),
        ("https://user:password@example.com", "e1"),
        ("https://user@example.com", "e1"),
        ("https://example.com", ""),
    ],
)
def test_a_bad_url_or_an_empty_id_is_refused(target: str, id: str) -> None:
    outcome, asked = run(lambda ctx: ctx.elicit_url("Go", target, id), "2025-11-25", EVERYTHING)
    assert (code(outcome), asked) == (-32602, [])


@pytest.mark.req("sampling.max-tokens-required")
@pytest.mark.parametrize("version", LEGACY)
def test_a_sampling_request_has_messages_and_a_limit(version: str) -> None:
    answers = {"sampling/createMessage": WRITTEN}
    outcome, asked = run(
        lambda ctx: ctx.sample(Sample("Hi", max_tokens=10)).text, version, EVERYTHING, answers
    )
    assert (outcome, asked) == ("Hello", [("sampling/createMessage", SAMPLE)])
    for missing in ("messages", "maxTokens"):
        broken = {name: value for name, value in SAMPLE.items() if name != missing}
        with pytest.raises(ValueError, match=missing):
            Sample.from_params(broken)


@pytest.mark.req("2025-11-25:sampling.tool-use-id")
def test_a_tool_result_must_answer_an_earlier_tool_use() -> None:
    use = {"type": "tool_use", "id": "u1", "name": "t", "input": {}}

    def conversation(answered: str) -> dict[str, Any]:
        found = {"type": "tool_result", "toolUseId": answered, "content": []}
        return {
            "messages": [
                MESSAGE,
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [found]},
            ],
            "maxTokens": 5,
            "tools": [TOOL],
        }

    answers = {"sampling/createMessage": WRITTEN}
    _, asked = run(lambda ctx: ctx.sample(conversation("u1")), "2025-11-25", EVERYTHING, answers)
    assert len(asked) == 1
    outcome, asked = run(lambda ctx: ctx.sample(conversation("other")), "2025-11-25", EVERYTHING, answers)
    assert isinstance(outcome, Exception)
    assert asked == []


@pytest.mark.parametrize("version", LEGACY)
def test_roots_are_read(version: str) -> None:
    answers = {"roots/list": {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}}
    outcome, asked = run(roots, version, {"roots": {}}, answers)
    assert outcome == [Root("file:///a", "A"), Root("file:///b")]
    assert asked == [("roots/list", {})]


@pytest.mark.parametrize(
    ("step", "answer"),
    [
        (roots, {"roots/list": {"roots": "none"}}),
        (roots, {"roots/list": []}),
        (sample, {"sampling/createMessage": {"model": "m"}}),
        (form, {"elicitation/create": {"action": "maybe"}}),
        (form, {"elicitation/create": {"action": "accept", "content": {"sure": "yes"}}}),
        (form, {"elicitation/create": {"action": "accept"}}),
    ],
    ids=lambda value: repr(value) if isinstance(value, dict) else "",
)
def test_an_answer_that_does_not_fit_is_not_let_through(step: Step, answer: dict[str, Any]) -> None:
    outcome, _ = run(step, "2025-11-25", EVERYTHING, answer)
    assert isinstance(outcome, InvalidAnswer)


@pytest.mark.req("elicitation.actions", "2026-07-28:elicitation.handle-decline")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"action": "decline"}, ElicitDeclined()),
        ({"action": "cancel"}, ElicitCancelled()),
        ({"action": "decline", "content": {"sure": True}}, ElicitDeclined()),
        ({"action": "accept", "content": {"sure": False}}, ElicitAccepted({"sure": False})),
    ],
    ids=repr,
)
def test_every_way_to_answer_a_form(answer: dict[str, Any], expected: object) -> None:
    outcome, _ = run(form, "2025-11-25", EVERYTHING, {"elicitation/create": answer})
    assert outcome == expected


# ---- Forms from types -------------------------------------------------------------------------------------


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Order:
    name: str
    copies: int = 1
    weight: float = 0.5
    gift: bool = False
    size: Size = Size.SMALL
    extras: list[Size] = field(default_factory=list)


@dataclass
class Nested:
    order: Order


class Listed(TypedDict):
    names: list[str]


@pytest.mark.parity(54)
@pytest.mark.req("elicitation.schema-flat", "2025-11-25:elicitation.schema-enums")
def test_a_type_becomes_a_flat_form_and_the_answer_becomes_the_type() -> None:
    answer = {"action": "accept", "content": {"name": "x", "copies": 2, "size": "l", "extras": ["s"]}}
    outcome, asked = run(
        lambda ctx: ctx.elicit("Order", Order), "2025-11-25", EVERYTHING, {"elicitation/create": answer}
    )
    assert outcome == ElicitAccepted(Order("x", 2, size=Size.LARGE, extras=[Size.SMALL]))
    schema = asked[0][1]["requestedSchema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["name"]
    kinds = {name: row["type"] for name, row in schema["properties"].items()}
    assert kinds == {
        "name": "string",
        "copies": "integer",
        "weight": "number",
        "gift": "boolean",
        "size": "string",
        "extras": "array",
    }
    assert schema["properties"]["size"]["enum"] == ["s", "l"]


@pytest.mark.parity(54)
@pytest.mark.req("elicitation.schema-flat", "elicitation.schema-formats")
@pytest.mark.parametrize(
    "shape",
    [
        Nested,
        Listed,
        {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "properties": {"a": {"type": "string", "format": "password"}}},
        {"type": "string"},
        [],
    ],
    ids=lambda shape: getattr(shape, "__name__", repr(shape)),
)
def test_what_no_form_can_show_is_refused(shape: Any) -> None:
    outcome, asked = run(lambda ctx: ctx.elicit("x", shape), "2025-11-25", EVERYTHING)
    assert isinstance(outcome, ValueError | TypeError)
    assert asked == []


# ---- Nowhere ----------------------------------------------------------------------------------------------


@pytest.mark.parity(59)
@pytest.mark.parametrize("step", STEPS)
def test_a_null_context_leads_nowhere(step: Step) -> None:
    ctx = NullContext()
    with pytest.raises(ProtocolError) as caught:
        step(ctx)
    assert caught.value.code == -32600
    assert not ctx.is_cancelled
    ctx.check_cancelled()
    assert ctx.wait(0) is False
    ctx.log("emergency", "dropped")
    ctx.report_progress(1)
    assert (ctx.state, ctx.auth, ctx.connection_token) == (None, None, "")


@pytest.mark.parity(60)
@pytest.mark.parametrize("version", [*LEGACY, MODERN])
def test_nobody_is_authenticated_on_stdio_or_in_process(version: str) -> None:
    server = McpServer("who")

    @server.tool
    def who(ctx: RequestContext) -> str:
        return repr(ctx.auth)

    with connect(server, version) as peer:
        assert texts(peer.call_tool("who")) == "None"
    assert NullContext().auth is None
    granted = Auth("ann", frozenset({"read"}), user=5)
    assert (granted.subject, granted.scopes, granted.user) == ("ann", frozenset({"read"}), 5)
