"""What makes the parameters of ``sampling/createMessage`` well-formed.

The server checks what it is about to send, the client what it received: the same functions, so the two
agree. Knows neither how the request travels nor which capabilities the client declared (`mrtr` does).

Pure: no thread, socket or clock. Everything here returns None or raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_ROLES = ("user", "assistant")
_INCLUDE_CONTEXT = ("none", "thisServer", "allServers")
_TOOL_CHOICE_MODES = ("auto", "required", "none")
_PRIORITIES = ("costPriority", "speedPriority", "intelligencePriority")

#: The members that each kind of content block must have, with the type of each.
_BLOCK_MEMBERS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"toolUseId": str, "content": list},
}
_TYPE_NAMES: Mapping[type, str] = {str: "a string", dict: "an object", list: "an array"}


def check_sampling_params(params: Mapping[str, Any]) -> None:
    """Check a whole set of parameters; the message of the `ValueError` names the member that is wrong.

    Spec: 2025-11-25 client/sampling#creating-messages
    Spec: 2026-07-28 client/sampling#sampling-parameters MUST have messages and maxTokens
    """
    if not isinstance(params, Mapping):
        raise ValueError("the parameters of a sampling request must be an object")
    if "messages" not in params:
        raise ValueError("a sampling request needs 'messages'")
    check_sampling_messages(params["messages"])
    max_tokens = params.get("maxTokens")
    if type(max_tokens) is not int or max_tokens < 1:
        raise ValueError("a sampling request needs 'maxTokens', a whole number of at least 1")
    for name, check in _OPTIONAL_PARAMS.items():
        if name in params:
            check(name, params[name])


def check_sampling_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Check each message, and that every tool use is answered by the message right after it.

    Spec: 2025-11-25 client/sampling#message-content-constraints
    Spec: 2026-07-28 client/sampling#tool-use-and-result-balance MUST follow a message with tool uses by
    one of tool results alone, with one result for each use
    """
    if not isinstance(messages, list | tuple):
        raise ValueError("'messages' must be an array")
    open_uses: list[str] = []
    for index, message in enumerate(messages):
        where = f"messages[{index}]"
        uses, results = _check_message(where, message)
        if open_uses or results:
            _check_balance(where, open_uses, results)
        open_uses = uses
    if open_uses:
        raise ValueError(f"the last message has tool uses without results: {_names(open_uses)}")


def _check_message(where: str, message: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Check one message by itself; gives the ids of its tool uses and of its tool results."""
    if not isinstance(message, Mapping):
        raise ValueError(f"{where} must be an object")
    role = message.get("role")
    if role not in _ROLES:
        raise ValueError(f"{where}.role must be 'user' or 'assistant'")
    content = message.get("content")
    blocks: Sequence[Any] = content if isinstance(content, list | tuple) else [content]
    for block in blocks:
        _check_block(where, block)
    uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["toolUseId"] for block in blocks if block["type"] == "tool_result"]
    # Spec: 2026-07-28 client/sampling#message-roles
    if uses and role != "assistant":
        raise ValueError(f"{where}: a tool use comes from the model, so its role must be 'assistant'")
    if results and role != "user":
        raise ValueError(f"{where}: a tool result goes to the model, so its role must be 'user'")
    # Spec: 2026-07-28 client/sampling#tool-result-messages MUST hold nothing but tool results
    if results and len(results) != len(blocks):
        raise ValueError(f"{where}: tool results must stand alone; put other content in a message of its own")
    if len(set(uses)) != len(uses):
        raise ValueError(f"{where}: each tool use needs an id of its own")
    return uses, results


def _check_block(where: str, block: object) -> None:
    if not isinstance(block, Mapping):
        raise ValueError(f"{where}.content must be a content block or an array of them")
    kind = block.get("type")
    members = _BLOCK_MEMBERS.get(kind) if isinstance(kind, str) else None
    if members is None:
        raise ValueError(f"{where}: a content block's type must be one of {', '.join(_BLOCK_MEMBERS)}")
    for name, expected in members.items():
        if not isinstance(block.get(name), expected):
            raise ValueError(f"{where}: a {kind} block needs '{name}', {_TYPE_NAMES[expected]}")


def _check_balance(where: str, uses: list[str], results: list[str]) -> None:
    # Spec: 2025-11-25..2026-07-28 schema#toolresultcontent MUST name the id of an earlier tool use
    missing = set(uses).difference(results)
    if missing:
        raise ValueError(f"{where}: results are missing for these tool uses: {_names(missing)}")
    unknown = set(results).difference(uses)
    if unknown:
        raise ValueError(f"{where}: no tool use of the message before has these ids: {_names(unknown)}")
    if len(set(results)) != len(results):
        raise ValueError(f"{where}: a tool use has more than one result")


def _names(ids: Iterable[str]) -> str:
    # A peer's own words: a few of them, cut short, are enough to find the mistake.
    some = sorted(ids)[:5]
    return ", ".join(repr(name[:64]) for name in some)


def _check_string(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"'{name}' must be a string")


def _check_object(name: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"'{name}' must be an object")


def _check_number(name: str, value: object) -> None:
    if type(value) not in (int, float):
        raise ValueError(f"'{name}' must be a number")


def _check_strings(name: str, value: object) -> None:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"'{name}' must be an array of strings")


def _check_preferences(name: str, value: Mapping[str, Any]) -> None:
    # Spec: 2025-11-25..2026-07-28 client/sampling#capability-priorities
    _check_object(name, value)
    for key in _PRIORITIES:
        # Written so that NaN fails too.
        if key in value and (type(value[key]) not in (int, float) or not 0 <= value[key] <= 1):
            raise ValueError(f"'{name}.{key}' must be a number from 0 to 1")
    hints = value.get("hints", [])
    if not isinstance(hints, list | tuple):
        raise ValueError(f"'{name}.hints' must be an array")
    for hint in hints:
        if not isinstance(hint, Mapping) or not isinstance(hint.get("name", ""), str):
            raise ValueError(f"'{name}.hints' must hold objects with a string 'name'")


def _check_include_context(name: str, value: object) -> None:
    if value not in _INCLUDE_CONTEXT:
        raise ValueError(f"'{name}' must be one of {', '.join(_INCLUDE_CONTEXT)}")


def _check_tools(name: str, value: object) -> None:
    if not isinstance(value, list | tuple):
        raise ValueError(f"'{name}' must be an array of tools")
    for tool in value:
        if (
            not isinstance(tool, Mapping)
            or not isinstance(tool.get("name"), str)
            or not isinstance(tool.get("inputSchema"), Mapping)
        ):
            raise ValueError(f"each entry of '{name}' needs a 'name' and an 'inputSchema'")


def _check_tool_choice(name: str, value: Mapping[str, Any]) -> None:
    # Spec: 2025-11-25..2026-07-28 client/sampling#tool-choice-modes
    _check_object(name, value)
    if value.get("mode", "auto") not in _TOOL_CHOICE_MODES:
        raise ValueError(f"'{name}.mode' must be one of {', '.join(_TOOL_CHOICE_MODES)}")


_OPTIONAL_PARAMS: Mapping[str, Callable[[str, Any], None]] = {
    "modelPreferences": _check_preferences,
    "systemPrompt": _check_string,
    "includeContext": _check_include_context,
    "temperature": _check_number,
    "stopSequences": _check_strings,
    "metadata": _check_object,
    "tools": _check_tools,
    "toolChoice": _check_tool_choice,
}
