"""Lifespan: what a server opens once per process and closes when it ends, like a fixture.

::

    @server.lifespan
    def pool() -> Iterator[Pool]:
        with open_pool() as pool:
            yield pool

    pool().query(...)      # anywhere: no context needed

A value belongs to the process that made it: after a fork the child makes its own. The generator runs without
any lock held; whoever comes second waits for the first, with a deadline.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from ..errors import LocalError

log = logging.getLogger("mcpref.server")

T = TypeVar("T")

#: How long a thread waits for another one that is opening the value.
OPEN_TIMEOUT: Final = 60.0


class Lifespan(Generic[T]):
    """One generator function, its value in this process, and how to get it: call it."""

    def __init__(self, fn: Callable[[], Iterator[T]]) -> None:
        import inspect  # loaded by then: a server with a lifespan has functions registered on it

        if not inspect.isgeneratorfunction(fn):
            raise TypeError(
                "a lifespan is a generator function: it yields one value, and closes it afterwards"
            )
        self._fn = fn
        self.__name__ = getattr(fn, "__name__", "lifespan")
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._opening: threading.Event | None = None
        self._generator: Iterator[T] | None = None
        self._value: list[T] = []

    def __call__(self) -> T:
        """The value, opened now if it is not open yet."""
        if self._value:
            return self._value[0]
        with self._lock:
            opening = self._opening
            if opening is None:
                self._opening = threading.Event()
        if opening is None:
            self._open()
        elif not opening.wait(OPEN_TIMEOUT):
            raise LocalError(f"{self.__name__} was not opened within {OPEN_TIMEOUT:g} seconds")
        if not self._value:
            raise LocalError(f"{self.__name__} could not be opened; the log says why")
        return self._value[0]

    def _open(self) -> None:
        assert self._opening is not None
        try:
            generator = self._fn()
            self._value.append(next(generator))
            self._generator = generator
        except BaseException as error:
            with self._lock:
                opened, self._opening = self._opening, None  # the next caller tries again
            opened.set()
            if isinstance(error, StopIteration):
                raise LocalError(f"{self.__name__} must yield exactly one value") from None
            raise
        self._opening.set()

    def close(self) -> None:
        """Run the generator to its end. What it raises is logged: the rest must be closed too."""
        with self._lock:
            generator, self._generator = self._generator, None
            self._opening = None
            self._value = []
        if generator is None:
            return
        try:
            next(generator)
        except StopIteration:
            return
        except Exception:
            log.exception("%s failed to close", self.__name__)
            return
        log.error("%s yielded twice; a lifespan yields one value", self.__name__)


AnyLifespan = Lifespan[Any]
