"""What Django puts around the functions of an `McpServer`: transactions, connections, language and time zone.

**Threads.** A function without a context runs on the thread that Django serves the request on; one that takes a
context runs on a worker, with database connections of its own. They are treated there as Django treats a request's:
closed when they are older than CONN_MAX_AGE, checked if CONN_HEALTH_CHECKS says so, before and after each request.
A thread that only waits, for its worker or for the next event of a stream, holds none that CONN_MAX_AGE does not
keep: a pool of connections that all waiting threads held would have none left for those they wait for.

**Transactions.** With ATOMIC_REQUESTS each call of a function is a transaction, on the thread that runs it; not the
view, which may run none or, with a batch, several. What the function raises rolls it back, a `ToolError` too. A round
that ends with a question returns, and so commits: what it wrote is there when the next round comes with its id.

Up to 2025-11-25 ``ctx.ask`` waits for the user inside the function, and so inside its transaction, for minutes maybe.
A function that asks is better marked ``@transaction.non_atomic_requests``, with ``atomic()`` blocks of its own where
it writes, after the question. A block *around* ``ask`` is undone by a modern round that ends there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from django.db import close_old_connections, connections, reset_queries, transaction
from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation

from ...server.embedding import Embedding

log = logging.getLogger("mcpref.contrib.django")


class DjangoEmbedding(Embedding):
    """Keeps nothing of a request, so that one serves all."""

    def on_worker(self) -> AbstractContextManager[object]:
        release_connections()  # this thread only waits from now on
        return _workers_part(
            translation.get_language(), timezone.get_current_timezone(), get_script_prefix(), get_urlconf()
        )

    def call(self, fn: Callable[..., Any], invoke: Callable[[], Any]) -> Any:
        aliases = atomic_aliases(fn)
        if not aliases:
            return invoke()
        with ExitStack() as transactions:
            for alias in aliases:
                transactions.enter_context(transaction.atomic(using=alias))
            return invoke()


def atomic_aliases(fn: Callable[..., Any]) -> list[str]:
    """The databases on which a call of ``fn`` is a transaction, as Django decides it for a view."""
    exempt = getattr(fn, "_non_atomic_requests", ())  # what @transaction.non_atomic_requests leaves
    return [
        alias
        for alias, options in connections.settings.items()
        if options["ATOMIC_REQUESTS"] and alias not in exempt
    ]


def release_connections() -> None:
    """Close what this thread would close at the end of its request, because it has to wait until then."""
    for connection in connections.all(initialized_only=True):
        # Somebody's transaction around the whole request, such as a TestCase's, goes on.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@contextmanager
def _workers_part(language: str | None, zone: Any, prefix: str, urlconf: str | None) -> Iterator[None]:
    # What Django keeps per thread does not come along with the context that a task runs in, though it looks like a
    # context variable: asgiref marks it with its thread. But it goes with that context, so there is nothing to undo.
    if language is None:
        translation.deactivate_all()
    else:
        translation.activate(language)
    timezone.activate(zone)
    set_script_prefix(prefix)
    set_urlconf(urlconf)
    close_old_connections()
    reset_queries()
    try:
        yield
    finally:
        close_old_connections()
        _close_at_end_of_thread()


# ---- Workers that end -------------------------------------------------------------------------------------


class _Kept:
    """The connections that a worker keeps for its next request. Goes with the thread, and closes them then."""

    __slots__ = ("connections",)

    def __init__(self) -> None:
        self.connections: list[Any] = []

    def __del__(self) -> None:
        for connection in self.connections:
            try:
                connection.inc_thread_sharing()  # on gevent another greenlet comes by here
                connection.close()
            except Exception as error:
                log.warning("a connection that its thread left open could not be closed: %s", error)


_of_thread = threading.local()


def _close_at_end_of_thread() -> None:
    """A worker that is idle for long ends; nobody else would close what CONN_MAX_AGE let it keep."""
    kept = connections.all(initialized_only=True)
    if hasattr(_of_thread, "kept"):
        _of_thread.kept.connections = kept
    elif any(connection.connection is not None for connection in kept):
        _of_thread.kept = _Kept()
        _of_thread.kept.connections = kept
