"""Embedding: what a web framework puts around the functions of an application that it hosts.

A framework ties things to the thread and the request it serves: an application context, database connections, a
transaction. Functions here may run on another thread, and one request may run several. So the framework's side
says what belongs around a worker's part of a request, and what around each call; contrib/ has the forms for Flask
and Django.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


class Embedding:
    """One request, as the framework sees it. Made on the host's thread. This one puts nothing around anything."""

    def on_worker(self) -> AbstractContextManager[object]:
        """Called on the host's thread; entered and left on the worker, around everything that runs there."""
        return nullcontext()

    def call(self, fn: Callable[..., Any], invoke: Callable[[], Any]) -> Any:
        """Call ``invoke``, which calls the registered function ``fn``, on whatever thread this is.

        A round that ends with a question returns, as any finished call does: only a failure raises.
        """
        return invoke()
