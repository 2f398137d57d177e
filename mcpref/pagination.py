"""Cursors: where in a list the next page begins.

A cursor names the last item of the page before it, so that a list may change between two pages and no item
comes twice or is left out. It holds no secret and needs no key or table: any process that serves the list
can read it. A checksum tells our cursors, for this list, from anything else.

Spec: 2026-07-28 server/utilities/pagination#pagination-model

Pure: no thread, socket or clock.
"""

from __future__ import annotations

import binascii
import hashlib
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from .errors import InvalidParams

T = TypeVar("T")

# Index and digest of the last item's key, then a checksum: 18 bytes, which is 24 characters and no padding.
_CURSOR = struct.Struct(">I8s6s")
_CURSOR_LENGTH = 24


class Position(NamedTuple):
    """The last item that was sent."""

    place: int
    """Its index at that time."""
    key_digest: bytes
    """What is left of its key: enough to know it again."""


def encode_cursor(kind: str, index: int, key: str) -> str:
    """The cursor after the item ``key``, which stands at ``index`` in the list ``kind``."""
    digest = _key_digest(key)
    raw = _CURSOR.pack(index, digest, _checksum(kind, index, digest))
    return urlsafe_b64encode(raw).decode("ascii")


def decode_cursor(kind: str, cursor: object) -> Position:
    """Read a cursor that `encode_cursor` made for the same kind of list.

    An empty string may be a cursor, but never one of ours.

    Spec: 2026-07-28 server/utilities/pagination#error-handling SHOULD answer an invalid cursor with -32602
    """
    if not isinstance(cursor, str):
        raise InvalidParams("cursor must be a string")
    if len(cursor) != _CURSOR_LENGTH:
        raise _invalid()
    try:
        raw = urlsafe_b64decode(cursor.encode("ascii"))
    except (UnicodeEncodeError, binascii.Error):
        raise _invalid() from None
    # The decoder takes padding and two alphabets, and skips foreign characters: 24 need not be 18 bytes.
    if len(raw) != _CURSOR.size or urlsafe_b64encode(raw).decode("ascii") != cursor:
        raise _invalid()
    index, digest, checksum = _CURSOR.unpack(raw)
    if checksum != _checksum(kind, index, digest):
        raise _invalid()
    return Position(index, digest)


def paginate(
    items: Sequence[T], keys: Sequence[str], kind: str, cursor: object, page_size: int | None
) -> tuple[Sequence[T], str | None]:
    """One page of ``items``, and the cursor of the next one (None at the end).

    ``keys`` are the items' unique names, in the same order. Without a page size everything comes at once.
    ``cursor`` is the request's, unchecked. If the item that it names is gone, nobody can say where to go on,
    and the client is told to begin again.

    Spec: 2026-07-28 server/utilities/pagination#implementation-guidelines SHOULD provide stable cursors
    Spec: 2024-11-05..2026-07-28 server/utilities/pagination#error-handling SHOULD be -32602
    """
    if page_size is not None and page_size < 1:
        raise ValueError(f"a page has at least one item, not {page_size}")
    if len(items) != len(keys):
        raise ValueError("each item needs a key")
    start = 0 if cursor is None else _after(decode_cursor(kind, cursor), keys)
    if page_size is None or start + page_size >= len(items):
        return items[start:], None
    last = start + page_size - 1
    return items[start : last + 1], encode_cursor(kind, last, keys[last])


def _after(position: Position, keys: Sequence[str]) -> int:
    index, digest = position
    # Where the list has not changed, which is nearly always, this is the only key that is hashed.
    if index < len(keys) and _key_digest(keys[index]) == digest:
        return index + 1
    for moved_to, key in enumerate(keys):
        if _key_digest(key) == digest:
            return moved_to + 1
    raise _invalid()


def _key_digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8]


def _checksum(kind: str, index: int, digest: bytes) -> bytes:
    return hashlib.sha256(b"mcpref cursor %d %s %s" % (index, digest, kind.encode())).digest()[:6]


def _invalid() -> InvalidParams:
    return InvalidParams("cursor is not valid: start again without a cursor")
