"""``subscriptions/listen``, and the notifications that go with a running request: progress and cancellation.

Spec: 2026-07-28 basic/patterns/subscriptions
Spec: 2024-11-05..2025-11-25 basic/utilities/cancellation
Spec: 2024-11-05..2025-11-25 basic/utilities/progress
"""

from typing import NotRequired, TypedDict

from .base import (
    Implementation,
    NotificationParams,
    ProgressToken,
    RequestId,
    RequestParams,
    ResultType,
)


class CancelledNotificationParams(NotificationParams):
    requestId: NotRequired[RequestId]  # required, optional in 2025-11-25
    reason: NotRequired[str]


class ProgressNotificationParams(NotificationParams):
    progressToken: ProgressToken
    progress: float
    total: NotRequired[float]
    message: NotRequired[str]  # since 2025-03-26


class SubscriptionFilter(TypedDict):
    """What a client wants to hear of, and what a server agreed to send. Since 2026-07-28."""

    toolsListChanged: NotRequired[bool]
    promptsListChanged: NotRequired[bool]
    resourcesListChanged: NotRequired[bool]
    resourceSubscriptions: NotRequired[list[str]]


class SubscriptionsListenRequestParams(RequestParams):
    """Since 2026-07-28."""

    notifications: SubscriptionFilter


SubscriptionsListenResultMetaObject = TypedDict(
    "SubscriptionsListenResultMetaObject",
    {
        "io.modelcontextprotocol/serverInfo": NotRequired[Implementation],
        "io.modelcontextprotocol/subscriptionId": RequestId,
    },
)
"""The ``_meta`` of the result that ends a stream. Since 2026-07-28."""


class SubscriptionsListenResult(TypedDict):
    """Sent only when the server ends the stream in good order. Since 2026-07-28."""

    _meta: SubscriptionsListenResultMetaObject
    resultType: ResultType


class SubscriptionsAcknowledgedNotificationParams(NotificationParams):
    """The first message of a stream: the part of the filter that the server honours. Since 2026-07-28."""

    notifications: SubscriptionFilter
