"""What any implementation of the seams must do, as suites of tests.

Derive from a contract and say how the seams are made: whatever stands behind them, the same tests hold. They use
nothing but the interfaces of mcpref/transport/seams.py.
"""

from __future__ import annotations

import string
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from mcpref import Settings
from mcpref.transport.runtime import Seams
from mcpref.transport.seams import Event, Full, Gone, Session, StreamReader, StreamWriter
from tests.threads import PATIENCE, eventually, restless, together

VERSION = "2025-11-25"


def nothing() -> None:
    """A wake that wakes nobody."""


class Contract(ABC):
    """How the seams under test are made."""

    @abstractmethod
    def make(self, settings: Settings) -> Seams:
        """Fresh seams, empty."""

    def seams(self, **limits: Any) -> Seams:
        return self.make(Settings(**limits))

    def session(self, seams: Seams, principal: str | None = None) -> Session:
        return seams.sessions.create(VERSION, {"roots": {}}, principal, {"name": "client", "version": "1"})


class SessionsContract(Contract):
    """Spec: 2025-03-26..2025-11-25 basic/transports#session-management"""

    @pytest.mark.req("sessions.id-charset", "sessions.id-secure")
    def test_an_id_is_visible_ascii_and_unguessable(self) -> None:
        seams = self.seams()
        ids = {self.session(seams).id for _ in range(100)}
        assert len(ids) == 100
        for sid in ids:
            assert len(sid) >= 32
            assert set(sid) <= set(string.ascii_letters + string.digits + "-_")

    def test_a_session_is_what_it_was_created_as(self) -> None:
        seams = self.seams()
        made = self.session(seams, "alice")
        found = seams.sessions.open(made.id, "alice")
        assert found == made
        assert found is not None
        assert (found.version, found.principal, found.level, found.initialized) == (
            VERSION,
            "alice",
            "info",
            False,
        )
        assert found.capabilities == {"roots": {}}
        assert found.client_info == {"name": "client", "version": "1"}

    def test_an_unknown_id_is_no_session(self) -> None:
        seams = self.seams()
        assert seams.sessions.open("never-there", None) is None
        assert seams.sessions.update("never-there", level="debug") is False
        assert seams.sessions.subscribed("never-there", "a:b") is False
        assert seams.sessions.end("never-there") is False

    @pytest.mark.parametrize(
        ("owner", "other"), [("alice", "bob"), ("alice", None), (None, "bob"), ("alice", "")]
    )
    def test_another_principals_session_is_none(self, owner: str | None, other: str | None) -> None:
        seams = self.seams()
        made = self.session(seams, owner)
        assert seams.sessions.open(made.id, other) is None
        assert seams.sessions.open(made.id, owner) == made

    def test_a_snapshot_does_not_change(self) -> None:
        seams = self.seams()
        made = self.session(seams)
        assert seams.sessions.update(made.id, level="error", initialized=True) is True
        assert (made.level, made.initialized) == ("info", False)
        now = seams.sessions.open(made.id, None)
        assert now is not None
        assert (now.level, now.initialized) == ("error", True)

    def test_an_update_changes_only_what_it_names(self) -> None:
        seams = self.seams()
        made = self.session(seams)
        seams.sessions.update(made.id, level="error")
        seams.sessions.update(made.id, initialized=True)
        seams.sessions.update(made.id, subscribe="a:1")
        now = seams.sessions.open(made.id, None)
        assert now is not None
        assert (now.level, now.initialized) == ("error", True)
        assert seams.sessions.update(made.id) is True
        assert seams.sessions.open(made.id, None) == now

    def test_subscriptions_belong_to_one_session(self) -> None:
        seams = self.seams()
        mine, other = self.session(seams), self.session(seams)
        seams.sessions.update(mine.id, subscribe="a:1")
        seams.sessions.update(mine.id, subscribe="a:2")
        seams.sessions.update(mine.id, unsubscribe="a:1")
        seams.sessions.update(mine.id, unsubscribe="a:never")
        assert not seams.sessions.subscribed(mine.id, "a:1")
        assert seams.sessions.subscribed(mine.id, "a:2")
        assert not seams.sessions.subscribed(other.id, "a:2")

    def test_an_ended_session_is_gone(self) -> None:
        seams = self.seams()
        made = self.session(seams)
        seams.sessions.update(made.id, subscribe="a:1")
        assert seams.sessions.end(made.id) is True
        assert seams.sessions.end(made.id) is False
        assert seams.sessions.open(made.id, None) is None
        assert seams.sessions.update(made.id, level="debug") is False
        assert seams.sessions.update(made.id) is False
        assert not seams.sessions.subscribed(made.id, "a:1")

    def test_an_update_never_revives_a_session_that_ends_meanwhile(self) -> None:
        seams = self.seams()
        with restless():
            for _ in range(200):
                made = self.session(seams)
                ended, updated, _ = together(
                    partial(seams.sessions.end, made.id),
                    partial(seams.sessions.update, made.id, level="debug", initialized=True, subscribe="a:1"),
                    partial(seams.sessions.open, made.id, None),
                )
                assert ended is True
                assert updated in (True, False)
                assert seams.sessions.open(made.id, None) is None
                assert not seams.sessions.subscribed(made.id, "a:1")

    def test_of_several_that_end_it_one_succeeds(self) -> None:
        seams = self.seams()
        for _ in range(50):
            made = self.session(seams)
            assert together(*[partial(seams.sessions.end, made.id)] * 4).count(True) == 1

    @pytest.mark.parity(14)
    def test_the_longest_idle_session_makes_room(self) -> None:
        seams = self.seams(max_sessions=3)
        first, second, third = (self.session(seams) for _ in range(3))
        assert seams.sessions.open(first.id, None) is not None
        fourth = self.session(seams)
        alive = [seams.sessions.open(made.id, None) is not None for made in (first, second, third, fourth)]
        assert alive == [True, False, True, True]

    def test_a_session_with_a_running_call_or_an_open_stream_is_not_evicted(self) -> None:
        seams = self.seams(max_sessions=3)
        calling, streaming, idle = (self.session(seams) for _ in range(3))
        done = seams.cancels.track(calling.id, "i:1", lambda reason: None)
        _, reader = seams.streams.create(streaming.id, None, b"", nothing, standalone=True)
        fresh = self.session(seams)
        assert seams.sessions.open(idle.id, None) is None
        assert seams.sessions.open(calling.id, None) is not None
        assert seams.sessions.open(streaming.id, None) is not None
        done()
        reader.detach()
        seams.sessions.open(fresh.id, None)
        self.session(seams)
        assert seams.sessions.open(calling.id, None) is None, "it was the longest idle, and no longer busy"

    def test_when_all_are_in_use_there_is_no_room(self) -> None:
        seams = self.seams(max_sessions=2)
        busy = [self.session(seams) for _ in range(2)]
        done = [seams.cancels.track(made.id, "i:1", lambda reason: None) for made in busy]
        with pytest.raises(Full, match="2 sessions"):
            self.session(seams)
        assert all(seams.sessions.open(made.id, None) is not None for made in busy)
        done[1]()
        assert self.session(seams).id
        assert seams.sessions.open(busy[1].id, None) is None

    def test_ending_reaches_all_that_is_the_sessions(self) -> None:
        seams = self.seams()
        made, other = self.session(seams), self.session(seams)
        cancelled: list[str] = []
        seams.cancels.track(made.id, "i:1", cancelled.append)
        seams.cancels.track(made.id, "i:1", cancelled.append)
        seams.cancels.track(other.id, "i:1", lambda reason: cancelled.append("the other's"))
        woken = threading.Event()
        waiting = seams.replies.expect(made.id, woken.set)
        others = seams.replies.expect(other.id, nothing)
        _, reader = seams.streams.create(made.id, None, b"", nothing)
        _, standalone = seams.streams.create(made.id, None, b"", nothing, standalone=True)
        _, theirs = seams.streams.create(other.id, None, b"", nothing)
        assert seams.sessions.end(made.id)
        eventually(lambda: len(cancelled) == 2)
        assert woken.wait(PATIENCE)
        assert waiting.failed
        assert waiting.reply is None
        eventually(lambda: reader.closed and standalone.closed)
        assert "the other's" not in cancelled
        assert not others.failed
        assert not theirs.closed


class StreamsContract(Contract):
    """Spec: 2025-03-26..2025-11-25 basic/transports#resumability-and-redelivery"""

    def stream(
        self, seams: Seams, sid: str = "s", wake: Callable[[], None] = nothing, **options: Any
    ) -> tuple[StreamWriter, StreamReader]:
        return seams.streams.create(sid, None, b"epitaph", wake, **options)

    def test_events_are_read_once_in_order(self) -> None:
        writer, reader = self.stream(self.seams())
        assert reader.read() == []
        writer.append(b"a")
        writer.append(b"b")
        assert reader.read() == [Event(0, b"a", False), Event(1, b"b", False)]
        assert reader.read() == []
        assert not reader.closed
        writer.append(b"c", last=True)
        assert not reader.closed, "there is something to read"
        assert reader.read() == [Event(2, b"c", True)]
        assert reader.closed

    def test_the_first_event_comes_first(self) -> None:
        seams = self.seams()
        writer, reader = seams.streams.create("s", b"", b"", nothing)
        writer.append(b"a")
        assert reader.read() == [Event(0, b"", False), Event(1, b"a", False)]

    def test_what_comes_after_the_last_event_is_not_for_anybody(self) -> None:
        writer, reader = self.stream(self.seams())
        writer.append(b"answer", last=True)
        writer.append(b"late")
        assert [event.data for event in reader.read()] == [b"answer"]

    def test_a_stream_can_end_without_a_last_event(self) -> None:
        writer, reader = self.stream(self.seams())
        writer.append(b"a")
        writer.close()
        assert not reader.closed
        assert [event.last for event in reader.read()] == [False]
        assert reader.closed

    def test_whoever_reads_is_woken(self) -> None:
        seams = self.seams()
        woken = threading.Event()

        def was_woken() -> bool:
            was = woken.wait(PATIENCE)
            woken.clear()
            return was

        writer, _ = self.stream(seams, wake=woken.set)
        writer.append(b"a")
        assert was_woken()
        writer.detach_reader()
        assert was_woken()
        assert seams.streams.attach("s", writer.id, 0, woken.set) is not None
        writer.append(b"b")
        assert was_woken()
        assert seams.streams.attach("s", writer.id, 0, nothing) is not None
        assert was_woken(), "another took over"

    def test_stream_ids_are_unguessable(self) -> None:
        seams = self.seams()
        ids = {self.stream(seams)[0].id for _ in range(50)}
        assert len(ids) == 50
        assert all(len(stream) >= 16 and "." not in stream for stream in ids)

    @pytest.mark.parametrize("after", [-1, 0, 1, 2])
    def test_resuming_replays_what_came_after_and_then_goes_live(self, after: int) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        for data in (b"0", b"1", b"2"):
            writer.append(data)
        reader.read()
        reader.detach()
        resumed = seams.streams.attach("s", writer.id, after, nothing)
        assert resumed is not None
        assert reader.closed
        writer.append(b"3")
        assert [event.seq for event in resumed.read()] == list(range(after + 1, 4))
        writer.append(b"4", last=True)
        assert resumed.read() == [Event(4, b"4", True)]
        assert resumed.closed

    def test_a_stream_that_has_ended_can_be_resumed(self) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        writer.append(b"0")
        reader.read()
        reader.detach()
        writer.append(b"answer", last=True)
        resumed = seams.streams.attach("s", writer.id, 0, nothing)
        assert resumed is not None
        assert resumed.read() == [Event(1, b"answer", True)]
        assert resumed.closed

    def test_the_former_reader_is_closed_and_gets_nothing_more(self) -> None:
        seams = self.seams()
        writer, former = self.stream(seams)
        writer.append(b"0")
        resumed = seams.streams.attach("s", writer.id, -1, nothing)
        assert resumed is not None
        assert former.closed
        assert former.read() == []
        assert [event.data for event in resumed.read()] == [b"0"]
        former.detach()
        assert not resumed.closed, "who was replaced closes nobody else"

    @pytest.mark.parity(78)
    def test_another_sessions_stream_is_no_stream(self) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams, "mine")
        writer.append(b"secret")
        assert seams.streams.attach("theirs", writer.id, -1, nothing) is None
        assert seams.streams.attach("", writer.id, -1, nothing) is None
        assert not reader.closed, "nothing was disturbed"
        assert [event.data for event in reader.read()] == [b"secret"]

    @pytest.mark.parametrize("after", [1, 2, 10**9])
    def test_an_event_that_never_was_cannot_be_resumed_from(self, after: int) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        writer.append(b"0")
        assert seams.streams.attach("s", writer.id, after, nothing) is None
        assert not reader.closed
        assert seams.streams.attach("s", "no-such-stream", 0, nothing) is None

    def test_who_is_sent_away_still_gets_what_was_there(self) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        writer.append(b"0")
        writer.detach_reader()
        writer.append(b"1")
        before = reader.closed
        assert [event.data for event in reader.read()] == [b"0"]
        assert (before, reader.closed) == (False, True)
        resumed = seams.streams.attach("s", writer.id, 0, nothing)
        assert resumed is not None
        assert [event.data for event in resumed.read()] == [b"1"]

    def test_sending_nobody_away_does_nothing(self) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        reader.detach()
        writer.detach_reader()
        writer.append(b"0")
        assert reader.read() == []
        assert reader.closed

    def test_messages_of_no_request_go_to_the_standalone_stream(self) -> None:
        seams = self.seams()
        assert seams.streams.post("s", b"nobody listens") is False
        _, request = self.stream(seams)
        assert seams.streams.post("s", b"nobody listens") is False
        writer, reader = self.stream(seams, standalone=True)
        assert (reader.standalone, request.standalone) == (True, False)
        assert seams.streams.post("s", b"hello") is True
        assert seams.streams.post("another", b"hello") is False
        assert [event.data for event in reader.read()] == [b"hello"]
        assert request.read() == []
        writer.close()
        assert seams.streams.post("s", b"too late") is False

    def test_a_second_standalone_stream_replaces_the_first(self) -> None:
        seams = self.seams()
        woken = threading.Event()
        _, first = self.stream(seams, wake=woken.set, standalone=True)
        _, other = self.stream(seams, "another", standalone=True)
        _, second = self.stream(seams, standalone=True)
        assert woken.wait(PATIENCE)
        assert first.closed
        assert not other.closed
        assert seams.streams.post("s", b"one")
        assert first.read() == []
        assert [event.data for event in second.read()] == [b"one"]

    def test_the_streams_of_an_ended_session_are_gone(self) -> None:
        seams = self.seams()
        made = self.session(seams)
        writer, reader = self.stream(seams, made.id)
        writer.append(b"0")
        reader.read()
        seams.sessions.end(made.id)
        assert reader.closed
        with pytest.raises(Gone):
            writer.append(b"1")
        assert seams.streams.attach(made.id, writer.id, -1, nothing) is None

    def test_a_stream_that_is_read_is_not_unread(self) -> None:
        seams = self.seams()
        writer, reader = self.stream(seams)
        assert writer.unread_for() == 0
        reader.detach()
        eventually(lambda: writer.unread_for() > 0)
        writer.append(b"0")
        assert seams.streams.attach("s", writer.id, 0, nothing) is not None
        assert writer.unread_for() == 0

    def test_a_hundred_streams_resumed_while_they_are_written_lose_and_repeat_nothing(self) -> None:
        seams = self.seams()
        events = 60
        with restless():
            for round_ in range(100):
                writer, reader = self.stream(seams, f"s{round_ % 7}")
                _, seen = together(
                    partial(_write, writer, events), partial(_resume_often, seams, round_, reader, writer)
                )
                assert seen == list(range(events))

    @pytest.mark.req("http.resume-no-cross-stream")
    def test_resuming_one_stream_replays_no_other(self) -> None:
        seams = self.seams()
        (mine, reader), (other, _) = self.stream(seams), self.stream(seams)
        for number in range(3):
            mine.append(b"mine %d" % number)
            other.append(b"other %d" % number)
        reader.detach()
        resumed = seams.streams.attach("s", mine.id, 0, nothing)
        assert resumed is not None
        other.append(b"other 3")
        assert [event.data for event in resumed.read()] == [b"mine 1", b"mine 2"]

    def test_streams_of_one_session_do_not_mix(self) -> None:
        seams = self.seams()
        pairs = [self.stream(seams) for _ in range(8)]

        def write(place: int) -> None:
            for number in range(30):
                pairs[place][0].append(b"%d %d" % (place, number), last=number == 29)

        together(*[partial(write, place) for place in range(8)])
        for place, (_, reader) in enumerate(pairs):
            assert [event.data for event in reader.read()] == [
                b"%d %d" % (place, number) for number in range(30)
            ]


def _write(writer: StreamWriter, events: int) -> None:
    for number in range(events):
        writer.append(b"%d" % number, last=number == events - 1)


def _resume_often(seams: Seams, round_: int, reader: StreamReader, writer: StreamWriter) -> list[int]:
    """Read, drop the connection, resume where it ended; by turns politely and by taking over."""
    seen: list[int] = []
    turn = 0
    while True:
        events = reader.read()
        seen += [event.seq for event in events]
        if events and events[-1].last:
            return seen
        if not events:
            continue
        turn += 1
        if turn % 2:
            reader.detach()
        resumed = seams.streams.attach(f"s{round_ % 7}", writer.id, seen[-1], nothing)
        assert resumed is not None
        reader = resumed


class RepliesContract(Contract):
    """Answers reach who asked, in their own session."""

    def test_ids_are_unguessable(self) -> None:
        seams = self.seams()
        ids = {seams.replies.expect("s", nothing).id for _ in range(100)}
        assert len(ids) == 100
        assert all(len(rid) >= 16 for rid in ids)

    def test_an_answer_reaches_who_waits(self) -> None:
        seams = self.seams()
        woken = threading.Event()
        pending = seams.replies.expect("s", woken.set)
        assert (pending.reply, pending.failed) == (None, False)
        assert seams.replies.resolve("s", pending.id, b"answer") is True
        assert woken.wait(PATIENCE)
        assert (pending.reply, pending.failed) == (b"answer", False)

    def test_a_second_answer_is_nobodys(self) -> None:
        seams = self.seams()
        pending = seams.replies.expect("s", nothing)
        assert seams.replies.resolve("s", pending.id, b"first")
        assert not seams.replies.resolve("s", pending.id, b"second")
        assert pending.reply == b"first"

    @pytest.mark.parity(74)
    def test_another_session_cannot_answer(self) -> None:
        seams = self.seams()
        pending = seams.replies.expect("mine", nothing)
        assert not seams.replies.resolve("theirs", pending.id, b"forged")
        assert not seams.replies.resolve("", pending.id, b"forged")
        assert pending.reply is None
        assert seams.replies.resolve("mine", pending.id, b"true")
        assert pending.reply == b"true"

    def test_who_stopped_waiting_gets_nothing(self) -> None:
        seams = self.seams()
        pending = seams.replies.expect("s", nothing)
        pending.drop()
        pending.drop()
        assert not seams.replies.resolve("s", pending.id, b"late")
        assert pending.reply is None

    def test_an_unknown_id_is_nobodys(self) -> None:
        assert not self.seams().replies.resolve("s", "never-asked", b"answer")

    def test_a_thousand_answers_at_once_each_reach_their_own(self) -> None:
        seams = self.seams()
        count = 1000
        waiting = [(f"s{place % 10}", threading.Event()) for place in range(count)]
        pending = [seams.replies.expect(sid, woken.set) for sid, woken in waiting]

        def answer(start: int) -> list[int]:
            taken = []
            for step in range(count):
                place = (start + step) % count
                if seams.replies.resolve(waiting[place][0], pending[place].id, b"%d" % place):
                    taken.append(place)
            return taken

        with restless():
            taken = Counter(
                place for some in together(*[partial(answer, 250 * n) for n in range(4)]) for place in some
            )
        assert all(woken.wait(PATIENCE) for _, woken in waiting)
        assert taken == Counter(range(count)), "each was taken once"
        assert [one.reply for one in pending] == [b"%d" % place for place in range(count)]

    def test_an_answer_that_races_with_the_end_of_the_session_is_one_or_the_other(self) -> None:
        seams = self.seams()
        with restless():
            for _ in range(50):
                made = self.session(seams)
                woken = threading.Event()
                pending = seams.replies.expect(made.id, woken.set)
                taken, _ = together(
                    partial(seams.replies.resolve, made.id, pending.id, b"answer"),
                    partial(seams.sessions.end, made.id),
                )
                assert woken.wait(PATIENCE)
                assert pending.failed is not taken
                assert (pending.reply == b"answer") is taken


class CancelsContract(Contract):
    """A cancellation reaches the request it names, and no other."""

    def test_a_running_request_is_cancelled(self) -> None:
        seams = self.seams()
        reasons: list[str] = []
        seams.cancels.track("s", "i:1", reasons.append)
        seams.cancels.cancel("s", "i:1", "changed my mind")
        eventually(lambda: reasons == ["changed my mind"])

    @pytest.mark.parametrize(("sid", "key"), [("s", "i:2"), ("s", "s:1"), ("t", "i:1"), ("", "i:1")])
    def test_other_requests_and_sessions_are_not(self, sid: str, key: str) -> None:
        seams = self.seams()
        reasons: list[str] = []
        control: list[str] = []
        seams.cancels.track("s", "i:1", reasons.append)
        seams.cancels.track("s", "i:control", control.append)
        seams.cancels.cancel(sid, key, "no")
        seams.cancels.cancel("s", "i:control", "yes")
        eventually(lambda: control == ["yes"])
        assert reasons == []

    def test_a_request_that_is_done_is_not(self) -> None:
        seams = self.seams()
        reasons: list[str] = []
        done = seams.cancels.track("s", "i:1", reasons.append)
        assert seams.cancels.running("s") == 1
        done()
        done()
        assert seams.cancels.running("s") == 0
        seams.cancels.cancel("s", "i:1", "late")
        again: list[str] = []
        seams.cancels.track("s", "i:1", again.append)
        seams.cancels.cancel("s", "i:1", "now")
        eventually(lambda: again == ["now"])
        assert reasons == []

    @pytest.mark.parity(30)
    def test_a_duplicate_does_not_evict_the_first(self) -> None:
        seams = self.seams()
        first: list[str] = []
        second: list[str] = []
        first_done = seams.cancels.track("s", "i:1", first.append)
        second_done = seams.cancels.track("s", "i:1", second.append)
        assert seams.cancels.running("s") == 2, "both run, so both count"
        seams.cancels.cancel("s", "i:1", "x")
        eventually(lambda: first == ["x"])
        assert second == []
        second_done()
        assert seams.cancels.running("s") == 1
        seams.cancels.cancel("s", "i:1", "y")
        eventually(lambda: first == ["x", "y"])
        first_done()
        assert seams.cancels.running("s") == 0

    def test_when_the_first_is_done_the_duplicate_can_be_cancelled(self) -> None:
        seams = self.seams()
        second: list[str] = []
        first_done = seams.cancels.track("s", "i:1", lambda reason: None)
        seams.cancels.track("s", "i:1", second.append)
        first_done()
        assert seams.cancels.running("s") == 1
        seams.cancels.cancel("s", "i:1", "x")
        eventually(lambda: second == ["x"])

    def test_counts_are_per_session(self) -> None:
        seams = self.seams()
        done = [seams.cancels.track("s", f"i:{number}", lambda reason: None) for number in range(5)]
        seams.cancels.track("t", "i:0", lambda reason: None)
        assert (seams.cancels.running("s"), seams.cancels.running("t"), seams.cancels.running("u")) == (
            5,
            1,
            0,
        )
        for one in done:
            one()
        assert (seams.cancels.running("s"), seams.cancels.running("t")) == (0, 1)

    def test_requests_that_come_and_go_at_once_leave_nothing(self) -> None:
        seams = self.seams()

        def come_and_go(place: int) -> None:
            for number in range(100):
                done = seams.cancels.track("s", f"i:{number % 3}", lambda reason: None)
                seams.cancels.cancel("s", f"i:{(number + place) % 3}", "x")
                done()

        with restless():
            together(*[partial(come_and_go, place) for place in range(6)])
        assert seams.cancels.running("s") == 0
