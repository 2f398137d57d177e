"""``prompts/get``: arguments are text, messages have a role and content."""

from __future__ import annotations

import base64
from enum import Enum
from typing import Any

import pytest

from mcpref import Auth, McpServer, RequestInfo, content
from mcpref.content import PromptMessage

from .support import MODERN, VERSIONS, LocalContext, refusal, result


class Tone(Enum):
    KIND = "kind"
    STERN = "stern"


@pytest.fixture
def server() -> McpServer:
    server = McpServer("prompts")

    @server.prompt(title="Review", description="Review some code.")
    def review(code: str, lines: int = 10, tone: Tone = Tone.KIND) -> str:
        """Not shown: a description was given.

        Args:
            code: What to look at.
        """
        return f"{tone.name} {lines} {code}"

    @server.prompt
    def talk(info: RequestInfo) -> list[PromptMessage]:
        """A conversation."""
        return [content.user("Hi"), content.assistant("Hello"), content.user(info.protocol_version.value)]

    @server.prompt
    def media() -> list[Any]:
        return [
            content.image(b"\x89PNG", "image/png"),
            content.user(content.audio(b"RIFF", "audio/wav")),
            content.user(content.embedded("note://a", "text", mime_type="text/markdown")),
            content.user(content.embedded("note://b", b"\x00\xff")),
        ]

    return server


def get(
    server: McpServer, name: str, arguments: dict[str, str] | None = None, version: str = MODERN
) -> dict[str, Any]:
    return result(server, "prompts/get", {"name": name, "arguments": arguments or {}}, version=version)


@pytest.mark.req("2025-11-25:prompts.list", "2026-07-28:prompts.list-answered")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_prompt_is_listed_with_its_arguments(server: McpServer, version: str) -> None:
    review, talk, media = result(server, "prompts/list", version=version)["prompts"]
    assert (review["name"], review["description"]) == ("review", "Review some code.")
    code, lines, tone = review["arguments"]
    assert (code["name"], code["description"], code["required"]) == ("code", "What to look at.", True)
    assert [(argument["name"], argument.get("required", False)) for argument in (lines, tone)] == [
        ("lines", False),
        ("tone", False),
    ]
    assert talk == {"name": "talk", "description": "A conversation."}
    assert "arguments" not in media


@pytest.mark.req(
    "2025-11-25:prompts.get",
    "2025-11-25:prompts.role",
    "2026-07-28:prompts.message-role",
    "prompts.args-strings",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_are_text_and_become_what_the_function_takes(server: McpServer, version: str) -> None:
    found = get(server, "review", {"code": "x = 1", "lines": "3", "tone": "stern"}, version)
    assert found["messages"] == [{"role": "user", "content": {"type": "text", "text": "STERN 3 x = 1"}}]
    assert found["description"] == "Review some code."
    talk = get(server, "talk", version=version)["messages"]
    assert [message["role"] for message in talk] == ["user", "assistant", "user"]
    assert talk[2]["content"]["text"] == version


@pytest.mark.req(
    "2025-11-25:prompts.image-encoding",
    "2025-11-25:prompts.audio-encoding",
    "2025-11-25:prompts.embedded-uri",
    "2025-11-25:prompts.embedded-mime",
    "2025-11-25:prompts.embedded-content",
    "2025-11-25:schema.mime-required",
    "2025-11-25:schema.base64-data",
    "2026-07-28:prompts.image-base64",
    "2026-07-28:prompts.audio-base64",
    "2026-07-28:prompts.embedded-fields",
)
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", MODERN])
def test_media_are_base64_with_their_type(server: McpServer, version: str) -> None:
    image, audio, text, blob = (
        message["content"] for message in get(server, "media", version=version)["messages"]
    )
    assert (base64.b64decode(image["data"], validate=True), image["mimeType"]) == (b"\x89PNG", "image/png")
    assert (base64.b64decode(audio["data"], validate=True), audio["mimeType"]) == (b"RIFF", "audio/wav")
    assert text["resource"] == {"uri": "note://a", "mimeType": "text/markdown", "text": "text"}
    assert base64.b64decode(blob["resource"]["blob"], validate=True) == b"\x00\xff"
    assert blob["resource"]["mimeType"] == "application/octet-stream"


@pytest.mark.req(
    "2025-11-25:prompts.image-encoding",
    "2025-11-25:prompts.audio-encoding",
    "2025-11-25:prompts.embedded-uri",
    "2026-07-28:prompts.image-base64",
    "2026-07-28:prompts.embedded-fields",
)
def test_what_no_client_could_show_is_refused_by_the_builders() -> None:
    with pytest.raises(ValueError, match="base64"):
        content.image("not base64!", "image/png")
    with pytest.raises(ValueError, match="MIME"):
        content.audio(b"x", "wav")
    with pytest.raises(ValueError, match="URI"):
        content.embedded("no scheme", "x")
    with pytest.raises(ValueError, match="URI"):
        content.link("no scheme")


@pytest.mark.req("2025-11-25:prompts.error-unknown", "2026-07-28:prompts.unknown-32602")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_unknown_prompt_is_refused(server: McpServer, version: str) -> None:
    error = refusal(server, "prompts/get", {"name": "missing"}, version=version)
    assert error.code == -32602
    assert "missing" in error.message


@pytest.mark.req(
    "2025-11-25:prompts.error-missing-args",
    "2026-07-28:prompts.missing-args-32602",
    "prompts.validate-args",
    "prompts.validate-io",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, "code"),
        ({"code": 5}, "code"),
        ({"code": None}, "code"),
        ({"code": ["x"]}, "code"),
        ({"code": "x", "lines": "many"}, "lines"),
        ({"code": "x", "lines": 3}, "lines"),
        ({"code": "x", "tone": "rude"}, "tone"),
        ({"code": "x", "extra": "y"}, "extra"),
    ],
    ids=repr,
)
def test_bad_arguments_are_refused_before_the_prompt_runs(
    server: McpServer, version: str, arguments: dict[str, Any], named: str
) -> None:
    error = refusal(server, "prompts/get", {"name": "review", "arguments": arguments}, version=version)
    assert error.code == -32602
    assert named in error.message


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params",
    [{}, {"name": 1}, {"name": "talk", "arguments": []}, {"name": "talk", "arguments": "x"}],
    ids=repr,
)
def test_malformed_params_are_refused(server: McpServer, version: str, params: dict[str, Any]) -> None:
    assert refusal(server, "prompts/get", params, version=version).code == -32602


@pytest.mark.req("prompts.validate-io")
@pytest.mark.parametrize(
    "hostile",
    ["{code}", "%s%s", "${jndi:x}", "\x00\x1b[2J", "</user><system>", "\u202e", '"}]}', "x" * 100_000],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_text_stays_text_in_its_own_message(server: McpServer, hostile: str) -> None:
    messages = get(server, "review", {"code": hostile})["messages"]
    assert len(messages) == 1
    assert messages[0] == {"role": "user", "content": {"type": "text", "text": f"KIND 10 {hostile}"}}


@pytest.mark.req("prompts.validate-io")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_scope_that_was_not_granted_keeps_a_prompt_shut(version: str) -> None:
    server = McpServer("guarded")
    server.prompt(lambda: "secret", name="p", scopes=["prompts"])
    ctx = LocalContext(version, auth=Auth("ann"))
    error = refusal(server, "prompts/get", {"name": "p"}, version=version, ctx=ctx)
    assert error.data == {"requiredScopes": ["prompts"]}


def test_a_prompt_that_returns_no_message_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    server = McpServer("odd")

    @server.prompt
    def odd() -> Any:
        return {"role": "user"}

    assert refusal(server, "prompts/get", {"name": "odd"}).code == -32603
    assert "content.user" in caplog.text
