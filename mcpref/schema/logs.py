"""``logging/setLevel`` and ``notifications/message``. (`logging` is the standard library's name.)

Spec: 2024-11-05..2026-07-28 server/utilities/logging
"""

from typing import NotRequired

from .base import LoggingLevel as LoggingLevel
from .base import NotificationParams, RequestParams


class SetLevelRequestParams(RequestParams):
    """Later the level stands in each request's ``_meta``. Until 2025-11-25."""

    level: LoggingLevel


class LoggingMessageNotificationParams(NotificationParams):
    level: LoggingLevel
    logger: NotRequired[str]
    data: object
