"""Builders for the content that tools and prompts return.

::

    from mcpref import content

    return [content.text("Here it is:"), content.image(png_bytes, "image/png")]

A builder returns a `Content`: a plain dict in the wire's own shape, of a class of its own, so that a tool's
return value is never in doubt: a `Content` is content, any other dict is structured data.

Spec: 2026-07-28 server/tools#tool-result
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Role = Literal["user", "assistant"]

# RFC: 6838 4.2 a type and a subtype; parameters may follow
_MIME_TYPE = re.compile(r"[A-Za-z0-9][\w!#$&^.+-]*/[A-Za-z0-9][\w!#$&^.+-]*(?:[ \t]*;.*)?", re.ASCII)


class Content(dict[str, Any]):
    """One content block."""

    __slots__ = ()


class PromptMessage(dict[str, Any]):
    """One message of a prompt: a role and a content block."""

    __slots__ = ()


class ResourceContents(dict[str, Any]):
    """What ``resources/read`` returns for one resource."""

    __slots__ = ()


def hints(
    *,
    audience: Sequence[Role] | None = None,
    priority: float | None = None,
    last_modified: str | None = None,
) -> dict[str, Any]:
    """Hints on who a piece of content is for and how much it matters.

    Spec: 2026-07-28 server/resources#annotations
    """
    result: dict[str, Any] = {}
    if audience is not None:
        if any(role not in ("user", "assistant") for role in audience):
            raise ValueError(f"audience may hold 'user' and 'assistant' only, not {list(audience)!r}")
        result["audience"] = list(audience)
    if priority is not None:
        if not 0 <= priority <= 1:
            raise ValueError(f"priority must be from 0 to 1, not {priority!r}")
        result["priority"] = priority
    if last_modified is not None:
        result["lastModified"] = last_modified
    return result


def text(
    text: str, *, annotations: Mapping[str, Any] | None = None, meta: Mapping[str, Any] | None = None
) -> Content:
    """A piece of text."""
    return _block({"type": "text", "text": text}, annotations, meta)


def image(
    data: bytes | str,
    mime_type: str,
    *,
    annotations: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Content:
    """A picture: its bytes, or a string that is base64 already."""
    return _media("image", data, mime_type, annotations, meta)


def audio(
    data: bytes | str,
    mime_type: str,
    *,
    annotations: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Content:
    """A sound: its bytes, or a string that is base64 already. Since 2025-03-26."""
    return _media("audio", data, mime_type, annotations, meta)


def link(
    uri: str,
    name: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    size: int | None = None,
    annotations: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Content:
    """A link to a resource that the client may read. Since 2025-06-18; earlier it is sent as text."""
    _check_uri(uri)
    block: dict[str, Any] = {"type": "resource_link", "uri": uri, "name": name or uri}
    for key, value in (
        ("title", title),
        ("description", description),
        ("mimeType", mime_type),
        ("size", size),
    ):
        if value is not None:
            block[key] = value
    return _block(block, annotations, meta)


def embedded(
    uri: str,
    data: bytes | str,
    *,
    mime_type: str | None = None,
    annotations: Mapping[str, Any] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> Content:
    """A whole resource: text as `str`, anything else as `bytes`.

    Spec: 2026-07-28 server/prompts#embedded-resources MUST have a valid URI, a MIME type, and text or blob
    """
    _check_uri(uri)
    return _block({"type": "resource", "resource": contents(uri, data, mime_type)}, annotations, meta)


def contents(uri: str, data: bytes | str, mime_type: str | None = None) -> ResourceContents:
    """What ``resources/read`` returns for one resource.

    Spec: 2026-07-28 server/resources#resource-contents text only for what is text, else base64
    """
    if isinstance(data, str):
        return ResourceContents(uri=uri, mimeType=mime_type or _guess(uri, "text/plain"), text=data)
    return ResourceContents(
        uri=uri,
        mimeType=mime_type or _guess(uri, "application/octet-stream"),
        blob=base64.b64encode(data).decode("ascii"),
    )


def user(block: str | Content) -> PromptMessage:
    """A prompt message that speaks for the user."""
    return PromptMessage(role="user", content=text(block) if isinstance(block, str) else block)


def assistant(block: str | Content) -> PromptMessage:
    """A prompt message that speaks for the model."""
    return PromptMessage(role="assistant", content=text(block) if isinstance(block, str) else block)


def _block(
    block: dict[str, Any], annotations: Mapping[str, Any] | None, meta: Mapping[str, Any] | None
) -> Content:
    result = Content(block)
    if annotations:
        result["annotations"] = dict(annotations)
    if meta:
        result["_meta"] = dict(meta)
    return result


def _media(
    kind: str,
    data: bytes | str,
    mime_type: str,
    annotations: Mapping[str, Any] | None,
    meta: Mapping[str, Any] | None,
) -> Content:
    # Spec: 2026-07-28 server/prompts#image-content MUST be base64 with a valid MIME type
    if not _MIME_TYPE.fullmatch(mime_type):
        raise ValueError(f"{mime_type!r} is not a MIME type such as '{kind}/png'")
    if isinstance(data, str):
        try:
            base64.b64decode(data, validate=True)
        except ValueError:
            raise ValueError(
                f"{kind} data given as str must be base64; give bytes to have it encoded"
            ) from None
        encoded = data
    else:
        encoded = base64.b64encode(data).decode("ascii")
    return _block({"type": kind, "data": encoded, "mimeType": mime_type}, annotations, meta)


def _check_uri(uri: str) -> None:
    from .uri_template import is_valid_uri  # here, because its grammar is slow to compile

    if not is_valid_uri(uri):
        raise ValueError(f"{uri[:200]!r} is not a URI: it needs a scheme, as in 'file:///notes.txt'")


def _guess(uri: str, fallback: str) -> str:
    import mimetypes  # here, because few servers need it and it is slow to load

    # By the last segment alone: what the module makes of a whole URI differs between versions of Python.
    name = uri.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return mimetypes.guess_type(name)[0] or fallback
