"""``completion/complete``.

Spec: 2024-11-05..2026-07-28 server/utilities/completion
"""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypedDict

from .base import BaseMetadata, RequestParams, Result


class PromptReference(BaseMetadata):
    type: Literal["ref/prompt"]


class ResourceTemplateReference(TypedDict):
    """``uri`` is a URI or a template. Called ResourceReference until 2025-03-26."""

    type: Literal["ref/resource"]
    uri: str


class CompletionArgument(TypedDict):
    """The argument being typed. The name is ours."""

    name: str
    value: str


class CompletionContext(TypedDict):
    """The arguments already given. The name is ours. Since 2025-06-18."""

    arguments: NotRequired[Mapping[str, str]]


class CompleteRequestParams(RequestParams):
    ref: PromptReference | ResourceTemplateReference
    argument: CompletionArgument
    context: NotRequired[CompletionContext]  # since 2025-06-18


class Completion(TypedDict):
    """At most 100 values. The name is ours."""

    values: list[str]
    total: NotRequired[int]
    hasMore: NotRequired[bool]


class CompleteResult(Result):
    completion: Completion
