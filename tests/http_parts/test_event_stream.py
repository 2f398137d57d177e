"""LocalStream and EventIterator: what waits, what overflows, and how a stream ends."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from typing import Any

import pytest

from mcpref import Settings
from mcpref.errors import ConnectionClosed
from mcpref.transport.event_stream import EventIterator, LocalStream
from mcpref.transport.seams import Event
from tests.threads import PATIENCE, eventually, join, together, until

SETTINGS = Settings(stream_buffer_events=3, stream_buffer_bytes=10, keep_alive=30.0)


class Overflow:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def local(settings: Settings = SETTINGS, **options: Any) -> tuple[LocalStream, threading.Event, Overflow]:
    wake, overflow = threading.Event(), Overflow()
    return LocalStream(wake.set, settings, overflow, **options), wake, overflow


# ---- LocalStream --------------------------------------------------------------------------------------


def test_what_is_written_is_read_once() -> None:
    stream, wake, _ = local()
    stream.append(b"a")
    assert wake.is_set()
    stream.append(b"b", last=True)
    before = stream.closed
    assert stream.read() == [Event(0, b"a", False), Event(1, b"b", True)]
    assert stream.read() == []
    assert (before, stream.closed) == (False, True)
    stream.append(b"late")
    assert stream.read() == []


def test_events_overflow_one_past_the_limit() -> None:
    stream, wake, overflow = local()
    for _ in range(3):
        stream.append(b"x")
    wake.clear()
    with pytest.raises(ConnectionClosed, match="too slowly"):
        stream.append(b"x")
    assert overflow.count == 1
    assert wake.is_set(), "whoever reads must see that it is over"
    with pytest.raises(ConnectionClosed):
        stream.append(b"x")
    assert overflow.count == 1


def test_bytes_overflow_one_past_the_limit() -> None:
    stream, _, overflow = local()
    stream.append(b"x" * 9)
    stream.append(b"x")
    with pytest.raises(ConnectionClosed):
        stream.append(b"x")
    assert overflow.count == 1


def test_one_event_may_be_larger_than_the_buffer() -> None:
    stream, _, _ = local()
    stream.append(b"x" * 100)
    assert [len(event.data) for event in stream.read()] == [100]
    stream.append(b"y")
    assert [event.data for event in stream.read()] == [b"y"]


def test_the_answer_is_always_taken() -> None:
    stream, _, overflow = local()
    for _ in range(3):
        stream.append(b"x")
    stream.append(b"y" * 100, last=True)
    assert len(stream.read()) == 4
    assert overflow.count == 0


def test_reading_makes_room() -> None:
    stream, _, _ = local()
    for _ in range(10):
        for _ in range(3):
            stream.append(b"xxx")
        assert len(stream.read()) == 3


def test_a_patient_writer_waits_for_room() -> None:
    stream, _, overflow = local(patience=PATIENCE)
    seen: list[Event] = []

    def write() -> None:
        for number in range(300):
            stream.append(b"%d" % number, last=number == 299)

    def read() -> None:
        while not stream.closed:
            seen.extend(stream.read())

    together(write, read)
    assert [event.seq for event in seen] == list(range(300))
    assert overflow.count == 0


def test_a_writer_that_waits_is_freed_when_the_client_goes() -> None:
    stream, _, overflow = local(patience=PATIENCE)
    for _ in range(3):
        stream.append(b"x")
    failures: list[ConnectionClosed] = []

    def write() -> None:
        try:
            stream.append(b"x")
        except ConnectionClosed as error:
            failures.append(error)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    stream.detach()
    join(thread)
    assert len(failures) == 1
    assert overflow.count == 0


def test_when_the_client_has_gone_nothing_can_be_written() -> None:
    stream, _, _ = local()
    stream.append(b"x")
    assert stream.unread_for() == 0
    stream.detach()
    assert stream.closed
    assert stream.read() == []
    assert stream.unread_for() == float("inf"), "nobody can come back to it"
    with pytest.raises(ConnectionClosed, match="gone"):
        stream.append(b"x", last=True)


def test_closing_ends_it_without_an_answer() -> None:
    stream, wake, _ = local()
    stream.append(b"x")
    wake.clear()
    stream.close()
    assert wake.is_set()
    before = stream.closed
    assert len(stream.read()) == 1
    assert (before, stream.closed) == (False, True)
    stream.detach_reader()
    stream.append(b"late")
    assert stream.read() == []


# ---- EventIterator ------------------------------------------------------------------------------------


class Ends(list[bool]):
    """What ``on_close`` was told, by each call."""


def iterator(
    settings: Settings = SETTINGS, **options: Any
) -> tuple[EventIterator, LocalStream, threading.Event, Ends]:
    stream, wake, _ = local(settings)
    ends = Ends()
    return EventIterator(stream, wake, settings, on_close=ends.append, **options), stream, wake, ends


def test_the_body_is_the_events_and_ends_with_the_answer() -> None:
    body, stream, _, ends = iterator()
    stream.append(b'{"a":1}')
    assert next(body) == b'data: {"a":1}\n\n'
    stream.append(b"{}", last=True)
    assert next(body) == b"data: {}\n\n"
    with pytest.raises(StopIteration):
        next(body)
    assert ends == [True], "at once, not when the host gets to it"
    body.close()
    assert ends == [True]
    with pytest.raises(StopIteration):
        next(body)


def test_what_waits_goes_out_in_one_piece() -> None:
    body, stream, _, _ = iterator()
    stream.append(b"1")
    stream.append(b"2", last=True)
    assert next(body).count(b"data: ") == 2


def test_events_have_ids_where_the_stream_has_one() -> None:
    settings = replace(SETTINGS, retry_ms=250)
    body, stream, _, _ = iterator(settings, stream_id="abc")
    stream.append(b"")
    stream.append(b"{}")
    chunk = next(body)
    assert b"id: abc.0\n" in chunk
    assert b"id: abc.1\n" in chunk
    assert chunk.count(b"retry: 250\n") == 1, "with the priming event"
    body.close()


def test_a_waiting_body_is_woken_by_an_event() -> None:
    body, stream, _, _ = iterator()
    chunks = together(lambda: next(body), lambda: stream.append(b"{}"))
    assert b"data: {}" in chunks[0]
    body.close()


def test_a_comment_opens_a_stream_that_has_nothing_to_say() -> None:
    body, stream, _, _ = iterator(comment_first=True)
    assert next(body) == b": open\n"
    stream.append(b"{}")
    assert b"data: {}" in next(body)
    body.close()


def test_an_event_that_is_there_makes_the_comment_needless() -> None:
    body, stream, _, _ = iterator(comment_first=True)
    stream.append(b"{}", last=True)
    assert b"open" not in next(body)


def test_a_quiet_stream_sends_comments() -> None:
    body, _, _, ends = iterator(replace(SETTINGS, keep_alive=0.02))
    assert next(body) == b": keep-alive\n"
    assert next(body) == b": keep-alive\n"
    body.close()
    assert ends == [False]


def test_a_client_that_has_gone_ends_the_body() -> None:
    body, stream, wake, ends = iterator(probe=lambda: False)
    wake.set()
    with pytest.raises(StopIteration):
        next(body)
    assert ends == [False], "it did not come to its end"
    with pytest.raises(ConnectionClosed):
        stream.append(b"x")


def test_a_client_that_is_there_does_not() -> None:
    looks: list[int] = []

    def probe() -> bool:
        looks.append(1)
        return len(looks) < 3

    body, _, _, ends = iterator(replace(SETTINGS, keep_alive=0.02), probe=probe)
    assert next(body) == b": keep-alive\n"
    assert b"".join(body).count(b"keep-alive") <= 1
    assert len(looks) == 3
    assert ends == [False]


def test_an_old_stream_ends() -> None:
    body, _, _, ends = iterator(replace(SETTINGS, keep_alive=0.01), max_age=0.05)
    assert set(body) <= {b": keep-alive\n"}
    assert ends == [True]


def test_a_stream_that_is_never_quiet_ends_too() -> None:
    stream, wake, _ = local()
    ends = Ends()

    def pull() -> None:
        stream.append(b"{}")

    body = EventIterator(stream, wake, SETTINGS, on_close=ends.append, pull=pull, max_age=0.05)
    assert all(b"data: {}" in chunk for chunk in body)
    assert ends == [True]


def test_pull_fetches_what_comes_from_elsewhere() -> None:
    stream, wake, _ = local()
    fetched = iter([b"1", b"2"])

    def pull() -> None:
        data = next(fetched, None)
        if data is not None:
            stream.append(data, last=data == b"2")

    body = EventIterator(stream, wake, SETTINGS, pull=pull)
    assert [chunk.partition(b"data: ")[2].strip() for chunk in body] == [b"1", b"2"]


def test_closing_twice_tells_once_from_any_thread() -> None:
    body, _, _, ends = iterator()
    body.close()
    together(*[body.close] * 4)
    assert ends == [False]


def test_a_body_that_waits_ends_when_it_is_closed_elsewhere() -> None:
    body, _, wake, _ = iterator()
    waiting = threading.Thread(target=lambda: list(body), daemon=True)
    waiting.start()
    body.close()
    wake.set()
    join(waiting)


def test_a_body_that_nobody_holds_any_more_is_closed() -> None:
    """Some hosts drop it without `close` when a connection was reset."""
    told = threading.Event()
    stream, wake, _ = local()
    body: EventIterator | None = EventIterator(stream, wake, SETTINGS, on_close=lambda finished: told.set())
    assert body is not None
    del body
    gc.collect()
    until(told)
    eventually(lambda: stream.unread_for() > 0)


def test_a_body_that_the_collector_finds_while_a_lock_is_held_does_not_deadlock() -> None:
    """It is closed by another thread, which waits for the lock as anybody else."""
    told = threading.Event()
    stream, wake, _ = local()
    cycle: list[object] = []
    cycle.append(EventIterator(stream, wake, SETTINGS, on_close=lambda finished: told.set()))
    cycle.append(cycle)

    def collect() -> None:
        with stream._lock:
            cycle_gone()
            gc.collect()

    def cycle_gone() -> None:
        nonlocal cycle
        cycle = []

    together(collect)
    until(told)
