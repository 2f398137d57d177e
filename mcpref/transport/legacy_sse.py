"""The HTTP+SSE transport of 2024-11-05, for clients that know nothing newer. Off unless asked for.

A GET opens an event stream whose first event names where to POST; every message from the server comes on that
stream. So a connection is a duplex byte stream in disguise: what is POSTed is its input, the events are its
output, and the stdio transport's connection serves it, threads and all.

Spec: 2024-11-05 basic/transports#http-with-sse
"""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from ..cancellation import Deadline
from ..errors import ConnectionClosed, InternalError, InvalidRequest, ProtocolError
from ..jsonrpc import decode
from ..sse import encode_event
from .event_stream import EventIterator, LocalStream
from .exchange import RETRY_AFTER
from .http_request import HttpRefusal, check_content_type, read_body
from .long_streams import LongStream
from .probes import make_probe
from .stdio import StdioConnection

if TYPE_CHECKING:
    from ..server.context import Auth
    from .exchange import Exchange
    from .runtime import Runtime
    from .wsgi import McpApp

#: Messages that may wait to be read from one client.
_BACKLOG: Final = 256


class _SseBytes:
    """A duplex byte stream: POSTed messages in, events out."""

    def __init__(self, events: LocalStream) -> None:
        self.events = events
        self.incoming: queue.Queue[bytes] = queue.Queue(_BACKLOG)
        self._ended = threading.Event()

    def read(self, size: int) -> bytes:
        """One message as a line; b"" at the end. A message is never split, however large."""
        while not self._ended.is_set():
            try:
                return self.incoming.get(timeout=1.0)
            except queue.Empty:
                continue
        return b""

    def write(self, data: bytes) -> None:
        try:
            self.events.append(data.rstrip(b"\n"))
        except ConnectionClosed as error:
            raise BrokenPipeError(str(error)) from None

    def end(self) -> None:
        self._ended.set()
        try:
            self.incoming.put_nowait(b"")
        except queue.Full:
            pass  # the reader sees the flag when it has read what waits

    def close_read(self) -> None:
        self.end()

    def close_write(self) -> None:
        self.events.close()


class _SseConnection(LongStream):
    """One client: its stream, and the server's end behind it."""

    def __init__(self, runtime: Runtime, auth: Auth | None) -> None:
        self.principal = None if auth is None else auth.subject
        super().__init__(runtime, self.principal)
        self.id = secrets.token_hex(32)
        self._auth = auth
        self.bytes = _SseBytes(
            LocalStream(self.wake.set, runtime.settings, patience=runtime.settings.send_timeout)
        )
        self._connection: StdioConnection | None = None
        self._grace = runtime.settings.shutdown_grace
        self._ending = threading.Lock()

    def start(self) -> None:
        """Once it has a place: what is refused must leave nothing behind."""
        self._connection = StdioConnection(self._runtime.server, self.bytes, auth=self._auth)
        self._connection.start()

    def shut_down(self) -> None:
        """Cancel what runs, let answers go out, and end the stream; on a thread of its own, because that waits."""
        if not self._ending.acquire(blocking=False):
            return  # it ends already
        self.bytes.end()
        if self._connection is None:
            return
        threading.Thread(
            target=self._connection.shut_down,
            args=(Deadline(self._grace),),
            name="mcpref-sse-close",
            daemon=True,
        ).start()

    def finish(self) -> None:
        """The stream has ended, or the client has gone."""
        self.shut_down()
        self.leave()


class LegacySse:
    """Serves ``<path>/sse`` and ``<path>/messages``. The lock guards the table of connections."""

    def __init__(self, app: McpApp, path: str) -> None:
        self._app = app
        self._sse = f"{path}/sse"
        self._messages = f"{path}/messages"
        self.paths = (self._sse, self._messages)
        self._lock = threading.Lock()
        self._connections: dict[str, _SseConnection] = {}

    def serve(self, exchange: Exchange, path: str, method: str) -> Iterable[bytes]:
        if path == self._sse:
            if method != "GET":
                raise HttpRefusal(405, "open the event stream with GET", {"Allow": "GET"})
            return self._open(exchange)
        if method != "POST":
            raise HttpRefusal(405, "send messages with POST", {"Allow": "POST"})
        return self._post(exchange)

    def _open(self, exchange: Exchange) -> Iterable[bytes]:
        runtime = exchange.runtime
        if exchange.environ.get("wsgi.multiprocess"):
            remedy = "this server runs in several processes, and a stream lives in one: run one with threads"
            raise HttpRefusal(503, InternalError(remedy))
        connection = _SseConnection(runtime, exchange.auth)
        if not connection.enter():
            raise HttpRefusal(503, InternalError(runtime.budget.remedy), RETRY_AFTER)
        with self._lock:
            self._connections[connection.id] = connection
        try:
            connection.start()
        except BaseException:
            with self._lock:
                del self._connections[connection.id]
            connection.leave()
            raise

        def closed(finished: bool) -> None:
            with self._lock:
                self._connections.pop(connection.id, None)
            connection.finish()

        # Relative to the mount, so that it is right behind a prefix too.
        prefix = exchange.environ.get("SCRIPT_NAME", "")
        endpoint = encode_event(f"{prefix}{self._messages}?session={connection.id}", event="endpoint")
        body = _WithPrelude(
            connection.bytes.events,
            connection.wake,
            self._app.settings,
            probe=make_probe(exchange.environ),
            on_close=closed,
        )
        body.prelude = endpoint
        return exchange.stream(body)

    def _post(self, exchange: Exchange) -> Iterable[bytes]:
        check_content_type(exchange.environ)
        named = parse_qs(exchange.environ.get("QUERY_STRING", "")).get("session", [""])[0]
        with self._lock:
            connection = self._connections.get(named)
        # Another caller's connection is none at all.
        if connection is None or connection.principal != exchange.principal:
            raise HttpRefusal(404, "there is no such connection; open one with GET")
        body = read_body(exchange.environ, self._app.settings, exchange.runtime.bodies)
        try:
            decode(body)
        except ProtocolError as error:
            raise HttpRefusal(400, error) from None
        try:
            connection.bytes.incoming.put_nowait(body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n")
        except queue.Full:
            raise HttpRefusal(503, InvalidRequest("too many messages wait"), RETRY_AFTER) from None
        return exchange.respond(202)


class _WithPrelude(EventIterator):
    """An event stream that begins with an event of another kind."""

    prelude: bytes = b""

    def __next__(self) -> bytes:
        if self.prelude:
            first, self.prelude = self.prelude, b""
            return first
        return super().__next__()
