"""``tools/list`` and ``tools/call``.

Spec: 2024-11-05..2026-07-28 server/tools
"""

from typing import Literal, NotRequired, TypedDict

from .base import (
    BaseMetadata,
    CacheableResult,
    Icons,
    JSONObject,
    MetaObject,
    PaginatedResult,
    Result,
    TaskAugmentedRequestParams,
)
from .content import ContentBlock
from .inputs import InputResponseRequestParams


class ToolAnnotations(TypedDict):
    """Hints about what a tool does; from an untrusted server they prove nothing. Since 2025-03-26."""

    title: NotRequired[str]
    readOnlyHint: NotRequired[bool]
    destructiveHint: NotRequired[bool]
    idempotentHint: NotRequired[bool]
    openWorldHint: NotRequired[bool]


class ToolExecution(TypedDict):
    """Whether a call may be run as a task. 2025-11-25 only."""

    taskSupport: NotRequired[Literal["forbidden", "optional", "required"]]


class Tool(BaseMetadata, Icons):
    """A tool as a client and its model see it. The schemas in it are JSON Schema."""

    description: NotRequired[str]
    inputSchema: JSONObject
    outputSchema: NotRequired[JSONObject]  # since 2025-06-18; of type object until 2025-11-25
    execution: NotRequired[ToolExecution]  # 2025-11-25 only
    annotations: NotRequired[ToolAnnotations]  # since 2025-03-26
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ListToolsResult(PaginatedResult, CacheableResult):
    tools: list[Tool]


class CallToolRequestParams(InputResponseRequestParams, TaskAugmentedRequestParams):
    name: str
    arguments: NotRequired[JSONObject]


class CallToolResult(Result):
    """What a tool answered; ``isError`` marks a failure that the model should see."""

    content: list[ContentBlock]
    structuredContent: NotRequired[object]  # since 2025-06-18; an object until 2025-11-25
    isError: NotRequired[bool]
