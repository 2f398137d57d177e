"""Ten thousand generated malformed messages: never a 500, and an innocent call is always answered."""

from __future__ import annotations

import io
import json
import logging
import socket
from collections import Counter
from typing import Any

import pytest

from mcpref.transport.wsgi import McpApp
from tests.threads import together

from .clients import Connection
from .hosts import Host, comes_to_rest, every_host, fixed
from .malformed import Generator, Malformed
from .served import build, count

SEED = 20260728


def serve(app: McpApp, request: Malformed) -> tuple[int, dict[str, str], bytes]:
    """One request in memory; its status, headers and body."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": "/mcp",
        "SCRIPT_NAME": "",
        "QUERY_STRING": "",
        "HTTP_HOST": "localhost",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "CONTENT_LENGTH": str(len(request.body)),
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
    }
    for name, value in request.headers.items():
        if name != "Content-Type":
            environ["HTTP_" + name.upper().replace("-", "_")] = value
    head: list[Any] = []
    body = app(environ, lambda status, headers: head.extend((status, headers)))
    try:
        data = b"".join(body)
    finally:
        close = getattr(body, "close", None)
        if close is not None:
            close()
    return int(head[0].split()[0]), dict(head[1]), data


def good(message: dict[str, Any], **headers: str) -> Malformed:
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    return Malformed(
        "POST",
        {**given, **{k.replace("_", "-"): v for k, v in headers.items()}},
        json.dumps(message).encode(),
    )


def initialize(app: McpApp) -> str:
    params = {
        "protocolVersion": "2025-03-26",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    status, headers, _ = serve(
        app, good({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    )
    assert status == 200
    sid = headers["Mcp-Session-Id"]
    serve(app, good({"jsonrpc": "2.0", "method": "notifications/initialized"}, Mcp_Session_Id=sid))
    return sid


def canary(app: McpApp, sid: str, number: int) -> None:
    text = f"canary {number}"
    params = {"name": "echo", "arguments": {"text": text}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    status, _, body = serve(app, good(message, Mcp_Session_Id=sid))
    assert status == 200
    answer = json.loads(body)
    assert answer["id"] == number
    assert answer["result"]["content"][0]["text"] == text


def test_ten_thousand_malformed_messages_in_memory(caplog: pytest.LogCaptureFixture) -> None:
    app = build(max_sessions=20)
    generator = Generator(SEED)
    sid = initialize(app)
    statuses: Counter[int] = Counter()
    with caplog.at_level(logging.ERROR):
        for number in range(10_000):
            request = generator.request(sid)
            status, headers, body = serve(app, request)
            statuses[status] += 1
            assert status < 500, (number, request, body)
            assert b"Traceback" not in body
            if body and headers.get("Content-Type") == "application/json":
                json.loads(body)
            if number % 250 == 0:
                canary(app, sid, number)
    assert not caplog.records, caplog.records[0].getMessage()
    assert set(statuses) >= {200, 202, 400, 404, 405, 415}, statuses
    left = {name: value for name, value in count(app).items() if value > 0}
    assert not left
    assert app.close(5)


@every_host
def test_malformed_messages_on_the_wire(host: Host) -> None:
    with host() as client:
        sid = client.session().id
        generator = Generator(SEED + 1)
        requests = [generator.request(sid) for _ in range(500)]

        def send(some: list[Malformed]) -> list[int]:
            statuses = []
            for request in some:
                with Connection(client.port) as connection:
                    connection.head(
                        request.method, {**request.headers, "Content-Length": str(len(request.body))}
                    )
                    try:
                        connection.send(request.body)
                        statuses.append(connection.begin())
                    except (ConnectionError, BrokenPipeError):
                        statuses.append(0)
            return statuses

        sent = together(*[lambda place=place: send(requests[place::5]) for place in range(5)])
        statuses = Counter(status for some in sent for status in some)
        assert not [status for status in statuses if status >= 500 and status != 501], statuses
        assert statuses[400] > 50
        client.canary()
        comes_to_rest(client)


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ten\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X-A: b\r\n" * 200 + b"\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"\xff" * 1000,
    ],
)
def test_what_is_hardly_http(raw: bytes) -> None:
    with fixed() as client:
        with Connection(client.port) as connection:
            received = b""
            try:
                connection.send(raw)
                connection.socket.shutdown(socket.SHUT_WR)
                while data := connection.socket.recv(65536):
                    received += data
            except OSError:
                pass  # it has hung up already
            assert b" 500 " not in received[:20]
            assert b" 200 " not in received[:20]
            assert b"Traceback" not in received
        client.canary()
        comes_to_rest(client)
