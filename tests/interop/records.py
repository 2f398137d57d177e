"""Records of what passes between a client and a server: one JSON object per line, written as it happens.

The standard library alone, and nothing of the protocol: what is recorded can be wrong in any way.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from pathlib import Path
from typing import Any, TextIO


class Recorder:
    """Writes records to a file; called from every thread of the server."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._begin = time.monotonic()

    def record(self, **fields: Any) -> None:
        with self._lock:
            at = round(time.monotonic() - self._begin, 4)
            self._out.write(json.dumps({"at": at, **fields}) + "\n")
            self._out.flush()


def create_next(prefix: Path) -> TextIO:
    """Create `<prefix>.<n>.jsonl` with the first free number: a client may start several servers at once."""
    for number in itertools.count():
        try:
            return open(f"{prefix}.{number}.jsonl", "x", encoding="utf-8")
        except FileExistsError:
            continue
    raise AssertionError("the numbers do not end")
