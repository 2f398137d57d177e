"""What an application's own exceptions mean to the client."""

import sqlite3
from typing import assert_type

from mcpref import InvalidParams, McpServer, ProtocolError, ToolError

server = McpServer("shop", version="1.0")


class OutOfStock(Exception):
    def __init__(self, item: str) -> None:
        super().__init__(item)
        self.item = item


@server.error_handler(OutOfStock)
def out_of_stock(error: OutOfStock) -> ToolError:
    return ToolError(f"{error.item} is out of stock; try another")


@server.error_handler(sqlite3.Error)
def database(error: sqlite3.Error) -> ProtocolError:
    return ProtocolError("the database cannot be reached", code=-31002)


@server.error_handler(LookupError)
def lookup(error: LookupError) -> ToolError | ProtocolError:
    return ToolError("no such thing") if isinstance(error, KeyError) else InvalidParams(str(error))


@server.error_handler(TimeoutError)
def any_system_error(error: OSError) -> ToolError:
    """A handler may take more than it is registered for."""
    return ToolError(f"the system said {error.errno}")


@server.tool
def buy(item: str) -> str:
    """Buy something."""
    raise OutOfStock(item)


assert_type(out_of_stock(OutOfStock("tea")).message, str)
assert_type(lookup(KeyError()), ToolError | ProtocolError)
