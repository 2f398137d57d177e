"""``prompts/list`` and ``prompts/get``.

Spec: 2024-11-05..2026-07-28 server/prompts
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidParams
from ..calling import InputNeeded, invoke
from ..responses import as_messages
from ..results import needs_shaping, shape_content
from ..signature import InputError
from .params import check_scopes, optional_object, require_str

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope


def list_prompts(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """The prompts, in the order of their registration.

    Spec: 2026-07-28 server/prompts#listing-prompts
    """
    return server.list_page("prompts", scope, params)


def get_prompt(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """The messages of a prompt.

    Spec: 2026-07-28 server/prompts#getting-a-prompt
    """
    name = require_str(params, "name")
    arguments = optional_object(params, "arguments")
    for key, value in arguments.items():
        if type(value) is not str:
            raise InvalidParams(f"params.arguments.{key} must be a string")
    prompt = server.catalog.prompts.get(name)
    if prompt is None:
        raise InvalidParams(f"there is no prompt {name[:128]!r}; prompts/list names those there are")
    check_scopes(prompt.scopes, scope, f"prompt {name!r}")
    try:
        args, kwargs = prompt.signature.bind(arguments, scope)
    except InputError as error:
        raise InvalidParams(f"the arguments of {name} are not valid: {error}") from None
    value = invoke(server, scope, prompt.fn, args, kwargs, prompt.signature.context)
    if isinstance(value, InputNeeded):
        return value
    messages = as_messages(value)
    version = scope.protocol_version
    if needs_shaping(version):
        messages = [
            {**message, "content": shape_content(message["content"], version)} for message in messages
        ]
    result: dict[str, Any] = {"messages": messages}
    if "description" in prompt.definition:
        result["description"] = prompt.definition["description"]
    return result
