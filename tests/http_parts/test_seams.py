"""The in-memory seams keep the contracts that any others must keep."""

from __future__ import annotations

from mcpref import Settings
from mcpref.transport.runtime import Seams, memory_seams

from . import contracts


class InMemory(contracts.Contract):
    def make(self, settings: Settings) -> Seams:
        return memory_seams(settings)


class TestSessions(InMemory, contracts.SessionsContract):
    pass


class TestStreams(InMemory, contracts.StreamsContract):
    pass


class TestReplies(InMemory, contracts.RepliesContract):
    pass


class TestCancels(InMemory, contracts.CancelsContract):
    pass
