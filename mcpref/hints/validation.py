"""JSON Schema by jsonschema, bounded: for schemas written by hand, for outputs, for wording refusals.

What jsonschema leaves to its caller is decided here, once. The dialect is the one that ``$schema`` names
(2020-12 if none; also 2019-09 and drafts 7, 6, 4 and 3). Nothing is ever fetched: a ``$ref`` that does not
resolve within the schema makes it invalid. Schema and validation are bounded, and so is what a message repeats
of the value.

jsonschema is imported at first use, since its import takes longer than a whole server needs to start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

from .codec import format_path, json_key, shorten
from .constraints import MAX_PATTERN_INPUT

#: Spec: 2026-07-28 basic/index#composition-keyword-resource-use SHOULD bound depth and number of subschemas
MAX_SCHEMA_DEPTH: Final = 32
MAX_SUBSCHEMAS: Final = 1_000
#: References that one validation may follow beyond those an honest schema needs. Where arms of a union refer
#: to each other, trying them out doubles the work with every level of the value.
MAX_EXTRA_REFERENCES: Final = 2_000
#: Complaints about one value.
MAX_PROBLEMS: Final = 10
_MAX_MESSAGE: Final = 300

_DEFAULT_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class InvalidSchema(ValueError):
    """A hand-written schema that cannot be used."""


class Problem(NamedTuple):
    """One complaint about a value."""

    segments: tuple[str | int, ...]
    """Where: names and indexes, outermost first; none for the value itself."""
    message: str
    value: Any

    @property
    def path(self) -> str:
        """Where, as in ``stops[2].name``."""
        return format_path(self.segments)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.segments else self.message


class SchemaValidator:
    """One schema; may be shared by all threads. Compiled at its first use.

    One that was written by hand is to be checked before: `check`.
    """

    __slots__ = ("_compiled", "_references", "schema")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self._compiled: Any = None
        self._references = 0

    def check(self, where: str = "") -> None:
        """Raise `InvalidSchema`, naming ``where``, unless valid in its dialect, within bounds, self-contained.

        Spec: 2026-07-28 basic/index#implementation-requirements MUST name an unsupported dialect as such
        Spec: 2026-07-28 basic/index#ref-resolution MUST NOT fetch; SHOULD reject what stays unresolved
        """
        try:
            self._check()
        except InvalidSchema as error:
            raise InvalidSchema(f"{where}: {error}" if where else str(error)) from None

    def _check(self) -> None:
        from jsonschema.exceptions import SchemaError

        _check_nesting(self.schema)
        dialect = _dialect(self.schema)
        try:
            dialect.check_schema(self.schema)
        except SchemaError as error:
            where = format_path(error.absolute_path)
            raise InvalidSchema(
                f"not a valid JSON Schema{f' at {where}' if where else ''}: {_cut(error.message)}"
            ) from None
        _check_subschemas(self.schema, dialect)
        if any(problem.message == _ENDLESS for problem in self.problems({})):
            raise InvalidSchema("a $ref leads back to itself without end")

    def problems(self, value: Any) -> list[Problem]:
        """What is wrong with ``value``, at most `MAX_PROBLEMS`; empty if it is valid."""
        validator = self._compiled
        if validator is None:
            # Two threads may both get here; they build the same, and either result will do.
            self._references = _count_references(self.schema)
            validator = self._compiled = _compile(self.schema)
        _budget.left = MAX_EXTRA_REFERENCES
        if self._references:
            _budget.left += self._references * _count_values(value)
        try:
            return [_problem(error) for error in islice(validator.iter_errors(value), MAX_PROBLEMS)]
        except (_Exhausted, RecursionError):
            return [Problem((), _ENDLESS, value)]
        except OverflowError:
            return [Problem((), "a number is too large to be checked", value)]

    def errors(self, value: Any) -> list[str]:
        """`problems`, as text."""
        return [str(problem) for problem in self.problems(value)]


_ENDLESS: Final = "the value is too complex for its schema to be checked"


# -- bounds on the schema --------------------------------------------------------------------------------


def _check_nesting(schema: Any) -> None:
    """Before anything recursive looks at it. A subschema is at most three levels of JSON below its parent."""
    limit = 3 * MAX_SCHEMA_DEPTH + 8
    level: list[Any] = [schema]
    depth = 0
    while level:
        depth += 1
        if depth > limit:
            raise InvalidSchema(
                f"nested too deeply: at most {MAX_SCHEMA_DEPTH} levels of schemas are accepted"
            )
        level = [
            inner
            for node in level
            for inner in (node.values() if isinstance(node, Mapping) else node)
            if isinstance(inner, (Mapping, list))
        ]


def _check_subschemas(schema: Mapping[str, Any], dialect: Any) -> None:
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import specification_with

    root = specification_with(dialect.META_SCHEMA["$schema"]).create_resource(schema)
    waiting = [(root, REGISTRY.resolver_with_root(root), 1)]
    count = 0
    while waiting:
        resource, resolver, depth = waiting.pop()
        count += 1
        if depth > MAX_SCHEMA_DEPTH:
            raise InvalidSchema(
                f"nested too deeply: at most {MAX_SCHEMA_DEPTH} levels of schemas are accepted"
            )
        if count > MAX_SUBSCHEMAS:
            raise InvalidSchema(f"too large: at most {MAX_SUBSCHEMAS} subschemas are accepted")
        contents = resource.contents
        for keyword in _REFERENCES if isinstance(contents, Mapping) else ():
            reference = contents.get(keyword)
            if not isinstance(reference, str):
                continue
            try:
                resolver.lookup(reference)
            except Unresolvable:
                raise InvalidSchema(
                    f"{keyword} {shorten(reference)} does not resolve within the schema, "
                    "and nothing is fetched; copy its target into $defs"
                ) from None
        waiting += [(inner, resolver.in_subresource(inner), depth + 1) for inner in resource.subresources()]


def _dialect(schema: Mapping[str, Any]) -> Any:
    from jsonschema import Draft202012Validator, validators

    if "$schema" not in schema:
        return Draft202012Validator
    named = schema["$schema"]
    nothing: Any = None
    found = validators.validator_for(schema, default=nothing) if isinstance(named, str) else None
    if found is None:
        raise InvalidSchema(
            f"the dialect {shorten(named)} is not supported; use {_DEFAULT_DIALECT} or leave out $schema"
        )
    return found


# -- bounded validation ----------------------------------------------------------------------------------


class _Exhausted(Exception):
    """Too many references were followed."""


class _Budget(threading.local):
    """Per thread: how many references the running validation may still follow."""

    left = 0


_budget = _Budget()
_bounded: dict[Any, Any] = {}


def _compile(schema: Mapping[str, Any]) -> Any:
    from referencing import Registry

    dialect = _dialect(schema)
    bounded = _bounded.get(dialect)
    if bounded is None:
        bounded = _bounded[dialect] = _with_bounds(dialect)
    # An empty registry: jsonschema's own default still fetches, with a warning.
    return bounded(schema, registry=Registry())


def _with_bounds(dialect: Any) -> Any:
    """``dialect`` with the keywords replaced whose cost a hostile value or schema could drive up."""
    from jsonschema import ValidationError, validators

    extend: Callable[..., Any] = validators.extend

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def follow(validator: Any, reference: Any, instance: Any, schema: Any) -> Any:
            _budget.left -= 1
            if _budget.left < 0:
                raise _Exhausted
            return original(validator, reference, instance, schema)

        return follow

    def pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and len(instance) > MAX_PATTERN_INPUT:
            yield ValidationError(
                f"{instance!r} is too long: at most {MAX_PATTERN_INPUT} characters are allowed"
            )
        else:
            yield from dialect.VALIDATORS["pattern"](validator, pattern, instance, schema)

    def pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, dict) and any(len(name) > MAX_PATTERN_INPUT for name in instance):
            yield ValidationError(f"a name is too long: at most {MAX_PATTERN_INPUT} characters are allowed")
        else:
            yield from dialect.VALIDATORS["patternProperties"](validator, patterns, instance, schema)

    def unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
        # jsonschema compares all pairs where items are objects.
        if (
            unique
            and isinstance(instance, list)
            and len({json_key(item) for item in instance}) != len(instance)
        ):
            yield ValidationError(f"{instance!r} has non-unique elements")

    changed: dict[str, Any] = {
        name: counted(dialect.VALIDATORS[name]) for name in _REFERENCES if name in dialect.VALIDATORS
    }
    changed.update(pattern=pattern, patternProperties=pattern_properties, uniqueItems=unique_items)
    return extend(dialect, changed)


def _count_values(value: Any) -> int:
    count = 0
    waiting = [value]
    while waiting:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return count


def _count_references(schema: Any) -> int:
    count = 0
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            count += sum(name in node for name in _REFERENCES)
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return count


# -- wording ---------------------------------------------------------------------------------------------


def _problem(error: Any) -> Problem:
    return Problem(tuple(error.absolute_path), _cut(_word(error)), error.instance)


def _word(error: Any) -> str:
    """jsonschema's words, save where they repeat the value at length or do not say what would be right."""
    if error.validator == "additionalProperties" and error.validator_value is False:
        valid = error.schema.get("properties", {})
        unknown = [name for name in error.instance if name not in valid]
        if "patternProperties" not in error.schema:
            listed = ", ".join(shorten(name, 40) for name in unknown[:5])
            return f"unknown: {listed}; valid names are: {', '.join(valid) or 'none'}"
    message: str = error.message
    value = repr(error.instance)
    if message.startswith(value):
        message = shorten(error.instance) + message[len(value) :]
    if error.context:
        reasons = dict.fromkeys(_reason(inner) for inner in error.context)
        message += f" ({'; '.join(islice(reasons, 4))})"
    return message


def _reason(error: Any) -> str:
    """One arm's complaint; ``relative_path`` is relative to the union."""
    where = format_path(error.relative_path)
    return f"{where}: {_cut(_word(error))}" if where else _cut(_word(error))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 3]}..."
