"""``prompts/list`` and ``prompts/get``.

Spec: 2024-11-05..2026-07-28 server/prompts
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

from .base import BaseMetadata, CacheableResult, Icons, MetaObject, PaginatedResult, Result, Role
from .content import ContentBlock
from .inputs import InputResponseRequestParams


class PromptArgument(BaseMetadata):
    description: NotRequired[str]
    required: NotRequired[bool]


class Prompt(BaseMetadata, Icons):
    """A prompt that a user may choose."""

    description: NotRequired[str]
    arguments: NotRequired[list[PromptArgument]]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ListPromptsResult(PaginatedResult, CacheableResult):
    prompts: list[Prompt]


class GetPromptRequestParams(InputResponseRequestParams):
    name: str
    arguments: NotRequired[Mapping[str, str]]


class PromptMessage(TypedDict):
    role: Role
    content: ContentBlock


class GetPromptResult(Result):
    description: NotRequired[str]
    messages: list[PromptMessage]
