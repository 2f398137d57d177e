"""Completion of a prompt's arguments and a template's variables, by function and by name."""

from collections.abc import Mapping, Sequence
from typing import assert_type

from mcpref import Completion, McpServer, RequestContext

server = McpServer("completions", version="1.0")
CITIES = ("Oslo", "Osaka", "Rome")


@server.prompt
def trip(city: str, country: str = "") -> str:
    """Plan a trip."""
    return f"Plan a trip to {city}, {country}"


@server.resource("weather://{city}/{day}")
def weather(city: str, day: str) -> str:
    """The weather."""
    return f"{city} on {day}: fine"


@server.completion(trip, "city")
def cities(value: str) -> list[str]:
    return [city for city in CITIES if city.startswith(value)]


@server.completion("trip", "country")
def countries(value: str, arguments: Mapping[str, str]) -> Sequence[str]:
    return ("Norway",) if arguments.get("city") == "Oslo" else ()


@server.completion(weather, "city")
def weather_cities(value: str) -> Completion:
    return Completion(CITIES, total=len(CITIES), has_more=False)


@server.completion("weather://{city}/{day}", "day")
def days(ctx: RequestContext, value: str) -> list[str]:
    return [] if ctx.is_cancelled else ["today", "tomorrow"]


assert_type(cities("O"), list[str])
assert_type(weather_cities("O"), Completion)
assert_type(countries("N", {}), Sequence[str])
