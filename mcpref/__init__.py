"""mcpref: a synchronous, thread-based reference implementation of the Model Context Protocol.

::

    from mcpref import McpServer

    server = McpServer("weather", version="1.0")

    @server.tool
    def forecast(city: str, days: int = 3) -> dict[str, float]:
        "Forecast for a city."
        return {"max": 21.5}

    server.run()
"""

from . import content
from .asking import (
    Ask,
    Elicit,
    ElicitAccepted,
    ElicitCancelled,
    ElicitDeclined,
    ElicitResult,
    ElicitUrl,
    Root,
    Roots,
    Sample,
    SampleResult,
)
from .caching import CacheHint
from .cancellation import CancellationToken
from .content import Content
from .errors import (
    InvalidParams,
    LocalError,
    McpError,
    MissingRequiredClientCapability,
    PeerError,
    ProtocolError,
    RequestCancelled,
    ResourceNotFound,
    ToolError,
)
from .hints import Param
from .mrtr import InputRequest
from .server.context import Auth, NullContext, RequestContext, RequestInfo
from .server.core import CallNext, McpServer
from .server.registry import Blueprint
from .server.responses import Completion, InputRequired, ToolResponse
from .server.state import ServerMode
from .settings import Settings
from .versions import ProtocolVersion

__version__ = "0.1.0"

__all__ = [
    "Ask",
    "Auth",
    "Blueprint",
    "CacheHint",
    "CallNext",
    "CancellationToken",
    "Completion",
    "Content",
    "Elicit",
    "ElicitAccepted",
    "ElicitCancelled",
    "ElicitDeclined",
    "ElicitResult",
    "ElicitUrl",
    "InputRequest",
    "InputRequired",
    "InvalidParams",
    "LocalError",
    "McpError",
    "McpServer",
    "MissingRequiredClientCapability",
    "NullContext",
    "Param",
    "PeerError",
    "ProtocolError",
    "ProtocolVersion",
    "RequestCancelled",
    "RequestContext",
    "RequestInfo",
    "ResourceNotFound",
    "Root",
    "Roots",
    "Sample",
    "SampleResult",
    "ServerMode",
    "Settings",
    "ToolError",
    "ToolResponse",
    "__version__",
    "content",
]
