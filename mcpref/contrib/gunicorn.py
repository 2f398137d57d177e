"""A configuration for gunicorn: ``gunicorn -c python:mcpref.contrib.gunicorn shop:app``.

It sets threads, tells mcpref how many there are, and ends open streams when a worker is told to stop: gunicorn
itself would wait for them until its graceful timeout, and then cut them off. The command line overrides what is set
here. A configuration of your own can have it all by ``from mcpref.contrib.gunicorn import *``, or just the hooks::

    from mcpref.contrib.gunicorn import post_worker_init, worker_exit

gunicorn reads this module before it forks, and before gevent has patched anything: so nothing of mcpref is imported
until a worker runs.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from typing import Any, Final

worker_class = "gthread"
threads = 32
#: Clients send one request after the other; the default of 2 seconds has most of them open a connection for each.
keepalive = 30
graceful_timeout = 20

#: The same for greenlets: there an idle connection holds up the worker's end for as long.
_GREEN_KEEPALIVE: Final = 2
#: How often to look whether a worker is to end.
_LOOK: Final = 0.1
#: How long a gevent worker goes on taking connections after that: they are not to be refused.
_STILL_ACCEPTING: Final = 1.1
#: How long a worker that leaves waits for what still runs; its graceful timeout is over by then.
_AT_EXIT: Final = 5.0


def post_worker_init(worker: Any) -> None:
    """A worker is about to serve."""
    if worker.cfg.preload_app and _is_green(worker):
        raise RuntimeError(
            "--preload does not go with gevent here: the application was imported before gevent could patch "
            "threads and sockets; leave --preload out"
        )
    from ..transport import hosting

    hosting.declare_threads(_count_threads(worker))
    error_log = getattr(worker.log, "error_log", None)
    if error_log is not None:
        error_log.addFilter(_is_worth_logging)
    if _is_green(worker) and worker.cfg.keepalive == keepalive:
        worker.cfg.set("keepalive", _GREEN_KEEPALIVE)
    threading.Thread(target=_end_streams_in_time, args=(worker,), name="mcpref-gunicorn", daemon=True).start()


def _end_streams_in_time(worker: Any) -> None:
    """End streams when the worker ends: told so by a signal, by its number of requests, or because it is alone.

    The worker itself would wait for them, and then cut them off.
    """
    from ..transport import hosting

    while worker.alive and worker.ppid == os.getppid():
        time.sleep(_LOOK)
    if _is_green(worker):
        time.sleep(_STILL_ACCEPTING)
    hosting.close_all()


def worker_exit(server: Any, worker: Any) -> None:
    """A worker leaves, for whatever reason: close what the application has open, or wait until that is done."""
    from ..transport import hosting

    hosting.close_all(_AT_EXIT)


def _is_green(worker: Any) -> bool:
    """Whether requests run on greenlets, of which there may be as many as connections."""
    from gunicorn.workers.base_async import AsyncWorker

    return isinstance(worker, AsyncWorker)


def _count_threads(worker: Any) -> int:
    if _is_green(worker):
        return int(worker.cfg.worker_connections)
    return int(worker.cfg.threads)  # 1 for the sync worker


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """False for a client that did not read, and was cut off: to gunicorn that is an error, with its traceback."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, OSError) and error.errno == errno.ETIMEDOUT)
