"""Constructing and configuring a server."""

from typing import assert_type

from mcpref import CacheHint, McpServer, ServerMode, Settings

settings = Settings(
    max_message=1024 * 1024,
    workers=16,
    max_in_flight=32,
    max_streams=8,
    page_size=None,
    state_ttl=300,
    state_limit=16_384,
    shutdown_grace=2.5,
)
server = McpServer(
    "configured",
    version="1.0",
    title="Configured",
    description="Every option",
    website_url="https://example.com",
    icons=[{"src": "https://example.com/icon.png"}],
    instructions="Search first.",
    mode=ServerMode.STATEFUL,
    secret=["new secret, long enough to use", b"old secret, long enough to keep"],
    logging=False,
    resource_subscriptions=True,
    require_initialized=True,
    extensions={"com.example/ext": {"level": 2}},
    settings=settings,
    debug=False,
)
server.set_list_cache_hint("tools/list", CacheHint(ttl_ms=60_000, scope="public"))
server.require_initialized()
server.enable_resource_subscriptions()
server.notify_list_changed("tools")

assert_type(server.mode, ServerMode)
assert_type(server.settings.workers, int)
assert_type(server.settings.page_size, int | None)
