"""Full control over rounds: return what is needed, read it from the context."""

from dataclasses import dataclass
from typing import Any, assert_type

from mcpref import (
    Elicit,
    ElicitResult,
    InputRequest,
    InputRequired,
    McpServer,
    RequestContext,
    Roots,
    ToolResponse,
)

server = McpServer("rounds", version="1.0")


@dataclass
class Confirm:
    sure: bool


@dataclass
class Progress:
    step: int = 0


QUESTION = Elicit("Really?", Confirm)


@server.tool
def delete(ctx: RequestContext, path: str) -> ToolResponse[dict[str, str]]:
    """Delete a file, if the user agrees."""
    assert_type(ctx.is_resubmit, bool)
    if not ctx.has_input_response("sure"):
        return ToolResponse.input_required({"sure": QUESTION, "roots": Roots()}, state=Progress(1))
    answer = ctx.input_response_as("sure", QUESTION)
    assert_type(answer, ElicitResult[Confirm])
    assert_type(ctx.input_response_as("roots", dict[str, Any]), dict[str, Any])
    assert_type(ctx.request_state_as(Progress, Progress()), Progress)
    assert_type(ctx.request_state_as(Progress), Progress | None)
    return ToolResponse("gone" if answer.action == "accept" else "kept", {"path": path})


@server.resource("secret://{name}")
def secret(ctx: RequestContext, name: str) -> str | InputRequired:
    """Resources and prompts return an InputRequired."""
    if "key" in ctx.input_responses:
        return "the secret"
    return InputRequired.of([InputRequest.elicit("key", "The key?", {"type": "object", "properties": {}})])
