"""``resources/read`` and what is behind it: fixed URIs, templates, bytes, and URIs that lead nowhere."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from mcpref import Auth, CacheHint, McpServer, RequestInfo, ResourceNotFound, content
from mcpref.content import hints

from .support import MODERN, VERSIONS, LocalContext, refusal, result


@pytest.fixture
def server() -> McpServer:
    server = McpServer("resources")

    @server.resource("config://app", mime_type="application/json", size=2)
    def config() -> str:
        """The configuration."""
        return "{}"

    @server.resource("logo://main.png")
    def logo() -> bytes:
        return b"\x89PNG\x00\xff"

    @server.resource("data://row")
    def row() -> dict[str, int]:
        return {"n": 1}

    @server.resource("dir://all")
    def several() -> list[Any]:
        return [content.contents("dir://a", "A"), content.contents("dir://b", b"B", "image/png")]

    @server.resource("user://{name}/profile", mime_type="text/plain")
    def profile(name: str, info: RequestInfo) -> str:
        """Who it is."""
        return f"{name} on {info.protocol_version}"

    @server.resource("order://{number}")
    def order(number: int) -> str:
        if number == 404:
            raise ResourceNotFound(f"order://{number}")
        return f"order {number + 1}"

    @server.resource("user://admin/profile")
    def admin() -> str:
        return "the admin"

    return server


def read(server: McpServer, uri: str, version: str = MODERN) -> dict[str, Any]:
    (contents,) = result(server, "resources/read", {"uri": uri}, version=version)["contents"]
    assert isinstance(contents, dict)
    return contents


@pytest.mark.req(
    "2025-11-25:resources.read",
    "2025-11-25:resources.text-only-text",
    "2026-07-28:resources.contents-text-or-blob",
    "2026-07-28:resources.text-only-if-text",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_text_is_read_as_text(server: McpServer, version: str) -> None:
    assert read(server, "config://app", version) == {
        "uri": "config://app",
        "mimeType": "application/json",
        "text": "{}",
    }


@pytest.mark.req(
    "resources.binary-encoding",
    "2025-11-25:schema.base64-data",
    "2026-07-28:resources.contents-text-or-blob",
    "2026-07-28:resources.text-only-if-text",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_bytes_are_read_as_base64(server: McpServer, version: str) -> None:
    found = read(server, "logo://main.png", version)
    assert "text" not in found
    assert base64.b64decode(found["blob"], validate=True) == b"\x89PNG\x00\xff"
    assert found["mimeType"] == "image/png"


def test_any_other_value_is_read_as_json(server: McpServer) -> None:
    found = read(server, "data://row")
    assert json.loads(found["text"]) == {"n": 1}
    assert found["mimeType"] == "application/json"


@pytest.mark.req("2026-07-28:resources.read-multiple")
def test_one_read_may_bring_several(server: McpServer) -> None:
    found = result(server, "resources/read", {"uri": "dir://all"})["contents"]
    assert [(entry["uri"], "text" in entry) for entry in found] == [("dir://a", True), ("dir://b", False)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("user://ann/profile", "ann on "),
        ("user://%C3%A9ric/profile", "éric on "),
        ("user://a%20b/profile", "a b on "),
        ("user://admin/profile", "the admin"),
        ("order://41", "order 42"),
    ],
)
def test_a_template_serves_all_its_uris(server: McpServer, version: str, uri: str, text: str) -> None:
    found = read(server, uri, version)
    assert found["uri"] == uri
    assert found["text"].startswith(text)


# ---- Lists ------------------------------------------------------------------------------------------------


@pytest.mark.req(
    "2026-07-28:resources.resource-fields",
    "2025-11-25:resources.templates",
    "2025-11-25:resources.list",
    "resources.template-mime",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_resources_and_templates_are_listed_apart(server: McpServer, version: str) -> None:
    resources = result(server, "resources/list", version=version)["resources"]
    assert [entry["uri"] for entry in resources] == [
        "config://app",
        "logo://main.png",
        "data://row",
        "dir://all",
        "user://admin/profile",
    ]
    assert resources[0] == {
        "uri": "config://app",
        "name": "config",
        "description": "The configuration.",
        "mimeType": "application/json",
        "size": 2,
    }
    templates = result(server, "resources/templates/list", version=version)["resourceTemplates"]
    assert [(entry["uriTemplate"], entry["name"]) for entry in templates] == [
        ("user://{name}/profile", "profile"),
        ("order://{number}", "order"),
    ]
    assert templates[0]["mimeType"] == "text/plain"
    assert "mimeType" not in templates[1]


@pytest.mark.req(
    "resources.annotations-audience", "resources.annotations-priority", "resources.annotations-last-modified"
)
def test_hints_are_held_to_their_values() -> None:
    server = McpServer("hints")
    given = hints(audience=["user", "assistant"], priority=1, last_modified="2026-01-31T12:00:00Z")
    server.resource("n://a", name="a", annotations=given)(lambda: "x")
    assert result(server, "resources/list")["resources"][0]["annotations"] == given
    for bad in ({"audience": ["robot"]}, {"priority": 1.1}, {"priority": -0.1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            hints(**bad)


# ---- What is not there ------------------------------------------------------------------------------------


@pytest.mark.req(
    "2025-11-25:resources.not-found",
    "2026-07-28:resources.not-found-32602",
    "2026-07-28:resources.no-empty-contents",
    "2026-07-28:errors.no-32002",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "uri", ["none://a", "config://app/", "CONFIG://other", "order://x", "order://404", "user://a/b/profile"]
)
def test_a_missing_resource_is_an_error_that_names_it(server: McpServer, version: str, uri: str) -> None:
    error = refusal(server, "resources/read", {"uri": uri}, version=version)
    assert error.code == (-32602 if version == MODERN else -32002)
    assert error.data == {"uri": uri}


@pytest.mark.req("2025-11-25:errors.invalid-params", "2026-07-28:errors.invalid-params-32602")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params",
    [{}, {"uri": 5}, {"uri": None}, {"uri": ""}, {"uri": "no scheme"}, {"uri": "a b://c"}, {"uri": "x://\n"}],
    ids=repr,
)
def test_what_is_no_uri_is_refused(server: McpServer, version: str, params: dict[str, Any]) -> None:
    assert refusal(server, "resources/read", params, version=version).code == -32602


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "..%2Fsecret",
        "%2e%2e/secret",
        "%2E%2E%2Fsecret",
        "..",
        "a/../../secret",
        "%2Fetc%2Fpasswd",
    ],
)
def test_a_variable_never_leaves_its_place(tmp_path: Path, version: str, path: str) -> None:
    """A plain variable stops at a slash, written or escaped: a path cannot be smuggled through one."""
    (tmp_path / "secret").write_text("secret")
    inside = tmp_path / "inside"
    inside.mkdir()
    server = McpServer("files")
    opened: list[str] = []

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        opened.append(name)
        return (inside / name).read_text()

    error = refusal(server, "resources/read", {"uri": f"notes://{path}"}, version=version)
    assert error.code in (-32602, -32002)
    assert opened == []


def test_a_file_by_name_is_read_where_it_is_meant_to_be(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    server = McpServer("files")

    @server.resource("notes://{name}")
    def note(name: str) -> str:
        return (tmp_path / name).read_text()

    assert read(server, "notes://a.txt")["text"] == "text"


@pytest.mark.req(
    "resources.access-control",
    "2025-11-25:resources.check-permissions",
    "2026-07-28:resources.permission-check",
    "2026-07-28:caching.access-controls",
    "2026-07-28:caching.scope-not-access-control",
)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_scope_that_was_not_granted_keeps_a_resource_shut(version: str) -> None:
    server = McpServer("guarded")
    shared = CacheHint(60_000, "public")
    server.resource("n://a", name="a", scopes=["read:a"], cache=shared)(lambda: "a")
    server.resource("m://{x}", name="m", scopes=["read:m"], cache=shared)(lambda x: x)
    ctx = LocalContext(version, auth=Auth("ann", frozenset({"read:a"})))
    assert result(server, "resources/read", {"uri": "n://a"}, version=version, ctx=ctx)["contents"]
    error = refusal(server, "resources/read", {"uri": "m://1"}, version=version, ctx=ctx)
    assert error.data == {"requiredScopes": ["read:m"]}


# ---- Cache hints ------------------------------------------------------------------------------------------


@pytest.mark.req(
    "2026-07-28:caching.hints-present",
    "2026-07-28:caching.scope-reflects-visibility",
    "2026-07-28:caching.public-awareness",
)
def test_a_resource_has_a_hint_of_its_own() -> None:
    server = McpServer("cached")
    server.resource("n://a", name="a", cache=CacheHint(60_000, "private"))(lambda: "a")
    server.resource("n://b", name="b")(lambda: "b")
    one, other = (result(server, "resources/read", {"uri": uri}) for uri in ("n://a", "n://b"))
    assert (one["ttlMs"], one["cacheScope"]) == (60_000, "private")
    # What nobody called public may depend on who reads it.
    assert (other["ttlMs"], other["cacheScope"]) == (0, "private")
    legacy = result(server, "resources/read", {"uri": "n://a"}, version="2025-11-25")
    assert "ttlMs" not in legacy


# ---- Registration -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["no-scheme", "", "1x://a", "a b://c", "x://{", "x://{a}{b}", "x://{a,a}"])
def test_a_bad_uri_is_refused_at_registration(uri: str) -> None:
    with pytest.raises(ValueError):
        McpServer("bad").resource(uri, name="x")(lambda a="", b="": "x")


def test_a_template_and_its_function_must_agree() -> None:
    server = McpServer("bad")
    with pytest.raises((TypeError, ValueError), match="city"):
        server.resource("w://{city}", name="w")(lambda town: town)
    with pytest.raises((TypeError, ValueError), match="town"):
        server.resource("w://{city}", name="w")(lambda city, town: town)
