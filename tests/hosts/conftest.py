"""One process per host for the probes that leave it running."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from .processes import Host, HostProcess, running


@pytest.fixture(scope="session")
def shared() -> Iterator[Callable[[Host], HostProcess]]:
    """The process of a host, started when it is first asked for."""
    started: dict[str, HostProcess] = {}
    with ExitStack() as stack:

        def process_of(host: Host) -> HostProcess:
            if host.name not in started or started[host.name].process.poll() is not None:
                started[host.name] = stack.enter_context(running(host))
            return started[host.name]

        yield process_of
