"""`mcpref.content`: builders of content blocks, prompt messages and resource contents."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref import content
from mcpref.content import Content, PromptMessage, ResourceContents

PNG = b"\x89PNG\r\n\x1a\n\x00\xff"
ENCODED = base64.b64encode(PNG).decode()

BLOCKS = [
    pytest.param(content.text("hi"), {"type": "text", "text": "hi"}, id="text"),
    pytest.param(content.text(""), {"type": "text", "text": ""}, id="empty-text"),
    pytest.param(
        content.image(PNG, "image/png"),
        {"type": "image", "data": ENCODED, "mimeType": "image/png"},
        id="image",
    ),
    pytest.param(
        content.image(ENCODED, "image/png"),
        {"type": "image", "data": ENCODED, "mimeType": "image/png"},
        id="image-already-base64",
    ),
    pytest.param(
        content.audio(b"", "audio/wav"), {"type": "audio", "data": "", "mimeType": "audio/wav"}, id="audio"
    ),
    pytest.param(
        content.link("file:///a.txt"),
        {"type": "resource_link", "uri": "file:///a.txt", "name": "file:///a.txt"},
        id="link",
    ),
    pytest.param(
        content.link("file:///a", "a", title="A", description="An a", mime_type="text/plain", size=0),
        {
            "type": "resource_link",
            "uri": "file:///a",
            "name": "a",
            "title": "A",
            "description": "An a",
            "mimeType": "text/plain",
            "size": 0,
        },
        id="whole-link",
    ),
    pytest.param(
        content.embedded("note://a", "text", mime_type="text/markdown"),
        {"type": "resource", "resource": {"uri": "note://a", "mimeType": "text/markdown", "text": "text"}},
        id="embedded-text",
    ),
    pytest.param(
        content.embedded("file:///a.png", PNG),
        {"type": "resource", "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": ENCODED}},
        id="embedded-bytes",
    ),
]


@pytest.mark.req(
    "2026-07-28:schema.content-blocks", "2025-11-25:schema.base64-data", "2025-11-25:schema.mime-required"
)
@pytest.mark.parametrize(("block", "expected"), BLOCKS)
def test_blocks_in_the_wires_shape(block: Content, expected: dict[str, Any]) -> None:
    assert block == expected
    assert type(block) is Content
    assert json.loads(json.dumps(block)) == expected


@pytest.mark.parametrize(
    "block",
    [
        content.text("t", annotations={"priority": 1}, meta={"com.example/k": 1}),
        content.image(b"", "image/png", annotations={"priority": 1}, meta={"com.example/k": 1}),
        content.audio(b"", "audio/wav", annotations={"priority": 1}, meta={"com.example/k": 1}),
        content.link("file:///a", annotations={"priority": 1}, meta={"com.example/k": 1}),
        content.embedded("file:///a", "", annotations={"priority": 1}, meta={"com.example/k": 1}),
    ],
    ids=lambda block: block["type"],
)
@pytest.mark.req("2025-11-25:prompts.content-annotations")
def test_every_block_may_have_annotations_and_meta(block: Content) -> None:
    assert block["annotations"] == {"priority": 1}
    assert block["_meta"] == {"com.example/k": 1}


def test_a_blocks_annotations_are_a_copy() -> None:
    annotations = {"priority": 1}
    block = content.text("t", annotations=annotations)
    annotations["priority"] = 0
    assert block["annotations"] == {"priority": 1}


def test_a_block_is_told_from_structured_data_by_its_class() -> None:
    plain: dict[str, Any] = {"type": "text", "text": "hi"}
    assert content.text("hi") == plain
    assert not isinstance(plain, Content)


# ---- Media -----------------------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:prompts.image-encoding", "2026-07-28:prompts.image-base64")
@pytest.mark.req("2025-11-25:prompts.audio-encoding", "2026-07-28:prompts.audio-base64")
@pytest.mark.parametrize("build", [content.image, content.audio])
@pytest.mark.parametrize(
    "mime", ["", "png", "image", "image/", "/png", "image/p ng", "image /png", "a/b/c", "a/b\n"]
)
def test_media_need_a_mime_type(build: Any, mime: str) -> None:
    with pytest.raises(ValueError, match="is not a MIME type"):
        build(b"", mime)


@pytest.mark.parametrize(
    "mime",
    [
        "image/png",
        "image/svg+xml",
        "application/vnd.api+json",
        "audio/ogg; codecs=opus",
        "audio/wav;rate=8000",
    ],
)
def test_mime_types_with_their_parameters_are_kept(mime: str) -> None:
    assert content.image(b"", mime)["mimeType"] == mime


@pytest.mark.req("2025-11-25:prompts.image-encoding", "2026-07-28:prompts.image-base64")
@pytest.mark.req("2025-11-25:prompts.audio-encoding", "2026-07-28:prompts.audio-base64")
@pytest.mark.parametrize("build", [content.image, content.audio])
@pytest.mark.parametrize("data", ["not base64!", "YQ", "YQ=", "Y Q==", "YQ==\n", "é", "-_-_", "="])
def test_text_that_is_no_base64_is_refused(build: Any, data: str) -> None:
    with pytest.raises(ValueError, match="give bytes"):
        build(data, "image/png")


@given(st.binary(max_size=100))
def test_bytes_come_back_from_an_image(data: bytes) -> None:
    assert base64.b64decode(content.image(data, "image/png")["data"], validate=True) == data


# ---- Resources -------------------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:prompts.embedded-uri", "2026-07-28:prompts.embedded-fields")
@pytest.mark.parametrize("uri", ["", "a.txt", "/a.txt", "file", "://a", "1a:b", "file:///a b", "file:///a\n"])
def test_a_uri_needs_a_scheme(uri: str) -> None:
    with pytest.raises(ValueError, match="not a URI"):
        content.link(uri)
    with pytest.raises(ValueError, match="not a URI"):
        content.embedded(uri, "text")


@pytest.mark.req(
    "2025-11-25:prompts.embedded-mime",
    "2025-11-25:prompts.embedded-content",
    "2026-07-28:prompts.embedded-fields",
)
@pytest.mark.parametrize("data", ["text", "", b"bytes", b""], ids=repr)
def test_an_embedded_resource_has_a_mime_type_and_text_or_blob(data: bytes | str) -> None:
    resource = content.embedded("custom:thing", data)["resource"]
    assert resource["uri"] == "custom:thing"
    assert resource["mimeType"]
    assert ("text" in resource, "blob" in resource) == (isinstance(data, str), isinstance(data, bytes))


@pytest.mark.req(
    "resources.binary-encoding",
    "2026-07-28:resources.contents-text-or-blob",
    "2025-11-25:resources.text-only-text",
    "2026-07-28:resources.text-only-if-text",
)
@pytest.mark.parametrize(
    ("uri", "data", "mime_type", "expected"),
    [
        ("note://a", "é", None, {"mimeType": "text/plain", "text": "é"}),
        ("file:///a.html", "<p>", None, {"mimeType": "text/html", "text": "<p>"}),
        ("file:///a.html", "<p>", "text/x-other", {"mimeType": "text/x-other", "text": "<p>"}),
        ("note://a", b"\xff", None, {"mimeType": "application/octet-stream", "blob": "/w=="}),
        ("file:///a.png", b"", None, {"mimeType": "image/png", "blob": ""}),
    ],
)
def test_contents_are_text_or_base64(
    uri: str, data: bytes | str, mime_type: str | None, expected: dict[str, Any]
) -> None:
    made = content.contents(uri, data, mime_type)
    assert made == {"uri": uri, **expected}
    assert type(made) is ResourceContents


# ---- Prompts and hints -----------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:prompts.role", "2026-07-28:prompts.message-role")
@pytest.mark.parametrize(("build", "role"), [(content.user, "user"), (content.assistant, "assistant")])
def test_prompt_messages(build: Any, role: str) -> None:
    assert build("hi") == {"role": role, "content": {"type": "text", "text": "hi"}}
    image = content.image(b"", "image/png")
    assert build(image) == {"role": role, "content": image}
    assert type(build("hi")) is PromptMessage


@pytest.mark.req("resources.annotations-audience", "resources.annotations-priority")
def test_hints() -> None:
    assert content.hints() == {}
    assert content.hints(audience=("user",), priority=0) == {"audience": ["user"], "priority": 0}
    assert content.hints(priority=1.0, last_modified="2025-01-12T15:00:58Z") == {
        "priority": 1.0,
        "lastModified": "2025-01-12T15:00:58Z",
    }


@pytest.mark.req("resources.annotations-audience")
@pytest.mark.parametrize("audience", [["system"], ["user", ""], "user", [None]], ids=repr)
def test_an_audience_is_of_the_two_roles(audience: Any) -> None:
    with pytest.raises(ValueError, match="audience"):
        content.hints(audience=audience)


@pytest.mark.req("resources.annotations-priority")
@pytest.mark.parametrize("priority", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_priority_is_from_0_to_1(priority: float) -> None:
    with pytest.raises(ValueError, match="priority"):
        content.hints(priority=priority)
