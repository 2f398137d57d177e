"""What other implementations' clients, and the programs that start servers for them, have stumbled over."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.threads import PATIENCE

ENDS_ITSELF = """
import os, signal, sys
from mcpref import McpServer

class Stderr:
    def write(self, text):
        if "serving" in text:
            os.kill(os.getpid(), signal.{name})
        return sys.__stderr__.write(text)
    def flush(self):
        sys.__stderr__.flush()

sys.stderr = Stderr()
McpServer("brief").run("http", port=0)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_with_the_announcement_ends_the_server_in_order(name: str) -> None:
    # A supervisor that waits for the line with the URL may have nothing to do but to end the server again.
    done = subprocess.run(
        [sys.executable, "-c", ENDS_ITSELF.format(name=name)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert f"{name}: shutting down" in done.stderr
