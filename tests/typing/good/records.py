"""Dataclasses, TypedDicts and enums, as arguments and as results."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NotRequired, TypedDict, assert_type

from mcpref import McpServer

server = McpServer("records", version="1.0")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Item:
    name: str
    colour: Colour = Colour.RED
    tags: list[str] = field(default_factory=list[str])


class Order(TypedDict):
    item: str
    copies: NotRequired[int]


@server.tool
def paint(item: Item, colour: Colour, size: Size = Size.SMALL) -> Item:
    """Paint an item."""
    return Item(item.name, colour, [*item.tags, size.value])


@server.tool
def place(order: Order) -> Order:
    """Place an order."""
    return {"item": order["item"], "copies": order.get("copies", 1)}


assert_type(paint(Item("chair"), Colour.BLUE), Item)
assert_type(place({"item": "chair"}), Order)
