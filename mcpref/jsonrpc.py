"""JSON-RPC 2.0 messages as MCP uses them: bytes to typed messages and back.

Knows the envelope only: not which methods exist, nor what their parameters mean. An array decodes to a
`Batch`; whether one may stand here is for the caller to decide, who knows the revision.

What JSON leaves open is decided here, once, for every transport:

=====================  =======================================================================
bad UTF-8, bad JSON     `ParseError`
NaN, Infinity, 1e999    `ParseError`: no JSON number, or none that can be sent on
a duplicate key         `InvalidRequest`: two readers could see two different messages
a lone surrogate        kept, and sent on as the escape it came as
nesting over 100        `InvalidRequest`
over 200,000 brackets   `InvalidRequest`: far more to build than to send
over 4,300 digits       `ParseError` (the limit of Python's own integer parser)
``id`` of a request     a string or an integer; ``1``, ``"1"``, ``1.0`` and ``true`` are never confused
=====================  =======================================================================

Pure: no thread, socket or clock.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from .errors import InvalidParams, InvalidRequest, ParseError, ProtocolError

RequestId: TypeAlias = str | int
Params: TypeAlias = dict[str, Any]

#: Deepest nesting of arrays and objects that is accepted.
MAX_DEPTH: Final = 100
#: Most arrays and objects in one message: each costs far more memory and time than the two bytes it is written with.
MAX_CONTAINERS: Final = 200_000
#: Most messages in one batch.
MAX_BATCH: Final = 100


@dataclass(slots=True)
class Request:
    """A call that wants exactly one answer."""

    id: RequestId
    method: str
    params: Params | None = None


@dataclass(slots=True)
class Notification:
    """A message that must not be answered."""

    method: str
    params: Params | None = None


@dataclass(slots=True)
class Response:
    """The success of a request."""

    id: RequestId
    result: Any


@dataclass(slots=True)
class ErrorResponse:
    """The failure of a request, or of a message whose id could not be read (then ``id`` is None)."""

    id: RequestId | None
    error: ProtocolError
    keep_null_id: bool = False
    """Write ``id: null`` where the id is unknown, as revisions that require the member do."""


Message: TypeAlias = Request | Notification | Response | ErrorResponse


@dataclass(slots=True)
class Batch:
    """An array of messages; what was wrong with an entry stands in its place."""

    entries: list[Message | ProtocolError]


def decode(data: bytes) -> Message | Batch:
    """Read one message, or one array of them.

    Raises `ParseError`, `InvalidRequest` or `InvalidParams`; the exception's ``request_id`` is the id to
    answer to, if one could be read. An `InvalidNotification` must not be answered at all.
    """
    value = parse_json(data)
    if type(value) is list:
        # JSON-RPC: 6 an empty array is an invalid request
        if not value:
            raise InvalidRequest("the batch is empty")
        if len(value) > MAX_BATCH:
            raise InvalidRequest(f"the batch has {len(value)} messages; at most {MAX_BATCH} are accepted")
        return Batch([_entry(item) for item in value])
    return parse_message(value)


def _entry(value: object) -> Message | ProtocolError:
    try:
        return parse_message(value)
    except ProtocolError as error:
        return error


def parse_json(data: bytes) -> Any:
    """Strict JSON, as the table above says."""
    # Counting brackets is one pass in C; brackets in strings count too, which an honest message can afford.
    brackets = data.count(b"{") + data.count(b"[")
    if brackets > MAX_CONTAINERS:
        raise InvalidRequest(f"too many arrays and objects: at most {MAX_CONTAINERS} are accepted")
    try:
        # Strict UTF-8 first: json.loads would guess UTF-16 and UTF-32 from the first bytes.
        # Spec: 2025-03-26..2025-11-25 basic/transports MUST be UTF-8
        # Spec: 2026-07-28 basic/transports/index#messages MUST be UTF-8
        value = _decode_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ParseError(f"not UTF-8: byte {error.start} cannot be decoded") from None
    except json.JSONDecodeError as error:
        raise ParseError(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise InvalidRequest(f"nested too deeply: at most {MAX_DEPTH} levels are accepted") from None
    except _NotInterchangeable as error:
        raise _invalid(str(error), _readable_id(data)) from None
    except ValueError as error:
        raise ParseError(f"not a JSON number that can be read: {str(error)[:80]}") from None
    # Nearly every message is cleared by its number of brackets; only the rest is walked.
    if brackets > MAX_DEPTH and _depth_exceeds(value, MAX_DEPTH):
        raise _invalid(f"nested too deeply: at most {MAX_DEPTH} levels are accepted", _readable_id(data))
    return value


def parse_message(value: object) -> Message:
    """Check the envelope of one decoded message.

    Spec: 2026-07-28 basic/index#messages
    """
    if type(value) is not dict:
        raise InvalidRequest("a message must be a JSON object")
    request_id = value.get("id")
    if "method" not in value and ("result" in value or "error" in value):
        return _parse_response(value, request_id)
    if value.get("jsonrpc") != "2.0":
        raise _invalid('the member "jsonrpc" must be "2.0"', request_id)
    if "method" not in value:
        raise _invalid('a message needs "method", "result" or "error"', request_id)
    if "result" in value or "error" in value:
        raise _invalid("a message is either a request or a response, not both", request_id)
    method = value["method"]
    if type(method) is not str:
        raise _invalid('the member "method" must be a string', request_id)
    params = value.get("params")
    if "id" not in value:
        if type(params) is not dict and "params" in value:
            raise InvalidNotification('the member "params" must be an object')
        return Notification(method, params)
    if type(request_id) is not str and type(request_id) is not int:
        # Spec: 2026-07-28 basic/index#requests MUST be a string or integer, MUST NOT be null
        raise InvalidRequest('the member "id" must be a string or an integer')
    if type(params) is not dict and "params" in value:
        error = InvalidParams('the member "params" must be an object')
        error.request_id = request_id
        raise error
    return Request(request_id, method, params)


def _parse_response(value: dict[str, Any], request_id: object) -> Message:
    # The id of a response is one of ours. No error here carries it: sent back, it would pass for the answer to
    # the peer's own request of that number.
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequest('the member "jsonrpc" must be "2.0"')
    if "result" in value and "error" in value:
        raise InvalidRequest('a response has either "result" or "error", not both')
    # Our own ids are integers. A peer whose numbers are all floating-point sends 1.0 for 1.
    if type(request_id) is float and request_id.is_integer():
        request_id = int(request_id)
    if "result" in value:
        if type(request_id) is not str and type(request_id) is not int:
            raise InvalidRequest('a response needs the "id" of its request')
        return Response(request_id, value["result"])
    error = value["error"]
    if type(error) is not dict or type(error.get("code")) is not int or type(error.get("message")) is not str:
        raise InvalidRequest('"error" must be an object with an integer "code" and a string "message"')
    if request_id is not None and type(request_id) is not str and type(request_id) is not int:
        raise InvalidRequest('a response needs the "id" of its request')
    return ErrorResponse(
        request_id,
        ReceivedError(error["code"], error["message"], error.get("data")),
        "id" in value and request_id is None,
    )


class InvalidNotification(InvalidParams):
    """A notification that cannot be read. It is refused where a transport can refuse without a response.

    JSON-RPC: 4.1
    Spec: 2026-07-28 basic/index#notifications MUST NOT be answered
    """


class ReceivedError(ProtocolError):
    """An error as a peer sent it: any code, so that it can be handed on verbatim."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def encode(message: Message) -> bytes:
    """One message as compact JSON in ASCII, so that no reader sees a line break in it.

    Raises `ValueError` or `TypeError` when a value has no JSON form.
    """
    if type(message) is Response and type(message.result) is PreparedResult:
        result = message.result.encode()
        return f'{{"jsonrpc":"2.0","id":{_encode_json(message.id)},"result":{result}}}'.encode("ascii")
    return _encode_json(to_json(message)).encode("ascii")


class PreparedResult(dict[str, Any]):
    """A result with a long list that was encoded before, which costs more than all the rest.

    It is a plain dict with a list of its own to everybody else; the text is used only if that list still holds what
    it was made from.
    """

    __slots__ = ("_items", "_member", "_text")

    def __init__(self, member: str, items: list[Any], text: str) -> None:
        super().__init__({member: items.copy()})
        self._member = member
        self._items = items
        self._text = text

    def encode(self) -> str:
        if self.get(self._member) != self._items:  # cheap: equal items are the same objects
            return _encode_json(self)
        rest = _encode_json({name: value for name, value in self.items() if name != self._member})
        joined = f"{_encode_json(self._member)}:{self._text}"
        return f"{{{joined}}}" if rest == "{}" else f"{rest[:-1]},{joined}}}"


def encode_batch(messages: list[Response | ErrorResponse]) -> bytes:
    """Several responses as one array."""
    return _encode_json([to_json(message) for message in messages]).encode("ascii")


def to_json(message: Message) -> dict[str, Any]:
    """The message as a JSON object."""
    match message:
        case Response():
            return {"jsonrpc": "2.0", "id": message.id, "result": message.result}
        case Notification():
            if message.params is None:
                return {"jsonrpc": "2.0", "method": message.method}
            return {"jsonrpc": "2.0", "method": message.method, "params": message.params}
        case Request():
            if message.params is None:
                return {"jsonrpc": "2.0", "id": message.id, "method": message.method}
            return {"jsonrpc": "2.0", "id": message.id, "method": message.method, "params": message.params}
        case ErrorResponse():
            error: dict[str, Any] = {"code": message.error.code, "message": message.error.message}
            if message.error.data is not None:
                error["data"] = message.error.data
            if message.id is None and not message.keep_null_id:
                return {"jsonrpc": "2.0", "error": error}
            return {"jsonrpc": "2.0", "id": message.id, "error": error}


def encode_json(value: object) -> str:
    """Any JSON value as compact ASCII text; NaN and infinities are refused."""
    return _encode_json(value)


def canonical_json(value: object) -> str:
    """The same text for equal values, whatever the order of their members: for digests."""
    return _encode_canonical(value)


class _NotInterchangeable(Exception):
    """Well-formed JSON that two readers could understand differently."""


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _NotInterchangeable(f"the member {name[:64]!r} stands twice in one object")
            seen.add(name)
    return members


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:32]} is out of range")
    return number


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _depth_exceeds(value: object, limit: int) -> bool:
    # Level by level instead of by recursion, which is what is being guarded against.
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _readable_id(data: bytes) -> object:
    """The id of a request that is refused for how it is written; None if it has none, or two.

    Spec: 2026-07-28 basic/index#error-responses MUST answer to the id unless it could not be read
    """
    try:
        members = _decode_pairs(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if type(members) is not tuple or all(name != "method" for name, _ in members):
        return None
    ids = [value for name, value in members if name == "id"]
    return ids[0] if len(ids) == 1 else None


def _invalid(message: str, request_id: object) -> InvalidRequest:
    error = InvalidRequest(message)
    if type(request_id) is str or type(request_id) is int:
        error.request_id = request_id
    return error


# Built once: json.loads and json.dumps with options make a new decoder or encoder at each call.
_decoder: Final[Any] = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_float=_finite, parse_constant=_refuse_constant
)
_scan: Final = _decoder.scan_once


def _decode_json(text: str) -> Any:
    """What `JSONDecoder.decode` does, for text that most often has no white space around it."""
    text = text.strip(" \t\n\r")
    try:
        value, end = _scan(text, 0)
    except StopIteration as stopped:
        raise json.JSONDecodeError("Expecting value", text, stopped.value) from None
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(text[end:].lstrip(" \t\n\r")))
    return value


_decode_pairs: Callable[[str], Any] = json.JSONDecoder(object_pairs_hook=tuple).decode
_encoder: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _make_encode() -> Callable[[object], str]:
    """What `JSONEncoder.encode` does, without making its own machinery anew at each call.

    The table of what is being encoded is left out, because threads would share it, and with it the entries of lists
    that all answers have in common. What contains itself is found by the limit of recursion.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # another interpreter than CPython
        return _encoder.encode
    text = json.encoder.encode_basestring_ascii
    encode_chunks = make(None, _encoder.default, text, None, ":", ",", False, False, False)

    def encode_whole(value: object) -> str:
        try:
            return "".join(encode_chunks(value, 0))
        except RecursionError:
            raise ValueError("Circular reference, or nested too deeply") from None

    return encode_whole


_encode_json: Final = _make_encode()
_encode_canonical: Callable[[object], str] = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True
).encode
