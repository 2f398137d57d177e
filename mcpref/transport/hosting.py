"""What a process knows of the WSGI server that hosts it: how many threads there are, and which applications to end.

No host shows its thread count to an application, and an application inside Flask or Django may be made long after
the host started. So whoever starts the host (``mcpref serve``, the configuration for gunicorn) says it here, for the
whole process, and ends all applications here when a signal comes.

How many threads an application counts on, the first that is known: what it was told itself, its settings,
``MCPREF_THREADS``, what the process was told (here), what the host's name tells (here), and else four.

The lock guards the two names below.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from ..cancellation import Deadline

if TYPE_CHECKING:
    from .wsgi import McpApp

#: Hosts that start a thread for every connection, by how they begin to name themselves: werkzeug's own server
#: (``flask run``) and Django's (``manage.py runserver``).
_THREAD_PER_CONNECTION: Final = ("Werkzeug/", "WSGIServer/")
#: What such a host is taken to have: its threads are not counted by anybody else.
UNCOUNTED_THREADS: Final = 64

_lock = threading.Lock()
_apps: WeakSet[McpApp] = WeakSet()
_threads: int | None = None


def register(app: McpApp) -> None:
    """An application was made."""
    with _lock:
        _apps.add(app)


def declare_threads(threads: int) -> None:
    """The host of this process has so many threads, for applications that were told nothing else."""
    global _threads
    with _lock:
        _threads = threads
        apps = list(_apps)
    for app in apps:
        app.hear_of_threads(threads)


def declared_threads() -> int | None:
    """How many threads the host was said to have; None if nobody said it."""
    return _threads


def threads_by_name(environ: Mapping[str, Any]) -> int | None:
    """How many threads to count on, where the host's name tells; None where it does not."""
    if str(environ.get("SERVER_SOFTWARE", "")).startswith(_THREAD_PER_CONNECTION):
        return UNCOUNTED_THREADS
    return None


def close_all(grace: float | None = None) -> bool:
    """End every application of this process: streams with their closing result, then what runs.

    False if something is stuck. ``grace`` is for all of them together; None takes the longest of theirs. Whoever
    comes second waits for the first.
    """
    with _lock:
        apps = list(_apps)
    for app in apps:
        app.begin_close()  # all of them, before the first is waited for
    if grace is None:
        grace = max((app.settings.shutdown_grace for app in apps), default=0.0)
    deadline = Deadline(grace)
    clean = True
    for app in apps:
        clean = app.close(deadline.remaining()) and clean
    return clean
