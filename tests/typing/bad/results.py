"""What tools and prompts return."""

from typing import TypedDict

from mcpref import Content, Elicit, InputRequired, McpServer, ToolError, ToolResponse, content

server = McpServer("results", version="1.0")


class Forecast(TypedDict):
    max: float


@server.tool
def forecast(city: str) -> ToolResponse[Forecast]:
    if city == "Oslo":
        return ToolResponse("Sunny", {"max": "warm"})  # refused: a number
    if city == "Rome":
        return ToolResponse(structured={"min": 3.0})  # refused: no such key
    if city == "Bonn":
        return {"max": 21.5}  # refused: a ToolResponse was promised
    return ToolResponse("Nowhere", is_error="yes")  # refused: a bool


@server.tool
def blocks(name: str) -> list[Content]:
    if name == "plain":
        return [{"type": "text", "text": name}]  # refused: a dict would be data; content.text(...)
    if name == "text":
        return [name]  # refused: a text is no block
    return content.text(name)  # refused: a list was promised


ToolResponse(contents="Sunny")  # refused: it is content
ToolResponse(42)  # refused: a number is no content
ToolResponse.input_required("Really?")  # refused: questions by their keys
ToolResponse.input_required([Elicit("Really?", ["yes"])])  # refused: questions by their keys
InputRequired.of({"sure": "Really?"})  # refused: a text is no question
forecast("Oslo").structured["max"]  # refused: there may be none
content.text(3)  # refused: text
content.image(b"...")  # refused: of which type?
content.image("x.png", mimetype="image/png")  # refused: it is mime_type
content.hints(audience=["everybody"])  # refused: user or assistant
content.user(42)  # refused: text or a block
content.embedded("a://b", None)  # refused: text or bytes
raise ToolError("out of stock", code=3)  # refused: only protocol errors have codes
