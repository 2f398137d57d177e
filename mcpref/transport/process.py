"""The process around a stdio server: its standard streams, its signals, and leaving it.

The descriptors 0 and 1 are taken away from everybody else: a handler, a library or a child process that
prints lands on stderr, and one that reads gets the end of input, so that neither can touch the wire.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .duplex import FdStream

if TYPE_CHECKING:
    from ..server.core import McpServer

log = logging.getLogger("mcpref.transport")


@contextmanager
def standard_streams() -> Iterator[FdStream]:
    """Standard input and output as a byte stream of ours alone.

    Spec: 2026-07-28 basic/transports/stdio MUST NOT write anything but messages to stdout
    """
    if sys.stdout is not None:
        sys.stdout.flush()  # what was printed before belongs to nobody's protocol, but must not come later
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    try:
        yield FdStream(read_fd, write_fd)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()
        # Nothing more is written to it here: the connection is over. Point both at the null device, so that a
        # library's last words cannot reach the peer.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.close(null)


@contextmanager
def on_signals(stop: Callable[[str], None]) -> Iterator[None]:
    """Call ``stop`` with a reason on SIGTERM or SIGINT. Main thread only; the former handlers come back."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "signals can be handled in the main thread only; call serve_stdio without signals=True"
        )
    previous = {
        number: signal.signal(number, lambda number, _: stop(signal.Signals(number).name))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_stdio(server: McpServer) -> None:
    """Serve the process's standard streams until the client goes or a signal comes, then return.

    If a handler is stuck after the grace, the process is left at once: nothing could be done for it.
    """
    from .stdio import serve_stdio

    main = threading.current_thread() is threading.main_thread()
    if serve_stdio(server, signals=main):
        return
    print("mcpref: a handler did not end in time; leaving without it", file=sys.stderr)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)
