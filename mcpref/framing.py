"""Lines of the stdio wire: bytes as they arrive to whole lines, and back.

One line carries one message. This module finds the lines and bounds their length; it does not know what a
message is, and it neither reads nor writes: the caller feeds it what it has read.

Spec: 2024-11-05..2025-11-25 basic/transports#stdio
Spec: 2026-07-28 basic/transports/stdio
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: Longest line that is accepted, in bytes, without its terminator.
MAX_LINE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LineTooLong:
    """Stands in the place of a line that was longer than the bound; its bytes are gone."""

    limit: int
    """The bound that was passed."""

    def __str__(self) -> str:
        return f"a line is longer than {self.limit} bytes; send a shorter message or raise the limit"


class LineDecoder:
    r"""Cuts a byte stream into lines, however it is chunked.

    A line ends at ``\n`` and nowhere else: the other characters that `bytes.splitlines` or
    `str.splitlines` would cut at (a lone ``\r``, form feed, U+2028, ...) are data. One ``\r`` before the
    ``\n`` is dropped, and so are lines of nothing but blanks.

    It holds no more than the bound plus one chunk. Not thread-safe: it belongs to the one reader.
    """

    __slots__ = ("_max_line", "_pending", "_skipping")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        if max_line < 1:
            raise ValueError(f"max_line must be at least 1, not {max_line}")
        self._max_line = max_line
        # A bytearray grows in amortised constant time, so that a long line in many small reads stays linear.
        self._pending = bytearray()
        # True from the moment a line was reported as too long until its end has been seen.
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """The lines that ``data`` completes, in order, without their terminators.

        An over-long line gives one `LineTooLong` as soon as the bound is passed, not only at its end, so
        that the peer is told even if it never sends one.
        """
        pieces = data.split(b"\n")
        unfinished = pieces.pop()
        found: list[bytes | LineTooLong] = []
        for piece in pieces:
            if self._skipping:
                self._skipping = False
                continue
            if self._pending:
                self._pending += piece
                piece = bytes(self._pending)
                self._pending.clear()
            line = piece.removesuffix(b"\r")
            if len(line) > self._max_line:
                found.append(LineTooLong(self._max_line))
            elif line.strip(b" \t"):
                found.append(line)
        if unfinished and not self._skipping:
            self._pending += unfinished
            # One byte more is allowed while it may still turn out to be the \r of the terminator.
            if len(self._pending) - self._pending.endswith(b"\r") > self._max_line:
                self._pending.clear()
                self._skipping = True
                found.append(LineTooLong(self._max_line))
        return found

    def eof(self) -> int:
        """Forget an unfinished last line; how many bytes it had.

        A line without its terminator may be half a message whose writer died, so it is never handed out.
        The bytes of a line that was already reported as too long do not count.
        """
        discarded = len(self._pending)
        self._pending.clear()
        self._skipping = False
        return discarded


def encode_line(payload: bytes) -> bytes:
    r"""One message as one line.

    Spec: 2024-11-05..2025-11-25 basic/transports#stdio MUST NOT contain embedded newlines
    Spec: 2026-07-28 basic/transports/stdio MUST NOT contain embedded newlines

    A raw ``\r`` is refused as well: readers in text mode take it for the end of a line. JSON never needs
    either, since both are escaped inside strings.
    """
    if b"\n" in payload or b"\r" in payload:
        raise ValueError(
            "a message for the stdio wire must not contain a raw line break; encode it as compact JSON"
        )
    return payload + b"\n"
