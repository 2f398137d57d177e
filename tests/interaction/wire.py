"""A client that works on bare lines: what is sent and what arrives is not looked at by any code of ours."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from mcpref import McpServer
from mcpref.cancellation import Deadline
from mcpref.transport.duplex import FdStream
from mcpref.transport.stdio import StdioConnection
from tests.server.support import MODERN, PATIENCE, meta


class Wire:
    """Two pipes to a server. ``with Wire(server, "2025-03-26") as wire``: the handshake is done."""

    def __init__(
        self,
        server: McpServer,
        version: str = MODERN,
        *,
        capabilities: Mapping[str, Any] | None = None,
        initialize: bool = True,
    ) -> None:
        to_server, self._write = os.pipe()
        self._read, to_client = os.pipe()
        self.version = version
        self.lines: list[bytes] = []
        """Every line that arrived, as bytes."""
        self._rest = b""
        self._server = server
        server.start()
        self.connection = StdioConnection(server, FdStream(to_server, to_client))
        self.connection.start()
        if initialize and version != MODERN:
            params = {
                "protocolVersion": version,
                "capabilities": dict(capabilities or {}),
                "clientInfo": {"name": "wire", "version": "1"},
            }
            self.request("initialize", params, id="initialize")
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: object) -> None:
        """Put one line on the wire: bytes as they are, anything else as JSON."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        os.write(self._write, line + b"\n")

    def receive(self) -> Any:
        """The next line, parsed."""
        end = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            readable, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert readable, "nothing came"
            chunk = os.read(self._read, 65536)
            assert chunk, "the server closed the connection"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        self.lines.append(line)
        return json.loads(line)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        id: object = 1,
        capabilities: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send a request of this wire's revision and return the next line."""
        sent = dict(params or {})
        if self.version == MODERN:
            sent["_meta"] = {**meta(capabilities), **sent.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": sent})
        return self.receive()

    def close(self) -> None:
        os.close(self._write)
        deadline = Deadline(PATIENCE)
        assert self.connection.finished.wait(PATIENCE)
        assert self.connection.shut_down(deadline)
        self._server.close()
        os.close(self._read)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()
