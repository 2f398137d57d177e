"""Parts of a server in modules of their own."""

from typing import assert_type

from mcpref import Blueprint, McpServer

billing = Blueprint()
shipping = Blueprint()


@billing.tool
def invoice(number: int) -> str:
    """Show an invoice."""
    return f"Invoice {number}"


@billing.prompt(name="remind")
def reminder(customer: str) -> str:
    """Write a reminder."""
    return f"Remind {customer} politely"


@billing.completion(reminder, "customer")
def customers(value: str) -> list[str]:
    return [value + "a"]


@shipping.resource("parcel://{number}")
def parcel(number: int) -> dict[str, int]:
    """Where a parcel is."""
    return {"number": number}


server = McpServer("office", version="1.0")
server.include(billing, prefix="billing_")
server.include(shipping)

assert_type(invoice(3), str)
assert_type(parcel(3), dict[str, int])
