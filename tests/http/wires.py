"""Two ways to reach a WSGI application: in memory under werkzeug's lint, and over a socket on a real port.

Both give a `Reply`, whose body is read on a thread of its own, so that every wait of a test has a deadline and a
stream can be read event by event.
"""

from __future__ import annotations

import http.client
import json
import queue
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from werkzeug.middleware.lint import LintMiddleware
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.test import Client, EnvironBuilder

from mcpref.cancellation import Deadline
from mcpref.sse import EventDecoder, SseEvent
from tests.threads import PATIENCE

Body = bytes | Iterable[bytes] | None
JSON = "application/json"
SSE = "text/event-stream"


class Reply:
    """One HTTP response, while it arrives."""

    def __init__(self) -> None:
        self._chunks: queue.Queue[bytes | BaseException | None] = queue.Queue()
        self._head = threading.Event()
        self._decoder = EventDecoder()
        self._events: list[SseEvent] = []
        self._over = False
        self._status = 0
        self._headers: dict[str, str] = {}
        self.gone = threading.Event()
        """The client has closed the connection."""
        self.raw = b""
        """What was read of the body so far."""
        self.socket: socket.socket | None = None
        self.thread: threading.Thread

    # What the thread that reads reports

    def began(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        self._status = status
        self._headers = {name.lower(): value for name, value in headers}
        self._head.set()

    def arrived(self, chunk: bytes | BaseException | None) -> None:
        self._chunks.put(chunk)
        if not isinstance(chunk, bytes):
            self._head.set()

    # What the test asks

    @property
    def has_begun(self) -> bool:
        return self._head.is_set()

    @property
    def status(self) -> int:
        assert self._head.wait(PATIENCE), "no answer came"
        if not self._status:
            raise AssertionError("the request failed") from self._failure()
        return self._status

    @property
    def headers(self) -> Mapping[str, str]:
        """By their names in lower case."""
        assert self.status
        return self._headers

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def body(self) -> bytes:
        """The whole body, once it is complete."""
        while not self._over:
            self._take()
        return self.raw

    def json(self) -> Any:
        assert self.kind == JSON, (self.status, self.kind, self.raw)
        return json.loads(self.body())

    def error(self) -> dict[str, Any]:
        """The error of the response, in either form."""
        message = self.json() if self.kind == JSON else self.messages()[-1]
        error: dict[str, Any] = message["error"]
        return error

    def result(self) -> dict[str, Any]:
        """The result of the response, in either form."""
        message = self.json() if self.kind == JSON else self.messages()[-1]
        assert "result" in message, message
        result: dict[str, Any] = message["result"]
        return result

    def next_event(self) -> SseEvent | None:
        """The next event; None at the end."""
        assert self.kind == SSE, (self.status, self.kind, self.body())
        deadline = Deadline(PATIENCE)
        while not self._events and not self._over:
            assert not deadline.expired, f"no event came: {self.raw!r}"  # comments do
            self._take()
        return self._events.pop(0) if self._events else None

    def events(self) -> list[SseEvent]:
        """Every event up to the end of the stream."""
        return list(iter(self.next_event, None))

    def next_message(self) -> dict[str, Any]:
        """The next message; events without data are passed over."""
        while (event := self.next_event()) is not None:
            if event.data:
                message: dict[str, Any] = json.loads(event.data)
                return message
        raise AssertionError("the stream has ended")

    def messages(self) -> list[dict[str, Any]]:
        """Every message up to the end of the stream."""
        return [json.loads(event.data) for event in self.events() if event.data]

    def until_raw(self, mark: bytes) -> None:
        """Read until the body contains something, which may be a comment."""
        deadline = Deadline(PATIENCE)
        while mark not in self.raw:
            assert not deadline.expired, f"{mark!r} did not come: {self.raw!r}"
            assert not self._over, f"the body ended without {mark!r}: {self.raw!r}"
            self._take()

    def say_no_more(self) -> None:
        """Nothing more comes from the client, which still listens."""
        if self.socket is not None:
            self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Drop the connection, and wait until the other end knows."""
        self.gone.set()
        if self.socket is not None:
            try:
                self.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it ended by itself
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), "the response did not end with its connection"

    def _take(self) -> None:
        try:
            chunk = self._chunks.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"nothing came; so far {self.raw!r}") from None
        if isinstance(chunk, bytes):
            self.raw += chunk
            if self.kind == SSE:
                self._events += self._decoder.feed(chunk)
            return
        self._over = True
        if chunk is not None and not self.gone.is_set():
            raise AssertionError("the response broke off") from chunk

    def _failure(self) -> BaseException | None:
        found = self._chunks.get_nowait()
        return found if isinstance(found, BaseException) else None


class Wire(Protocol):
    """A way to an application."""

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> Reply:
        """Send a request; the answer may take its time."""

    def close(self) -> None: ...


def _in_background(reply: Reply, work: Any, name: str) -> Reply:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            reply.arrived(error)
        else:
            reply.arrived(None)

    reply.thread = threading.Thread(target=run, name=name, daemon=True)
    reply.thread.start()
    return reply


class MemoryWire:
    """The application called directly, as a host with many threads and a probe would."""

    def __init__(self, app: Any, environ: Mapping[str, Any]) -> None:
        self._client = Client(LintMiddleware(app))
        self._environ = environ

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> Reply:
        reply = Reply()
        builder = EnvironBuilder(path=target, method=method)
        environ = builder.get_environ()
        builder.close()
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"] = value
        environ["wsgi.multithread"] = True
        environ["waitress.client_disconnected"] = reply.gone.is_set
        if isinstance(body, bytes):
            environ.setdefault("CONTENT_LENGTH", str(len(body)))
            environ["wsgi.input"] = _Input([body])
        elif body is not None:
            environ.pop("CONTENT_LENGTH", None)
            environ["wsgi.input_terminated"] = True
            environ["wsgi.input"] = _Input(body)
        environ.update(self._environ)

        def work() -> None:
            chunks, status, found = self._client.run_wsgi_app(environ)
            try:
                reply.began(int(status.split()[0]), found.items())
                for chunk in chunks:
                    reply.arrived(chunk)
                    if reply.gone.is_set():
                        break
            finally:
                if hasattr(chunks, "close"):
                    chunks.close()

        return _in_background(reply, work, f"memory-{method}")

    def close(self) -> None: ...


class _Input:
    """What a host offers as the body."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def read(self, size: int) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken

    def readline(self, size: int = -1) -> bytes:
        raise NotImplementedError

    def readlines(self, hint: int = -1) -> list[bytes]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._chunks)


class _Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


class SocketWire:
    """The application on a port of this machine; one connection for each request."""

    def __init__(self, app: Any) -> None:
        self._server: BaseWSGIServer = make_server(
            "127.0.0.1", 0, app, threaded=True, request_handler=_Handler
        )
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, name="live", daemon=True
        )
        self._thread.start()

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> Reply:
        reply = Reply()
        connection = http.client.HTTPConnection("127.0.0.1", self._server.server_port, timeout=PATIENCE)
        connection.connect()
        reply.socket = connection.sock
        connection.putrequest(method, target, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value.encode("latin-1"))
        if isinstance(body, bytes):
            if "Content-Length" not in headers:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
        elif body is not None:
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders(body, encode_chunked=True)
        else:
            connection.endheaders()

        def work() -> None:
            try:
                with connection.getresponse() as response:
                    reply.began(response.status, response.getheaders())
                    while chunk := response.read1(65536):
                        reply.arrived(chunk)
            finally:
                connection.close()

        return _in_background(reply, work, f"socket-{method}")

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE)
        self._server.server_close()
