"""RequestScope: what one request knows, and how it passes on what the transport can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mcpref import Auth, CancellationToken, NullContext, ProtocolVersion, RequestCancelled, Roots
from mcpref.errors import InternalError, InvalidRequest
from mcpref.jsonrpc import Notification, Request
from mcpref.meta import MetaKey
from mcpref.server.inbound import Offer, route
from mcpref.server.push import ListenStream
from mcpref.server.scope import RequestScope
from mcpref.server.state import ConnectionState, ServerMode
from mcpref.subscriptions import SubscriptionFilter

from .support import MODERN, LocalContext, meta

OFFER = Offer({"tools": {}, "logging": {}}, ServerMode.STATEFUL, require_initialized=False)


class SessionContext(LocalContext):
    """A context of a transport with sessions: it has a token, headers, and a place for streams."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.streams: list[ListenStream] = []

    @property
    def connection_token(self) -> str:
        return "session-1"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"mcp-session-id": "session-1"}

    def open_stream(self, stream: ListenStream) -> None:
        self.streams.append(stream)


def scope_of(
    inner: LocalContext,
    params: Mapping[str, Any] | None = None,
    *,
    modern: bool = False,
    token: CancellationToken | None = None,
) -> RequestScope:
    sent = dict(params or {})
    if modern:
        sent["_meta"] = {**meta(), **sent.get("_meta", {})}
    message = Request("r1", "tools/list", sent)
    return RequestScope(inner, route(message, inner.state, OFFER), token)


@pytest.mark.parity(37)
def test_it_tells_what_only_the_request_tells() -> None:
    legacy = scope_of(LocalContext("2025-06-18", {"roots": {}}))
    assert (legacy.is_stateless, legacy.protocol_version) == (False, ProtocolVersion.V2025_06_18)
    assert legacy.client_capabilities == {"roots": {}}
    assert (legacy.input_responses, legacy.request_state) == ({}, "")

    fields = {MetaKey.CLIENT_CAPABILITIES: {"sampling": {}}, "progressToken": "t", "com.example/k": 1}
    modern = scope_of(LocalContext("2025-06-18", {"roots": {}}), {"_meta": fields}, modern=True)
    assert (modern.is_stateless, modern.protocol_version) == (True, ProtocolVersion.V2026_07_28)
    assert modern.client_capabilities == {"sampling": {}}
    assert modern.client_info == {"name": "tests", "version": "1"}
    assert (modern.request_id, modern.method) == ("r1", "tools/list")
    assert (modern.progress_token, modern.meta["com.example/k"]) == ("t", 1)


@pytest.mark.parity(37)
def test_answers_and_state_of_a_request_are_its_own() -> None:
    one, other = scope_of(LocalContext(), modern=True), scope_of(LocalContext(), modern=True)
    one.input_responses = {"confirm": {"action": "accept"}}
    one.request_state = "kept"
    assert one.is_resubmit
    assert one.has_input_response("confirm")
    assert (other.is_resubmit, other.request_state) == (False, "")


@pytest.mark.parity(38)
def test_it_hands_on_what_the_transport_knows() -> None:
    inner = SessionContext(auth=Auth("ann", frozenset({"read"})))
    scope = scope_of(inner)
    assert scope.inner is inner
    assert scope.connection_token == "session-1"
    assert scope.headers == {"mcp-session-id": "session-1"}
    assert scope.state is inner.state
    assert scope.auth == Auth("ann", frozenset({"read"}))
    assert scope.has_back_channel


@pytest.mark.parity(33)
def test_the_connection_token_is_empty_where_there_is_no_session() -> None:
    assert scope_of(LocalContext()).connection_token == ""
    assert scope_of(SessionContext()).connection_token == "session-1"


@pytest.mark.parity(38)
def test_it_hands_on_what_leaves() -> None:
    inner = SessionContext(capabilities={"roots": {}}, answers={"roots/list": {"roots": []}})
    scope = scope_of(inner, {"_meta": {"progressToken": 1}})
    scope.report_progress(1, 2)
    scope.log("error", "x")
    assert [message.method for message in inner.sent] == ["notifications/progress", "notifications/message"]
    assert scope.client_supports("roots")
    assert scope.request("roots/list", {"k": 1}, 5) == {"roots": []}
    assert inner.asked == [("roots/list", {"k": 1})]
    stream = ListenStream("r1", SubscriptionFilter(), scope.token)
    scope.open_stream(stream)
    assert inner.streams == [stream]


@pytest.mark.parity(39)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("transports", [False, True])
def test_it_is_cancelled_by_its_own_token_or_by_the_transport(own: bool, transports: bool) -> None:
    inner = LocalContext()
    scope = scope_of(inner)
    inner.cancelled = transports
    if own:
        scope.token.cancel()
    assert scope.is_cancelled is (own or transports)
    assert scope.wait(0) is (own or transports)
    if own or transports:
        with pytest.raises(RequestCancelled):
            scope.check_cancelled()
    else:
        scope.check_cancelled()


@pytest.mark.parity(39)
def test_a_token_may_be_given() -> None:
    token = CancellationToken()
    scope = scope_of(LocalContext(), token=token)
    token.cancel("gone")
    assert scope.is_cancelled
    assert scope.token is token


@pytest.mark.parity(40)
def test_the_version_does_not_change_under_a_running_request() -> None:
    inner = LocalContext("2025-03-26")
    scope = scope_of(inner)
    inner.state.negotiate(ProtocolVersion.V2025_11_25, {"roots": {}}, None)
    assert scope.protocol_version is ProtocolVersion.V2025_03_26
    assert scope_of(inner).protocol_version is ProtocolVersion.V2025_11_25
    assert scope_of(inner, modern=True).protocol_version is ProtocolVersion(MODERN)


# ---- Guards -----------------------------------------------------------------------------------------------


@pytest.mark.parity(49)
@pytest.mark.req("2026-07-28:base.server-no-requests", "2026-07-28:mrtr.only-path")
def test_no_request_leaves_a_modern_one() -> None:
    inner = LocalContext(answers={"roots/list": {"roots": []}})
    scope = scope_of(inner, modern=True)
    assert not scope.has_back_channel
    with pytest.raises(InternalError, match="roots/list"):
        scope.request("roots/list", {}, 5)
    assert inner.asked == []


def test_no_question_leaves_a_cancelled_one() -> None:
    inner = LocalContext(answers={"roots/list": {"roots": []}})
    scope = scope_of(inner)
    scope.token.cancel()
    with pytest.raises(RequestCancelled):
        scope.request("roots/list", {}, 5)
    assert inner.asked == []


def test_nothing_leaves_once_it_is_answered() -> None:
    inner = LocalContext()
    scope = scope_of(inner, {"_meta": {"progressToken": 1}})
    scope.close()
    scope.report_progress(1)
    scope.send(Notification("notifications/message", {}))
    assert inner.sent == []


def test_asking_outside_of_rounds_names_the_method() -> None:
    scope = scope_of(LocalContext())
    with pytest.raises(InvalidRequest, match="tools/list"):
        scope.ask("roots", Roots())
    with pytest.raises(InvalidRequest, match="tools/list"):
        scope.once("x", lambda: 1)


def test_a_state_that_nobody_keeps_has_the_defaults() -> None:
    scope = RequestScope(NullContext(), route(Request(1, "tools/list"), ConnectionState(), OFFER))
    assert scope.state is None
    assert [scope.log_enabled(level) for level in ("debug", "info")] == [False, True]
    scope.log("info", "dropped")
