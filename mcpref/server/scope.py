"""RequestScope: a transport's context plus what only the parsed request tells. Handlers are given this.

The server wraps one around the transport's context for each request: the version in effect, the client's
capabilities, its answers and state, the log threshold and the cancellation token. It forwards the
transport's primitives, and guards them: on a modern request nothing but notifications leaves, and nothing at
all once the request is cancelled or answered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..asking import Ask
from ..cancellation import CancellationToken
from ..errors import InternalError, InvalidRequest, LocalProtocolError, RequestCancelled
from ..jsonrpc import Notification, Request, RequestId
from ..meta import RequestMeta
from ..versions import ProtocolVersion
from .context import ASK_TIMEOUT, LOG_LEVELS, Auth, J, R, RequestContext

if TYPE_CHECKING:
    from .inbound import Route
    from .push import ListenStream
    from .rounds import Rounds
    from .state import ConnectionState

log = logging.getLogger("mcpref.server")


class RequestScope(RequestContext):
    """One request while it is served."""

    __slots__ = (
        "_closed",
        "_emit_lock",
        "_last_progress",
        "_logging",
        "client_capabilities",
        "client_info",
        "inner",
        "input_responses",
        "is_stateless",
        "protocol_version",
        "request_message",
        "request_meta",
        "request_state",
        "rounds",
        "token",
        "tracked",
    )

    protocol_version: ProtocolVersion
    client_capabilities: Mapping[str, Any]
    client_info: Mapping[str, Any] | None
    is_stateless: bool
    input_responses: Mapping[str, Any]
    request_state: str

    def __init__(
        self,
        inner: RequestContext,
        route: Route,
        token: CancellationToken | None = None,
        *,
        logging_enabled: bool = True,
    ) -> None:
        self.inner = inner
        """The transport's own context."""
        self.request_message: Request = route.request
        """The request as it was read."""
        self.request_meta: RequestMeta = route.meta
        """Its ``_meta``, read."""
        self.token = CancellationToken() if token is None else token
        """Set when the client takes the request back, or the connection ends."""
        self.protocol_version = route.version
        self.is_stateless = route.modern
        self.client_capabilities = route.client_capabilities
        self.client_info = route.client_info
        self.input_responses = {}
        self.request_state = ""
        self.rounds: Rounds | None = None
        """What `ask` and `once` keep; made when a request that may have rounds is dispatched."""
        self.tracked = False
        """Whether the connection's in-flight table holds this request."""
        self._logging = logging_enabled
        self._last_progress: float | None = None
        self._closed = False
        # Serialises what this one request sends, so that progress rises on the wire and nothing follows the
        # answer even if the handler left a thread behind. Held across the write of a single message.
        self._emit_lock = threading.Lock()

    # ---- Facts ----------------------------------------------------------------------------------------

    @property
    def request_id(self) -> RequestId:
        return self.request_message.id

    @property
    def method(self) -> str:
        return self.request_message.method

    @property
    def meta(self) -> Mapping[str, Any]:
        return self.request_meta.raw

    @property
    def headers(self) -> Mapping[str, str]:
        return self.inner.headers

    @property
    def auth(self) -> Auth | None:
        return self.inner.auth

    @property
    def state(self) -> ConnectionState | None:
        return self.inner.state

    @property
    def connection_token(self) -> str:
        return self.inner.connection_token

    @property
    def has_back_channel(self) -> bool:
        return not self.is_stateless and self.inner.has_back_channel

    @property
    def multiprocess(self) -> bool:
        return self.inner.multiprocess

    @property
    def progress_token(self) -> RequestId | None:
        return self.request_meta.progress_token

    @property
    def is_cancelled(self) -> bool:
        return self.token.cancelled or self.inner.is_cancelled

    def wait(self, seconds: float) -> bool:
        return self.token.wait(seconds) or self.inner.is_cancelled

    def log_enabled(self, level: str) -> bool:
        """Whether the server logs at all, and the client wants this level; unknown names pass.

        Spec: 2026-07-28 server/utilities/logging#per-request-log-level MUST NOT send any without a level set
        """
        if not self._logging:
            return False
        if self.is_stateless:
            wanted = self.request_meta.log_level
            if wanted is None:
                return False
        else:
            state = self.inner.state
            wanted = "info" if state is None else state.log_level
        rank, threshold = LOG_LEVELS.get(level), LOG_LEVELS.get(wanted)
        return rank is None or threshold is None or rank >= threshold

    # ---- What leaves ----------------------------------------------------------------------------------

    def send(self, notification: Notification) -> None:
        with self._emit_lock:
            # Spec: 2026-07-28 basic/transports/stdio#cancellation MUST NOT send anything after a cancellation
            if self._closed or self.token.suppresses_response:
                return
            if notification.method == "notifications/progress" and not self._rises(notification):
                return
            self.inner.send(notification)

    def _rises(self, notification: Notification) -> bool:
        # Spec: 2026-07-28 basic/patterns/progress#progress-flow MUST increase with each notification
        progress = (notification.params or {})["progress"]
        if self._last_progress is not None and progress <= self._last_progress:
            log.debug("progress %s does not exceed %s: not sent", progress, self._last_progress)
            return False
        self._last_progress = progress
        return True

    def close(self) -> None:
        """The answer is about to be sent; nothing of this request may follow it."""
        with self._emit_lock:
            self._closed = True

    def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float,
        token: CancellationToken | None = None,
    ) -> Any:
        if self.is_stateless:
            # Spec: 2026-07-28 basic/patterns/index MUST NOT start a request
            raise InternalError(f"{method} cannot be sent while a {self.protocol_version} request runs")
        if self.token.cancelled:
            raise RequestCancelled("this request was cancelled")
        if self._closed:
            raise LocalProtocolError(f"{method} cannot be sent: the request was answered already")
        return self.inner.request(method, params, timeout, token or self.token)

    def close_stream(self) -> None:
        self.inner.close_stream()

    def open_stream(self, stream: ListenStream) -> None:
        self.inner.open_stream(stream)

    # ---- Rounds ---------------------------------------------------------------------------------------

    def ask(self, key: str, request: Ask[R], *, timeout: float | None = None) -> R:
        answer: R = self.ask_each({key: request}, timeout)[key]
        return answer

    def ask_each(self, requests: dict[str, Ask[Any]], timeout: float | None) -> dict[str, Any]:
        for key, ask in requests.items():
            if not isinstance(ask, Ask):
                raise TypeError(
                    f"ctx.ask({key!r}, ...) takes a question such as Elicit(...), not {ask!r:.80}"
                )
        rounds = self._rounds("ask")
        rounds.claim(requests)
        if self.is_stateless:
            return rounds.answer_or_end(self, requests)
        # All are checked before the first is asked: they fail as a whole.
        params = {key: self.check_askable(ask) for key, ask in requests.items()}
        limit = ASK_TIMEOUT if timeout is None else timeout
        return {key: ask.parse(self.request(ask.method, params[key], limit)) for key, ask in requests.items()}

    def once(self, key: str, fn: Callable[[], J]) -> J:
        return self._rounds("once").once(key, fn)

    def _rounds(self, what: str) -> Rounds:
        if self.rounds is None:
            # Spec: 2026-07-28 basic/patterns/mrtr#supported-requests MUST NOT be used on any other request
            raise InvalidRequest(f"ctx.{what} works in tools, prompts and resources, not in {self.method}")
        return self.rounds
