"""Where the answer to a request goes: to the peer as one line, or into the array that answers a batch.

Each kind has two ways in, because the reader must not write and a worker may.
"""

from __future__ import annotations

import threading
from typing import Protocol

from ..jsonrpc import ErrorResponse, Response, encode_batch


class Sender(Protocol):
    """A connection, as far as an answer needs it."""

    def encode(self, response: Response | ErrorResponse) -> bytes: ...

    def post(self, payload: bytes) -> None:
        """Queue it; waits a moment only where the queue is full."""

    def write(self, payload: bytes) -> None:
        """Write it; waits for the peer."""


class Answer:
    """Where the answer to one request goes."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Sender) -> None:
        self._connection = connection

    def from_reader(self, response: Response | ErrorResponse | None) -> None:
        """From the reader, which must not write."""
        if response is not None:
            self._connection.post(self._connection.encode(response))

    def from_worker(self, response: Response | ErrorResponse | None) -> None:
        """From a worker."""
        if response is not None:
            self._connection.write(self._connection.encode(response))


class BatchAnswer(Answer):
    """Gathers the answers to a batch; the last one sends them all.

    JSON-RPC: 6
    """

    __slots__ = ("_answers", "_lock", "_missing")

    def __init__(self, connection: Sender, expected: int) -> None:
        super().__init__(connection)
        self._lock = threading.Lock()
        self._missing = expected
        self._answers: list[Response | ErrorResponse] = []

    def from_reader(self, response: Response | ErrorResponse | None) -> None:
        if payload := self._add(response):
            self._connection.post(payload)

    def from_worker(self, response: Response | ErrorResponse | None) -> None:
        if payload := self._add(response):
            self._connection.write(payload)

    def _add(self, response: Response | ErrorResponse | None) -> bytes | None:
        with self._lock:
            self._missing -= 1
            if response is not None:
                self._answers.append(response)
            if self._missing or not self._answers:
                return None
            answers = self._answers
        try:
            return encode_batch(answers)
        except (ValueError, TypeError, RecursionError):
            # One of them has no JSON form; encoded by itself it becomes an error.
            return b"[" + b",".join(self._connection.encode(answer) for answer in answers) + b"]"
