"""A server for each test, on both wires; nothing of it may be left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from mcpref import McpServer
from tests.http.support import HttpClient
from tests.http.wires import MemoryWire, SocketWire, Wire
from tests.threads import eventually

#: Serves a server and gives a client for it; the options are `McpServer.wsgi_app`'s, and ``environ`` in memory.
Serve: TypeAlias = Callable[..., HttpClient]


class Hosts:
    """The applications that one test serves."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.clients: list[HttpClient] = []
        self._wires: list[Wire] = []

    def serve(
        self,
        server: McpServer,
        *,
        threads: int = 32,
        wrap: Callable[[Any], Any] = lambda app: app,
        environ: dict[str, Any] | None = None,
        **options: Any,
    ) -> HttpClient:
        app = server.wsgi_app(threads=threads, **options)
        wrapped = wrap(app)
        wire: Wire = (
            MemoryWire(wrapped, environ or {})
            if self.kind == "memory"
            else SocketWire(_told(wrapped, environ))
        )
        client = HttpClient(app, wire)
        self._wires.append(wire)
        self.clients.append(client)
        return client

    def close(self) -> None:
        for client in self.clients:
            client.finish()
        for client in self.clients:
            runtime = client.app.runtime
            eventually(lambda runtime=runtime: runtime.requests == 0)  # type: ignore[misc]
            eventually(lambda runtime=runtime: runtime.budget.parked == 0)  # type: ignore[misc]
            assert client.app.close(grace=10.0), "a handler is stuck"
            assert len(runtime.seams.replies) == 0, "somebody still waits for an answer"  # type: ignore[arg-type]
            assert len(runtime.seams.cancels) == 0, "a request is still running"  # type: ignore[arg-type]
        for wire in self._wires:
            wire.close()


def _told(app: Any, environ: dict[str, Any] | None) -> Any:
    """The application on a host that says these things of itself."""
    if not environ:
        return app
    return lambda found, start_response: app({**found, **environ}, start_response)


@pytest.fixture(params=["memory", "socket"])
def hosts(request: pytest.FixtureRequest) -> Iterator[Hosts]:
    hosts = Hosts(request.param)
    yield hosts
    hosts.close()


@pytest.fixture
def serve(hosts: Hosts) -> Serve:
    return hosts.serve
