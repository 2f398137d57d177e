"""Registrar: the decorators. `McpServer` and `Blueprint` are registrars.

All that can be computed from a function is computed here, when it is registered: a mistake shows where it was
made, and a call pays for none of it. A decorator returns the function itself, which stays callable.

The lock guards the tables; no function of the application is called while it is held.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, overload

from ..caching import CacheHint
from ..content import Content, PromptMessage
from ..headers import check_input_schema_headers, param_headers
from ..hints import Param, SchemaValidator
from ..meta import check_user_meta
from .catalog import Completer, Handler, Prompt, Resource, Tool
from .context import RequestContext, RequestInfo
from .responses import Completion, InputRequired, ToolResponse
from .signature import ContextKind, compile_return, compile_signature, function_name

if TYPE_CHECKING:
    from typing_extensions import Unpack

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=Callable[..., Sequence[str] | Completion])
T = TypeVar("T")

_CONTEXT_TYPES: Mapping[type, ContextKind] = {RequestContext: "context", RequestInfo: "info"}
#: Names of ours that annotations may use without the module that has the function importing them.
_NAMES: Mapping[str, Any] = {
    "RequestContext": RequestContext,
    "RequestInfo": RequestInfo,
    "ToolResponse": ToolResponse,
    "Content": Content,
    "Param": Param,
}
# Spec: 2025-11-25..2026-07-28 server/tools#tool-names SHOULD be 1-128 of these characters
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")

ListChange = Literal["tools", "resources", "prompts"]


class CommonOptions(TypedDict, total=False):
    """What every entry may be given beside its function."""

    name: str
    title: str
    description: str
    icons: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]
    scopes: AbstractSet[str] | list[str] | tuple[str, ...]
    """Not any sequence: a text is one too, of letters."""


class ToolOptions(CommonOptions, total=False):
    annotations: Mapping[str, Any]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    lenient: bool
    """Take ``"10"`` for an integer and JSON text for a list, as some models send them."""


class ResourceOptions(CommonOptions, total=False):
    mime_type: str
    size: int
    annotations: Mapping[str, Any]
    cache: CacheHint


class PromptOptions(CommonOptions, total=False):
    pass


class Registrar:
    """Collects what a server offers."""

    def __init__(self) -> None:
        self._registry_lock = threading.Lock()
        self._tools: dict[str, Tool] = {}
        self._resources: dict[str, Resource] = {}
        self._templates: dict[str, Resource] = {}
        self._prompts: dict[str, Prompt] = {}
        self._completers: dict[tuple[str, str, str], Completer] = {}

    # ---- Tools ----------------------------------------------------------------------------------------

    @overload
    def tool(self, fn: F, /, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def tool(self, fn: None = None, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
    def tool(self, fn: F | None = None, /, **options: Unpack[ToolOptions]) -> F | Callable[[F], F]:
        """Offer a function as a tool: ``@server.tool``, ``@server.tool(name=...)``, ``server.tool(obj.method)``.

        Its parameters become the input schema, its return type the output schema, its docstring the
        description. A parameter annotated `RequestContext` or `RequestInfo` is filled in and hidden.
        """
        localns = _caller_locals()

        def register(fn: F) -> F:
            self._add_tool(_make_tool(fn, options, localns))
            return fn

        return register if fn is None else register(fn)

    def remove_tool(self, name: str) -> None:
        """Stop offering a tool. `KeyError` if there is none of that name."""
        self._remove("tools", self._tools, name)

    # ---- Resources ------------------------------------------------------------------------------------

    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Offer what a function returns as a resource under a URI, or under all URIs of a template.

        ``@server.resource("weather://{city}/now")`` calls ``fn(city=...)``.

        RFC: 6570
        """
        localns = _caller_locals()

        def register(fn: F) -> F:
            self._add_resource(_make_resource(uri, fn, options, localns))
            return fn

        return register

    def remove_resource(self, uri: str) -> None:
        """Stop offering a resource or template. `KeyError` if there is none."""
        self._remove("resources", self._resources if uri in self._resources else self._templates, uri)

    # ---- Prompts --------------------------------------------------------------------------------------

    @overload
    def prompt(self, fn: F, /, **options: Unpack[PromptOptions]) -> F: ...
    @overload
    def prompt(self, fn: None = None, /, **options: Unpack[PromptOptions]) -> Callable[[F], F]: ...
    def prompt(self, fn: F | None = None, /, **options: Unpack[PromptOptions]) -> F | Callable[[F], F]:
        """Offer a function as a prompt; its parameters are the prompt's arguments."""
        localns = _caller_locals()

        def register(fn: F) -> F:
            self._add_prompt(_make_prompt(fn, options, localns))
            return fn

        return register if fn is None else register(fn)

    def remove_prompt(self, name: str) -> None:
        """Stop offering a prompt. `KeyError` if there is none of that name."""
        self._remove("prompts", self._prompts, name)

    # ---- Completion -----------------------------------------------------------------------------------

    def completion(self, target: Callable[..., object] | str, argument: str, /) -> Callable[[C], C]:
        """Suggest values for an argument of a prompt, or a variable of a resource template.

        ``target`` is the function that was registered, a prompt's name, or a URI template. The function takes
        the text typed so far, and a second parameter ``arguments`` if it wants the values of the others.
        """

        def register(fn: C) -> C:
            self._add_completer((*self._reference(target, argument), argument), _make_completer(fn))
            return fn

        return register

    def _reference(self, target: Callable[..., object] | str, argument: str) -> tuple[str, str]:
        with self._registry_lock:
            for prompt in self._prompts.values():
                if prompt.name == target or prompt.fn is target:
                    names = [row["name"] for row in prompt.signature.prompt_arguments]
                    _check_argument(argument, names, f"prompt {prompt.name!r}")
                    return "ref/prompt", prompt.name
            for template in self._templates.values():
                if template.uri == target or template.fn is target:
                    assert template.template is not None
                    _check_argument(argument, template.template.variables, f"template {template.uri!r}")
                    return "ref/resource", template.uri
        raise ValueError(f"{target!r} is neither a prompt nor a resource template registered before")

    # ---- Bookkeeping ----------------------------------------------------------------------------------

    def _add_tool(self, tool: Tool) -> None:
        self._add("tools", self._tools, tool.name, tool, "tool")

    def _add_prompt(self, prompt: Prompt) -> None:
        self._add("prompts", self._prompts, prompt.name, prompt, "prompt")

    def _add_resource(self, resource: Resource) -> None:
        table = self._resources if resource.template is None else self._templates
        self._add("resources", table, resource.uri, resource, "resource")

    def _add_completer(self, key: tuple[str, str, str], completer: Completer) -> None:
        with self._registry_lock:
            if key in self._completers:
                raise ValueError(f"argument {key[2]!r} of {key[1]!r} has a completion already")
            self._completers[key] = completer
        self._changed(None)

    def _add(self, change: ListChange, table: dict[str, T], key: str, entry: T, what: str) -> None:
        with self._registry_lock:
            if key in table:
                raise ValueError(f"there is a {what} {key!r} already; remove it first or pick another name")
            table[key] = entry
        self._changed(change)

    def _remove(self, change: ListChange, table: dict[str, Any], key: str) -> None:
        with self._registry_lock:
            del table[key]
            # What suggests values for it goes with it; a later entry of the same name is another one.
            kind = "ref/prompt" if table is self._prompts else "ref/resource"
            for target in [row for row in self._completers if row[:2] == (kind, key)]:
                del self._completers[target]
        self._changed(change)

    def _changed(self, change: ListChange | None) -> None:
        """A table was changed; the lock is not held."""


class Blueprint(Registrar):
    """A part of a server, written in a module of its own and taken in with `McpServer.include`."""


def _check_argument(argument: str, names: Sequence[str], what: str) -> None:
    if argument not in names:
        raise ValueError(f"{what} has no argument {argument!r}; it has: {', '.join(names) or 'none'}")


def check_tool_name(name: str) -> None:
    if not _TOOL_NAME.fullmatch(name):
        raise ValueError(
            f"{name!r} is no tool name: 1 to 128 letters, digits, '_', '-' and '.' are; give one with name="
        )


def _check_options(given: Mapping[str, Any], known: type, what: str) -> None:
    """A misspelt option must not be ignored."""
    names: frozenset[str] = known.__optional_keys__  # type: ignore[attr-defined]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise TypeError(f"a {what} has no option {unknown[0]!r}; there are: {', '.join(sorted(names))}")


def _make_tool(fn: Handler, options: ToolOptions, localns: Mapping[str, Any]) -> Tool:
    _check_options(options, ToolOptions, "tool")
    name = options.get("name") or function_name(fn)
    check_tool_name(name)
    raw = options.get("input_schema")
    signature = compile_signature(
        fn,
        kind="tool",
        name=name,
        input_schema=raw,
        context_types=_CONTEXT_TYPES,
        lenient=options.get("lenient", False),
        localns=localns,
        names=_NAMES,
    )
    # Checked here and not at a call, where it would look like the client's mistake.
    # Spec: 2026-07-28 server/tools#x-mcp-header
    problem = check_input_schema_headers(signature.input_schema)
    if problem is not None:
        raise ValueError(f"tool {name!r}: {problem}")
    returns = compile_return(
        fn,
        name=name,
        is_content_type=is_content_type,
        response_type=ToolResponse,
        localns=localns,
        names=_NAMES,
    )
    definition = _definition(name, options, signature.description)
    definition["inputSchema"] = signature.input_schema
    output_schema: Mapping[str, Any] | None = options.get("output_schema")
    if output_schema is None:
        check_output, output_schema, object_output = returns.check, returns.output_schema, returns.is_object
    else:
        validator = SchemaValidator(output_schema)
        validator.check()
        check_output = validator.errors
        object_output = output_schema.get("type") == "object"
    if output_schema is not None:
        definition["outputSchema"] = output_schema
    if "annotations" in options:
        definition["annotations"] = dict(options["annotations"])
    return Tool(
        name=name,
        fn=fn,
        signature=signature,
        encode=returns.encode,
        check_output=check_output if output_schema is not None else None,
        object_output=object_output,
        definition=definition,
        param_headers=param_headers(signature.input_schema),
        scopes=_scopes(options),
    )


def _make_resource(uri: str, fn: Handler, options: ResourceOptions, localns: Mapping[str, Any]) -> Resource:
    _check_options(options, ResourceOptions, "resource")
    from ..uri_template import UriTemplate, is_valid_uri  # here, because their grammar is slow to compile

    template = UriTemplate(uri) if "{" in uri else None
    # Spec: 2025-06-18..2026-07-28 server/resources#custom-uri-schemes MUST follow RFC 3986
    if template is None and not is_valid_uri(uri):
        raise ValueError(f"{uri!r} is not a URI: it needs a scheme, as in 'config://app'")
    signature = compile_signature(
        fn,
        kind="resource",
        name=uri,
        context_types=_CONTEXT_TYPES,
        variables=template.variables if template else (),
        localns=localns,
        names=_NAMES,
    )
    name = options.get("name") or function_name(fn)
    definition = _definition(name, options, signature.description)
    definition["uri" if template is None else "uriTemplate"] = uri
    if "mime_type" in options:
        definition["mimeType"] = options["mime_type"]
    if "annotations" in options:
        definition["annotations"] = dict(options["annotations"])
    if "size" in options and template is None:
        definition["size"] = options["size"]
    return Resource(
        uri=uri,
        fn=fn,
        signature=signature,
        definition=definition,
        mime_type=options.get("mime_type"),
        template=template,
        cache=options.get("cache"),
        scopes=_scopes(options),
    )


def _make_prompt(fn: Handler, options: PromptOptions, localns: Mapping[str, Any]) -> Prompt:
    _check_options(options, PromptOptions, "prompt")
    name = options.get("name") or function_name(fn)
    signature = compile_signature(
        fn, kind="prompt", name=name, context_types=_CONTEXT_TYPES, localns=localns, names=_NAMES
    )
    definition = _definition(name, options, signature.description)
    if signature.prompt_arguments:
        definition["arguments"] = signature.prompt_arguments
    return Prompt(
        name=name,
        fn=fn,
        signature=signature,
        definition=definition,
        scopes=_scopes(options),
    )


def _make_completer(fn: Handler) -> Completer:
    import inspect

    context: ContextKind = "none"
    takes_arguments = False
    annotations = getattr(fn, "__annotations__", {})
    for name in inspect.signature(fn).parameters:
        hint = annotations.get(name)
        kind = next(
            (kind for cls, kind in _CONTEXT_TYPES.items() if hint is cls or hint == cls.__name__), None
        )
        if kind is not None:
            context = kind
        elif name == "arguments":
            takes_arguments = True
    return Completer(fn, context, takes_arguments)


def _definition(name: str, options: CommonOptions, description: str) -> dict[str, Any]:
    """The members that all kinds of entries have."""
    definition: dict[str, Any] = {"name": name}
    if "title" in options:
        definition["title"] = options["title"]
    text = options.get("description", description)
    if text:
        definition["description"] = text
    if "icons" in options:
        definition["icons"] = [check_icon(icon) for icon in options["icons"]]
    if "meta" in options:
        check_user_meta(options["meta"])
        definition["_meta"] = dict(options["meta"])
    return definition


def _scopes(options: CommonOptions) -> frozenset[str]:
    scopes: object = options.get("scopes", ())
    if not isinstance(scopes, AbstractSet | list | tuple):
        raise TypeError(f"scopes must be a list or a set of texts, as in scopes=[{scopes!r}]")
    return frozenset(scopes)


def check_icon(icon: Mapping[str, Any]) -> dict[str, Any]:
    """The icon, if it names something that a client can fetch."""
    # Spec: 2025-11-25..2026-07-28 basic/index#icons an http(s) or data URI
    src = icon.get("src")
    if not isinstance(src, str) or not src.startswith(("https:", "http:", "data:")):
        raise ValueError(f"an icon needs 'src', an http(s) or data URI, not {src!r}")
    return dict(icon)


def is_content_type(hint: object) -> bool:
    """Whether a return hint says content rather than data."""
    from typing import get_args, get_origin

    if hint in (str, None, type(None), Content, PromptMessage, InputRequired):
        return True
    origin, args = get_origin(hint), get_args(hint)
    if origin in (list, tuple, Sequence):
        return all(arg is Ellipsis or arg is Content for arg in args)
    if args and origin is not ToolResponse and origin is not None:
        from types import UnionType
        from typing import Union

        return origin in (Union, UnionType) and all(is_content_type(arg) for arg in args)
    return False


def _caller_locals() -> Mapping[str, Any]:
    """The local names where the decorator stands: annotations may refer to them."""
    return sys._getframe(2).f_locals
