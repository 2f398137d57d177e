"""``subscriptions/listen``: what a client asked to hear, and the marks on what it then hears.

The filter of one stream and the builders of the stream's own messages. Which streams are open, and how a
change reaches them, is not known here.

Spec: 2026-07-28 basic/patterns/subscriptions

Pure: no thread, socket or clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from .errors import InvalidParams
from .jsonrpc import RequestId
from .meta import MetaKey

#: How many resources one stream may watch.
MAX_SUBSCRIPTIONS: Final = 1_000

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
RESOURCE_UPDATED: Final = "notifications/resources/updated"

#: For each kind of list: the filter's member on the wire and here, its notification, and the capability.
_LISTS: Final = (
    ("toolsListChanged", "tools_list_changed", "notifications/tools/list_changed", "tools"),
    ("promptsListChanged", "prompts_list_changed", "notifications/prompts/list_changed", "prompts"),
    ("resourcesListChanged", "resources_list_changed", "notifications/resources/list_changed", "resources"),
)
_ATTRIBUTE_OF: Mapping[str, str] = {method: attribute for _, attribute, method, _ in _LISTS}


@dataclass(frozen=True, slots=True)
class SubscriptionFilter:
    """The notifications that one stream carries; nothing is on unless it was asked for.

    Spec: 2026-07-28 basic/patterns/subscriptions#notification-filter
    """

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()
    """The URIs to watch, each once, in the order they were given."""
    _watched: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unique = tuple(dict.fromkeys(self.resource_subscriptions))
        object.__setattr__(self, "resource_subscriptions", unique)
        object.__setattr__(self, "_watched", frozenset(unique))

    @classmethod
    def parse(
        cls,
        params: Mapping[str, Any] | None,
        *,
        max_subscriptions: int = MAX_SUBSCRIPTIONS,
        max_uri_length: int = 8 * 1024,
    ) -> SubscriptionFilter:
        """Read the parameters of ``subscriptions/listen``; `InvalidParams` says which member is wrong.

        Members that the filter does not have are ignored: a later revision may add some.

        Spec: 2026-07-28 schema#subscriptionslistenrequestparams
        """
        asked = (params or {}).get("notifications")
        if not isinstance(asked, dict):
            raise InvalidParams("subscriptions/listen needs 'notifications', an object")
        flags: dict[str, bool] = {}
        for member, attribute, _, _ in _LISTS:
            value = asked.get(member, False)
            if not isinstance(value, bool):
                raise InvalidParams(f"notifications.{member} must be true or false")
            flags[attribute] = value
        uris = asked.get("resourceSubscriptions", [])
        if not isinstance(uris, list):
            raise InvalidParams("notifications.resourceSubscriptions must be an array of URIs")
        if len(uris) > max_subscriptions:
            raise InvalidParams(
                f"notifications.resourceSubscriptions has {len(uris)} URIs; the limit is {max_subscriptions}"
            )
        from .uri_syntax import is_valid_uri  # here, because its grammar is slow to compile

        # Spec: 2026-07-28 server/resources#security-considerations MUST validate all resource URIs
        for index, uri in enumerate(uris):
            if not isinstance(uri, str) or not is_valid_uri(uri, max_length=max_uri_length):
                raise InvalidParams(
                    f"notifications.resourceSubscriptions[{index}] must be a URI, "
                    f"of at most {max_uri_length} characters"
                )
        return cls(**flags, resource_subscriptions=tuple(uris))

    def honored(self, capabilities: Mapping[str, Any]) -> SubscriptionFilter:
        """What is left of this on a server with these capabilities.

        Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment types that are not supported are left out
        """
        return SubscriptionFilter(
            **{
                attribute: getattr(self, attribute) and _offers(capabilities, capability, "listChanged")
                for _, attribute, _, capability in _LISTS
            },
            resource_subscriptions=(
                self.resource_subscriptions if _offers(capabilities, "resources", "subscribe") else ()
            ),
        )

    def to_json(self) -> dict[str, Any]:
        """The filter as it stands on the wire; what is off or empty is left out."""
        asked: dict[str, Any] = {
            member: True for member, attribute, _, _ in _LISTS if getattr(self, attribute)
        }
        if self.resource_subscriptions:
            asked["resourceSubscriptions"] = list(self.resource_subscriptions)
        return asked

    def accepts(self, method: str, params: Mapping[str, Any] | None = None) -> bool:
        """Whether a notification belongs on this stream.

        An update counts for exactly the URI that was given. If watchers of a directory are to hear of its
        files, the server announces the directory too.

        Spec: 2026-07-28 basic/patterns/subscriptions#opening-a-stream MUST NOT send what was not asked for
        """
        if method == RESOURCE_UPDATED:
            uri = (params or {}).get("uri")
            return isinstance(uri, str) and uri in self._watched
        attribute = _ATTRIBUTE_OF.get(method)
        return attribute is not None and bool(getattr(self, attribute))


def _offers(capabilities: Mapping[str, Any], name: str, feature: str) -> bool:
    offered = capabilities.get(name)
    return isinstance(offered, Mapping) and offered.get(feature) is True


def stamp(params: Mapping[str, Any] | None, subscription_id: RequestId | None) -> dict[str, Any]:
    """A copy of a notification's parameters that names the stream it is sent on.

    The id keeps its type: 1 and "1" are two streams. No id (None or "") leaves the parameters as they are.

    Spec: 2026-07-28 basic/patterns/subscriptions#receiving-notifications the value is the id of the request
    """
    stamped = dict(params or {})
    if subscription_id is None or subscription_id == "":
        return stamped
    meta = stamped.get("_meta")
    stamped["_meta"] = {
        **(meta if isinstance(meta, Mapping) else {}),
        MetaKey.SUBSCRIPTION_ID: subscription_id,
    }
    return stamped


def acknowledgement(honored: SubscriptionFilter, subscription_id: RequestId) -> dict[str, Any]:
    """The parameters of the notification that opens a stream.

    Spec: 2026-07-28 basic/patterns/subscriptions#acknowledgment MUST be the first message with this id
    """
    return {"_meta": {MetaKey.SUBSCRIPTION_ID: subscription_id}, "notifications": honored.to_json()}


def listen_result(subscription_id: RequestId) -> dict[str, Any]:
    """The result by which the server ends a stream.

    Spec: 2026-07-28 basic/patterns/subscriptions#graceful-closure
    """
    return {"resultType": "complete", "_meta": {MetaKey.SUBSCRIPTION_ID: subscription_id}}
