"""The server under test of the official conformance suite: ``python conformance/server.py --port 8000``.

Names, texts and schemas are the suite's; each entry does what a scenario of it asks for.
"""

from __future__ import annotations

import argparse
import struct
import zlib
from typing import Annotated, Any

from mcpref import (
    Elicit,
    InputRequired,
    McpServer,
    MissingRequiredClientCapability,
    Param,
    RequestContext,
    Roots,
    Sample,
    Settings,
    ToolError,
    ToolResponse,
    content,
)
from mcpref.content import Content, PromptMessage

server = McpServer(
    "mcpref-conformance",
    version="1.0",
    title="The server under test",
    resource_subscriptions=True,
    settings=Settings(retry_ms=100),
)


def _png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def _wav() -> bytes:
    """Eight silent samples."""
    data = bytes(8)
    form = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVE" + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _form(**properties: Any) -> dict[str, Any]:
    """A form whose fields are all required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


# ---- Tools of all revisions; the first one is callable with {} ----------------------------------------


@server.tool
def test_simple_text() -> str:
    """Answers with one text."""
    return "This is a simple text response for testing."


@server.tool
def test_image_content() -> Content:
    """Answers with a picture."""
    return content.image(_png(), "image/png")


@server.tool
def test_audio_content() -> Content:
    """Answers with a sound."""
    return content.audio(_wav(), "audio/wav")


@server.tool
def test_embedded_resource() -> Content:
    """Answers with an embedded resource."""
    return content.embedded(
        "test://embedded-resource", "This is an embedded resource content.", mime_type="text/plain"
    )


@server.tool
def test_multiple_content_types() -> list[Content]:
    """Answers with text, a picture and a resource."""
    return [
        content.text("Multiple content types test:"),
        content.image(_png(), "image/png"),
        content.embedded(
            "test://mixed-content-resource", '{"test":"data","value":123}', mime_type="application/json"
        ),
    ]


@server.tool
def test_tool_with_logging(ctx: RequestContext) -> str:
    """Logs three messages on the way."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log("info", message)
        ctx.wait(0.05)
    return "Tool with logging executed successfully"


@server.tool
def test_error_handling() -> str:
    """Always fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@server.tool
def test_tool_with_progress(ctx: RequestContext) -> str:
    """Reports progress three times."""
    for progress in (0, 50, 100):
        ctx.report_progress(progress, 100, f"Completed step {progress} of 100")
        ctx.wait(0.05)
    return "Progress reported"


@server.tool
def test_sampling(ctx: RequestContext, prompt: str) -> str:
    """Asks the client's model."""
    return f"LLM response: {ctx.ask('sample', Sample(prompt, max_tokens=100)).text}"


@server.tool
def test_elicitation(ctx: RequestContext, message: str) -> str:
    """Asks the user for a name and an address."""
    form = _form(
        username={"type": "string", "description": "User's response"},
        email={"type": "string", "description": "User's email address"},
    )
    answer = ctx.ask("user", Elicit(message, form))
    return f"User response: action={answer.action}, content={answer.content}"


@server.tool
def test_elicitation_sep1034_defaults(ctx: RequestContext) -> str:
    """Asks with defaults of every kind."""
    form = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": True},
        },
    }
    answer = ctx.ask("defaults", Elicit("Please review and update the form fields with defaults", form))
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@server.tool
def test_elicitation_sep1330_enums(ctx: RequestContext) -> str:
    """Asks with choices of every style."""

    def options(prefix: str, title: str) -> list[dict[str, str]]:
        return [
            {"const": f"{prefix}{number}", "title": title.format(word)}
            for number, word in enumerate(("First", "Second", "Third"), start=1)
        ]

    plain = ["option1", "option2", "option3"]
    form = {
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": options("value", "{} Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": options("value", "{} Choice")}},
        },
    }
    answer = ctx.ask("enums", Elicit("Please select options from the enum fields", form))
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


@server.tool
def test_reconnection(ctx: RequestContext) -> str:
    """Lets the client go in the middle, and answers when it has come back."""
    ctx.close_stream()
    ctx.wait(0.1)
    return "Reconnection test completed successfully"


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    }
)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Takes a schema that uses what 2020-12 has."""
    return f"Received {sorted(arguments)}"


@server.tool
def test_x_mcp_header(region: Annotated[str, Param("Where to run", header="Region")] = "") -> str:
    """Has a parameter that travels in a header too."""
    return f"Running in {region or 'no region'}"


# ---- Tools of 2026-07-28 ------------------------------------------------------------------------------


@server.tool
def test_missing_capability(ctx: RequestContext) -> str:
    """Needs a client that can sample."""
    if not ctx.client_supports("sampling"):
        raise MissingRequiredClientCapability({"sampling": {}})
    return "The client can sample."


@server.tool
def test_streaming_elicitation(ctx: RequestContext) -> str:
    """Streams something, and answers."""
    ctx.report_progress(1, 1)
    return "Nothing was asked."


@server.tool
def test_logging_tool(ctx: RequestContext) -> str:
    """Logs, if the request says that it wants logs."""
    ctx.log("info", "A message for this request")
    return "Logged."


@server.tool
def test_trigger_tool_change() -> str:
    """Makes the server say that its tools changed."""
    server.notify_list_changed("tools")
    return "Announced."


@server.tool
def test_trigger_prompt_change() -> str:
    """Makes the server say that its prompts changed."""
    server.notify_list_changed("prompts")
    return "Announced."


_NAME = Elicit("What is your name?", _form(name={"type": "string"}))
_CONFIRM = Elicit("Please confirm", _form(ok={"type": "boolean"}))


def _accepted(ctx: RequestContext, key: str, field: str) -> Any:
    """What the client answered under a key, if it is an answer to what was asked."""
    answer = ctx.input_responses.get(key)
    if (
        isinstance(answer, dict)
        and answer.get("action") == "accept"
        and isinstance(answer.get("content"), dict)
    ):
        return answer["content"].get(field)
    return None


@server.tool
def test_input_required_result_elicitation(ctx: RequestContext) -> ToolResponse:
    """Asks for a name, without a state."""
    name = _accepted(ctx, "user_name", "name")
    if name is None:
        return ToolResponse.input_required({"user_name": _NAME})
    return ToolResponse(f"Hello, {name}!")


@server.tool
def test_input_required_result_sampling(ctx: RequestContext) -> str:
    """Asks the client's model."""
    answer = ctx.ask("capital_question", Sample("What is the capital of France?", max_tokens=100))
    return f"The model says: {answer.text}"


@server.tool
def test_input_required_result_list_roots(ctx: RequestContext) -> str:
    """Asks for the client's roots."""
    return f"Roots: {', '.join(root.uri for root in ctx.ask('client_roots', Roots()))}"


@server.tool
def test_input_required_result_request_state(ctx: RequestContext) -> str:
    """Asks for a confirmation, and carries a state."""
    answer = ctx.ask("confirm", _CONFIRM)
    return f"state-ok, {answer.action}"


@server.tool
def test_input_required_result_multiple_inputs(ctx: RequestContext) -> str:
    """Asks for three things at once."""
    name, greeting, roots = ctx.ask_all(
        ("user_name", _NAME),
        ("greeting", Sample("Generate a greeting", max_tokens=50)),
        ("client_roots", Roots()),
    )
    return f"{name.action}: {greeting.text} ({len(roots)} roots)"


@server.tool
def test_input_required_result_multi_round(ctx: RequestContext) -> str:
    """Asks for one thing after the other."""
    name = ctx.ask("step1", Elicit("Step 1: What is your name?", _form(name={"type": "string"})))
    color = ctx.ask("step2", Elicit("Step 2: What is your favorite color?", _form(color={"type": "string"})))
    return f"{name.content}, {color.content}"


@server.tool
def test_input_required_result_tampered_state(ctx: RequestContext) -> str:
    """Asks for a confirmation; a state that was tampered with is refused."""
    return f"Confirmed: {ctx.ask('confirm', _CONFIRM).action}"


@server.tool
def test_input_required_result_capabilities(ctx: RequestContext) -> ToolResponse:
    """Asks only for what the client can give."""
    if ctx.is_resubmit:
        return ToolResponse("Thank you.")
    return ToolResponse.input_required(
        {"user_name": _NAME, "greeting": Sample("Generate a greeting", max_tokens=50)}
    )


# ---- Resources ----------------------------------------------------------------------------------------


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture."""
    return _png()


@server.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text that clients may watch."""
    return "Watch me."


@server.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> dict[str, Any]:
    """Data by its id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# ---- Prompts and completion ---------------------------------------------------------------------------


@server.prompt
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@server.prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments.

    Args:
        arg1: The first one.
        arg2: The second one.
    """
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:
    """A prompt with a resource in it.

    Args:
        resourceUri: The resource's URI.
    """
    return [
        content.user(
            content.embedded(resourceUri, "Embedded resource content for testing.", mime_type="text/plain")
        ),
        content.user("Please process the embedded resource above."),
    ]


@server.prompt
def test_prompt_with_image() -> list[PromptMessage]:
    """A prompt with a picture in it."""
    return [content.user(content.image(_png(), "image/png")), content.user("Please analyze the image above.")]


@server.prompt
def test_input_required_result_prompt(ctx: RequestContext) -> str | InputRequired:
    """A prompt that asks for its context."""
    form = _form(context={"type": "string"})
    answer = ctx.ask("user_context", Elicit("What context should the prompt use?", form))
    return f"Use this context: {answer.content}"


@server.completion(test_prompt_with_arguments, "arg1")
def complete_arg1(value: str) -> list[str]:
    """Values that begin with what was typed."""
    return [word for word in ("test-one", "test-two", "other") if word.startswith(value)]


def main() -> None:
    """Serve over HTTP on a port, or over stdio."""
    parser = argparse.ArgumentParser(description=__doc__)
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--port", type=int, help="serve HTTP on this port, at /mcp")
    transport.add_argument("--stdio", action="store_true", help="serve standard input and output")
    options = parser.parse_args()
    if options.stdio:
        server.run()
    else:
        server.run("http", port=options.port)


if __name__ == "__main__":
    main()
