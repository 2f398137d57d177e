"""Methods of an object, and tools made in a loop."""

from collections.abc import Callable
from typing import assert_type

from mcpref import McpServer

server = McpServer("accounts", version="1.0")


class Account:
    def __init__(self) -> None:
        self._balance = 0

    def deposit(self, amount: int) -> int:
        """Put money in."""
        self._balance += amount
        return self._balance

    def balance(self) -> int:
        """How much there is."""
        return self._balance


account = Account()
deposit = server.tool(account.deposit, name="deposit")
assert_type(deposit(5), int)

methods: dict[str, Callable[..., int]] = {"put": account.deposit, "look": account.balance}
for name, method in methods.items():
    server.tool(method, name=name, description=f"{name} at the account")

for city in ("Oslo", "Rome"):

    @server.tool(name=f"greet_{city.lower()}")
    def greet(city: str = city) -> str:
        """Say hello."""
        return f"Hello from {city}"


server.remove_tool("greet_rome")
