"""The process around a stdio server: its standard streams, its signals, and leaving it.

The descriptors 0 and 1 are taken away from everybody else: a handler, a library or a child process that
prints lands on stderr, and one that reads gets the end of input, so that neither can touch the wire.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from .duplex import ByteStream, FdStream

if TYPE_CHECKING:
    from ..server.core import McpServer

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def take_standard_streams() -> FdStream:
    """Standard input and output as a byte stream of ours alone. They are not given back.

    Spec: 2026-07-28 basic/transports/stdio MUST NOT write anything but messages to stdout
    """
    # A standard descriptor that came closed would be the number of the next thing opened: it gets the null device.
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    read_fd, write_fd = os.dup(0), os.dup(1)
    for fd in (read_fd, write_fd):
        os.set_blocking(fd, True)  # a parent may have left it otherwise, and reads would fail
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    # After the descriptor was turned away: what a script printed before it came here, and what is still in the
    # buffer, is not for the peer either.
    if sys.stdout is not None:
        sys.stdout.flush()
    stream = FdStream(read_fd, write_fd)
    # A forked child that outlives this process would hold the wire open, and the client would see no end of it.
    _after_fork(stream.close_read)
    _after_fork(stream.close_write)
    return stream


def _after_fork(in_child: Callable[[], None]) -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)


class Bell:
    """Wakes the one thread that waits for the end: any thread may ring it, and so may a signal.

    It is a pipe, because the interpreter writes to one in the very moment of a signal (`signal.set_wakeup_fd`).
    What waits on a lock or a queue can miss a signal that comes just before it blocks, and a handler that sets an
    event can wait for ever for the event's lock, which the thread it interrupted holds.
    """

    def __init__(self) -> None:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._lock = threading.Lock()
        self._closed = False

    def ring(self) -> None:
        with self._lock:
            if not self._closed:
                os.write(self._write_fd, b"\0")

    def wait(self) -> str | None:
        """Until it is rung; the name of the signal if it was one."""
        while True:
            (number,) = os.read(self._read_fd, 1)
            if number == 0:
                return None
            if number in _SIGNALS:  # the application may have handlers for others
                return signal.Signals(number).name

    @contextmanager
    def rung_by_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT ring it. Main thread only; what was set before comes back."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(
                "signals can be handled in the main thread only; call serve_stdio without signals=True"
            )
        handlers = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        wakeup_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)

        def restore() -> None:
            if handlers:  # once
                signal.set_wakeup_fd(wakeup_fd)
            while handlers:
                number, handler = handlers.popitem()
                # None: it was not set from Python, and cannot be set again from here.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

        # A signal to a forked child would not end the child but ring here: the pipe is one and the same.
        _after_fork(restore)
        try:
            yield
        finally:
            restore()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            os.close(self._read_fd)
            os.close(self._write_fd)


def run_stdio(server: McpServer, stream: ByteStream | None = None) -> None:
    """Serve the process's standard streams until the client goes or a signal comes, then return.

    A ``stream`` is what `take_standard_streams` gave, for a caller that has taken them already. If something is
    stuck after the grace, the process is left at once: nothing could be done for it.
    """
    from .stdio import serve_stdio

    main = threading.current_thread() is threading.main_thread()
    if serve_stdio(server, stream, signals=main):
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            # A client may close our input and send a signal at once. Both mean the same, so the second must not turn
            # a good end into a bad one while the interpreter is on its way out.
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        return
    print(
        f"mcpref: a handler, or a peer that does not read, held up the end for {server.settings.shutdown_grace:g} "
        "seconds; leaving without it",
        file=sys.stderr,
    )
    atexit._run_exitfuncs()
    for output in (sys.stdout, sys.stderr):
        if output is not None:
            output.flush()
    os._exit(0)
