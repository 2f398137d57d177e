"""The one place that finishes a result: what every result of a revision must carry, and what it must not.

Methods build results as the newest revision has them. Here a modern result gets its ``resultType``,
``serverInfo`` and cache hints, and a legacy one loses the members and content types that its revision does
not know. For the revision that most clients speak there is nothing to take off, and nothing is copied.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..caching import CACHEABLE_METHODS, CacheHint
from ..errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    RESOURCE_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    ProtocolError,
)
from ..meta import MetaKey
from ..versions import CONTENT_TYPES, ProtocolVersion


def finish(
    result: dict[str, Any],
    method: str,
    version: ProtocolVersion,
    server_info: Mapping[str, Any],
    hint: CacheHint,
) -> dict[str, Any]:
    """Complete a modern result; a legacy one is returned as it is.

    Spec: 2026-07-28 basic/index#resulttype MUST mark every result
    Spec: 2026-07-28 basic/index#meta SHOULD carry serverInfo
    Spec: 2026-07-28 server/utilities/caching#cacheable-results MUST carry hints when complete
    """
    features = version.features
    if features.result_type and "resultType" not in result:
        waiting = "content" not in result and ("inputRequests" in result or "requestState" in result)
        result["resultType"] = "input_required" if waiting else "complete"
    if features.server_info_meta:
        meta = result.get("_meta")
        result["_meta"] = (
            {MetaKey.SERVER_INFO: server_info} if meta is None else {MetaKey.SERVER_INFO: server_info, **meta}
        )
    if features.cache_hints and method in CACHEABLE_METHODS and result.get("resultType") == "complete":
        result.setdefault("ttlMs", max(0, hint.ttl_ms))
        result.setdefault("cacheScope", hint.scope)
    return result


def finish_error(error: ProtocolError, version: ProtocolVersion) -> ProtocolError:
    """An error that this revision may carry.

    Spec: 2026-07-28 basic/index#error-codes MUST NOT emit -32002 and -32042
    """
    if error.code == RESOURCE_NOT_FOUND and not version.features.resource_not_found_code:
        return ProtocolError(error.message, code=INVALID_PARAMS, data=error.data)
    if error.code == URL_ELICITATION_REQUIRED and not version.features.url_elicitation_error:
        return ProtocolError(
            f"this needs the user to visit a URL, which revision {version} cannot ask for by an error",
            code=INTERNAL_ERROR,
        )
    return error


def shape(kind: str, value: Mapping[str, Any], version: ProtocolVersion) -> Mapping[str, Any]:
    """An object of the schema without the members that this revision does not have."""
    absent = version.absent_fields[kind]
    if absent and any(name in value for name in absent):
        value = {name: member for name, member in value.items() if name not in absent}
    annotations = value.get("annotations")
    if annotations and kind != "Tool" and version.absent_fields["Annotations"]:
        value = {**value, "annotations": dict(shape("Annotations", annotations, version))}
    return value


def shape_content(block: Mapping[str, Any], version: ProtocolVersion) -> Mapping[str, Any]:
    """A content block as this revision can carry it.

    A type that came later is sent as the nearest thing there is: a sound as an embedded resource with the
    same bytes, a link as text.
    """
    kind = block["type"]
    if kind in version.absent_content:
        if kind == "audio":
            resource = {
                "uri": f"data:{block['mimeType']};base64,",
                "mimeType": block["mimeType"],
                "blob": block["data"],
            }
            return {"type": "resource", "resource": resource}
        return {
            "type": "text",
            "text": f"{block['name']}: {block['uri']}" if block["name"] != block["uri"] else block["uri"],
        }
    shaped = shape(CONTENT_TYPES[kind][0], block, version)
    if kind == "resource" and version.absent_fields["ResourceContents"]:
        shaped = {**shaped, "resource": shape("ResourceContents", block["resource"], version)}
    return shaped


def shape_blocks(blocks: list[Any], version: ProtocolVersion) -> list[Any]:
    """A list of content blocks; the list itself where the revision knows all there is."""
    if not needs_shaping(version):
        return blocks
    return [shape_content(block, version) for block in blocks]


def needs_shaping(version: ProtocolVersion) -> bool:
    """Whether content may have something that this revision lacks."""
    return bool(
        version.absent_content
        or version.absent_fields["TextContent"]
        or version.absent_fields["ResourceLink"]
    )
