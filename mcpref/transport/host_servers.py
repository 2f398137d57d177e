"""WSGI servers that run inside this process, each behind the same three verbs: serve, drain, stop.

waitress is the one to use: it keeps connections alive, streams, reads bodies and sends plain answers on a thread of
its own so that slow clients hold none of the others, and tells when a client has gone. werkzeug's is always there,
and closes every connection after one request. cheroot is here for those who run it anyway.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from importlib.util import find_spec
from time import sleep
from typing import Any, Final, Protocol

from ..cancellation import Deadline
from ..settings import Settings
from .wsgi import McpApp, WsgiApp

#: How often a server that cannot be asked to tell is looked at while it drains.
_LOOK: Final = 0.02


class AddressUnavailable(OSError):
    """The address to serve on cannot be had."""


class HostServer(Protocol):
    """A WSGI server on a socket that listens already."""

    name: str

    def serve(self) -> None:
        """Until `stop`."""

    def drain(self, deadline: Deadline) -> None:
        """Wait until what was answered is sent."""

    def stop(self) -> None:
        """Have `serve` return. From any thread."""


class Waitress:
    """The server to use; ``pip install mcpref[serve]``."""

    name = "waitress"

    def __init__(self, app: WsgiApp, sock: socket.socket, threads: int, settings: Settings) -> None:
        from waitress.server import create_server

        options: dict[str, Any] = {}
        if isinstance(app, McpApp):  # anybody else's may take uploads
            options["max_request_body_size"] = settings.max_message + 64 * 1024
        self._server: Any = create_server(
            app,
            sockets=[sock],
            threads=threads,
            # By default it stops accepting at 100, and select() at descriptor 1024.
            connection_limit=1000,
            # Idle ones make room for others sooner than after two minutes.
            channel_timeout=30,
            cleanup_interval=5,
            asyncore_use_poll=True,
            # Otherwise its probe says for ever that the client is there.
            channel_request_lookahead=1,
            # Past that, whoever writes waits; more would only sit in memory.
            outbuf_high_watermark=settings.stream_buffer_bytes,
            # As other hosts do: whom to believe is for ProxyFix or the framework to say.
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            ident=None,
            **options,
        )
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # It has no timeout for sending, so a client that does not read would hold a thread for ever.
            patience = int(settings.send_timeout * 1000)
            option = (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, patience)
            self._server.adj.socket_options = [*self._server.adj.socket_options, option]

    def serve(self) -> None:
        self._server.run()

    def drain(self, deadline: Deadline) -> None:
        while self._is_busy() and not deadline.expired:
            sleep(_LOOK)

    def _is_busy(self) -> bool:
        return any(
            channel.requests or channel.total_outbufs_len
            for channel in list(self._server.active_channels.values())
        )

    def stop(self) -> None:
        from waitress.wasyncore import close_all

        def close_connections() -> None:
            for channel in list(self._server.active_channels.values()):
                channel.handle_close()

        pulled = threading.Event()

        def close_everything() -> None:
            # Somebody else's pull may bring the loop here before ours has touched the trigger, which is closed now.
            pulled.wait(1.0)
            close_all(self._server._map)

        # Each on the loop's own thread, which is waiting on what is to be closed. The trigger goes last: threads that
        # come to their end pull it once more. Without it the loop is over.
        self._server.trigger.pull_trigger(close_connections)
        self._server.task_dispatcher.shutdown(timeout=1)
        self._server.trigger.pull_trigger(close_everything)
        pulled.set()


class Werkzeug:
    """The server for development: a thread for each connection, one request on each."""

    name = "werkzeug"

    def __init__(self, app: WsgiApp, sock: socket.socket, threads: int, settings: Settings) -> None:
        from werkzeug.serving import WSGIRequestHandler, make_server

        self._responses = responses = _Responses()

        class Handler(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"

            def run_wsgi(self) -> None:
                with responses:
                    super().run_wsgi()

            def log(self, type: str, message: str, *args: Any) -> None:
                pass  # what matters is logged by the application

        host, port = sock.getsockname()[:2]
        self._server = make_server(host, port, app, threaded=True, request_handler=Handler, fd=sock.fileno())
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        sock.close()  # it has a duplicate

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.1)

    def drain(self, deadline: Deadline) -> None:
        self._responses.wait(deadline)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Responses:
    """Counts the responses under way: the threads that send them are daemons, and nobody else waits for those."""

    def __init__(self) -> None:
        self._none = threading.Condition()
        self._count = 0

    def __enter__(self) -> None:
        with self._none:
            self._count += 1

    def __exit__(self, *exc: object) -> None:
        with self._none:
            self._count -= 1
            self._none.notify_all()

    def wait(self, deadline: Deadline) -> None:
        """Until all are sent, or the time is up."""
        with self._none:
            self._none.wait_for(lambda: not self._count, deadline.remaining())


class Cheroot:
    """CherryPy's server. It shows nothing of a connection, so a silent call outlives its client."""

    name = "cheroot"

    def __init__(self, app: WsgiApp, sock: socket.socket, threads: int, settings: Settings) -> None:
        from cheroot.wsgi import Server

        address = sock.getsockname()[:2]
        sock.close()  # it binds by itself, and takes no socket
        self._server: Any = Server(
            address,
            app,
            numthreads=threads,
            request_queue_size=1024,
            timeout=max(1, round(settings.send_timeout)),
        )
        # It has no bounds of its own, and takes in what was refused too.
        self._server.max_request_header_size = 64 * 1024
        if isinstance(app, McpApp):
            self._server.max_request_body_size = settings.max_message + 64 * 1024
        try:
            # Its threads would hold up the interpreter's end, and take after the one that starts them.
            _on_daemon(self._server.prepare)
        except OSError as error:
            raise AddressUnavailable(error.errno, error.strerror or str(error)) from error

    def serve(self) -> None:
        self._server.serve()

    def drain(self, deadline: Deadline) -> None:
        self._server.shutdown_timeout = deadline.remaining()  # stopping it is what waits for its threads

    def stop(self) -> None:
        # It would wait for ever for a thread whose connection it has closed, but whose handler goes on.
        _on_daemon(self._server.stop, (self._server.shutdown_timeout or 0.0) + 1.0)


def _on_daemon(step: Callable[[], None], seconds: float | None = None) -> None:
    """Do it on a daemon thread, as whose children the threads that it starts are daemons too; wait so long for it."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            step()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="mcpref-cheroot", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]


#: By their names on the command line, the best first.
HOST_SERVERS: Final[dict[str, Callable[[WsgiApp, socket.socket, int, Settings], HostServer]]] = {
    "waitress": Waitress,
    "cheroot": Cheroot,
    "werkzeug": Werkzeug,
}


def default_host_server() -> str:
    """waitress if it is installed, else what always is."""
    return "waitress" if find_spec("waitress") is not None else "werkzeug"
