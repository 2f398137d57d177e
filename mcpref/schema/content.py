"""Content blocks, and the contents of resources that stand in them.

Used by tools, prompts and sampling alike; knows none of them.

Spec: 2025-06-18..2026-07-28 schema#content
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from .base import Annotations, BaseMetadata, Icons, JSONObject, MetaObject


class ResourceContents(TypedDict):
    """Base of the contents of a resource or of a part of one."""

    uri: str
    mimeType: NotRequired[str]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class TextResourceContents(ResourceContents):
    text: str


class BlobResourceContents(ResourceContents):
    """``blob`` is Base64."""

    blob: str


class Resource(BaseMetadata, Icons):
    """A resource that can be read. It stands here, not in resources.py, because a link to one is content."""

    uri: str
    description: NotRequired[str]
    mimeType: NotRequired[str]
    annotations: NotRequired[Annotations]
    size: NotRequired[int]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ResourceLink(Resource):
    """A resource named, not included; it need not be on the server's list. Since 2025-06-18."""

    type: Literal["resource_link"]


class EmbeddedResource(TypedDict):
    """A resource's contents inside a prompt or a tool's result."""

    type: Literal["resource"]
    resource: TextResourceContents | BlobResourceContents
    annotations: NotRequired[Annotations]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class TextContent(TypedDict):
    type: Literal["text"]
    text: str
    annotations: NotRequired[Annotations]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ImageContent(TypedDict):
    """``data`` is Base64."""

    type: Literal["image"]
    data: str
    mimeType: str
    annotations: NotRequired[Annotations]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class AudioContent(TypedDict):
    """``data`` is Base64. Since 2025-03-26."""

    type: Literal["audio"]
    data: str
    mimeType: str
    annotations: NotRequired[Annotations]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


#: Which of them a revision has: `mcpref.versions.CONTENT_TYPES`.
ContentBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ToolUseContent(TypedDict):
    """In sampling: the model wants a tool called. Since 2025-11-25."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: JSONObject
    _meta: NotRequired[MetaObject]


class ToolResultContent(TypedDict):
    """In sampling: what the tool answered. Since 2025-11-25."""

    type: Literal["tool_result"]
    toolUseId: str
    content: list[ContentBlock]
    structuredContent: NotRequired[object]  # an object until 2025-11-25
    isError: NotRequired[bool]
    _meta: NotRequired[MetaObject]


SamplingMessageContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)
