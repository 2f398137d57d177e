"""ToolResponse: content and structured data side by side, with the data's type."""

from typing import Any, TypedDict, assert_type

from mcpref import Content, McpServer, ToolResponse, content

server = McpServer("responses", version="1.0")


class Forecast(TypedDict):
    max: float
    min: float


@server.tool
def forecast(city: str) -> ToolResponse[Forecast]:
    """Text for people, numbers for programs."""
    if city == "Nowhere":
        return ToolResponse(f"there is no {city}", is_error=True)
    numbers: Forecast = {"max": 21.5, "min": 9.0}
    return ToolResponse([content.text("Sunny.")], numbers, meta={"com.example/source": "north"})


@server.tool
def untyped(city: str) -> ToolResponse:
    """The type of the data may be left out."""
    return ToolResponse(content.text(city), structured={"anything": [1, "two"]})


answer = forecast("Oslo")
assert_type(answer, ToolResponse[Forecast])
assert_type(answer.structured, Forecast | None)
assert_type(answer.content, list[Content])
assert_type(answer.is_error, bool)
assert_type(untyped("Oslo"), ToolResponse[Any])
assert_type(ToolResponse(structured=3), ToolResponse[int])
