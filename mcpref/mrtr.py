"""Multi round-trip requests: a result that asks for input, and the retry that brings it.

Builders and readers for the three members involved (``inputRequests``, ``inputResponses``,
``requestState``), the rule which of them a client may be asked, and the client's retry loop as a function
over two callables. Knows nothing of transports, nor of how a state is sealed (`request_state`).

Spec: 2026-07-28 basic/patterns/mrtr#multi-round-trip-requests

Pure: no thread, socket or clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from .errors import InvalidParams, LocalError, LocalProtocolError
from .sampling_rules import check_sampling_params

#: The requests that may be answered with an input-required result; no other may.
#: Spec: 2026-07-28 basic/patterns/mrtr#supported-requests
MRTR_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})

#: How often a client sends one request, the first time included, before it gives up.
MAX_ROUNDS: Final = 16

COMPLETE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"

_KINDS: Mapping[str, str] = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


class InvalidResult(LocalError):
    """The server's result is none that this client may act on."""


class TooManyRounds(LocalError):
    """The server still asked for input when the limit of rounds was reached."""


def is_http_url(text: str) -> bool:
    """Whether this is an absolute http or https URL without a user in it, which is all that one may be sent to.

    Spec: 2025-11-25..2026-07-28 client/elicitation#safe-url-handling MUST NOT contain credentials
    """
    # Imported here because few servers send a user anywhere, and the import is not small.
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        return valid and min(text) > " "
    except ValueError:
        return False


@dataclass(slots=True)
class InputRequest:
    """One thing the server needs from the client before it can go on.

    Spec: 2026-07-28 basic/patterns/mrtr#inputrequests
    """

    id: str
    """The key under which the answer will come back; the server chooses it."""
    method: str
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """``sampling``, ``elicitation`` or ``roots``; a method that is none of these, verbatim."""
        return _KINDS.get(self.method, self.method)

    @classmethod
    def elicit(cls, id: str, message: str, requested_schema: Mapping[str, Any]) -> InputRequest:
        """Ask the user to fill in a form.

        Spec: 2026-07-28 client/elicitation#form-mode-elicitation-requests
        """
        properties = requested_schema.get("properties")
        if requested_schema.get("type") != "object" or not isinstance(properties, Mapping):
            raise ValueError("the schema of a form must have type 'object' and 'properties'")
        params = {"mode": "form", "message": message, "requestedSchema": dict(requested_schema)}
        return cls(id, "elicitation/create", params)

    @classmethod
    def elicit_url(cls, id: str, message: str, url: str) -> InputRequest:
        """Send the user to a URL.

        Spec: 2026-07-28 client/elicitation#url-mode-elicitation-requests MUST be a valid URL
        """
        if not is_http_url(url):
            raise ValueError(f"{url[:200]!r} is not an absolute http or https URL without a user in it")
        return cls(id, "elicitation/create", {"mode": "url", "message": message, "url": url})

    @classmethod
    def sample(cls, id: str, params: Mapping[str, Any]) -> InputRequest:
        """Ask the client's model; ``params`` are those of ``sampling/createMessage``."""
        check_sampling_params(params)
        return cls(id, "sampling/createMessage", dict(params))

    @classmethod
    def roots(cls, id: str) -> InputRequest:
        """Ask for the client's roots."""
        return cls(id, "roots/list")


@dataclass(slots=True)
class InputResponse:
    """The client's answer to the `InputRequest` of the same id: the bare result, without an envelope.

    Spec: 2026-07-28 basic/patterns/mrtr#inputresponses
    """

    id: str
    result: Any


def input_requests_to_json(requests: Iterable[InputRequest]) -> dict[str, Any]:
    """The ``inputRequests`` map: id to ``{method, params}``.

    Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST have unique keys
    """
    return _unique((r.id, {"method": r.method, "params": r.params}) for r in requests)


def input_responses_to_json(responses: Iterable[InputResponse]) -> dict[str, Any]:
    """The ``inputResponses`` map: id to bare result."""
    return _unique((response.id, response.result) for response in responses)


def _unique(entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in entries:
        if key in found:
            raise ValueError(f"the id {key!r} stands twice; each needs one of its own")
        found[key] = value
    return found


def parse_input_requests(value: object) -> list[InputRequest]:
    """Read an ``inputRequests`` map without refusing anything; what is no object has no requests.

    An unknown method is kept as it is, one that is no string becomes "", absent parameters become {}.
    """
    if not isinstance(value, dict):
        return []
    return [_parse_input_request(key, entry) for key, entry in value.items()]


def _parse_input_request(key: str, entry: object) -> InputRequest:
    members = entry if isinstance(entry, dict) else {}
    method = members.get("method")
    params = members.get("params")
    return InputRequest(
        key, method if isinstance(method, str) else "", params if isinstance(params, dict) else {}
    )


def read_input_responses(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The answers that a retried request brings, by the id of what was asked; {} if there are none.

    They stand at the top of ``params``, never in its ``_meta``.
    """
    responses = (params or {}).get("inputResponses")
    return responses if isinstance(responses, dict) else {}


def read_request_state(params: Mapping[str, Any] | None) -> str:
    """The state that a retried request echoes; "" if there is none. The client may have altered it."""
    state = (params or {}).get("requestState")
    return state if isinstance(state, str) else ""


def check_retry_params(params: Mapping[str, Any] | None) -> None:
    """Refuse a retry whose two members have the wrong type, which the readers above would overlook.

    What is inside ``inputResponses`` is for whoever asked: entries nobody asked for are to be ignored.

    Spec: 2026-07-28 basic/patterns/mrtr#error-handling SHOULD answer malformed input with an error
    """
    if params is None:
        return
    if not isinstance(params.get("inputResponses", {}), dict):
        raise InvalidParams("inputResponses must be an object: the id of each request, and its result")
    if not isinstance(params.get("requestState", ""), str):
        raise InvalidParams("requestState must be the string that the server sent")


def emit_input_required(
    result: MutableMapping[str, Any], requests: Iterable[InputRequest], request_state: str | None
) -> None:
    """Write the two members into ``result``; one that would be empty is left out.

    ``resultType`` is not written: it is stamped where every result gets it.
    """
    asked = input_requests_to_json(requests)
    if asked:
        result["inputRequests"] = asked
    if request_state:
        result["requestState"] = request_state


def parse_input_required(
    result: Mapping[str, Any], requests: Sequence[InputRequest] = (), request_state: str | None = None
) -> tuple[list[InputRequest], str | None]:
    """Read the two members back; one that is absent or has the wrong type keeps the value given here."""
    found = list(requests)
    if isinstance(result.get("inputRequests"), dict):
        found = parse_input_requests(result["inputRequests"])
    if isinstance(result.get("requestState"), str):
        request_state = result["requestState"]
    return found, request_state


@dataclass(slots=True)
class InputRequiredResult:
    """A result that asks for input instead of giving the final content.

    Spec: 2026-07-28 basic/patterns/mrtr#inputrequiredresult
    """

    requests: list[InputRequest] = field(default_factory=list)
    request_state: str | None = None
    """None is absent. An empty one is never sent, but must be echoed when received."""

    def to_json(self) -> dict[str, Any]:
        """The whole result, ``resultType`` included.

        Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST have one of the two
        """
        result: dict[str, Any] = {"resultType": INPUT_REQUIRED}
        emit_input_required(result, self.requests, self.request_state)
        if len(result) == 1:
            raise ValueError("an input-required result needs input requests or a request state")
        return result

    @classmethod
    def from_json(cls, result: Mapping[str, Any]) -> InputRequiredResult:
        """Read a result strictly: a member of the wrong type, or none of the two, is a `ValueError`."""
        asked = result.get("inputRequests")
        if asked is not None and not isinstance(asked, dict):
            raise ValueError("inputRequests must be an object")
        for key, entry in (asked or {}).items():
            if not isinstance(entry, dict) or not isinstance(entry.get("method"), str):
                raise ValueError(f"the input request {key[:64]!r} must be an object with a 'method'")
        state = result.get("requestState")
        if state is not None and not isinstance(state, str):
            raise ValueError("requestState must be a string")
        if not asked and state is None:
            raise ValueError("an input-required result needs inputRequests or a requestState")
        return cls(parse_input_requests(asked), state)


# What the client has to have declared.


def required_capability(request: InputRequest) -> dict[str, Any]:
    """What a client must declare to be asked this, in the form of its own capabilities object.

    A form elicitation is named ``{"elicitation": {"form": {}}}``, not by the bare object that means the same:
    a client that declared the URL mode alone could not see what it lacks.

    Spec: 2026-07-28 client/sampling#tools-in-sampling MUST NOT send tools to a client without sampling.tools
    Spec: 2026-07-28 client/sampling#capabilities SHOULD NOT use context values without sampling.context
    """
    params = request.params
    match request.kind:
        case "elicitation":
            mode = params.get("mode", "form")
            if mode not in ("form", "url"):
                raise ValueError(f"the mode of an elicitation is 'form' or 'url', not {mode!r}")
            return {"elicitation": {mode: {}}}
        case "sampling":
            sampling: dict[str, Any] = {}
            if "tools" in params or "toolChoice" in params:
                sampling["tools"] = {}
            if params.get("includeContext") in ("thisServer", "allServers"):
                sampling["context"] = {}
            return {"sampling": sampling}
        case "roots":
            return {"roots": {}}
    raise ValueError(f"{request.method!r} is not a request that may be put to a client")


def client_declares(capabilities: Mapping[str, Any], request: InputRequest) -> bool:
    """Whether a client with these capabilities may be asked this."""
    try:
        required = required_capability(request)
    except ValueError:
        return False
    return all(_declares(capabilities.get(name), parts) for name, parts in required.items())


def _declares(declared: object, parts: Mapping[str, Any]) -> bool:
    if not isinstance(declared, dict):
        return False
    # Spec: 2026-07-28 client/elicitation#capabilities an empty object is form mode only
    if "form" in parts and "form" not in declared and "url" not in declared:
        return True
    return all(isinstance(declared.get(part), dict) for part in parts)


def missing_capabilities(capabilities: Mapping[str, Any], requests: Iterable[InputRequest]) -> dict[str, Any]:
    """What the client would have to declare in addition, merged; {} if it may be asked all of this.

    Spec: 2026-07-28 basic/index#meta MUST be listed in the error's ``data.requiredCapabilities``
    """
    missing: dict[str, Any] = {}
    for request in requests:
        for name, parts in required_capability(request).items():
            if not _declares(capabilities.get(name), parts):
                missing.setdefault(name, {}).update(parts)
    return missing


def filter_declared(capabilities: Mapping[str, Any], requests: Iterable[InputRequest]) -> list[InputRequest]:
    """Those of the requests that the client may be asked.

    Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST NOT send the others
    """
    return [request for request in requests if client_declares(capabilities, request)]


# The client's side.


def result_type(result: object, method: str, extensions: Collection[str] = ()) -> str:
    """The type of a received result; raises `InvalidResult` for one that ``method`` cannot have.

    ``extensions`` are the further types that extensions in use define.

    Spec: 2026-07-28 basic/index#resulttype MUST take an absent type for "complete" and refuse an unknown one
    Spec: 2026-07-28 basic/patterns/mrtr#supported-requests MUST NOT ask for input on any other request
    """
    if not isinstance(result, Mapping):
        raise InvalidResult("the server's result is not an object")
    kind = result.get("resultType", COMPLETE)
    if kind == INPUT_REQUIRED and method not in MRTR_METHODS:
        raise InvalidResult(f"the server asked for input on {method}, which may not be answered so")
    if kind not in (COMPLETE, INPUT_REQUIRED) and (not isinstance(kind, str) or kind not in extensions):
        raise InvalidResult(f"the server's result has a type this client does not know: {str(kind)[:64]!r}")
    return str(kind)


Send = Callable[[dict[str, Any] | None, str | None], dict[str, Any]]
"""Sends the original request, under a new id, with these input responses and this state (None: without)."""
Answer = Callable[[list[InputRequest]], Mapping[str, Any] | None]
"""Gives the bare result for each id; None if nobody here can answer."""


def run_rounds(
    send: Send,
    answer: Answer,
    *,
    method: str = "tools/call",
    max_rounds: int = MAX_ROUNDS,
    extensions: Collection[str] = (),
) -> dict[str, Any]:
    """Send a request, answering what the server asks, until its result is final.

    The input-required result itself is returned when ``answer`` gives None. Only the latest round's state and
    answers are sent: a round without a state is retried without one.

    Spec: 2026-07-28 basic/patterns/mrtr#client-requirements-basic-workflow MUST echo the state exactly,
    MUST NOT send one where the result had none, MUST construct the inputs before the retry
    """
    responses: dict[str, Any] | None = None
    state: str | None = None
    for left in reversed(range(max_rounds)):
        result = send(responses, state)
        if result_type(result, method, extensions) != INPUT_REQUIRED:
            return result
        try:
            required = InputRequiredResult.from_json(result)
        except ValueError as error:
            raise InvalidResult(f"the server's input-required result is invalid: {error}") from None
        # Checked before anybody is asked: an answer that will not be sent is worse than none.
        if not left:
            break
        responses = None
        if required.requests:
            answers = answer(_known(required.requests))
            if answers is None:
                return result
            responses = _complete(required.requests, answers)
        state = required.request_state
    raise TooManyRounds(f"the server still asks for input after {max_rounds} rounds")


def _known(requests: list[InputRequest]) -> list[InputRequest]:
    # Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST be one of three requests
    for request in requests:
        if request.method not in _KINDS:
            raise InvalidResult(f"the server asked for {request.method[:64]!r}, which is no input request")
    return requests


def _complete(requests: list[InputRequest], answers: Mapping[str, Any]) -> dict[str, Any]:
    asked = {request.id for request in requests}
    if asked != answers.keys():
        missing = ", ".join(sorted(asked - answers.keys())) or "none"
        unasked = ", ".join(sorted(answers.keys() - asked)) or "none"
        raise LocalProtocolError(
            f"each input request needs one answer (missing: {missing}; not asked for: {unasked})"
        )
    return dict(answers)
