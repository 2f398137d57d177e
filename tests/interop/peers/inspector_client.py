"""The MCP Inspector's command line mode: one process, and so one connection, for each operation.

It says with `--protocol-era` which era it wants and has no way to ask for an older revision. Of an error it prints
the message alone: the code is read off the wire, from the error that has this message.
"""

import contextlib
import functools
import json
import os
import subprocess
from pathlib import Path

import anyio
import checks  # noqa: F401  registers them
import harness
from harness import MODERN

PACKAGE = Path(os.environ["INTEROP_ROOT"], "node_modules/@modelcontextprotocol/inspector")
INSPECTOR = [os.environ["INTEROP_NODE"], str(PACKAGE / "clients/launcher/build/index.js"), "--cli"]


@contextlib.asynccontextmanager
async def connect(target, revision, handlers, *, probe):
    for kind, answer in (
        ("forms and URLs", handlers.elicit),
        ("sampling", handlers.sample),
        ("roots", handlers.roots),
    ):
        if answer:
            raise harness.Cannot(f"answer questions: there is no option for {kind}")
    if handlers.log_level:
        raise harness.Cannot("show log messages, nor keep a level from one process to the next")
    if not probe:
        raise harness.Cannot("do without a probe")
    era = "modern" if revision == MODERN else "legacy"
    where = (
        target.command if target.kind == "stdio" else ["--transport", target.kind, "--server-url", target.url]
    )
    yield Session([*where, "--protocol-era", era, "--format", "json", "--quiet"])


class Session:
    """What the checks use of a connection; each operation here makes one of its own."""

    peer = None

    def __init__(self, arguments):
        self._arguments = arguments

    def _command(self, method, *options):
        return [*INSPECTOR, *self._arguments, "--method", method, *options]

    async def _run(self, method, *options):
        try:
            done = await anyio.run_process(
                self._command(method, *options), check=False, stdin=subprocess.DEVNULL
            )
        except OSError as error:
            raise harness.Cannot(f"take as much on its command line: {error.strerror}") from error
        return self._answer(done)

    def _answer(self, done):
        # A result with isError is on stdout like any other; beside it stderr has an error of the tool's own.
        for said in (done.stdout.decode(), done.stderr.decode()):
            for line in said.split("\n"):
                if line.startswith('{"result"'):
                    return json.loads(line)["result"]
                if line.startswith('{"error"'):
                    raise self._error(json.loads(line)["error"]["message"])
        raise harness.Failed(f"status {done.returncode}, and no JSON: {harness.short(done.stderr.decode())}")

    def _error(self, message):
        on_wire = [frame["error"] for frame in self.peer.frames("server") if "error" in frame]
        for error in reversed(on_wire):
            if error["message"] in message:
                return harness.PeerSaid(error["code"], error["message"], error.get("data"))
        return harness.Failed(f"an error that nobody sent: {message}")

    @functools.cached_property
    def _opened(self):
        """Asked for by the check of it alone, which does not wait for it like for a result."""
        return self._answer(
            subprocess.run(self._command("initialize"), capture_output=True, stdin=subprocess.DEVNULL)
        )

    revision = property(lambda self: self._opened["protocolVersion"])
    server_info = property(lambda self: self._opened["serverInfo"])
    capabilities = property(lambda self: self._opened["capabilities"])
    instructions = property(lambda self: self._opened.get("instructions"))

    async def list_tools(self):
        return await self._run("tools/list")

    async def call(self, name, arguments, on_progress=None):
        if on_progress:
            raise harness.Cannot("show progress")
        return await self._run("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

    async def list_resources(self):
        return await self._run("resources/list")

    async def list_templates(self):
        return await self._run("resources/templates/list")

    async def read(self, uri):
        return await self._run("resources/read", "--uri", uri)

    async def list_prompts(self):
        return await self._run("prompts/list")

    async def get_prompt(self, name, arguments):
        pairs = [f"{key}={value}" for key, value in arguments.items()]
        return await self._run(
            "prompts/get", "--prompt-name", name, *(["--prompt-args", *pairs] if pairs else [])
        )

    async def ping(self):
        raise harness.Cannot("ping")

    async def complete(self, ref, name, value):
        raise harness.Cannot("complete")

    async def call_and_abandon(self, name, arguments):
        raise harness.Cannot("abandon a call: it has one connection for each")

    @contextlib.asynccontextmanager
    async def listening(self, *, tools=False, resources=()):
        raise harness.Cannot("listen, nor subscribe")
        yield


if __name__ == "__main__":
    harness.main(connect)
