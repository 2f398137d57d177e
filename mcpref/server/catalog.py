"""The entries of a server (tools, resources, templates, prompts) and `Catalog`, the snapshot requests read.

An entry is made once, at registration, and never changes. A catalog is made once after a change and never
changes either, so any number of threads read it without a lock. What it computes late (the wire form of a
list for a revision) is a pure function of it: two threads that compute it at once get the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ..caching import CacheHint
from ..headers import ParamHeader
from ..jsonrpc import PreparedResult, encode_json
from ..versions import ProtocolVersion
from .inbound import Offer
from .results import shape
from .signature import Signature

if TYPE_CHECKING:
    from ..uri_template import UriTemplate

Handler: TypeAlias = Callable[..., Any]
ListKind: TypeAlias = Literal["tools", "resources", "resourceTemplates", "prompts"]

#: The schema's name of the objects in each list.
_OBJECTS: Mapping[ListKind, str] = {
    "tools": "Tool",
    "resources": "Resource",
    "resourceTemplates": "ResourceTemplate",
    "prompts": "Prompt",
}


class Tool(NamedTuple):
    """A function that a model may call."""

    name: str
    fn: Handler
    signature: Signature
    definition: Mapping[str, Any]
    """The tool as ``tools/list`` shows it on the newest revision."""
    encode: Callable[[Any], Any]
    """A returned value that is data -> JSON."""
    check_output: Callable[[Any], Sequence[str]] | None = None
    """What is wrong with a structured result; None where there is no output schema to hold it to."""
    object_output: bool = False
    """Whether the output schema is an object's, which is all that revisions before 2026-07-28 can carry."""
    param_headers: tuple[ParamHeader, ...] = ()
    """Parameters that HTTP clients mirror into headers."""
    scopes: frozenset[str] = frozenset()
    """Scopes that an authenticated caller needs."""


class Resource(NamedTuple):
    """Data under a fixed URI, or under all URIs of a template."""

    uri: str
    fn: Handler
    signature: Signature
    definition: Mapping[str, Any]
    mime_type: str | None = None
    template: UriTemplate | None = None
    cache: CacheHint | None = None
    scopes: frozenset[str] = frozenset()


class Prompt(NamedTuple):
    """A template for messages that a user may pick."""

    name: str
    fn: Handler
    signature: Signature
    definition: Mapping[str, Any]
    scopes: frozenset[str] = frozenset()


class Completer(NamedTuple):
    """Suggests values for one argument of a prompt or variable of a template."""

    fn: Handler
    context: Literal["none", "info", "context"]
    takes_arguments: bool
    """Whether it wants the other arguments that the user has filled in already."""


class WireList(NamedTuple):
    """A list as one revision shows it."""

    items: list[Mapping[str, Any]]
    keys: list[str]
    text: str
    """All items as JSON."""


class Catalog(NamedTuple):
    """Everything a server offers at one moment."""

    tools: Mapping[str, Tool]
    resources: Mapping[str, Resource]
    templates: Sequence[Resource]
    """In the order of their registration; `find_resource` goes by `matching`."""
    prompts: Mapping[str, Prompt]
    completers: Mapping[tuple[str, str, str], Completer]
    """By reference type, name or URI template, and argument."""
    matching: Sequence[Resource]
    """The templates, the most specific first."""
    offer: Offer
    """What the ladder must know."""
    lists: dict[tuple[ListKind, ProtocolVersion], WireList]
    """The wire form of each list, computed when a revision first asks."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Declared in full; what a revision lacks is left out when it is sent."""
        return self.offer.capabilities

    def find_resource(self, uri: str) -> tuple[Resource, dict[str, str]] | None:
        """What serves a URI: the resource of that URI, else the most specific template that matches."""
        fixed = self.resources.get(uri)
        if fixed is not None:
            return fixed, {}
        for entry in self.matching:
            assert entry.template is not None
            variables = entry.template.match(uri)
            if variables is not None:
                return entry, variables
        return None

    def takes_context(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether a request runs a function that takes a context, so that it may stream, ask, or be cancelled.

        Known at registration: what the client sends never decides which thread its tool runs on.
        """
        name = params.get("uri" if method == "resources/read" else "name")
        if not isinstance(name, str):
            return False
        entry: Tool | Prompt | Resource | None = None
        match method:
            case "tools/call":
                entry = self.tools.get(name)
            case "prompts/get":
                entry = self.prompts.get(name)
            case "resources/read":
                found = self.find_resource(name)
                entry = None if found is None else found[0]
        return entry is not None and entry.signature.context == "context"

    def page(
        self, kind: ListKind, version: ProtocolVersion, cursor: object, page_size: int | None
    ) -> dict[str, Any]:
        """A result with one page of a list as this revision shows it.

        Spec: 2026-07-28 server/utilities/pagination#response-format
        """
        wire = self.lists.get((kind, version))
        if wire is None:
            wire = self.lists[kind, version] = self._list(kind, version)
        if cursor is None and (page_size is None or len(wire.items) <= page_size):
            return PreparedResult(kind, wire.items, wire.text)
        from ..pagination import paginate  # here, because few lists have pages

        page, following = paginate(wire.items, wire.keys, kind, cursor, page_size)
        result: dict[str, Any] = {kind: list(page)}
        if following is not None:
            result["nextCursor"] = following
        return result

    def _list(self, kind: ListKind, version: ProtocolVersion) -> WireList:
        entries: Mapping[str, Tool | Resource | Prompt]
        match kind:
            case "tools":
                entries = self.tools
            case "resources":
                entries = self.resources
            case "resourceTemplates":
                entries = {entry.uri: entry for entry in self.templates}
            case "prompts":
                entries = self.prompts
        items = [_wire(_OBJECTS[kind], entry, version) for entry in entries.values()]
        return WireList(items, list(entries), encode_json(items))


def _wire(kind: str, entry: Tool | Resource | Prompt, version: ProtocolVersion) -> Mapping[str, Any]:
    shaped = shape(kind, entry.definition, version)
    # Spec: 2025-06-18..2025-11-25 server/tools#output-schema an object at the root, or none at all
    if isinstance(entry, Tool) and not (entry.object_output or version.features.structured_any):
        shaped = {name: value for name, value in shaped.items() if name != "outputSchema"}
    if isinstance(entry, Prompt) and shaped.get("arguments") and version.absent_fields["PromptArgument"]:
        arguments = [shape("PromptArgument", argument, version) for argument in shaped["arguments"]]
        shaped = {**shaped, "arguments": arguments}
    return shaped
