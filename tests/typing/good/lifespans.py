"""What a server opens once per process; its value keeps its type."""

from collections.abc import Callable, Generator, Iterator
from typing import assert_type

from mcpref import McpServer

server = McpServer("pools", version="1.0")


class Pool:
    def query(self, text: str) -> list[int]:
        return [len(text)]

    def close(self) -> None:
        pass


@server.lifespan
def pool() -> Iterator[Pool]:
    opened = Pool()
    yield opened
    opened.close()


def open_numbers() -> Generator[dict[str, int], None, None]:
    yield {"one": 1}


numbers = server.lifespan(open_numbers)


@server.tool
def ask_database(text: str) -> list[int]:
    """Look something up."""
    return pool().query(text)


assert_type(pool, Callable[[], Pool])
assert_type(pool(), Pool)
assert_type(numbers(), dict[str, int])
