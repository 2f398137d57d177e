"""Questions a handler asks the client, and the answers it gets.

::

    answer = ctx.ask("confirm", Elicit("Book it?", Confirm))
    if answer.action == "accept" and answer.content.sure: ...

An `Ask` knows how its question looks on the wire of a revision, which client capability it needs, and how
to read the answer. It does not know how the question travels: as a request of the server's (legacy) or
inside an input-required result (modern).

Pure: no thread, socket or clock.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, overload

from .errors import InvalidAnswer, InvalidParams, LocalProtocolError
from .hints import Codec, DecodeError
from .jsonrpc import canonical_json
from .mrtr import InputRequest, is_http_url
from .sampling_rules import check_sampling_params
from .versions import ProtocolVersion

T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ElicitAccepted(Generic[T]):
    """The user filled in the form."""

    content: T
    action: Literal["accept"] = "accept"


class ElicitDeclined(NamedTuple):
    """The user said no."""

    action: Literal["decline"] = "decline"
    content: None = None


class ElicitCancelled(NamedTuple):
    """The user closed the question without choosing."""

    action: Literal["cancel"] = "cancel"
    content: None = None


#: What an elicitation comes to; test ``action`` and the type of ``content`` follows.
ElicitResult: TypeAlias = ElicitAccepted[T] | ElicitDeclined | ElicitCancelled


class SampleResult(NamedTuple):
    """What the client's model wrote."""

    text: str
    """The text of all text blocks, joined."""
    model: str
    stop_reason: str | None
    content: list[dict[str, Any]]
    """The content blocks as they came."""
    raw: dict[str, Any]
    """The whole result."""


class Root(NamedTuple):
    """A directory or file that the client lets the server work in."""

    uri: str
    name: str | None = None


class Ask(Generic[R_co]):
    """A question to the client. ``R_co`` is the type of its answer."""

    method: ClassVar[str]
    """The server request that carries it on legacy revisions."""

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        """Its parameters on this revision; raises `LocalProtocolError` where the revision lacks it."""
        raise NotImplementedError

    def parse(self, result: object) -> R_co:
        """Read the client's answer; raises `InvalidAnswer` when it does not fit the question."""
        raise NotImplementedError

    def input_request(self, key: str, version: ProtocolVersion) -> InputRequest:
        """The question as an entry of ``inputRequests``."""
        return InputRequest(key, self.method, self.params(version))

    def digest(self) -> str:
        """What tells this question from another one under the same key."""
        return question_digest(InputRequest("", self.method, self._identity()))

    def _identity(self) -> dict[str, Any]:
        raise NotImplementedError


def question_digest(request: InputRequest) -> str:
    """A short digest of a question, so that an answer to another question is not taken for its own."""
    import hashlib  # here, because a server that asks nothing need not load it

    text = canonical_json({"method": request.method, "params": request.params})
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:22]


class Elicit(Ask["ElicitResult[T]"], Generic[T]):
    """Ask the user to fill in a form.

    The form is a flat dataclass or TypedDict, a hand-written JSON Schema, or a list of choices.

    Spec: 2026-07-28 client/elicitation#form-mode-elicitation-requests
    """

    method = "elicitation/create"

    @overload
    def __init__(self: Elicit[str], message: str, form: list[str]) -> None: ...
    @overload
    def __init__(self: Elicit[dict[str, Any]], message: str, form: Mapping[str, Any]) -> None: ...
    @overload
    def __init__(self, message: str, form: type[T]) -> None: ...

    def __init__(self, message: str, form: type[T] | Mapping[str, Any] | list[str]) -> None:
        from .hints.flat import check_requested_schema, elicitation_codec  # here: many servers never ask

        self.message = message
        self.schema: dict[str, Any]
        self._codec: Codec | None = None
        self._choices: list[str] | None = None
        if isinstance(form, list):
            if not form:
                raise ValueError("a list of choices must not be empty")
            self._choices = form
            self.schema = {
                "type": "object",
                "properties": {"choice": {"type": "string", "enum": list(form)}},
                "required": ["choice"],
            }
        elif isinstance(form, Mapping):
            check_requested_schema(form)
            self.schema = dict(form)
        else:
            self._codec = elicitation_codec(form)
            self.schema = self._codec.schema

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        if not version.features.elicitation:
            raise LocalProtocolError(f"revision {version} has no elicitation")
        return {"message": self.message, "requestedSchema": shape_form(self.schema, version)}

    def parse(self, result: object) -> ElicitResult[T]:
        action, content = parse_elicit_result(result)
        if action == "decline":
            return ElicitDeclined()
        if action == "cancel":
            return ElicitCancelled()
        if self._codec is None:
            content = check_form_answer(self.schema, content)
            accepted: Any = content["choice"] if self._choices is not None else content
            return ElicitAccepted(accepted)
        try:
            return ElicitAccepted(self._codec.decode(content))
        except DecodeError as error:
            raise InvalidAnswer(f"the answer does not fit the form: {error}") from None

    def _identity(self) -> dict[str, Any]:
        return {"message": self.message, "requestedSchema": self.schema}


class ElicitUrl(Ask["ElicitResult[None]"]):
    """Send the user to a URL, for what must not pass through the client (passwords, payments, consent).

    "accept" means that the user agreed to go there, not that they are done.

    Spec: 2026-07-28 client/elicitation#url-mode-elicitation-requests
    """

    method = "elicitation/create"

    def __init__(self, message: str, url: str, elicitation_id: str | None = None) -> None:
        check_elicitation_url(url)
        self.message = message
        self.url = url
        self.elicitation_id = os.urandom(16).hex() if elicitation_id is None else elicitation_id
        if not self.elicitation_id:
            raise InvalidParams("elicitation_id must not be empty")

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        if not version.features.url_elicitation:
            raise LocalProtocolError(f"revision {version} has no elicitation by URL")
        params = {"mode": "url", "message": self.message, "url": self.url}
        if version.features.elicitation_id:
            params["elicitationId"] = self.elicitation_id
        return params

    def parse(self, result: object) -> ElicitResult[None]:
        action, _ = parse_elicit_result(result)
        if action == "decline":
            return ElicitDeclined()
        return ElicitAccepted(None) if action == "accept" else ElicitCancelled()

    def _identity(self) -> dict[str, Any]:
        # Neither part: the id is new in each round, and a URL may carry a one-time token.
        return {"mode": "url", "message": self.message}


class Sample(Ask[SampleResult]):
    """Ask the client's model to write something.

    Spec: 2026-07-28 client/sampling#sampling-parameters
    """

    method = "sampling/createMessage"

    def __init__(
        self,
        messages: str | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Sequence[str] | None = None,
        model_preferences: Mapping[str, Any] | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        elif isinstance(messages, Mapping):
            messages = [messages]
        self._params: dict[str, Any] = {
            "messages": [dict(message) for message in messages],
            "maxTokens": max_tokens,
        }
        for key, value in (
            ("systemPrompt", system_prompt),
            ("temperature", temperature),
            ("stopSequences", stop_sequences),
            ("modelPreferences", model_preferences),
            ("includeContext", include_context),
            ("tools", tools),
            ("toolChoice", tool_choice),
            ("metadata", metadata),
        ):
            if value is not None:
                self._params[key] = value
        check_sampling_params(self._params)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Sample:
        """From parameters in the wire's own form."""
        check_sampling_params(params)
        ask = cls.__new__(cls)
        ask._params = dict(params)
        return ask

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        if version.features.sampling_tools:
            return self._params
        if "tools" in self._params or "toolChoice" in self._params:
            raise LocalProtocolError(f"sampling with tools does not exist in revision {version}")
        messages = [
            single for message in self._params["messages"] for single in _single_blocks(message, version)
        ]
        return {**self._params, "messages": messages}

    def parse(self, result: object) -> SampleResult:
        if not isinstance(result, dict) or "content" not in result:
            raise InvalidAnswer("the answer to a sampling request must be an object with 'content'")
        content = result["content"]
        blocks = content if isinstance(content, list) else [content]
        if not all(isinstance(block, dict) for block in blocks):
            raise InvalidAnswer("the content of a sampled message must be content blocks")
        texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        stop_reason = result.get("stopReason")
        return SampleResult(
            text="\n".join(texts),
            model=str(result.get("model", "")),
            stop_reason=stop_reason if isinstance(stop_reason, str) else None,
            content=blocks,
            raw=result,
        )

    def _identity(self) -> dict[str, Any]:
        return self._params


class Roots(Ask["list[Root]"]):
    """Ask the client which directories the server may work in.

    Spec: 2026-07-28 client/roots#protocol-messages
    """

    method = "roots/list"

    def params(self, version: ProtocolVersion) -> dict[str, Any]:
        return {}

    def parse(self, result: object) -> list[Root]:
        roots = result.get("roots") if isinstance(result, dict) else None
        if not isinstance(roots, list):
            raise InvalidAnswer("the answer to roots/list must be an object with an array 'roots'")
        found = []
        for root in roots:
            if not isinstance(root, dict) or not isinstance(root.get("uri"), str):
                raise InvalidAnswer("each root must be an object with a string 'uri'")
            name = root.get("name")
            found.append(Root(root["uri"], name if isinstance(name, str) else None))
        return found

    def _identity(self) -> dict[str, Any]:
        return {}


def _single_blocks(message: Mapping[str, Any], version: ProtocolVersion) -> list[dict[str, Any]]:
    """A message as revisions have it where content is one block: one message for each block."""
    content = message["content"]
    blocks = content if isinstance(content, list | tuple) else [content]
    for block in blocks:
        kind = block["type"]
        if kind in ("tool_use", "tool_result") or kind in version.absent_content:
            raise LocalProtocolError(f"sampling with {kind} content does not exist in revision {version}")
    return [{**message, "content": block} for block in blocks]


def check_elicitation_url(url: str) -> None:
    """An absolute http(s) URL.

    Spec: 2025-11-25 client/elicitation#url-mode-elicitation-requests MUST be a valid URL
    """
    if not is_http_url(url):
        raise InvalidParams(f"{url[:200]!r} is not an absolute http or https URL without a user in it")


def parse_elicit_result(result: object) -> tuple[str, dict[str, Any]]:
    """The action and, on "accept", the content of an ElicitResult."""
    if not isinstance(result, dict) or result.get("action") not in ("accept", "decline", "cancel"):
        raise InvalidAnswer("the answer to an elicitation needs an 'action': accept, decline or cancel")
    action: str = result["action"]
    content = result.get("content")
    if action != "accept" or content is None:
        return action, {}
    if not isinstance(content, dict):
        raise InvalidAnswer("the content of an accepted elicitation must be an object")
    return action, content


def check_form_answer(schema: Mapping[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Hold an answer against a hand-written form."""
    from .hints.flat import decode_form

    try:
        return decode_form(schema, content)
    except DecodeError as error:
        raise InvalidAnswer(f"the answer does not fit the form: {error}") from None


def shape_form(schema: dict[str, Any], version: ProtocolVersion) -> dict[str, Any]:
    """The form as this revision can express it.

    2025-06-18 knows single choices (with ``enumNames`` for their titles) and boolean defaults only, and no
    ``$schema``; a multi-select field has no form there.
    """
    if version.features.elicitation_choices:
        return schema
    properties = {}
    for name, field in schema["properties"].items():
        if field.get("type") == "array":
            raise LocalProtocolError(
                f"the field {name!r} is a multiple choice, which revision {version} cannot ask for"
            )
        shaped = dict(field)
        if "oneOf" in shaped:
            options = shaped.pop("oneOf")
            shaped["enum"] = [option["const"] for option in options]
            shaped["enumNames"] = [option["title"] for option in options]
        if "default" in shaped and shaped.get("type") != "boolean":
            del shaped["default"]
        properties[name] = shaped
    return {**{key: value for key, value in schema.items() if key != "$schema"}, "properties": properties}
