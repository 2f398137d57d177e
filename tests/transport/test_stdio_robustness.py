"""Anything may come down a pipe. The same process goes on, and answers an innocent call with its own answer."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from .process import (
    ServerProcess,
    answers_to,
    call,
    initialize,
    launch,
    line,
    request,
    text_of,
)

#: What `servers/tools.py` sets.
LIMIT = 100_000
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602

NESTED = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 200 + b"1" + b"}" * 201
DUPLICATE = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}'
MANY_DIGITS = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":' + b"9" * 5000 + b"}}"

#: A line, the code it is answered with, and the id if it can be read.
MALFORMED: dict[str, tuple[bytes, int, object]] = {
    "text": (b"hello", PARSE_ERROR, None),
    "bad UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', PARSE_ERROR, None),
    "overlong UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}', PARSE_ERROR, None),
    "a surrogate in UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', PARSE_ERROR, None),
    "UTF-16": ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le"), PARSE_ERROR, None),
    "a byte order mark": (b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}', PARSE_ERROR, None),
    "NUL bytes": (b"\x00\x00\x00", PARSE_ERROR, None),
    "a NUL in a string": (b'{"jsonrpc":"2.0","id":1,"method":"a\x00b"}', PARSE_ERROR, None),
    "two messages on one line": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}' * 2, PARSE_ERROR, None),
    "a carriage return between": (b'{"jsonrpc":"2.0",\r"id":1,\r"method":3}', INVALID_REQUEST, 1),
    "NaN": (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', PARSE_ERROR, None),
    "infinity": (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e999}}', PARSE_ERROR, None),
    "too many digits": (MANY_DIGITS, PARSE_ERROR, None),
    "too many digits in the id": (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b"}", PARSE_ERROR, None),
    "too deep": (NESTED, INVALID_REQUEST, 1),
    "far too deep": (b"[" * 90_000, INVALID_REQUEST, None),
    "far too deep, and closed": (b"[" * 40_000 + b"]" * 40_000, INVALID_REQUEST, None),
    "a member twice": (DUPLICATE, INVALID_REQUEST, 1),
    "a number": (b"7", INVALID_REQUEST, None),
    "a string": (b'"tools/list"', INVALID_REQUEST, None),
    "null": (b"null", INVALID_REQUEST, None),
    "an array": (b"[]", INVALID_REQUEST, None),
    "no version": (b'{"id":"a","method":"tools/list"}', INVALID_REQUEST, "a"),
    "a wrong version": (b'{"jsonrpc":"1.0","id":"a","method":"tools/list"}', INVALID_REQUEST, "a"),
    "id null": (b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}', INVALID_REQUEST, None),
    "id true": (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', INVALID_REQUEST, None),
    "id 1.5": (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', INVALID_REQUEST, None),
    "id []": (b'{"jsonrpc":"2.0","id":[],"method":"tools/list"}', INVALID_REQUEST, None),
    "method 7": (b'{"jsonrpc":"2.0","id":"a","method":7}', INVALID_REQUEST, "a"),
    "no method": (b'{"jsonrpc":"2.0","id":"a"}', INVALID_REQUEST, "a"),
    "a request and a response": (
        b'{"jsonrpc":"2.0","id":"a","method":"x","result":{}}',
        INVALID_REQUEST,
        "a",
    ),
    "params []": (b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":[]}', INVALID_PARAMS, "a"),
    "params null": (b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":null}', INVALID_PARAMS, "a"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One process for all of these: it must outlive each."""
    with launch("tools") as process:
        yield process
        process.close_input()
        assert process.finish() == 0
        assert process.inbox.rest() == [], "something was answered that should not have been"
        assert "Traceback" not in process.errors


class TestLines:
    """Where a message begins and ends."""

    @pytest.mark.parity(87)
    @pytest.mark.req(
        "2025-11-25:errors.parse",
        "2025-11-25:errors.invalid-request",
        "2025-11-25:jsonrpc.error-id-omitted",
        "2025-11-25:jsonrpc.error-id-match",
        "2026-07-28:jsonrpc.error-id-echo",
        "jsonrpc.error-shape",
        "base.utf8",
    )
    @pytest.mark.parametrize("case", MALFORMED)
    def test_a_malformed_line_is_answered_once_and_survived(self, server: ServerProcess, case: str) -> None:
        data, code, request_id = MALFORMED[case]
        server.send_bytes(data + b"\n")
        answer = server.take(lambda message: "error" in message)
        assert answer["error"]["code"] == code
        assert answer["error"]["message"]
        # Before a handshake the id is left out where it cannot be read, as 2025-11-25 and later have it.
        assert answer.get("id", None) == request_id
        assert ("id" in answer) == (request_id is not None)
        server.is_alive_and_well(f"after {case}")

    def test_a_line_may_come_in_pieces(self, server: ServerProcess) -> None:
        whole = line(call("pieces", "echo", {"text": "größer"}))
        for index in range(len(whole)):
            server.send_bytes(whole[index : index + 1])
        assert text_of(server.answer("pieces")) == "größer"

    def test_half_a_line_does_not_hold_up_what_runs(self, server: ServerProcess) -> None:
        whole = line(call("half", "echo", {"text": "x"}))
        server.send_bytes(line(call("before", "echo", {"text": "y"})) + whole[:20])
        assert text_of(server.answer("before")) == "y"
        server.send_bytes(whole[20:])
        assert text_of(server.answer("half")) == "x"

    @pytest.mark.parity(87)
    def test_carriage_returns_and_blank_lines_are_no_messages(self, server: ServerProcess) -> None:
        message = line(call("crlf", "echo", {"text": "x"})).removesuffix(b"\n")
        server.send_bytes(b"\n\r\n   \n\t\r\n" + message + b"\r\n\n")
        assert text_of(server.answer("crlf")) == "x"
        server.is_alive_and_well("after blanks")

    @pytest.mark.req("base.utf8", "stdio.no-embedded-newline")
    @pytest.mark.parametrize(
        "text",
        [
            "\u2028",
            "\u2029",
            "\x85",
            "\x0b",
            "\x0c",
            "\x1c",
            "\r\n",
            "\x00",
            "\ud800",
            "😀",
            "\ufeff",
            "\x7f",
        ],
        ids=lambda text: ascii(text),
    )
    def test_what_only_looks_like_a_line_break_is_text(self, server: ServerProcess, text: str) -> None:
        text = f"one{text}two"
        message = call("breaks", "echo", {"text": text})
        # As plain UTF-8 where that exists, and escaped where JSON demands it.
        plain = json.dumps(message, ensure_ascii="\ud800" in text).encode()
        server.send_bytes(plain + b"\n" + json.dumps({**message, "id": "escaped"}).encode() + b"\n")
        assert text_of(server.answer("breaks")) == text
        assert text_of(server.answer("escaped")) == text

    @pytest.mark.parametrize("id", [0, -1, 2**53 + 1, 10**4000, "", "a\nb", "\ud800", "é" * 1000])
    @pytest.mark.req(
        "2025-11-25:jsonrpc.result-id-match",
        "2026-07-28:jsonrpc.result-id-echo",
        "2026-07-28:base.request-answered",
    )
    def test_any_string_or_integer_is_an_id(self, server: ServerProcess, id: int | str) -> None:
        server.send_bytes(json.dumps(call(id, "echo", {"text": "x"})).encode() + b"\n")
        assert text_of(server.answer(id)) == "x"

    def test_a_null_id_is_kept_where_the_revision_wants_one(self) -> None:
        for version, kept in (("2024-11-05", True), ("2025-06-18", True), ("2025-11-25", False)):
            with launch("tools") as server:
                server.handshake(version)
                server.send_bytes(b"no message\n")
                answer = server.take(lambda message: "error" in message)
                assert ("id" in answer, answer.get("id")) == (kept, None)


class TestSize:
    """Long lines: how much is read, how much is kept."""

    @pytest.mark.parity(88)
    def test_the_longest_line_is_served_and_one_byte_more_is_not(self, server: ServerProcess) -> None:
        frame = len(line(call("size", "echo", {"text": ""}))) - 1
        longest = line(call("size", "echo", {"text": "x" * (LIMIT - frame)}))
        assert len(longest) == LIMIT + 1  # with its newline, which does not count
        server.send_bytes(longest)
        assert len(text_of(server.answer("size"))) == LIMIT - frame
        server.send_bytes(line(call("size", "echo", {"text": "x" * (LIMIT - frame + 1)})))
        error = server.take(lambda message: "error" in message)
        assert error["error"]["code"] == INVALID_REQUEST
        assert str(LIMIT) in error["error"]["message"]
        server.is_alive_and_well("after the limit")

    @pytest.mark.parity(88)
    def test_64_mebibytes_are_answered_once_skipped_and_not_kept(self) -> None:
        with launch("mcpref.demo:server") as server:
            discover = request("warm", "server/discover", call(0, "")["params"])
            assert "result" in server.ask(discover)
            before = server.memory_peak()
            chunk = b"x" * (1024 * 1024)
            for _ in range(64):
                server.send_bytes(chunk)
            # Told before the line has even ended, and once.
            error = server.take(lambda message: "error" in message)
            assert error["error"]["code"] == INVALID_REQUEST
            assert "4194304 bytes" in error["error"]["message"]
            server.send_bytes(b"\n" + line({**discover, "id": "next"}))
            assert "result" in server.answer("next")
            # The limit is 4 MiB: what is held of the line, and a copy of it while it grows.
            assert server.memory_peak() - before < 20 * 1024 * 1024
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []

    def test_a_large_message_with_a_fault_at_its_end_is_refused_at_once(self) -> None:
        members = ",".join(f'"{number:06}":0' for number in range(300_000))
        fault = f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{members},"299999":1}}}}'.encode()
        assert len(fault) < 4 * 1024 * 1024
        with launch("mcpref.demo:server") as server:
            server.send_bytes(fault + b"\n")
            began = time.monotonic()
            error = server.take(lambda message: "error" in message)
            assert "'299999' stands twice" in error["error"]["message"]
            assert time.monotonic() - began < 10


class TestMisuse:
    """Well-formed messages that make no sense here."""

    def test_answers_to_nothing_are_ignored(self, server: ServerProcess) -> None:
        server.send({"jsonrpc": "2.0", "id": 1, "result": {}}, {"jsonrpc": "2.0", "id": "x", "result": {}})
        server.send({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
        server.send({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}})
        server.is_alive_and_well("after answers")

    def test_a_second_handshake_is_refused_and_changes_nothing(self) -> None:
        with launch("tools") as server:
            server.handshake("2025-03-26")
            assert server.ask(initialize("2025-11-25", 1))["error"]["code"] == INVALID_REQUEST
            assert text_of(server.ask(call(2, "version", modern=False))) == "2025-03-26"

    @pytest.mark.req("2026-07-28:version.unsupported-32022", "2026-07-28:version.unsupported-data")
    def test_an_unknown_version_in_a_request_is_refused(self, server: ServerProcess) -> None:
        message = call("v", "version")
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
        error = server.ask(message)["error"]
        assert error["code"] == -32022
        assert error["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


class TestGenerated:
    """Ten thousand lines that nobody would write."""

    SEED = 20260728
    LINES = 10_000
    GROUP = 100

    @pytest.mark.parity(87)
    @pytest.mark.req("2026-07-28:base.request-answered", "jsonrpc.notification-no-response")
    def test_each_is_answered_once_or_not_at_all(self) -> None:
        generated = Malformed(random.Random(self.SEED))
        anonymous = 0
        with launch("tools") as server:
            for group in range(self.LINES // self.GROUP):
                expected: dict[str, int] = {}
                lines = []
                for _ in range(self.GROUP):
                    data, request_id, answers = generated.next()
                    lines.append(data + b"\n")
                    if request_id is not None:
                        expected[request_id] = answers
                    else:
                        anonymous += answers
                canary = line(call(f"canary {group}", "echo", {"text": str(group)}))
                server.send_bytes(b"".join(lines[:50]) + canary + b"".join(lines[50:]))
                assert text_of(server.answer(f"canary {group}")) == str(group)
                for request_id, answers in expected.items():
                    for _ in range(answers):
                        assert server.take(answers_to(request_id))["error"]["code"] < 0
            assert server.process.poll() is None
            server.close_input()
            assert server.finish() == 0
            rest = server.inbox.rest()
        # What is left are the errors that could name no id: no more, and no fewer, than were owed.
        assert all("error" in message and "id" not in message for message in rest)
        assert len(rest) == anonymous
        assert anonymous > self.LINES // 4
        assert "Traceback" not in server.errors


class Malformed:
    """Makes lines that are wrong in a known way, with the number of answers that each is owed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._count = 0
        self._kinds = [
            self._bytes,
            self._cut,
            self._flipped,
            self._scalar,
            self._envelope,
            self._params,
            self._notification,
            self._stray_answer,
            self._unknown_method,
        ]

    def next(self) -> tuple[bytes, str | None, int]:
        """A line, the id to be answered to (None: it cannot be read, or there is none), how many answers."""
        self._count += 1
        return self._chance.choice(self._kinds)()

    def _id(self) -> str:
        return f"generated {self._count}"

    def _valid(self) -> bytes:
        return json.dumps(call(self._id(), "echo", {"text": "é\u2028"}), ensure_ascii=False).encode()

    def _value(self, depth: int = 3) -> Any:
        kinds = [None, True, 0, -1.5, "", "text", 10**20]
        if depth and self._chance.random() < 0.5:
            values = [self._value(depth - 1) for _ in range(self._chance.randrange(3))]
            return values if self._chance.random() < 0.5 else {f"k{n}": v for n, v in enumerate(values)}
        return self._chance.choice(kinds)

    def _bytes(self) -> tuple[bytes, None, int]:
        # The first byte can begin no JSON value, and none of them is a line break or leaves the line blank.
        data = bytes(self._chance.randrange(128, 256) for _ in range(self._chance.randrange(1, 200)))
        return data, None, 1

    def _cut(self) -> tuple[bytes, None, int]:
        whole = self._valid()
        return whole[: self._chance.randrange(1, len(whole))], None, 1

    def _flipped(self) -> tuple[bytes, None, int]:
        # An opening or closing character of the JSON itself becomes something else.
        whole = bytearray(self._valid())
        whole[self._chance.choice([0, len(whole) - 1])] = self._chance.choice(b"x\x00\x7f\xff;")
        return bytes(whole), None, 1

    def _scalar(self) -> tuple[bytes, None, int]:
        value: Any = self._chance.choice([None, True, 7, -0.5, "text", [], "a" * 1000])
        return json.dumps(value).encode(), None, 1

    def _envelope(self) -> tuple[bytes, str, int]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._id(), "method": "tools/list"}
        wrong = self._chance.choice(["jsonrpc", "method", "both", "neither"])
        if wrong == "jsonrpc":
            message["jsonrpc"] = self._chance.choice([None, 2, "2", "2.0 ", ["2.0"]])
        elif wrong == "method":
            message["method"] = self._chance.choice([None, 7, ["tools/list"], {}])
        elif wrong == "both":
            message[self._chance.choice(["result", "error"])] = self._value()
        else:
            del message["method"]
        message[f"extra {self._count}"] = self._value()
        return json.dumps(message).encode(), self._id(), 1

    def _params(self) -> tuple[bytes, str, int]:
        params = self._chance.choice([None, [], [1], "text", 7, False])
        message = {"jsonrpc": "2.0", "id": self._id(), "method": "tools/call", "params": params}
        return json.dumps(message).encode(), self._id(), 1

    def _notification(self) -> tuple[bytes, None, int]:
        message = {
            "jsonrpc": "2.0",
            "method": self._chance.choice(["notifications/cancelled", "notifications/x", "tools/call", ""]),
            "params": self._value(),
        }
        return json.dumps(message).encode(), None, 0

    def _stray_answer(self) -> tuple[bytes, None, int]:
        outcome = self._chance.choice([{"result": self._value()}, {"error": {"code": 1, "message": "x"}}])
        return json.dumps({"jsonrpc": "2.0", "id": self._id(), **outcome}).encode(), None, 0

    def _unknown_method(self) -> tuple[bytes, str, int]:
        method = self._chance.choice(["", "tools", "tools/call/", "TOOLS/LIST", "é", "\ud800", "x" * 1000])
        params = {f"k{n}": self._value() for n in range(3)}
        return json.dumps(request(self._id(), method, params)).encode(), self._id(), 1
