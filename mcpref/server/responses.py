"""What handlers may return, and how it becomes a result.

==================  ==========================================================================
a tool returns      the result has
==================  ==========================================================================
`str`, None         one text block; no content
`Content`, a list   these content blocks
`ToolResponse`      exactly what it says
anything else       ``structuredContent``, and its JSON as a text block for older clients
==================  ==========================================================================

Knows nothing of requests or revisions: what a revision lacks is taken off later (results.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

from ..asking import Ask
from ..content import Content, PromptMessage, ResourceContents, contents, text, user
from ..jsonrpc import encode_json
from ..mrtr import InputRequest
from ..versions import LATEST

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)
else:
    from typing import TypeVar

    S = TypeVar("S")

#: Tells "no structured content" from "the structured content null".
_ABSENT: Any = object()


@dataclass(slots=True)
class InputRequired:
    """Ask the client for input and have it send the request again. Modern only; `ctx.ask` serves both eras.

    A prompt or resource returns this; a tool may return ``ToolResponse.input_required(...)``.
    """

    requests: list[InputRequest]
    state: str | None = None

    @classmethod
    def of(
        cls, requests: Mapping[str, Ask[Any]] | Sequence[InputRequest], state: object = None
    ) -> InputRequired:
        """From questions by key, or ready-made input requests; ``state`` is any value with a JSON form."""
        if isinstance(requests, Mapping):
            ready = [ask.input_request(key, LATEST) for key, ask in requests.items()]
        else:
            ready = list(requests)
        keys = [request.id for request in ready]
        if len(set(keys)) != len(keys):
            raise ValueError(f"input requests need keys of their own, not {keys!r}")
        if not ready and state is None:
            raise ValueError("an input-required result needs requests, a state, or both")
        return cls(ready, None if state is None else encode_json(jsonable(state)))


@dataclass(slots=True, init=False)
class ToolResponse(Generic[S]):
    """A tool's result in full control of the tool."""

    content: list[Content] = field(default_factory=list)
    structured: S | None = None
    is_error: bool = False
    meta: dict[str, Any] | None = None
    needs: InputRequired | None = None

    def __init__(
        self,
        content: str | Content | Sequence[Content] | None = None,
        structured: S = _ABSENT,
        is_error: bool = False,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.content = as_blocks(content)
        self.structured = structured
        self.is_error = is_error
        self.meta = None if meta is None else dict(meta)
        self.needs = None

    @property
    def has_structured(self) -> bool:
        """Whether structured content was given; null counts."""
        return self.structured is not _ABSENT

    @classmethod
    def input_required(
        cls, requests: Mapping[str, Ask[Any]] | Sequence[InputRequest], state: object = None
    ) -> ToolResponse[S]:
        """End the round: the client gathers these inputs and calls again. Read them from ``ctx`` then.

        Spec: 2026-07-28 server/tools#input-required-tool-results
        """
        response = cls()
        response.needs = InputRequired.of(requests, state)
        return response


@dataclass(frozen=True, slots=True)
class Completion:
    """Suggestions for the value of an argument."""

    values: Sequence[str]
    total: int | None = None
    has_more: bool | None = None


def as_blocks(value: object) -> list[Content]:
    """Content blocks from what people pass as content."""
    if value is None:
        return []
    if isinstance(value, str):
        return [text(value)]
    if isinstance(value, Content):
        return [value]
    if isinstance(value, list | tuple):
        return [block for item in value for block in as_blocks(item)]
    raise TypeError(f"{type(value).__name__} is not content; use the builders of mcpref.content")


def is_content(value: object) -> bool:
    """Whether a returned value is content rather than data."""
    if value is None or isinstance(value, str | Content):
        return True
    return (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Content) for item in value)
    )


def as_messages(value: object) -> list[dict[str, Any]]:
    """The messages of a prompt, from what its function returned."""
    if isinstance(value, str | Content):
        return [user(value)]
    if isinstance(value, PromptMessage):
        return [value]
    if isinstance(value, list | tuple):
        return [message for item in value for message in as_messages(item)]
    raise TypeError(
        f"a prompt returns text, content, content.user(...)/content.assistant(...) or a list of them, "
        f"not {type(value).__name__}"
    )


def as_contents(uri: str, value: object, mime_type: str | None) -> list[dict[str, Any]]:
    """The contents of a resource, from what its function returned."""
    if isinstance(value, ResourceContents):
        return [value]
    if isinstance(value, str | bytes):
        return [contents(uri, value, mime_type)]
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(item, ResourceContents) for item in value)
    ):
        return list(value)
    return [contents(uri, encode_json(jsonable(value)), mime_type or "application/json")]


def jsonable(value: object) -> Any:
    """A value in JSON's own types: dataclasses, enums, dates and the like are converted by their type."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    from ..hints import encode_any

    return encode_any(value)
