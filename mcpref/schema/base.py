"""What the other pages build on: JSON values, ``_meta``, params and results, capabilities, icons.

Knows nothing of any one feature. `Error` is the wire's error object; the exceptions are in `mcpref.errors`.

Spec: 2024-11-05..2026-07-28 basic/index
Spec: 2025-06-18..2026-07-28 schema#common-types
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypeAlias, TypedDict

# The values are `object`, not a recursive type: a TypedDict passes as Mapping[str, object] and as no other.
JSONObject: TypeAlias = Mapping[str, object]
JSONArray: TypeAlias = Sequence[object]
JSONValue: TypeAlias = str | int | float | bool | JSONObject | JSONArray | None

RequestId: TypeAlias = str | int
ProgressToken: TypeAlias = str | int
Cursor: TypeAlias = str
Role: TypeAlias = Literal["user", "assistant"]
LoggingLevel: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]

#: ``complete`` or ``input_required``; an extension may define others. Absent means ``complete``.
ResultType: TypeAlias = str


class Icon(TypedDict):
    """A picture to show beside a name. Since 2025-11-25."""

    src: str
    mimeType: NotRequired[str]
    sizes: NotRequired[list[str]]
    theme: NotRequired[Literal["light", "dark"]]


class Icons(TypedDict):
    """Base of what has icons. Since 2025-11-25."""

    icons: NotRequired[list[Icon]]  # since 2025-11-25


class BaseMetadata(TypedDict):
    """Base of what has a name for programs and a title for people. Since 2025-06-18."""

    name: str
    title: NotRequired[str]  # since 2025-06-18


class Implementation(BaseMetadata, Icons):
    """Name and version of a client or server; self-reported, so never a ground for trust."""

    version: str
    description: NotRequired[str]  # since 2025-11-25
    websiteUrl: NotRequired[str]  # since 2025-11-25


class Annotations(TypedDict):
    """Hints for the client about a resource or a content block."""

    audience: NotRequired[list[Role]]
    priority: NotRequired[float]
    lastModified: NotRequired[str]  # since 2025-06-18


# Capabilities. The schema writes the inner objects in place; the names ending in Capability are ours.


class RootsCapability(TypedDict):
    listChanged: NotRequired[bool]  # until 2025-11-25


class SamplingCapability(TypedDict):
    context: NotRequired[JSONObject]  # since 2025-11-25
    tools: NotRequired[JSONObject]  # since 2025-11-25


class ElicitationCapability(TypedDict):
    """An empty object means ``form``. Since 2025-06-18."""

    form: NotRequired[JSONObject]  # since 2025-11-25
    url: NotRequired[JSONObject]  # since 2025-11-25


class TasksCapability(TypedDict):
    """``requests`` names what may be run as a task: ``{"tools": {"call": {}}}``. 2025-11-25 only."""

    list: NotRequired[JSONObject]
    cancel: NotRequired[JSONObject]
    requests: NotRequired[Mapping[str, Mapping[str, JSONObject]]]


class ClientCapabilities(TypedDict):
    """What a client can do for a server; a member that is absent is not supported."""

    experimental: NotRequired[Mapping[str, JSONObject]]
    roots: NotRequired[RootsCapability]
    sampling: NotRequired[SamplingCapability]
    elicitation: NotRequired[ElicitationCapability]  # since 2025-06-18
    tasks: NotRequired[TasksCapability]  # 2025-11-25 only
    extensions: NotRequired[Mapping[str, JSONObject]]  # since 2026-07-28


class ListChangedCapability(TypedDict):
    listChanged: NotRequired[bool]


class ResourcesCapability(TypedDict):
    subscribe: NotRequired[bool]
    listChanged: NotRequired[bool]


class ServerCapabilities(TypedDict):
    """What a server offers; a member that is absent is not supported."""

    experimental: NotRequired[Mapping[str, JSONObject]]
    logging: NotRequired[JSONObject]
    completions: NotRequired[JSONObject]  # since 2025-03-26
    prompts: NotRequired[ListChangedCapability]
    resources: NotRequired[ResourcesCapability]
    tools: NotRequired[ListChangedCapability]
    tasks: NotRequired[TasksCapability]  # 2025-11-25 only
    extensions: NotRequired[Mapping[str, JSONObject]]  # since 2026-07-28


# `_meta`. Every one of these objects may have further keys.
# Spec: 2026-07-28 basic/index#meta

MetaObject: TypeAlias = Mapping[str, object]

RequestMetaObject = TypedDict(
    "RequestMetaObject",
    {
        "progressToken": NotRequired[ProgressToken],
        "io.modelcontextprotocol/protocolVersion": NotRequired[str],  # since 2026-07-28, required
        "io.modelcontextprotocol/clientInfo": NotRequired[Implementation],  # since 2026-07-28
        "io.modelcontextprotocol/clientCapabilities": NotRequired[
            ClientCapabilities
        ],  # since 2026-07-28, required
        "io.modelcontextprotocol/logLevel": NotRequired[LoggingLevel],  # since 2026-07-28
    },
)
"""The ``_meta`` of a request."""

NotificationMetaObject = TypedDict(
    "NotificationMetaObject",
    {"io.modelcontextprotocol/subscriptionId": NotRequired[RequestId]},
)
"""The ``_meta`` of a notification; the id is there if it came on a listen stream. Since 2026-07-28."""

ResultMetaObject = TypedDict(
    "ResultMetaObject",
    {"io.modelcontextprotocol/serverInfo": NotRequired[Implementation]},
)
"""The ``_meta`` of a result. Since 2026-07-28."""


# Params and results


class RequestParams(TypedDict):
    """Base of the params of a request."""

    _meta: NotRequired[RequestMetaObject]  # required since 2026-07-28


class TaskMetadata(TypedDict):
    """Asks that a request be run as a task. 2025-11-25 only."""

    ttl: NotRequired[int]


class TaskAugmentedRequestParams(RequestParams):
    """Base of the params of a request that may be run as a task. 2025-11-25 only."""

    task: NotRequired[TaskMetadata]  # 2025-11-25 only


class NotificationParams(TypedDict):
    """Base of the params of a notification."""

    _meta: NotRequired[NotificationMetaObject]


class Result(TypedDict):
    """Base of the results; a result may have further members."""

    _meta: NotRequired[ResultMetaObject]
    resultType: NotRequired[ResultType]  # since 2026-07-28, required


EmptyResult: TypeAlias = Result


class Error(TypedDict):
    """The ``error`` member of an error response."""

    code: int
    message: str
    data: NotRequired[object]


# Spec: 2024-11-05..2026-07-28 server/utilities/pagination


class PaginatedRequestParams(RequestParams):
    """Base of the params of a list request; also their whole content."""

    cursor: NotRequired[Cursor]


class PaginatedResult(Result):
    """Base of the result of a list request; without ``nextCursor`` it is the last page."""

    nextCursor: NotRequired[Cursor]


# Spec: 2026-07-28 server/utilities/caching#cacheable-model


class CacheableResult(Result):
    """Base of a result that says how long, and for whom, it may be kept. Since 2026-07-28."""

    ttlMs: NotRequired[int]  # since 2026-07-28, required
    cacheScope: NotRequired[Literal["public", "private"]]  # since 2026-07-28, required
