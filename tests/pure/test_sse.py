"""`mcpref.sse`: the event stream format of the WHATWG HTML standard."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpref.errors import LocalError
from mcpref.sse import MAX_EVENT, EventDecoder, EventTooLarge, SseEvent, encode_comment, encode_event


def events(data: bytes, cut: int | None = None) -> list[SseEvent]:
    decoder = EventDecoder()
    size = cut or max(len(data), 1)
    return [
        event for start in range(0, len(data), size) for event in decoder.feed(data[start : start + size])
    ]


# ----- encoder


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        (encode_event("x"), b"data: x\n\n"),
        (encode_event(b"x"), b"data: x\n\n"),
        (encode_event("é"), b"data: \xc3\xa9\n\n"),
        (encode_event("a\nb"), b"data: a\ndata: b\n\n"),
        (encode_event("a\r\nb\rc\n"), b"data: a\ndata: b\ndata: c\ndata: \n\n"),
        (encode_event("", id="0-0"), b"id: 0-0\ndata: \n\n"),
        (encode_event("", id="0-1", retry=500), b"id: 0-1\nretry: 500\ndata: \n\n"),
        (
            encode_event("x", event="endpoint", id="7", retry=0),
            b"event: endpoint\nid: 7\nretry: 0\ndata: x\n\n",
        ),
        (encode_comment(), b":\n"),
        (encode_comment("keep-alive"), b": keep-alive\n"),
        (encode_comment("a\nb\r\n"), b": a\n: b\n:\n"),
    ],
)
def test_encoding(encoded: bytes, expected: bytes) -> None:
    assert encoded == expected


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "\r\n", "a\0"])
def test_a_field_that_could_break_out_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="the id of an event must not contain"):
        encode_event("x", id=bad)
    with pytest.raises(ValueError, match="the event of an event must not contain"):
        encode_event("x", event=bad)


@pytest.mark.parametrize("bad", [-1, True, 1.5, "500"])
def test_a_retry_that_is_no_number_of_milliseconds_is_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="retry must be a number of milliseconds"):
        encode_event("x", retry=bad)


def test_a_hostile_text_cannot_forge_an_event() -> None:
    forged = "x\n\nevent: endpoint\ndata: /evil\n\n"
    assert events(encode_event(forged)) == [SseEvent(forged)]


# ----- decoder

TABLE = [
    pytest.param(b"data: x\n\n", [SseEvent("x")], id="one"),
    pytest.param(b"data: x\n", [], id="unfinished"),
    pytest.param(b"data:x\n\ndata:  x\n\n", [SseEvent("x"), SseEvent(" x")], id="one-leading-space-removed"),
    pytest.param(b"data:\tx\n\n", [SseEvent("\tx")], id="tab-kept"),
    pytest.param(b"data: a\ndata: b\n\n", [SseEvent("a\nb")], id="data-joined"),
    pytest.param(b"data\ndata\n\n", [SseEvent("\n")], id="no-colon"),
    pytest.param(b"data:\n\n", [SseEvent("")], id="empty-data-is-dispatched"),
    pytest.param(b"data: a: b\n\n", [SseEvent("a: b")], id="colon-in-value"),
    pytest.param(b"event: add\ndata: x\n\n", [SseEvent("x", "add")], id="event"),
    pytest.param(b"event: add\n\ndata: x\n\n", [SseEvent("x")], id="event-forgotten-at-blank-line"),
    pytest.param(b"event:\ndata: x\n\n", [SseEvent("x")], id="empty-event-is-message"),
    pytest.param(b"Data: x\ndatum: x\n data: x\n\n", [], id="unknown-fields"),
    pytest.param(
        b"id: 1\ndata: x\n\ndata: y\n\n", [SseEvent("x", id="1"), SseEvent("y", id="1")], id="id-stays"
    ),
    pytest.param(b"id: 1\n\ndata: y\n\n", [SseEvent("y", id="1")], id="id-without-data"),
    pytest.param(b"id: 1\ndata: x\n\nid\ndata: y\n\n", [SseEvent("x", id="1"), SseEvent("y")], id="id-reset"),
    pytest.param(b"id: 1\nid: a\0b\ndata: x\n\n", [SseEvent("x", id="1")], id="id-with-nul-ignored"),
    pytest.param(
        b"retry: 500\ndata: x\n\ndata: y\n\n", [SseEvent("x", retry=500), SseEvent("y")], id="retry"
    ),
    pytest.param(b"retry: 5s\nretry: -1\nretry:\nretry: 1.5\ndata: x\n\n", [SseEvent("x")], id="bad-retry"),
    pytest.param("retry: ٣\ndata: x\n\n".encode(), [SseEvent("x")], id="retry-ascii-digits-only"),
    pytest.param(b"retry: " + b"9" * 5000 + b"\ndata: x\n\n", [SseEvent("x")], id="absurd-retry"),
    pytest.param(b":\n: hello\n:data: no\ndata: x\n:\n\n", [SseEvent("x")], id="comments"),
    pytest.param(b":\n\n\n\n", [], id="comment-and-blank-lines"),
    pytest.param(b"\xef\xbb\xbfdata: x\n\n", [SseEvent("x")], id="bom"),
    pytest.param(b"\xef\xbb\xbf\ndata: x\n\n", [SseEvent("x")], id="bom-on-blank-line"),
    pytest.param(b"data: x\n\n\xef\xbb\xbfdata: y\n\n", [SseEvent("x")], id="bom-once"),
    pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata: x\n\n", [], id="second-bom-is-text"),
    pytest.param("data: héé 世界 🎉\n\n".encode(), [SseEvent("héé 世界 🎉")], id="utf-8"),
    pytest.param(b"data: a\xffb\xc3\ndata: c\n\n", [SseEvent("a\ufffdb\ufffd\nc")], id="bad-utf-8-replaced"),
    pytest.param(
        "data: a\u2028b\x85c\x0bd\n\n".encode(), [SseEvent("a\u2028b\x85c\x0bd")], id="no-other-breaks"
    ),
]


@pytest.mark.parametrize(("data", "expected"), TABLE)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_decoding_whole_and_one_byte_at_a_time(data: bytes, expected: list[SseEvent], ending: bytes) -> None:
    data = data.replace(b"\n", ending)
    assert events(data) == expected
    assert events(data, cut=1) == expected


@pytest.mark.req("2026-07-28:http.sse-ignore-comments")
def test_comment_lines_are_skipped_anywhere() -> None:
    stream = encode_comment() + b":\r\n" + encode_event("a") + encode_comment("ping") + b"data: b\n:\r\n\n"
    assert events(stream) == [SseEvent("a"), SseEvent("b")]


def test_mixed_line_ends() -> None:
    assert events(b"data: a\rdata: b\r\ndata: c\n\r\n") == [SseEvent("a\nb\nc")]


def test_a_crlf_cut_in_two_is_one_line_end() -> None:
    decoder = EventDecoder()
    assert decoder.feed(b"data: a\r") == []
    assert decoder.feed(b"") == []
    assert decoder.feed(b"\ndata: b\r") == []
    assert decoder.feed(b"\n\r") == [SseEvent("a\nb")]
    assert decoder.feed(b"\ndata: c\r\n\r\n") == [SseEvent("c")]


def test_an_event_is_dispatched_by_a_cr_without_waiting_for_more() -> None:
    assert EventDecoder().feed(b"data: a\r\r") == [SseEvent("a")]


def test_last_event_id_counts_whole_events_only() -> None:
    decoder = EventDecoder()
    decoder.feed(b"id: 1\ndata: x\n\nid: 2\ndata: y\n")
    assert decoder.last_event_id == "1"
    decoder.feed(b"\n")
    assert decoder.last_event_id == "2"
    decoder.feed(b"id: 3\n\n")
    assert decoder.last_event_id == "3"


def test_retry_is_known_without_an_event() -> None:
    assert EventDecoder().retry is None
    decoder = EventDecoder()
    assert decoder.feed(b"retry: 250\n\n") == []
    assert decoder.retry == 250
    decoder.feed(b"retry: soon\n\n")
    assert decoder.retry == 250


# ----- bounds


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_the_bound_counts_the_lines_of_an_event(cut: int) -> None:
    def feed_all(data: bytes) -> list[SseEvent]:
        decoder = EventDecoder(max_event=20)
        return [e for start in range(0, len(data), cut) for e in decoder.feed(data[start : start + cut])]

    assert feed_all(b"data: " + b"x" * 14 + b"\n\n") == [SseEvent("x" * 14)]
    assert feed_all(b"data: xxxx\r\ndata: yyyy\r\n\r\n") == [SseEvent("xxxx\nyyyy")]
    with pytest.raises(EventTooLarge):
        feed_all(b"data: " + b"x" * 15 + b"\n\n")
    with pytest.raises(EventTooLarge):
        feed_all(b"data: xxxx\ndata: yyyyy\n\n")
    with pytest.raises(EventTooLarge):
        feed_all(b":" + b"x" * 20 + b"\n\n")


def test_the_bound_is_noticed_before_the_line_ends() -> None:
    decoder = EventDecoder(max_event=20)
    assert decoder.feed(b"x" * 20) == []
    with pytest.raises(EventTooLarge, match="more than 20 bytes"):
        decoder.feed(b"x")


def test_events_and_comments_do_not_add_up() -> None:
    decoder = EventDecoder(max_event=20)
    for _ in range(10):
        assert decoder.feed(b"data: 0123456789\n\n:0123456789012345678\n") == [SseEvent("0123456789")]


def test_whole_events_come_out_before_the_failure() -> None:
    decoder = EventDecoder(max_event=20)
    assert decoder.feed(b"data: a\n\n" + b"x" * 21) == [SseEvent("a")]
    for _ in range(2):
        with pytest.raises(EventTooLarge):
            decoder.feed(b"\n\ndata: b\n\n")


def test_too_large_is_a_local_error() -> None:
    error = EventTooLarge(5)
    assert isinstance(error, LocalError)
    assert error.limit == 5


@pytest.mark.parametrize("max_event", [0, -1])
def test_a_bound_below_one_is_refused(max_event: int) -> None:
    with pytest.raises(ValueError, match="max_event must be at least 1"):
        EventDecoder(max_event)


def test_a_large_event_in_small_pieces_takes_linear_time() -> None:
    decoder = EventDecoder()
    began = time.process_time()
    decoder.feed(b"data: ")
    count = MAX_EVENT // 64 - 1
    for _ in range(count):
        assert decoder.feed(b"x" * 64) == []
    assert decoder.feed(b"\n\n") == [SseEvent("x" * 64 * count)]
    # Copying what is pending at each piece would move some 130 GB.
    assert time.process_time() - began < 5


# ----- properties

field_text = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)
data_text = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=60)


@given(
    st.lists(
        st.builds(
            dict,
            data=data_text,
            event=st.none() | field_text,
            id=st.none() | field_text,
            retry=st.none() | st.integers(0, 10**15 - 1),
        ),
        max_size=5,
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_what_is_encoded_is_decoded(specs: list[dict[str, object]], ending: bytes) -> None:
    expected = []
    current_id = ""
    stream = b""
    for spec in specs:
        stream += encode_comment("between") + encode_event(**spec)  # type: ignore[arg-type]
        current_id = current_id if spec["id"] is None else str(spec["id"])
        expected.append(
            SseEvent(str(spec["data"]), str(spec["event"] or "message"), current_id, spec["retry"])  # type: ignore[arg-type]
        )
    assert events(stream.replace(b"\n", ending)) == expected


pieces = st.sampled_from(
    [
        b"\n",
        b"\r",
        b"\r\n",
        b"data:",
        b"data: ",
        b"id: 1",
        b"event: e",
        b"retry: 5",
        b":",
        b"x",
        b"\xc3",
        b"\xa9",
        b"\xef\xbb\xbf",
        b"\0",
    ]
)


@given(st.lists(pieces, max_size=24).map(b"".join), st.integers(1, 24))
@example(b"\xef\xbb\xbfdata: x\r\n\r\n", 10)
def test_any_single_split_gives_the_same_events(data: bytes, max_event: int) -> None:
    def run(*chunks: bytes) -> tuple[list[SseEvent], bool, str]:
        decoder = EventDecoder(max_event)
        found: list[SseEvent] = []
        try:
            for chunk in chunks:
                found += decoder.feed(chunk)
            decoder.feed(b"")
        except EventTooLarge:
            return found, True, decoder.last_event_id
        return found, False, decoder.last_event_id

    expected = run(data)
    for point in range(len(data) + 1):
        assert run(data[:point], data[point:]) == expected
    assert run(*(data[i : i + 1] for i in range(len(data)))) == expected
