"""ThreadBudget: how many threads of the WSGI host may wait for a peer at the same time.

A thread is *parked* while it serves a stream, or while its handler waits for the client's answer. The answer
comes on another request, which needs a thread too: if all were parked, nobody could ever be freed. So two are
always left, and at most half of them carry streams. Both kinds count together: with limits of their own, half
for streams and the rest for waits would be all.

Calls that merely run long are not parked; two spare threads protect answers from waits, not from slow tools.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import Busy

#: What is always left for ordinary calls and for answers.
SPARE: Final = 2


class ThreadBudget:
    """Counts parked threads. The lock guards the two numbers."""

    def __init__(self, threads: int) -> None:
        self._lock = threading.Lock()
        self._streams = 0
        self._waits = 0
        self.threads = threads
        """How many threads the host has."""

    @property
    def parked(self) -> int:
        with self._lock:
            return self._streams + self._waits

    @property
    def remedy(self) -> str:
        """What to tell whoever finds no room."""
        if self.threads <= SPARE:
            return (
                f"the host runs {self.threads} thread(s), too few to wait for a client: start it with more, "
                "as in gunicorn --threads 8, and tell mcpref by MCPREF_THREADS=8"
            )
        return "too many streams and questions are open; try again later"

    def take_stream(self) -> bool:
        """Park a thread for a stream; False if there is no room."""
        with self._lock:
            if self._streams >= self.threads // 2 or self._streams + self._waits >= self.threads - SPARE:
                return False
            self._streams += 1
            return True

    def leave_stream(self) -> None:
        with self._lock:
            self._streams -= 1

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Park a thread while its handler waits for the client; raises `Busy` if there is no room."""
        with self._lock:
            if self._streams + self._waits >= self.threads - SPARE:
                raise Busy(self.remedy)
            self._waits += 1
        try:
            yield
        finally:
            with self._lock:
                self._waits -= 1
