"""Cursors that survive a change of the list, and nothing else."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.errors import InvalidParams
from mcpref.pagination import decode_cursor, encode_cursor, paginate

KEYS = st.lists(st.text(), unique=True, max_size=30)
NAMES = [f"tool-{n}" for n in range(10)]
INVALID = [
    "pagination.after-cursor",
    "2025-11-25:pagination.invalid-cursor",
    "2026-07-28:pagination.invalid-cursor-32602",
    "2025-11-25:pagination.graceful",
    "2026-07-28:pagination.invalid-graceful",
]


def page(
    keys: list[str], cursor: object = None, size: int | None = 3, kind: str = "tools"
) -> tuple[list[str], str | None]:
    items, following = paginate(keys, keys, kind, cursor, size)
    return list(items), following


def code(cursor: object, keys: list[str] = NAMES, kind: str = "tools") -> int:
    with pytest.raises(InvalidParams, match="cursor") as caught:
        page(keys, cursor, kind=kind)
    return caught.value.code


@pytest.mark.req("pagination.after-cursor", "2025-11-25:pagination.next-cursor")
@given(KEYS, st.integers(1, 40) | st.none())
def test_all_pages_together_are_the_list(keys: list[str], size: int | None) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        items, cursor = page(keys, cursor, size)
        seen += items
        if cursor is None:
            break
        assert size is not None
        assert len(items) == size
    assert seen == keys


def test_items_need_not_be_their_keys() -> None:
    items = [{"n": n} for n in range(4)]
    first, cursor = paginate(items, ["a", "b", "c", "d"], "tools", None, 3)
    assert first == items[:3]
    assert paginate(items, ["a", "b", "c", "d"], "tools", cursor, 3) == (items[3:], None)


@pytest.mark.parametrize(("length", "more"), [(2, False), (3, False), (4, True)])
def test_a_cursor_is_given_only_if_more_follows(length: int, more: bool) -> None:
    items, cursor = page(NAMES[:length])
    assert (len(items), cursor is not None) == (min(length, 3), more)


@pytest.mark.req("2025-11-25:pagination.stable", "2026-07-28:pagination.stable-cursors")
def test_a_cursor_gives_the_same_page_each_time_and_everywhere() -> None:
    _, cursor = page(NAMES)
    assert page(NAMES, cursor) == page(NAMES, cursor)
    assert page(NAMES, cursor)[0] == NAMES[3:6]
    # No key and no table: another process makes the same cursor.
    assert cursor == encode_cursor("tools", 2, "tool-2")


def test_another_page_size_may_follow() -> None:
    _, cursor = page(NAMES, size=3)
    assert page(NAMES, cursor, size=5)[0] == NAMES[3:8]
    assert page(NAMES, cursor, size=None) == (NAMES[3:], None)


@given(KEYS, KEYS, st.data())
def test_a_changed_list_neither_repeats_nor_skips(
    keys: list[str], added: list[str], data: st.DataObject
) -> None:
    """Whatever was removed or added meanwhile, what comes after the last item sent comes next."""
    if len(keys) < 2:
        keys = [*keys, "one", "two"]
        keys = list(dict.fromkeys(keys))
    size = data.draw(st.integers(1, len(keys) - 1))
    sent, cursor = page(keys, size=size)
    assert cursor is not None
    last = sent[-1]
    changed = [key for key in keys if key == last or data.draw(st.booleans())]
    for key in added:
        if key not in keys:
            changed.insert(data.draw(st.integers(0, len(changed))), key)
    items, _ = page(changed, cursor, size=None)
    assert items == changed[changed.index(last) + 1 :]
    assert not set(items) & set(sent)


def test_when_the_last_item_is_gone_the_client_begins_again() -> None:
    _, cursor = page(NAMES)
    with pytest.raises(InvalidParams, match="start again without a cursor"):
        page([name for name in NAMES if name != "tool-2"], cursor)


def test_a_list_that_ends_at_the_cursor_gives_an_empty_page() -> None:
    _, cursor = page(NAMES)
    assert page(NAMES[:3], cursor) == ([], None)


@pytest.mark.req(*INVALID[1:])
@pytest.mark.parametrize(
    "cursor", ["", "x", "AAAA", "A" * 24, "=" * 24, "é" * 24, "\ud800" * 24, "A" * 10_000, "eyJwYWdlIjogM30="]
)
def test_foreign_cursors_are_invalid(cursor: str) -> None:
    assert code(cursor) == -32602


@pytest.mark.req(*INVALID[1:])
@given(
    st.text() | st.binary(min_size=18, max_size=18).map(lambda raw: base64.urlsafe_b64encode(raw).decode())
)
def test_garbage_is_invalid(cursor: str) -> None:
    assert code(cursor) == -32602


@pytest.mark.req(*INVALID[1:])
def test_no_changed_character_goes_unnoticed() -> None:
    cursor = encode_cursor("tools", 2, "tool-2")
    for index, character in enumerate(cursor):
        for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ":
            if other != character:
                assert code(cursor[:index] + other + cursor[index + 1 :]) == -32602


def test_the_other_alphabet_of_base64_is_not_taken() -> None:
    cursors = [encode_cursor("tools", index, name) for index, name in enumerate(NAMES)]
    swapped = {cursor.translate(str.maketrans("-_", "+/")) for cursor in cursors} - set(cursors)
    assert swapped
    assert {code(cursor) for cursor in swapped} == {-32602}


@pytest.mark.parametrize("cursor", [5, 1.5, True, False, [], {}, ["x"]])
def test_a_cursor_is_a_string(cursor: Any) -> None:
    assert code(cursor) == -32602


def test_a_cursor_of_another_list_is_invalid() -> None:
    assert code(encode_cursor("prompts", 2, "tool-2")) == -32602
    assert code(encode_cursor("tools", 2, "tool-2"), kind="prompts") == -32602


def test_a_cursor_has_a_fixed_length_and_does_not_show_the_key() -> None:
    short, long = encode_cursor("tools", 0, "x"), encode_cursor("resources", 4_000_000_000, "y" * 8192)
    assert len(short) == len(long) == 24
    assert decode_cursor("resources", long).place == 4_000_000_000


@pytest.mark.parametrize("size", [0, -1])
def test_a_page_has_at_least_one_item(size: int) -> None:
    with pytest.raises(ValueError, match="at least one item"):
        page(NAMES, size=size)


def test_each_item_needs_a_key() -> None:
    with pytest.raises(ValueError, match="needs a key"):
        paginate([1, 2], ["a"], "tools", None, None)
