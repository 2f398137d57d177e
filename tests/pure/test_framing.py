"""`mcpref.framing`: the lines of the stdio wire."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpref.framing import MAX_LINE, LineDecoder, LineTooLong, encode_line
from mcpref.jsonrpc import Notification, decode, encode


def lines(data: bytes, max_line: int = MAX_LINE, cut: int | None = None) -> list[bytes | LineTooLong]:
    """What a decoder makes of ``data``, fed in pieces of ``cut`` bytes."""
    decoder = LineDecoder(max_line)
    size = cut or max(len(data), 1)
    return [line for start in range(0, len(data), size) for line in decoder.feed(data[start : start + size])]


TABLE = [
    pytest.param(b"", [], id="nothing"),
    pytest.param(b"a\n", [b"a"], id="one"),
    pytest.param(b"a\nb\nc\n", [b"a", b"b", b"c"], id="several"),
    pytest.param(b"a\nb", [b"a"], id="unfinished"),
    pytest.param(b"a\r\nb\n", [b"a", b"b"], id="cr-stripped"),
    pytest.param(b"a\r\r\n", [b"a\r"], id="one-cr-only"),
    pytest.param(b"a\rb\n", [b"a\rb"], id="lone-cr-is-data"),
    pytest.param(b"\n\r\n  \n\t \t\n \r\na\n", [b"a"], id="blank-lines"),
    pytest.param(b" a \n", [b" a "], id="blanks-kept"),
    pytest.param("a\u2028b\u2029c\x85d\n".encode(), ["a\u2028b\u2029c\x85d".encode()], id="unicode-breaks"),
    pytest.param(b"a\x0bb\x0cc\x1cd\x1ee\n", [b"a\x0bb\x0cc\x1cd\x1ee"], id="control-breaks"),
    pytest.param(b"\x0b\n\x0c\n", [b"\x0b", b"\x0c"], id="other-space-is-not-blank"),
    pytest.param(b"\xff\xfe\0\n", [b"\xff\xfe\0"], id="any-byte"),
]


@pytest.mark.parity(87)
@pytest.mark.parametrize(("data", "expected"), TABLE)
def test_lines_whole_and_one_byte_at_a_time(data: bytes, expected: list[bytes]) -> None:
    assert lines(data) == expected
    assert lines(data, cut=1) == expected


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("cut", [1, 3, None])
def test_limit_counts_the_line_without_its_terminator(ending: bytes, cut: int | None) -> None:
    assert lines(b"x" * 8 + ending, max_line=8, cut=cut) == [b"x" * 8]
    assert lines(b"x" * 9 + ending, max_line=8, cut=cut) == [LineTooLong(8)]


@pytest.mark.parity(88)
@pytest.mark.parametrize("cut", [1, 5, None])
def test_over_long_line_is_reported_once_and_the_next_one_served(cut: int | None) -> None:
    data = b"first\n" + b"x" * 40 + b"\nsecond\n" + b"y" * 9 + b"\n" + b"z" * 50 + b"\nthird\n"
    assert lines(data, max_line=8, cut=cut) == [
        b"first",
        LineTooLong(8),
        b"second",
        LineTooLong(8),
        LineTooLong(8),
        b"third",
    ]


@pytest.mark.parity(88)
def test_over_long_line_is_reported_before_it_ends() -> None:
    decoder = LineDecoder(8)
    assert decoder.feed(b"x" * 8) == []
    assert decoder.feed(b"x") == [LineTooLong(8)]
    assert decoder.feed(b"x" * 100) == []
    assert decoder.feed(b"\r\nnext\n") == [b"next"]


def test_a_cr_over_the_limit_is_too_long_only_if_no_newline_follows() -> None:
    decoder = LineDecoder(4)
    assert decoder.feed(b"xxxx\r") == []
    assert decoder.feed(b"\n") == [b"xxxx"]
    assert decoder.feed(b"xxxx\r") == []
    assert decoder.feed(b"x") == [LineTooLong(4)]


def test_blanks_over_the_limit_are_too_long() -> None:
    assert lines(b" " * 9 + b"\na\n", max_line=8) == [LineTooLong(8), b"a"]


def test_too_long_says_what_the_limit_is() -> None:
    assert "longer than 4194304 bytes" in str(LineTooLong(MAX_LINE))


def test_unterminated_tail_is_discarded_at_eof() -> None:
    decoder = LineDecoder()
    assert decoder.feed(b'a\n{"jsonrpc"') == [b"a"]
    assert decoder.eof() == len(b'{"jsonrpc"')
    assert decoder.eof() == 0
    assert decoder.feed(b"b\n") == [b"b"]


def test_eof_inside_an_over_long_line() -> None:
    decoder = LineDecoder(2)
    assert decoder.feed(b"xxxx") == [LineTooLong(2)]
    assert decoder.eof() == 0
    assert decoder.feed(b"b\n") == [b"b"]


@pytest.mark.parametrize("max_line", [0, -1])
def test_a_limit_below_one_is_refused(max_line: int) -> None:
    with pytest.raises(ValueError, match="max_line must be at least 1"):
        LineDecoder(max_line)


streams = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b"\t", b"x", b"yy", b"\xe2\x80\xa8", b"\0"]), max_size=30
).map(b"".join)


@given(data=streams, max_line=st.integers(1, 12))
@example(data=b"xxxx\r\n", max_line=4)
@example(data=b"xxxxx\r\n", max_line=4)
def test_any_single_split_gives_the_same_lines(data: bytes, max_line: int) -> None:
    expected = lines(data, max_line)
    for point in range(len(data) + 1):
        decoder = LineDecoder(max_line)
        assert decoder.feed(data[:point]) + decoder.feed(data[point:]) == expected
    assert lines(data, max_line, cut=1) == expected


@given(data=streams, max_line=st.integers(1, 12))
def test_lines_agree_with_a_plain_reading_of_the_rules(data: bytes, max_line: int) -> None:
    expected: list[bytes | LineTooLong] = []
    *ended, tail = data.split(b"\n")
    for raw in ended:
        line = raw[:-1] if raw.endswith(b"\r") else raw
        if len(line) > max_line:
            expected.append(LineTooLong(max_line))
        elif line.replace(b" ", b"").replace(b"\t", b""):
            expected.append(line)
    if len(tail[:-1] if tail.endswith(b"\r") else tail) > max_line:
        expected.append(LineTooLong(max_line))
    assert lines(data, max_line) == expected


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    decoder = LineDecoder()
    piece = b"x" * 64
    began = time.process_time()
    for _ in range(MAX_LINE // len(piece)):
        assert decoder.feed(piece) == []
    (line,) = decoder.feed(b"\n")
    # Copying what is pending at each piece would move some 130 GB.
    assert time.process_time() - began < 5
    assert line == b"x" * MAX_LINE


def test_memory_is_bounded_by_the_limit_and_one_chunk() -> None:
    limit, chunk = 256 * 1024, b"x" * 64 * 1024
    decoder = LineDecoder(limit)
    tracemalloc.start()
    try:
        reports = [found for _ in range(256) for found in decoder.feed(chunk)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert reports == [LineTooLong(limit)]
    # A bytearray reserves a little more than it holds.
    assert peak < 2 * (limit + len(chunk))


@pytest.mark.req("stdio.no-embedded-newline")
@pytest.mark.parametrize("text", ["a\nb", "a\r\nb", "\n", "\u2028", "\x85", "\\n"])
def test_a_message_with_line_breaks_is_one_line(text: str) -> None:
    message = Notification("notifications/message", {"data": text})
    wire = encode_line(encode(message))
    assert wire.count(b"\n") == 1
    (line,) = LineDecoder().feed(wire)
    assert isinstance(line, bytes)
    assert decode(line) == message


@pytest.mark.req("stdio.no-embedded-newline")
@pytest.mark.parametrize("payload", [b"{\n}", b"{}\n", b"\n", b"{\r}", b"{}\r"])
def test_a_payload_with_a_raw_line_break_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError, match="raw line break"):
        encode_line(payload)


@given(st.lists(st.binary(min_size=1).filter(lambda p: not set(p) & set(b"\r\n") and bool(p.strip(b" \t")))))
def test_encoded_lines_decode_to_themselves(payloads: list[bytes]) -> None:
    assert lines(b"".join(map(encode_line, payloads))) == payloads
