"""URIs and URI templates as their RFCs define them: what is well-formed, and how a template expands.

RFC: 3986
RFC: 6570

What it means that a URI *matches* a template, which no RFC says, is settled in `uri_template`.

Pure: no thread, socket or clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

#: Longest URI, in characters.
MAX_URI_LENGTH: Final = 8 * 1024
#: Longest template, in characters.
MAX_TEMPLATE_LENGTH: Final = 8 * 1024
#: Most variables in one template.
MAX_VARIABLES: Final = 64

Value: TypeAlias = str | int | float | Sequence[str] | Mapping[str, str] | None
"""What a variable may stand for in an expansion; None is undefined."""

# Possessive quantifiers throughout: none of these patterns can backtrack.
_ESCAPE = "%[0-9A-Fa-f]{2}"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_PCHARS = rf"[A-Za-z0-9._~!$&'()*+,;=:@-]++|{_ESCAPE}"
_AFTER_SCHEME = re.compile(
    rf"""
    (?: //
        (?: (?: [A-Za-z0-9._~!$&'()*+,;=:-]++ | {_ESCAPE} )*+ @ )?          # userinfo
        (?: \[ [0-9A-Fa-f:.]++ \]                                           # host: an IPv6 address
          | \[ [vV] [0-9A-Fa-f]++ \. [A-Za-z0-9._~!$&'()*+,;=:-]++ \]       # host: an address to come
          | (?: [A-Za-z0-9._~!$&'()*+,;=-]++ | {_ESCAPE} )*+ )              # host: a name
        (?: : [0-9]*+ )?                                                    # port
        (?= [/?\#] | \Z )
      | (?! // ) )                                                          # no host, so no // either
    (?: {_PCHARS} | / )*+
    (?: \? (?: {_PCHARS} | [/?] )*+ )?
    (?: \# (?: {_PCHARS} | [/?] )*+ )?
    """,
    re.VERBOSE,
)
_URI_TEXT = re.compile(rf"(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]++|{_ESCAPE})*+")
# The apostrophe, which the grammar of RFC 6570 leaves out, is allowed by its erratum 6937.
_LITERAL = re.compile(rf"(?:[^\x00-\x20\"%<>\\^`{{|}}\x7f-\x9f\ud800-\udfff]++|{_ESCAPE})++")
_VARCHAR = rf"(?:[A-Za-z0-9_]|{_ESCAPE})"
_VARIABLE = re.compile(rf"({_VARCHAR}(?:\.?{_VARCHAR})*+)(\*|:[1-9][0-9]{{0,3}})?")
_KEPT_WHEN_RESERVED = re.compile(rf"{_ESCAPE}|[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]++")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def is_valid_uri(uri: str, *, max_length: int = MAX_URI_LENGTH) -> bool:
    """Whether this is a URI: a scheme, then only characters and escapes that may stand where they do.

    RFC: 3986 3
    Spec: 2024-11-05..2026-07-28 server/resources#security-considerations MUST validate resource URIs
    Spec: 2025-06-18..2026-07-28 server/resources#custom-uri-schemes MUST follow RFC 3986
    """
    if len(uri) > max_length:
        return False
    scheme = _SCHEME.match(uri)
    return scheme is not None and _AFTER_SCHEME.fullmatch(uri, scheme.end()) is not None


def is_uri_text(text: str) -> bool:
    """Whether this has only characters that a URI may have somewhere, and well-formed escapes."""
    return _URI_TEXT.fullmatch(text) is not None


class Operator(NamedTuple):
    """One column of the table that defines expansion."""

    first: str
    separator: str
    named: bool = False
    if_empty: str = ""
    reserved: bool = False
    """Whether reserved characters and escapes in a value stay as they are."""


# RFC: 6570 A
OPERATORS: Mapping[str, Operator] = {
    "": Operator("", ","),
    "+": Operator("", ",", reserved=True),
    "#": Operator("#", ",", reserved=True),
    ".": Operator(".", "."),
    "/": Operator("/", "/"),
    ";": Operator(";", ";", named=True),
    "?": Operator("?", "&", named=True, if_empty="="),
    "&": Operator("&", "&", named=True, if_empty="="),
}
_RESERVED_OPERATORS = frozenset("=,!@|")


class Variable(NamedTuple):
    """A variable of an expression, with its modifier."""

    name: str
    explode: bool
    prefix: int | None


class Expression(NamedTuple):
    """What stands between braces."""

    text: str
    operator: str
    variables: tuple[Variable, ...]


def parse_template(text: str) -> list[str | Expression]:
    """The literals of a template, encoded as an expansion will have them, and its expressions, in turn.

    Raises `ValueError` for what is no template.

    RFC: 6570 2
    """
    if len(text) > MAX_TEMPLATE_LENGTH:
        raise ValueError(f"the template has {len(text)} characters; the limit is {MAX_TEMPLATE_LENGTH}")
    parts: list[str | Expression] = []
    variables = 0
    position = 0
    while position < len(text):
        if text[position] == "{":
            end = text.find("}", position)
            if end < 0:
                raise ValueError(f"the template {text!r} has a '{{' without its '}}'")
            expression = _parse_expression(text[position : end + 1])
            variables += len(expression.variables)
            if variables > MAX_VARIABLES:
                raise ValueError(f"the template has more than {MAX_VARIABLES} variables")
            parts.append(expression)
            position = end + 1
        else:
            literal = _LITERAL.match(text, position)
            if literal is None:
                raise ValueError(
                    f"the template {text!r} has {text[position]!r} at position {position}; percent-encode it"
                )
            parts.append(encode_reserved(literal.group()))
            position = literal.end()
    return parts


def _parse_expression(text: str) -> Expression:
    body = text[1:-1]
    operator = body[:1] if body[:1] in OPERATORS else ""
    if body[:1] and body[0] in _RESERVED_OPERATORS:
        raise ValueError(f"the expression {text!r} has the operator {body[0]!r}, which RFC 6570 sets aside")
    variables = []
    for spec in body[len(operator) :].split(","):
        found = _VARIABLE.fullmatch(spec)
        if found is None:
            raise ValueError(f"the expression {text!r} has {spec!r} where the name of a variable is expected")
        name, modifier = found.groups()
        prefix = int(modifier[1:]) if modifier and modifier != "*" else None
        variables.append(Variable(name, modifier == "*", prefix))
    return Expression(text, operator, tuple(variables))


def expand(expression: Expression, values: Mapping[str, Value]) -> str:
    """What an expression becomes; a variable without a value leaves no trace.

    RFC: 6570 3.2.1
    """
    operator = OPERATORS[expression.operator]
    encode = encode_reserved if operator.reserved else encode_unreserved
    expanded: list[str] = []
    for variable in expression.variables:
        value = values.get(variable.name)
        if isinstance(value, str | int | float):
            encoded = encode(_text(value)[: variable.prefix])
            expanded.append(_named(operator, variable.name, encoded) if operator.named else encoded)
        elif value:
            if variable.prefix is not None:
                raise ValueError(f"{expression.text!r} cuts {variable.name} to a prefix; it must be a string")
            expanded.extend(_expand_composite(operator, variable, value))
    return operator.first + operator.separator.join(expanded) if expanded else ""


def _expand_composite(
    operator: Operator, variable: Variable, value: Sequence[str] | Mapping[str, str]
) -> list[str]:
    encode = encode_reserved if operator.reserved else encode_unreserved
    if isinstance(value, Mapping):
        pairs = [(encode(key), encode(_text(item))) for key, item in value.items()]
        if variable.explode:
            return [_named(operator, key, item) if operator.named else f"{key}={item}" for key, item in pairs]
        items = [text for pair in pairs for text in pair]
    else:
        items = [encode(_text(item)) for item in value]
        if variable.explode:
            return [_named(operator, variable.name, item) for item in items] if operator.named else items
    joined = ",".join(items)
    return [_named(operator, variable.name, joined) if operator.named else joined]


def _named(operator: Operator, name: str, encoded: str) -> str:
    return f"{name}={encoded}" if encoded else name + operator.if_empty


def _text(value: str | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def encode_unreserved(text: str) -> str:
    """Percent-encode everything but letters, digits and ``-._~``."""
    try:
        raw = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair cannot stand in a URI") from None
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in raw)


def encode_reserved(text: str) -> str:
    """Percent-encode what no URI may have; reserved characters, and escapes, stay as they are."""
    encoded = []
    position = 0
    for kept in _KEPT_WHEN_RESERVED.finditer(text):
        encoded.append(encode_unreserved(text[position : kept.start()]))
        encoded.append(kept.group())
        position = kept.end()
    encoded.append(encode_unreserved(text[position:]))
    return "".join(encoded)


def decode_escapes(text: str) -> str | None:
    """Undo percent-encoding, once, in text whose escapes are well-formed; None if the bytes are no UTF-8."""
    if "%" not in text:
        return text
    first, *rest = text.split("%")
    raw = first.encode() + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in rest)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
