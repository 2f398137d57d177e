"""``resources/list``, ``resources/templates/list``, ``resources/read`` and the old subscriptions.

`Resource` and its contents are defined in content.py, because content blocks include them.

Spec: 2024-11-05..2026-07-28 server/resources
"""

from typing import NotRequired

from .base import (
    Annotations,
    BaseMetadata,
    CacheableResult,
    Icons,
    MetaObject,
    NotificationParams,
    PaginatedResult,
    RequestParams,
)
from .content import BlobResourceContents as BlobResourceContents
from .content import Resource as Resource
from .content import ResourceContents as ResourceContents
from .content import TextResourceContents as TextResourceContents
from .inputs import InputResponseRequestParams


class ListResourcesResult(PaginatedResult, CacheableResult):
    resources: list[Resource]


class ResourceTemplate(BaseMetadata, Icons):
    """A family of resources, by a URI template (RFC 6570)."""

    uriTemplate: str
    description: NotRequired[str]
    mimeType: NotRequired[str]
    annotations: NotRequired[Annotations]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ListResourceTemplatesResult(PaginatedResult, CacheableResult):
    resourceTemplates: list[ResourceTemplate]


class ResourceRequestParams(RequestParams):
    """Base of the params that name one resource. Since 2025-11-25."""

    uri: str


class ReadResourceRequestParams(ResourceRequestParams, InputResponseRequestParams):
    pass


class ReadResourceResult(CacheableResult):
    contents: list[TextResourceContents | BlobResourceContents]


class SubscribeRequestParams(ResourceRequestParams):
    """Until 2025-11-25."""


class UnsubscribeRequestParams(ResourceRequestParams):
    """Until 2025-11-25."""


class ResourceUpdatedNotificationParams(NotificationParams):
    """``uri`` may be a part of the resource that the client subscribed to."""

    uri: str
