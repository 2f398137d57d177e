"""Every message a client receives, held against the official schema of its revision.

One conversation per revision goes through everything a server can send: each kind of result, of error, of
notification and of question. Needs ``MCP_SPEC_DIR``; without it the tests are skipped and say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import ValidationError
from jsonschema.validators import validator_for

from mcpref import (
    Completion,
    Content,
    Elicit,
    ElicitUrl,
    McpServer,
    ProtocolVersion,
    RequestContext,
    Roots,
    Sample,
    Settings,
    ToolError,
    content,
)
from mcpref.cancellation import Deadline
from mcpref.content import hints
from mcpref.errors import UrlElicitationRequired
from mcpref.meta import MetaKey
from tests.server.support import EVERYTHING, MODERN, PATIENCE, VERSIONS
from tests.spec import official

from .wire import Wire

#: The result of each method, by the schema's name; those that may ask for input have a second one.
RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "server/discover": "DiscoverResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
    "logging/setLevel": "EmptyResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
MESSAGES = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "sampling/createMessage": "CreateMessageRequest",
    "elicitation/create": "ElicitRequest",
    "roots/list": "ListRootsRequest",
}
ICON = {"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
DATED = hints(audience=["user", "assistant"], priority=0.5, last_modified="2026-01-01T00:00:00Z")
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "x"},
        "model": "m",
    },
    "elicitation/create": {"action": "accept", "content": {"choice": "red"}},
    "roots/list": {"roots": [{"uri": "file:///home"}]},
}


def everything_server() -> McpServer:
    server = McpServer(
        "everything",
        version="1.0",
        title="Everything",
        description="One of each",
        website_url="https://example.com",
        icons=[ICON],
        instructions="Try all of it.",
        resource_subscriptions=True,
        extensions={"com.example/x": {"k": 1}},
        settings=Settings(page_size=4),
    )

    @server.tool(title="Data", icons=[ICON], annotations={"readOnlyHint": True}, meta={"com.example/k": 1})
    def data(n: int = 1, words: list[str] | None = None) -> dict[str, Any]:
        """Structured data."""
        return {"n": n, "words": words}

    @server.tool
    def numbers() -> list[int]:
        return [1, 2, 3]

    @server.tool
    def blocks() -> list[Content]:
        return [
            content.text("t", annotations=DATED, meta={"com.example/k": 1}),
            content.image(b"i", "image/png"),
            content.audio(b"a", "audio/wav"),
            content.link("note://a", "A", title="T", description="D", mime_type="text/plain", size=1),
            content.embedded("note://a", "text", annotations=DATED),
            content.embedded("note://b", b"\x00", mime_type="image/png"),
        ]

    @server.tool
    def fail(how: str) -> str:
        if how == "tool":
            raise ToolError("no")
        if how == "url":
            entry = {"mode": "url", "message": "Go", "url": "https://example.com", "elicitationId": "e"}
            raise UrlElicitationRequired([entry])
        raise RuntimeError("crash")

    @server.tool
    def work(ctx: RequestContext) -> str:
        ctx.report_progress(1, 2, "half")
        ctx.report_progress(1.5)
        ctx.log("warning", {"k": [1]}, "logger")
        ctx.log("error")
        return "done"

    @server.tool
    def ask(ctx: RequestContext, kind: str) -> str:
        match kind:
            case "choice":
                return ctx.ask("choice", Elicit("Which?", ["red", "blue"])).action
            case "url":
                return ctx.ask("url", ElicitUrl("Go", "https://example.com")).action
            case "sample":
                return ctx.ask("sample", Sample("Hi", max_tokens=5, temperature=0.5)).text
        return str(len(ctx.ask("roots", Roots())))

    @server.resource("note://a", title="A", icons=[ICON], mime_type="text/plain", size=4, annotations=DATED)
    def note() -> str:
        """A note."""
        return "text"

    @server.resource("blob://{name}", title="B", annotations=DATED, meta={"com.example/k": 1})
    def blob(name: str) -> bytes:
        return name.encode()

    @server.prompt(title="P", icons=[ICON])
    def prompt(subject: str, tone: str = "kind") -> list[Any]:
        """A prompt.

        Args:
            subject: About what.
        """
        return [content.user(subject), content.assistant(content.image(b"i", "image/png"))]

    @server.completion(prompt, "tone")
    def tones(value: str) -> Completion:
        return Completion(["kind"] * 3, total=200, has_more=True)

    return server


class CheckedWire(Wire):
    """A wire on which every line that arrives is held against the schema."""

    def __init__(self, server: McpServer, version: str, schema: official.Schema) -> None:
        self.schema = schema
        self.methods: dict[object, str] = {}
        self.seen: set[str] = set()
        super().__init__(server, version, capabilities=EVERYTHING)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: object = None,
        capabilities: Mapping[str, Any] | None = EVERYTHING,
    ) -> Any:
        """The answer; questions that come before it are answered, notifications passed over."""
        number = id or f"r{len(self.methods)}"
        self.methods[number] = method
        message = super().request(method, params, id=number, capabilities=capabilities)
        while "method" in message:
            if "id" in message:
                answer = {"jsonrpc": "2.0", "id": message["id"], "result": ANSWERS[message["method"]]}
                self.send(answer)
            message = self.receive()
        return message

    def receive(self) -> Any:
        message = super().receive()
        self.check(message)
        return message

    def check(self, message: Any) -> None:
        """One message: its envelope, and what is in it."""
        if "method" in message:
            self.validate("JSONRPCRequest" if "id" in message else "JSONRPCNotification", message)
            self.validate(MESSAGES[message["method"]], message)
        elif "result" in message:
            self.validate(self.defined("JSONRPCResultResponse", "JSONRPCResponse"), message)
            name = RESULTS[self.methods[message["id"]]]
            asks = message["result"].get("resultType") == "input_required"
            self.validate("InputRequiredResult" if asks else name, message["result"])
        else:
            self.validate(self.defined("JSONRPCErrorResponse", "JSONRPCError"), message)

    def defined(self, *names: str) -> str:
        return next(name for name in names if name in self.schema.definitions)

    def validate(self, name: str, value: Any) -> None:
        rooted = self.schema.rooted(name)
        validator_for(rooted)(rooted).validate(value)
        self.seen.add(name)


@pytest.fixture(params=VERSIONS)
def schema(request: pytest.FixtureRequest) -> official.Schema:
    root = official.spec_dir()
    if root is None:
        pytest.skip(official.HOW_TO_GET)
    return official.load_schemas(root)[ProtocolVersion(request.param)]


def converse(wire: CheckedWire, server: McpServer) -> None:
    """Everything that can be said in this revision."""
    modern = wire.version == MODERN
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        cursor = None
        while True:
            page = wire.request(method, {} if cursor is None else {"cursor": cursor})["result"]
            cursor = page.get("nextCursor")
            if cursor is None:
                break
    wire.request("server/discover" if modern else "ping")
    for uri in ("note://a", "blob://x"):
        assert "result" in wire.request("resources/read", {"uri": uri})
    assert "result" in wire.request("prompts/get", {"name": "prompt", "arguments": {"subject": "x"}})
    assert "result" in wire.request(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "prompt"}, "argument": {"name": "tone", "value": ""}},
    )
    fields = {"progressToken": "t", **({MetaKey.LOG_LEVEL: "debug"} if modern else {})}
    for name, arguments in (
        ("data", {"n": 2}),
        ("numbers", {}),
        ("blocks", {}),
        ("work", {}),
        ("data", {"n": "x"}),
        ("fail", {"how": "tool"}),
        ("fail", {"how": "crash"}),
        ("fail", {"how": "url"}),
        ("missing", {}),
    ):
        wire.request("tools/call", {"name": name, "arguments": arguments, "_meta": fields})
    for kind in ("choice", "url", "sample", "roots"):
        wire.request("tools/call", {"name": "ask", "arguments": {"kind": kind}})
    wire.request("no/such/method")
    wire.request("resources/read", {"uri": "none://x"})
    if wire.schema.version.features.optional_error_id:
        # Older schemas ask for an id even here, where JSON-RPC says null: no answer could fit both.
        wire.send(b"no json")
        assert wire.receive()["error"]["code"] == -32700
    if modern:
        wire.request("tools/call", {"name": "ask", "arguments": {"kind": "roots"}}, capabilities={})
        wire.request("tools/list", {"_meta": {MetaKey.PROTOCOL_VERSION: "1999-01-01"}})


def announce(wire: CheckedWire, server: McpServer) -> None:
    """Every kind of change."""
    if wire.version == MODERN:
        wanted = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": ["note://a"],
        }
        wire.methods["stream"] = "subscriptions/listen"
        Wire.request(wire, "subscriptions/listen", {"notifications": wanted}, id="stream")
    else:
        wire.request("resources/subscribe", {"uri": "note://a"})
        wire.request("logging/setLevel", {"level": "debug"})
    server.notify_resource_updated("note://a")
    server.notify_list_changed("tools")
    server.notify_list_changed("prompts")
    server.notify_list_changed("resources")
    for _ in range(4):
        wire.receive()
    if wire.version != MODERN:
        wire.request("resources/unsubscribe", {"uri": "note://a"})


@pytest.mark.req(
    "2025-11-25:schema.messages-valid",
    "2025-11-25:schema.ts-authoritative",
    "2025-11-25:jsonrpc.conform",
    "2025-11-25:jsonrpc.version-member",
    "2025-11-25:jsonrpc.result-present",
    "2025-11-25:jsonrpc.result-xor-error",
    "jsonrpc.error-shape",
    "jsonrpc.error-code-integer",
    "jsonrpc.notification-no-id",
    "2026-07-28:jsonrpc.v2-format",
    "2026-07-28:jsonrpc.result-member",
    "2026-07-28:schema.ts-source-of-truth",
    "2026-07-28:schema.server-notifications",
    "2026-07-28:schema.content-blocks",
    "2026-07-28:schema.input-required-result",
    "2026-07-28:mrtr.input-requests-map",
    "2026-07-28:tools.result-content",
)
def test_every_message_is_what_the_schema_says(schema: official.Schema) -> None:
    server = everything_server()
    version = schema.version.value
    with CheckedWire(server, version, schema) as wire:
        converse(wire, server)
        announce(wire, server)
        if version == MODERN:
            # The end of the server ends the stream, with a cancellation and a result.
            wire.connection.shut_down(Deadline(PATIENCE))
            assert wire.receive()["method"] == "notifications/cancelled"
            assert wire.receive()["id"] == "stream"
    modern = version == MODERN
    legacy_only = {"initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"}
    expected = {
        name
        for method, name in RESULTS.items()
        if (
            method not in legacy_only if modern else method not in ("server/discover", "subscriptions/listen")
        )
    }
    expected |= {
        name
        for method, name in MESSAGES.items()
        if name in schema.definitions
        and not (modern and method.split("/")[0] in ("sampling", "elicitation", "roots"))
        and (modern or method not in ("notifications/cancelled", "notifications/subscriptions/acknowledged"))
    }
    missing = expected - wire.seen
    assert not missing, f"nothing of these kinds was sent: {sorted(missing)}"
    assert ("InputRequiredResult" in wire.seen) == modern


@pytest.mark.req("2025-11-25:schema.messages-valid")
def test_the_check_itself_finds_a_wrong_message(schema: official.Schema) -> None:
    """A checker that accepts anything would pass for a good one."""
    with CheckedWire(everything_server(), schema.version.value, schema) as wire:
        wire.methods["x"] = "tools/list"
        for wrong in (
            {"jsonrpc": "2.0", "id": "x", "result": {"tools": [{"name": 5, "inputSchema": {}}]}},
            {"jsonrpc": "1.0", "id": "x", "result": {"tools": []}},
            {"jsonrpc": "2.0", "id": "x", "error": {"code": "x", "message": "m"}},
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}},
        ):
            with pytest.raises(ValidationError):
                wire.check(wrong)
