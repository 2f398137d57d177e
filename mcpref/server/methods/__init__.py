"""The methods of the protocol, one module per page of the specification.

A handler takes the server, the scope of its request and the parameters, and returns a result as the newest
revision has it. It raises `ProtocolError` for what is wrong with the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import completion, lifecycle, listen, logs, prompts, resources, tools
from .listen import StreamOpened

if TYPE_CHECKING:
    from ..core import McpServer
    from ..scope import RequestScope
    from ..state import ConnectionState

MethodHandler: TypeAlias = "Callable[[McpServer, RequestScope, Mapping[str, Any]], dict[str, Any]]"
NotificationHandler: TypeAlias = "Callable[[ConnectionState, Mapping[str, Any]], None]"

#: What serves each request. Whether a revision has the method was decided before (versions.py, inbound.py).
HANDLERS: Final[Mapping[str, MethodHandler]] = {
    "initialize": lifecycle.initialize,
    "ping": lifecycle.ping,
    "server/discover": lifecycle.discover,
    "tools/list": tools.list_tools,
    "tools/call": tools.call_tool,
    "resources/list": resources.list_resources,
    "resources/templates/list": resources.list_resource_templates,
    "resources/read": resources.read_resource,
    "resources/subscribe": resources.subscribe,
    "resources/unsubscribe": resources.unsubscribe,
    "prompts/list": prompts.list_prompts,
    "prompts/get": prompts.get_prompt,
    "completion/complete": completion.complete,
    "logging/setLevel": logs.set_level,
    "subscriptions/listen": listen.listen,
}

#: What takes each notification; they run on the reader, so none may run code of the application.
NOTIFICATIONS: Final[Mapping[str, NotificationHandler]] = {
    "notifications/initialized": lifecycle.initialized,
    "notifications/cancelled": lifecycle.cancelled,
}

__all__ = ["HANDLERS", "NOTIFICATIONS", "MethodHandler", "NotificationHandler", "StreamOpened"]
