"""What makes a sampling request well-formed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.sampling_rules import check_sampling_messages, check_sampling_params

TEXT = {"type": "text", "text": "hello"}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "get_weather", "input": {"city": "Paris"}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "toolUseId": id, "content": [TEXT]}


MESSAGES = [user(TEXT)]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": TEXT}],
        [user(TEXT, TEXT), assistant(TEXT), user(TEXT)],
        [user({"type": "image", "data": "aGk=", "mimeType": "image/png"})],
        [user({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"})],
        [user(TEXT), {"role": "assistant", "content": use("1")}, {"role": "user", "content": result("1")}],
        [user(TEXT), assistant(TEXT, use("1"), use("2")), user(result("2"), result("1")), assistant(TEXT)],
        [assistant(use("1")), user(result("1")), assistant(use("1")), user(result("1"))],
    ],
)
def test_well_formed_messages_pass(messages: list[Any]) -> None:
    check_sampling_messages(messages)


@pytest.mark.req(
    "2025-11-25:sampling.roles", "2026-07-28:sampling.message-shape", "sampling.validate-content"
)
@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ("text", "must be an array"),
        (["text"], r"messages\[0\] must be an object"),
        ([{"content": TEXT}], "role must be"),
        ([{"role": "system", "content": TEXT}], "role must be"),
        ([{"role": ["user"], "content": TEXT}], "role must be"),
        ([{"role": "user"}], "content must be"),
        ([{"role": "user", "content": "hello"}], "content must be"),
        ([user("hello")], "content must be"),
        ([user({"type": "video"})], "type must be one of text, image"),
        ([user({"type": ["text"]})], "type must be one of"),
        ([user({"type": "text"})], "needs 'text', a string"),
        ([user({"type": "text", "text": 5})], "needs 'text', a string"),
        ([user({"type": "image", "data": "aGk="})], "needs 'mimeType'"),
        ([assistant({"type": "tool_use", "id": "1", "name": "x"})], "needs 'input', an object"),
        ([user({"type": "tool_result", "toolUseId": "1"})], "needs 'content', an array"),
        ([user(use("1")), user(result("1"))], "role must be 'assistant'"),
        ([assistant(use("1")), assistant(result("1"))], "role must be 'user'"),
        ([assistant(use("1"), use("1")), user(result("1"))], "an id of its own"),
    ],
)
def test_malformed_messages_are_refused(messages: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check_sampling_messages(messages)


@pytest.mark.req("2025-11-25:sampling.tool-result-only", "2026-07-28:sampling.tool-results-alone")
@pytest.mark.parametrize("blocks", [(TEXT, result("1")), (result("1"), TEXT)])
def test_tool_results_stand_alone(blocks: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"messages\[1\]: tool results must stand alone"):
        check_sampling_messages([assistant(use("1")), user(*blocks)])


@pytest.mark.req(
    "2025-11-25:sampling.tool-balance",
    "2026-07-28:sampling.tool-use-balanced",
    "2026-07-28:sampling.tool-result-id",
)
@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([assistant(use("1"))], "last message has tool uses without results: '1'"),
        ([assistant(use("1")), user(TEXT)], "missing for these tool uses: '1'"),
        ([assistant(use("1")), assistant(TEXT), user(result("1"))], "missing for these tool uses: '1'"),
        ([assistant(use("1"), use("2")), user(result("1"))], "missing for these tool uses: '2'"),
        (
            [assistant(use("1"), use("2")), user(result("1")), user(result("2"))],
            "missing for these tool uses: '2'",
        ),
        (
            [assistant(use("1")), user(result("1"), result("2"))],
            "no tool use of the message before has these ids: '2'",
        ),
        ([user(result("1"))], "no tool use of the message before has these ids: '1'"),
        ([assistant(use("1")), user(result("1")), user(result("1"))], "no tool use of the message before"),
        ([assistant(use("1")), user(result("1"), result("1"))], "more than one result"),
    ],
)
def test_every_tool_use_is_answered_by_the_next_message(messages: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check_sampling_messages(messages)


@given(st.lists(st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=4), max_size=5), st.randoms())
def test_any_balanced_history_passes_and_losing_a_result_breaks_it(
    turns: list[list[str]], random: Any
) -> None:
    messages = [user(TEXT)]
    for ids in turns:
        answered = list(ids)
        random.shuffle(answered)
        messages += [assistant(*map(use, ids)), user(*map(result, answered))]
    check_sampling_messages(messages)
    for index in range(2, len(messages), 2):
        broken = list(messages)
        broken[index] = user(*messages[index]["content"][1:])
        with pytest.raises(ValueError, match="missing for these tool uses"):
            check_sampling_messages(broken)


def test_whole_parameters_pass() -> None:
    check_sampling_params(
        {
            "messages": MESSAGES,
            "maxTokens": 1,
            "modelPreferences": {"hints": [{"name": "sonnet"}, {}], "costPriority": 0, "speedPriority": 1.0},
            "systemPrompt": "Be kind.",
            "includeContext": "none",
            "temperature": 0.5,
            "stopSequences": ["."],
            "metadata": {},
            "tools": [{"name": "x", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "required"},
            "_meta": {"com.example/x": 1},
        }
    )


@pytest.mark.req("2026-07-28:sampling.max-tokens-required")
@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ([], "must be an object"),
        ({"maxTokens": 1}, "needs 'messages'"),
        ({"messages": MESSAGES}, "needs 'maxTokens'"),
        *[
            ({"messages": MESSAGES, "maxTokens": value}, "needs 'maxTokens'")
            for value in (0, -1, True, 1.5, "9", None)
        ],
    ],
)
def test_messages_and_max_tokens_are_needed(params: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        check_sampling_params(params)


@pytest.mark.req("sampling.priorities-range")
@pytest.mark.parametrize("name", ["costPriority", "speedPriority", "intelligencePriority"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, "1", True, None])
def test_priorities_lie_between_0_and_1(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"modelPreferences.{name}"):
        check_sampling_params({"messages": MESSAGES, "maxTokens": 1, "modelPreferences": {name: value}})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("modelPreferences", []),
        ("modelPreferences", {"hints": "sonnet"}),
        ("modelPreferences", {"hints": 5}),
        ("modelPreferences", {"hints": [{"name": 5}]}),
        ("modelPreferences", {"hints": ["sonnet"]}),
        ("systemPrompt", 5),
        ("includeContext", "everything"),
        ("temperature", "hot"),
        ("temperature", True),
        ("stopSequences", "."),
        ("stopSequences", [5]),
        ("metadata", []),
        ("tools", {}),
        ("tools", [{}]),
        ("tools", [{"name": "x"}]),
        ("tools", [{"name": 5, "inputSchema": {}}]),
        ("tools", ["x"]),
        ("toolChoice", "auto"),
        ("toolChoice", {"mode": "maybe"}),
    ],
)
def test_other_parameters_are_checked(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        check_sampling_params({"messages": MESSAGES, "maxTokens": 1, name: value})
