"""A function's signature as an ``inputSchema``, and the binding of arguments that checks as it converts.

All looking at hints happens in `compile_signature` (and `compile_return`), at registration. A call runs
``signature.bind``, one closure over converters. The converters decide; jsonschema, beside them, words the
refusals and judges the arguments of tools whose schema was written by hand.

Knows of no request and no server: what a context is, is told by ``context_types``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..errors import McpError, ProtocolError
from ..hints import Codec, DecodeError, SchemaValidator, UnsupportedType
from ..hints.codec import MISSING, naming, shorten
from ..hints.compiler import Compiler, union_arms
from ..hints.functions import Function, Parameter, function_name, inspect_function
from ..hints.records import Member, member_reader, object_schema
from ..hints.results import ReturnSpec, compile_return
from ..hints.validation import MAX_PROBLEMS
from ..jsonrpc import parse_json
from .docstrings import parse_docstring

if TYPE_CHECKING:
    from ..hints.scope import Scope

__all__ = [
    "ContextKind",
    "InputError",
    "Kind",
    "ReturnSpec",
    "Signature",
    "compile_return",
    "compile_signature",
    "function_name",
]

Kind: TypeAlias = Literal["tool", "prompt", "resource"]
ContextKind: TypeAlias = Literal["none", "info", "context"]
Bound: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
Bind: TypeAlias = Callable[[Mapping[str, Any], object], Bound]
Explain: TypeAlias = Callable[[Mapping[str, Any]], list[str]]


class InputError(McpError):
    """The arguments do not fit; ``messages`` says what and why, one line per mistake, echoes cut."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = list(messages)
        super().__init__("; ".join(self.messages))


class Signature:
    """What registration learnt about a function. Never changes; shared by all threads."""

    __slots__ = ("_explain", "bind", "context", "description", "input_schema", "name", "prompt_arguments")

    def __init__(
        self,
        *,
        name: str,
        description: str,
        input_schema: dict[str, Any],
        context: ContextKind,
        bind: Bind,
        explain: Explain,
        prompt_arguments: list[dict[str, Any]],
    ) -> None:
        self.name = name
        self.description = description
        """The docstring without its parameter sections; "" if there is none."""
        self.input_schema = input_schema
        """As listed; one written by hand is listed untouched."""
        self.context: ContextKind = context
        """What is injected into the function."""
        self.bind = bind
        """``args, kwargs = bind(arguments, context)``, then ``fn(*args, **kwargs)``. Raises `InputError`."""
        self._explain = explain
        self.prompt_arguments = prompt_arguments
        """For prompts: ``{name, title?, description?, required}`` per argument."""

    def explain(self, arguments: Mapping[str, Any]) -> list[str]:
        """Why ``arguments`` are refused; empty if they are not."""
        return self._explain(arguments)


# -- compiling -------------------------------------------------------------------------------------------


def compile_signature(
    fn: Callable[..., object],
    *,
    kind: Kind,
    name: str,
    input_schema: Mapping[str, Any] | None = None,
    context_types: Mapping[type, ContextKind] | None = None,
    lenient: bool = False,
    variables: Sequence[str] = (),
    localns: Mapping[str, Any] | None = None,
    names: Mapping[str, Any] | None = None,
) -> Signature:
    """Read ``fn`` once, for good. Raises `UnsupportedType` or `InvalidSchema`, naming parameter and remedy.

    ``input_schema``: a schema written by hand, in place of the derived one. ``context_types``: classes to
    inject, compared by identity. ``lenient``: arguments that do not fit are tried as JSON text. ``variables``: of
    a resource's URI template. ``localns``: the locals where the function is decorated. ``names``: tried last.
    """
    try:
        return _compile(
            fn, kind, name, input_schema, context_types or {}, lenient, variables, localns or {}, names or {}
        )
    except UnsupportedType as error:
        raise UnsupportedType(f"{kind} {name!r}: {error}") from error.__cause__


def _compile(
    fn: Callable[..., object],
    kind: Kind,
    name: str,
    raw: Mapping[str, Any] | None,
    context_types: Mapping[type, ContextKind],
    lenient: bool,
    variables: Sequence[str],
    localns: Mapping[str, Any],
    names: Mapping[str, Any],
) -> Signature:
    function = inspect_function(fn, localns=localns, names=names, allow_kwargs=raw is not None)
    injected = _injected(function, context_types)
    taken = [
        parameter for parameter in function.parameters if injected is None or parameter is not injected[0]
    ]
    doc = parse_docstring(function.doc)
    compiler = Compiler()
    members = [_member(parameter, compiler, function.scope, doc.params) for parameter in taken]
    schema = compiler.document(
        object_schema(
            {member.name: member.schema for member in members},
            [member.name for member in members if member.required],
            closed=True,
        )
    )
    rows = members
    if kind == "resource":
        _check_variables(members, variables)
    if kind != "tool":
        rows = [member.with_codec(_text_codec(member.codec, kind)) for member in members]
    elif lenient:
        rows = [member.with_codec(_lenient_codec(member.codec)) for member in members]

    validator: SchemaValidator | None = None
    if raw is not None:
        validator = SchemaValidator(raw)
        validator.check(f"tool {name!r}: input_schema")
        _check_raw(raw, function, members)
        schema = dict(raw)
        explain = _explain_raw(rows, validator, closed=not function.takes_any)
    else:
        explain = _explain_derived(rows, SchemaValidator(schema) if kind == "tool" else None)
    return Signature(
        name=name,
        description=doc.description,
        input_schema=schema,
        context="none" if injected is None else injected[1],
        bind=_make_bind(function, rows, injected and injected[0], explain, validator),
        explain=explain,
        prompt_arguments=[_prompt_argument(member) for member in members] if kind == "prompt" else [],
    )


def _injected(
    function: Function, context_types: Mapping[type, ContextKind]
) -> tuple[Parameter, ContextKind] | None:
    """The parameter that takes a context, if there is one."""
    found: list[tuple[Parameter, ContextKind]] = []
    for parameter in function.parameters:
        with naming(f"parameter {parameter.name!r}"):
            hint = function.scope.evaluate(parameter.hint)
        for arm in union_arms(hint):
            # By identity: a class may refuse to be asked whether it is a subclass, as TypedDicts do.
            kinds = [kind for cls, kind in context_types.items() if arm is cls]
            if kinds:
                found.append((parameter, kinds[0]))
                break
    if len(found) > 1:
        listed = " and ".join(repr(parameter.name) for parameter, _ in found)
        raise UnsupportedType(f"parameters {listed} both take a context; one is enough")
    return found[0] if found else None


def _member(parameter: Parameter, compiler: Compiler, scope: Scope, docs: Mapping[str, str]) -> Member:
    with naming(f"parameter {parameter.name!r}"):
        codec = compiler.compile(parameter.hint, scope)
    return Member(
        parameter.name,
        codec,
        required=parameter.default is MISSING,
        default=parameter.default,
        description=docs.get(parameter.name, ""),
    )


def _prompt_argument(member: Member) -> dict[str, Any]:
    argument: dict[str, Any] = {"name": member.name}
    for key in ("title", "description"):
        if key in member.schema:
            argument[key] = member.schema[key]
    return {**argument, "required": member.required}


def _check_variables(members: Sequence[Member], variables: Collection[str]) -> None:
    names = [member.name for member in members]
    homeless = [repr(name) for name in variables if name not in names]
    unfilled = [repr(member.name) for member in members if member.required and member.name not in variables]
    if homeless:
        raise UnsupportedType(f"the template's {', '.join(homeless)} is no parameter of the function")
    if unfilled:
        raise UnsupportedType(
            f"parameter {', '.join(unfilled)} is no variable of the URI template; add it there, or give it a default"
        )


def _check_raw(schema: Mapping[str, Any], function: Function, members: Sequence[Member]) -> None:
    # Spec: 2026-07-28 server/tools#tool MUST be an object schema, since arguments are an object
    if schema.get("type") != "object":
        raise UnsupportedType("input_schema: the root needs 'type': 'object'")
    names = {member.name for member in members}
    properties = schema.get("properties", {})
    homeless = [repr(name) for name in properties if name not in names]
    if homeless and not function.takes_any:
        raise UnsupportedType(
            f"input_schema has {', '.join(homeless)}, which the function does not take; "
            "add the parameter, or **kwargs for all"
        )
    unfilled = [repr(member.name) for member in members if member.required and member.name not in properties]
    if unfilled and schema.get("additionalProperties") is False:
        raise UnsupportedType(
            f"parameter {', '.join(unfilled)} is not in input_schema; add it, or give it a default"
        )


# -- binding ---------------------------------------------------------------------------------------------


def _make_bind(
    function: Function,
    members: Sequence[Member],
    injected: Parameter | None,
    explain: Explain,
    validator: SchemaValidator | None,
) -> Bind:
    if validator is None and function.by_position:
        return _bind_by_position(function, members, injected, explain)
    return _bind_by_name(function, members, injected, explain, validator)


def _bind_by_position(
    function: Function,
    members: Sequence[Member],
    injected: Parameter | None,
    explain: Explain,
) -> Bind:
    read = member_reader(members)
    at = -1 if injected is None else function.parameters.index(injected)

    def bind(arguments: Mapping[str, Any], context: object) -> Bound:
        try:
            values = read(arguments)
        except DecodeError as error:
            raise InputError(explain(arguments) or [str(error)]) from None
        if at >= 0:
            values.insert(at, context)
        return tuple(values), {}

    return bind


def _bind_by_name(
    function: Function,
    members: Sequence[Member],
    injected: Parameter | None,
    explain: Explain,
    validator: SchemaValidator | None,
) -> Bind:
    """For wrappers, partials and keyword-only parameters, and for tools whose schema was written by hand."""
    read = member_reader(members, closed=not function.takes_any, fill=False)
    known = {member.name for member in members}
    positional = [parameter.name for parameter in function.parameters if parameter.positional_only]
    defaults = {parameter.name: parameter.default for parameter in function.parameters}

    def bind(arguments: Mapping[str, Any], context: object) -> Bound:
        if validator is not None and validator.problems(arguments):
            raise InputError(explain(arguments))
        try:
            values = read(arguments)
        except DecodeError as error:
            raise InputError(explain(arguments) or [str(error)]) from None
        kwargs = {
            member.name: value for member, value in zip(members, values, strict=True) if value is not MISSING
        }
        if len(kwargs) < len(arguments):  # only **kwargs lets more through
            kwargs.update((name, value) for name, value in arguments.items() if name not in known)
        if injected is not None:
            kwargs[injected.name] = context
        args = tuple(kwargs.pop(name, defaults[name]) for name in positional)
        return args, kwargs

    return bind


# -- refusing --------------------------------------------------------------------------------------------


def _explain_derived(
    members: Sequence[Member], validator: SchemaValidator | None, *, closed: bool = True
) -> Explain:
    """All mistakes at once: the converters say which members are wrong, jsonschema says how."""
    by_name = {member.name: member for member in members}

    def explain(arguments: Mapping[str, Any]) -> list[str]:
        if not isinstance(arguments, dict):
            return [f"the arguments must be an object, not {shorten(arguments, 40)}"]
        missing = [name for name, member in by_name.items() if member.required and name not in arguments]
        messages = [f"the argument {name!r} is missing" for name in missing]
        unknown = [name for name in arguments if name not in by_name]
        if unknown and closed:
            listed = ", ".join(shorten(name, 40) for name in unknown[:5])
            messages.append(f"unknown argument {listed}; valid names are: {', '.join(by_name) or 'none'}")
        wrong = _wrong_members(by_name, arguments)
        problems = validator.problems(arguments) if validator is not None and wrong else []
        for name, error in wrong.items():
            worded = [
                str(problem)
                for problem in problems
                # Null is taken where it is the default, though the schema does not say so.
                if problem.segments[:1] == (name,)
                and (problem.value is not None or problem.path == error.path)
            ]
            messages += worded or [str(error)]
        return list(islice(messages, MAX_PROBLEMS))

    return explain


def _explain_raw(members: Sequence[Member], validator: SchemaValidator, *, closed: bool) -> Explain:
    """The schema comes first; what it lets through may still not be what the function takes."""
    explain_own = _explain_derived(members, None, closed=closed)
    return lambda arguments: validator.errors(arguments) or explain_own(arguments)


def _wrong_members(members: Mapping[str, Member], arguments: Mapping[str, Any]) -> dict[str, DecodeError]:
    wrong: dict[str, DecodeError] = {}
    for name, value in arguments.items():
        if name in members:
            try:
                members[name].codec.decode(value)
            except DecodeError as error:
                error.under(name)
                wrong[name] = error
    return wrong


# -- text ------------------------------------------------------------------------------------------------


def _text_codec(codec: Codec, kind: Kind) -> Codec:
    """For values that travel as text: the text if it fits, else its JSON."""
    lenient = _lenient_codec(codec)
    if kind == "resource":
        return lenient

    def decode(value: Any) -> Any:
        # Spec: 2025-11-25..2026-07-28 schema#getpromptrequestparams the values are strings
        if not isinstance(value, str):
            raise DecodeError(f"{shorten(value)} is not a string, as arguments of prompts are")
        return lenient.decode(value)

    return codec.replace(decode=decode, exact=str if codec.exact is str else None)


def _lenient_codec(codec: Codec) -> Codec:
    """Takes JSON text where the text itself does not fit; models like to send ``"10"`` for 10."""
    strict = codec.decode

    def decode(value: Any) -> Any:
        try:
            return strict(value)
        except DecodeError:
            if not isinstance(value, str):
                raise
            try:
                parsed = parse_json(value.encode())
            except (ProtocolError, UnicodeEncodeError):
                parsed = MISSING
            if parsed is MISSING:
                raise
        return strict(parsed)

    return codec.replace(decode=decode)
