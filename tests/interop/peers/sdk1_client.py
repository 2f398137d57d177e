"""The official Python SDK's client, 1.x line: `ClientSession`, revisions up to 2025-11-25.

It offers its newest revision only; the older ones are reached by changing the constant it offers, the rest of
the client being what its users get.
"""

import contextlib
from datetime import timedelta

import anyio
import checks  # noqa: F401  registers them
import harness
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl


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
        if isinstance(message, types.ServerNotification):
            notification = plain(message)
            handlers.notifications.append((notification["method"], notification.get("params", {})))

    return {
        "elicitation_callback": on_elicit if handlers.elicit else None,
        "sampling_callback": on_sample if handlers.sample else None,
        "list_roots_callback": on_roots if handlers.roots else None,
        "logging_callback": on_log,
        "message_handler": on_message,
    }


def streams(target):
    match target.kind:
        case "stdio":
            return stdio_client(StdioServerParameters(command=target.command[0], args=target.command[1:]))
        case "http":
            return streamable_http_client(target.url)
        case "sse":
            return sse_client(target.url)


@contextlib.asynccontextmanager
async def connect(target, revision, handlers, *, probe):
    types.LATEST_PROTOCOL_VERSION = revision
    async with (
        streams(target) as (read, write, *_),
        ClientSession(
            read, write, read_timeout_seconds=timedelta(seconds=10), **callbacks(handlers)
        ) as session,
    ):
        opened = await session.initialize()
        if handlers.log_level:
            await session.set_logging_level(handlers.log_level)
        yield Session(session, opened, handlers)


async def ask(awaitable):
    """A result in the wire's form, or the peer's error in ours."""
    try:
        return plain(await awaitable)
    except McpError as error:
        raise harness.PeerSaid(error.error.code, error.error.message, error.error.data) from error


class Session:
    """What the checks use of a connection."""

    def __init__(self, session, opened, handlers):
        self._session = session
        self._handlers = handlers
        self.revision = opened.protocolVersion
        self.server_info = plain(opened.serverInfo)
        self.capabilities = plain(opened.capabilities)
        self.instructions = opened.instructions

    async def ping(self):
        await ask(self._session.send_ping())

    async def list_tools(self):
        return await ask(self._session.list_tools())

    async def call(self, name, arguments, on_progress=None):
        return await ask(self._session.call_tool(name, arguments, progress_callback=on_progress))

    async def list_resources(self):
        return await ask(self._session.list_resources())

    async def list_templates(self):
        return await ask(self._session.list_resource_templates())

    async def read(self, uri):
        return await ask(self._session.read_resource(AnyUrl(uri)))

    async def list_prompts(self):
        return await ask(self._session.list_prompts())

    async def get_prompt(self, name, arguments):
        return await ask(self._session.get_prompt(name, arguments))

    async def complete(self, ref, name, value):
        kind = types.PromptReference if ref["type"] == "ref/prompt" else types.ResourceTemplateReference
        return await ask(self._session.complete(kind(**ref), {"name": name, "value": value}))

    async def call_and_abandon(self, name, arguments):
        """Start a call and give it up once its handler runs.

        This line of the client sends no cancellation by itself, so the application does: the progress token
        is the request's id.
        """

        async def on_progress(done, total, message):
            pass

        def reports():
            return self._handlers.told("notifications/progress")

        async with anyio.create_task_group() as group:
            group.start_soon(self.call, name, arguments, on_progress)
            await harness.eventually(reports, "a sign of life from the handler")
            params = types.CancelledNotificationParams(
                requestId=reports()[0]["progressToken"], reason="abandoned"
            )
            await self._session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params))
            )
            group.cancel_scope.cancel()

    @contextlib.asynccontextmanager
    async def listening(self, *, tools=False, resources=()):
        """Be told of changes for the length of the block: lists unasked, resources by subscription."""
        for uri in resources:
            await ask(self._session.subscribe_resource(AnyUrl(uri)))
        yield
        for uri in resources:
            await ask(self._session.unsubscribe_resource(AnyUrl(uri)))


if __name__ == "__main__":
    harness.main(connect)
