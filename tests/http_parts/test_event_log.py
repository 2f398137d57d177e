"""EventLog by itself: its bounds, what it keeps and forgets, and how a writer waits for a slow reader."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from mcpref.cancellation import Deadline
from mcpref.transport.replay import EventLog, LogReader, LogWriter
from mcpref.transport.seams import Event, Gone
from tests.threads import PATIENCE, eventually, join, together

from .test_sessions import Clock


def nothing() -> None:
    pass


def event_log(clock: Clock | None = None, **bounds: Any) -> EventLog:
    limits: dict[str, Any] = {"max_events": 4, "max_bytes": 1000, "max_streams": 2, "max_age": 60.0}
    return EventLog(**{**limits, **bounds}, clock=clock or Clock())


def stream(log: EventLog, sid: str = "s", **options: Any) -> tuple[LogWriter, LogReader]:
    return log.create(sid, None, b"", nothing, **options)


def unread(log: EventLog, *events: bytes, sid: str = "s", ended: bool = False) -> LogWriter:
    """A stream whose client has gone."""
    writer, reader = stream(log, sid)
    reader.detach()
    for place, data in enumerate(events):
        writer.append(data, last=ended and place == len(events) - 1)
    return writer


def replayed(log: EventLog, writer: LogWriter, after: int, sid: str = "s") -> list[int] | None:
    reader = log.attach(sid, writer.id, after, nothing)
    if reader is None:
        return None
    seen = [event.seq for event in reader.read()]
    reader.detach()
    return seen


# ---- Bounds of one stream -----------------------------------------------------------------------------


def test_events_are_kept_up_to_the_limit_and_forgotten_from_the_old_end_past_it() -> None:
    log = event_log(max_events=4)
    writer = unread(log, b"0", b"1", b"2", b"3")
    assert replayed(log, writer, -1) == [0, 1, 2, 3]
    writer.append(b"4")
    assert replayed(log, writer, -1) is None, "its beginning is gone"
    assert replayed(log, writer, 0) == [1, 2, 3, 4]


def test_bytes_are_kept_up_to_the_limit_and_forgotten_from_the_old_end_past_it() -> None:
    log = event_log(max_bytes=10, max_events=100)
    writer = unread(log, b"x" * 5, b"x" * 5)
    assert replayed(log, writer, -1) == [0, 1]
    writer.append(b"x")
    assert replayed(log, writer, -1) is None
    assert replayed(log, writer, 0) == [1, 2]
    assert log.total_bytes == 6


def test_the_last_event_is_kept_however_large() -> None:
    log = event_log(max_bytes=10)
    writer = unread(log, b"small", b"x" * 1000, ended=True)
    assert replayed(log, writer, 0) == [1]
    assert replayed(log, writer, -1) is None


# ---- A reader that lags behind ------------------------------------------------------------------------


def test_what_an_open_connection_has_yet_to_carry_is_not_forgotten() -> None:
    """A burst goes faster than a thread can change; a healthy client must not lose any of it."""
    log = event_log(max_events=4)
    writer, reader = stream(log, patience=PATIENCE)
    seen: list[Event] = []

    def read() -> None:
        deadline = Deadline(PATIENCE)
        while not reader.closed and not deadline.expired:
            seen.extend(reader.read())

    def write() -> None:
        for number in range(500):
            writer.append(b"%d" % number, last=number == 499)

    together(read, write)
    assert [event.seq for event in seen] == list(range(500))


def test_the_writer_waits_at_the_limit_until_something_is_read() -> None:
    log = event_log(max_events=2)
    writer, reader = stream(log, patience=PATIENCE)
    writer.append(b"0")
    writer.append(b"1")
    through = threading.Event()

    def write() -> None:
        writer.append(b"2")
        through.set()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    assert not through.wait(0.05), "there is no room"
    assert [event.seq for event in reader.read()] == [0, 1]
    assert through.wait(PATIENCE)
    join(thread)
    assert [event.seq for event in reader.read()] == [2]


@pytest.mark.parametrize("first", [b"x" * 6, b"x" * 10])
def test_bytes_make_the_writer_wait_too(first: bytes) -> None:
    log = event_log(max_bytes=10, max_events=100)
    writer, reader = stream(log)
    writer.append(first)
    writer.append(b"x" * 5)  # its patience is 0, so the reader is let go instead
    assert reader.closed
    assert reader.read() == []
    resumed = log.attach("s", writer.id, 0, nothing)
    assert resumed is not None
    assert [event.seq for event in resumed.read()] == [1]


def test_a_reader_that_is_too_slow_loses_its_connection_and_not_the_stream() -> None:
    log = event_log(max_events=2)
    woken = threading.Event()
    writer, reader = log.create("s", None, b"", woken.set)
    writer.append(b"0")
    assert [event.seq for event in reader.read()] == [0]
    for data in (b"1", b"2"):
        writer.append(data)
    woken.clear()
    writer.append(b"3")
    assert woken.is_set()
    assert reader.closed
    assert not log.is_read("s")
    resumed = log.attach("s", writer.id, 1, nothing)
    assert resumed is not None
    assert [event.seq for event in resumed.read()] == [2, 3]


def test_the_answer_is_taken_without_waiting_and_without_a_gap() -> None:
    log = event_log(max_events=2)
    writer, reader = stream(log, patience=PATIENCE)
    writer.append(b"0")
    writer.append(b"1")
    writer.append(b"answer", last=True)
    assert [event.seq for event in reader.read()] == [0, 1, 2]
    assert reader.closed


@pytest.mark.parametrize("how", ["detach", "end_session", "close", "send_away", "take_over"])
def test_a_writer_that_waits_is_freed_by_whatever_ends_the_wait(how: str) -> None:
    log = event_log(max_events=1)
    writer, reader = stream(log, patience=PATIENCE)
    writer.append(b"0")
    outcome: list[BaseException | None] = []

    def write() -> None:
        try:
            writer.append(b"1")
            outcome.append(None)
        except Gone as gone:
            outcome.append(gone)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    assert not outcome
    match how:
        case "detach":
            reader.detach()
        case "end_session":
            log.end_session("s")
        case "close":
            writer.close()
        case "send_away":
            writer.detach_reader()
        case "take_over":
            assert log.attach("s", writer.id, 0, nothing) is not None, (
                "it has seen everything, so there is room"
            )
    join(thread)
    assert isinstance(outcome[0], Gone) is (how == "end_session")


def test_posting_never_waits() -> None:
    log = event_log(max_events=2)
    _, reader = stream(log, standalone=True, patience=PATIENCE)
    for number in range(3):
        assert log.post("s", b"%d" % number)
    assert reader.closed, "it was too slow"


def test_who_was_sent_away_gets_his_rest_even_when_the_log_has_forgotten_it() -> None:
    log = event_log(max_events=2)
    writer, reader = stream(log)
    writer.append(b"0")
    writer.append(b"1")
    writer.detach_reader()
    for data in (b"2", b"3", b"4"):
        writer.append(data)
    assert not reader.closed
    assert [event.seq for event in reader.read()] == [0, 1]
    assert reader.closed


# ---- What is kept of streams that nobody reads --------------------------------------------------------


def test_ended_streams_are_kept_up_to_the_limit() -> None:
    log = event_log(max_streams=2)
    first, second = unread(log, b"a", ended=True), unread(log, b"b", ended=True)
    assert len(log) == 2
    third = unread(log, b"c", ended=True)
    assert len(log) == 2
    assert replayed(log, first, -1) is None
    assert replayed(log, second, -1) == [0]
    assert replayed(log, third, -1) == [0]


def test_streams_that_go_on_take_no_room_from_those_that_ended() -> None:
    log = event_log(max_streams=2)
    live = [stream(log) for _ in range(5)]
    away = [unread(log, b"x") for _ in range(5)]
    kept = [unread(log, b"answer", ended=True) for _ in range(2)]
    stream(log)
    assert [replayed(log, writer, -1) for writer in kept] == [[0], [0]]
    assert [replayed(log, writer, -1) for writer in away] == [[0]] * 5
    assert not any(reader.closed for _, reader in live)


def test_what_is_being_read_is_not_forgotten() -> None:
    log = event_log(max_streams=1)
    writer = unread(log, b"a", ended=True)
    resumed = log.attach("s", writer.id, -1, nothing)
    assert resumed is not None
    for _ in range(3):
        unread(log, b"other", ended=True)
    assert [event.data for event in resumed.read()] == [b"a"]
    resumed.detach()
    assert replayed(log, writer, -1) == [0], "the latest to be left"


def test_old_ended_streams_are_forgotten() -> None:
    clock = Clock()
    log = event_log(clock, max_streams=100, max_age=60)
    old = unread(log, b"a", ended=True)
    clock.now += 60
    stream(log)
    assert replayed(log, old, -1) == [0], "exactly as old as may be; and left anew"
    clock.now += 60.5
    stream(log)
    assert replayed(log, old, -1) is None


def test_a_live_stream_is_not_forgotten_however_old() -> None:
    clock = Clock()
    log = event_log(clock, max_age=60)
    writer = unread(log, b"a")
    clock.now += 3600
    stream(log)
    assert replayed(log, writer, -1) == [0]


def test_bytes_in_all_are_bounded_by_forgetting_the_longest_unread() -> None:
    log = event_log(max_streams=100, max_total=30)
    first, second = unread(log, b"x" * 10, ended=True), unread(log, b"x" * 10, ended=True)
    away = unread(log, b"x" * 10)
    assert log.total_bytes == 30
    assert replayed(log, away, -1) == [0]
    third = unread(log, b"x" * 10, ended=True)
    assert log.total_bytes == 30
    assert replayed(log, first, -1) is None
    assert replayed(log, second, -1) == [0]
    assert replayed(log, third, -1) == [0]


def test_when_nothing_has_ended_those_away_lose_what_they_had_but_go_on() -> None:
    log = event_log(max_total=20)
    away = [unread(log, b"x" * 10) for _ in range(3)]
    assert log.total_bytes == 20
    assert replayed(log, away[0], -1) is None
    away[0].append(b"new")
    assert replayed(log, away[0], 0) == [1], "it goes on from here"
    assert log.total_bytes <= 20


# ---- Tables -------------------------------------------------------------------------------------------


def test_unread_for_is_measured_by_the_clock() -> None:
    clock = Clock()
    log = event_log(clock)
    writer, reader = stream(log)
    clock.now += 100
    assert writer.unread_for() == 0
    reader.detach()
    assert writer.unread_for() == 0
    clock.now += 7
    assert writer.unread_for() == 7
    writer.append(b"0")
    assert log.attach("s", writer.id, -1, nothing) is not None
    assert writer.unread_for() == 0
    writer.detach_reader()
    clock.now += 3
    assert writer.unread_for() == 3


def test_a_session_is_read_while_a_connection_carries_one_of_its_streams() -> None:
    log = event_log()
    assert not log.is_read("s")
    _, one = stream(log)
    _, two = stream(log)
    assert log.is_read("s")
    assert not log.is_read("t")
    one.detach()
    assert log.is_read("s")
    two.detach()
    assert not log.is_read("s")


def test_ending_a_session_leaves_nothing_of_it() -> None:
    log = event_log()
    for sid in ("s", "t"):
        stream(log, sid)
        stream(log, sid, standalone=True)
        unread(log, b"x", sid=sid)
        unread(log, b"x", sid=sid, ended=True)
    assert len(log) == 8
    log.end_session("s")
    log.end_session("s")
    assert len(log) == 4
    assert not log.is_read("s")
    assert log.is_read("t")
    assert log.total_bytes == 2
    assert not log.post("s", b"x")
    assert log.post("t", b"x")
    log.end_session("t")
    assert (len(log), log.total_bytes) == (0, 0)


def test_a_replaced_standalone_stream_is_not_kept_for_ever() -> None:
    log = event_log(max_streams=2)
    for _ in range(50):
        _, reader = stream(log, standalone=True)
        reader.detach()
    assert len(log) == 3, "the one that is open, and two that ended"


def test_wakes_are_called_without_the_lock() -> None:
    """A wake that looks at the log would wait for ever if the lock were held."""
    log = event_log(max_events=1)
    calls: list[int] = []

    def look() -> None:
        calls.append(len(log))

    def use() -> None:
        writer, reader = log.create("s", None, b"", look, standalone=True)
        writer.append(b"0")
        writer.append(b"1")  # too slow: let go
        log.attach("s", writer.id, 1, look)
        log.attach("s", writer.id, 1, look)
        log.post("s", b"2")
        writer.detach_reader()
        log.create("s", None, b"", look, standalone=True)
        log.end_session("s")
        reader.detach()

    together(use)
    assert len(calls) >= 6


def test_counts_come_out_even_after_many_threads() -> None:
    log = event_log(max_streams=5, max_total=200, max_events=3)

    def churn() -> None:
        for number in range(60):
            writer, reader = stream(log, f"s{number % 3}", standalone=number % 2 == 0)
            writer.append(b"x" * 7)
            reader.read()
            if number % 4:
                reader.detach()
            writer.append(b"y" * 5, last=number % 5 == 0)
            log.attach(f"s{number % 3}", writer.id, 0, nothing)
            if number % 7 == 0:
                log.end_session(f"s{number % 3}")

    def safely() -> None:
        try:
            churn()
        except Gone:
            pass

    together(*[safely] * 6)
    for number in range(3):
        log.end_session(f"s{number}")
    eventually(lambda: len(log) == 0)
    assert log.total_bytes == 0
