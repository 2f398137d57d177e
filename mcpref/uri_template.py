"""URI templates, read in both directions: values to a URI, and a URI back to its values.

A client expands a template that a server listed; a server finds out to which of its templates an incoming URI
belongs. RFC 6570 defines expansion only, so what matching means is settled here:

==================  ========================================================================================
``{x}``, ``{x,y}``  one or more characters, none of ``/ ? #``
``{.x}``, ``{/x}``  the same, after a ``.`` or a ``/``
``{+x}``            one or more characters of any kind
``{/x*}``           one or more path segments; in the value they are joined by ``/``
``{?a,b}``          query parameters in any order, each at most once; each may be missing, others may not come
``{&a,b}``          the same, after a query that the template itself begins, as in ``?v=1{&a,b}``
``{#x}``            the fragment, which may be missing
==================  ========================================================================================

A variable takes the shortest text up to the literal that follows it. After ``{+x}`` or ``{/x*}`` that is
counted from the end of the URI, so that this one takes the longest; there can be only one such variable.
Literals are compared exactly. Query and fragment come last.

A template that could only be matched by guessing is refused when it is made: two variables with nothing
between them, a name that stands twice, a prefix (``{x:3}``), any other explosion (``{x*}``), and ``{;x}``.

Values are what a client writes, and handlers make file names of them. So a URI does not match where a decoded
value has a NUL or a ``..`` segment or begins with ``/``, nor where the value of a single segment has a ``/``
or is ``.``; ``allow_traversal`` lifts this for the values that may hold slashes anyway.

Matching does not backtrack: its time is linear in the length of the URI.

Pure: no thread, socket or clock. Knows nothing of resources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from .uri_syntax import (
    MAX_TEMPLATE_LENGTH,
    MAX_URI_LENGTH,
    MAX_VARIABLES,
    OPERATORS,
    Expression,
    Value,
    decode_escapes,
    expand,
    is_uri_text,
    is_valid_uri,
    parse_template,
)

__all__ = [
    "MAX_TEMPLATE_LENGTH",
    "MAX_URI_LENGTH",
    "MAX_VARIABLES",
    "UriTemplate",
    "Value",
    "is_valid_uri",
    "most_specific_first",
]


class UriTemplate:
    """A template. `ValueError` if it is malformed or, unless it is ``expand_only``, cannot be matched.

    Spec: 2024-11-05..2026-07-28 server/resources#resource-templates
    """

    __slots__ = ("_matcher", "_parts", "allow_traversal", "text", "variables")

    def __init__(self, text: str, *, expand_only: bool = False, allow_traversal: bool = False) -> None:
        self.text = text
        self.allow_traversal = allow_traversal
        """Whether ``{+x}``, query and fragment may have ``..`` segments and begin with ``/``."""
        self._parts = parse_template(text)
        names = [v.name for part in self._parts if isinstance(part, Expression) for v in part.variables]
        self.variables = tuple(dict.fromkeys(names))
        """The names of the variables, in the order of their first occurrence."""
        self._matcher = None if expand_only else _compile(text, self._parts)

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def expand(self, values: Mapping[str, Value]) -> str:
        """The URI that these values give; a variable without a value leaves no trace.

        RFC: 6570 3
        """
        return "".join(part if isinstance(part, str) else expand(part, values) for part in self._parts)

    def match(self, uri: str) -> dict[str, str] | None:
        """The decoded values by which the template gives this URI; None if it does not match."""
        if self._matcher is None:
            raise ValueError(f"the template {self.text!r} was made for expansion only")
        if len(uri) > MAX_URI_LENGTH or not is_uri_text(uri):
            return None
        return _match(self._matcher, uri, self.allow_traversal)

    @property
    def specificity(self) -> tuple[int, int, int, str]:
        """A sort key: of several templates that match a URI, the first in this order is meant.

        More literal text goes first, then fewer variables that hold slashes, then fewer variables. The text
        itself decides last, so that the order of registration never does.
        """
        literal = sum(len(part) for part in self._parts if isinstance(part, str))
        expressions = [part for part in self._parts if isinstance(part, Expression)]
        spanning = sum(e.operator == "+" or any(v.explode for v in e.variables) for e in expressions)
        return (-literal, spanning, len(self.variables), self.text)


def most_specific_first(templates: Iterable[UriTemplate]) -> list[UriTemplate]:
    """The order in which to try several templates."""
    return sorted(templates, key=lambda template: template.specificity)


class _Slot(NamedTuple):
    """A place in the path where a value stands."""

    name: str
    kind: Literal["segment", "segments", "any"]

    @property
    def spans(self) -> bool:
        return self.kind != "segment"


class _Matcher(NamedTuple):
    """A template laid out for matching."""

    literals: tuple[str, ...]
    """One before each slot and one after the last; only the outer two may be empty."""
    slots: tuple[_Slot, ...]
    fixed_query: str | None
    """How the query begins: "" for ``{?x}``, the literal for ``{&x}``, None if there is no query to read."""
    query: frozenset[str]
    fragment: str | None


def _compile(text: str, parts: Sequence[str | Expression]) -> _Matcher:
    """Refuse what could only be matched by guessing, and lay out the rest."""
    literals: list[str] = [""]
    slots: list[_Slot] = []
    fixed_query: str | None = None
    query: list[str] = []
    fragment: str | None = None
    seen: set[str] = set()
    for part in parts:
        at_end = isinstance(part, Expression) and part.operator == "#"
        if fragment is not None or (query and not at_end):
            raise ValueError(f"the template {text!r} goes on after its query or fragment; put those last")
        if isinstance(part, str):
            literals[-1] += part
            continue
        _check_matchable(part, seen)
        names = [variable.name for variable in part.variables]
        match part.operator:
            case "?":
                fixed_query, query = "", names
            case "&":
                literals[-1], fixed_query = _split_fixed_query(part, literals[-1])
                query = names
            case "#":
                fragment = names[0]
            case _:
                _add_slots(part, literals, slots)
    if sum(slot.spans for slot in slots) > 1:
        raise ValueError(
            f"the template {text!r} has several variables that may hold slashes, so where one ends "
            "is a guess; use {x} for all but one"
        )
    return _Matcher(tuple(literals), tuple(slots), fixed_query, frozenset(query), fragment)


def _check_matchable(expression: Expression, seen: set[str]) -> None:
    operator, text = expression.operator, expression.text
    several = len(expression.variables) > 1
    if operator == ";":
        raise ValueError(f"{text!r} cannot be matched; write the parameters as a query, {{?x}}")
    if several and operator in ("+", "#"):
        raise ValueError(f"{text!r} cannot be matched, as each value may hold a comma; use one variable")
    for variable in expression.variables:
        if variable.prefix is not None:
            raise ValueError(f"{text!r} cannot be matched, as a prefix does not give the value; drop the ':'")
        if variable.explode and (operator != "/" or several):
            raise ValueError(
                f"{text!r} cannot be matched, as only {{/x*}} may have a '*'; name each variable"
            )
        if variable.name in seen:
            raise ValueError(f"the variable {variable.name!r} stands twice; give each place its own name")
        seen.add(variable.name)


def _add_slots(expression: Expression, literals: list[str], slots: list[_Slot]) -> None:
    operator = OPERATORS[expression.operator]
    separator = operator.first
    for variable in expression.variables:
        literals[-1] += separator
        if slots and not literals[-1]:
            raise ValueError(
                f"nothing stands between {expression.text!r} and the variable before it, so where one ends "
                "is a guess; put a literal between them"
            )
        slots.append(
            _Slot(
                variable.name,
                "any" if expression.operator == "+" else "segments" if variable.explode else "segment",
            )
        )
        literals.append("")
        separator = operator.separator


def _split_fixed_query(expression: Expression, literal: str) -> tuple[str, str]:
    """Part the literal in front of ``{&x}`` into the end of the path and the beginning of the query."""
    path, question, fixed = literal.partition("?")
    if not question:
        raise ValueError(
            f"{expression.text!r} can be matched after a literal query only, as in '?v=1{{&x}}'; "
            "begin the query with {?x}"
        )
    return path, fixed


def _match(matcher: _Matcher, uri: str, allow_traversal: bool) -> dict[str, str] | None:
    found: dict[str, str] = {}
    if matcher.fragment is not None:
        uri, mark, fragment = uri.partition("#")
        if mark:
            found[matcher.fragment] = fragment
    if matcher.fixed_query is not None:
        uri, mark, query = uri.partition("?")
        if not _match_query(matcher, query if mark else None, found):
            return None
    places = _match_path(matcher, uri)
    if places is None:
        return None
    values: dict[str, str] = {}
    for slot, text in zip(matcher.slots, places, strict=True):
        value = _decode_any(text, allow_traversal) if slot.kind == "any" else _decode_segments(slot, text)
        if value is None:
            return None
        values[slot.name] = value
    for name, text in found.items():
        value = _decode_any(text, allow_traversal)
        if value is None:
            return None
        values[name] = value
    return values


def _match_query(matcher: _Matcher, query: str | None, found: dict[str, str]) -> bool:
    if matcher.fixed_query:
        if query is None or not query.startswith(matcher.fixed_query):
            return False
        query = query[len(matcher.fixed_query) :]
        if query and not query.startswith("&"):
            return False
        query = query[1:] if query else None
    if query is None:
        return True
    # One part more than there are names is enough to see that one is foreign or stands twice.
    for parameter in query.split("&", len(matcher.query)):
        name, equals, text = parameter.partition("=")
        if not equals or name not in matcher.query or name in found:
            return False
        found[name] = text
    return True


def _match_path(matcher: _Matcher, path: str) -> list[str] | None:
    """The text in each slot, or None.

    Literals are looked for from the left as far as the slot that spans slashes, then from the right, so that
    this slot gets what is left; without one, from the left alone. The first place where a literal stands is
    enough: a later one would only move text from the slot after it to the slot before it, and whatever the
    slot before may hold, the slot after may hold too.
    """
    literals, slots = matcher.literals, matcher.slots
    if not slots:
        return [] if path == literals[0] else None
    start, end = len(literals[0]), len(path) - len(literals[-1])
    if not path.startswith(literals[0]) or not path.endswith(literals[-1]) or _inside_escape(path, end):
        return None
    left: list[str] = []
    right: list[str] = []
    first, last = 0, len(slots) - 1
    while first < last and not slots[first].spans:
        place = _find(path, literals[first + 1], start + 1, end)
        if place < 0:
            return None
        left.append(path[start:place])
        start = place + len(literals[first + 1])
        first += 1
    while last > first:
        place = _rfind(path, literals[last], start, end - 1)
        if place < 0:
            return None
        right.append(path[place + len(literals[last]) : end])
        end = place
        last -= 1
    # An empty slot is found here; elsewhere the bounds of the search leave each at least one character.
    return [*left, path[start:end], *reversed(right)] if start < end else None


def _inside_escape(text: str, place: int) -> bool:
    return "%" in text[max(place - 2, 0) : place]


def _find(text: str, literal: str, start: int, end: int) -> int:
    """Like `str.find`, past places where the literal would begin inside an escape (``2`` in ``%20``)."""
    place = text.find(literal, start, end)
    while place >= 0 and _inside_escape(text, place):
        place = text.find(literal, place + 1, end)
    return place


def _rfind(text: str, literal: str, start: int, end: int) -> int:
    place = text.rfind(literal, start, end)
    while place >= 0 and _inside_escape(text, place):
        place = text.rfind(literal, start, place + len(literal) - 1)
    return place


def _decode_any(text: str, allow_traversal: bool) -> str | None:
    value = decode_escapes(text)
    if value is None or "\0" in value:
        return None
    if not allow_traversal and (value.startswith(("/", "\\")) or ".." in _segments(value)):
        return None
    return value


def _decode_segments(slot: _Slot, text: str) -> str | None:
    decoded = []
    for segment in text.split("/") if slot.kind == "segments" else [text]:
        if not segment or "?" in segment or "#" in segment:
            return None
        value = decode_escapes(segment)
        if value is None or "\0" in value or "/" in value:
            return None
        if not {".", ".."}.isdisjoint(_segments(value)):
            return None
        decoded.append(value)
    return "/".join(decoded)


def _segments(value: str) -> list[str]:
    # A backslash separates segments on some systems.
    return value.replace("\\", "/").split("/")
