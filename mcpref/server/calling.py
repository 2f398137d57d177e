"""Calling the application's function: with its rounds opened, and their end caught.

One way in for tools, prompts and resources, because all three may ask the client for input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..mrtr import check_retry_params
from .responses import InputRequired, ToolResponse
from .rounds import ended_by_ask, ended_by_return, open_rounds

if TYPE_CHECKING:
    from .core import McpServer
    from .scope import RequestScope
    from .signature import ContextKind


class InputNeeded(dict[str, Any]):
    """An input-required result, told apart from what a function returned."""


def invoke(
    server: McpServer,
    scope: RequestScope,
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    context: ContextKind,
) -> Any:
    """Call ``fn``; the result is an `InputNeeded` if it needs input of the client's, and the round is over.

    The unwinding of `ask` (`RoundEnded`) ends here, inside whatever a framework puts around the call, so that a
    transaction sees a function that returned.
    """
    retry = _is_retry(scope)  # refuses a malformed one, whether anybody will look at it or not
    if context != "context" and not retry:
        return _settled(server, scope, call_plainly(scope, fn, args, kwargs))
    open_rounds(scope, server)

    def call() -> Any:
        try:
            return fn(*args, **kwargs)
        except BaseException:
            # Where a question was put, whatever the handler made of the unwinding is not its answer.
            if not (scope.rounds and scope.rounds.pending):
                raise
            return None

    embedding = scope.inner.embedding
    value = call() if embedding is None else embedding.call(fn, call)
    if scope.rounds is not None and scope.rounds.pending:
        return InputNeeded(ended_by_ask(scope, scope.rounds, server.sealer))
    return _settled(server, scope, value)


def call_plainly(
    scope: RequestScope, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Call a function that has no rounds, inside what a framework puts around it."""
    embedding = scope.inner.embedding
    if embedding is None:
        return fn(*args, **kwargs)
    return embedding.call(fn, partial(fn, *args, **kwargs))


def _settled(server: McpServer, scope: RequestScope, value: Any) -> Any:
    """What a function returned; what it needs, if that is what it returned."""
    needs = value.needs if isinstance(value, ToolResponse) else value
    if isinstance(needs, InputRequired):
        return InputNeeded(ended_by_return(scope, needs.requests, needs.state, server.sealer))
    return value


def _is_retry(scope: RequestScope) -> bool:
    """Whether the request carries answers or a state, which are checked whoever asked for them."""
    params = scope.request_message.params
    if (
        not scope.is_stateless
        or params is None
        or not ("requestState" in params or "inputResponses" in params)
    ):
        return False
    check_retry_params(params)
    return True
