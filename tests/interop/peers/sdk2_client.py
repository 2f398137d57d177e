"""The official Python SDK's client, 2.x line: `Client` in both eras.

It offers its newest legacy revision only; the older ones are reached by changing the constant it offers, the
rest of the client being what its users get.
"""

import contextlib
import warnings

import anyio
import checks  # noqa: F401  registers them
import harness
import mcp.client.session
from harness import MODERN
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.shared.exceptions import MCPDeprecationWarning

# Logging, sampling and roots are deprecated in 2026-07-28, and there all the same.
warnings.simplefilter("ignore", MCPDeprecationWarning)


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def callbacks(handlers):
    """The SDK's callbacks; a kind without an answer gets none, so that the client does not declare it."""

    async def on_elicit(context, params):
        handlers.asked.append(plain(params))
        return types.ElicitResult(**handlers.elicit(plain(params)))

    async def on_sample(context, params):
        handlers.asked.append(plain(params))
        text = types.TextContent(type="text", text=handlers.sample(plain(params)))
        return types.CreateMessageResult(role="assistant", content=text, model="none")

    async def on_roots(context):
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in handlers.roots()])

    async def on_log(params):
        handlers.logs.append(plain(params))

    async def on_message(message):
        if not isinstance(message, Exception):
            notification = plain(message)
            handlers.notifications.append((notification["method"], notification.get("params", {})))

    return {
        "elicitation_callback": on_elicit if handlers.elicit else None,
        "sampling_callback": on_sample if handlers.sample else None,
        "list_roots_callback": on_roots if handlers.roots else None,
        "logging_callback": on_log,
        "message_handler": on_message,
        "log_level": handlers.log_level,
    }


def server(target):
    match target.kind:
        case "stdio":
            return StdioServerParameters(command=target.command[0], args=target.command[1:])
        case "http":
            return target.url
        case "sse":
            return sse_client(target.url)


@contextlib.asynccontextmanager
async def connect(target, revision, handlers, *, probe):
    if revision == MODERN:
        mode = "auto" if probe else MODERN
    else:
        mode = "legacy"
        mcp.client.session.LATEST_HANDSHAKE_VERSION = revision
    async with Client(server(target), mode=mode, read_timeout_seconds=10, **callbacks(handlers)) as client:
        if handlers.log_level and mode == "legacy":
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
        await ask(self._client.session.send_ping())

    async def list_tools(self):
        return await ask(self._client.list_tools())

    async def call(self, name, arguments, on_progress=None):
        return await ask(self._client.call_tool(name, arguments, progress_callback=on_progress))

    async def list_resources(self):
        return await ask(self._client.list_resources())

    async def list_templates(self):
        return await ask(self._client.list_resource_templates())

    async def read(self, uri):
        return await ask(self._client.read_resource(uri))

    async def list_prompts(self):
        return await ask(self._client.list_prompts())

    async def get_prompt(self, name, arguments):
        return await ask(self._client.get_prompt(name, arguments))

    async def complete(self, ref, name, value):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await ask(self._client.complete(kind(**ref), {"name": name, "value": value}))

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
        """Be told of changes for the length of the block, by whatever way the revision has."""
        if self.revision == MODERN:
            async with self._client.listen(tools_list_changed=tools, resource_subscriptions=resources):
                yield
            return
        for uri in resources:
            await ask(self._client.subscribe_resource(uri))
        yield
        for uri in resources:
            await ask(self._client.unsubscribe_resource(uri))


if __name__ == "__main__":
    harness.main(connect)
