"""pydantic models."""

from typing import assert_type

from pydantic import BaseModel, Field

from mcpref import McpServer

server = McpServer("models", version="1.0")


class Address(BaseModel):
    street: str
    number: int = Field(ge=1)


class Customer(BaseModel):
    name: str
    addresses: list[Address] = Field(default_factory=list[Address])


@server.tool
def move(customer: Customer, to: Address) -> Customer:
    """A customer moves house."""
    return Customer(name=customer.name, addresses=[*customer.addresses, to])


@server.tool
def addresses(customer: Customer) -> list[Address]:
    """Where a customer has lived."""
    return customer.addresses


assert_type(move(Customer(name="Ada"), Address(street="Main", number=1)), Customer)
