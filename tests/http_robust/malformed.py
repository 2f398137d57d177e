"""Generated requests that are wrong in some way, or in several: the same ones for the same seed."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any, NamedTuple

from .clients import LEGACY, MODERN, modern_message

METHODS = [
    "tools/call", "tools/list", "initialize", "ping", "server/discover", "subscriptions/listen", "resources/read",
    "prompts/get", "completion/complete", "logging/setLevel", "notifications/cancelled", "nonsense", "", "rpc.x",
    "notifications/initialized", "resources/subscribe", "tasks/get", "x" * 300,
]  # fmt: skip
VERSIONS = [MODERN, LEGACY, "2025-03-26", "2024-11-05", "1900-01-01", "", "draft", "\u00e9"]
SCALARS: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, 10**30, -(10**400), "", "a", "\x00", "\ud800", "\U0001f600", "x" * 5000, [], {},
    [[]], [None] * 50, {"": ""}, {"_meta": None}, {"name": []},
]  # fmt: skip
RAW = [
    b"", b" ", b"{", b"}", b"[", b"[]", b"[{}]", b"nul", b"NaN", b"Infinity", b'"', b"\xff\xfe{}", b"\xef\xbb\xbf{}",
    b"{}" * 10, b"[" * 5000, b'{"a":' * 2000, b"1e999999", b"9" * 5000, b'{"jsonrpc":"2.0","jsonrpc":"1.0"}', b"\x00",
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0"}', b"-", b"true", b'"\\ud800"', b"{'a': 1}",
]  # fmt: skip


class Malformed(NamedTuple):
    """One request."""

    method: str
    headers: dict[str, str]
    body: bytes


class Generator:
    """Makes requests by breaking good ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def request(self, session_id: str) -> Malformed:
        chance = self._random.random
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if chance() < 0.6:
            headers["MCP-Protocol-Version"] = self._random.choice(VERSIONS[:-1])
        if chance() < 0.5:
            headers["Mcp-Session-Id"] = self._random.choice(
                [session_id, session_id, "0" * 64, "", "x y", "'\""]
            )
        message = self._message()
        if chance() < 0.5:
            headers["Mcp-Method"] = str(
                message.get("method") if chance() < 0.7 else self._random.choice(METHODS)
            )
            name = message.get("params", {})
            headers["Mcp-Name"] = str(name.get("name", "echo")) if isinstance(name, dict) else "echo"
        for _ in range(self._random.randrange(3)):
            self._break_headers(headers)
        body = self._body(message)
        method = (
            "POST"
            if chance() < 0.9
            else self._random.choice(["GET", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"])
        )
        if method == "DELETE" or (method == "GET" and headers.get("Mcp-Session-Id") == session_id):
            headers["Mcp-Session-Id"] = "1" * 64  # the good one must live, and its stream would not end
        safe = {
            name: value.encode("latin-1", "replace").decode("latin-1").replace("\r", "").replace("\n", "")
            for name, value in headers.items()
        }
        return Malformed(method, safe, body)

    def _message(self) -> dict[str, Any]:
        method = self._random.choice(METHODS)
        params: dict[str, Any] = {"name": "echo", "arguments": {"text": "x"}}
        message = modern_message(method, params, self._random.choice([1, "a", 0, -5, "", 2**53]))
        if self._random.random() < 0.5:
            del message["params"]["_meta"]
        for _ in range(self._random.randrange(1, 4)):
            self._break(message)
        if message.get("method") == "subscriptions/listen":
            message["params"] = self._scalar()  # a good one would stay open
        return message

    def _break(self, value: dict[str, Any]) -> None:
        """Change something, somewhere inside."""
        target: Any = value
        for _ in range(self._random.randrange(4)):
            inner = [part for part in target.values() if isinstance(part, dict) and part]
            if not inner:
                break
            target = self._random.choice(inner)
        key = self._random.choice([*target, "extra", "id", "result", "error", "jsonrpc"])
        match self._random.randrange(4):
            case 0:
                target.pop(key, None)
            case 1:
                target[key] = self._scalar()
            case 2:
                target[key] = [target.get(key)]
            case _:
                target[key] = self._nested(self._random.randrange(1, 150))

    def _scalar(self) -> Any:
        return deepcopy(self._random.choice(SCALARS))  # it may be broken again

    def _nested(self, depth: int) -> Any:
        value: Any = 0
        for _ in range(depth):
            value = [value] if self._random.random() < 0.5 else {"a": value}
        return value

    def _break_headers(self, headers: dict[str, str]) -> None:
        name = self._random.choice(
            [
                *headers,
                "Accept",
                "Content-Type",
                "Origin",
                "Last-Event-ID",
                "Mcp-Param-X",
                "MCP-Protocol-Version",
            ]
        )
        if self._random.random() < 0.4:
            headers.pop(name, None)
        else:
            headers[name] = self._random.choice(
                [
                    "",
                    " ",
                    "\x01",
                    "x" * 3000,
                    "=?base64?!!!?=",
                    "null",
                    "*/*",
                    "text/html",
                    "a.1",
                    "\xff",
                    "0",
                    ",;,",
                    *VERSIONS,
                ]
            )

    def _body(self, message: dict[str, Any]) -> bytes:
        shape = self._random.random()
        if shape < 0.15:
            return self._random.choice(RAW)
        if shape < 0.2:
            return self._random.randbytes(self._random.randrange(200))
        body = json.dumps(message).encode()
        if shape < 0.3:
            body = b"[" + b",".join([body] * self._random.randrange(1, 4)) + b"]"
        if shape < 0.5:
            place = self._random.randrange(len(body))
            cut = self._random.choice([b"", b"\x00", b'"', b"{", b"\xc3", b"9" * 20])
            body = body[:place] + cut + body[place + self._random.randrange(3) :]
        return body
