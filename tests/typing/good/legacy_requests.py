"""The server's own requests, as they exist up to 2025-11-25."""

from dataclasses import dataclass
from typing import Any, assert_type

from mcpref import ElicitResult, McpServer, RequestContext, Root, Sample, SampleResult

server = McpServer("legacy", version="1.0")


@dataclass
class Confirm:
    sure: bool


@server.tool
def gather(ctx: RequestContext) -> str:
    """Ask the client directly."""
    written = ctx.sample(Sample("A poem", max_tokens=50), timeout=10.0)
    assert_type(written, SampleResult)
    assert_type(written.text, str)
    assert_type(written.stop_reason, str | None)
    question = {"role": "user", "content": {"type": "text", "text": "Hi"}}
    assert_type(ctx.sample({"messages": [question], "maxTokens": 5}), SampleResult)
    assert_type(ctx.elicit("Sure?", Confirm), ElicitResult[Confirm])
    assert_type(ctx.elicit("Which?", ["a", "b"]), ElicitResult[str])
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    assert_type(ctx.elicit("Name?", form, timeout=5), ElicitResult[dict[str, Any]])
    assert_type(ctx.elicit_url("Pay", "https://example.com", "id-1"), ElicitResult[None])
    roots = ctx.list_roots()
    assert_type(roots, list[Root])
    assert_type(ctx.client_supports("sampling.tools"), bool)
    return ", ".join(root.name or root.uri for root in roots)
