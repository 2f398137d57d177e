"""``_meta``: the keys that are reserved, the grammar of all others, and a view over a request's own.

A key is ``[prefix/]name``. Whoever attaches keys of their own gets them checked by `check_user_meta`; what
arrives is read through `RequestMeta`, which takes nothing for granted. Whether a request may be served with
what its ``_meta`` says is decided elsewhere; so is what goes into a result's ``_meta``.

Spec: 2025-06-18..2026-07-28 basic/index#meta
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .versions import ProtocolVersion, is_modern


class MetaKey:
    """The keys that the specification itself defines, as they stand on the wire.

    Spec: 2026-07-28 basic/index#meta
    """

    PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
    CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
    CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
    LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
    SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
    SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
    PROGRESS_TOKEN: Final = "progressToken"
    TRACEPARENT: Final = "traceparent"
    TRACESTATE: Final = "tracestate"
    BAGGAGE: Final = "baggage"
    # Spec: 2025-11-25 basic/utilities/tasks#related-task-metadata
    RELATED_TASK: Final = "io.modelcontextprotocol/related-task"


# Linear on any input: the separators cannot occur inside of a label, so each label is backed off from once.
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")

_RESERVED_LABELS = frozenset({"modelcontextprotocol", "mcp"})


def is_valid_meta_key(key: str) -> bool:
    """Whether ``key`` is well-formed. The name may be empty if there is a prefix (``com.example/``).

    Spec: 2025-06-18..2026-07-28 basic/index#meta MUST have a prefix of dot-separated labels, if any, and a
    name that begins and ends with a letter or digit, unless empty
    """
    prefix, slash, name = key.rpartition("/")
    if slash and not _PREFIX.fullmatch(prefix):
        return False
    return bool(_NAME.fullmatch(name)) if name else bool(slash)


def is_reserved_meta_prefix(key: str, version: ProtocolVersion | None = None) -> bool:
    """Whether the key's prefix belongs to MCP; without a version, by the newest rule.

    Spec: 2025-11-25..2026-07-28 basic/index#meta reserved if the second label is one of MCP's
    Spec: 2025-06-18 basic/index#meta reserved if a label of MCP's is followed by any other
    """
    labels = key.rpartition("/")[0].split(".")
    if version is None or version.features.meta_second_label:
        return len(labels) > 1 and labels[1] in _RESERVED_LABELS
    return not _RESERVED_LABELS.isdisjoint(labels[:-1])


def is_allowed_user_meta_key(key: str, version: ProtocolVersion | None = None) -> bool:
    """Whether ``key`` is well-formed and free for anybody's own use on this revision."""
    return _user_key_problem(key, version) is None


def check_user_meta(meta: Mapping[str, object], version: ProtocolVersion | None = None) -> None:
    """Refuse a key that may not be attached; the `ValueError` names it and says why.

    The three keys of a trace context are set aside for that one use, so they pass if their values are what
    the W3C formats ask for.

    Spec: 2026-07-28 basic/index#meta MUST follow W3C Trace Context and W3C Baggage
    """
    for key, value in meta.items():
        if key in _TRACE_CONTEXT and _reserves_trace_context(version):
            if not _TRACE_CONTEXT[key](value):
                raise ValueError(
                    f"_meta key {key!r} is reserved for trace context, and its value is not in the W3C format"
                )
        elif (problem := _user_key_problem(key, version)) is not None:
            raise ValueError(f"_meta key {key[:200]!r} {problem}")


def check_extension_id(identifier: str) -> None:
    """Refuse an extension identifier that is no ``_meta`` key, or has no prefix, by a `ValueError`.

    Spec: 2026-07-28 basic/versioning#extension-negotiation MUST follow the ``_meta`` key rules, with a prefix
    """
    if not is_valid_meta_key(identifier):
        raise ValueError(f"extension identifier {identifier[:200]!r} {_MALFORMED}")
    if "/" not in identifier:
        raise ValueError(
            f"extension identifier {identifier[:200]!r} needs a prefix of your own, as in 'com.example/name'"
        )


_MALFORMED = (
    "is malformed: it must be [prefix/]name; the prefix is labels of letters, digits and hyphens joined by "
    "dots, the name has letters, digits, '-', '_' and '.' and begins and ends with a letter or digit"
)


def _user_key_problem(key: str, version: ProtocolVersion | None) -> str | None:
    if not is_valid_meta_key(key):
        return _MALFORMED
    if is_reserved_meta_prefix(key, version):
        return "has a prefix that is reserved for MCP; use one of your own, as in 'com.example/name'"
    if key == MetaKey.PROGRESS_TOKEN:
        return "is reserved for MCP; progress is asked for by the call's own option"
    if key in _TRACE_CONTEXT and _reserves_trace_context(version):
        return "is reserved for the propagation of trace context"
    return None


def _reserves_trace_context(version: ProtocolVersion | None) -> bool:
    return version is None or is_modern(version)


# W3C Trace Context. Later versions of traceparent may append fields; version ff and ids of zeros are invalid.
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?P<more>-.*)?"
)
# The key of Trace Context 2, which takes in all keys of Trace Context 1.
_TRACESTATE_MEMBER = re.compile(r"([a-z0-9][a-z0-9_*/@-]{0,255})=[ -+\--<>-~]{0,255}[!-+\--<>-~]")
_TRACESTATE_MEMBERS = 32

# W3C Baggage.
_BAGGAGE_MEMBERS = 180
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAGGAGE_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]*")


def is_traceparent(value: object) -> bool:
    """Whether ``value`` is a W3C ``traceparent``."""
    match = _TRACEPARENT.fullmatch(value) if isinstance(value, str) else None
    return match is not None and (match["more"] is None or not match[0].startswith("00"))


def is_tracestate(value: object) -> bool:
    """Whether ``value`` is a W3C ``tracestate``: at most 32 members, which may be empty, and no key twice."""
    if not isinstance(value, str):
        return False
    members = [member.strip(" \t") for member in value.split(",")]
    keys = set()
    for member in members:
        match = _TRACESTATE_MEMBER.fullmatch(member)
        if member and (match is None or match[1] in keys):
            return False
        if match is not None:
            keys.add(match[1])
    return len(members) <= _TRACESTATE_MEMBERS


def is_baggage(value: object) -> bool:
    """Whether ``value`` is a W3C ``baggage``: ``key=value`` members, each with properties after ``;``."""
    if not isinstance(value, str):
        return False
    members = value.split(",")
    return len(members) <= _BAGGAGE_MEMBERS and all(map(_is_baggage_member, members))


def _is_baggage_member(member: str) -> bool:
    entry, *properties = member.split(";")
    return "=" in entry and all(map(_is_baggage_pair, (entry, *properties)))


def _is_baggage_pair(pair: str) -> bool:
    key, _, value = pair.partition("=")
    return bool(_TOKEN.fullmatch(key.strip(" \t")) and _BAGGAGE_VALUE.fullmatch(value.strip(" \t")))


_TRACE_CONTEXT: Mapping[str, Callable[[object], bool]] = {
    MetaKey.TRACEPARENT: is_traceparent,
    MetaKey.TRACESTATE: is_tracestate,
    MetaKey.BAGGAGE: is_baggage,
}


@dataclass(slots=True)
class RequestMeta:
    """What a request says about itself in ``params._meta``; None where it says nothing usable.

    Spec: 2026-07-28 basic/index#meta MUST NOT make assumptions about values at reserved keys
    """

    protocol_version: str | None = None
    """As sent: it may be a revision that nobody knows."""
    client_info: dict[str, Any] | None = None
    client_capabilities: dict[str, Any] | None = None
    log_level: str | None = None
    """As sent: it may be no level at all."""
    progress_token: str | int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    """The whole object, empty if there was none. A key that is in here but None above had a wrong type."""

    @classmethod
    def from_params(cls, params: object) -> RequestMeta:
        """Read a request's ``_meta``. Never raises: a value of the wrong type counts as absent."""
        raw = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(raw, dict) or not raw:
            return cls()
        get = raw.get
        version = get(MetaKey.PROTOCOL_VERSION)
        info = get(MetaKey.CLIENT_INFO)
        capabilities = get(MetaKey.CLIENT_CAPABILITIES)
        level = get(MetaKey.LOG_LEVEL)
        token = get(MetaKey.PROGRESS_TOKEN)
        return cls(
            version if isinstance(version, str) else None,
            info if isinstance(info, dict) else None,
            capabilities if isinstance(capabilities, dict) else None,
            level if isinstance(level, str) else None,
            # The schema's number is an integer, which a bool is to Python alone.
            token if isinstance(token, str) or type(token) is int else None,
            raw,
        )
