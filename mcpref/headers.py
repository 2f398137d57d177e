"""HTTP headers that mirror the body of a request, so that a proxy can route without parsing JSON.

Three groups, each with the client's side and the server's side next to one another, so that they agree:

- the value codec: `encode_header_value`, `parse_header_value`;
- the standard headers: `standard_headers`, `check_standard_headers`;
- headers from tool arguments, asked for by ``x-mcp-header`` in the tool's schema:
  `check_input_schema_headers` and `param_headers` read the schema, `emit_param_headers` and
  `check_param_headers` mirror and compare the values of one call.

The server's checks take headers as a mapping with lower-case names and raise `HeaderMismatch`. This module
knows nothing of HTTP servers or clients, nor of when the headers are required.

Spec: 2026-07-28 basic/transports/streamable-http#request-metadata
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from .errors import HeaderMismatch
from .versions import ProtocolVersion, is_modern


class HeaderName:
    """The header names of the specification. Compare without case.

    Spec: 2026-07-28 basic/transports/streamable-http#case-sensitivity
    """

    PROTOCOL_VERSION: Final = "MCP-Protocol-Version"
    METHOD: Final = "Mcp-Method"
    NAME: Final = "Mcp-Name"
    PARAM_PREFIX: Final = "Mcp-Param-"
    # Spec: 2025-03-26..2025-11-25 basic/transports#session-management
    SESSION_ID: Final = "Mcp-Session-Id"
    # Spec: 2025-03-26..2025-11-25 basic/transports#resumability-and-redelivery
    LAST_EVENT_ID: Final = "Last-Event-ID"


#: Which parameter ``Mcp-Name`` repeats, for the methods that need it.
#: Spec: 2026-07-28 basic/transports/streamable-http#standard-request-headers
#: The last three belong to the Tasks extension.
#: SEP: 2663
NAME_PARAMS: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}

#: Largest integer that a header may carry, either side of zero.
#: Spec: 2026-07-28 basic/transports/streamable-http#schema-extension
MAX_SAFE_INTEGER: Final = 2**53 - 1

# ----- values

_SENTINEL_START = "=?base64?"
_SENTINEL_END = "?="
_WHITESPACE = " \t"
# How much of a value an error message repeats.
_SHOWN = 80
_PLAIN = re.compile(r"[ -~]*")
# RFC: 9110 5.5 a field value has visible ASCII, spaces and tabs
_FIELD_VALUE = re.compile(r"[\t -~]*")


def encode_header_value(value: str) -> str:
    """``value`` in a form that any header can carry; `decode_header_value` undoes it.

    Raises `ValueError` for a lone surrogate, which has no UTF-8 form.

    Spec: 2026-07-28 basic/transports/streamable-http#value-encoding MUST wrap in Base64 what is not plain
    ASCII, begins or ends with a blank, or looks wrapped already
    """
    if _PLAIN.fullmatch(value) and value == value.strip(" ") and not _looks_wrapped(value):
        return value
    try:
        encoded = binascii.b2a_base64(value.encode("utf-8"), newline=False)
    except UnicodeEncodeError:
        raise ValueError(f"{_show(value)} contains a lone surrogate and cannot be sent in a header") from None
    return f"{_SENTINEL_START}{encoded.decode('ascii')}{_SENTINEL_END}"


def decode_header_value(value: str) -> str:
    """Undo `encode_header_value`. What is not wrapped, or wrapped wrongly, is returned unchanged."""
    decoded = _unwrap(value) if _is_wrapped(value) else None
    return value if decoded is None else decoded


def parse_header_value(value: str) -> str | None:
    """The value that a received header stands for; None if it is malformed.

    Malformed are characters that no header may have, and a wrapped value that is not Base64 of UTF-8.
    Optional white space around the value is not part of it; not every HTTP server removes it.

    Spec: 2026-07-28 basic/transports/streamable-http#server-validation MUST reject invalid characters
    """
    value = value.strip(_WHITESPACE)
    if not _FIELD_VALUE.fullmatch(value):
        return None
    return _unwrap(value) if _is_wrapped(value) else value


def is_unsafe_header_value(value: str) -> bool:
    """Whether writing ``value`` as it is could end the header and begin another.

    RFC: 9110 5.5 CR, LF and NUL are dangerous
    """
    return "\r" in value or "\n" in value or "\0" in value


def _looks_wrapped(value: str) -> bool:
    return value.startswith(_SENTINEL_START) and value.endswith(_SENTINEL_END)


def _is_wrapped(value: str) -> bool:
    # In "=?base64?=" the two markers share a character, so nothing can be between them.
    return _looks_wrapped(value) and len(value) >= len(_SENTINEL_START) + len(_SENTINEL_END)


def _unwrap(value: str) -> str | None:
    payload = value[len(_SENTINEL_START) : -len(_SENTINEL_END)]
    try:
        decoded = binascii.a2b_base64(payload, strict_mode=True)
        # Strict mode lets "SGVs====" pass; only the canonical form encodes back to the same text.
        if binascii.b2a_base64(decoded, newline=False).decode("ascii") != payload:
            return None
        return decoded.decode("utf-8")
    except ValueError:
        return None


def _show(value: object) -> str:
    """A value for an error message, cut to a sane length; `repr` keeps control characters out of it."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "an array"
    if isinstance(value, str) and len(value) > _SHOWN:
        return repr(value[:_SHOWN]) + "..."
    return repr(value)


# ----- standard headers


def standard_headers(
    method: str, params: Mapping[str, Any] | None, version: ProtocolVersion
) -> dict[str, str]:
    """The headers that a client sends with this request.

    Before 2026-07-28 that is the version alone, and nothing on ``initialize``, which agrees on it.
    Revisions that do not know the version header ignore it.

    Spec: 2026-07-28 basic/transports/streamable-http#standard-request-headers
    Spec: 2025-06-18..2025-11-25 basic/transports#protocol-version-header
    """
    if not is_modern(version):
        return {} if method == "initialize" else {HeaderName.PROTOCOL_VERSION: version.value}
    if encode_header_value(method) != method:
        # The encoded form is for names and parameters alone: a server compares the method as it stands.
        raise ValueError(f"the method {_show(method)} cannot be sent over HTTP; use plain ASCII")
    headers = {HeaderName.PROTOCOL_VERSION: version.value, HeaderName.METHOD: method}
    name = params.get(NAME_PARAMS[method]) if params and method in NAME_PARAMS else None
    if isinstance(name, str):
        headers[HeaderName.NAME] = encode_header_value(name)
    return headers


_VERSION_KEY: Final = HeaderName.PROTOCOL_VERSION.lower()
_METHOD_KEY: Final = HeaderName.METHOD.lower()
_NAME_KEY: Final = HeaderName.NAME.lower()


def check_standard_headers(
    headers: Mapping[str, str], method: str, params: Mapping[str, Any] | None, version: str
) -> None:
    """Compare the headers of a modern request with its body; ``version`` is the one in the body's ``_meta``.

    Spec: 2026-07-28 basic/transports/streamable-http#server-validation MUST reject a standard header that is
    missing, malformed, or differs from the body
    """
    _check_verbatim(headers, HeaderName.PROTOCOL_VERSION, _VERSION_KEY, version)
    _check_verbatim(headers, HeaderName.METHOD, _METHOD_KEY, method)
    source = NAME_PARAMS.get(method)
    if source is None:
        return
    received = headers.get(_NAME_KEY)
    if received is None:
        raise HeaderMismatch(f"{HeaderName.NAME} header is missing; it must repeat params.{source}")
    name = params.get(source) if params else None
    # A name that is no string is reported here as different; what it must be is for the method to say.
    if parse_header_value(received) != name or not isinstance(name, str):
        raise _mismatch(HeaderName.NAME, received, name)


def _check_verbatim(headers: Mapping[str, str], header: str, key: str, expected: str) -> None:
    received = headers.get(key)
    if received is None:
        raise HeaderMismatch(f"{header} header is missing; it must be {_show(expected)}, as in the body")
    if received == expected and expected.isascii() and expected.isprintable():
        return  # as nearly always
    if received.strip(_WHITESPACE) != expected or not _FIELD_VALUE.fullmatch(expected):
        raise _mismatch(header, received, expected)


def _mismatch(header: str, received: str, expected: object) -> HeaderMismatch:
    if parse_header_value(received) is None:
        return HeaderMismatch(
            f"Header mismatch: {header} header value {_show(received)} is malformed: it has characters that "
            "no header may have, or is not valid Base64 of UTF-8 text"
        )
    return HeaderMismatch(
        f"Header mismatch: {header} header value {_show(received)} "
        f"does not match body value {_show(expected)}"
    )


# ----- x-mcp-header: what a schema asks for

ANNOTATION: Final = "x-mcp-header"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TYPES = frozenset({"integer", "string", "boolean"})

# Where JSON Schema has subschemas, by the shape of the keyword's value. Other keywords hold data: an
# "x-mcp-header" inside of `default`, `const`, `enum` or `examples` is somebody's value, not an annotation.
_SCHEMA_KEYWORDS = (
    {"items", "prefixItems", "contains", "additionalItems", "unevaluatedItems"}
    | {"oneOf", "anyOf", "allOf", "not", "if", "then", "else"}
    | {"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema"}
)
_SCHEMA_MAP_KEYWORDS = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"}


class ParamHeader(NamedTuple):
    """One annotated tool parameter."""

    path: tuple[str, ...]
    """The property names that lead to it from the root of the arguments."""
    header: str
    """The whole header name, as the client writes it."""
    name: str
    """The annotation's own value: the header name without `HeaderName.PARAM_PREFIX`."""
    type: str
    """``integer``, ``string`` or ``boolean``."""
    key: str
    """The header name in lower case, as the server looks it up."""


class _Annotation(NamedTuple):
    place: str
    """Where it stands, as a JSON pointer."""
    path: tuple[str, ...] | None
    """None if it is not reached by ``properties`` alone."""
    schema: Mapping[str, Any]


def check_header_name(value: object) -> str | None:
    """What is wrong with an ``x-mcp-header`` value; None if nothing is.

    Spec: 2026-07-28 basic/transports/streamable-http#schema-extension MUST be a non-empty token
    """
    if not isinstance(value, str):
        return "is not a string"
    if not value:
        return "is empty"
    if not _TOKEN.fullmatch(value):
        return "is not an HTTP token: only letters, digits and !#$%&'*+-.^_`|~ are allowed"
    return None


def is_header_type(type_value: object) -> TypeGuard[str]:
    """Whether a parameter of this JSON Schema ``type`` may be mirrored. ``number`` may not.

    Spec: 2026-07-28 basic/transports/streamable-http#schema-extension MUST be integer, string or boolean
    """
    return isinstance(type_value, str) and type_value in _HEADER_TYPES


def check_input_schema_headers(schema: object) -> str | None:
    """The first thing that is wrong with a tool's ``x-mcp-header`` annotations; None if nothing is.

    A server refuses to register such a tool, a client leaves it out of its list.

    Spec: 2026-07-28 basic/transports/streamable-http#schema-extension MUST stand on a property that is
    reached by ``properties`` alone, and be unique without regard to case
    """
    seen: dict[str, str] = {}
    for place, path, annotated in _annotations(schema):
        value = annotated[ANNOTATION]
        what = f"{ANNOTATION} {_show(value)} at {place[:200]}"
        if path == ():
            return f"{what} stands on the root of the schema; it belongs on a property"
        if path is None:
            return f"{what} is not reached by `properties` alone; it belongs on a property of the arguments"
        if (problem := check_header_name(value)) is not None:
            return f"{what} {problem}"
        if not is_header_type(annotated.get("type")):
            given = _show(annotated.get("type"))
            return f"{what} needs a parameter of type integer, string or boolean, not {given}"
        lowered = value.lower()
        if lowered in seen:
            return f"{what} is used at {seen[lowered][:200]} already; names must differ in more than case"
        seen[lowered] = place
    return None


def param_headers(schema: object) -> tuple[ParamHeader, ...]:
    """The parameters to mirror, in the schema's order; invalid annotations are skipped."""
    found: dict[str, ParamHeader] = {}
    for _, path, annotated in _annotations(schema):
        name, type_ = annotated[ANNOTATION], annotated.get("type")
        if path and check_header_name(name) is None and is_header_type(type_):
            header = HeaderName.PARAM_PREFIX + name
            found.setdefault(header.lower(), ParamHeader(path, header, name, type_, header.lower()))
    return tuple(found.values())


def top_level_param_headers(schema: object) -> dict[str, str]:
    """Header names by parameter name, for the parameters at the top level only."""
    return {entry.path[0]: entry.header for entry in param_headers(schema) if len(entry.path) == 1}


def _annotations(schema: object) -> Iterator[_Annotation]:
    """Every subschema that has the annotation, in document order."""
    # A stack instead of recursion: a client walks schemas that it did not write.
    stack: list[tuple[str, tuple[str, ...] | None, object]] = [("", (), schema)]
    while stack:
        place, path, current = stack.pop()
        if not isinstance(current, Mapping):
            continue
        if ANNOTATION in current:
            yield _Annotation(place or "/", path, current)
        stack.extend(reversed(list(_subschemas(place, path, current))))


def _subschemas(
    place: str, path: tuple[str, ...] | None, schema: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...] | None, object]]:
    for keyword, value in schema.items():
        if keyword == "properties" and isinstance(value, Mapping):
            for name, child in value.items():
                yield f"{place}/properties/{name}", None if path is None else (*path, name), child
        elif keyword in _SCHEMA_MAP_KEYWORDS and isinstance(value, Mapping):
            for name, child in value.items():
                yield f"{place}/{keyword}/{name}", None, child
        elif keyword in _SCHEMA_KEYWORDS:
            if isinstance(value, list | tuple):
                for index, child in enumerate(value):
                    yield f"{place}/{keyword}/{index}", None, child
            else:
                yield f"{place}/{keyword}", None, value


# ----- x-mcp-header: the values of one call

# Few enough digits for int(); a longer number is outside of the safe range anyway.
_INTEGER = re.compile(r"(-?[0-9]{1,17})(?:\.0{1,17})?")


def emit_param_headers(headers: Iterable[ParamHeader], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The headers that a client sends with a call. No value, or null, means no header.

    A value that is neither string, boolean nor whole number has no form in a header and is left out: the
    server will refuse the call and say so. An integer that cannot be sent raises `ValueError`.

    Spec: 2026-07-28 basic/transports/streamable-http#client-behavior
    """
    mirrored = {}
    for entry in headers:
        text = _text(_value_at(arguments, entry.path), entry)
        if text is not None:
            mirrored[entry.header] = encode_header_value(text)
    return mirrored


def check_param_headers(
    expected: Iterable[ParamHeader], arguments: Mapping[str, Any], headers: Mapping[str, str]
) -> None:
    """Compare the headers of a call with its arguments. Headers that no annotation names are ignored.

    Spec: 2026-07-28 basic/transports/streamable-http#server-behavior-for-custom-headers MUST reject a header
    that is missing, malformed or different, MUST NOT expect one for a null or an absent value
    """
    for entry in expected:
        value = _value_at(arguments, entry.path)
        received = headers.get(entry.key)
        if value is None:
            if received is not None:
                raise HeaderMismatch(
                    f"Header mismatch: {entry.header} header value {_show(received)} is given, "
                    f"but the body has no argument {_dotted(entry)}"
                )
        elif received is None:
            raise HeaderMismatch(
                f"{entry.header} header is missing; it must repeat the argument {_dotted(entry)}"
            )
        elif not _matches(parse_header_value(received), value, entry):
            raise _mismatch(entry.header, received, value)


def _matches(received: str | None, value: object, entry: ParamHeader) -> bool:
    try:
        text = _text(value, entry)
    except ValueError as error:
        raise HeaderMismatch(f"Header mismatch: {error}") from None
    if received is None or text is None:
        return False
    if isinstance(value, str | bool):
        return received == text
    # Spec: 2026-07-28 basic/transports/streamable-http#server-validation SHOULD compare integers as numbers
    number = _INTEGER.fullmatch(received)
    return number is not None and int(number[1]) == value


def _value_at(arguments: object, path: tuple[str, ...]) -> object:
    """The value at exactly this path; None if there is none."""
    for name in path:
        if not isinstance(arguments, Mapping):
            return None
        arguments = arguments.get(name)
    return arguments


def _text(value: object, entry: ParamHeader) -> str | None:
    """A value as a header has it, before encoding; None if it has no such form.

    Spec: 2026-07-28 basic/transports/streamable-http#value-encoding
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        # A peer whose numbers are all floating-point may send 42.0 for 42.
        value = int(value)
    if not isinstance(value, int):
        return None
    if abs(value) > MAX_SAFE_INTEGER:
        # Spec: 2026-07-28 basic/transports/streamable-http#schema-extension MUST be within the safe range
        raise ValueError(
            f"argument {_dotted(entry)} is outside of ±(2^53-1), the integers that {entry.header} can carry"
        )
    return str(value)


def _dotted(entry: ParamHeader) -> str:
    return ".".join(entry.path)[:200]
