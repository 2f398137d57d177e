"""``roots/list``: the server asks which directories it may work in.

Spec: 2024-11-05..2026-07-28 client/roots
"""

from typing import Literal, NotRequired, TypedDict

from .base import MetaObject, RequestMetaObject


class Root(TypedDict):
    """``uri`` starts with ``file://``."""

    uri: str
    name: NotRequired[str]
    _meta: NotRequired[MetaObject]  # since 2025-06-18


class ListRootsRequestParams(TypedDict):
    """The name is ours."""

    _meta: NotRequired[RequestMetaObject]


class ListRootsRequest(TypedDict):
    """As it stands in ``inputRequests``; until 2025-11-25 it is a JSON-RPC request of its own."""

    method: Literal["roots/list"]
    params: NotRequired[ListRootsRequestParams]


class ListRootsResult(TypedDict):
    """Not a `Result` since 2026-07-28: it travels inside params."""

    roots: list[Root]
    _meta: NotRequired[MetaObject]  # until 2025-11-25
