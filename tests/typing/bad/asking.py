"""Questions to the client, and what is made of the answers."""

from dataclasses import dataclass

from mcpref import Elicit, ElicitUrl, McpServer, RequestContext, Roots, Sample

server = McpServer("asking", version="1.0")


@dataclass
class Confirm:
    sure: bool


@server.tool
def untested(ctx: RequestContext) -> bool:
    answer = ctx.ask("sure", Elicit("Really?", Confirm))
    return answer.content.sure  # refused: whether it was accepted has not been tested


@server.tool
def wrong_branch(ctx: RequestContext) -> str:
    answer = ctx.ask("sure", Elicit("Really?", Confirm))
    if answer.action == "accepted":  # refused: the action is called accept
        return "never"
    if answer.action == "decline":
        return str(answer.content.sure)  # refused: there is nothing in a refusal
    if answer.action == "accept":
        return answer.content.sure  # refused: a bool, not a text
    return "cancelled"


@server.tool
def questions(ctx: RequestContext) -> None:
    Elicit("How many?", 42)  # refused: a number is no form
    Elicit("Really?", Confirm(True))  # refused: the class, not one of it
    Elicit(Confirm, "Really?")  # refused: the message comes first
    Elicit("Which?", [1, 2])  # refused: choices are texts
    Elicit("Really?")  # refused: a form is needed
    ElicitUrl("Pay here")  # refused: a URL is needed
    Sample("A poem")  # refused: max_tokens is needed
    Sample("A poem", max_tokens="many")  # refused: a number
    Sample(["A poem"], max_tokens=5)  # refused: texts are no messages
    Sample("A poem", max_tokens=5, include_context="all")  # refused: none, thisServer or allServers
    ctx.ask(Elicit("Really?", Confirm))  # refused: the key comes first
    ctx.ask("sure", "Really?")  # refused: a text is no question
    ctx.ask("sure", Elicit)  # refused: neither is the class of questions
    ctx.ask("sure", Roots(), timeout="1m")  # refused: seconds
    ctx.ask_all({"sure": "Really?"})  # refused: a text is no question
    ctx.ask_all(Roots(), Roots())  # refused: each with its key


@server.tool
def unpacked(ctx: RequestContext) -> None:
    style, roots, text = ctx.ask_all(("style", Elicit("?", Confirm)), ("r", Roots()))  # refused: two answers
    number: int = ctx.ask_all(("s", Elicit("?", Confirm)), ("r2", Roots()))[1]  # refused: a list of roots
    one, two = ctx.ask_all(("a", Roots()), ("b", Roots()), ("c", Roots()))  # refused: three answers
    texts: dict[str, str] = ctx.ask_all({"text": Sample("?", max_tokens=5)})  # refused: results, not texts
    print(style, roots, text, number, one, two, texts)


@server.tool
def kept(ctx: RequestContext) -> str:
    ctx.once("number", 5)  # refused: a function that gives the value
    ctx.once("set", lambda: {1, 2})  # refused: a set has no JSON form
    return ctx.once("number2", lambda: 5)  # refused: it gives what the function gives


@server.tool
def direct(ctx: RequestContext) -> str:
    ctx.elicit("How many?", 3)  # refused: a number is no form
    ctx.sample("A poem")  # refused: a Sample
    ctx.elicit_url("Pay", "https://example.com")  # refused: its id is needed
    return ctx.list_roots()[0]  # refused: a Root, not a text
