"""Resources under fixed URIs and under templates."""

from dataclasses import dataclass
from typing import assert_type

from mcpref import CacheHint, McpServer, RequestContext, ResourceNotFound, content

server = McpServer("files", version="1.0", resource_subscriptions=True)


@dataclass
class Config:
    debug: bool = False


@server.resource("config://app", title="Configuration", cache=CacheHint(60_000, "private"))
def config() -> Config:
    """Any value with a JSON form."""
    return Config()


@server.resource("logo://app", mime_type="image/png", size=4, annotations={"priority": 0.5})
def logo() -> bytes:
    """Bytes travel as base64."""
    return b"\x89PNG"


@server.resource("file:///{+path}", mime_type="text/plain", name="files", scopes=["files.read"])
def file(ctx: RequestContext, path: str) -> str:
    """A file's text."""
    if path.startswith("."):
        raise ResourceNotFound(f"file:///{path}")
    ctx.log("info", {"read": path})
    return f"the text of {path}"


@server.resource("folder://{name}")
def folder(name: str) -> list[content.ResourceContents]:
    """Several contents under one URI."""
    return [content.contents(f"folder://{name}/{part}", part) for part in ("a", "b")]


assert_type(config(), Config)
assert_type(logo(), bytes)
assert_type(folder("x"), list[content.ResourceContents])
server.notify_resource_updated("config://app")
server.remove_resource("logo://app")
