"""`mcpref.transport.duplex`: messages both ways over real pipes, with the far end in the test's own hands."""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from mcpref.cancellation import CancellationToken, Deadline
from mcpref.errors import (
    ConnectionClosed,
    InvalidRequest,
    ParseError,
    PeerError,
    ProtocolError,
    RequestCancelled,
    RequestTimeout,
)
from mcpref.jsonrpc import Batch, Notification, Request, Response, encode
from mcpref.transport import duplex
from mcpref.transport.duplex import MAX_OUTBOX, DuplexChannel, FdStream
from tests.threads import PATIENCE, eventually, join, restless, together, until

MAX_LINE = 1_000_000
#: More than a pipe holds, so that writing it waits for a reader.
BIG = b'"' + b"x" * 300_000 + b'"'


class Recorder:
    """An owner that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Request | Notification | Batch] = queue.Queue()
        self.malformed: queue.Queue[ProtocolError] = queue.Queue()
        self.reasons: list[str] = []
        self.ended = threading.Event()
        self.failure: Exception | None = None

    def on_message(self, message: Request | Notification | Batch) -> None:
        self.messages.put(message)
        if self.failure is not None:
            raise self.failure

    def on_malformed(self, error: ProtocolError) -> None:
        self.malformed.put(error)
        if self.failure is not None:
            raise self.failure

    def on_end(self, reason: str) -> None:
        self.reasons.append(reason)
        self.ended.set()


class Link:
    """A channel, and the far ends of its two pipes."""

    def __init__(self) -> None:
        read_fd, self.far_write = os.pipe()
        self.far_read, write_fd = os.pipe()
        self.owner = Recorder()
        self.channel = DuplexChannel(
            FdStream(read_fd, write_fd), self.owner, max_line=MAX_LINE, name="duplex-test"
        )
        self.reader = threading.Thread(target=self.channel.read_loop, name="duplex-test-reader")
        self.reader.start()
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self._collector: threading.Thread | None = None

    # What the far end does

    def send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.far_write, data) :]

    def listen(self) -> None:
        """Begin to read what the channel writes; None stands for the end."""

        def collect() -> None:
            with os.fdopen(self.far_read, "rb") as file:
                self.far_read = -1
                for line in file:
                    self.lines.put(line)
            self.lines.put(None)

        self._collector = threading.Thread(target=collect, name="duplex-test-collector")
        self._collector.start()

    def line(self) -> bytes | None:
        return self.lines.get(timeout=PATIENCE)

    def message(self) -> Any:
        line = self.line()
        assert line is not None
        assert line.endswith(b"\n")
        return json.loads(line)

    def rest(self) -> list[bytes]:
        """Close the channel, and give what was written and not yet looked at."""
        assert self.channel.close(Deadline(PATIENCE))
        return list(iter(self.line, None))

    def stop_reading(self) -> None:
        os.close(self.far_read)
        self.far_read = -1

    def stop_writing(self) -> None:
        os.close(self.far_write)
        self.far_write = -1

    def finish(self) -> None:
        if self.far_write >= 0:
            self.stop_writing()
        if self._collector is None and self.far_read >= 0:
            self.stop_reading()  # whoever is stuck in a write is let go
        assert self.channel.close(Deadline(PATIENCE))
        join(self.reader)
        if self._collector is not None:
            join(self._collector)
        for thread in threading.enumerate():
            if thread.name == "duplex-test-writer":
                join(thread)
        assert len(self.channel.pending) == 0
        assert len(self.owner.reasons) == 1


@pytest.fixture
def link() -> Iterator[Link]:
    link = Link()
    yield link
    link.finish()


def note(**params: Any) -> bytes:
    return encode(Notification("n", params))


def attempt(call: Callable[[], Any]) -> Any:
    """What it returns, or the exception instead of it."""
    try:
        return call()
    except Exception as error:
        return error


def writing_is_stuck(channel: DuplexChannel) -> bool:
    """Whether somebody is inside of a write, and the outbox has handed over all it had."""
    return channel._write_lock.locked() and not channel._outbox


# ---- Reading ---------------------------------------------------------------------------------------------


def test_messages_reach_the_owner_in_order(link: Link) -> None:
    sent: list[Request | Notification] = [Request(1, "a"), Notification("b", {"x": 1}), Request("2", "c", {})]
    link.send(b"".join(encode(message) + b"\n" for message in sent))
    assert [link.owner.messages.get(timeout=PATIENCE) for _ in sent] == sent
    link.send(b"[" + encode(Request(3, "d")) + b"]\n")
    assert link.owner.messages.get(timeout=PATIENCE) == Batch([Request(3, "d")])


def test_a_message_may_come_in_any_pieces(link: Link) -> None:
    message = Notification("n", {"text": "é" * 50})
    for byte in encode(message) + b"\r\n\n  \n":
        link.send(bytes([byte]))
    assert link.owner.messages.get(timeout=PATIENCE) == message
    assert link.owner.messages.empty()


def test_the_reader_survives_what_is_no_message(link: Link) -> None:
    link.send(b"garbage\n\xff\xfe\n[]\n{}\n" + b"x" * (MAX_LINE + 1) + b"\n1\n")
    link.send(b'{"jsonrpc":"2.0","id":7,"method":1}\n')
    errors = [link.owner.malformed.get(timeout=PATIENCE) for _ in range(7)]
    assert [type(error) for error in errors] == [ParseError] * 2 + [InvalidRequest] * 5
    assert str(MAX_LINE) in errors[4].message
    assert errors[6].request_id == 7
    link.send(encode(Notification("after")) + b"\n")
    assert link.owner.messages.get(timeout=PATIENCE) == Notification("after")
    assert not link.owner.ended.is_set()


def test_the_reader_survives_an_owner_that_raises(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    link.owner.failure = RuntimeError("the owner's own")
    with caplog.at_level(logging.ERROR, "mcpref.transport"):
        link.send(encode(Notification("first")) + b"\n")
        link.owner.messages.get(timeout=PATIENCE)
        link.send(b"garbage\n")
        link.owner.malformed.get(timeout=PATIENCE)
        link.send(encode(Notification("second")) + b"\n")
        assert link.owner.messages.get(timeout=PATIENCE) == Notification("second")
        link.stop_writing()
        until(link.owner.ended)
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [link.owner.failure] * 3


def test_an_answer_to_nothing_is_ignored(link: Link) -> None:
    link.send(encode(Response(99, {})) + b"\n" + encode(Notification("after")) + b"\n")
    assert link.owner.messages.get(timeout=PATIENCE) == Notification("after")


def test_the_end_of_input_is_told_once_and_writing_still_works(link: Link) -> None:
    link.listen()
    link.stop_writing()
    until(link.owner.ended)
    assert link.owner.reasons == ["the peer closed the connection"]
    link.channel.write(note(computed="before the end"))
    assert link.message()["params"] == {"computed": "before the end"}


def test_an_unfinished_last_line_is_no_message(link: Link) -> None:
    link.send(encode(Notification("whole")) + b"\n" + encode(Notification("half")))
    link.stop_writing()
    until(link.owner.ended)
    assert link.owner.messages.get(timeout=PATIENCE) == Notification("whole")
    assert link.owner.messages.empty()


# ---- Writing ---------------------------------------------------------------------------------------------


@pytest.mark.parity(86)
@pytest.mark.req("stdio.no-embedded-newline")
def test_a_thousand_interleaved_writes_never_mix_their_lines(link: Link) -> None:
    sizes = [0, 1, 100, 4_096, 65_535, 65_537, 10, 150_000, 3, 2_000]

    def write(writer: int) -> None:
        for number in range(50):
            payload = note(writer=writer, number=number, fill="x" * sizes[(writer + number) % len(sizes)])
            if writer % 4:
                link.channel.write(payload)
            else:
                link.channel.post(payload)

    link.listen()
    with restless():
        together(*[partial(write, writer) for writer in range(20)])
    assert link.channel.flush(Deadline(PATIENCE))
    seen: dict[int, list[int]] = {writer: [] for writer in range(20)}
    for line in link.rest():
        params = json.loads(line)["params"]
        assert params["fill"] == "x" * sizes[(params["writer"] + params["number"]) % len(sizes)]
        seen[params["writer"]].append(params["number"])
    assert seen == {writer: list(range(50)) for writer in range(20)}


@pytest.mark.parametrize("payload", [b'"a\nb"', b'"a\rb"', b"\n"])
def test_a_payload_with_a_line_break_is_refused_and_nothing_written(link: Link, payload: bytes) -> None:
    link.listen()
    with pytest.raises(ValueError, match="line break"):
        link.channel.write(payload)
    with pytest.raises(ValueError, match="line break"):
        link.channel.post(payload)
    link.channel.write(b"{}")
    assert link.rest() == [b"{}\n"]


def test_a_message_larger_than_the_pipe_is_written_whole(link: Link) -> None:
    link.listen()
    link.channel.write(BIG)
    assert link.line() == BIG + b"\n"


def test_a_peer_that_is_gone_ends_the_connection(link: Link) -> None:
    waiter = link.channel.pending.expect()
    link.stop_reading()
    with pytest.raises(ConnectionClosed, match="writing failed"):
        link.channel.write(b"{}")
    with pytest.raises(ConnectionClosed, match="writing failed"):
        waiter.wait(PATIENCE)
    assert link.owner.reasons[0].startswith("writing failed")
    with pytest.raises(ConnectionClosed):
        link.channel.write(b"{}")
    with pytest.raises(ConnectionClosed):
        link.channel.request("ping", {}, PATIENCE)


def test_who_waits_to_write_behind_a_failing_write_is_told_too(link: Link) -> None:
    outcomes: list[Any] = []
    writers = [
        threading.Thread(target=lambda: outcomes.append(attempt(partial(link.channel.write, BIG))))
        for _ in range(4)
    ]
    for writer in writers:
        writer.start()
    eventually(link.channel._write_lock.locked)
    link.stop_reading()
    for writer in writers:
        join(writer)
    assert [type(outcome) for outcome in outcomes] == [ConnectionClosed] * 4


# ---- The outbox ------------------------------------------------------------------------------------------


def writer_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "duplex-test-writer"]


def test_the_outbox_has_no_thread_before_it_is_needed(link: Link) -> None:
    link.listen()
    link.channel.write(b"{}")
    assert writer_threads() == []
    link.channel.post(b"{}")
    assert len(writer_threads()) == 1


def test_posted_messages_are_written_in_order(link: Link) -> None:
    link.listen()
    for number in range(5_000):
        link.channel.post(note(number=number))
    assert link.channel.flush(Deadline(PATIENCE))
    assert [json.loads(line)["params"]["number"] for line in link.rest()] == list(range(5_000))


def test_posting_does_not_wait_for_a_peer_that_does_not_read(link: Link) -> None:
    link.channel.post(BIG)
    eventually(lambda: writing_is_stuck(link.channel))
    for _ in range(MAX_OUTBOX):
        link.channel.post(b"{}")
    assert not link.owner.ended.is_set()
    link.listen()
    assert link.channel.flush(Deadline(PATIENCE))
    assert link.rest() == [BIG + b"\n"] + [b"{}\n"] * MAX_OUTBOX


def test_a_peer_that_stops_reading_is_given_up_at_the_limit(
    link: Link, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(duplex, "OUTBOX_PATIENCE", 0.05)
    waiter = link.channel.pending.expect()
    link.channel.post(BIG)
    eventually(lambda: writing_is_stuck(link.channel))
    for _ in range(MAX_OUTBOX):
        link.channel.post(b"{}")
    assert not link.owner.ended.is_set()
    with caplog.at_level(logging.ERROR, "mcpref.transport"):
        link.channel.post(b"{}")
    assert link.owner.reasons == ["the peer does not read"]
    assert f"{MAX_OUTBOX} messages wait for a peer that does not read" in caplog.text
    with pytest.raises(ConnectionClosed, match="does not read"):
        waiter.wait(PATIENCE)
    link.channel.post(b"{}")  # dropped, and without a word
    assert len(caplog.records) == 1


def test_all_who_post_to_a_full_outbox_are_let_go(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplex, "OUTBOX_PATIENCE", 0.05)
    monkeypatch.setattr(duplex, "MAX_OUTBOX", 4)
    link.channel.post(BIG)
    eventually(lambda: writing_is_stuck(link.channel))
    together(*[partial(link.channel.post, b"{}")] * 8)
    assert link.owner.reasons == ["the peer does not read"]


def test_a_full_outbox_waits_for_a_peer_that_reads_again(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplex, "OUTBOX_PATIENCE", PATIENCE)
    monkeypatch.setattr(duplex, "MAX_OUTBOX", 2)

    def post() -> None:
        for number in range(30):
            link.channel.post(note(number=number, fill="x" * 100_000))

    def read() -> None:
        eventually(lambda: len(link.channel._outbox) == 2)
        link.listen()

    together(post, read)
    assert link.channel.flush(Deadline(PATIENCE))
    assert [json.loads(line)["params"]["number"] for line in link.rest()] == list(range(30))
    assert link.owner.reasons == ["the connection was closed"]


def test_after_follows_its_own_message_and_comes_before_the_next(link: Link) -> None:
    link.listen()
    for number in range(50):
        link.channel.post(note(posted=number), after=partial(link.channel.write, note(after=number)))
    assert link.channel.flush(Deadline(PATIENCE))
    seen = [json.loads(line)["params"] for line in link.rest()]
    assert seen == [params for number in range(50) for params in ({"posted": number}, {"after": number})]


def test_after_may_come_without_a_message(link: Link) -> None:
    link.listen()
    done = threading.Event()
    link.channel.post(b"", after=done.set)
    until(done)
    assert link.rest() == []


def test_a_raising_after_loses_nothing_behind_it(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("on purpose")

    link.listen()
    changes = ["a", "b"]
    link.channel.follow(lambda: [changes.pop(0)] if changes else [], lambda item: [note(change=item)])
    link.channel.post(note(number=0), after=fail)
    link.channel.post(note(number=1), after=fail)
    link.channel.post(note(number=2))
    assert link.channel.flush(Deadline(PATIENCE))
    link.channel.wake()
    assert link.channel.flush(Deadline(PATIENCE))
    seen = [json.loads(line)["params"] for line in link.rest()]
    assert [params["number"] for params in seen if "number" in params] == [0, 1, 2]
    assert [params["change"] for params in seen if "change" in params] == ["a", "b"]
    assert caplog.text.count("RuntimeError: on purpose") == 2


def test_flush_on_a_connection_that_is_over_does_not_wait(link: Link) -> None:
    link.stop_reading()
    link.channel.post(b"{}")
    until(link.owner.ended)
    for _ in range(3):
        link.channel.post(b"{}", after=lambda: pytest.fail("it was not written"))
        assert link.channel.flush(Deadline(PATIENCE))
    for thread in writer_threads():
        join(thread)


def test_flush_gives_up_when_the_time_is_up(link: Link) -> None:
    link.channel.post(BIG)
    assert not link.channel.flush(Deadline(0.05))


# ---- The feed --------------------------------------------------------------------------------------------


class Feed:
    """Changes that wait to be taken, and a stream that may be open."""

    def __init__(self, channel: DuplexChannel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._waiting: list[int] = []
        self.opened = False
        channel.follow(self.take, self.render)

    def publish(self, number: int) -> None:
        with self._lock:
            self._waiting.append(number)
        self._channel.wake()

    def take(self) -> list[int]:
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken

    def render(self, number: int) -> list[bytes]:
        return [note(change=number)] if self.opened else []

    def open(self) -> None:
        self.opened = True


def test_changes_are_written_in_order(link: Link) -> None:
    link.listen()
    feed = Feed(link.channel)
    feed.open()
    for number in range(1_000):
        feed.publish(number)
    assert link.channel.flush(Deadline(PATIENCE))
    assert [json.loads(line)["params"]["change"] for line in link.rest()] == list(range(1_000))


def test_one_change_may_be_several_lines_or_none(link: Link) -> None:
    link.listen()
    items = [[], [b"1"], [b"2", b"3"]]
    link.channel.follow(lambda: [items.pop(0)] if items else [], lambda lines: lines)
    for _ in range(3):
        link.channel.wake()
        assert link.channel.flush(Deadline(PATIENCE))
    assert link.rest() == [b"1\n", b"2\n", b"3\n"]


def test_a_stream_gets_every_change_since_it_was_asked_for_and_none_before_its_acknowledgement(
    link: Link,
) -> None:
    link.listen()
    feed = Feed(link.channel)
    asked = threading.Event()
    published = since = 0

    def publish() -> None:
        nonlocal published, since
        while not asked.is_set():
            feed.publish(published)
            published += 1
        since = published
        for _ in range(200):
            feed.publish(published)
            published += 1

    def ask() -> None:
        eventually(lambda: published > 50)
        link.channel.post(note(acknowledged=True), after=feed.open)
        asked.set()

    with restless():
        together(publish, ask)
    assert link.channel.flush(Deadline(PATIENCE))
    first, *changes = [json.loads(line)["params"] for line in link.rest()]
    assert first == {"acknowledged": True}
    numbers = [params["change"] for params in changes]
    assert numbers[0] <= since
    assert numbers == list(range(numbers[0], published))


def test_a_change_that_is_taken_with_the_question_comes_after_its_acknowledgement(link: Link) -> None:
    link.listen()
    feed = Feed(link.channel)
    feed._waiting.append(7)  # announced, but the outbox has not looked yet
    link.channel.post(note(acknowledged=True), after=feed.open)
    assert link.channel.flush(Deadline(PATIENCE))
    assert [json.loads(line)["params"] for line in link.rest()] == [{"acknowledged": True}, {"change": 7}]


def test_flush_waits_for_a_change_that_was_announced_while_the_outbox_worked(link: Link) -> None:
    link.listen()
    looking, look_on, render_on = threading.Event(), threading.Event(), threading.Event()
    items: list[str] = []

    def take() -> list[str]:
        taken = list(items)
        items.clear()
        if not looking.is_set():
            looking.set()
            until(look_on)
        return taken

    def render(item: str) -> list[bytes]:
        until(render_on)
        return [note(change=item)]

    link.channel.follow(take, render)
    link.channel.wake()
    until(looking)
    items.append("late")
    link.channel.wake()
    flushed: list[bool] = []
    flusher = threading.Thread(target=lambda: flushed.append(link.channel.flush(Deadline(0.2))))
    flusher.start()
    eventually(lambda: not link.channel._outbox_idle.is_set())
    look_on.set()
    join(flusher)
    assert flushed == [False]
    render_on.set()
    assert link.channel.flush(Deadline(PATIENCE))
    assert [json.loads(line)["params"] for line in link.rest()] == [{"change": "late"}]


@pytest.mark.parametrize("where", ["take", "render"])
def test_a_feed_that_raises_once_does_not_stop_the_outbox(
    link: Link, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    link.listen()
    feed = Feed(link.channel)
    feed.open()

    def take() -> list[int]:
        taken = feed.take()
        if where == "take" and taken == [0]:
            raise RuntimeError("on purpose")
        return taken

    def render(number: int) -> list[bytes]:
        if number == 0:
            raise RuntimeError("on purpose")
        return feed.render(number)

    link.channel.follow(take, render)
    feed.publish(0)
    assert link.channel.flush(Deadline(PATIENCE))
    with feed._lock:
        feed._waiting.extend([1, 0, 2] if where == "render" else [1, 2])
    link.channel.wake()
    assert link.channel.flush(Deadline(PATIENCE))
    link.channel.post(note(posted=True))
    assert link.channel.flush(Deadline(PATIENCE))
    seen = [json.loads(line)["params"] for line in link.rest()]
    assert seen == [{"change": 1}, {"change": 2}, {"posted": True}]
    assert "on purpose" in caplog.text


# ---- Requests --------------------------------------------------------------------------------------------


def test_a_request_is_written_and_its_answer_returned(link: Link) -> None:
    link.listen()

    def answer() -> None:
        asked = link.message()
        assert asked == {"jsonrpc": "2.0", "id": asked["id"], "method": "roots/list", "params": {"a": 1}}
        link.send(encode(Response(asked["id"], {"roots": []})) + b"\n")

    result, _ = together(lambda: link.channel.request("roots/list", {"a": 1}, PATIENCE), answer)
    assert result == {"roots": []}


@pytest.mark.req("2026-07-28:stdio.response-by-id")
def test_answers_out_of_order_reach_those_who_asked(link: Link) -> None:
    link.listen()
    count = 40

    def ask(number: int) -> Any:
        return link.channel.request("echo", {"number": number}, PATIENCE)

    def answer() -> None:
        asked = [link.message() for _ in range(count)]
        for message in reversed(asked):
            link.send(encode(Response(message["id"], message["params"]["number"])) + b"\n")

    *results, _ = together(*[partial(ask, number) for number in range(count)], answer)
    assert results == list(range(count))


@pytest.mark.parity(76)
def test_an_error_is_raised_with_its_code(link: Link) -> None:
    link.listen()

    def answer() -> None:
        error = {"code": -1, "message": "the user said no", "data": [1]}
        reply = {"jsonrpc": "2.0", "id": link.message()["id"], "error": error}
        link.send(json.dumps(reply).encode() + b"\n")

    def ask() -> PeerError:
        with pytest.raises(PeerError) as caught:
            link.channel.request("sampling/createMessage", {}, PATIENCE)
        return caught.value

    error, _ = together(ask, answer)
    assert (error.code, error.message, error.data) == (-1, "the user said no", [1])


@pytest.mark.parity(76)
def test_a_request_that_cannot_be_written_leaves_no_waiter_behind(link: Link) -> None:
    with pytest.raises(TypeError):
        link.channel.request("echo", {"x": object()}, PATIENCE)
    assert len(link.channel.pending) == 0
    link.stop_reading()
    with pytest.raises(ConnectionClosed):
        link.channel.request("echo", {}, PATIENCE)
    assert len(link.channel.pending) == 0


@pytest.mark.req("2025-11-25:lifecycle.timeout-cancel", "2025-11-25:lifecycle.timeouts")
@pytest.mark.req("2025-11-25:cancel.notification-shape", "2025-11-25:cancel.request-id-given")
def test_a_request_that_is_not_answered_in_time_is_taken_back(link: Link) -> None:
    link.listen()
    with pytest.raises(RequestTimeout):
        link.channel.request("elicitation/create", {}, 0.01)
    asked, taken_back = link.message(), link.message()
    assert taken_back["method"] == "notifications/cancelled"
    assert taken_back["params"]["requestId"] == asked["id"]
    assert "0.01 seconds" in taken_back["params"]["reason"]
    link.send(encode(Response(asked["id"], {})) + b"\n" + encode(Notification("after")) + b"\n")
    assert link.owner.messages.get(timeout=PATIENCE) == Notification("after")


def test_a_request_whose_own_request_is_cancelled_is_taken_back(link: Link) -> None:
    link.listen()
    token = CancellationToken()

    def cancel() -> Any:
        asked = link.message()
        token.cancel()
        return asked

    outcome, asked = together(
        lambda: attempt(lambda: link.channel.request("elicitation/create", {}, PATIENCE, token)), cancel
    )
    assert isinstance(outcome, RequestCancelled)
    taken_back = link.message()
    assert (taken_back["method"], taken_back["params"]["requestId"]) == (
        "notifications/cancelled",
        asked["id"],
    )


@pytest.mark.parity(89)
def test_the_end_of_input_releases_who_waits_and_refuses_who_comes_later(link: Link) -> None:
    link.listen()

    def hang_up() -> None:
        for _ in range(3):
            link.message()
        link.stop_writing()

    *outcomes, _ = together(
        *[lambda: attempt(lambda: link.channel.request("echo", {}, PATIENCE))] * 3, hang_up
    )
    assert [type(outcome) for outcome in outcomes] == [ConnectionClosed] * 3
    with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
        link.channel.request("echo", {}, PATIENCE)
    link.channel.write(note(computed=True))
    assert link.message()["params"] == {"computed": True}


# ---- Closing ---------------------------------------------------------------------------------------------


def test_close_ends_what_the_far_side_reads(link: Link) -> None:
    link.listen()
    link.channel.write(b"{}")
    assert link.channel.close(Deadline(PATIENCE))
    assert link.line() == b"{}\n"
    assert link.line() is None
    assert link.owner.reasons == ["the connection was closed"]
    with pytest.raises(ConnectionClosed):
        link.channel.write(b"{}")


def test_close_ends_the_thread_of_the_outbox(link: Link) -> None:
    link.listen()
    link.channel.post(b"{}")
    [writer] = writer_threads()
    assert link.channel.flush(Deadline(PATIENCE))
    assert link.channel.close(Deadline(PATIENCE))
    join(writer)


def test_close_while_a_writer_is_stuck_gives_up_and_lets_nobody_else_write(link: Link) -> None:
    outcomes: list[Any] = []
    stuck = threading.Thread(target=lambda: outcomes.append(attempt(partial(link.channel.write, BIG))))
    stuck.start()
    eventually(link.channel._write_lock.locked)
    link.channel.post(b'"behind it"')
    assert not link.channel.close(Deadline(0.05))
    assert not link.channel.close(Deadline(0))
    link.listen()
    assert link.line() == BIG + b"\n"
    join(stuck)
    assert outcomes == [None]
    with pytest.raises(ConnectionClosed):
        link.channel.write(b"{}")
    assert link.rest() == []


def test_a_second_close_does_not_close_somebody_elses_descriptor(link: Link) -> None:
    assert link.channel.close(Deadline(PATIENCE))
    others = [fd for _ in range(4) for fd in os.pipe()]  # one of them got the number that has become free
    assert link.channel.close(Deadline(PATIENCE))
    link.stop_writing()
    join(link.reader)
    for fd in others:
        os.fstat(fd)
        os.close(fd)


def test_whoever_notices_the_end_first_is_the_only_one_to_tell() -> None:
    for _ in range(50):
        link = Link()
        link.stop_reading()
        together(
            link.stop_writing,
            lambda link=link: attempt(lambda: link.channel.write(b"{}")),  # type: ignore[misc]
            partial(link.channel.close, Deadline(PATIENCE)),
        )
        link.finish()
