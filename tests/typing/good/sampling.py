"""Sample: from a text, a message or several, with every option."""

from typing import Any, assert_type

from mcpref import McpServer, RequestContext, Sample, content

server = McpServer("sampling", version="1.0")


@server.tool
def write(ctx: RequestContext, topic: str) -> str:
    """Have the client's model write."""
    short = Sample(topic, max_tokens=10)
    one = Sample(content.user(topic), max_tokens=10)
    several = Sample(
        [content.user(topic), content.assistant("Well,"), {"role": "user", "content": content.text("go on")}],
        max_tokens=100,
        system_prompt="Be brief.",
        temperature=0.3,
        stop_sequences=["\n\n"],
        model_preferences={"speedPriority": 1.0},
        include_context="none",
        tools=[{"name": "look", "inputSchema": {"type": "object"}}],
        tool_choice={"mode": "auto"},
        metadata={"trace": 1},
    )
    results = ctx.ask_all({"short": short, "one": one, "several": several})
    answer = results["several"]
    assert_type(answer.model, str)
    assert_type(answer.content, list[dict[str, Any]])
    assert_type(answer.raw, dict[str, Any])
    return "\n".join(result.text for result in results.values())
