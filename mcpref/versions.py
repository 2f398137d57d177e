"""The five revisions of the protocol, and every difference between them that this library acts on.

Four tables answer "what does revision X change?" on one page: `FEATURES` (behaviour), `METHODS` (messages),
`FIELDS` (members of objects) and `CONTENT_TYPES`. Each row has the first revision that knows it (``since``)
and the last one (``until``). At import they are compiled into one lookup per revision, so that a request
pays one attribute access, and code elsewhere asks a question by its name (``version.features.batching``)
instead of comparing dates. An unknown version string is never "newer": it is unknown.

Pure: no thread, socket or clock. The rows are checked against the official schemas by tests/spec.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Sender = Literal["client", "server"]


class ProtocolVersion(enum.Enum):
    """A revision of the specification; the value is what stands on the wire."""

    V2024_11_05 = "2024-11-05"
    V2025_03_26 = "2025-03-26"
    V2025_06_18 = "2025-06-18"
    V2025_11_25 = "2025-11-25"
    V2026_07_28 = "2026-07-28"

    # Filled in at the end of this module, from the tables.
    features: Features
    """What this revision allows and asks for, by name."""
    client_requests: Mapping[str, Method]
    """Requests that a client may put on the wire."""
    client_notifications: Mapping[str, Method]
    """Notifications that a client may put on the wire."""
    absent_fields: Mapping[str, tuple[str, ...]]
    """For each object of `FIELDS`, the members that this revision does not have; usually ()."""
    absent_content: frozenset[str]
    """Content block types that this revision does not have."""

    def __str__(self) -> str:
        return str(self.value)


_V2024_11_05 = ProtocolVersion.V2024_11_05
_V2025_03_26 = ProtocolVersion.V2025_03_26
_V2025_06_18 = ProtocolVersion.V2025_06_18
_V2025_11_25 = ProtocolVersion.V2025_11_25
_V2026_07_28 = ProtocolVersion.V2026_07_28

# The only place where revisions are compared; everybody else asks a table.
_ORDER = {version: place for place, version in enumerate(ProtocolVersion)}

#: The newest revision with a handshake: what `initialize` falls back to.
LATEST_LEGACY = _V2025_11_25
#: The newest revision.
LATEST = _V2026_07_28


class Span(NamedTuple):
    """The revisions from ``since`` up to and including ``until`` (None: no end yet)."""

    since: ProtocolVersion
    until: ProtocolVersion | None = None

    def covers(self, version: ProtocolVersion) -> bool:
        return _ORDER[self.since] <= _ORDER[version] and (
            not self.until or _ORDER[version] <= _ORDER[self.until]
        )


@dataclass(frozen=True, slots=True)
class Features:
    """One flag for each behaviour that not all revisions share. The rows are in `FEATURES`."""

    handshake: bool
    """``initialize`` opens a connection whose version, capabilities and log level then hold for it."""
    per_request_meta: bool
    """Version, capabilities and log level stand in each request's ``_meta``."""
    server_requests: bool
    """The server may send requests to the client while it serves one."""
    input_required: bool
    """A result may ask for input, and the client retries with it (MRTR)."""
    batching: bool
    """An array of messages is answered with an array."""
    result_type: bool
    """Every result carries ``resultType``."""
    cache_hints: bool
    """Lists, reads and discovery carry ``ttlMs`` and ``cacheScope``."""
    server_info_meta: bool
    """Every result carries ``serverInfo`` in its ``_meta``."""
    listen: bool
    """Change notifications flow only on streams opened by ``subscriptions/listen``."""
    progress_message: bool
    """``notifications/progress`` may have a ``message``."""
    completions_capability: bool
    """Completion is declared as a capability."""
    structured_content: bool
    """A tool result may carry a JSON object in ``structuredContent``."""
    structured_any: bool
    """``structuredContent`` and ``outputSchema`` may be of any JSON type."""
    elicitation: bool
    """The server may ask the user by a form."""
    url_elicitation: bool
    """The server may send the user to a URL."""
    elicitation_id: bool
    """A URL elicitation has an id, and its completion is announced by a notification."""
    elicitation_choices: bool
    """Forms have multi-select fields, titled choices, and defaults other than booleans."""
    url_elicitation_error: bool
    """-32042 tells the client to visit a URL first."""
    sampling_tools: bool
    """Sampling may offer tools to the model, and content may be an array."""
    tool_input_errors: bool
    """Bad tool arguments are a result with ``isError``, which the model sees, and no protocol error."""
    resource_not_found_code: bool
    """A missing resource is -32002; elsewhere it is -32602."""
    optional_error_id: bool
    """An error response to an unreadable request leaves ``id`` out; elsewhere it is null."""
    meta_second_label: bool
    """A ``_meta`` prefix is reserved by its second label alone."""
    priming_event: bool
    """An event stream begins with an id and no data, and may be left and resumed at any time."""


#: Spec: 2025-03-26..2026-07-28 changelog
FEATURES: Mapping[str, Span] = {
    "handshake": Span(_V2024_11_05, _V2025_11_25),
    "per_request_meta": Span(_V2026_07_28),
    "server_requests": Span(_V2024_11_05, _V2025_11_25),
    "input_required": Span(_V2026_07_28),
    "batching": Span(_V2025_03_26, _V2025_03_26),
    "result_type": Span(_V2026_07_28),
    "cache_hints": Span(_V2026_07_28),
    "server_info_meta": Span(_V2026_07_28),
    "listen": Span(_V2026_07_28),
    "progress_message": Span(_V2025_03_26),
    "completions_capability": Span(_V2025_03_26),
    "structured_content": Span(_V2025_06_18),
    "structured_any": Span(_V2026_07_28),
    "elicitation": Span(_V2025_06_18),
    "url_elicitation": Span(_V2025_11_25),
    "elicitation_id": Span(_V2025_11_25, _V2025_11_25),
    "elicitation_choices": Span(_V2025_11_25),
    "url_elicitation_error": Span(_V2025_11_25, _V2025_11_25),
    "sampling_tools": Span(_V2025_11_25),
    "tool_input_errors": Span(_V2025_11_25),
    "resource_not_found_code": Span(_V2024_11_05, _V2025_11_25),
    "optional_error_id": Span(_V2025_11_25),
    "meta_second_label": Span(_V2025_11_25),
    "priming_event": Span(_V2025_11_25, _V2025_11_25),
}


class Method(NamedTuple):
    """One message of the protocol."""

    name: str
    sender: Sender | Literal["both"]
    kind: Literal["request", "notification"]
    span: Span
    capability: str | None = None
    """The receiver's capability that it stands behind (``resources.subscribe``: a member that is true)."""
    embedded_since: ProtocolVersion | None = None
    """From here on it is carried inside ``inputRequests`` only; on the wire it is an error."""


_ALL = Span(_V2024_11_05)
_LEGACY = Span(_V2024_11_05, _V2025_11_25)
_MODERN = Span(_V2026_07_28)

#: Spec: 2024-11-05..2026-07-28 schema
METHODS: tuple[Method, ...] = (
    Method("initialize", "client", "request", _LEGACY),
    Method("ping", "both", "request", _LEGACY),
    Method("server/discover", "client", "request", _MODERN),
    Method("tools/list", "client", "request", _ALL, "tools"),
    Method("tools/call", "client", "request", _ALL, "tools"),
    Method("resources/list", "client", "request", _ALL, "resources"),
    Method("resources/templates/list", "client", "request", _ALL, "resources"),
    Method("resources/read", "client", "request", _ALL, "resources"),
    Method("resources/subscribe", "client", "request", _LEGACY, "resources.subscribe"),
    Method("resources/unsubscribe", "client", "request", _LEGACY, "resources.subscribe"),
    Method("prompts/list", "client", "request", _ALL, "prompts"),
    Method("prompts/get", "client", "request", _ALL, "prompts"),
    Method("completion/complete", "client", "request", _ALL, "completions"),
    Method("logging/setLevel", "client", "request", _LEGACY, "logging"),
    Method("subscriptions/listen", "client", "request", _MODERN),
    Method("sampling/createMessage", "server", "request", _ALL, "sampling", _V2026_07_28),
    Method("elicitation/create", "server", "request", Span(_V2025_06_18), "elicitation", _V2026_07_28),
    Method("roots/list", "server", "request", _ALL, "roots", _V2026_07_28),
    Method("tasks/get", "both", "request", Span(_V2025_11_25, _V2025_11_25), "tasks"),
    Method("tasks/result", "both", "request", Span(_V2025_11_25, _V2025_11_25), "tasks"),
    Method("tasks/cancel", "both", "request", Span(_V2025_11_25, _V2025_11_25), "tasks.cancel"),
    Method("tasks/list", "both", "request", Span(_V2025_11_25, _V2025_11_25), "tasks.list"),
    Method("notifications/initialized", "client", "notification", _LEGACY),
    Method("notifications/cancelled", "both", "notification", _ALL),
    Method("notifications/progress", "server", "notification", _ALL),
    Method("notifications/progress", "client", "notification", _LEGACY),
    Method("notifications/roots/list_changed", "client", "notification", _LEGACY),
    Method("notifications/message", "server", "notification", _ALL, "logging"),
    Method("notifications/tools/list_changed", "server", "notification", _ALL, "tools.listChanged"),
    Method("notifications/prompts/list_changed", "server", "notification", _ALL, "prompts.listChanged"),
    Method("notifications/resources/list_changed", "server", "notification", _ALL, "resources.listChanged"),
    Method("notifications/resources/updated", "server", "notification", _ALL, "resources.subscribe"),
    Method("notifications/subscriptions/acknowledged", "server", "notification", _MODERN),
    Method("notifications/elicitation/complete", "server", "notification", Span(_V2025_11_25, _V2025_11_25)),
    Method("notifications/tasks/status", "both", "notification", Span(_V2025_11_25, _V2025_11_25)),
)

#: Members that came or went with a revision, by the schema's name of the object that has them.
#: Spec: 2024-11-05..2026-07-28 schema
FIELDS: Mapping[str, Mapping[str, Span]] = {
    "Implementation": {
        "title": Span(_V2025_06_18),
        "icons": Span(_V2025_11_25),
        "websiteUrl": Span(_V2025_11_25),
        "description": Span(_V2025_11_25),
    },
    "ServerCapabilities": {
        "completions": Span(_V2025_03_26),
        "tasks": Span(_V2025_11_25, _V2025_11_25),
        "extensions": Span(_V2026_07_28),
    },
    "Tool": {
        "annotations": Span(_V2025_03_26),
        "title": Span(_V2025_06_18),
        "outputSchema": Span(_V2025_06_18),
        "_meta": Span(_V2025_06_18),
        "icons": Span(_V2025_11_25),
        "execution": Span(_V2025_11_25, _V2025_11_25),
    },
    "Prompt": {"title": Span(_V2025_06_18), "_meta": Span(_V2025_06_18), "icons": Span(_V2025_11_25)},
    "PromptArgument": {"title": Span(_V2025_06_18)},
    "Resource": {"title": Span(_V2025_06_18), "_meta": Span(_V2025_06_18), "icons": Span(_V2025_11_25)},
    "ResourceTemplate": {
        "title": Span(_V2025_06_18),
        "_meta": Span(_V2025_06_18),
        "icons": Span(_V2025_11_25),
    },
    "ResourceContents": {"_meta": Span(_V2025_06_18)},
    "TextContent": {"_meta": Span(_V2025_06_18)},
    "ImageContent": {"_meta": Span(_V2025_06_18)},
    "AudioContent": {"_meta": Span(_V2025_06_18)},
    "EmbeddedResource": {"_meta": Span(_V2025_06_18)},
    "ResourceLink": {"icons": Span(_V2025_11_25)},
    "Annotations": {"lastModified": Span(_V2025_06_18)},
    "CallToolResult": {"structuredContent": Span(_V2025_06_18)},
}

#: Content block types, by their ``type``, with the schema's name and the revisions that have them.
CONTENT_TYPES: Mapping[str, tuple[str, Span]] = {
    "text": ("TextContent", _ALL),
    "image": ("ImageContent", _ALL),
    "audio": ("AudioContent", Span(_V2025_03_26)),
    "resource_link": ("ResourceLink", Span(_V2025_06_18)),
    "resource": ("EmbeddedResource", _ALL),
}


def _compile(version: ProtocolVersion) -> None:
    version.features = Features(**{name: span.covers(version) for name, span in FEATURES.items()})
    requests: dict[str, Method] = {}
    notifications: dict[str, Method] = {}
    for method in METHODS:
        if method.sender != "server" and method.span.covers(version):
            (requests if method.kind == "request" else notifications)[method.name] = method
    version.client_requests = requests
    version.client_notifications = notifications
    version.absent_fields = {
        kind: tuple(field for field, span in fields.items() if not span.covers(version))
        for kind, fields in FIELDS.items()
    }
    version.absent_content = frozenset(
        name for name, (_, span) in CONTENT_TYPES.items() if not span.covers(version)
    )


for _version in ProtocolVersion:
    _compile(_version)

_BY_NAME: Mapping[str, ProtocolVersion] = {version.value: version for version in ProtocolVersion}

#: What a request's ``_meta`` may name. A client that reads this list sends one of them per request, so
#: revisions that need a handshake are not on it; conformance/notes.rst has the reason.
MODERN_VERSIONS: tuple[str, ...] = tuple(v.value for v in ProtocolVersion if v.features.per_request_meta)


def parse_version(text: str) -> ProtocolVersion | None:
    """The revision of this name; None if there is none."""
    return _BY_NAME.get(text)


def is_modern(version: ProtocolVersion) -> bool:
    """Whether requests of this revision carry their own metadata.

    Spec: 2026-07-28 basic/versioning#terminology
    """
    return version.features.per_request_meta


def negotiate(requested: str) -> ProtocolVersion:
    """What `initialize` answers: the requested revision if it has a handshake, else the newest that has one.

    Spec: 2024-11-05..2025-11-25 basic/lifecycle#version-negotiation MUST return a supported version as it is,
    else another one that the server supports
    """
    version = _BY_NAME.get(requested)
    return version if version is not None and version.features.handshake else LATEST_LEGACY
