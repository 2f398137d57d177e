"""Resources, prompts, completion and blueprints."""

from mcpref import Blueprint, CacheHint, Completion, McpServer

server = McpServer("library", version="1.0")


@server.resource  # refused: a resource has a URI
def page() -> str:
    return ""


def book(isbn: str) -> str:
    return isbn


@server.prompt
def recommend(mood: str) -> str:
    return mood


server.resource()(book)  # refused: a resource has a URI
server.resource(uri="book://{isbn}")(book)  # refused: the URI comes first, without a name
server.resource("book://{isbn}", mimetype="text/plain")(book)  # refused: it is mime_type
server.resource("book://{isbn}", cache=60)(book)  # refused: a CacheHint
server.resource("book://{isbn}", output_schema={})(book)  # refused: only tools have one
server.resource("book://{isbn}")("text")  # refused: a resource is a function
server.prompt(recommend, arguments=["mood"])  # refused: they come from the function
server.completion(recommend)  # refused: of which argument?
server.completion(recommend, argument="mood")  # refused: given by position


@server.completion(recommend, "mood")  # refused: suggestions are texts
def moods(value: str) -> list[int]:
    return [1]


@server.completion(42, "mood")  # refused: a function or a name
def more_moods(value: str) -> list[str]:
    return [value]


Completion([1, 2])  # refused: suggestions are texts
CacheHint(ttl=60)  # refused: it is ttl_ms
CacheHint("60")  # refused: a number
CacheHint(60, scope="shared")  # refused: public or private
server.set_list_cache_hint("tools/list", 60)  # refused: a CacheHint
server.notify_list_changed("tool")  # refused: tools, resources or prompts

billing = Blueprint()
server.include(billing, "billing_")  # refused: prefix has a name
server.include("billing")  # refused: a Blueprint
billing.run()  # refused: only a server runs
