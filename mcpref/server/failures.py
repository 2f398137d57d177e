"""Failures: what a client learns of an exception.

A `ProtocolError` is sent as it is, as far as the revision can carry it. What an application's own exceptions mean
is for its error handlers to say. Everything else is logged with its traceback, and the client gets a reference into
the log and nothing more.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import (
    InternalError,
    LocalError,
    McpError,
    PeerError,
    ProtocolError,
    RequestCancelled,
    ToolError,
)
from .results import finish_error
from .scope import RequestScope

log = logging.getLogger("mcpref.server")

ErrorHandler: TypeAlias = Callable[[Any], ToolError | ProtocolError]


class Failures:
    """Turns exceptions into errors."""

    def __init__(self, debug: bool) -> None:
        self.debug = debug
        """Show the text of unexpected exceptions to the client."""
        self.handlers: dict[type[Exception], ErrorHandler] = {}
        """By the class of exception they are for; the nearest base of an exception's class counts."""

    def to_protocol_error(self, error: BaseException, scope: RequestScope) -> ProtocolError:
        """What goes out for an exception that reached the top."""
        error = self.translate(error)
        match error:
            case ProtocolError():
                return finish_error(error, scope.protocol_version)
            case RequestCancelled():
                return InternalError("the request was cancelled")
            case ToolError() | LocalError() | PeerError():
                return InternalError(str(error))
            case _:
                return self.internal_error(error, f"{scope.method} failed")

    def translate(self, error: BaseException) -> BaseException:
        """An exception of the application's, as its error handler has it; any other as it is."""
        for cls in type(error).__mro__:
            handler = self.handlers.get(cls)
            if handler is not None:
                try:
                    return handler(error)
                except Exception as raised:
                    return raised
            if cls is McpError:
                break  # ours say what they mean: a handler for every `Exception` is not for them
        return error

    def internal_error(self, error: BaseException, what: str) -> InternalError:
        """Log an unexpected exception; the client gets a reference into the log and nothing else."""
        reference = os.urandom(4).hex()
        log.error("%s (reference %s)", what, reference, exc_info=error)
        if self.debug:
            return InternalError(f"{what} (reference {reference}): {type(error).__name__}: {error}")
        return InternalError(f"internal error (reference {reference})")
