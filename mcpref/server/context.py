"""RequestContext: what a handler can do besides returning, and RequestInfo: what it can know.

A transport subclasses `RequestContext` and supplies the few primitives at the top of the class, as `StdioContext`
does. Progress, logging, sampling, elicitation and roots are written once, here, above them, with the version
and capability gates. A handler is never given a transport's context itself but a `RequestScope` (scope.py)
around it, which adds what only the parsed request tells.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from ..asking import Ask, Elicit, ElicitResult, ElicitUrl, Root, Roots, Sample, SampleResult
from ..errors import InternalError, InvalidRequest, LocalProtocolError, RequestCancelled
from ..jsonrpc import Notification, RequestId
from ..mrtr import client_declares
from ..versions import LATEST_LEGACY, ProtocolVersion

if TYPE_CHECKING:
    from ..cancellation import CancellationToken
    from ..schema.logs import LoggingLevel
    from .embedding import Embedding
    from .push import ListenStream
    from .state import ConnectionState

T = TypeVar("T")
R = TypeVar("R")
R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")
J = TypeVar("J", bound="bool | int | float | str | Sequence[object] | Mapping[str, object] | None")

#: Severities in rising order.
#: RFC: 5424 6.2.1
#: Spec: 2026-07-28 server/utilities/logging#log-levels
LOG_LEVELS: Final[Mapping[str, int]] = {
    name: rank
    for rank, name in enumerate(
        ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
    )
}

#: How long a question to the client may stay open: as long as the sealed state of a modern round lives.
ASK_TIMEOUT: Final = 600.0

_EMPTY: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Auth:
    """Who sent the request, as the host or the authorization layer established it."""

    subject: str
    """What sessions and sealed state are bound to."""
    scopes: frozenset[str] = frozenset()
    user: Any = None
    """The application's own object for the user, if it has one."""


class RequestInfo:
    """Read-only facts about the request. Injected into a handler that annotates a parameter with it."""

    __slots__ = ()

    @property
    def request_id(self) -> RequestId | None:
        """The id the client gave it; None outside any request."""
        return None

    @property
    def method(self) -> str:
        """What the client asked for, such as ``tools/call``."""
        return ""

    @property
    def protocol_version(self) -> ProtocolVersion:
        """The revision in effect for this very request."""
        return LATEST_LEGACY

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """Name and version of the client, as it told them: for display, never for decisions."""
        return None

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared: with this request (modern) or in the handshake (legacy)."""
        return _EMPTY

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's ``_meta``."""
        return _EMPTY

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers, names in lower case; empty on other transports."""
        return {}

    @property
    def auth(self) -> Auth | None:
        """Who sent the request; None where nobody was authenticated (stdio, in-process)."""
        return None


class RequestContext(RequestInfo):
    """What a handler can do while it runs. Injected into a handler that annotates a parameter with it."""

    __slots__ = ()

    # ---- What a transport supplies --------------------------------------------------------------------

    def send(self, notification: Notification) -> None:
        """Send a notification that belongs to this request. The default drops it."""

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float,
        token: CancellationToken | None = None,
    ) -> Any:
        """Send a request to the client, block until its answer, return the result.

        Raises `PeerError`, `RequestTimeout`, `ConnectionClosed`, or `RequestCancelled` when ``token`` is set.
        """
        raise InvalidRequest(f"this connection cannot carry {method} to the client")

    def close_stream(self) -> None:
        """Let the client go and come back for the rest, where it can (2025-11-25 over HTTP); else nothing."""

    def open_stream(self, stream: ListenStream) -> None:
        """Keep a ``subscriptions/listen`` stream open, its acknowledgement first."""
        raise InvalidRequest("this connection cannot carry a listen stream")

    @property
    def state(self) -> ConnectionState | None:
        """The state of the peer's connection; None if the transport keeps none."""
        return None

    @property
    def connection_token(self) -> str:
        """What scopes a cancellation: the session id on stateful HTTP, else empty."""
        return ""

    @property
    def has_back_channel(self) -> bool:
        """Whether `request` can reach the client."""
        return False

    @property
    def multiprocess(self) -> bool:
        """Whether another process may serve the next request of the same client."""
        return False

    @property
    def ends_with_connection(self) -> bool:
        """Whether this request alone is cancelled by the end of its connection, so that nobody looks for it by id."""
        return False

    @property
    def embedding(self) -> Embedding | None:
        """What a web framework puts around the application's functions; None where there is none."""
        return None

    @property
    def is_cancelled(self) -> bool:
        """Whether the client no longer wants the answer. Poll it in long work, or use `wait`."""
        return False

    # ---- What the request itself tells; `RequestScope` knows ------------------------------------------

    @property
    def is_stateless(self) -> bool:
        """Whether this is a modern request: the client is asked by `ask` or returned requests only."""
        return False

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """The client's answers to what this request's last round asked for, by key."""
        return _EMPTY

    @property
    def request_state(self) -> str:
        """What the last round's input-required result carried as its state; "" if nothing."""
        return ""

    @property
    def progress_token(self) -> RequestId | None:
        """What the client wants progress reported under; None if it wants none."""
        return None

    def log_enabled(self, level: str) -> bool:
        """Whether a message of this level would be sent."""
        return False

    # ---- Cancellation ---------------------------------------------------------------------------------

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the request is cancelled; True if it was."""
        raise NotImplementedError

    def check_cancelled(self) -> None:
        """Raise `RequestCancelled` if the client no longer wants the answer."""
        if self.is_cancelled:
            raise RequestCancelled("this request was cancelled")

    # ---- Notifications --------------------------------------------------------------------------------

    def report_progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Tell the client how far the work is. Does nothing if the client did not ask for it.

        Spec: 2026-07-28 basic/patterns/progress#progress-flow
        """
        if not math.isfinite(progress) or (total is not None and not math.isfinite(total)):
            raise ValueError("progress and total must be finite numbers")
        token = self.progress_token
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message and self.protocol_version.features.progress_message:
            params["message"] = message
        self.send(Notification("notifications/progress", params))

    def log(self, level: LoggingLevel, data: object = None, logger: str = "") -> None:
        """Send the client a log message, if it wants messages of this level.

        Never log credentials or personal data here: the client shows it to whoever is there.

        Spec: 2026-07-28 server/utilities/logging#log-message-notifications
        """
        if not self.log_enabled(level):
            return
        from ..hints import encode_any

        params: dict[str, Any] = {"level": level, "data": encode_any(data)}
        if logger:
            params["logger"] = logger
        self.send(Notification("notifications/message", params))

    # ---- Asking the client: one way for both eras -----------------------------------------------------

    def ask(self, key: str, request: Ask[R], *, timeout: float | None = None) -> R:
        """Ask the client, and return its answer at this very line.

        On legacy revisions it blocks. On modern ones it ends the round; the client retries with the answer,
        the handler runs again from the top, and this line returns. So read before asking and write after,
        and keep with `once` what must not be computed twice.
        """
        raise InvalidRequest("nobody can be asked here")

    @overload
    def ask_all(self, requests: Mapping[str, Ask[R]], /, *, timeout: float | None = None) -> dict[str, R]: ...
    @overload
    def ask_all(
        self, first: tuple[str, Ask[R1]], second: tuple[str, Ask[R2]], /, *, timeout: float | None = None
    ) -> tuple[R1, R2]: ...
    @overload
    def ask_all(
        self,
        first: tuple[str, Ask[R1]],
        second: tuple[str, Ask[R2]],
        third: tuple[str, Ask[R3]],
        /,
        *,
        timeout: float | None = None,
    ) -> tuple[R1, R2, R3]: ...
    @overload
    def ask_all(
        self,
        first: tuple[str, Ask[R1]],
        second: tuple[str, Ask[R2]],
        third: tuple[str, Ask[R3]],
        fourth: tuple[str, Ask[R4]],
        /,
        *,
        timeout: float | None = None,
    ) -> tuple[R1, R2, R3, R4]: ...
    def ask_all(self, *requests: Any, timeout: float | None = None) -> Any:
        """Ask several things in one round: a mapping of one kind, or up to four (key, question) pairs."""
        if len(requests) == 1 and isinstance(requests[0], Mapping):
            return self.ask_each(dict(requests[0]), timeout)
        answers = self.ask_each(dict(requests), timeout)
        return tuple(answers[key] for key, _ in requests)

    def ask_each(self, requests: dict[str, Ask[Any]], timeout: float | None) -> dict[str, Any]:
        """What `ask_all` comes down to."""
        raise InvalidRequest("nobody can be asked here")

    def once(self, key: str, fn: Callable[[], J]) -> J:
        """The value of ``fn()``, computed in the first round and kept over the later ones.

        The value goes through JSON in the first round too, so that all rounds see the same thing.
        """
        raise InvalidRequest("nothing can be kept here")

    # ---- Asking the client: legacy, by a request of the server's --------------------------------------

    def client_supports(self, capability: str) -> bool:
        """Whether the client declared a capability: "roots", "sampling", "sampling.tools", "elicitation.url"…

        "elicitation" alone means forms: an empty ``elicitation`` object declares exactly those.

        Spec: 2025-11-25 client/elicitation#capabilities
        """
        value: object = self.client_capabilities
        if capability in ("elicitation", "elicitation.form"):
            modes = value.get("elicitation") if isinstance(value, Mapping) else None
            return isinstance(modes, Mapping) and (not modes or "form" in modes)
        for part in capability.split("."):
            if not isinstance(value, Mapping) or value.get(part) is None:
                return False
            value = value[part]
        return True

    def sample(self, request: Sample | Mapping[str, Any], *, timeout: float = ASK_TIMEOUT) -> SampleResult:
        """Have the client's model write something (``sampling/createMessage``). Legacy requests only."""
        ask = request if isinstance(request, Sample) else Sample.from_params(request)
        return self._ask_directly(ask, timeout)

    @overload
    def elicit(self, message: str, form: list[str], *, timeout: float = ASK_TIMEOUT) -> ElicitResult[str]: ...
    @overload
    def elicit(
        self, message: str, form: Mapping[str, Any], *, timeout: float = ASK_TIMEOUT
    ) -> ElicitResult[dict[str, Any]]: ...
    @overload
    def elicit(self, message: str, form: type[T], *, timeout: float = ASK_TIMEOUT) -> ElicitResult[T]: ...
    def elicit(self, message: str, form: Any, *, timeout: float = ASK_TIMEOUT) -> ElicitResult[Any]:
        """Have the user fill in a form (``elicitation/create``). Legacy requests only."""
        return self._ask_directly(Elicit(message, form), timeout)

    def elicit_url(
        self, message: str, url: str, elicitation_id: str, *, timeout: float = ASK_TIMEOUT
    ) -> ElicitResult[None]:
        """Send the user to a URL. Legacy requests only.

        Spec: 2025-11-25 client/elicitation#url-mode-elicitation-requests
        """
        return self._ask_directly(ElicitUrl(message, url, elicitation_id), timeout)

    def complete_elicitation(self, elicitation_id: str) -> None:
        """Tell the client that the user has finished what an elicitation by URL sent them to. 2025-11-25 only.

        Spec: 2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        if self.protocol_version.features.elicitation_id:
            self.send(Notification("notifications/elicitation/complete", {"elicitationId": elicitation_id}))

    def list_roots(self, *, timeout: float = ASK_TIMEOUT) -> list[Root]:
        """Which directories the client lets the server work in. Legacy requests only."""
        return self._ask_directly(Roots(), timeout)

    def _ask_directly(self, ask: Ask[R], timeout: float) -> R:
        if self.is_stateless:
            # Spec: 2026-07-28 basic/patterns/mrtr#multi-round-trip-requests MUST NOT send requests of its own
            raise InternalError(
                f"{ask.method} cannot be sent while a {self.protocol_version} request runs: "
                "use ctx.ask(key, question), which works on every revision, "
                "or return ToolResponse.input_required(...)"
            )
        params = self.check_askable(ask)
        return ask.parse(self.request(ask.method, params, timeout))

    def check_askable(self, ask: Ask[Any]) -> dict[str, Any]:
        """The question's parameters; raises -32600 if this client cannot be asked it."""
        if not self.has_back_channel:
            raise InvalidRequest(f"this connection cannot carry {ask.method} to the client")
        try:
            params = ask.params(self.protocol_version)
        except LocalProtocolError as error:
            raise InvalidRequest(str(error)) from None
        # Spec: 2024-11-05..2025-11-25 basic/lifecycle#operation only negotiated capabilities are used
        if not client_declares(self.client_capabilities, ask.input_request("", self.protocol_version)):
            raise InvalidRequest(f"the client did not declare what {ask.method} needs")
        return params

    # ---- Input-required results a handler returned itself ---------------------------------------------

    @property
    def is_resubmit(self) -> bool:
        """Whether the client sent answers with this request."""
        return bool(self.input_responses)

    def has_input_response(self, key: str) -> bool:
        """Whether the client answered this key."""
        return key in self.input_responses

    @overload
    def input_response_as(self, key: str, kind: Ask[R]) -> R: ...
    @overload
    def input_response_as(self, key: str, kind: type[T]) -> T: ...
    def input_response_as(self, key: str, kind: Any) -> Any:
        """The answer under a key, read by its question or as a type; without one, ``{}`` is read."""
        value = self.input_responses.get(key, {})
        if isinstance(kind, Ask):
            return kind.parse(value)
        from ..hints import compile_hint

        return compile_hint(kind, where=f"the answer {key!r}").decode(value)

    @overload
    def request_state_as(self, kind: type[T], default: T) -> T: ...
    @overload
    def request_state_as(self, kind: type[T], default: None = None) -> T | None: ...
    def request_state_as(self, kind: type[T], default: T | None = None) -> T | None:
        """The state of the last round, read as a type; ``default`` if there was none."""
        if not self.request_state:
            return default
        from ..hints import compile_hint

        decoded: T = compile_hint(kind, where="the request state").decode(json.loads(self.request_state))
        return decoded


class NullContext(RequestContext):
    """A context that leads nowhere: never cancelled, drops notifications, refuses requests.

    For calling a handler outside any connection.
    """

    __slots__ = ()

    def wait(self, seconds: float) -> bool:
        from time import sleep

        sleep(seconds)
        return False
