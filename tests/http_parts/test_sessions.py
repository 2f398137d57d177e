"""SessionManager by itself: time, room, and what is called back; SessionState, the view that a request has."""

from __future__ import annotations

import re
import threading
from functools import partial

import pytest

from mcpref import Settings
from mcpref.cancellation import CancellationToken
from mcpref.transport.runtime import Seams, memory_seams
from mcpref.transport.seams import Full, Session
from mcpref.transport.sessions import SessionManager, SessionState, cancel_key
from tests.threads import restless, together


class Clock:
    """A time that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Table:
    """A manager with its clock, its busy sessions, and the record of those that ended."""

    def __init__(self, *, idle: float = 60.0, limit: int = 3) -> None:
        self.clock = Clock()
        self.busy: set[str] = set()
        self.ended: list[str] = []
        self.manager = SessionManager(
            idle=idle,
            limit=limit,
            on_end=self.ended.append,
            is_busy=self.busy.__contains__,
            clock=self.clock,
        )

    def create(self) -> str:
        return self.manager.create("2025-11-25", {}, None).id

    def is_open(self, sid: str) -> bool:
        return self.manager.open(sid, None) is not None


@pytest.mark.parity(12)
def test_ids_are_64_hexadecimal_digits() -> None:
    table = Table(limit=1000)
    ids = [table.create() for _ in range(500)]
    assert len(set(ids)) == 500
    assert all(re.fullmatch(r"[0-9a-f]{64}", sid) for sid in ids)


@pytest.mark.parity(13)
def test_an_idle_session_expires_and_a_used_one_does_not() -> None:
    table = Table(idle=60)
    used, idle = table.create(), table.create()
    table.clock.now += 59
    assert table.is_open(used)
    table.clock.now += 1
    assert not table.is_open(idle), "idle for exactly the limit"
    assert table.ended == [idle]
    table.clock.now += 58
    assert table.is_open(used)
    table.clock.now += 60
    assert not table.is_open(used)
    assert table.ended == [idle, used]
    assert len(table.manager) == 0


def test_another_principals_look_does_not_keep_a_session_alive() -> None:
    table = Table(idle=60)
    mine = table.manager.create("2025-11-25", {}, "alice").id
    table.clock.now += 40
    assert table.manager.open(mine, "mallory") is None
    table.clock.now += 40
    assert table.manager.open(mine, "alice") is None
    assert table.ended == [mine]


def test_an_update_alone_does_not_keep_a_session_alive() -> None:
    table = Table(idle=60)
    sid = table.create()
    table.clock.now += 59
    assert table.manager.update(sid, level="debug")
    table.clock.now += 1
    assert not table.is_open(sid)


def test_a_busy_session_does_not_expire() -> None:
    table = Table(idle=60)
    busy, idle = table.create(), table.create()
    table.busy.add(busy)
    table.clock.now += 3600
    assert not table.is_open(idle)
    assert table.is_open(busy)
    table.busy.clear()
    table.clock.now += 60
    assert not table.is_open(busy)


def test_expired_sessions_make_room_before_anybody_is_evicted() -> None:
    table = Table(idle=60, limit=2)
    old = table.create()
    table.clock.now += 40
    young = table.create()
    table.clock.now += 20
    fresh = table.create()
    assert table.ended == [old]
    assert table.is_open(young)
    assert table.is_open(fresh)


@pytest.mark.parity(14)
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_cap_holds_at_the_limit_and_one_past_it(limit: int) -> None:
    table = Table(limit=limit)
    made = [table.create() for _ in range(limit)]
    assert table.ended == []
    assert len(table.manager) == limit
    table.create()
    assert table.ended == made[:1]
    assert len(table.manager) == limit


def test_a_refused_session_changes_nothing() -> None:
    table = Table(limit=2)
    made = [table.create(), table.create()]
    table.busy.update(made)
    for _ in range(3):
        with pytest.raises(Full):
            table.create()
    assert table.ended == []
    assert [table.is_open(sid) for sid in made] == [True, True]


def test_expiry_is_told_also_when_there_is_no_room() -> None:
    table = Table(idle=60, limit=2)
    busy, other = table.create(), table.create()
    table.busy.update((busy, other))
    table.clock.now += 60
    with pytest.raises(Full):
        table.create()
    table.busy.discard(other)
    table.create()
    assert table.ended == [other]


def test_the_end_is_called_back_without_the_lock() -> None:
    """A callback may use the table: it would wait for ever if the lock were held."""
    seen: list[int] = []
    manager: SessionManager
    manager = SessionManager(idle=60, limit=1, on_end=lambda sid: seen.append(len(manager)))
    first = manager.create("2025-11-25", {}, None).id
    (second,) = together(lambda: manager.create("2025-11-25", {}, None).id)
    together(partial(manager.end, second))
    manager.create("2025-11-25", {}, None)
    together(manager.end_all)
    assert seen == [1, 0, 0]
    assert manager.open(first, None) is None


def test_every_session_ends_once_however_it_ends() -> None:
    ended: list[str] = []
    manager = SessionManager(idle=60, limit=10, on_end=ended.append)

    def churn() -> None:
        for _ in range(100):
            sid = manager.create("2025-11-25", {}, None).id
            manager.open(sid, None)
            manager.end(sid)

    with restless():
        together(*[churn] * 4, manager.end_all)
    manager.end_all()
    assert len(ended) == len(set(ended)) == 400
    assert len(manager) == 0


def test_seams_asked_under_the_lock_do_not_deadlock_with_those_that_end_sessions() -> None:
    """Creating asks streams and cancels who is busy; ending calls both. Their locks are taken in one order."""
    seams = memory_seams(Settings(max_sessions=2))

    def use() -> int:
        made = 0
        for number in range(60):
            try:
                session = seams.sessions.create("2025-11-25", {}, None)
            except Full:
                continue
            made += 1
            done = seams.cancels.track(session.id, "i:1", lambda reason: None)
            writer, reader = seams.streams.create(session.id, None, b"", lambda: None, standalone=True)
            seams.streams.post(session.id, b"x")
            reader.detach()
            done()
            if number % 3:
                seams.sessions.end(session.id)
            writer.close()
        return made

    with restless():
        assert sum(together(*[use] * 6)) >= 60


# ---- SessionState -------------------------------------------------------------------------------------


def opened(seams: Seams) -> tuple[Session, SessionState]:
    session = seams.sessions.create("2025-06-18", {"roots": {}}, None, {"name": "c", "version": "1"})
    return session, SessionState(session, seams.sessions, seams.cancels)


def test_a_view_shows_its_snapshot_and_writes_through_the_seam() -> None:
    seams = memory_seams(Settings())
    session, state = opened(seams)
    assert state.negotiated.value == "2025-06-18"
    assert not state.initialized
    state.mark_initialized()
    state.set_log_level("error")
    state.subscribe("a:1")
    now = seams.sessions.open(session.id, None)
    assert now is not None
    assert (now.initialized, now.level) == (True, "error")
    later = SessionState(now, seams.sessions, seams.cancels)
    assert later.initialized
    assert later.log_level == "error"
    assert later.is_subscribed("a:1")
    later.unsubscribe("a:1")
    assert not state.is_subscribed("a:1"), "every view sees the same session"


@pytest.mark.parity(26)
def test_a_cancellation_through_another_view_reaches_the_request_of_its_own_session_only() -> None:
    seams = memory_seams(Settings())
    (mine, running), (_, foreign) = opened(seams), opened(seams)
    token, theirs = CancellationToken(), CancellationToken()
    running.track(1, token)
    foreign.track(1, theirs)
    SessionState(mine, seams.sessions, seams.cancels).cancel(1, "enough")
    assert (token.cancelled, token.reason) == (True, "enough")
    assert not theirs.cancelled
    running.untrack(1, token)
    assert seams.cancels.running(mine.id) == 0


@pytest.mark.parametrize("request_id", [True, 1.0, None, [1], {"id": 1}])
def test_what_is_no_id_cancels_nothing(request_id: object) -> None:
    seams = memory_seams(Settings())
    _, state = opened(seams)
    token = CancellationToken()
    state.track(1, token)
    assert state.cancel(request_id) is False
    assert not token.cancelled


def test_an_id_keeps_its_type() -> None:
    assert cancel_key(1) != cancel_key("1")
    assert cancel_key("i:1") != cancel_key(1)


def test_a_request_that_is_entered_after_its_session_ended_is_cancelled_at_once() -> None:
    seams = memory_seams(Settings())
    session, state = opened(seams)
    seams.sessions.end(session.id)
    token = CancellationToken()
    state.track(1, token)
    assert token.cancelled
    state.untrack(1, token)
    assert seams.cancels.running(session.id) == 0


def test_no_request_outlives_the_end_of_its_session() -> None:
    seams = memory_seams(Settings())
    with restless():
        for _ in range(200):
            session, state = opened(seams)
            token = CancellationToken()
            together(partial(state.track, 1, token), partial(seams.sessions.end, session.id))
            assert token.cancelled
            state.untrack(1, token)


def test_a_table_that_many_threads_fill_stays_within_its_cap() -> None:
    manager = SessionManager(idle=60, limit=5)
    start = threading.Barrier(8)

    def fill() -> int:
        start.wait(10)
        most = 0
        for _ in range(50):
            manager.create("2025-11-25", {}, None)
            most = max(most, len(manager))
        return most

    assert max(together(*[fill] * 8)) <= 5
