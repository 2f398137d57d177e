"""The filter of a listen stream, and the marks on what it carries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.errors import InvalidParams
from mcpref.subscriptions import (
    MAX_SUBSCRIPTIONS,
    SubscriptionFilter,
    acknowledgement,
    listen_result,
    stamp,
)
from mcpref.uri_template import MAX_URI_LENGTH

ID = "io.modelcontextprotocol/subscriptionId"
EVERYTHING = SubscriptionFilter(True, True, True, ("test://a", "test://b"))
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
}
NOTIFICATIONS: list[tuple[str, dict[str, Any] | None]] = [
    ("notifications/tools/list_changed", None),
    ("notifications/prompts/list_changed", {}),
    ("notifications/resources/list_changed", {"_meta": {}}),
    ("notifications/resources/updated", {"uri": "test://a"}),
]


def asking(**members: Any) -> dict[str, Any]:
    return {"notifications": members}


class TestParse:
    @pytest.mark.req("2026-07-28:subs.filter-fields")
    @pytest.mark.parametrize(
        ("params", "expected"),
        [
            (asking(), SubscriptionFilter()),
            (asking(toolsListChanged=True), SubscriptionFilter(tools_list_changed=True)),
            (asking(promptsListChanged=True), SubscriptionFilter(prompts_list_changed=True)),
            (asking(resourcesListChanged=True), SubscriptionFilter(resources_list_changed=True)),
            (asking(toolsListChanged=False), SubscriptionFilter()),
            (asking(resourceSubscriptions=[]), SubscriptionFilter()),
            (
                asking(resourceSubscriptions=["test://b", "test://a", "test://b"]),
                SubscriptionFilter(resource_subscriptions=("test://b", "test://a")),
            ),
            (
                asking(laterRevision={"x": 1}, toolsListChanged=True),
                SubscriptionFilter(tools_list_changed=True),
            ),
        ],
    )
    def test_well_formed(self, params: dict[str, Any], expected: SubscriptionFilter) -> None:
        assert SubscriptionFilter.parse(params) == expected

    @pytest.mark.req("2026-07-28:subs.notifications-param-required")
    @pytest.mark.parametrize(
        "params",
        [
            None,
            {},
            {"notifications": None},
            {"notifications": []},
            {"notifications": True},
            {"toolsListChanged": True},
        ],
    )
    def test_the_filter_is_needed(self, params: dict[str, Any] | None) -> None:
        with pytest.raises(InvalidParams, match="needs 'notifications'") as caught:
            SubscriptionFilter.parse(params)
        assert caught.value.code == -32602

    @pytest.mark.req("2026-07-28:subs.filter-fields")
    @pytest.mark.parametrize("member", ["toolsListChanged", "promptsListChanged", "resourcesListChanged"])
    @pytest.mark.parametrize("value", [1, 0, "true", None, [], {}])
    def test_flags_are_booleans(self, member: str, value: object) -> None:
        with pytest.raises(InvalidParams, match=f"notifications.{member} must be true or false"):
            SubscriptionFilter.parse(asking(**{member: value}))

    @pytest.mark.req("2026-07-28:subs.filter-fields")
    @pytest.mark.parametrize("value", [True, None, "test://a", {"test://a": True}])
    def test_uris_are_an_array(self, value: object) -> None:
        with pytest.raises(InvalidParams, match="must be an array of URIs"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=value))

    @pytest.mark.req("2026-07-28:resources.validate-uris")
    @pytest.mark.parametrize("uri", [5, None, "", "no scheme", "test://a b", "test://%zz", ["test://a"]])
    def test_each_must_be_a_uri(self, uri: object) -> None:
        with pytest.raises(InvalidParams, match=r"resourceSubscriptions\[1\] must be a URI"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=["test://a", uri]))

    def test_limits(self) -> None:
        uris = [f"test://{n}" for n in range(MAX_SUBSCRIPTIONS + 1)]
        assert MAX_SUBSCRIPTIONS == 1_000
        parsed = SubscriptionFilter.parse(asking(resourceSubscriptions=uris[:-1]))
        assert len(parsed.resource_subscriptions) == MAX_SUBSCRIPTIONS
        with pytest.raises(InvalidParams, match="has 1001 URIs; the limit is 1000"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=uris))
        longest = "test://" + "a" * (MAX_URI_LENGTH - 7)
        assert SubscriptionFilter.parse(asking(resourceSubscriptions=[longest])).accepts(
            "notifications/resources/updated", {"uri": longest}
        )
        with pytest.raises(InvalidParams, match="of at most 8192 characters"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=[longest + "a"]))

    def test_limits_are_settings(self) -> None:
        with pytest.raises(InvalidParams, match="the limit is 1"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=["a:1", "a:2"]), max_subscriptions=1)
        with pytest.raises(InvalidParams, match="at most 3 characters"):
            SubscriptionFilter.parse(asking(resourceSubscriptions=["a:12"]), max_uri_length=3)

    @given(
        st.builds(
            SubscriptionFilter,
            st.booleans(),
            st.booleans(),
            st.booleans(),
            st.lists(st.from_regex(r"\A[a-z]+:[a-z/]*\Z")).map(tuple),
        )
    )
    def test_parsing_inverts_writing(self, wanted: SubscriptionFilter) -> None:
        assert SubscriptionFilter.parse({"notifications": wanted.to_json()}) == wanted


def test_only_what_is_on_is_written() -> None:
    assert SubscriptionFilter().to_json() == {}
    assert EVERYTHING.to_json() == {
        "toolsListChanged": True,
        "promptsListChanged": True,
        "resourcesListChanged": True,
        "resourceSubscriptions": ["test://a", "test://b"],
    }


class TestHonored:
    @pytest.mark.req("2026-07-28:subs.ack-honored-subset")
    @pytest.mark.parametrize(
        ("capabilities", "expected"),
        [
            (CAPABILITIES, EVERYTHING),
            ({}, SubscriptionFilter()),
            ({"tools": {}, "prompts": {}, "resources": {}}, SubscriptionFilter()),
            ({"tools": {"listChanged": False}, "prompts": {"listChanged": "yes"}}, SubscriptionFilter()),
            ({"tools": {"listChanged": True}}, SubscriptionFilter(tools_list_changed=True)),
            ({"prompts": {"listChanged": True}}, SubscriptionFilter(prompts_list_changed=True)),
            ({"resources": {"listChanged": True}}, SubscriptionFilter(resources_list_changed=True)),
            (
                {"resources": {"subscribe": True}},
                SubscriptionFilter(resource_subscriptions=("test://a", "test://b")),
            ),
        ],
    )
    def test_what_the_server_does_not_offer_is_left_out(
        self, capabilities: dict[str, Any], expected: SubscriptionFilter
    ) -> None:
        assert EVERYTHING.honored(capabilities) == expected

    def test_what_was_not_asked_for_is_not_added(self) -> None:
        assert SubscriptionFilter().honored(CAPABILITIES) == SubscriptionFilter()


class TestAccepts:
    @pytest.mark.req("2026-07-28:subs.only-requested-types", "2026-07-28:resources.list-changed-opt-in")
    @pytest.mark.parametrize(
        ("wanted", "accepted"),
        [
            (SubscriptionFilter(), []),
            (SubscriptionFilter(tools_list_changed=True), NOTIFICATIONS[0:1]),
            (SubscriptionFilter(prompts_list_changed=True), NOTIFICATIONS[1:2]),
            (SubscriptionFilter(resources_list_changed=True), NOTIFICATIONS[2:3]),
            (SubscriptionFilter(resource_subscriptions=("test://a",)), NOTIFICATIONS[3:4]),
            (EVERYTHING, NOTIFICATIONS),
        ],
    )
    def test_only_what_was_asked_for(
        self, wanted: SubscriptionFilter, accepted: list[tuple[str, dict[str, Any] | None]]
    ) -> None:
        assert [entry for entry in NOTIFICATIONS if wanted.accepts(*entry)] == accepted

    @pytest.mark.req("2026-07-28:resources.updated-only-subscribed")
    @pytest.mark.parametrize(
        "params",
        [
            None,
            {},
            {"uri": None},
            {"uri": ["test://a"]},
            {"uri": "test://c"},
            {"uri": "test://a/"},
            {"uri": "TEST://a"},
        ],
    )
    def test_only_the_uris_that_were_given(self, params: dict[str, Any] | None) -> None:
        assert not EVERYTHING.accepts("notifications/resources/updated", params)

    @pytest.mark.req("2026-07-28:subs.only-requested-types")
    @pytest.mark.parametrize(
        "method",
        [
            "notifications/message",
            "notifications/progress",
            "notifications/cancelled",
            "toolsListChanged",
            "",
        ],
    )
    def test_nothing_else_belongs_on_a_stream(self, method: str) -> None:
        assert not EVERYTHING.accepts(method, {"uri": "test://a"})


class TestStamp:
    @pytest.mark.parity(119)
    @pytest.mark.req("2026-07-28:subs.notification-subscription-id", "2026-07-28:subs.id-equals-request-id")
    @pytest.mark.parametrize("subscription_id", [1, 0, "1", "listen-1"])
    def test_the_id_keeps_its_type(self, subscription_id: str | int) -> None:
        stamped = stamp({"uri": "test://a"}, subscription_id)
        assert stamped == {"uri": "test://a", "_meta": {ID: subscription_id}}
        assert type(stamped["_meta"][ID]) is type(subscription_id)

    @pytest.mark.parity(119)
    def test_it_copies_and_keeps_other_metadata(self) -> None:
        params: dict[str, Any] = {"uri": "test://a", "_meta": {"com.example/x": 1}}
        assert stamp(params, 7) == {"uri": "test://a", "_meta": {"com.example/x": 1, ID: 7}}
        assert params == {"uri": "test://a", "_meta": {"com.example/x": 1}}

    @pytest.mark.parity(119)
    @pytest.mark.parametrize("subscription_id", ["", None])
    def test_without_an_id_nothing_is_written(self, subscription_id: str | None) -> None:
        assert stamp({"a": 1, "_meta": {"b": 2}}, subscription_id) == {"a": 1, "_meta": {"b": 2}}
        assert stamp(None, subscription_id) == {}

    def test_no_parameters_and_unusable_metadata(self) -> None:
        assert stamp(None, 1) == {"_meta": {ID: 1}}
        assert stamp({"_meta": "text"}, 1) == {"_meta": {ID: 1}}

    def test_one_notification_for_two_streams(self) -> None:
        params = {"uri": "test://a"}
        assert [stamp(params, n)["_meta"][ID] for n in (1, 2)] == [1, 2]


class TestMessages:
    @pytest.mark.req(
        "2026-07-28:subs.ack-subscription-id",
        "2026-07-28:subs.ack-notifications-field",
        "2026-07-28:subs.id-equals-request-id",
    )
    @pytest.mark.parametrize("subscription_id", [1, "1", ""])
    def test_acknowledgement(self, subscription_id: str | int) -> None:
        honored = EVERYTHING.honored({"tools": {"listChanged": True}})
        assert acknowledgement(honored, subscription_id) == {
            "_meta": {ID: subscription_id},
            "notifications": {"toolsListChanged": True},
        }
        assert acknowledgement(SubscriptionFilter(), 1)["notifications"] == {}

    @pytest.mark.req("2026-07-28:subs.result-empty", "2026-07-28:subs.result-subscription-id")
    @pytest.mark.parametrize("subscription_id", [1, "1"])
    def test_result(self, subscription_id: str | int) -> None:
        assert listen_result(subscription_id) == {"resultType": "complete", "_meta": {ID: subscription_id}}
