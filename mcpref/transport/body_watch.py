"""BodyWatch: cuts off clients that take too long to send a body.

A socket's timeout bounds one read of it, so a byte now and then would hold a thread for ever. Here one thread looks
at all bodies that are being read, and ends the input of those that are late: their readers see the end at once, and
can still answer.

The lock guards the table. A socket is cut off under it, so never after its reader has left.
"""

from __future__ import annotations

import logging
import socket
import threading
from time import monotonic, sleep
from typing import Any, Final

log = logging.getLogger("mcpref.transport")

#: Looks at an empty table before the thread ends; while it is there, a request costs no thread's start.
IDLE_LOOKS: Final = 60


class _Read:
    __slots__ = ("cut_off", "end", "sock")

    def __init__(self, sock: socket.socket, end: float) -> None:
        self.sock = sock
        self.end = end
        self.cut_off = False


class BodyWatch:
    """The bodies that are being read in one process. Any thread may call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._reads: set[_Read] = set()
        self._watching = False

    def __len__(self) -> int:
        with self._lock:
            return len(self._reads)

    def enter(self, sock: socket.socket) -> _Read:
        """A body begins to be read."""
        read = _Read(sock, monotonic() + self._seconds)
        with self._lock:
            self._reads.add(read)
            start, self._watching = not self._watching, True
        if start:
            try:
                threading.Thread(target=self._watch, name="mcpref-body-watch", daemon=True).start()
            except RuntimeError as error:
                log.error("slow bodies are not cut off: %s", error)
                self._watching = False  # the next one tries again
        return read

    def leave(self, read: _Read) -> bool:
        """It is read; whether it was cut off."""
        with self._lock:
            self._reads.discard(read)
            return read.cut_off

    def _watch(self) -> None:
        idle = 0
        while True:
            sleep(min(1.0, self._seconds / 4))
            now = monotonic()
            with self._lock:
                for read in self._reads:
                    if now >= read.end and not read.cut_off:
                        read.cut_off = True
                        _end_input(read.sock)
                idle = 0 if self._reads else idle + 1
                if idle > IDLE_LOOKS:
                    self._watching = False
                    return


def _end_input(sock: Any) -> None:
    try:
        if isinstance(sock, socket.socket):
            # Not a TLS socket's own method, which would end the encryption of the answer too.
            socket.socket.shutdown(sock, socket.SHUT_RD)
        else:
            sock.shutdown(socket.SHUT_RD)
    except OSError:
        pass  # the client has gone
