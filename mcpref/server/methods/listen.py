"""``subscriptions/listen``: a request whose answer is a stream of change notifications.

Spec: 2026-07-28 basic/patterns/subscriptions
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InvalidRequest
from ...subscriptions import SubscriptionFilter
from ..push import ListenStream

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope


class StreamOpened(dict[str, Any]):
    """Stands where a result would: the request stays open, and its transport will end it."""


def listen(server: McpServer, scope: RequestScope, params: Mapping[str, Any]) -> dict[str, Any]:
    """Open a stream for what the client asked for and this server can tell.

    Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment
    """
    if scope.request_id == "":
        # Every notification of the stream carries the id, and an empty one tells nobody anything.
        raise InvalidRequest("subscriptions/listen needs an id that is not empty")
    wanted = SubscriptionFilter.parse(params)
    scope.open_stream(
        ListenStream(scope.request_id, wanted.honored(server.catalog.capabilities), scope.token)
    )
    return StreamOpened()
