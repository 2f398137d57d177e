"""Taking a blueprint into a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .registry import Blueprint, check_tool_name

if TYPE_CHECKING:
    from .core import McpServer


def include(server: McpServer, blueprint: Blueprint, prefix: str) -> None:
    """Register everything that ``blueprint`` holds now; URIs are never prefixed, they have a scheme."""
    with blueprint._registry_lock:
        tools = list(blueprint._tools.values())
        prompts = list(blueprint._prompts.values())
        resources = [*blueprint._resources.values(), *blueprint._templates.values()]
        completers = dict(blueprint._completers)
    tools = [
        tool._replace(name=prefix + tool.name, definition={**tool.definition, "name": prefix + tool.name})
        for tool in tools
    ]
    prompts = [
        prompt._replace(
            name=prefix + prompt.name, definition={**prompt.definition, "name": prefix + prompt.name}
        )
        for prompt in prompts
    ]
    # Before anything is taken in, so that a mistake leaves no half of a blueprint behind.
    for tool in tools:
        check_tool_name(tool.name)
    with server._registry_lock:
        taken = [
            *(f"tool {tool.name!r}" for tool in tools if tool.name in server._tools),
            *(f"prompt {prompt.name!r}" for prompt in prompts if prompt.name in server._prompts),
            *(f"resource {r.uri!r}" for r in resources if r.uri in server._resources | server._templates),
        ]
    if taken:
        raise ValueError(
            f"these are there already: {', '.join(taken)}; pick another prefix, or remove them first"
        )
    for tool in tools:
        server._add_tool(tool)
    for prompt in prompts:
        server._add_prompt(prompt)
    for resource in resources:
        server._add_resource(resource)
    for (kind, target, argument), completer in completers.items():
        server._add_completer(
            (kind, prefix + target if kind == "ref/prompt" else target, argument), completer
        )
