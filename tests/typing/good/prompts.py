"""Prompts: text, messages, and what may be asked on the way."""

from typing import Annotated, assert_type

from mcpref import Content, Elicit, McpServer, Param, RequestContext, content

server = McpServer("prompts", version="1.0")


@server.prompt
def summarise(text: str, words: Annotated[int, Param("At most this many")] = 50) -> str:
    """Text becomes one message of the user's."""
    return f"Summarise in {words} words: {text}"


@server.prompt(title="Review code", description="A dialogue", meta={"com.example/kind": "code"})
def review(code: str) -> list[content.PromptMessage]:
    return [content.user(f"Review this:\n{code}"), content.assistant("Which language is it?")]


@server.prompt()
def look(picture: str) -> Content:
    """A block alone."""
    return content.image(picture, "image/png")


@server.prompt
def greet(ctx: RequestContext) -> str:
    """Asks before it answers."""
    answer = ctx.ask("mood", Elicit("How are you?", ["well", "so so"]))
    return f"I feel {answer.content}" if answer.action == "accept" else "Hello"


assert_type(summarise("a", words=3), str)
assert_type(review("x = 1"), list[content.PromptMessage])
server.remove_prompt("look")
