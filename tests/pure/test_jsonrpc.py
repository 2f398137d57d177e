"""`mcpref.jsonrpc`: bytes to messages and back, and what is refused on the way."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mcpref.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    InternalError,
    InvalidParams,
    InvalidRequest,
    ParseError,
    ProtocolError,
)
from mcpref.jsonrpc import (
    MAX_DEPTH,
    Batch,
    ErrorResponse,
    InvalidNotification,
    Message,
    Notification,
    PreparedResult,
    ReceivedError,
    Request,
    RequestId,
    Response,
    canonical_json,
    decode,
    encode,
    encode_batch,
    encode_json,
    parse_json,
    to_json,
)

PARSE = ("2025-11-25:errors.parse", "2026-07-28:errors.parse-32700")
INVALID = ("2025-11-25:errors.invalid-request", "2026-07-28:errors.invalid-request-32600")


def refusal(data: bytes) -> ProtocolError:
    """The error that ``data`` is refused with."""
    with pytest.raises(ProtocolError) as caught:
        decode(data)
    return caught.value


def outcome(data: bytes) -> Message | Batch | ProtocolError:
    """What comes of ``data``; any exception but a `ProtocolError` fails the test."""
    try:
        return decode(data)
    except ProtocolError as error:
        return error


def same(one: object, other: object) -> bool:
    """Equal, and of equal types: `1`, `1.0` and `True` are three things."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ReceivedError) and isinstance(other, ReceivedError):
        return (one.code, one.message, one.data) == (other.code, other.message, other.data)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)
    return one == other


# ---- Messages both ways ----------------------------------------------------------------------------------

TABLE = [
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping"), id="request"),
    pytest.param(b'{"jsonrpc":"2.0","id":"1","method":"ping"}', Request("1", "ping"), id="string-id"),
    pytest.param(b'{"jsonrpc":"2.0","id":"","method":"ping"}', Request("", "ping"), id="empty-id"),
    pytest.param(b'{"jsonrpc":"2.0","id":0,"method":"ping"}', Request(0, "ping"), id="zero-id"),
    pytest.param(b'{"jsonrpc":"2.0","id":-7,"method":"ping"}', Request(-7, "ping"), id="negative-id"),
    pytest.param(
        b'{"jsonrpc":"2.0","id":18446744073709551617,"method":"ping"}',
        Request(2**64 + 1, "ping"),
        id="huge-id",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1.5}}}',
        Request(1, "tools/call", {"name": "add", "arguments": {"a": 1.5}}),
        id="request-with-params",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}', Request(1, "ping", {}), id="empty-params"
    ),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"method":""}', Request(1, ""), id="empty-method"),
    pytest.param(
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        Notification("notifications/initialized"),
        id="notification",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        Notification("notifications/cancelled", {"requestId": 1}),
        id="notification-with-params",
    ),
    pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, {}), id="response"),
    pytest.param(b'{"jsonrpc":"2.0","id":"a","result":null}', Response("a", None), id="null-result"),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"result":{"error":"a result that contains the word"}}',
        Response(1, {"error": "a result that contains the word"}),
        id="result-with-error-inside",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"result":{"method":"x","id":2}}',
        Response(1, {"method": "x", "id": 2}),
        id="result-with-request-inside",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
        ErrorResponse(1, ReceivedError(-32601, "no")),
        id="error",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"","data":[1,{"a":null}]}}',
        ErrorResponse(1, ReceivedError(7, "", [1, {"a": None}])),
        id="error-with-data",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"a code we may not send ourselves"}}',
        ErrorResponse(1, ReceivedError(-32050, "a code we may not send ourselves")),
        id="error-with-reserved-code",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}}',
        ErrorResponse(None, ReceivedError(-32700, "bad")),
        id="error-without-id",
    ),
    pytest.param(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}',
        ErrorResponse(None, ReceivedError(-32700, "bad"), keep_null_id=True),
        id="error-with-null-id",
    ),
    pytest.param(
        rb'{"jsonrpc":"2.0","id":1,"result":{"text":"\ud800 alone, \u2028 and \ud83d\ude00"}}',
        Response(1, {"text": "\ud800 alone, \u2028 and \U0001f600"}),
        id="lone-surrogate",
    ),
]


@pytest.mark.req("2025-11-25:jsonrpc.version-member", "2026-07-28:jsonrpc.v2-format")
@pytest.mark.parametrize(("data", "message"), TABLE)
def test_table_both_ways(data: bytes, message: Message) -> None:
    assert same(decode(data), message)
    assert encode(message) == data


@pytest.mark.parametrize(("data", "message"), TABLE)
def test_order_of_members_and_blanks_do_not_matter(data: bytes, message: Message) -> None:
    members = json.loads(data)
    backwards = dict(reversed(members.items()))
    assert same(decode(json.dumps(backwards, indent=3).encode()), message)


def test_members_of_no_meaning_here_are_dropped() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"method":"ping","extra":[1]}') == Request(1, "ping")


# ---- Ids -------------------------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:jsonrpc.request-id-type", "2026-07-28:jsonrpc.request-id-present")
@pytest.mark.parametrize(
    "text", ["1.0", "1.5", "1e2", "true", "false", "[]", "[1]", "{}", '{"id":1}'], ids=lambda text: text
)
def test_a_request_id_is_a_string_or_an_integer(text: str) -> None:
    error = refusal(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}'.encode())
    assert type(error) is InvalidRequest
    assert error.request_id is None


@pytest.mark.req("jsonrpc.request-id-not-null")
def test_a_request_id_is_not_null() -> None:
    error = refusal(b'{"jsonrpc":"2.0","id":null,"method":"ping"}')
    assert type(error) is InvalidRequest
    assert error.request_id is None


def test_ids_that_python_takes_for_equal_are_told_apart() -> None:
    one = decode(b'{"jsonrpc":"2.0","id":1,"method":"m"}')
    text = decode(b'{"jsonrpc":"2.0","id":"1","method":"m"}')
    assert isinstance(one, Request)
    assert isinstance(text, Request)
    assert (type(one.id), type(text.id)) == (int, str)
    assert refusal(b'{"jsonrpc":"2.0","id":1.0,"method":"m"}').code == INVALID_REQUEST
    assert refusal(b'{"jsonrpc":"2.0","id":true,"method":"m"}').code == INVALID_REQUEST


@pytest.mark.parametrize("body", ['"result":{}', '"error":{"code":1,"message":"m"}'], ids=["result", "error"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("1.0", 1), ("-3.0", -3), ("1e2", 100), ('"1"', "1"), ('"1.0"', "1.0")],
    ids=lambda value: repr(value),
)
def test_the_id_of_a_response_may_be_a_whole_float(body: str, text: str, expected: RequestId) -> None:
    message = decode(f'{{"jsonrpc":"2.0","id":{text},{body}}}'.encode())
    assert isinstance(message, Response | ErrorResponse)
    assert same(message.id, expected)


@pytest.mark.parametrize("body", ['"result":{}', '"error":{"code":1,"message":"m"}'], ids=["result", "error"])
@pytest.mark.parametrize("text", ["1.5", "true", "[1]", "{}"])
def test_the_id_of_a_response_is_nothing_else(body: str, text: str) -> None:
    assert type(refusal(f'{{"jsonrpc":"2.0","id":{text},{body}}}'.encode())) is InvalidRequest


@pytest.mark.parametrize("id", ["", '"id":null,'], ids=["absent", "null"])
def test_a_result_needs_an_id(id: str) -> None:
    assert type(refusal(f'{{"jsonrpc":"2.0",{id}"result":{{}}}}'.encode())) is InvalidRequest


# ---- The envelope ----------------------------------------------------------------------------------------


@pytest.mark.req(*INVALID)
@pytest.mark.req("2025-11-25:jsonrpc.version-member", "2026-07-28:jsonrpc.v2-format")
@pytest.mark.parametrize("member", ["", '"jsonrpc":"1.0",', '"jsonrpc":2.0,', '"jsonrpc":null,'])
def test_the_version_is_the_string_2_0(member: str) -> None:
    error = refusal(f'{{{member}"id":4,"method":"ping"}}'.encode())
    assert (type(error), error.code, error.request_id) == (InvalidRequest, INVALID_REQUEST, 4)


@pytest.mark.req(*INVALID)
@pytest.mark.parametrize(
    "text", ["1", '"text"', "null", "true", "1.5"], ids=["int", "string", "null", "true", "float"]
)
def test_a_message_is_an_object(text: str) -> None:
    error = refusal(text.encode())
    assert (type(error), error.request_id) == (InvalidRequest, None)


@pytest.mark.req(*INVALID)
@pytest.mark.req("2025-11-25:jsonrpc.error-id-match", "2026-07-28:jsonrpc.error-id-echo")
@pytest.mark.parametrize(
    "members",
    [
        pytest.param('"method":1', id="method-number"),
        pytest.param('"method":null', id="method-null"),
        pytest.param('"method":["ping"]', id="method-array"),
        pytest.param('"params":{}', id="neither"),
        pytest.param('"method":"ping","result":{}', id="method-and-result"),
        pytest.param('"method":"ping","error":{"code":1,"message":"m"}', id="method-and-error"),
        pytest.param('"method":"ping","params":{"a":1,"a":2}', id="duplicate-key"),
        pytest.param('"method":"ping","method":"tools/list"', id="two-methods"),
        pytest.param('"method":"ping","params":{"a":' + "[" * 99 + "]" * 99 + "}", id="too-deep"),
    ],
)
@pytest.mark.parametrize(
    ("id", "expected"),
    [('"id":9,', 9), ('"id":"nine",', "nine"), ('"id":null,', None), ('"id":1.5,', None), ("", None)],
    ids=["int", "string", "null", "float", "absent"],
)
def test_a_bad_request_carries_its_id_exactly_when_it_can_be_read(
    members: str, id: str, expected: RequestId | None
) -> None:
    error = refusal(f'{{"jsonrpc":"2.0",{id}{members}}}'.encode())
    assert type(error) is InvalidRequest
    assert error.code == INVALID_REQUEST
    assert same(error.request_id, expected)


def test_an_id_that_stands_twice_is_not_readable() -> None:
    error = refusal(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')
    assert (type(error), error.request_id) == (InvalidRequest, None)


def test_what_breaks_off_after_a_duplicate_key_has_no_readable_id() -> None:
    error = refusal(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2},')
    assert error.code in (PARSE_ERROR, INVALID_REQUEST)
    assert error.request_id is None


@pytest.mark.req("2025-11-25:jsonrpc.result-xor-error", "jsonrpc.error-shape", "jsonrpc.error-code-integer")
@pytest.mark.parametrize(
    "members",
    [
        pytest.param('"result":{},"error":{"code":1,"message":"m"}', id="both"),
        pytest.param('"error":"text"', id="error-text"),
        pytest.param('"error":null', id="error-null"),
        pytest.param('"error":{"message":"m"}', id="no-code"),
        pytest.param('"error":{"code":1}', id="no-message"),
        pytest.param('"error":{"code":1.0,"message":"m"}', id="float-code"),
        pytest.param('"error":{"code":true,"message":"m"}', id="boolean-code"),
        pytest.param('"error":{"code":"1","message":"m"}', id="text-code"),
        pytest.param('"error":{"code":1,"message":null}', id="null-message"),
        pytest.param('"result":{"a":1,"a":2}', id="duplicate-key"),
    ],
)
def test_a_bad_response_is_refused_without_its_id(members: str) -> None:
    # The id is one that this side gave out. In an error of ours it would name a request of the peer's.
    error = refusal(f'{{"jsonrpc":"2.0","id":5,{members}}}'.encode())
    assert (type(error), error.request_id) == (InvalidRequest, None)


def test_a_response_of_another_version_is_refused_without_its_id() -> None:
    error = refusal(b'{"jsonrpc":"1.0","id":5,"result":{}}')
    assert (type(error), error.request_id) == (InvalidRequest, None)


@pytest.mark.parametrize("params", ["[]", "[1,2]", "1", '"text"', "null", "true"])
def test_the_params_of_a_request_are_an_object(params: str) -> None:
    error = refusal(f'{{"jsonrpc":"2.0","id":8,"method":"ping","params":{params}}}'.encode())
    assert (type(error), error.code, error.request_id) == (InvalidParams, INVALID_PARAMS, 8)


@pytest.mark.parametrize("params", ["[]", "[1,2]", "1", '"text"', "null", "true"])
def test_a_notification_with_bad_params_is_told_from_what_may_be_answered(params: str) -> None:
    error = refusal(f'{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}'.encode())
    assert type(error) is InvalidNotification
    assert error.request_id is None


@pytest.mark.req("jsonrpc.notification-no-id")
def test_a_message_with_an_id_is_never_a_notification() -> None:
    assert isinstance(decode(b'{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}'), Request)
    assert (
        refusal(b'{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}').code == INVALID_REQUEST
    )
    assert "id" not in to_json(Notification("notifications/initialized"))


# ---- Batches ---------------------------------------------------------------------------------------------


def test_an_empty_batch_is_an_invalid_request() -> None:
    assert type(refusal(b"[]")) is InvalidRequest
    assert type(refusal(b" [ ] ")) is InvalidRequest


def test_a_bad_entry_leaves_its_neighbours_alone() -> None:
    batch = decode(
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"},1,[],{"jsonrpc":"2.0","method":"n"},'
        b'[{"jsonrpc":"2.0","id":9,"method":"nested"}],{"jsonrpc":"2.0","id":2,"method":3},'
        b'{"jsonrpc":"2.0","id":3,"result":{}},{"jsonrpc":"2.0","method":"n","params":0}]'
    )
    assert isinstance(batch, Batch)
    kinds = [type(entry) for entry in batch.entries]
    assert kinds == [
        Request,
        InvalidRequest,
        InvalidRequest,
        Notification,
        InvalidRequest,
        InvalidRequest,
        Response,
        InvalidNotification,
    ]
    ids = [entry.request_id for entry in batch.entries if isinstance(entry, ProtocolError)]
    assert ids == [None, None, None, 2, None]


def test_a_batch_of_one_stays_a_batch() -> None:
    assert decode(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]') == Batch([Request(1, "ping")])


@pytest.mark.parametrize("entry", ["NaN", '{"a":1,"a":2}', "[" * 100 + "]" * 100])
def test_what_is_wrong_with_the_json_is_wrong_with_the_whole_batch(entry: str) -> None:
    refusal(f'[{{"jsonrpc":"2.0","id":1,"method":"ping"}},{entry}]'.encode())


def test_a_batch_is_encoded_as_one_array() -> None:
    data = encode_batch([Response(1, {}), ErrorResponse(None, InvalidRequest("no"), keep_null_id=True)])
    assert data == (
        b'[{"jsonrpc":"2.0","id":1,"result":{}},'
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}]'
    )


# ---- JSON itself: a row of the module's table each -------------------------------------------------------


@pytest.mark.req(*PARSE)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"  ", id="blank"),
        pytest.param(b"{", id="cut"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"', id="cut-object"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', id="trailing-text"),
        pytest.param(b'{"a":1}{"b":2}', id="two-objects"),
        pytest.param(b"{'a':1}", id="single-quotes"),
        pytest.param(b'{"a":1,}', id="trailing-comma"),
        pytest.param(b'{"a":01}', id="leading-zero"),
        pytest.param(b'{"a":+1}', id="plus"),
        pytest.param(b'{"a":.5}', id="no-leading-digit"),
        pytest.param(b'{"a":0x1}', id="hexadecimal"),
        pytest.param(b'"a\tb"', id="raw-tab-in-string"),
        pytest.param(b'"a\x00b"', id="raw-nul-in-string"),
        pytest.param(rb'"\x41"', id="bad-escape"),
        pytest.param(rb'"\u12"', id="cut-escape"),
        pytest.param(b"// no\n{}", id="comment"),
        pytest.param("\ufeff{}".encode(), id="byte-order-mark"),
    ],
)
def test_bad_json_is_a_parse_error(data: bytes) -> None:
    error = refusal(data)
    assert (type(error), error.code, error.request_id) == (ParseError, PARSE_ERROR, None)
    assert "not JSON" in error.message


@pytest.mark.req(*PARSE)
@pytest.mark.req("base.utf8")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode(encoding), id=encoding)
        for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
    ],
)
def test_other_encodings_are_parse_errors(data: bytes) -> None:
    assert type(refusal(data)) is ParseError


@pytest.mark.req(*PARSE)
@pytest.mark.req("base.utf8")
@pytest.mark.parametrize(
    ("data", "place"),
    [
        pytest.param(b'"\xff"', 1, id="no-utf8-at-all"),
        pytest.param(b'"\xc3"', 1, id="cut-sequence"),
        pytest.param(b'"\xc0\x80"', 1, id="overlong"),
        pytest.param(b'"a\xed\xa0\x80"', 2, id="encoded-surrogate"),
        pytest.param(b'"\xf4\x90\x80\x80"', 1, id="past-the-last-code-point"),
        pytest.param('"é"'.encode("latin-1"), 1, id="latin-1"),
    ],
)
def test_bad_utf8_is_a_parse_error_that_names_the_place(data: bytes, place: int) -> None:
    error = refusal(data)
    assert type(error) is ParseError
    assert f"byte {place} " in error.message


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e309", "[1.0e400]"])
def test_numbers_that_cannot_be_sent_on_are_parse_errors(text: str) -> None:
    error = refusal(f'{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"x":{text}}}}}'.encode())
    assert (type(error), error.request_id) == (ParseError, None)


@pytest.mark.parametrize(("text", "value"), [("1e308", 1e308), ("1e-999", 0.0), ("-0.0", -0.0)])
def test_other_floats_are_kept(text: str, value: float) -> None:
    message = decode(f'{{"jsonrpc":"2.0","id":1,"result":{text}}}'.encode())
    assert isinstance(message, Response)
    assert message.result == value
    assert math.copysign(1, message.result) == math.copysign(1, value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":1,"b":2,"a":3}',
        '{"":1,"":2}',
        '{"outer":{"inner":[{"x":1,"x":1}]}}',
        r'{"a":1,"\u0061":2}',
        '{"__proto__":1,"__proto__":2}',
    ],
)
def test_a_duplicate_key_is_refused_at_any_depth(text: str) -> None:
    data = f'{{"jsonrpc":"2.0","id":1,"method":"m","params":{text}}}'.encode()
    error = refusal(data)
    assert (type(error), error.request_id) == (InvalidRequest, 1)
    assert "twice" in error.message


def test_equal_keys_in_different_objects_are_fine() -> None:
    data = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2,"a":{"a":[{"a":1},{"a":1}]}}}'
    assert decode(data) == Request(1, "m", {"id": 2, "a": {"a": [{"a": 1}, {"a": 1}]}})


def test_keys_that_differ_in_case_are_different_keys() -> None:
    assert decode(b'{"jsonrpc":"2.0","id":1,"ID":2,"method":"m","Method":"x"}') == Request(1, "m")


def test_the_duplicate_among_very_many_keys_is_found_in_one_pass() -> None:
    members = ",".join(f'"k{n}":0' for n in range(100_000))
    started = time.process_time()
    error = refusal(f'{{{members},"k99999":0}}'.encode())
    # By looking each name up in a list this takes minutes.
    assert time.process_time() - started < 10
    assert "'k99999'" in error.message


def test_the_name_of_a_duplicate_is_cut_short() -> None:
    name = "n" * 10_000
    assert len(refusal(f'{{"{name}":1,"{name}":2}}'.encode()).message) < 200


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\udc00\ud800", r"a\udbffb"])
def test_a_lone_surrogate_goes_out_as_it_came(escape: str) -> None:
    data = f'{{"jsonrpc":"2.0","id":1,"result":{{"{escape}":"{escape}"}}}}'.encode()
    message = decode(data)
    assert isinstance(message, Response)
    assert encode(message) == data


def nested(shape: str, depth: int) -> str:
    """JSON text of exactly this depth."""
    pairs = {"arrays": ("[", "]"), "objects": ('{"a":', "}"), "mixed": ('[{"a":', "}]")}
    opening, closing = pairs[shape]
    levels = 2 if shape == "mixed" else 1
    whole, rest = divmod(depth - 1, levels)
    return opening * whole + "[" * rest + "[]" + "]" * rest + closing * whole


@pytest.mark.parametrize("shape", ["arrays", "objects", "mixed"])
def test_nesting_of_exactly_the_limit_is_accepted(shape: str) -> None:
    text = nested(shape, MAX_DEPTH)
    assert MAX_DEPTH == 100
    assert text.count("[") + text.count("{") == 100
    assert parse_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize("shape", ["arrays", "objects", "mixed"])
@pytest.mark.parametrize("depth", [101, 102, 500, 5_000, 200_000])
def test_nesting_past_the_limit_is_refused(shape: str, depth: int) -> None:
    error = refusal(nested(shape, depth).encode())
    assert type(error) is InvalidRequest
    assert "100" in error.message


def test_a_message_counts_as_one_level_itself() -> None:
    fits, too_deep = (
        f'{{"jsonrpc":"2.0","id":1,"method":"m","params":{nested("objects", depth)}}}'.encode()
        for depth in (99, 100)
    )
    assert isinstance(decode(fits), Request)
    error = refusal(too_deep)
    assert (type(error), error.request_id) == (InvalidRequest, 1)


def test_brackets_inside_of_strings_do_not_count() -> None:
    text = "[{" * 10_000
    assert decode(encode(Response(1, {"text": text}))) == Response(1, {"text": text})


def test_many_brackets_side_by_side_do_not_count() -> None:
    wide: list[Any] = [[], {}] * 5_000
    assert decode(encode(Response(1, {"wide": wide}))) == Response(1, {"wide": wide})


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_have_at_most_4300_digits(sign: str) -> None:
    longest = int(sign + "9" * 4300)
    assert decode(encode(Response(1, longest))) == Response(1, longest)
    error = refusal(f'{{"jsonrpc":"2.0","id":1,"result":{sign}{"9" * 4301}}}'.encode())
    assert (type(error), error.request_id) == (ParseError, None)
    assert len(error.message) < 200


def test_a_request_id_of_4300_digits_is_answered_as_it_came() -> None:
    digits = b"1" * 4300
    message = decode(b'{"jsonrpc":"2.0","id":' + digits + b',"method":"m"}')
    assert isinstance(message, Request)
    assert encode(Response(message.id, {})) == b'{"jsonrpc":"2.0","id":' + digits + b',"result":{}}'


# ---- Encoding --------------------------------------------------------------------------------------------


@pytest.mark.req("stdio.no-embedded-newline")
@pytest.mark.parametrize(
    "text", ["\n", "\r\n", "\u2028", "\u2029", "\x85", "\x0b\x0c\x1c", "\ud800", "é", "😀"]
)
def test_an_encoded_message_is_one_line_of_ascii(text: str) -> None:
    data = encode(Notification("notifications/message", {text: text}))
    assert data.isascii()
    assert len(data.decode().splitlines()) == 1
    assert decode(data) == Notification("notifications/message", {text: text})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_json_number_is_not_sent(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Response(1, {"x": value}))
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_json([value])


def test_what_has_no_json_form_is_not_sent() -> None:
    with pytest.raises(TypeError):
        encode(Response(1, {"x": object()}))
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="Circular"):
        encode(Response(1, circle))


@pytest.mark.req("2025-11-25:jsonrpc.error-id-omitted")
def test_an_error_to_an_unreadable_message_leaves_the_id_out_unless_told_otherwise() -> None:
    error = InternalError("no")
    assert "id" not in to_json(ErrorResponse(None, error))
    assert to_json(ErrorResponse(None, error, keep_null_id=True))["id"] is None
    assert to_json(ErrorResponse(0, error, keep_null_id=True))["id"] == 0


@pytest.mark.req("2025-11-25:errors.data-free", "2026-07-28:jsonrpc.error-data-optional")
@pytest.mark.parametrize("data", [{"a": 1}, [1], "text", 0, False, ""], ids=repr)
def test_error_data_is_of_any_type(data: object) -> None:
    message = decode(encode(ErrorResponse(1, InternalError("no", data=data))))
    assert isinstance(message, ErrorResponse)
    assert same(message.error.data, data)


TOOLS = [{"name": "add", "title": "é"}, {"name": "sub"}]


def prepared() -> PreparedResult:
    return PreparedResult("tools", TOOLS, encode_json(TOOLS))


def wire(result: object) -> object:
    message = decode(encode(Response(1, result)))
    assert isinstance(message, Response)
    return message.result


def test_a_prepared_result_is_sent_as_the_dict_it_is() -> None:
    result = prepared()
    assert result == {"tools": TOOLS}
    assert wire(result) == {"tools": TOOLS}
    result["nextCursor"] = "2"
    result["_meta"] = {"k": [1]}
    assert wire(result) == {"tools": TOOLS, "nextCursor": "2", "_meta": {"k": [1]}}
    assert json.loads(encode_batch([Response(1, result)]))[0]["result"] == result


def test_the_prepared_text_is_what_is_sent() -> None:
    assert encode(Response("i", PreparedResult("tools", [], "[ ]"))) == (
        b'{"jsonrpc":"2.0","id":"i","result":{"tools":[ ]}}'
    )


def test_a_prepared_result_that_was_changed_is_encoded_anew() -> None:
    shorter, longer, replaced, without = prepared(), prepared(), prepared(), prepared()
    del shorter["tools"][0]
    longer["tools"].append({"name": "mul"})
    replaced["tools"] = []
    del without["tools"]
    assert wire(shorter) == {"tools": TOOLS[1:]}
    assert wire(longer) == {"tools": [*TOOLS, {"name": "mul"}]}
    assert wire(replaced) == {"tools": []}
    assert wire(without) == {}
    assert len(TOOLS) == 2


def test_a_prepared_result_with_something_that_has_no_json_form_is_not_sent() -> None:
    result = prepared()
    result["ttlMs"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Response(1, result))


def test_canonical_json_does_not_depend_on_the_order_of_members() -> None:
    one = {"b": [1, {"d": 1, "c": 2}], "a": "é"}
    other = {"a": "é", "b": [1, {"c": 2, "d": 1}]}
    assert canonical_json(one) == canonical_json(other) == r'{"a":"\u00e9","b":[1,{"c":2,"d":1}]}'
    assert canonical_json([1, 2]) != canonical_json([2, 1])
    assert canonical_json({"a": 1}) != canonical_json({"a": "1"})


# ---- Properties ------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec=None, categories=None), max_size=20)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(texts, values, max_size=4)
ids = st.integers() | texts
errors = st.builds(ReceivedError, st.integers(), texts, values)
messages = (
    st.builds(Request, ids, texts, st.none() | objects)
    | st.builds(Notification, texts, st.none() | objects)
    | st.builds(Response, ids, values)
    | st.builds(ErrorResponse, ids, errors)
    | st.builds(ErrorResponse, st.none(), errors, st.booleans())
)


@given(messages)
@example(Response(1, {"error": {"code": 1, "message": "m"}}))
def test_every_message_survives_the_wire(message: Message) -> None:
    # Two halves of a pair that meet in one string are one character to any JSON reader.
    text = encode_json(to_json(message))
    assume(same(json.loads(text), to_json(message)))
    decoded = decode(encode(message))
    assert same(decoded, message)
    assert isinstance(decoded, Request | Notification | Response | ErrorResponse)
    assert encode(decoded) == encode(message)


@given(st.binary(max_size=200))
@example(b"\xff")
@example(b'{"\xed\xa0\x80":1}')
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b"1" * 5000)
def test_arbitrary_bytes_raise_nothing_but_protocol_errors(data: bytes) -> None:
    message = outcome(data)
    if isinstance(message, ProtocolError):
        assert message.code in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)


@given(
    messages,
    st.lists(
        st.tuples(
            st.integers(0, 400), st.integers(0, 3), st.sampled_from(list(b'{}[]",:\\0e-.tfnNI\xff\x00 '))
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_a_mutated_message_raises_nothing_but_protocol_errors(
    message: Message, edits: list[tuple[int, int, int]]
) -> None:
    data = bytearray(encode(message))
    for place, how, byte in edits:
        at = place % (len(data) + 1)
        if how == 0:
            data[at:at] = bytes([byte])
        elif how == 1:
            data[at : at + 1] = bytes([byte])
        elif how == 2:
            del data[at : at + 2]
        else:
            data += data[at:]
    decoded = outcome(bytes(data))
    if isinstance(decoded, ProtocolError):
        assert decoded.code in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)


@given(st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), values))
def test_any_object_is_one_kind_of_message_or_refused(members: dict[str, Any]) -> None:
    members.setdefault("jsonrpc", "2.0")
    if "error" in members and isinstance(members["error"], dict):
        members["error"].setdefault("code", 1)
    data = json.dumps(members).encode()
    request_id = members.get("id")
    readable = type(request_id) in (str, int)
    message = outcome(data)
    if isinstance(message, ProtocolError):
        asks = "method" in members or not ("result" in members or "error" in members)
        assert same(message.request_id, request_id if readable and asks else None)
    elif isinstance(message, Request | Notification):
        assert not {"result", "error"} & members.keys()
        assert isinstance(message, Request) == ("id" in members)
    else:
        assert "method" not in members
