"""FastMCP's client: `fastmcp.Client` in both eras.

It offers its newest legacy revision only; the older ones are reached by changing the constant it offers, the
rest of the client being what its users get. Its `*_mcp` methods return results as the wire has them.
"""

import contextlib
import warnings

import anyio
import checks  # noqa: F401  registers them
import harness
import mcp.client.session
import mcp_types as types
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from harness import MODERN
from mcp import MCPError
from mcp.shared.exceptions import MCPDeprecationWarning

# Logging, sampling and roots are deprecated in 2026-07-28, and there all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def callbacks(handlers):
    """FastMCP's handlers; a kind without an answer gets none, so that the client does not declare it."""

    async def on_elicit(message, response_type, params, context):
        handlers.asked.append(plain(params))
        return ElicitResult(**handlers.elicit(plain(params)))

    async def on_sample(messages, params, context):
        handlers.asked.append(plain(params))
        return handlers.sample(plain(params))

    async def on_log(params):
        handlers.logs.append(plain(params))

    async def on_message(message):
        if not isinstance(message, Exception):
            notification = plain(message)
            handlers.notifications.append((notification["method"], notification.get("params", {})))

    return {
        "elicitation_handler": on_elicit if handlers.elicit else None,
        "sampling_handler": on_sample if handlers.sample else None,
        "roots": handlers.roots() if handlers.roots else None,
        "log_handler": on_log,
        "message_handler": on_message,
    }


def transport(target):
    match target.kind:
        case "stdio":
            # By default the server process is kept for the next client.
            return StdioTransport(target.command[0], target.command[1:], keep_alive=False)
        case "http":
            return StreamableHttpTransport(target.url)
        case "sse":
            return SSETransport(target.url)


@contextlib.asynccontextmanager
async def connect(target, revision, handlers, *, probe):
    if revision == MODERN:
        mode = "auto" if probe else MODERN
    else:
        mode = "legacy"
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    async with Client(transport(target), mode=mode, timeout=10, **callbacks(handlers)) as client:
        if handlers.log_level:
            if mode != "legacy":
                raise harness.Cannot("ask for a log level on 2026-07-28: it always asks for debug")
            await client.set_logging_level(handlers.log_level)
        yield Session(client)


async def ask(awaitable):
    """A result in the wire's form, or the peer's error in ours."""
    try:
        return plain(await awaitable)
    except MCPError as error:
        raise harness.PeerSaid(error.code, error.message, error.data) from error


class Session:
    """What the checks use of a connection."""

    def __init__(self, client):
        self._client = client
        self.revision = client.protocol_version
        self.server_info = plain(client.server_info) if client.server_info else None
        self.capabilities = plain(client.server_capabilities)
        self.instructions = client.instructions

    async def ping(self):
        harness.expect(await self._client.ping(), "no pong")

    async def list_tools(self):
        return await ask(self._client.list_tools_mcp())

    async def call(self, name, arguments, on_progress=None):
        return await ask(self._client.call_tool_mcp(name, arguments, progress_handler=on_progress))

    async def list_resources(self):
        return await ask(self._client.list_resources_mcp())

    async def list_templates(self):
        return await ask(self._client.list_resource_templates_mcp())

    async def read(self, uri):
        return await ask(self._client.read_resource_mcp(uri))

    async def list_prompts(self):
        return await ask(self._client.list_prompts_mcp())

    async def get_prompt(self, name, arguments):
        return await ask(self._client.get_prompt_mcp(name, arguments))

    async def complete(self, ref, name, value):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await ask(self._client.complete_mcp(kind(**ref), {"name": name, "value": value}))

    async def call_and_abandon(self, name, arguments):
        """Start a call and give it up once its handler runs.

        Leaving the scope is all that an application does; the client itself sends the cancellation.
        """
        running = anyio.Event()

        async def on_progress(done, total, message):
            running.set()

        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, on_progress)
            with anyio.fail_after(5):
                await running.wait()
            group.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def listening(self, *, tools=False, resources=()):
        """Be told of changes for the length of the block: lists unasked, resources by subscription."""
        if self.revision == MODERN:
            raise harness.Cannot("listen: it has no method for subscriptions/listen")
        for uri in resources:
            await ask(self._client.session.subscribe_resource(uri))
        yield
        for uri in resources:
            await ask(self._client.session.unsubscribe_resource(uri))


if __name__ == "__main__":
    harness.main(connect)
