"""Functions to input schemas and binders, return hints to output schemas."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypedDict, TypeVar

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from mcpref.hints import InvalidSchema, Param, UnsupportedType
from mcpref.server.signature import (
    InputError,
    ReturnSpec,
    Signature,
    compile_return,
    compile_signature,
    function_name,
)

if TYPE_CHECKING:
    from collections.abc import Sequence as OnlyForCheckers

    from somewhere import Hidden  # type: ignore[import-not-found]

S = TypeVar("S")
Handler = Callable[..., Any]


class Context:
    pass


class Info:
    pass


class Shape(TypedDict):
    """Refuses to be the second argument of issubclass, as contexts must not need it to be."""

    x: int


class Color(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass
class Stop:
    name: str
    minutes: int = 0


CONTEXTS: Mapping[type, Any] = {Context: "context", Info: "info"}


def tool(fn: Handler, **options: Any) -> Signature:
    return compile_signature(fn, kind="tool", name="t", context_types=CONTEXTS, **options)


def call(fn: Handler, arguments: Mapping[str, Any], context: object = None, **options: Any) -> Any:
    args, kwargs = tool(fn, **options).bind(arguments, context)
    return fn(*args, **kwargs)


def refusal(fn: Handler, arguments: Any, **options: Any) -> list[str]:
    signature = tool(fn, **options)
    with pytest.raises(InputError) as caught:
        signature.bind(arguments, None)
    assert signature.explain(arguments) == caught.value.messages
    return caught.value.messages


# -- schemas ---------------------------------------------------------------------------------------------


@pytest.mark.req("tools.input-schema-object")
def test_schema_of_a_function() -> None:
    def forecast(
        city: str,
        days: Annotated[int, Param("how many days", minimum=1, maximum=10, header="Days")] = 3,
        units: Literal["c", "f"] = "c",
        stops: list[Stop] | None = None,
        anything: Any = None,
    ) -> str:
        """Forecast the weather.

        Args:
            city: The town to look at.
            days: not used, since the hint says it.
            units: Celsius or the other.
        """
        return ""

    signature = tool(forecast)
    assert signature.description == "Forecast the weather."
    assert signature.context == "none"
    assert signature.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The town to look at."},
            "days": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10,
                "description": "how many days",
                "x-mcp-header": "Days",
                "default": 3,
            },
            "units": {
                "type": "string",
                "enum": ["c", "f"],
                "default": "c",
                "description": "Celsius or the other.",
            },
            "stops": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "minutes": {"type": "integer", "default": 0}},
                    "required": ["name"],
                    "additionalProperties": False,
                },
            },
            "anything": {},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    Draft202012Validator.check_schema(signature.input_schema)


@pytest.mark.req("2026-07-28:tools.no-params-schema", "2025-11-25:tools.no-params")
def test_schema_without_parameters() -> None:
    assert tool(lambda: None).input_schema == {"type": "object", "additionalProperties": False}


def test_a_parameter_without_a_hint_takes_anything() -> None:
    def f(x, y=2):  # type: ignore[no-untyped-def]
        return x, y

    assert tool(f).input_schema["properties"] == {"x": {}, "y": {"default": 2}}
    assert call(f, {"x": [1]}) == ([1], 2)


def test_a_required_nullable_is_a_flat_union() -> None:
    def f(x: int | None, y: int | str | None) -> None: ...

    schema = tool(f).input_schema
    assert schema["required"] == ["x", "y"]
    assert schema["properties"]["x"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema["properties"]["y"] == {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}


def test_the_own_description_of_a_type_gives_way_to_that_of_the_parameter() -> None:
    @dataclass
    class Documented:
        """What the type is."""

        x: int

    def plain(p: Documented) -> None: ...

    def told(p: Documented) -> None:
        """:param p: What it is for."""

    assert tool(plain, localns=locals()).input_schema["properties"]["p"]["description"] == "What the type is."
    assert tool(told, localns=locals()).input_schema["properties"]["p"]["description"] == "What it is for."


@dataclass
class Tree:
    children: list[Tree] = field(default_factory=list)


def test_recursive_parameters_share_defs_at_the_root() -> None:
    def f(a: Tree, b: list[Tree]) -> None: ...

    schema = tool(f).input_schema
    assert schema["properties"]["a"] == schema["properties"]["b"]["items"] == {"$ref": "#/$defs/Tree"}
    assert list(schema["$defs"]) == ["Tree"]
    Draft202012Validator(schema).validate({"a": {"children": [{}]}, "b": []})


@pytest.mark.parametrize("default", [float("nan"), object(), -5, {1, 2}])
def test_a_default_without_a_fitting_json_form_is_left_out(default: Any) -> None:
    def f(x: Annotated[float, Param(minimum=0)] = default) -> Any:
        return x

    assert "default" not in tool(f).input_schema["properties"]["x"]
    assert call(f, {}) is default


def test_defaults_are_in_their_json_form() -> None:
    def f(
        when: date = date(2026, 7, 28),
        color: Color = Color.GREEN,
        stop: Stop = Stop("x"),  # noqa: B008
        pair: tuple[int, int] = (1, 2),
    ) -> None: ...

    properties = tool(f).input_schema["properties"]
    assert {name: schema["default"] for name, schema in properties.items()} == {
        "when": "2026-07-28",
        "color": "green",
        "stop": {"name": "x", "minutes": 0},
        "pair": [1, 2],
    }


# -- string hints ----------------------------------------------------------------------------------------


def test_hints_are_resolved_in_the_decorating_frame() -> None:
    @dataclass
    class Local:
        x: int
        inner: Local | None = None

    def f(p: Local) -> int:
        return p.x

    assert call(f, {"p": {"x": 3, "inner": {"x": 1}}}, localns=locals()) == 3


def test_hints_are_resolved_in_closures() -> None:
    kind = Stop

    def f(p: kind) -> Any:  # type: ignore[valid-type]
        return kind, p

    assert call(f, {"p": {"name": "a"}})[1] == Stop("a")


def test_locals_of_the_registration_do_not_shadow_a_module() -> None:
    assert call(module_level, {"stop": {"name": "a"}}, localns={"Stop": int}) == Stop("a")


def module_level(stop: Stop) -> Stop:
    return stop


def test_our_own_names_and_typing_are_tried_last() -> None:
    def f(ctx: RequestContext, items: OnlyForCheckers[int], more: Sequence[int]) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return ctx, items, more

    f.__annotations__["items"] = "list[int]"
    context = Context()
    names = {"RequestContext": Context}
    assert call(f, {"items": [1], "more": [2]}, context, names=names) == (context, [1], [2])


def test_a_hint_that_cannot_be_resolved_is_named() -> None:
    def f(fine: int, bad: Hidden) -> None: ...

    with pytest.raises(UnsupportedType) as caught:
        tool(f)
    assert str(caught.value).startswith(
        "tool 't': parameter 'bad': the hint 'Hidden' cannot be resolved: name 'Hidden' is not defined; "
        "import the name at module level"
    )


# -- calling ---------------------------------------------------------------------------------------------


def everything(
    count: int, ratio: float = 1.5, /, name: str = "n", *, when: date | None = None, color: Color = Color.RED
) -> Any:
    return count, ratio, name, when, color


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"count": 1.0}, (1, 1.5, "n", None, Color.RED)),
        ({"count": 1, "ratio": 2}, (1, 2.0, "n", None, Color.RED)),
        ({"count": 1, "when": None, "name": "x"}, (1, 1.5, "x", None, Color.RED)),
        ({"color": "green", "when": "2026-07-28", "count": 1}, (1, 1.5, "n", date(2026, 7, 28), Color.GREEN)),
    ],
)
def test_positional_only_and_keyword_only(arguments: dict[str, Any], expected: Any) -> None:
    result = call(everything, arguments)
    assert result == expected
    assert [type(value) for value in result] == [type(value) for value in expected]


def test_bound_methods() -> None:
    class Service:
        def __init__(self, prefix: str) -> None:
            self.prefix = prefix

        def greet(self, name: str) -> str:
            return self.prefix + name

        @classmethod
        def make(cls, name: str) -> str:
            return f"{cls.__name__} {name}"

        @staticmethod
        def plain(name: str) -> str:
            return name

    service = Service("hi ")
    for fn, expected in ((service.greet, "hi x"), (Service.make, "Service x"), (Service.plain, "x")):
        assert list(tool(fn).input_schema["properties"]) == ["name"]
        assert call(fn, {"name": "x"}) == expected


def test_callable_objects() -> None:
    class Adder:
        """Adds."""

        def __call__(self, a: int, b: int = 1) -> int:
            return a + b

    assert call(Adder(), {"a": 1}) == 2
    assert tool(Adder()).description == "Adds."


def test_partials_hide_what_they_bind() -> None:
    def f(a: int, b: str, c: float = 1.0) -> Any:
        """Does it."""
        return a, b, c

    bound = functools.partial(f, b="x")
    signature = tool(bound)
    assert list(signature.input_schema["properties"]) == ["a", "c"]
    assert signature.description == "Does it."
    assert call(bound, {"a": 1, "c": 2}) == (1, "x", 2.0)
    assert call(functools.partial(f, 7), {"b": "y"}) == (7, "y", 1.0)
    assert call(functools.partial(functools.partial(f, c=3.0), b="z"), {"a": 1}) == (1, "z", 3.0)
    assert refusal(bound, {"a": 1, "b": "sneaked in"}) == ["unknown argument 'b'; valid names are: a, c"]


def test_wrappers_get_keywords() -> None:
    def logged(fn: Handler) -> Handler:
        @functools.wraps(fn)
        def wrapper(**kwargs: Any) -> Any:
            return sorted(kwargs), fn(**kwargs)

        return wrapper

    @logged
    def f(a: int, b: date | None = None) -> Any:
        return a, b

    assert list(tool(f).input_schema["properties"]) == ["a", "b"]
    assert call(f, {"a": 1}) == (["a"], (1, None))
    assert call(functools.lru_cache(lambda a: a), {"a": 1}) == 1


@pytest.mark.parametrize(
    ("kind", "expected"), [(Context, "context"), (Info, "info"), (Shape, "none"), (int, "none")]
)
def test_contexts_are_injected_and_hidden(kind: Any, expected: str) -> None:
    def f(a: int, ctx, b: int = 2):  # type: ignore[no-untyped-def]
        return a, ctx, b

    f.__annotations__["ctx"] = kind
    signature = tool(f)
    assert signature.context == expected
    if expected != "none":
        assert list(signature.input_schema["properties"]) == ["a", "b"]
        marker = object()
        assert call(f, {"a": 1}, marker) == (1, marker, 2)


@pytest.mark.parametrize(
    "hint", ["Context | None", "Annotated[Context, 'mine']", "Annotated[Context | None, 1]"]
)
def test_optional_and_annotated_contexts(hint: str) -> None:
    def first(ctx: Any, a: int) -> Any:
        return ctx, a

    def named(a: int, *, ctx: Any = None) -> Any:
        return ctx, a

    def positional(ctx: Any, /, a: int) -> Any:
        return ctx, a

    for fn in (first, named, positional):
        fn.__annotations__["ctx"] = hint
        marker = object()
        assert call(fn, {"a": 1}, marker) == (marker, 1)


def test_subclasses_of_a_context_are_not_injected() -> None:
    class Sub(Context):
        pass

    def f(ctx: Sub) -> None: ...

    with pytest.raises(UnsupportedType, match="parameter 'ctx'"):
        tool(f, localns=locals())


# -- what is refused at registration ---------------------------------------------------------------------


async def coroutine(a: int) -> None: ...


async def async_generator(a: int) -> Any:
    yield a


def generator(a: int) -> Iterator[int]:
    yield a


class AsyncCallable:
    async def __call__(self) -> None: ...


def star(*args: int) -> None: ...


def star_star(**kwargs: int) -> None: ...


class Service:
    def method(self, a: int) -> None: ...

    @classmethod
    def make(cls) -> None: ...


def two_contexts(a: Context, b: Info) -> None: ...


def wrong_limit(days: Annotated[str, Param(minimum=1)]) -> None: ...


def field_default(a: int = Field(3)) -> None: ...


def nested(p: list[dict[str, complex]]) -> None: ...


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (coroutine, "async functions are not supported, because .*; write a plain `def` that blocks"),
        (async_generator, "async functions are not supported"),
        (functools.partial(coroutine, 1), "async functions are not supported"),
        (AsyncCallable(), "async functions are not supported"),
        (generator, "generator functions are not supported; return a list"),
        (star, r"parameter '\*args': arguments come by name; use a list parameter"),
        (star_star, r"parameter '\*\*kwargs': .* name the parameters, or pass input_schema="),
        (Service.method, r"parameter 'self': .* register the bound method, as in tool\(obj.method\)"),
        (Service.__dict__["make"], "it cannot be called; register a method after its class is complete"),
        (Service, "it is a class; register a function"),
        (two_contexts, "parameters 'a' and 'b' both take a context"),
        (wrong_limit, "parameter 'days': minimum cannot apply to a string"),
        (field_default, r"parameter 'a': a Field cannot be a default; write Annotated\[..., Field"),
        (nested, r"parameter 'p'\[\]\{\}: complex has no JSON form"),
        (type, "it is a class"),
        (3, "it cannot be called"),
    ],
)
def test_refused_at_registration(fn: Any, message: str) -> None:
    with pytest.raises(UnsupportedType, match=f"^tool 't': {message}"):
        tool(fn)


def test_names() -> None:
    assert function_name(coroutine) == "coroutine"
    assert function_name(Service().method) == "method"
    for fn in (lambda: None, functools.partial(star), AsyncCallable()):
        with pytest.raises(UnsupportedType, match="has no name of its own; pass name="):
            function_name(fn)


# -- what is refused at a call ---------------------------------------------------------------------------


def forecast(city: str, days: int = 3, stops: list[Stop] | None = None, when: date | None = None) -> Any:
    return city, days, stops, when


@pytest.mark.req("2026-07-28:tools.validate-inputs", "2025-11-25:tools.validate-input")
@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({}, ["the argument 'city' is missing"]),
        (
            {"town": "x"},
            [
                "the argument 'city' is missing",
                "unknown argument 'town'; valid names are: city, days, stops, when",
            ],
        ),
        ({"city": "x", "days": "y"}, ["days: 'y' is not of type 'integer'"]),
        ({"city": 1, "days": "y"}, ["city: 1 is not of type 'string'", "days: 'y' is not of type 'integer'"]),
        (
            {"city": "x", "stops": [{"name": "a", "minutes": "b"}, {"nam": "a"}]},
            [
                "stops[0].minutes: 'b' is not of type 'integer'",
                "stops[1]: unknown: 'nam'; valid names are: name, minutes",
                "stops[1]: 'name' is a required property",
            ],
        ),
        # jsonschema has no complaint: the converter's own words
        ({"city": "x", "when": "soon"}, ["when: 'soon' is not a date such as 2026-07-28"]),
        # null for an optional argument is fine, also beside a mistake
        ({"city": "x", "days": "y", "stops": None}, ["days: 'y' is not of type 'integer'"]),
        ({"city": None}, ["city: None is not of type 'string'"]),
    ],
)  # fmt: skip
def test_refused_at_a_call(arguments: dict[str, Any], messages: list[str]) -> None:
    assert sorted(refusal(forecast, arguments)) == sorted(messages)


def test_nothing_to_explain() -> None:
    assert tool(forecast).explain({"city": "x"}) == []
    assert "must be an object" in tool(forecast).explain([])[0]  # type: ignore[arg-type]


def test_echoes_are_cut() -> None:
    (message,) = refusal(forecast, {"city": "x", "days": "y" * 100_000})
    assert len(message) < 200
    messages = refusal(forecast, {"city": "x", "stops": [{"name": 1}] * 1_000})
    assert len(messages) <= 10
    assert len(refusal(forecast, {"city": "x", **{f"{'n' * 500}{i}": 1 for i in range(500)}})[0]) < 400


def test_the_function_is_not_called_with_what_is_refused() -> None:
    called: list[Any] = []

    def f(a: int, b: Stop) -> None:
        called.append((a, b))

    signature = tool(f)
    for arguments in ({"a": 1}, {"a": 1, "b": {"name": 2}}, {"a": "1", "b": {"name": "x"}}):
        with pytest.raises(InputError):
            signature.bind(arguments, None)
    assert called == []


def test_errors_of_the_function_are_its_own() -> None:
    @dataclass
    class Odd:
        x: int

        def __post_init__(self) -> None:
            raise LookupError("a bug")

    def f(p: Odd) -> None: ...

    with pytest.raises(LookupError, match="a bug"):
        tool(f, localns=locals()).bind({"p": {"x": 1}}, None)


# -- lenient ---------------------------------------------------------------------------------------------


def loose(
    count: int, names: list[str], table: dict[str, int] | None = None, text: str = "", flag: bool = False
) -> Any:
    return count, names, table, text, flag


def test_lenient_takes_json_text_where_the_text_does_not_fit() -> None:
    arguments = {"count": "10", "names": '["a"]', "table": '{"b": 2}', "text": "10", "flag": "true"}
    assert call(loose, arguments, lenient=True) == (10, ["a"], {"b": 2}, "10", True)
    assert call(loose, {"count": 10, "names": ["a"]}, lenient=True) == (10, ["a"], None, "", False)


def test_strict_is_the_default_and_the_schema_is_always_strict() -> None:
    assert refusal(loose, {"count": "10", "names": []}) == ["count: '10' is not of type 'integer'"]
    assert tool(loose, lenient=True).input_schema == tool(loose).input_schema


@pytest.mark.parametrize("text", ["", "ten", "1.5", "NaN", "[1", '"10"', "[" * 5_000, "9" * 5_000, "\ud800"])
def test_lenient_still_refuses_what_does_not_fit(text: str) -> None:
    assert len(refusal(loose, {"count": text, "names": "[]"}, lenient=True)) == 1


# -- prompts and resources -------------------------------------------------------------------------------


def prompt(fn: Handler) -> Signature:
    return compile_signature(fn, kind="prompt", name="p", context_types=CONTEXTS)


def review(
    code: str,
    lines: Annotated[int, Param("at most", title="Lines")] = 10,
    tags: list[str] | None = None,
    when: date | None = None,
    either: int | str = 0,
    ctx: Context | None = None,
) -> Any:
    """Review.

    Args:
        code: The text.
    """
    return code, lines, tags, when, either


def test_prompt_arguments() -> None:
    signature = prompt(review)
    assert signature.prompt_arguments == [
        {"name": "code", "description": "The text.", "required": True},
        {"name": "lines", "title": "Lines", "description": "at most", "required": False},
        {"name": "tags", "required": False},
        {"name": "when", "required": False},
        {"name": "either", "required": False},
    ]
    assert signature.context == "context"
    assert tool(review).prompt_arguments == []


def test_the_text_if_it_fits_else_its_json() -> None:
    args, kwargs = prompt(review).bind(
        {"code": "5", "lines": "7", "tags": '["a"]', "when": "2026-07-28", "either": "8"}, None
    )
    assert review(*args, **kwargs) == ("5", 7, ["a"], date(2026, 7, 28), "8")


@pytest.mark.req("prompts.validate-args", "2025-11-25:prompts.args-strings")
@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({}, ["the argument 'code' is missing"]),
        ({"code": 5}, ["code: 5 is not a string, as arguments of prompts are"]),
        ({"code": "x", "lines": 5}, ["lines: 5 is not a string, as arguments of prompts are"]),
        ({"code": "x", "lines": "many"}, ["lines: 'many' is not an integer"]),
        ({"code": "x", "tags": "[1]"}, ["tags[0]: 1 is not a string"]),
        ({"code": "x", "extra": "y"}, ["unknown argument 'extra'; valid names are: code, lines, tags, when, either"]),
    ],
)  # fmt: skip
def test_refused_prompt_arguments(arguments: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        prompt(review).bind(arguments, None)
    assert caught.value.messages == messages


def resource(fn: Handler, *variables: str) -> Signature:
    return compile_signature(fn, kind="resource", name="x://y", variables=variables, context_types=CONTEXTS)


def test_variables_of_a_template() -> None:
    def read(ctx: Info, user: str, number: int, parts: list[str] | None = None) -> Any:
        return user, number, parts

    signature = resource(read, "user", "number", "parts")
    args, kwargs = signature.bind({"user": "7", "number": "7", "parts": ["a", "b"]}, Info())
    assert read(*args, **kwargs) == ("7", 7, ["a", "b"])
    with pytest.raises(InputError) as caught:
        signature.bind({"user": "7", "number": "seven"}, Info())
    assert caught.value.messages == ["number: 'seven' is not an integer"]


def test_variables_and_parameters_must_agree() -> None:
    def read(user: str, limit: int = 5) -> None: ...

    assert resource(read, "user").bind({"user": "a"}, None) == (("a", 5), {})
    with pytest.raises(UnsupportedType, match=r"resource 'x://y': the template's 'name' is no parameter"):
        resource(read, "user", "name")
    with pytest.raises(UnsupportedType, match="parameter 'user' is no variable of the URI template"):
        resource(read)


# -- schemas by hand -------------------------------------------------------------------------------------

BY_HAND = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"name": {"type": "string"}, "when": {"type": "string"}},
    "required": ["name"],
    "dependentRequired": {"when": ["name"]},
    "x-more": {"kept": True},
}


@pytest.mark.req("2026-07-28:schema.explicit-dialect")
def test_a_schema_by_hand_is_listed_untouched() -> None:
    def f(**kwargs: Any) -> Any:
        return kwargs

    signature = tool(f, input_schema=BY_HAND)
    assert signature.input_schema == BY_HAND
    assert call(f, {"name": "a", "other": [1]}, input_schema=BY_HAND) == {"name": "a", "other": [1]}
    assert refusal(f, {"name": 1}, input_schema=BY_HAND) == ["name: 1 is not of type 'string'"]
    assert refusal(f, {}, input_schema=BY_HAND) == ["'name' is a required property"]


def test_named_parameters_are_converted_by_their_hints() -> None:
    def f(name: str, when: date | None = None, *, ctx: Context) -> Any:
        return name, when, ctx

    marker = object()
    arguments = {"name": "a", "when": "2026-07-28"}
    assert call(f, arguments, marker, input_schema=BY_HAND) == ("a", date(2026, 7, 28), marker)
    assert tool(f, input_schema=BY_HAND).context == "context"
    assert refusal(f, {"name": "a", "when": "x"}, input_schema=BY_HAND) == [
        "when: 'x' is not a date such as 2026-07-28"
    ]


def test_kwargs_take_the_rest() -> None:
    def f(name: str, **rest: Any) -> Any:
        return name, rest

    assert call(f, {"name": "a", "when": "b", "z": 1}, input_schema=BY_HAND) == ("a", {"when": "b", "z": 1})


def test_what_the_function_cannot_take_is_refused_and_named() -> None:
    def f(name: str, when: str = "") -> None: ...

    assert refusal(f, {"name": "a", "z": 1}, input_schema=BY_HAND) == [
        "unknown argument 'z'; valid names are: name, when"
    ]
    open_schema = {"type": "object", "properties": {"when": {}}}
    assert refusal(f, {"when": "x"}, input_schema=open_schema) == ["the argument 'name' is missing"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {}}, "input_schema: the root needs 'type': 'object'"),
        ({"type": "array"}, "input_schema: the root needs 'type': 'object'"),
        (
            {"type": "object", "properties": {"a": {}, "b": {}}},
            r"input_schema has 'b', which the function does not take; add the parameter, or \*\*kwargs",
        ),
        ({"type": "object", "additionalProperties": False}, "parameter 'a' is not in input_schema"),
    ],
)
@pytest.mark.req("tools.input-schema-object")
def test_schema_and_function_must_agree(schema: dict[str, Any], message: str) -> None:
    def f(a: int) -> None: ...

    with pytest.raises(UnsupportedType, match=f"^tool 't': {message}"):
        tool(f, input_schema=schema)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "object", "$schema": "urn:mine"}, "the dialect 'urn:mine' is not supported"),
        ({"type": "object", "properties": []}, "not a valid JSON Schema"),
        ({"type": "object", "$ref": "https://example.com/x"}, "does not resolve within the schema"),
    ],
)
@pytest.mark.req("2026-07-28:schema.unsupported-dialect-error", "2026-07-28:schema.valid-per-dialect")
def test_a_bad_schema_by_hand_fails_at_registration(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSchema, match=f"^tool 't': input_schema: .*{message}"):
        tool(star_star, input_schema=schema)


# -- results ---------------------------------------------------------------------------------------------


class Response(Generic[S]):
    pass


class Block(dict[str, Any]):
    pass


def returning(hint: Any) -> ReturnSpec:
    def f() -> Any: ...

    if hint is not ...:
        f.__annotations__["return"] = hint
    else:
        del f.__annotations__["return"]
    return compile_return(
        f, name="t", is_content_type=lambda hint: hint in (Block, list[Block]), response_type=Response
    )


@pytest.mark.parametrize(
    "hint",
    [..., None, "None", str, Any, object, Block, list[Block], Response, Response[Any], Response[None], str | None,
     Block | str, Stop | str, Stop | Block, Stop | Response[Any], Annotated[str, "text"]],
)  # fmt: skip
def test_what_promises_nothing(hint: Any) -> None:
    spec = returning(hint)
    assert spec.output_schema is None
    assert not spec.is_object
    assert spec.encode([Stop("a"), {"when": date(2026, 7, 28)}]) == [
        {"name": "a", "minutes": 0},
        {"when": "2026-07-28"},
    ]
    assert spec.check(object()) == []


STOP_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "minutes": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("hint", "schema", "is_object"),
    [
        (int, {"type": "integer"}, False),
        (list[str], {"type": "array", "items": {"type": "string"}}, False),
        (Stop, STOP_SCHEMA, True),
        ("Stop", STOP_SCHEMA, True),
        (Annotated[Stop, "one stop"], {**STOP_SCHEMA, "description": "one stop"}, True),
        (Response[Stop], STOP_SCHEMA, True),
        (Response[str], {"type": "string"}, False),
        (Response[Stop] | Stop, STOP_SCHEMA, True),
        (Stop | None, {"anyOf": [STOP_SCHEMA, {"type": "null"}]}, False),
        (dict[str, Any], {"type": "object", "additionalProperties": True}, True),
    ],
)
@pytest.mark.req("2026-07-28:tools.structured-any-json")
def test_what_promises_something(hint: Any, schema: dict[str, Any], is_object: bool) -> None:
    spec = returning(hint)
    assert spec.output_schema == schema
    assert spec.is_object is is_object


@pytest.mark.req("2025-11-25:tools.output-schema-object")
def test_a_recursive_result_is_an_object_at_its_root() -> None:
    spec = returning(Tree)
    assert spec.is_object
    assert spec.output_schema is not None
    assert spec.output_schema["type"] == "object"
    assert spec.check(spec.encode(Tree([Tree()]))) == []


@pytest.mark.req("tools.output-conforms")
def test_results_are_checked() -> None:
    spec = returning(Stop)
    assert spec.check(spec.encode(Stop("a"))) == []
    assert spec.check(spec.encode(Stop(5))) == ["name: 5 is not of type 'string'"]  # type: ignore[arg-type]
    assert spec.check(spec.encode({"name": "a"})) == []
    assert spec.check(spec.encode({})) == ["'name' is a required property"]


def test_an_unsupported_result_is_refused() -> None:
    with pytest.raises(UnsupportedType, match=r"^tool 't': return: complex has no JSON form"):
        returning(complex)


# -- cost ------------------------------------------------------------------------------------------------


def test_a_good_call_imports_nothing() -> None:
    program = """
import sys
from mcpref.server.signature import compile_signature
def f(a: int, b: list[str]): ...
signature = compile_signature(f, kind="tool", name="f")
before = set(sys.modules)
signature.bind({"a": 1, "b": ["x"]}, None)
print(sorted(set(sys.modules) - before), "jsonschema" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[] False"


def test_one_signature_serves_many_threads() -> None:
    signature = tool(forecast)
    barrier = threading.Barrier(8)
    wrong: list[Any] = []

    def use(number: int) -> None:
        barrier.wait(timeout=10)
        for _ in range(200):
            args, _kwargs = signature.bind({"city": str(number), "stops": [{"name": str(number)}]}, None)
            if args != (str(number), 3, [Stop(str(number))], None):
                wrong.append(args)
            if signature.explain({"city": number}) != [f"city: {number} is not of type 'string'"]:
                wrong.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert wrong == []
