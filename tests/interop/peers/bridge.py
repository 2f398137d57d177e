"""A client that lives in a Node process, for the checks: operations go to it as lines of JSON, and come back so.

To the client: `{"id", "do", "with"}` is an operation, `{"answer", "result"}` answers a question. From it: `{"id",
"result" | "error" | "failed"}` ends an operation, `{"progress", "params"}` belongs to one, `{"ask", "kind",
"params"}` is a question, `{"told", "params"}` a notification. The end of its input ends the client. bridge.mjs is
the other side.
"""

import contextlib
import json
import os
from pathlib import Path

import anyio
import checks  # noqa: F401  registers them
import harness
from anyio.streams.text import TextReceiveStream

HERE = Path(__file__).parent
CLOSE_SECONDS = 8


def connector(program):
    """`connect` for a program beside this one."""
    command = [os.environ["INTEROP_NODE"], "--import", str(HERE / "packages.mjs"), str(HERE / program)]

    @contextlib.asynccontextmanager
    async def connect(target, revision, handlers, *, probe):
        async with (
            await anyio.open_process(command, stderr=None) as process,
            anyio.create_task_group() as group,
        ):
            bridge = Bridge(process, handlers)
            group.start_soon(bridge.read)
            try:
                opened = await bridge.do(
                    "open",
                    kind=target.kind,
                    command=target.command,
                    url=target.url,
                    revision=revision,
                    probe=probe,
                    logLevel=handlers.log_level,
                    answers=[kind for kind in ("elicit", "sample", "roots") if getattr(handlers, kind)],
                )
                yield Session(bridge, opened)
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS):
                    await process.stdin.aclose()
                    await process.wait()
                if process.returncode is None:
                    process.kill()
                group.cancel_scope.cancel()

    return connect


class Bridge:
    """Our end: who waits for what, and the handlers that answer."""

    def __init__(self, process, handlers):
        self._process, self._handlers = process, handlers
        self._last = 0
        self._waiting = {}

    async def _send(self, **message):
        await self._process.stdin.send((json.dumps(message) + "\n").encode())

    async def do(self, operation, *, on_progress=None, **arguments):
        """Have the client do something, and wait for how it ends."""
        self._last += 1
        number, waiter = self._last, Waiter(on_progress)
        self._waiting[number] = waiter
        await self._send(
            id=number, do=operation, **{"with": {**arguments, "progress": on_progress is not None}}
        )
        return await waiter.result()

    async def read(self):
        rest = ""
        try:
            async for text in TextReceiveStream(self._process.stdout):
                *lines, rest = (rest + text).split("\n")
                for line in lines:
                    await self._take(json.loads(line))
        finally:
            for waiter in self._waiting.values():
                waiter.end({"failed": "the client's process has ended"})

    async def _take(self, message):
        if "ask" in message:
            await self._send(answer=message["ask"], result=self._reply(message["kind"], message["params"]))
        elif "told" in message:
            if message["told"] == "notifications/message":
                self._handlers.logs.append(message["params"])
            self._handlers.notifications.append((message["told"], message["params"]))
        elif "progress" in message:
            params = message["params"]
            report = self._waiting[message["progress"]].on_progress
            await report(params["progress"], params.get("total"), params.get("message"))
        else:
            self._waiting[message["id"]].end(message)

    def _reply(self, kind, params):
        self._handlers.asked.append(params)
        match kind:
            case "elicit":
                return self._handlers.elicit(params)
            case "sample":
                text = {"type": "text", "text": self._handlers.sample(params)}
                return {"role": "assistant", "content": text, "model": "none"}
            case "roots":
                return {"roots": [{"uri": uri} for uri in self._handlers.roots()]}


class Waiter:
    """Where an operation's end arrives."""

    def __init__(self, on_progress):
        self.on_progress = on_progress
        self._ended = anyio.Event()
        self._message = None

    def end(self, message):
        if not self._ended.is_set():
            self._message = message
            self._ended.set()

    async def result(self):
        await self._ended.wait()
        match self._message:
            case {"error": error}:
                raise harness.PeerSaid(error["code"], error["message"], error.get("data"))
            case {"failed": text}:
                raise harness.Failed(text)
        return self._message.get("result")


class Session:
    """What the checks use of a connection."""

    def __init__(self, bridge, opened):
        self._bridge = bridge
        self.revision = opened["revision"]
        self.server_info = opened.get("serverInfo")
        self.capabilities = opened.get("capabilities")
        self.instructions = opened.get("instructions")

    async def ping(self):
        await self._bridge.do("ping")

    async def list_tools(self):
        return await self._bridge.do("listTools")

    async def call(self, name, arguments, on_progress=None):
        return await self._bridge.do("callTool", name=name, arguments=arguments, on_progress=on_progress)

    async def list_resources(self):
        return await self._bridge.do("listResources")

    async def list_templates(self):
        return await self._bridge.do("listResourceTemplates")

    async def read(self, uri):
        return await self._bridge.do("readResource", uri=uri)

    async def list_prompts(self):
        return await self._bridge.do("listPrompts")

    async def get_prompt(self, name, arguments):
        return await self._bridge.do("getPrompt", name=name, arguments=arguments)

    async def complete(self, ref, name, value):
        return await self._bridge.do("complete", ref=ref, argument={"name": name, "value": value})

    async def call_and_abandon(self, name, arguments):
        """Start a call and abort it by its signal once its handler runs; the client sends the cancellation."""
        running = anyio.Event()

        async def on_progress(done, total, message):
            running.set()

        async def call():
            with contextlib.suppress(harness.Failed, harness.PeerSaid):  # aborted, as asked for
                await self._bridge.do("callTool", name=name, arguments=arguments, on_progress=on_progress)

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            with anyio.fail_after(5):
                await running.wait()
            await self._bridge.do("abandon")

    @contextlib.asynccontextmanager
    async def listening(self, *, tools=False, resources=()):
        """Be told of changes for the length of the block, by whatever way the revision has."""
        await self._bridge.do("listen", tools=tools, resources=list(resources))
        yield
        await self._bridge.do("unlisten", resources=list(resources))
