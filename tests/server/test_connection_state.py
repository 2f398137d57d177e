"""ConnectionState by itself: its lifecycle against a model, and its tables under several threads."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mcpref.cancellation import CancellationToken
from mcpref.errors import InvalidRequest
from mcpref.jsonrpc import RequestId
from mcpref.server.state import LIFECYCLE, ConnectionState, Lifecycle
from mcpref.versions import ProtocolVersion
from tests.threads import restless, together

CAPABILITIES = [{}, {"roots": {}}, {"sampling": {}, "elicitation": {"url": {}}}]
URIS = ["file:///a", "file:///b"]
IDS: list[RequestId] = [0, 1, "", "1", -1, 2**70]

# ---- The handshake ---------------------------------------------------------------------------------------


@pytest.mark.parity(1)
def test_a_fresh_state_is_new_and_knows_nothing() -> None:
    state = ConnectionState()
    assert state.lifecycle is Lifecycle.NEW
    assert state.negotiated is ProtocolVersion.V2025_11_25
    assert (state.client_capabilities, state.client_info, state.log_level) == ({}, None, "info")
    assert (state.subscriptions, state.in_flight) == (frozenset(), {})
    assert not state.initialize_processed
    assert not state.initialized


@pytest.mark.parity(2)
def test_two_fresh_states_share_no_object_that_can_change() -> None:
    one, other = ConnectionState(), ConnectionState()
    assert one.client_capabilities is not other.client_capabilities
    one.track(1, CancellationToken())
    one.subscribe(URIS[0])
    assert (other.in_flight, other.subscriptions) == ({}, frozenset())


def test_the_lifecycle_has_two_steps_and_no_others() -> None:
    assert LIFECYCLE == {
        (Lifecycle.NEW, "initialize"): Lifecycle.NEGOTIATED,
        (Lifecycle.NEGOTIATED, "notifications/initialized"): Lifecycle.READY,
    }


@pytest.mark.parametrize("initialized", [False, True], ids=["before", "after"])
def test_a_second_initialize_changes_nothing(initialized: bool) -> None:
    state = ConnectionState()
    state.negotiate(ProtocolVersion.V2025_03_26, {"roots": {}}, {"name": "first"})
    if initialized:
        state.mark_initialized()
    with pytest.raises(InvalidRequest, match="already initialized"):
        state.negotiate(ProtocolVersion.V2024_11_05, {"sampling": {}}, {"name": "second"})
    assert state.negotiated is ProtocolVersion.V2025_03_26
    assert (state.client_capabilities, state.client_info) == ({"roots": {}}, {"name": "first"})
    assert state.initialized is initialized


def test_a_server_without_the_guard_takes_the_second_one_and_starts_over() -> None:
    state = ConnectionState()
    state.negotiate(ProtocolVersion.V2025_03_26, {}, None)
    state.mark_initialized()
    state.negotiate(ProtocolVersion.V2024_11_05, {"sampling": {}}, {"name": "second"}, again=True)
    assert state.negotiated is ProtocolVersion.V2024_11_05
    assert state.client_capabilities == {"sampling": {}}
    assert state.lifecycle is Lifecycle.NEGOTIATED


def test_initialized_without_initialize_changes_nothing() -> None:
    state = ConnectionState()
    state.mark_initialized()
    assert state.lifecycle is Lifecycle.NEW


def test_of_several_initializes_at_once_exactly_one_is_taken() -> None:
    def attempt(state: ConnectionState, number: int) -> bool:
        try:
            state.negotiate(ProtocolVersion.V2025_06_18, {"n": {"number": number}}, {"name": str(number)})
        except InvalidRequest:
            return False
        return True

    with restless():
        for _ in range(200):
            state = ConnectionState()
            taken = together(*[partial(attempt, state, number) for number in range(4)])
            assert taken.count(True) == 1
            winner = taken.index(True)
            assert state.client_capabilities == {"n": {"number": winner}}
            assert state.client_info == {"name": str(winner)}


# ---- Any messages in any order, against a model ----------------------------------------------------------


class Conversation(RuleBasedStateMachine):
    """What a peer may send in any order; the model is written down a second time, as plainly as can be."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ConnectionState()
        self.steps = 0
        self.version = ProtocolVersion.V2025_11_25
        self.capabilities: Any = {}
        self.level = "info"
        self.subscriptions: set[str] = set()
        self.running: list[tuple[RequestId, CancellationToken]] = []
        self.extra: list[tuple[RequestId, CancellationToken]] = []
        self.cancelled: list[CancellationToken] = []
        self.by_client: list[CancellationToken] = []

    @rule(version=st.sampled_from(ProtocolVersion), capabilities=st.sampled_from(CAPABILITIES))
    def initialize(self, version: ProtocolVersion, capabilities: Any) -> None:
        if self.steps == 0:
            self.state.negotiate(version, capabilities, None)
            self.steps, self.version, self.capabilities = 1, version, capabilities
        else:
            with pytest.raises(InvalidRequest):
                self.state.negotiate(version, capabilities, None)

    @rule(version=st.sampled_from(ProtocolVersion))
    def initialize_again(self, version: ProtocolVersion) -> None:
        self.state.negotiate(version, {}, None, again=True)
        self.steps, self.version, self.capabilities = 1, version, {}

    @rule()
    def initialized(self) -> None:
        self.state.mark_initialized()
        if self.steps == 1:
            self.steps = 2

    @rule(level=st.sampled_from(["debug", "error"]))
    def set_level(self, level: str) -> None:
        self.state.set_log_level(level)
        self.level = level

    @rule(uri=st.sampled_from(URIS))
    def subscribe(self, uri: str) -> None:
        self.state.subscribe(uri)
        self.subscriptions.add(uri)

    @rule(uri=st.sampled_from(URIS))
    def unsubscribe(self, uri: str) -> None:
        self.state.unsubscribe(uri)
        self.subscriptions.discard(uri)

    @rule(request_id=st.sampled_from(IDS))
    def start(self, request_id: RequestId) -> None:
        token = CancellationToken()
        free = all(not same_id(request_id, other) for other, _ in self.running)
        assert self.state.track(request_id, token) is free
        (self.running if free else self.extra).append((request_id, token))

    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        if self.running:
            entry = data.draw(st.sampled_from(self.running))
            self.state.untrack(*entry)
            self.running.remove(entry)

    @rule(data=st.data())
    def finish_untracked(self, data: st.DataObject) -> None:
        if self.extra:
            entry = data.draw(st.sampled_from(self.extra))
            self.state.untrack(*entry)
            self.extra.remove(entry)

    @rule(request_id=st.sampled_from([*IDS, None, True, 1.0, "unknown", [1], {}]))
    def cancel(self, request_id: object) -> None:
        token = next((token for other, token in self.running if same_id(request_id, other)), None)
        assert self.state.cancel(request_id, "why") is (token is not None)
        if token is not None:
            self.cancelled.append(token)
            self.by_client.append(token)

    @rule()
    def cancel_all(self) -> None:
        self.state.cancel_all("the end")
        self.cancelled += [token for _, token in self.running]

    @invariant()
    def agrees_with_the_model(self) -> None:
        state = self.state
        assert state.lifecycle is (Lifecycle.NEW, Lifecycle.NEGOTIATED, Lifecycle.READY)[self.steps]
        assert (state.initialize_processed, state.initialized) == (self.steps > 0, self.steps > 1)
        assert (state.negotiated, state.client_capabilities) == (self.version, self.capabilities)
        assert state.log_level == self.level
        assert state.subscriptions == self.subscriptions
        assert all(state.is_subscribed(uri) is (uri in self.subscriptions) for uri in URIS)
        assert list(state.in_flight.items()) == self.running
        for _, token in self.running + self.extra:
            assert token.cancelled is (token in self.cancelled)
            assert token.suppresses_response is (token in self.by_client)


def same_id(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


Conversation.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestConversation = pytest.mark.parity(28, 30, 31)(Conversation.TestCase)


# ---- The table of running requests -----------------------------------------------------------------------


@pytest.mark.parity(30)
def test_the_tables_that_are_handed_out_are_copies() -> None:
    state = ConnectionState()
    state.track(1, CancellationToken())
    state.subscribe(URIS[0])
    seen, subscribed = state.in_flight, state.subscriptions
    seen.clear()
    state.unsubscribe(URIS[0])
    assert list(state.in_flight) == [1]
    assert subscribed == {URIS[0]}


@pytest.mark.parity(31)
@pytest.mark.req("cancel.ignore-invalid")
def test_a_cancellation_that_comes_after_the_end_is_ignored() -> None:
    state = ConnectionState()
    token = CancellationToken()
    state.track("a", token)
    state.untrack("a", token)
    assert not state.cancel("a")
    assert not token.cancelled


def test_a_callback_of_a_cancelled_token_may_use_the_state() -> None:
    # The lock must not be held while a token is cancelled: whoever it wakes comes back to the state.
    state = ConnectionState()
    token = CancellationToken()
    state.track(1, token)
    token.on_cancel(lambda: state.untrack(1, token))
    assert state.cancel(1)
    assert state.in_flight == {}
    state.track(2, second := CancellationToken())
    second.on_cancel(lambda: state.untrack(2, second))
    state.cancel_all("the end")
    assert state.in_flight == {}


@pytest.mark.req("2025-11-25:cancel.race", "2026-07-28:cancel.races")
def test_a_cancellation_that_crosses_the_end_of_its_request_finds_it_or_does_not() -> None:
    with restless():
        for _ in range(300):
            state = ConnectionState()
            token = CancellationToken()
            state.track(7, token)
            found, _ = together(partial(state.cancel, 7), partial(state.untrack, 7, token))
            assert token.cancelled is found
            assert state.in_flight == {}


@pytest.mark.parity(30)
def test_of_several_requests_of_one_id_exactly_one_is_tracked() -> None:
    with restless():
        for _ in range(200):
            state = ConnectionState()
            tokens = [CancellationToken() for _ in range(4)]
            tracked = together(*[partial(state.track, 7, token) for token in tokens])
            assert tracked.count(True) == 1
            kept = tokens[tracked.index(True)]
            assert state.in_flight == {7: kept}
            together(*[partial(state.untrack, 7, token) for token in tokens if token is not kept])
            assert state.in_flight == {7: kept}


def test_everything_tracked_before_the_end_is_cancelled_by_it() -> None:
    state = ConnectionState()
    tokens = {number: CancellationToken() for number in range(100)}
    for number, token in tokens.items():
        state.track(number, token)

    def come_and_go() -> None:
        for number in range(1000, 1400):
            token = CancellationToken()
            assert state.track(number, token)
            state.untrack(number, token)

    with restless():
        together(come_and_go, come_and_go_elsewhere(state), partial(state.cancel_all, "the end"))
    assert all(token.cancelled and not token.suppresses_response for token in tokens.values())
    assert state.in_flight == tokens


def come_and_go_elsewhere(state: ConnectionState) -> Any:
    def run() -> None:
        for number in range(400):
            state.subscribe(f"file:///{number}")
            assert state.is_subscribed(f"file:///{number}")
            state.unsubscribe(f"file:///{number}")
        assert state.subscriptions == frozenset()

    return run
