"""The shop's MCP server: tools that read and write the database, on both kinds of thread."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

from django.db import connections, transaction
from django.urls import reverse
from django.utils import timezone, translation

from mcpref import Elicit, McpServer, RequestContext, RequestInfo, Settings, ToolError

from .models import Order

server = McpServer("shop", version="1.0", settings=Settings(keep_alive=1.0, max_in_flight_session=64))


@dataclass
class Confirm:
    sure: bool


def user_of(info: RequestInfo) -> Any:
    return info.auth.user if info.auth else None


def orders_of(info: RequestInfo) -> list[str]:
    return sorted(Order.objects.filter(user=user_of(info)).values_list("what", flat=True))


# ---- On the thread of the request -------------------------------------------------------------------------


@server.tool
def whoami(info: RequestInfo) -> str:
    """Say who is asking."""
    return f"{info.auth.subject} {getattr(info.auth.user, 'username', '')}" if info.auth else "nobody"


@server.tool
def place(what: str, info: RequestInfo) -> list[str]:
    """Place an order; all of yours."""
    Order.objects.create(user=user_of(info), what=what)
    return orders_of(info)


@server.tool
def place_in_vain(what: str) -> str:
    """Place an order that cannot be."""
    Order.objects.create(what=what)
    raise ToolError("out of stock")


@server.tool
@transaction.non_atomic_requests  # type: ignore[untyped-decorator]
def place_at_once(what: str) -> str:
    """Place an order that stays, whatever comes."""
    Order.objects.create(what=what)
    raise ToolError("out of stock")


@server.tool
def where() -> dict[str, Any]:
    """What is around a call on the request's thread."""
    return surroundings()


@server.tool
def process() -> int:
    """The process that serves this."""
    return os.getpid()


# ---- On a worker ------------------------------------------------------------------------------------------


@server.tool
def place_on_worker(what: str, ctx: RequestContext) -> list[str]:
    """Place an order; all of yours."""
    Order.objects.create(user=user_of(ctx), what=what)
    return orders_of(ctx)


@server.tool
def place_slowly(what: str, ctx: RequestContext) -> list[str]:
    """Place an order, and say how far it is; all of yours."""
    ctx.report_progress(1, 2, message=f"{user_of(ctx)} orders {what}")
    Order.objects.create(user=user_of(ctx), what=what)
    ctx.report_progress(2, 2, message=f"{user_of(ctx)} has ordered {what}")
    return orders_of(ctx)


@server.tool
def place_in_vain_on_worker(what: str, ctx: RequestContext) -> str:
    """Place an order that cannot be."""
    Order.objects.create(what=what)
    raise ToolError("out of stock")


@server.tool
def where_on_worker(ctx: RequestContext) -> dict[str, Any]:
    """What is around a call on a worker."""
    return surroundings()


@server.tool
def reserve(what: str, ctx: RequestContext) -> str:
    """Place an order, and have it confirmed."""
    number = ctx.once("number", lambda: Order.objects.create(user=user_of(ctx), what=what).pk)
    answer = ctx.ask("sure", Elicit(f"Really order {what}?", Confirm))
    order = Order.objects.get(pk=number)
    if answer.action != "accept" or not answer.content.sure:
        order.delete()
        return "left it"
    order.paid = True
    order.save()
    return f"{order.user} has ordered {order.what} ({Order.objects.filter(what=what).count()})"


@server.tool
def count(ctx: RequestContext) -> int:
    """Count all orders, and say so twice."""
    ctx.report_progress(Order.objects.count())
    return int(Order.objects.count())


@server.tool
# It waits, and would keep all others out of the databases meanwhile.
@transaction.non_atomic_requests(using="default")  # type: ignore[untyped-decorator]
@transaction.non_atomic_requests(using="archive")  # type: ignore[untyped-decorator]
def watch(ctx: RequestContext) -> str:
    """Look at the orders until the client has enough."""
    ctx.report_progress(Order.objects.count())
    return "was left" if ctx.wait(20.0) else "was not"


def surroundings() -> dict[str, Any]:
    return {
        "worker": threading.current_thread().name.startswith("mcpref-worker"),
        "language": translation.get_language(),
        "zone": timezone.get_current_timezone_name(),
        "url": reverse("mcp"),
        "atomic": [alias for alias in connections if connections[alias].in_atomic_block],
    }
