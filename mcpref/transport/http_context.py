"""HttpStreamContext: one request over HTTP. Its answer is one JSON body, or, from its first event on, a stream.

Nothing is written until the handler emits something. Then the response becomes an event stream whose last event
is the answer. On a legacy session the stream is kept for a while and can be resumed, and the handler can ask the
client something: the question goes out as an event, and the answer comes in on another POST.

Two threads meet here: the worker that runs the handler writes, the host's thread waits and sends. What they share
is the stream and an event that says "look again".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..cancellation import CancellationToken, Deadline
from ..errors import (
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    PeerError,
    RequestCancelled,
    RequestTimeout,
)
from ..jsonrpc import ErrorResponse, Notification, Request, Response, decode, encode
from ..server.context import Auth, RequestContext
from ..server.state import ConnectionState
from ..versions import ProtocolVersion
from .event_stream import PROBE_INTERVAL, LocalStream
from .seams import Gone, Pending, StreamReader, StreamWriter

if TYPE_CHECKING:
    from ..server.embedding import Embedding
    from ..server.push import ListenStream
    from .probes import Probe
    from .runtime import Runtime


class HttpStreamContext(RequestContext):
    """The primitives of one HTTP request."""

    __slots__ = (
        "_auth",
        "_headers",
        "_lock",
        "_runtime",
        "_sid",
        "_state",
        "_wake",
        "accepts_sse",
        "done",
        "embedding",
        "error_code",
        "final",
        "listening",
        "modern",
        "multiprocess",
        "mute",
        "patience",
        "probe",
        "reader",
        "stream_refused",
        "token",
        "version",
        "writer",
    )

    multiprocess: bool
    embedding: Embedding | None

    def __init__(
        self,
        runtime: Runtime,
        state: ConnectionState,
        version: ProtocolVersion,
        *,
        modern: bool,
        headers: Mapping[str, str],
        auth: Auth | None = None,
        session_id: str = "",
        accepts_sse: bool = True,
        probe: Probe | None = None,
        multiprocess: bool = False,
        embedding: Embedding | None = None,
    ) -> None:
        self._runtime = runtime
        self._state = state
        self._headers = headers
        self._auth = auth
        self._sid = session_id
        self.probe = probe
        """Tells whether the client is still there; None if the host cannot, or it does not matter."""
        self._lock = threading.Lock()
        self.version = version
        self.modern = modern
        self.accepts_sse = accepts_sse
        self.multiprocess = multiprocess
        self.embedding = embedding
        self._wake: threading.Event | None = None
        self.patience = runtime.settings.send_timeout
        """How long to wait for room in the stream: 0 where the handler's thread is the one that would send."""
        self.mute = False
        """Whether notifications go nowhere: the answer is part of one body, and what they tell is optional."""
        self.writer: StreamWriter | None = None
        self.reader: StreamReader | None = None
        self.token: CancellationToken | None = None
        """The request's own; set when a modern client goes."""
        self.final: bytes | None = None
        """The answer, when there is one and it was not streamed."""
        self.done = False
        """Whether the handler is through."""
        self.error_code = 0
        """The code of the answer, if it is an error."""
        self.stream_refused = False
        """Whether the handler wanted to stream to a client that does not take streams."""
        self.listening: ListenStream | None = None
        """The stream that a ``subscriptions/listen`` opened."""

    # ---- Facts ----------------------------------------------------------------------------------------

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def connection_token(self) -> str:
        return self._sid

    @property
    def protocol_version(self) -> ProtocolVersion:
        return self.version

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        return self._state.client_capabilities

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def auth(self) -> Auth | None:
        return self._auth

    @property
    def has_back_channel(self) -> bool:
        return bool(self._sid)

    @property
    def ends_with_connection(self) -> bool:
        return self.modern

    @property
    def streaming(self) -> bool:
        """Whether the response has become an event stream."""
        return self.writer is not None

    @property
    def is_cancelled(self) -> bool:
        """On a modern request, whether the client has gone; on a legacy one a disconnect is no cancellation.

        Spec: 2026-07-28 basic/transports/streamable-http#cancellation MUST be treated as cancellation
        Spec: 2025-03-26..2025-11-25 basic/transports#sending-messages-to-the-server SHOULD NOT be taken for one
        """
        return self.modern and self.probe is not None and not self.probe()

    @property
    def wake(self) -> threading.Event:
        """Set whenever the host's thread should look again. Made on first use: most answers need none.

        Whoever hands the request to another thread uses it before, so that there is one.
        """
        if self._wake is None:
            self._wake = threading.Event()
        return self._wake

    def set_connection_probe(self, alive: Callable[[], bool]) -> None:
        """Use another way to tell whether the client is there."""
        self.probe = alive

    # ---- Emitting -------------------------------------------------------------------------------------

    def send(self, notification: Notification) -> None:
        if not self.mute:
            self._emit(encode(notification))

    def upgrade(self) -> None:
        """Become a stream although nothing was emitted yet."""
        with self._lock:
            if self.writer is None and not self.done:
                self._open()
        self.wake.set()

    def _emit(self, data: bytes, last: bool = False) -> None:
        with self._lock:
            if self.writer is None:
                if self.done:
                    raise ConnectionClosed("the request was answered already")
                self._open()
            writer = self.writer
        assert writer is not None
        try:
            writer.append(data, last)
        except Gone as error:
            raise ConnectionClosed(str(error)) from None
        self.wake.set()

    def _open(self) -> None:
        """Make the stream; the lock is held."""
        if not self.accepts_sse:
            self.stream_refused = True
            raise InvalidRequest(
                "this call streams, and the request's Accept header excludes text/event-stream"
            )
        if not self._sid:
            stream = LocalStream(
                self.wake.set, self._runtime.settings, self._overflow, patience=self.patience
            )
            self.writer = self.reader = stream
            return
        # Spec: 2025-11-25 basic/transports#sending-messages-to-the-server SHOULD begin with an id and no data
        first = b"" if self.version.features.priming_event else None
        self.writer, self.reader = self._runtime.seams.streams.create(
            self._sid, first, self._epitaph(), self.wake.set, patience=self.patience
        )

    def _overflow(self) -> None:
        if self.token is not None and self.modern:
            self.token.cancel("the client reads too slowly")

    def _epitaph(self) -> bytes:
        return encode(ErrorResponse(None, InternalError("the server that served this request has gone")))

    def next_event_id(self) -> str:
        """The id that the stream's next event will have; "" where events have none."""
        writer = self.writer
        return f"{writer.id}.{writer.next_seq}" if self._sid and writer is not None else ""  # type: ignore[attr-defined]

    def close_stream(self) -> None:
        """Let the client go and come back for the rest (2025-11-25): frees the connection during long work.

        Spec: 2025-11-25 basic/transports#sending-messages-to-the-server MAY close after an event with an id
        """
        if self._sid and self.version.features.priming_event:
            self.upgrade()
            assert self.writer is not None
            self.writer.detach_reader()

    # ---- The answer -----------------------------------------------------------------------------------

    def finish_with(self, payload: bytes | None) -> None:
        """The handler is through: the last event of the stream, or the body. None ends without an answer."""
        with self._lock:
            self.done = True
            writer = self.writer
            if writer is None:
                self.final = payload
        if writer is not None:
            try:
                if payload is None:
                    writer.close()
                else:
                    writer.append(payload, last=True)
            except (Gone, ConnectionClosed):
                pass  # nobody is there to read it
        if self._wake is not None:
            self._wake.set()

    def stream_final(self) -> None:
        """Send an answer that is there as the only event of a stream, to a client that takes nothing else."""
        with self._lock:
            payload, self.final = self.final, None
            self._open()
            writer = self.writer
        if writer is not None and payload is not None:
            writer.append(payload, last=True)

    # ---- Asking the client ----------------------------------------------------------------------------

    def request(
        self, method: str, params: Mapping[str, Any], timeout: float, token: CancellationToken | None = None
    ) -> Any:
        if not self._sid:
            raise InvalidRequest(f"{method} cannot be sent: this server keeps no session with the client")
        answered = threading.Event()
        with self._runtime.budget.waiting():
            pending = self._runtime.seams.replies.expect(self._sid, answered.set)
            forget = token.on_cancel(answered.set) if token is not None else None
            try:
                self._emit(encode(Request(pending.id, method, dict(params))))
                return self._await(pending, answered, Deadline(timeout), timeout, token)
            except (RequestTimeout, RequestCancelled) as error:
                # Spec: 2025-03-26..2025-11-25 basic/lifecycle#timeouts SHOULD send a cancellation
                self._take_back(pending.id, str(error))
                raise
            finally:
                pending.drop()
                if forget is not None:
                    forget()

    def _take_back(self, request_id: str, reason: str) -> None:
        """Tell the client that its answer is no longer waited for."""
        cancelled = Notification("notifications/cancelled", {"requestId": request_id, "reason": reason})
        try:
            self._emit(encode(cancelled))
        except ConnectionClosed:
            pass  # it has gone

    def _await(
        self,
        pending: Pending,
        answered: threading.Event,
        deadline: Deadline,
        timeout: float,
        token: CancellationToken | None,
    ) -> Any:
        """Wake on the answer, a cancellation, the end of the session, or a client that does not come back."""
        assert self.writer is not None
        while True:
            remaining = deadline.remaining()
            answered.wait(PROBE_INTERVAL if remaining is None else min(PROBE_INTERVAL, remaining))
            answered.clear()
            if pending.reply is not None:
                return _result(pending.reply)
            if pending.failed:
                raise ConnectionClosed("the session has ended")
            if token is not None and token.cancelled:
                raise RequestCancelled("the request that waited for this answer was cancelled")
            if deadline.expired:
                raise RequestTimeout(f"the client did not answer within {timeout:g} seconds")
            if self.writer.unread_for() > self._runtime.settings.resume_within:
                raise ConnectionClosed("the client has gone and did not come back")

    def open_stream(self, stream: ListenStream) -> None:
        self.listening = stream


def _result(reply: bytes) -> Any:
    message = decode(reply)
    if isinstance(message, Response):
        return message.result
    assert isinstance(message, ErrorResponse)
    raise PeerError(message.error.code, message.error.message, message.error.data)
