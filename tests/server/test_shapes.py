"""What a revision does not know is not sent to a client that speaks it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, content
from mcpref.content import hints

from .support import MODERN, VERSIONS, call, result

ICON = {"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
META = {"com.example/k": 1}
DATED = hints(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z")


@pytest.fixture
def server() -> McpServer:
    server = McpServer(
        "shapes",
        version="1",
        title="Shapes",
        description="All of them",
        website_url="https://example.com",
        icons=[ICON],
        extensions={"com.example/x": {}},
    )

    @server.tool(title="T", icons=[ICON], meta=META, annotations={"readOnlyHint": True})
    def everything() -> dict[str, int]:
        return {"n": 1}

    @server.tool
    def blocks() -> list[content.Content]:
        return [
            content.text("t", annotations=DATED, meta=META),
            content.image(b"i", "image/png", meta=META),
            content.audio(b"a", "audio/wav", meta=META),
            content.link("note://a", "A", title="The A", annotations=DATED),
            content.embedded("note://a", "text", mime_type="text/plain", meta=META),
        ]

    @server.resource("note://a", title="A", icons=[ICON], meta=META, annotations=DATED, size=4)
    def note() -> str:
        return "text"

    @server.resource("note://{name}", title="N", icons=[ICON], meta=META, annotations=DATED)
    def named(name: str) -> str:
        return name

    @server.prompt(title="P", icons=[ICON], meta=META)
    def ask(subject: str) -> list[Any]:
        return [
            content.user(content.audio(b"a", "audio/wav")),
            content.assistant(content.link("note://a")),
            content.user("text"),
        ]

    return server


def since(version: str, first: str) -> bool:
    return version >= first


@pytest.mark.parity(24)
@pytest.mark.parametrize("version", [v for v in VERSIONS if v != MODERN])
def test_server_info_and_capabilities(server: McpServer, version: str) -> None:
    handshake = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t"}}
    answered = result(server, "initialize", handshake, version=version)
    info = answered["serverInfo"]
    assert ("title" in info) == since(version, "2025-06-18")
    for member in ("icons", "websiteUrl", "description"):
        assert (member in info) == since(version, "2025-11-25")
    assert "extensions" not in answered["capabilities"]


@pytest.mark.parity(24)
def test_the_newest_revision_has_all_of_it(server: McpServer) -> None:
    found = result(server, "server/discover")
    info = found["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert info == {
        "name": "shapes",
        "version": "1",
        "title": "Shapes",
        "description": "All of them",
        "websiteUrl": "https://example.com",
        "icons": [ICON],
    }
    assert found["capabilities"]["extensions"] == {"com.example/x": {}}


@pytest.mark.parity(24)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ],
)
def test_entries_of_the_lists(server: McpServer, method: str, kind: str, version: str) -> None:
    entry = result(server, method, version=version)[kind][0]
    assert ("title" in entry) == since(version, "2025-06-18")
    assert ("_meta" in entry) == since(version, "2025-06-18")
    assert ("icons" in entry) == since(version, "2025-11-25")
    if kind == "tools":
        assert ("annotations" in entry) == since(version, "2025-03-26")
        assert ("outputSchema" in entry) == since(version, "2025-06-18")
    elif kind != "prompts":
        assert entry["annotations"]["priority"] == 0.5
        assert ("lastModified" in entry["annotations"]) == since(version, "2025-06-18")
    if kind == "resources":
        assert entry["size"] == 4


@pytest.mark.parity(24)
@pytest.mark.req("2026-07-28:schema.content-blocks", "tools.resource-link", "2025-11-25:tools.embedded")
@pytest.mark.parametrize("version", VERSIONS)
def test_content_blocks(server: McpServer, version: str) -> None:
    text, image, audio, link, embedded = call(server, "blocks", version=version)["content"]
    newer = since(version, "2025-06-18")
    for block in (text, image, embedded):
        assert ("_meta" in block) == newer
    assert ("lastModified" in text["annotations"]) == newer
    assert text["annotations"]["audience"] == ["user"]
    if since(version, "2025-03-26"):
        assert (audio["type"], audio["data"], audio["mimeType"]) == ("audio", "YQ==", "audio/wav")
    else:
        assert audio["type"] == "resource"
        assert (audio["resource"]["blob"], audio["resource"]["mimeType"]) == ("YQ==", "audio/wav")
    if newer:
        assert (link["type"], link["uri"], link["name"]) == ("resource_link", "note://a", "A")
    else:
        assert link == {"type": "text", "text": "A: note://a"}
    assert embedded["resource"] == {"uri": "note://a", "mimeType": "text/plain", "text": "text"}


@pytest.mark.parity(24)
@pytest.mark.req("2025-11-25:prompts.content-types")
@pytest.mark.parametrize("version", VERSIONS)
def test_prompt_messages(server: McpServer, version: str) -> None:
    answered = result(server, "prompts/get", {"name": "ask", "arguments": {"subject": "x"}}, version=version)
    kinds = [message["content"]["type"] for message in answered["messages"]]
    assert kinds == [
        "audio" if since(version, "2025-03-26") else "resource",
        "resource_link" if since(version, "2025-06-18") else "text",
        "text",
    ]


@pytest.mark.parity(24)
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_the_newest_revision_is_on_an_older_result(server: McpServer, version: str) -> None:
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "everything"}),
        ("resources/read", {"uri": "note://a"}),
        ("prompts/get", {"name": "ask", "arguments": {"subject": "x"}}),
    ):
        found = result(server, method, params, version=version)
        modern = version == MODERN
        assert ("resultType" in found) == modern
        assert ("_meta" in found) == modern
        assert ("ttlMs" in found) == (modern and method != "tools/call" and method != "prompts/get")


@pytest.mark.req("2025-11-25:schema.icon-src", "2026-07-28:base.icon-src")
@pytest.mark.parametrize(
    "icon",
    [
        {},
        {"src": ""},
        {"src": 5},
        {"src": "javascript:alert(1)"},
        {"src": "file:///etc/passwd"},
        {"url": "x"},
    ],
    ids=repr,
)
def test_an_icon_needs_a_web_or_data_uri(icon: dict[str, Any]) -> None:
    server = McpServer("icons")
    with pytest.raises(ValueError, match="src"):
        server.tool(lambda: None, name="x", icons=[icon])
    with pytest.raises(ValueError, match="src"):
        McpServer("icons", icons=[icon])


def test_a_registered_entry_keeps_what_only_newer_clients_see(server: McpServer) -> None:
    """Serving an old client first takes nothing away from the next one."""
    result(server, "tools/list", version="2024-11-05")
    entry = result(server, "tools/list")["tools"][0]
    assert entry["icons"] == [ICON]
    assert entry["annotations"] == {"readOnlyHint": True}
