"""A server worth trying: ``mcpref serve mcpref.demo:server --stdio``.

A small bookshop. Each entry shows one thing: structured output, content kinds, progress and cancellation,
asking the user in either era, resources, templates, prompts, completion, and a list that changes.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from . import (
    Completion,
    Content,
    Elicit,
    McpServer,
    Param,
    RequestContext,
    ResourceNotFound,
    Sample,
    Settings,
    ToolError,
    content,
)

server = McpServer(
    "bookshop",
    version="1.0",
    title="The demo bookshop",
    instructions="Search with find_books, read a book's page at book://{isbn}, order with order_book.",
    resource_subscriptions=True,
    settings=Settings(page=True),
)


@dataclass
class Book:
    """A book on the shelf."""

    isbn: str
    title: str
    author: str
    year: int
    stock: int


class Shelves:
    """The stock: shared by all calls, so it has a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._books = {
            book.isbn: book
            for book in (
                Book(
                    "9780262510875", "Structure and Interpretation of Computer Programs", "Abelson", 1996, 3
                ),
                Book("9780201835953", "The Mythical Man-Month", "Brooks", 1995, 5),
                Book("9780131103627", "The C Programming Language", "Kernighan", 1988, 2),
                Book("9780262033848", "Introduction to Algorithms", "Cormen", 2009, 0),
            )
        }

    def all(self) -> list[Book]:
        with self._lock:
            return list(self._books.values())

    def get(self, isbn: str) -> Book | None:
        with self._lock:
            return self._books.get(isbn)

    def take(self, isbn: str, copies: int) -> bool:
        with self._lock:
            book = self._books[isbn]
            if book.stock < copies:
                return False
            book.stock -= copies
            return True


@server.lifespan
def shelves() -> Iterator[Shelves]:
    """Opened once per process, closed at its end; a database pool would be made here."""
    yield Shelves()


# ---- Tools --------------------------------------------------------------------------------------------


@server.tool(title="Find books", annotations={"readOnlyHint": True})
def find_books(
    query: Annotated[str, Param("Words from the title or the author's name", max_length=100)] = "",
    sort: Annotated[Literal["title", "year"], "How to order what is found"] = "title",
) -> list[Book]:
    """Search the shelves.

    Returns every book whose title or author contains all words of the query.
    """
    words = query.lower().split()
    found = [
        book
        for book in shelves().all()
        if all(word in f"{book.title} {book.author}".lower() for word in words)
    ]
    return sorted(found, key=lambda book: str(getattr(book, sort)))


@dataclass
class Order:
    """What the user fills in."""

    copies: int = 1
    gift_wrap: bool = False


@server.tool
def order_book(ctx: RequestContext, isbn: str) -> str:
    """Order a book. Asks the user how many copies before it takes any off the shelf.

    Args:
        isbn: The book's ISBN, as find_books gives it.
    """
    book = shelves().get(isbn)
    if book is None:
        raise ToolError(f"no book has the ISBN {isbn}; find_books lists those there are")
    if book.stock == 0:
        raise ToolError(f"{book.title} is out of stock")
    # One line for both eras: it blocks on 2025-11-25 and older, and ends the round on 2026-07-28.
    answer = ctx.ask("order", Elicit(f"How many copies of {book.title}?", Order))
    if answer.action != "accept":
        return "Nothing was ordered."
    order = answer.content
    if order.copies < 1 or not shelves().take(isbn, order.copies):
        raise ToolError(f"{order.copies} copies cannot be had; there are {book.stock}")
    server.notify_resource_updated(f"book://{isbn}")
    wrapped = ", gift-wrapped" if order.gift_wrap else ""
    return f"Ordered {order.copies} of {book.title}{wrapped}."


@server.tool
def take_inventory(
    ctx: RequestContext, seconds: Annotated[float, Param("How long to take", minimum=0, maximum=60)] = 2.0
) -> str:
    """Count every book, slowly. Reports progress, logs what it finds, and stops when it is cancelled."""
    books = shelves().all()
    for number, book in enumerate(books, start=1):
        if ctx.wait(seconds / len(books)):
            return f"Stopped after {number - 1} books."
        ctx.report_progress(number, len(books), book.title)
        ctx.log("warning" if book.stock == 0 else "info", f"{book.stock} of {book.title}", logger="inventory")
    return f"Counted {sum(book.stock for book in books)} copies of {len(books)} books."


@server.tool
def blurb(ctx: RequestContext, isbn: str) -> str:
    """Have the client's model write a line about a book."""
    book = shelves().get(isbn)
    if book is None:
        raise ToolError(f"no book has the ISBN {isbn}")
    written = ctx.ask(
        "blurb", Sample(f"Praise the book {book.title!r} in one short sentence.", max_tokens=60)
    )
    return written.text


@server.tool(annotations={"readOnlyHint": True})
def cover(isbn: str, kind: Literal["picture", "link", "page"] = "picture") -> list[Content]:
    """A book's cover as a picture, a link to its page, or the page itself."""
    book = shelves().get(isbn)
    if book is None:
        raise ToolError(f"no book has the ISBN {isbn}")
    match kind:
        case "picture":
            return [content.text(book.title), content.image(_cover(int(isbn)), "image/png")]
        case "link":
            return [content.link(f"book://{isbn}", book.title, mime_type="text/markdown")]
        case "page":
            return [content.embedded(f"book://{isbn}", _page(book), mime_type="text/markdown")]


@server.tool
def open_annex(ctx: RequestContext) -> str:
    """Open the annex, which has a tool of its own; clients that listen are told that the list changed."""
    if "visit_annex" in server.catalog.tools:
        return "The annex is open already."

    def visit_annex() -> str:
        """Look around in the annex."""
        return "Dust, and first editions."

    server.tool(visit_annex)
    ctx.log("notice", "the annex is open")
    return "The annex is open; see visit_annex."


@server.tool
def close_annex() -> str:
    """Close the annex again."""
    try:
        server.remove_tool("visit_annex")
    except KeyError:
        raise ToolError("the annex is not open") from None
    return "The annex is closed."


# ---- Resources ----------------------------------------------------------------------------------------


@server.resource("shop://hours", mime_type="text/plain")
def opening_hours() -> str:
    """When the shop is open."""
    return "Monday to Saturday, 9 to 18."


@server.resource("shop://sign", mime_type="image/png")
def sign() -> bytes:
    """The sign above the door."""
    return _cover(7)


@server.resource("book://{isbn}", mime_type="text/markdown")
def book_page(isbn: str) -> str:
    """A page about one book."""
    book = shelves().get(isbn)
    if book is None:
        raise ResourceNotFound(f"book://{isbn}")
    return _page(book)


# ---- Prompts and completion ---------------------------------------------------------------------------


@server.prompt(title="Recommend a book")
def recommend(subject: str, mood: str = "curious") -> str:
    """Ask for a recommendation.

    Args:
        subject: What the book should be about.
        mood: What the reader is in the mood for.
    """
    return f"Recommend me a book about {subject}. I am in a {mood} mood."


@server.completion(recommend, "mood")
def complete_mood(value: str) -> list[str]:
    """Moods that begin with what was typed."""
    return [mood for mood in ("cheerful", "curious", "gloomy", "thoughtful") if mood.startswith(value)]


@server.completion(book_page, "isbn")
def complete_isbn(value: str) -> Completion:
    """ISBNs that begin with what was typed."""
    isbns = [book.isbn for book in shelves().all() if book.isbn.startswith(value)]
    return Completion(isbns, total=len(isbns))


def _page(book: Book) -> str:
    return f"# {book.title}\n\n{book.author}, {book.year}\n\n{book.stock} in stock\n"


def _cover(number: int) -> bytes:
    """A tiny PNG: one coloured pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    pixel = bytes((0, number % 256, number // 256 % 256, number // 65536 % 256))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(pixel))
        + chunk(b"IEND", b"")
    )
