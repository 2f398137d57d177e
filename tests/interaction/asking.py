"""The server that the tests of sealed state share, in this process and in another one.

Run as a program it serves stdio: ``python -m tests.interaction.asking``, with the secret in the environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcpref import Elicit, McpServer, RequestContext, Settings


@dataclass
class Confirm:
    sure: bool


YES = {"action": "accept", "content": {"sure": True}}


def make_server(secret: Any = None, **settings: Any) -> McpServer:
    server = McpServer("asking", secret=secret, settings=Settings(**settings))

    @server.tool
    def delete(ctx: RequestContext, path: str) -> str:
        kept = ctx.once("noted", lambda: f"note on {path}")
        first = ctx.ask("sure", Elicit(f"Delete {path}?", Confirm))
        second = ctx.ask("really", Elicit("Really?", Confirm))
        return f"{path}: {first.action} {second.action}, {kept}"

    @server.tool
    def other(ctx: RequestContext, path: str) -> str:
        return ctx.ask("sure", Elicit(f"Delete {path}?", Confirm)).action

    @server.prompt(name="delete")
    def delete_prompt(ctx: RequestContext, path: str) -> str:
        return ctx.ask("sure", Elicit(f"Delete {path}?", Confirm)).action

    return server


if __name__ == "__main__":
    make_server().run()
