"""`FIELDS`, `CONTENT_TYPES` and `FEATURES` against the five schemas, both ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import pytest

from mcpref.versions import CONTENT_TYPES, FEATURES, FIELDS, ProtocolVersion

from .official import Node, Schema, ref_name

Schemas: TypeAlias = Mapping[ProtocolVersion, Schema]

#: Members that a feature governs, because it stamps them on every result alike.
_STAMPED = {"resultType": "result_type", "ttlMs": "cache_hints", "cacheScope": "cache_hints"}


def _members(schema: Schema, name: str) -> set[str] | None:
    """The members of an object in one revision; None where there is no such object."""
    if name == "Annotations" and schema.version is ProtocolVersion.V2024_11_05:
        # It has no name of its own there.
        return set(schema.properties(schema.properties(schema.definitions["Annotated"])["annotations"]))
    if name not in schema.definitions:
        return None
    return set(schema.properties(schema.definitions[name]))


def _spans(schemas: Schemas, name: str) -> dict[str, set[ProtocolVersion]]:
    """For each member of an object, the revisions that have it."""
    found: dict[str, set[ProtocolVersion]] = {}
    for version, schema in schemas.items():
        for member in _members(schema, name) or ():
            found.setdefault(member, set()).add(version)
    return found


def _varying(schemas: Schemas, name: str) -> dict[str, set[ProtocolVersion]]:
    """Those members that some revisions of the object have and others do not."""
    homes = {version for version, schema in schemas.items() if _members(schema, name) is not None}
    return {member: span for member, span in _spans(schemas, name).items() if span != homes}


@pytest.mark.parametrize("name", FIELDS)
def test_a_member_that_comes_or_goes_has_a_row(name: str, schemas: Schemas) -> None:
    varying = _varying(schemas, name)
    for member, feature in _STAMPED.items():
        if member in varying:
            assert varying.pop(member) == {v for v in schemas if getattr(v.features, feature)}
    homes = {version for version, schema in schemas.items() if _members(schema, name) is not None}
    ours = {
        member: {version for version in homes if span.covers(version)}
        for member, span in FIELDS[name].items()
    }
    assert ours == varying


@pytest.mark.parametrize("contents", ["TextResourceContents", "BlobResourceContents"])
def test_resource_contents_stands_for_both_kinds(contents: str, schemas: Schemas) -> None:
    assert _varying(schemas, contents) == _varying(schemas, "ResourceContents")


def test_every_object_that_a_server_sends_is_listed(schemas: Schemas) -> None:
    """Whatever a result can hold and not all revisions share has rows, so that nothing newer slips out."""
    reachable = {name for schema in schemas.values() for name in _reachable(schema, "ServerResult")}
    listed = {*FIELDS, "InputRequests", "TextResourceContents", "BlobResourceContents"}
    unlisted = {
        name: sorted(varying)
        for name in reachable - listed
        if (varying := {m for m in _varying(schemas, name) if m not in _STAMPED})
    }
    assert unlisted == {}


def _reachable(schema: Schema, name: str) -> set[str]:
    # What the server asks for is not an answer: input requests have one shape, that of the newest revision.
    found = {"InputRequests"}
    todo = [name]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += _refs(schema.definitions[name])
    return found


def _refs(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield ref_name(node)
        for child in node.values():
            yield from _refs(child)
    elif isinstance(node, list):
        for child in node:
            yield from _refs(child)


def test_content_types(schema: Schema) -> None:
    content = schema.properties(schema.definitions["CallToolResult"])["content"]["items"]
    official = {
        schema.properties(block)["type"]["const"]: ref_name(block)
        for block in schema.resolve(content)["anyOf"]
    }
    ours = {
        type_name: name for type_name, (name, span) in CONTENT_TYPES.items() if span.covers(schema.version)
    }
    assert ours == official
    assert schema.version.absent_content == set(CONTENT_TYPES) - set(official)


def _has(path: str) -> Callable[[Schema], bool]:
    """Whether ``Definition`` or ``Definition.member.member`` is there."""
    head, *members = path.split(".")

    def look(schema: Schema) -> bool:
        if head not in schema.definitions:
            return False
        node: Node = schema.definitions[head]
        for member in members:
            found = schema.properties(node)
            if member not in found:
                return False
            node = found[member]
        return True

    return look


def _error_id_is_optional(schema: Schema) -> bool:
    name = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in schema.definitions else "JSONRPCError"
    return "id" not in schema.required(schema.definitions[name])


def _structured_is_any(schema: Schema) -> bool:
    member = schema.properties(schema.definitions["CallToolResult"]).get("structuredContent")
    return member is not None and "type" not in member


#: What in a schema shows that a revision has a feature. The rest is prose and not checked here.
_EVIDENCE: Mapping[str, Callable[[Schema], bool]] = {
    "handshake": _has("InitializeRequest"),
    "per_request_meta": _has("RequestMetaObject"),
    "server_requests": _has("ServerRequest"),
    "input_required": _has("InputRequiredResult"),
    "batching": _has("JSONRPCBatchRequest"),
    "result_type": _has("Result.resultType"),
    "cache_hints": _has("CacheableResult"),
    "server_info_meta": _has("ResultMetaObject"),
    "listen": _has("SubscriptionsListenRequest"),
    "progress_message": _has("ProgressNotification.params.message"),
    "completions_capability": _has("ServerCapabilities.completions"),
    "structured_content": _has("CallToolResult.structuredContent"),
    "structured_any": _structured_is_any,
    "elicitation": _has("ElicitRequest"),
    "url_elicitation": _has("ElicitRequestURLParams"),
    "elicitation_id": _has("ElicitRequestURLParams.elicitationId"),
    "elicitation_choices": _has("MultiSelectEnumSchema"),
    "url_elicitation_error": _has("URLElicitationRequiredError"),
    "sampling_tools": _has("ToolChoice"),
    "optional_error_id": _error_id_is_optional,
}


@pytest.mark.parametrize("feature", _EVIDENCE)
def test_a_feature_is_where_the_schema_shows_it(feature: str, schema: Schema) -> None:
    assert getattr(schema.version.features, feature) == _EVIDENCE[feature](schema)


def test_what_the_schemas_cannot_show() -> None:
    """These rest on prose alone; a new feature is put here or given evidence."""
    assert set(FEATURES) - set(_EVIDENCE) == {
        "tool_input_errors",
        "resource_not_found_code",
        "meta_second_label",
        "priming_event",
    }
