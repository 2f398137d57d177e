"""Taking a blueprint into a server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .registry import Blueprint

if TYPE_CHECKING:
    from .core import McpServer


def include(server: McpServer, blueprint: Blueprint, prefix: str) -> None:
    """Register everything that ``blueprint`` holds now; URIs are never prefixed, they have a scheme."""
    with blueprint._registry_lock:
        tools = list(blueprint._tools.values())
        prompts = list(blueprint._prompts.values())
        resources = [*blueprint._resources.values(), *blueprint._templates.values()]
        completers = dict(blueprint._completers)
    for tool in tools:
        name = prefix + tool.name
        server._add_tool(replace(tool, name=name, definition={**tool.definition, "name": name}))
    for prompt in prompts:
        name = prefix + prompt.name
        server._add_prompt(replace(prompt, name=name, definition={**prompt.definition, "name": name}))
    for resource in resources:
        server._add_resource(resource)
    for (kind, target, argument), completer in completers.items():
        server._add_completer(
            (kind, prefix + target if kind == "ref/prompt" else target, argument), completer
        )
