"""``tools/list`` and ``tools/call``.

Spec: 2024-11-05..2026-07-28 server/tools
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidParams, LocalError, PeerError, RequestCancelled, ToolError
from ...jsonrpc import encode_json
from ..calling import InputNeeded, invoke
from ..responses import ToolResponse, as_blocks, is_content
from ..results import shape_blocks
from ..signature import InputError
from .params import check_scopes, optional_object, require_str

if TYPE_CHECKING:
    from ...versions import ProtocolVersion
    from ..catalog import Tool
    from ..core import McpServer
    from ..scope import RequestScope


def list_tools(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """The tools, in the order of their registration.

    Spec: 2026-07-28 server/tools#listing-tools
    """
    return server.list_page("tools", scope, params)


def call_tool(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool.

    Spec: 2026-07-28 server/tools#calling-tools
    """
    name = require_str(params, "name")
    arguments = optional_object(params, "arguments")
    tool = server.catalog.tools.get(name)
    if tool is None:
        # Spec: 2026-07-28 server/tools#error-handling an unknown tool is an error of the protocol
        raise InvalidParams(f"there is no tool {name[:128]!r}; tools/list names those there are")
    check_scopes(tool.scopes, scope, f"tool {name!r}")
    try:
        args, kwargs = tool.signature.bind(arguments, scope)
    except InputError as error:
        return _refused(name, error, scope.protocol_version)
    try:
        value = invoke(server, scope, tool.fn, args, kwargs, tool.signature.context)
    except Exception as error:
        return _failed(server, error)
    if isinstance(value, InputNeeded):
        return value
    return to_result(tool, value, scope.protocol_version)


def _refused(name: str, error: InputError, version: ProtocolVersion) -> dict[str, Any]:
    message = f"the arguments of {name} are not valid: {error}"
    # Spec: 2025-11-25..2026-07-28 server/tools#error-handling input errors are for the model to see and mend
    # Spec: 2024-11-05..2025-06-18 server/tools#error-handling invalid arguments are an error of the protocol
    if version.features.tool_input_errors:
        return error_result(message)
    raise InvalidParams(message)


def _failed(server: McpServer, error: Exception) -> dict[str, Any]:
    """What a tool raised: a message for the model, or an error of the protocol."""
    translated = server.failures.translate(error)
    if isinstance(translated, RequestCancelled) or not isinstance(
        translated, ToolError | LocalError | PeerError
    ):
        raise translated
    return error_result(str(translated))


def error_result(message: str) -> dict[str, Any]:
    """A result that tells the model what went wrong."""
    return {"content": [{"type": "text", "text": message}], "isError": True}


def to_result(tool: Tool, value: object, version: ProtocolVersion) -> dict[str, Any]:
    """What a tool returned, as a CallToolResult of the revision in effect."""
    if tool.check_output is None:
        if is_content(value) or value in ([], ()):
            return {"content": shape_blocks(as_blocks(value), version), "isError": False}
    elif value is not None and is_content(value):  # None is the null that the return type allows, or not
        raise TypeError(
            f"tool {tool.name!r} promises data by its return type or output_schema, and returned text or content"
        )
    if isinstance(value, ToolResponse):
        return _from_response(tool, value, version)
    structured = _checked(tool, tool.encode(value))
    # Spec: 2026-07-28 server/tools#structured-content SHOULD also be there as text, for older clients
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": encode_json(structured)}],
        "isError": False,
    }
    return _with_structured(result, structured, version)


def _from_response(tool: Tool, response: ToolResponse[Any], version: ProtocolVersion) -> dict[str, Any]:
    result: dict[str, Any] = {
        "content": shape_blocks(response.content, version),
        "isError": response.is_error,
    }
    if response.meta:
        result["_meta"] = response.meta
    if response.has_structured:
        structured = _checked(tool, tool.encode(response.structured))
        if not response.content:
            result["content"] = [{"type": "text", "text": encode_json(structured)}]
        return _with_structured(result, structured, version)
    if tool.check_output is not None and not response.is_error:
        raise TypeError(f"tool {tool.name!r} promises structured content and returned none")
    return result


def _checked(tool: Tool, structured: object) -> Any:
    # Spec: 2025-06-18..2026-07-28 server/tools#output-schema MUST conform
    problems = tool.check_output(structured) if tool.check_output is not None else ()
    if problems:
        raise TypeError(f"tool {tool.name!r} returned what its output schema does not allow: {problems[0]}")
    return structured


def _with_structured(result: dict[str, Any], structured: object, version: ProtocolVersion) -> dict[str, Any]:
    # Spec: 2025-06-18..2025-11-25 server/tools#structured-content a JSON object; any value since
    if version.features.structured_any or (
        version.features.structured_content and isinstance(structured, dict)
    ):
        result["structuredContent"] = structured
    return result
