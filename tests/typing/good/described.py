"""Annotated: our own Param, a plain string, annotated-types and pydantic's Field."""

from typing import Annotated, Literal, assert_type

from annotated_types import Ge, Le
from pydantic import Field

from mcpref import McpServer, Param

server = McpServer("described", version="1.0")

City = Annotated[str, Param("The city's name", min_length=1, max_length=80, header="City")]


@server.tool
def forecast(
    city: City,
    days: Annotated[int, Param("How many days", minimum=1, maximum=14)] = 3,
    unit: Annotated[Literal["C", "F"], "Celsius or Fahrenheit"] = "C",
    hours: Annotated[int, Ge(0), Le(23)] = 12,
    wind: Annotated[float, Field(ge=0, description="metres per second")] = 0.0,
    tags: Annotated[list[str] | None, Param(max_items=5, examples=[["sea"]])] = None,
) -> str:
    """Forecast for a city."""
    return f"{city} {days * hours} {unit} {wind:.1f} {len(tags or [])}"


assert_type(forecast("Oslo", 2, "F"), str)
