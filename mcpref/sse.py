"""Server-sent events: one encoder, one incremental decoder.

Follows the event stream format of the WHATWG HTML standard, section 9.2. It knows nothing of MCP: which
events have an id, when to send a keep-alive and what to do with the data is decided by the transports.
Nothing here reads, writes or waits.

Spec: 2025-03-26..2025-11-25 basic/transports#streamable-http
Spec: 2026-07-28 basic/transports/streamable-http#receiving-messages
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .errors import LocalError

#: Largest event that is accepted, in bytes: all its lines together, without their ends.
MAX_EVENT: Final = 4 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
# A reconnection time of more digits than this (30,000 years) is noise; int() also has a limit of its own.
_RETRY_DIGITS = 15


class EventTooLarge(LocalError):
    """The peer sent an event over the bound; the stream cannot be read any further."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the stream sent an event of more than {limit} bytes; raise the limit if it is legitimate"
        )
        self.limit = limit


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event."""

    data: str
    """The data lines, joined by line feeds. Empty for an event that only sets an id."""
    event: str = "message"
    """Its type."""
    id: str = ""
    """The last event id in force, which an earlier event may have set; empty if none has."""
    retry: int | None = None
    """The reconnection time in milliseconds, if this event changed it."""


def encode_event(
    data: str | bytes, *, event: str | None = None, id: str | None = None, retry: int | None = None
) -> bytes:
    r"""One event. Line breaks in ``data`` become several data lines, which the reader joins by ``\n``.

    Empty data still writes its ``data`` line: without one a reader would keep the id but dispatch nothing.

    Spec: 2025-11-25 basic/transports#sending-messages-to-the-server SHOULD open a stream with an event that
    has an id and empty data
    """
    lines = []
    if event is not None:
        lines.append(b"event: " + _field_value("event", event))
    if id is not None:
        lines.append(b"id: " + _field_value("id", id))
    if retry is not None:
        if type(retry) is not int or retry < 0:
            raise ValueError(f"retry must be a number of milliseconds, 0 or more, not {retry!r}")
        lines.append(b"retry: %d" % retry)
    payload = data.encode("utf-8") if isinstance(data, str) else data
    lines += [b"data: " + line for line in _split_lines(payload)]
    return b"\n".join(lines) + b"\n\n"


def encode_comment(text: str = "") -> bytes:
    """A comment, which every reader skips: a keep-alive, and a write that shows whether the peer is there.

    No blank line follows, because some readers take a blank line for an event of its own.

    Spec: 2026-07-28 basic/transports/streamable-http#receiving-messages
    """
    lines = _split_lines(text.encode("utf-8"))
    return b"".join(b": " + line + b"\n" if line else b":\n" for line in lines)


def _field_value(field: str, value: str) -> bytes:
    if "\r" in value or "\n" in value or "\0" in value:
        raise ValueError(f"the {field} of an event must not contain CR, LF or NUL: {value[:64]!r}")
    return value.encode("utf-8")


def _split_lines(data: bytes) -> list[bytes]:
    # Not bytes.splitlines, which drops an empty last line.
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.split(b"\n")


class EventDecoder:
    r"""Reads events from a byte stream, however it is chunked.

    Works on bytes and decodes each field when its line is complete: ``\r`` and ``\n`` never occur inside a
    UTF-8 sequence, so a character cut in two by a chunk needs no care. Malformed UTF-8 becomes U+FFFD, as
    the standard asks. What is unfinished at the end of the stream is dropped with the decoder.
    """

    __slots__ = (
        "_after_cr",
        "_data",
        "_event",
        "_failure",
        "_first_line",
        "_id",
        "_max_event",
        "_pending",
        "_retry",
        "_size",
        "last_event_id",
        "retry",
    )

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        if max_event < 1:
            raise ValueError(f"max_event must be at least 1, not {max_event}")
        self.last_event_id = ""
        """Where to resume: the id of the last event that arrived whole, with or without data."""
        self.retry: int | None = None
        """The reconnection time in milliseconds that the stream last asked for."""
        self._max_event = max_event
        self._pending = bytearray()
        self._after_cr = False
        self._first_line = True
        self._failure: EventTooLarge | None = None
        # The event being built. `_size` counts its lines, comments left out: they do not pile up.
        self._size = 0
        self._data: list[bytes] = []
        self._event = ""
        self._id = ""
        self._retry: int | None = None

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that ``data`` completes, in order.

        Raises `EventTooLarge` as soon as an event passes the bound, and at every call from then on. Events
        that were whole before it in the same chunk are returned first; the next call raises, be it the
        ``feed(b"")`` that a reader makes at the end of the stream.
        """
        if self._failure is not None:
            raise self._failure
        if self._after_cr and data:
            # The second half of a \r\n whose first half ended the last chunk.
            data = data.removeprefix(b"\n")
            self._after_cr = False
        events: list[SseEvent] = []
        if not data:
            return events
        self._after_cr = data.endswith(b"\r")
        lines = _split_lines(data)
        unfinished = lines.pop()
        try:
            for line in lines:
                if self._pending:
                    self._pending += line
                    line = bytes(self._pending)
                    self._pending.clear()
                self._take_line(line, events)
            self._pending += unfinished
            self._check_size(len(self._pending))
        except EventTooLarge as failure:
            self._failure = failure
            if not events:
                raise
        return events

    def _check_size(self, more: int) -> None:
        if self._size + more > self._max_event:
            self._pending.clear()
            self._data.clear()
            raise EventTooLarge(self._max_event)

    def _take_line(self, line: bytes, events: list[SseEvent]) -> None:
        self._check_size(len(line))
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events)
            return
        if line.startswith(b":"):
            return
        self._size += len(line)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode("utf-8", "replace")
        elif field == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self._retry = self.retry = int(value)

    def _dispatch(self, events: list[SseEvent]) -> None:
        # An id counts once its event is whole, even if there is no data; one cut off by a disconnect does
        # not, or the event it belongs to would be skipped on resumption.
        self.last_event_id = self._id
        if self._data:
            text = b"\n".join(self._data).decode("utf-8", "replace")
            events.append(SseEvent(text, self._event or "message", self._id, self._retry))
            self._data.clear()
        self._event = ""
        self._retry = None
        self._size = 0
