"""A server whose module prints, reads and starts a child that prints, while it is imported."""

from __future__ import annotations

import os
import subprocess
import sys

from mcpref import McpServer

print("printed at import")
sys.stdout.flush()
print("still in the buffer")
os.write(1, b"written to descriptor 1 at import\n")
print(f"read at import: {sys.stdin.read()!r}")
subprocess.run(["echo", "printed by a child at import"], check=True, timeout=30)

server = McpServer("noisy", version="1")


@server.tool
def echo(text: str) -> str:
    return text
