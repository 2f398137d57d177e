"""``notifications/elicitation/complete``: 2025-11-25 alone has it; only the client that was sent there hears it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpref import McpServer, RequestContext
from mcpref.errors import RequestTimeout
from mcpref.testing import connect

ID = "visit-1"


def make_server() -> McpServer:
    server = McpServer("visits", version="1")

    @server.tool
    def visit(ctx: RequestContext) -> str:
        """Send the user to a page, and say when they are back."""
        if ctx.client_supports("elicitation.url"):
            ctx.elicit_url("Please sign in", "https://example.com/sign-in", ID)
        ctx.complete_elicitation(ID)
        return "done"

    return server


def accept(question: Any) -> dict[str, Any]:
    return {"action": "accept"}


@pytest.mark.req("2025-11-25:elicitation.complete-id", "2025-11-25:elicitation.complete-target")
def test_the_client_that_was_sent_there_is_told() -> None:
    server = make_server()
    with (
        connect(server, "2025-11-25", on_elicit=accept) as sent,
        connect(server, "2025-11-25", on_elicit=accept) as other,
    ):
        sent.call_tool("visit")
        told = sent.next_notification("notifications/elicitation/complete")
        assert told.params == {"elicitationId": ID}
        asked = next(message for message in sent.messages if message["method"] == "elicitation/create")
        assert asked["params"]["elicitationId"] == ID
        other.request("ping")
        assert other.messages == []


@pytest.mark.req("2026-07-28:elicitation.no-elicitation-id")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28"])
def test_no_other_revision_has_it(version: str) -> None:
    with connect(make_server(), version) as peer:
        peer.call_tool("visit")
        with pytest.raises(RequestTimeout):
            peer.next_notification("notifications/elicitation/complete", timeout=0.1)
