"""``elicitation/create``: the server asks the client's user, by a form or by sending them to a URL.

Spec: 2025-06-18..2026-07-28 client/elicitation
"""

from collections.abc import Mapping
from typing import Literal, NotRequired, TypeAlias, TypedDict

from .base import MetaObject, RequestMetaObject, TaskMetadata


class StringSchema(TypedDict):
    """Since 2025-06-18."""

    type: Literal["string"]
    title: NotRequired[str]
    description: NotRequired[str]
    minLength: NotRequired[int]
    maxLength: NotRequired[int]
    format: NotRequired[Literal["email", "uri", "date", "date-time"]]
    default: NotRequired[str]  # since 2025-11-25


class NumberSchema(TypedDict):
    """Since 2025-06-18."""

    type: Literal["number", "integer"]
    title: NotRequired[str]
    description: NotRequired[str]
    minimum: NotRequired[float]
    maximum: NotRequired[float]
    default: NotRequired[float]  # since 2025-11-25


class BooleanSchema(TypedDict):
    """Since 2025-06-18."""

    type: Literal["boolean"]
    title: NotRequired[str]
    description: NotRequired[str]
    default: NotRequired[bool]


class UntitledSingleSelectEnumSchema(TypedDict):
    """One of several strings. Since 2025-11-25."""

    type: Literal["string"]
    title: NotRequired[str]
    description: NotRequired[str]
    enum: list[str]
    default: NotRequired[str]


class EnumOption(TypedDict):
    """A choice and what the user sees of it. The name is ours. Since 2025-11-25."""

    const: str
    title: str


class TitledSingleSelectEnumSchema(TypedDict):
    """One of several strings, each with a title. Since 2025-11-25."""

    type: Literal["string"]
    title: NotRequired[str]
    description: NotRequired[str]
    oneOf: list[EnumOption]
    default: NotRequired[str]


SingleSelectEnumSchema: TypeAlias = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema


class UntitledMultiSelectItems(TypedDict):
    """The name is ours. Since 2025-11-25."""

    type: Literal["string"]
    enum: list[str]


class UntitledMultiSelectEnumSchema(TypedDict):
    """Some of several strings. Since 2025-11-25."""

    type: Literal["array"]
    title: NotRequired[str]
    description: NotRequired[str]
    minItems: NotRequired[int]
    maxItems: NotRequired[int]
    items: UntitledMultiSelectItems
    default: NotRequired[list[str]]


class TitledMultiSelectItems(TypedDict):
    """The name is ours. Since 2025-11-25."""

    anyOf: list[EnumOption]


class TitledMultiSelectEnumSchema(TypedDict):
    """Some of several strings, each with a title. Since 2025-11-25."""

    type: Literal["array"]
    title: NotRequired[str]
    description: NotRequired[str]
    minItems: NotRequired[int]
    maxItems: NotRequired[int]
    items: TitledMultiSelectItems
    default: NotRequired[list[str]]


MultiSelectEnumSchema: TypeAlias = UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema


class LegacyTitledEnumSchema(TypedDict):
    """Titles beside the values, not with them; in 2025-06-18 it is called EnumSchema. Since 2025-06-18."""

    type: Literal["string"]
    title: NotRequired[str]
    description: NotRequired[str]
    enum: list[str]
    enumNames: NotRequired[list[str]]
    default: NotRequired[str]  # since 2025-11-25


EnumSchema: TypeAlias = SingleSelectEnumSchema | MultiSelectEnumSchema | LegacyTitledEnumSchema

PrimitiveSchemaDefinition: TypeAlias = StringSchema | NumberSchema | BooleanSchema | EnumSchema


RequestedSchema = TypedDict(
    "RequestedSchema",
    {
        "$schema": NotRequired[str],  # since 2025-11-25
        "type": Literal["object"],
        "properties": Mapping[str, PrimitiveSchemaDefinition],
        "required": NotRequired[list[str]],
    },
)
"""A form: flat, one property for each field. The name is ours. Since 2025-06-18."""


class ElicitRequestFormParams(TypedDict):
    """Without ``mode`` it is a form. Since 2025-06-18."""

    _meta: NotRequired[RequestMetaObject]  # until 2025-11-25
    task: NotRequired[TaskMetadata]  # 2025-11-25 only
    mode: NotRequired[Literal["form"]]  # since 2025-11-25
    message: str
    requestedSchema: RequestedSchema


class ElicitRequestURLParams(TypedDict):
    """Since 2025-11-25."""

    _meta: NotRequired[RequestMetaObject]  # until 2025-11-25
    task: NotRequired[TaskMetadata]  # 2025-11-25 only
    mode: Literal["url"]
    message: str
    url: str
    elicitationId: NotRequired[str]  # 2025-11-25 only, required


ElicitRequestParams: TypeAlias = ElicitRequestFormParams | ElicitRequestURLParams


class ElicitRequest(TypedDict):
    """As it stands in ``inputRequests``; until 2025-11-25 it is a JSON-RPC request. Since 2025-06-18."""

    method: Literal["elicitation/create"]
    params: ElicitRequestParams


class ElicitResult(TypedDict):
    """``content`` is there if a form was accepted. Since 2025-06-18."""

    action: Literal["accept", "decline", "cancel"]
    content: NotRequired[Mapping[str, str | int | float | bool | list[str]]]  # lists since 2025-11-25
    _meta: NotRequired[MetaObject]  # until 2025-11-25


class ElicitationCompleteNotificationParams(TypedDict):
    """The user is done at the URL. The name is ours. 2025-11-25 only."""

    elicitationId: str
