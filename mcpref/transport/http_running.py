"""Running an admitted request over HTTP: on which thread, and what becomes of its answer.

A function that takes no context runs on the host's own thread, and its answer is one JSON body. One that takes a
context runs on a worker, while the host's thread waits: for the answer, for the first event that makes it a stream,
or for the client to go. A call that stays silent for long becomes a stream by a comment, so that its client's
disconnect is noticed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from ..errors import HTTP_STATUS, InvalidRequest
from ..jsonrpc import ErrorResponse, Response, encode
from ..server.scope import RequestScope
from .event_stream import PROBE_INTERVAL, EventIterator
from .exchange import Exchange, busy
from .http_context import HttpStreamContext
from .long_streams import ListenResponse
from .probes import make_probe

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..server.core import McpServer
    from ..settings import Settings
    from .runtime import Runtime


def run(exchange: Exchange, ctx: HttpStreamContext, scope: RequestScope) -> Iterable[bytes]:
    """Serve a request that was admitted; the response."""
    runtime, server = exchange.runtime, exchange.runtime.server
    ctx.token = scope.token
    if scope.method == "subscriptions/listen":
        return _listen(exchange, ctx, scope)
    if not runtime.start_running(exchange.principal):
        server.release(scope)
        return busy(exchange, scope.request_message)
    if not server.has_middleware and not server.catalog.takes_context(
        scope.method, scope.request_message.params or {}
    ):
        return _run_in_place(exchange, ctx, scope)
    forget = runtime.on_close(partial(scope.token.cancel, "the server is shutting down", by_client=False))

    def done() -> None:
        forget()
        runtime.stop_running(exchange.principal)

    # Whoever takes it first decides: the worker that begins, or this thread that has waited too long for one.
    claim = threading.Lock()
    wake = ctx.wake  # made now, while there is one thread
    try:
        around = None if exchange.embedding is None else exchange.embedding.on_worker()
    except BaseException:
        done()
        server.release(scope)
        raise

    def work() -> None:
        if claim.acquire(blocking=False):
            try:
                _dispatch(runtime, ctx, scope, around)
            finally:
                done()

    if not runtime.pool.submit(work) or not _wait(runtime.settings, ctx, scope, claim, wake):
        done()
        server.release(scope)
        return busy(exchange, scope.request_message)
    return _answer(exchange, ctx, scope)


def _run_in_place(exchange: Exchange, ctx: HttpStreamContext, scope: RequestScope) -> Iterable[bytes]:
    """On this thread. Nothing in it can be cancelled, so nobody needs to know whether the client is still there."""
    runtime = exchange.runtime
    ctx.probe = None
    ctx.patience = 0.0  # a completion may log something, and nobody drains it before this thread does
    runtime.begin_in_place()
    try:
        _dispatch(runtime, ctx, scope)
    finally:
        runtime.end_in_place()
        runtime.stop_running(exchange.principal)
    return _answer(exchange, ctx, scope)


def _dispatch(
    runtime: Runtime,
    ctx: HttpStreamContext,
    scope: RequestScope,
    around: AbstractContextManager[object] | None = None,
) -> None:
    payload = None
    try:
        answer = runtime.server.dispatch(scope) if around is None else _within(around, runtime.server, scope)
        payload = None if answer is None else runtime.server.encode(answer)
        if isinstance(answer, ErrorResponse):
            ctx.error_code = answer.error.code
    finally:
        ctx.finish_with(payload)


def _within(
    around: AbstractContextManager[object], server: McpServer, scope: RequestScope
) -> Response | ErrorResponse | None:
    """Dispatch inside what a framework puts around a worker's part of a request.

    The answer goes out after the framework is through, so that what it closes is closed by then.
    """
    answered = False
    answer: Response | ErrorResponse | None = None
    try:
        with around:
            answer = server.dispatch(scope)
            answered = True
    except Exception as error:
        failure = server.failures.internal_error(error, "the framework around a call failed")
        if not answered:  # it could not even begin; an answer that is there already stands
            server.release(scope)
            answer = ErrorResponse(scope.request_id, failure)
    return answer


def _wait(
    settings: Settings,
    ctx: HttpStreamContext,
    scope: RequestScope,
    claim: threading.Lock,
    wake: threading.Event,
) -> bool:
    """Until the handler is through or begins to stream; a call that stays silent becomes a stream.

    False if it will not begin: no worker was free, and a quick "busy" is better than a place in a queue that does not
    move; or its client has gone.
    """
    limit = settings.upgrade_after
    now = monotonic()
    upgrade_at = None if limit is None or not ctx.accepts_sse else now + limit
    begin_by = now + settings.queue_patience
    while not ctx.done and not ctx.streaming:
        wake.wait(PROBE_INTERVAL)
        wake.clear()
        if ctx.is_cancelled:
            scope.token.cancel("the client disconnected")
            return not claim.acquire(blocking=False)  # one that has not begun is not wanted any more
        if monotonic() >= begin_by and claim.acquire(blocking=False):
            return False
        if upgrade_at is not None and monotonic() >= upgrade_at:
            ctx.upgrade()
    return True


def _answer(exchange: Exchange, ctx: HttpStreamContext, scope: RequestScope) -> Iterable[bytes]:
    if ctx.stream_refused:
        body = ctx.final or encode(ErrorResponse(scope.request_id, InvalidRequest("not acceptable")))
        return exchange.respond(406, body)
    if not ctx.streaming and ctx.done and ctx.final is not None:
        status = HTTP_STATUS.get(ctx.error_code, 200) if ctx.modern else 200
        # What has a status of its own is told by it, also to a client that wanted a stream.
        if exchange.takes_json or status != 200:
            return exchange.respond(status, ctx.final)
        ctx.stream_final()
    if not ctx.streaming:
        # Cancelled: by its disconnect (nobody reads this), or by a legacy client, to whom the stream just ends.
        return exchange.nothing()
    assert ctx.reader is not None
    assert ctx.writer is not None
    runtime = exchange.runtime
    exchange.keeps_place = True

    def closed(finished: bool) -> None:
        runtime.leave()
        if not finished and ctx.modern:
            scope.token.cancel("the client disconnected")

    return exchange.stream(
        EventIterator(
            ctx.reader,
            ctx.wake,
            runtime.settings,
            stream_id=ctx.writer.id,
            probe=ctx.probe if ctx.modern else make_probe(exchange.environ),
            on_close=closed,
            comment_first=not ctx.version.features.priming_event,
        )
    )


def _listen(exchange: Exchange, ctx: HttpStreamContext, scope: RequestScope) -> Iterable[bytes]:
    runtime, server = exchange.runtime, exchange.runtime.server
    answer = server.dispatch(scope)
    if ctx.listening is None:
        assert answer is not None
        code = answer.error.code if isinstance(answer, ErrorResponse) else 0
        return exchange.respond(HTTP_STATUS.get(code, 200), server.encode(answer))
    server.release(scope)
    if not ctx.accepts_sse:
        refusal = InvalidRequest("a listen stream needs an Accept header that admits text/event-stream")
        return exchange.respond(406, encode(ErrorResponse(scope.request_id, refusal)))
    response = ListenResponse(runtime, ctx.listening, exchange.principal)
    if not response.enter():
        return busy(exchange, scope.request_message, runtime.budget.remedy)
    try:
        body = response.iterator(ctx.probe)
    except BaseException:
        response.leave()
        raise
    # From here on it is counted as a stream, and no longer as a request under way.
    return exchange.stream(body)
