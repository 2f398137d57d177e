"""stdio: one connection over the process's standard streams.

::

    reader thread   bytes -> lines -> messages; replies, notifications and `initialize` handled here
        |  requests
    worker pool     admit'ed requests -> McpServer.dispatch -> one line, written under the write lock
    outbox thread   what the reader owes, and change notifications
    main thread     waits for the end of input or a signal, then shuts down

The reader runs no code of the application and never writes, so a cancellation is seen while every worker is
busy, and a peer that does not read cannot stop us from reading.

Spec: 2024-11-05..2025-11-25 basic/transports#stdio
Spec: 2026-07-28 basic/transports/stdio
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from ..cancellation import CancellationToken, Deadline
from ..errors import ConnectionClosed, InternalError, InvalidRequest, ProtocolError
from ..jsonrpc import (
    Batch,
    ErrorResponse,
    InvalidNotification,
    Message,
    Notification,
    Request,
    Response,
    encode,
)
from ..server.context import Auth, RequestContext
from ..server.core import McpServer
from ..server.push import Change, ListenStream
from ..server.scope import RequestScope
from ..server.state import ConnectionState, ServerMode
from .answering import Answer, BatchAnswer
from .duplex import ByteStream, DuplexChannel
from .listening import ListenStreams
from .pool import WorkerPool
from .process import Bell, take_standard_streams

log = logging.getLogger("mcpref.transport")


class StdioContext(RequestContext):
    """The primitives of one request on a duplex connection."""

    __slots__ = ("_auth", "_channel", "_state", "_stateless", "_streams")

    def __init__(
        self,
        channel: DuplexChannel,
        state: ConnectionState,
        *,
        stateless: bool = False,
        streams: ListenStreams | None = None,
        auth: Auth | None = None,
    ) -> None:
        self._auth = auth
        self._channel = channel
        self._state = state
        self._stateless = stateless
        self._streams = streams

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def auth(self) -> Auth | None:
        return self._auth

    @property
    def has_back_channel(self) -> bool:
        # A stateless server has nobody to ask, on this transport as on any other.
        return not self._stateless

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        return self._state.client_capabilities

    def send(self, notification: Notification) -> None:
        self._channel.write(encode(notification))

    def request(
        self, method: str, params: Mapping[str, Any], timeout: float, token: CancellationToken | None = None
    ) -> Any:
        if self._stateless:
            raise InvalidRequest(f"a stateless server cannot send {method}")
        return self._channel.request(method, params, timeout, token)

    def open_stream(self, stream: ListenStream) -> None:
        if self._streams is None:
            raise InvalidRequest("this connection cannot carry a listen stream")
        self._streams.open(stream)


class StdioConnection:
    """One peer over one byte stream: the owner of a `DuplexChannel` on the server's side."""

    def __init__(
        self,
        server: McpServer,
        stream: ByteStream,
        on_end: Callable[[], None] | None = None,
        *,
        auth: Auth | None = None,
    ) -> None:
        """``on_end`` is called, once, when `finished` has been set. ``auth`` says whose connection it is."""
        settings = server.settings
        self.state = ConnectionState()
        """What this peer told us; for modern requests, their in-flight table."""
        self.finished = threading.Event()
        """Set when nothing more will be read, or the connection was given up."""
        self.reason = ""
        """Why it ended."""
        self.server = server
        self._auth = auth
        self._channel = DuplexChannel(stream, self, max_line=settings.max_message, name="mcpref-stdio")
        self._pool = WorkerPool(settings.workers, queue_limit=settings.max_in_flight + 1)
        self._streams = ListenStreams(self._channel, self.state, settings.max_streams)
        self._stateless = server.mode is ServerMode.STATELESS
        self._running = _Running()
        self._answer = Answer(self)
        self._on_end = on_end
        self._changes = server.changes.follow(None, False, self._channel.wake)
        self._channel.follow(self._read_changes, self._streams.render)
        self._reader = threading.Thread(
            target=self._channel.read_loop, name="mcpref-stdio-reader", daemon=True
        )

    def start(self) -> None:
        """Begin to read, on a thread of its own."""
        self._reader.start()

    def shut_down(self, deadline: Deadline) -> bool:
        """End in order: cancel, fail waiters, end streams, wait for answers. False if something is stuck.

        Answers that are computed before the deadline are still written: a shutdown is not the client's wish.
        """
        self._running.cancel_all("the server is shutting down")
        self._channel.pending.fail_all("the server is shutting down")
        self._streams.end_all(self._listen_answer)
        clean = self._pool.close(deadline)
        self._changes.close()
        flushed = self._channel.flush(deadline)
        closed = self._channel.close(deadline)
        # The reader may be blocked in a read, as after a signal. It is a daemon; its descriptor stays open under it.
        return clean and flushed and closed

    # ---- On the reader --------------------------------------------------------------------------------

    def on_message(self, message: Request | Notification | Batch) -> None:
        match message:
            case Request():
                self._on_request(message, self._answer)
            case Notification():
                self.server.notify(message, self._context())
            case Batch():
                self._on_batch(message)

    def on_malformed(self, error: ProtocolError) -> None:
        if isinstance(error, InvalidNotification):
            log.debug("a malformed notification was ignored: %s", error)
            return
        keep_null = error.request_id is None and not self.state.negotiated.features.optional_error_id
        self._channel.post(encode(ErrorResponse(error.request_id, error, keep_null)))

    def on_end(self, reason: str) -> None:
        self.reason = reason
        self.finished.set()
        if self._on_end is not None:
            self._on_end()

    def _on_request(self, request: Request, answer: Answer) -> None:
        if request.method == "initialize":
            # Here and not on a worker, so that the next line sees the version it negotiates.
            response = self.server.handle(request, self._context())
            answer.from_reader(response)
            return
        if len(self._running) >= self.server.settings.max_in_flight:
            answer.from_reader(_busy(request))
            return
        try:
            scope = self.server.admit(request, self._context())
        except ProtocolError as error:
            answer.from_reader(ErrorResponse(request.id, error))
            return
        self._running.enter(scope)
        if not self._pool.submit(partial(self._serve, scope, answer)):
            self.server.release(scope)
            self._running.leave(scope)
            answer.from_reader(_busy(request))

    def _on_batch(self, batch: Batch) -> None:
        # Spec: 2025-03-26 basic/index#batching MUST be received; no other revision has batches
        if not self.state.negotiated.features.batching:
            self.on_malformed(
                InvalidRequest(f"revision {self.state.negotiated} has no batches: send one message a line")
            )
            return
        messages: list[Message | ProtocolError] = []
        for entry in batch.entries:
            if isinstance(entry, Request) and entry.method == "initialize":
                # Spec: 2025-03-26 basic/lifecycle#initialization MUST NOT be part of a batch
                refused = InvalidRequest("initialize cannot be part of a batch")
                refused.request_id = entry.id
                messages.append(refused)
            elif isinstance(entry, InvalidNotification):
                self.on_malformed(entry)
            else:
                messages.append(entry)
        expected = sum(isinstance(entry, Request | ProtocolError) for entry in messages)
        answer = BatchAnswer(self, expected)
        for entry in messages:
            match entry:
                case Request():
                    self._on_request(entry, answer)
                case Notification():
                    self.server.notify(entry, self._context())
                case Response() | ErrorResponse():
                    self._channel.pending.resolve(entry)
                case ProtocolError():
                    answer.from_reader(ErrorResponse(entry.request_id, entry, entry.request_id is None))

    # ---- On a worker ----------------------------------------------------------------------------------

    def _serve(self, scope: RequestScope, answer: Answer) -> None:
        response = None
        try:
            if scope.token.suppresses_response:  # taken back before its turn came
                self.server.release(scope)
            else:
                response = self.server.dispatch(scope)
        finally:
            self._running.leave(scope)
        answer.from_worker(response)

    # ---- Helpers --------------------------------------------------------------------------------------

    def _context(self) -> StdioContext:
        return StdioContext(
            self._channel, self.state, stateless=self._stateless, streams=self._streams, auth=self._auth
        )

    def _read_changes(self) -> list[Change]:
        if self._changes.overflowed:
            self._channel.end("the peer does not read")
        return self._changes.read()

    def _listen_answer(self, stream: ListenStream) -> Response:
        return Response(stream.id, self.server.finish_listen(stream))

    def post(self, payload: bytes) -> None:
        self._channel.post(payload)

    def write(self, payload: bytes) -> None:
        try:
            self._channel.write(payload)
        except ConnectionClosed:
            log.debug("an answer came too late: the connection is closed")

    def encode(self, response: Response | ErrorResponse) -> bytes:
        return self.server.encode(response)


class _Running:
    """The requests that run or wait to run. The lock guards the set; only the reader enters requests.

    The state's in-flight table is not enough to end them by: it holds one of several with the same id.
    """

    __slots__ = ("_lock", "_over", "_scopes")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._scopes: set[RequestScope] = set()
        self._over: str | None = None

    def __len__(self) -> int:
        return len(self._scopes)

    def enter(self, scope: RequestScope) -> None:
        with self._lock:
            self._scopes.add(scope)
            over = self._over
        if over is not None:  # read before the end, or after a signal, but too late for `cancel_all`
            scope.token.cancel(over, by_client=False)

    def leave(self, scope: RequestScope) -> None:
        with self._lock:
            self._scopes.discard(scope)

    def cancel_all(self, reason: str) -> None:
        """Stop the work, now and of whoever enters later, but let answers computed in time go out."""
        with self._lock:
            self._over = reason
            scopes = list(self._scopes)
        for scope in scopes:
            scope.token.cancel(reason, by_client=False)


def _busy(request: Request) -> ErrorResponse:
    return ErrorResponse(
        request.id,
        InternalError(
            "too many requests are running on this connection: try again later", data={"reason": "busy"}
        ),
    )


def serve_stdio(server: McpServer, stream: ByteStream | None = None, *, signals: bool = False) -> bool:
    """Serve one connection until its input ends. Blocks, and returns; it never exits the process.

    Without a ``stream`` it takes the process's standard input and output for itself, for good. With ``signals``
    (main thread only), SIGTERM and SIGINT end it too. Returns False if something was stuck when the grace was
    over: a handler that still runs, or a peer that does not read.
    """
    with ExitStack() as stack:
        if stream is None:
            stream = take_standard_streams()
        server.start()
        stack.callback(server.close)
        bell = Bell()
        stack.callback(bell.close)
        connection = StdioConnection(server, stream, on_end=bell.ring)
        if signals:
            stack.enter_context(bell.rung_by_signals())
        connection.start()
        signalled = bell.wait()
        log.info("shutting down: %s", signalled or connection.reason)
        clean = connection.shut_down(Deadline(server.settings.shutdown_grace))
        server.close()  # while another signal does not yet end the process
        return clean
