"""Testing a server: a peer in memory, and a context that records.

::

    def test_forecast() -> None:
        with connect(server) as peer:
            assert peer.call_tool("forecast", {"city": "Oslo"})["structuredContent"] == {"max": 21.5}

`connect` runs the real server over a real byte stream (a pair of pipes), so what a test sees is what a client
sees. `RecordingContext` calls a handler without any server at all.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from .asking import Ask
from .cancellation import CancellationToken, Deadline
from .errors import ConnectionClosed, InvalidRequest, PeerError, ProtocolError, RequestTimeout
from .jsonrpc import (
    Batch,
    ErrorResponse,
    Notification,
    ReceivedError,
    Request,
    RequestId,
    Response,
    encode,
    encode_json,
)
from .meta import MetaKey
from .mrtr import MRTR_METHODS, parse_input_requests
from .server.context import J, R, RequestContext
from .server.core import McpServer
from .transport.duplex import DuplexChannel, FdStream
from .transport.stdio import StdioConnection
from .versions import LATEST, ProtocolVersion, is_modern

#: How long a peer waits for an answer unless told otherwise.
TIMEOUT = 30.0

Callback = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def connect(
    server: McpServer,
    version: str = LATEST.value,
    *,
    capabilities: Mapping[str, Any] | None = None,
    on_elicit: Callback | None = None,
    on_sample: Callback | None = None,
    on_roots: Callback | None = None,
    initialize: bool = True,
    timeout: float = TIMEOUT,
) -> Peer:
    """A client in memory, connected to ``server``; use it in a ``with`` block.

    A callback takes the parameters of the server's question and returns the result; giving one declares the
    capability. On legacy versions the handshake is done unless ``initialize`` is False.
    """
    to_server_read, to_server_write = os.pipe()
    to_client_read, to_client_write = os.pipe()
    connection = StdioConnection(server, FdStream(to_server_read, to_client_write))
    server.start()
    connection.start()
    callbacks = {
        "elicitation/create": on_elicit,
        "sampling/createMessage": on_sample,
        "roots/list": on_roots,
    }
    peer = Peer(
        FdStream(to_client_read, to_server_write),
        ProtocolVersion(version),
        {method: callback for method, callback in callbacks.items() if callback is not None},
        capabilities,
        timeout,
        connection,
    )
    if initialize and not is_modern(peer.version):
        peer.initialize()
    return peer


class Peer:
    """A small blocking client: it sends what it is told, and keeps everything that arrives."""

    def __init__(
        self,
        stream: FdStream,
        version: ProtocolVersion,
        callbacks: Mapping[str, Callback],
        capabilities: Mapping[str, Any] | None,
        timeout: float,
        connection: StdioConnection | None = None,
    ) -> None:
        self.version = version
        """The revision it speaks."""
        self.notifications: queue.Queue[Notification] = queue.Queue()
        """Notifications that arrived, in their order."""
        self.messages: list[dict[str, Any]] = []
        """Requests and notifications of the server's, as they arrived."""
        self.connection = connection
        """The server's end."""
        self._callbacks = callbacks
        self._timeout = timeout
        self.capabilities: dict[str, Any] = dict(
            _declared(callbacks) if capabilities is None else capabilities
        )
        """What it declares."""
        self._stream = stream
        self._ended = threading.Event()
        self._channel = DuplexChannel(stream, self, max_line=64 * 1024 * 1024, name="mcpref-peer")
        self._reader = threading.Thread(
            target=self._channel.read_loop, name="mcpref-peer-reader", daemon=True
        )
        self._reader.start()

    # ---- Calls ----------------------------------------------------------------------------------------

    def initialize(self, version: str | None = None) -> dict[str, Any]:
        """Shake hands (legacy)."""
        result: dict[str, Any] = self.request(
            "initialize",
            {
                "protocolVersion": version or self.version.value,
                "capabilities": self.capabilities,
                "clientInfo": {"name": "mcpref.testing", "version": "0"},
            },
            meta=False,
        )
        self.notify("notifications/initialized")
        return result

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: bool = True,
        timeout: float | None = None,
        token: CancellationToken | None = None,
    ) -> Any:
        """Send one request and return its result; an error response is raised as `PeerError`.

        On modern revisions the required ``_meta`` is filled in, unless ``meta`` is False.
        """
        sent = dict(params or {})
        if meta and is_modern(self.version):
            sent["_meta"] = {**self.meta(), **sent.get("_meta", {})}
        return self._channel.request(method, sent, timeout or self._timeout, token)

    def call(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Send a request and answer what it asks for, round by round, until it is complete."""
        sent = dict(params or {})
        for _ in range(16):
            result = self.request(method, sent, timeout=timeout)
            if method not in MRTR_METHODS or result.get("resultType") != "input_required":
                return result
            sent = {**(params or {}), "inputResponses": {}}
            for asked in parse_input_requests(result.get("inputRequests")):
                sent["inputResponses"][asked.id] = dict(self._callbacks[asked.method](asked.params))
            if "requestState" in result:
                sent["requestState"] = result["requestState"]
        raise AssertionError("the server asked for input 16 times")

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Call a tool; the result in the wire's form."""
        result: dict[str, Any] = self.call(
            "tools/call", {"name": name, "arguments": dict(arguments or {})}, timeout=timeout
        )
        return result

    def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = self.call("prompts/get", {"name": name, "arguments": dict(arguments or {})})
        return result

    def read_resource(self, uri: str) -> dict[str, Any]:
        result: dict[str, Any] = self.call("resources/read", {"uri": uri})
        return result

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        self._channel.write(encode(Notification(method, None if params is None else dict(params))))

    def meta(self) -> dict[str, Any]:
        """The ``_meta`` of a modern request."""
        return {
            MetaKey.PROTOCOL_VERSION: self.version.value,
            MetaKey.CLIENT_CAPABILITIES: self.capabilities,
            MetaKey.CLIENT_INFO: {"name": "mcpref.testing", "version": "0"},
        }

    # ---- Raw access -----------------------------------------------------------------------------------

    def send_line(self, line: bytes) -> None:
        """Put any bytes on the wire, and a newline."""
        self._stream.write(line + b"\n")

    def start(
        self, method: str, params: Mapping[str, Any] | None = None, *, id: RequestId | None = None
    ) -> Call:
        """Send a request and do not wait; the answer comes later through `Call.result`."""
        waiter = self._channel.pending.expect(request_id=id)
        sent = dict(params or {})
        if is_modern(self.version):
            sent["_meta"] = {**self.meta(), **sent.get("_meta", {})}
        self._channel.write(encode(Request(waiter.id, method, sent)))
        return Call(self, waiter.id, lambda timeout: waiter.wait(timeout))

    def next_notification(self, method: str | None = None, timeout: float | None = None) -> Notification:
        """The next notification (of this method); raises `RequestTimeout` if none comes."""
        deadline = Deadline(timeout or self._timeout)
        while True:
            try:
                found = self.notifications.get(timeout=deadline.remaining())
            except queue.Empty:
                raise RequestTimeout(f"no {method or 'notification'} came") from None
            if method is None or found.method == method:
                return found

    # ---- What arrives (on the reader) -----------------------------------------------------------------

    def on_message(self, message: Request | Notification | Batch) -> None:
        if isinstance(message, Batch):
            for entry in message.entries:
                if isinstance(entry, Response | ErrorResponse):
                    self._channel.pending.resolve(entry)
            return
        if isinstance(message, Notification):
            self.messages.append({"method": message.method, "params": message.params})
            self.notifications.put(message)
            return
        self.messages.append({"id": message.id, "method": message.method, "params": message.params})
        # A callback is the test's code, and may block: not on the reader.
        threading.Thread(
            target=self._reply, args=(message,), name="mcpref-peer-callback", daemon=True
        ).start()

    def on_malformed(self, error: ProtocolError) -> None:
        self.messages.append({"malformed": str(error)})

    def on_end(self, reason: str) -> None:
        self._ended.set()

    def _reply(self, request: Request) -> None:
        answer: Response | ErrorResponse
        callback = self._callbacks.get(request.method)
        try:
            if request.method == "ping":
                answer = Response(request.id, {})
            elif callback is None:
                answer = ErrorResponse(request.id, ReceivedError(-32601, f"no callback for {request.method}"))
            else:
                answer = Response(request.id, dict(callback(request.params or {})))
        except PeerError as error:
            answer = ErrorResponse(request.id, ReceivedError(error.code, error.message, error.data))
        except Exception as error:
            # The server's handler learns of it at once, and the test sees it in what the handler makes of it.
            text = f"the test's callback for {request.method} failed: {type(error).__name__}: {error}"
            answer = ErrorResponse(request.id, ReceivedError(-32603, text))
        try:
            self._channel.write(encode(answer))
        except ConnectionClosed:
            pass  # the test is over

    # ---- The end --------------------------------------------------------------------------------------

    def close(self, timeout: float = 10.0) -> bool:
        """Close the connection and wait for the server's end; False if a handler is still running."""
        deadline = Deadline(timeout)
        self._channel.close(deadline)
        clean = True
        if self.connection is not None:
            self.connection.finished.wait(deadline.remaining())
            clean = self.connection.shut_down(deadline)
            self.connection.server.close()
            self.connection = None
        self._reader.join(deadline.remaining())
        if not self._reader.is_alive():
            self._stream.close_read()
        return clean

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class Call:
    """A request that is out."""

    def __init__(self, peer: Peer, id: RequestId, wait: Callable[[float | None], Any]) -> None:
        self.id = id
        self._peer = peer
        self._wait = wait

    def result(self, timeout: float | None = None) -> Any:
        """The result; an error response is raised as `PeerError`."""
        return self._wait(timeout or self._peer._timeout)

    def cancel(self, reason: str = "no longer needed") -> None:
        """Tell the server that the answer is not wanted."""
        self._peer.notify("notifications/cancelled", {"requestId": self.id, "reason": reason})


def _declared(callbacks: Mapping[str, Callback]) -> dict[str, Any]:
    names: dict[str, tuple[str, dict[str, Any]]] = {
        "elicitation/create": ("elicitation", {"form": {}, "url": {}}),
        "sampling/createMessage": ("sampling", {}),
        "roots/list": ("roots", {}),
    }
    return {names[method][0]: names[method][1] for method in callbacks}


class RecordingContext(RequestContext):
    """A context for calling a handler directly: it records what is sent, and answers `ask` from a table.

    ``RecordingContext(answers={"confirm": {"action": "accept", "content": {"sure": True}}})``
    """

    def __init__(
        self,
        *,
        answers: Mapping[str, Any] | None = None,
        version: str = LATEST.value,
        progress_token: RequestId | None = "progress",
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.sent: list[Notification] = []
        """Everything the handler sent."""
        self.asked: dict[str, Ask[Any]] = {}
        """Everything it asked, by key."""
        self.token = CancellationToken()
        """Cancel it to see what the handler does."""
        self._answers = dict(answers or {})
        self._version = ProtocolVersion(version)
        self._progress_token = progress_token
        self._capabilities = dict(capabilities or {})

    @property
    def protocol_version(self) -> ProtocolVersion:
        return self._version

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        return self._capabilities

    @property
    def progress_token(self) -> RequestId | None:
        return self._progress_token

    @property
    def progress(self) -> list[float]:
        """The progress values that were reported."""
        return [(n.params or {})["progress"] for n in self.sent if n.method == "notifications/progress"]

    @property
    def logged(self) -> list[tuple[str, Any]]:
        """The level and data of every log message."""
        messages = [n.params or {} for n in self.sent if n.method == "notifications/message"]
        return [(params["level"], params["data"]) for params in messages]

    @property
    def is_cancelled(self) -> bool:
        return self.token.cancelled

    def wait(self, seconds: float) -> bool:
        """Does not sleep: a test has no time to wait."""
        return self.token.cancelled

    def log_enabled(self, level: str) -> bool:
        return True

    def send(self, notification: Notification) -> None:
        self.sent.append(notification)

    def ask_each(self, requests: dict[str, Ask[Any]], timeout: float | None) -> dict[str, Any]:
        for key, ask in requests.items():
            if key in self.asked:
                raise InvalidRequest(f"the key {key!r} was asked already")
            self.asked[key] = ask
            if key not in self._answers:
                raise KeyError(f"the handler asked {key!r}; give RecordingContext(answers={{{key!r}: ...}})")
        return {key: ask.parse(self._answers[key]) for key, ask in requests.items()}

    def ask(self, key: str, request: Ask[R], *, timeout: float | None = None) -> R:
        answer: R = self.ask_each({key: request}, timeout)[key]
        return answer

    def once(self, key: str, fn: Callable[[], J]) -> J:
        import json

        value: J = json.loads(encode_json(fn()))
        return value
