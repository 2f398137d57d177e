"""``sampling/createMessage``: the server asks the client's model.

Spec: 2024-11-05..2026-07-28 client/sampling
"""

from typing import Literal, NotRequired, TypedDict

from .base import JSONObject, MetaObject, RequestMetaObject, Role, TaskMetadata
from .content import SamplingMessageContentBlock
from .tools import Tool


class ModelHint(TypedDict):
    """``name`` may be a part of a model's name."""

    name: NotRequired[str]


class ModelPreferences(TypedDict):
    """Priorities from 0 to 1; the client decides."""

    hints: NotRequired[list[ModelHint]]
    costPriority: NotRequired[float]
    speedPriority: NotRequired[float]
    intelligencePriority: NotRequired[float]


class SamplingMessage(TypedDict):
    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]  # lists since 2025-11-25
    _meta: NotRequired[MetaObject]  # since 2025-11-25


class ToolChoice(TypedDict):
    """Whether the model may, must or must not use a tool. Since 2025-11-25."""

    mode: NotRequired[Literal["auto", "required", "none"]]


class CreateMessageRequestParams(TypedDict):
    _meta: NotRequired[RequestMetaObject]  # until 2025-11-25
    task: NotRequired[TaskMetadata]  # 2025-11-25 only
    messages: list[SamplingMessage]
    modelPreferences: NotRequired[ModelPreferences]
    systemPrompt: NotRequired[str]
    includeContext: NotRequired[Literal["none", "thisServer", "allServers"]]
    temperature: NotRequired[float]
    maxTokens: int
    stopSequences: NotRequired[list[str]]
    metadata: NotRequired[JSONObject]
    tools: NotRequired[list[Tool]]  # since 2025-11-25
    toolChoice: NotRequired[ToolChoice]  # since 2025-11-25


class CreateMessageRequest(TypedDict):
    """As it stands in ``inputRequests``; until 2025-11-25 it is a JSON-RPC request of its own."""

    method: Literal["sampling/createMessage"]
    params: CreateMessageRequestParams


class CreateMessageResult(TypedDict):
    """What the model wrote. Not a `Result` since 2026-07-28: it travels inside params."""

    role: Role
    content: SamplingMessageContentBlock | list[SamplingMessageContentBlock]  # lists since 2025-11-25
    model: str
    stopReason: NotRequired[str]  # endTurn, stopSequence, maxTokens, toolUse or the provider's own
    _meta: NotRequired[MetaObject]
