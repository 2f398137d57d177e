"""`mcpref.server.push`: the change feed of one process, and what streams and connections make of a change."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from mcpref.cancellation import CancellationToken
from mcpref.jsonrpc import Notification, RequestId
from mcpref.meta import MetaKey
from mcpref.server.push import MAX_WAITING, ChangeReader, ListenStream, MemoryChanges, legacy_notification
from mcpref.server.state import ConnectionState
from mcpref.subscriptions import SubscriptionFilter
from mcpref.versions import ProtocolVersion
from tests.threads import PATIENCE, restless, together

TOOLS: dict[str, Any] = {"method": "notifications/tools/list_changed"}
PROMPTS: dict[str, Any] = {"method": "notifications/prompts/list_changed"}


def updated(uri: str) -> dict[str, Any]:
    return {"method": "notifications/resources/updated", "params": {"uri": uri}}


def nothing() -> None:
    return None


def numbered(number: int) -> dict[str, Any]:
    return {"method": "notifications/resources/updated", "params": {"uri": f"n:{number}"}}


def follow(changes: MemoryChanges, wake: Any = nothing) -> ChangeReader:
    return changes.follow(None, False, wake)


# ---- The feed --------------------------------------------------------------------------------------------


def test_a_reader_gets_what_is_published_after_it_came_in_order_and_once() -> None:
    changes = MemoryChanges()
    changes.publish(TOOLS)
    reader = follow(changes)
    assert reader.read() == []
    changes.publish(PROMPTS)
    changes.publish(TOOLS)
    assert reader.read() == [PROMPTS, TOOLS]
    assert reader.read() == []


def test_every_reader_gets_every_change() -> None:
    changes = MemoryChanges()
    readers = [follow(changes) for _ in range(3)]
    changes.publish(TOOLS)
    assert readers[0].read() == [TOOLS]
    changes.publish(PROMPTS)
    assert [reader.read() for reader in readers] == [[PROMPTS], [TOOLS, PROMPTS], [TOOLS, PROMPTS]]


def test_publishing_without_readers_does_nothing() -> None:
    MemoryChanges().publish(TOOLS)


def test_wake_is_called_once_a_change_when_it_can_be_read() -> None:
    changes = MemoryChanges()
    seen: list[list[Any]] = []
    readers: list[ChangeReader] = []
    readers.append(follow(changes, lambda: seen.append(readers[0].read())))
    changes.publish(TOOLS)
    changes.publish(PROMPTS)
    assert seen == [[TOOLS], [PROMPTS]]


def test_wake_may_use_the_feed() -> None:
    # The lock must not be held while somebody else's code runs.
    changes = MemoryChanges()
    followed: list[ChangeReader] = []
    first = follow(changes, lambda: followed.append(follow(changes)))
    changes.publish(TOOLS)
    first.close()
    changes.publish(PROMPTS)
    assert [reader.read() for reader in followed] == [[PROMPTS]]


def test_a_reader_that_left_gets_nothing_more_and_is_not_woken() -> None:
    changes = MemoryChanges()
    woken: list[int] = []
    reader = follow(changes, lambda: woken.append(1))
    changes.publish(TOOLS)
    reader.close()
    reader.close()
    changes.publish(PROMPTS)
    assert woken == [1]
    assert reader.read() == [TOOLS]
    assert not reader.overflowed


def test_exactly_as_many_changes_wait_as_may() -> None:
    changes = MemoryChanges()
    reader = follow(changes)
    for number in range(MAX_WAITING):
        changes.publish(numbered(number))
    before = reader.overflowed
    changes.publish(numbered(MAX_WAITING))
    assert (before, reader.overflowed) == (False, True)
    assert reader.read() == [numbered(number) for number in range(MAX_WAITING)]


def test_a_reader_that_reads_never_overflows() -> None:
    changes = MemoryChanges()
    reader = follow(changes)
    for number in range(3 * MAX_WAITING):
        changes.publish(numbered(number))
        assert reader.read() == [numbered(number)]
    assert not reader.overflowed


def test_one_reader_that_does_not_read_costs_the_others_nothing() -> None:
    changes = MemoryChanges()
    stuck, healthy = follow(changes), follow(changes)
    read: list[Any] = []
    for number in range(2 * MAX_WAITING):
        changes.publish(numbered(number))
        read += healthy.read()
    assert len(read) == 2 * MAX_WAITING
    assert (stuck.overflowed, healthy.overflowed) == (True, False)


def test_several_threads_publish_and_every_reader_gets_all_in_one_order() -> None:
    changes = MemoryChanges()
    each = 100
    seen: list[list[Any]] = [[], [], []]
    events = [threading.Event() for _ in seen]
    readers = [follow(changes, event.set) for event in events]

    def publish(base: int) -> None:
        for number in range(each):
            changes.publish(numbered(base + number))

    def read(place: int) -> None:
        while len(seen[place]) < 4 * each:
            assert events[place].wait(PATIENCE)
            events[place].clear()
            seen[place] += readers[place].read()

    with restless():
        together(
            *[partial(publish, 1000 * number) for number in range(4)],
            *[partial(read, place) for place in range(3)],
        )
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 4 * each
    for base in range(4):
        own = [change for change in seen[0] if int(change["params"]["uri"][2:]) // 1000 == base]
        assert own == [numbered(1000 * base + number) for number in range(each)]
    assert not any(reader.overflowed for reader in readers)


def test_readers_come_and_go_while_changes_are_published() -> None:
    changes = MemoryChanges()
    steady = follow(changes)

    def publish() -> None:
        for number in range(300):
            changes.publish(numbered(number))

    def come_and_go() -> None:
        for _ in range(100):
            reader = follow(changes)
            first = reader.read()
            second = reader.read()
            reader.close()
            numbers = [int(change["params"]["uri"][2:]) for change in first + second + reader.read()]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True

    with restless():
        together(publish, come_and_go, come_and_go)
    assert steady.read() == [numbered(number) for number in range(300)]
    changes.publish(TOOLS)
    assert steady.read() == [TOOLS]


# ---- Listen streams --------------------------------------------------------------------------------------


def stream(id: RequestId, **wanted: Any) -> ListenStream:
    return ListenStream(id, SubscriptionFilter(**wanted), CancellationToken())


@pytest.mark.req(
    "2026-07-28:subs.ack-subscription-id",
    "2026-07-28:subs.ack-notifications-field",
    "2026-07-28:subs.id-equals-request-id",
)
@pytest.mark.parametrize("id", [1, "1"], ids=repr)
def test_the_acknowledgement_names_the_stream_and_what_it_carries(id: RequestId) -> None:
    opened = stream(id, tools_list_changed=True, resource_subscriptions=("file:///a",))
    assert opened.acknowledgement() == Notification(
        "notifications/subscriptions/acknowledged",
        {
            "_meta": {MetaKey.SUBSCRIPTION_ID: id},
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]},
        },
    )


@pytest.mark.req("2026-07-28:subs.only-requested-types", "2026-07-28:resources.updated-only-subscribed")
@pytest.mark.parametrize(
    ("wanted", "change", "carried"),
    [
        ({"tools_list_changed": True}, TOOLS, True),
        ({"tools_list_changed": True}, PROMPTS, False),
        ({"prompts_list_changed": True}, PROMPTS, True),
        ({}, TOOLS, False),
        ({"resource_subscriptions": ("file:///a",)}, updated("file:///a"), True),
        ({"resource_subscriptions": ("file:///a",)}, updated("file:///b"), False),
        ({"tools_list_changed": True}, updated("file:///a"), False),
        ({"tools_list_changed": True}, {"method": "notifications/message", "params": {}}, False),
    ],
)
def test_a_stream_carries_what_its_filter_accepts(
    wanted: dict[str, Any], change: dict[str, Any], carried: bool
) -> None:
    assert (stream(1, **wanted).notification(change) is not None) is carried


@pytest.mark.req("2026-07-28:subs.notification-subscription-id", "2026-07-28:subs.id-equals-request-id")
@pytest.mark.parametrize("id", [1, "1", 0], ids=repr)
def test_what_a_stream_carries_is_stamped_with_its_id(id: RequestId) -> None:
    change = {**updated("file:///a"), "params": {"uri": "file:///a", "_meta": {"com.example/k": 1}}}
    sent = stream(id, resource_subscriptions=("file:///a",)).notification(change)
    assert sent is not None
    assert sent.params == {
        "uri": "file:///a",
        "_meta": {"com.example/k": 1, MetaKey.SUBSCRIPTION_ID: id},
    }
    assert type(sent.params["_meta"][MetaKey.SUBSCRIPTION_ID]) is type(id)
    assert change["params"]["_meta"] == {"com.example/k": 1}


def test_a_change_without_parameters_gets_some_for_the_stamp() -> None:
    sent = stream("s", tools_list_changed=True).notification(TOOLS)
    assert sent == Notification(TOOLS["method"], {"_meta": {MetaKey.SUBSCRIPTION_ID: "s"}})
    assert "params" not in TOOLS


def test_every_matching_stream_gets_a_stamp_of_its_own() -> None:
    ids: list[RequestId] = [1, "1", 2]
    sent = [stream(each, tools_list_changed=True).notification(TOOLS) for each in ids]
    stamps = [notification.params["_meta"] for notification in sent if notification and notification.params]
    assert stamps == [{MetaKey.SUBSCRIPTION_ID: each} for each in ids]


@pytest.mark.req("2026-07-28:subs.result-empty", "2026-07-28:subs.result-subscription-id")
def test_the_result_that_ends_a_stream() -> None:
    assert stream("s").result() == {"resultType": "complete", "_meta": {MetaKey.SUBSCRIPTION_ID: "s"}}


# ---- Legacy connections ----------------------------------------------------------------------------------


def connection(*, initialized: bool = True, uris: tuple[str, ...] = ()) -> ConnectionState:
    state = ConnectionState()
    state.negotiate(ProtocolVersion.V2025_11_25, {}, None)
    if initialized:
        state.mark_initialized()
    for uri in uris:
        state.subscribe(uri)
    return state


@pytest.mark.req("2025-11-25:resources.list-changed-unsolicited")
@pytest.mark.parametrize("change", [TOOLS, PROMPTS], ids=lambda change: change["method"])
def test_a_legacy_connection_hears_of_lists_unasked(change: dict[str, Any]) -> None:
    assert legacy_notification(change, connection()) == Notification(change["method"])


@pytest.mark.req("2025-11-25:resources.updated-only-subscribed")
def test_a_legacy_connection_hears_of_resources_it_subscribed_to() -> None:
    state = connection(uris=("file:///a",))
    change = updated("file:///a")
    sent = legacy_notification(change, state)
    assert sent == Notification("notifications/resources/updated", {"uri": "file:///a"})
    assert sent.params is not change["params"]
    assert legacy_notification(updated("file:///b"), state) is None
    state.unsubscribe("file:///a")
    assert legacy_notification(updated("file:///a"), state) is None


def test_a_legacy_connection_hears_nothing_before_it_is_initialized() -> None:
    assert legacy_notification(TOOLS, ConnectionState()) is None
    assert legacy_notification(TOOLS, connection(initialized=False)) is None
    assert (
        legacy_notification(updated("file:///a"), connection(initialized=False, uris=("file:///a",))) is None
    )
