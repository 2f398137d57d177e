"""Rounds: how one blocking handler serves both eras (`ctx.ask`, `ctx.once`).

On a modern request `ask` cannot wait for the client. It ends the round instead: the result says what is
asked, and carries, sealed, all that the next round needs. The client answers and sends the request again;
the handler runs from the top, and the `ask` that ended the last round returns the answer.

What the sealed state carries: the questions that were put (key and digest), the answers to all earlier ones
(a client sends only the latest round's), and the values of `once`. An answer counts only if its key was
asked, with this very question, and if it fits; otherwise the question is put again.

Spec: 2026-07-28 basic/patterns/mrtr#basic-workflow

One `Rounds` belongs to one running request; the handler's threads may share it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..asking import Ask
from ..errors import InternalError, InvalidAnswer, LocalProtocolError, MissingRequiredClientCapability
from ..jsonrpc import encode_json
from ..mrtr import (
    InputRequest,
    InputRequiredResult,
    filter_declared,
    missing_capabilities,
    read_input_responses,
)
from ..settings import Settings
from .context import J

if TYPE_CHECKING:
    from ..request_state import Binding, KeyRing
    from .core import McpServer
    from .scope import RequestScope


log = logging.getLogger("mcpref.server")


class RoundEnded(BaseException):
    """Unwinds a handler whose question goes to the client. ``except Exception`` lets it pass.

    A handler that catches even this one still ends its round: the questions are recorded before it is raised.
    """


class Rounds:
    """The questions and kept values of one request."""

    __slots__ = ("_answers", "_kept", "_lock", "_used", "pending")

    def __init__(self, carried: Mapping[str, Any], responses: Mapping[str, Any]) -> None:
        self._lock = threading.Lock()
        self._used: set[str] = set()
        self._kept: dict[str, Any] = dict(carried.get("once", {}))
        # key -> [digest of the question, the client's result]
        self._answers: dict[str, list[Any]] = dict(carried.get("answers", {}))
        for key, digest in carried.get("asked", {}).items():
            if key in responses:
                self._answers[key] = [digest, responses[key]]
        self.pending: dict[str, tuple[Ask[Any], InputRequest]] = {}
        """What this round asks for; once there is something, the round is over."""

    def claim(self, requests: Mapping[str, Ask[Any]]) -> None:
        """Each key once in a run: a loop that asks under one key would never end on a modern request."""
        with self._lock:
            for key in requests:
                if key in self._used:
                    raise LocalProtocolError(
                        f"the key {key!r} was asked already; give each question its own key"
                    )
            self._used.update(requests)

    def answer_or_end(self, scope: RequestScope, requests: dict[str, Ask[Any]]) -> dict[str, Any]:
        """The answers, if the client has given them all; else record the open questions and unwind."""
        asked = {key: ask.input_request(key, scope.protocol_version) for key, ask in requests.items()}
        # Before anybody is asked, and for all of them together.
        # Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST NOT ask for the undeclared
        missing = missing_capabilities(scope.client_capabilities, list(asked.values()))
        if missing:
            raise MissingRequiredClientCapability(missing)
        with self._lock:
            given = {key: self._answers.get(key) for key in requests}
        answers = {}
        for key, ask in requests.items():
            # Outside the lock: it makes an object of the application's.
            if (found := _read(ask, given[key])) is not None:
                answers[key] = found[0]
        with self._lock:
            for key, ask in requests.items():
                if key not in answers:
                    self._answers.pop(key, None)  # what was answered does not count
                    self.pending[key] = (ask, asked[key])
            if not self.pending:
                return answers
        raise RoundEnded

    def once(self, key: str, fn: Callable[[], J]) -> J:
        with self._lock:
            if key in self._kept:
                kept: J = self._kept[key]
                return kept
        # Outside the lock: it is the application's code.
        made = fn()
        try:
            value = json.loads(encode_json(made))
        except (TypeError, ValueError) as error:
            raise type(error)(f"ctx.once({key!r}, ...) keeps JSON values only: {error}") from None
        with self._lock:
            first: J = self._kept.setdefault(key, value)
        return first

    def to_carry(self) -> dict[str, Any]:
        """What the next round must know."""
        with self._lock:
            return {
                "asked": {key: ask.digest() for key, (ask, _) in self.pending.items()},
                "answers": dict(self._answers),
                "once": dict(self._kept),
            }


def _read(ask: Ask[Any], given: list[Any] | None) -> tuple[Any] | None:
    """What the client answered; None if it did not, or answered another question, or not to the point."""
    if given is None or given[0] != ask.digest():
        return None
    try:
        return (ask.parse(given[1]),)
    except InvalidAnswer as error:
        log.info("an answer does not count, and the question is put again: %s", error)
        return None


class Sealer:
    """Writes and reads ``requestState``: signed, bound to the caller and the request, and short-lived."""

    __slots__ = ("_audience", "_clock", "_ring", "generated")

    def __init__(
        self, ring: KeyRing, clock: Callable[[], float], *, generated: bool = False, audience: str = ""
    ) -> None:
        """``audience`` is the server: others may seal with the same secret, a framework's key."""
        self._ring = ring
        self._audience = audience
        self._clock = clock
        self.generated = generated
        """Whether nobody gave a secret, so that no other process can open what this one sealed."""

    def seal(self, payload: Mapping[str, Any], binding: Binding) -> str:
        from ..request_state import StateTooLarge

        try:
            return self._ring.seal(encode_json(payload), now=self._clock(), binding=self._bound(binding))
        except StateTooLarge as error:
            raise InternalError(
                f"{_largest(payload)} makes the request's state larger than {error.limit} bytes"
            ) from None

    def unseal(self, token: str, binding: Binding) -> dict[str, Any]:
        """The payload; raises `BadRequestState` for what is not ours, not this request's, or too old.

        Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST reject state that fails
        """
        from ..request_state import BadRequestState

        try:
            opened = self._ring.unseal(token, now=self._clock(), binding=self._bound(binding))
        except BadRequestState as error:
            hint = "; other processes need the same MCPREF_SECRET or SECRET_KEY" if self.generated else ""
            log.warning("a request's state was refused: %s%s", error.why, hint)
            raise
        payload: dict[str, Any] = json.loads(opened)
        return payload

    def _bound(self, binding: Binding) -> Binding:
        return replace(binding, request=f"{self._audience}\n{binding.request}")


def make_sealer(
    secret: str | bytes | Sequence[str | bytes] | None, settings: Settings, audience: str = ""
) -> Sealer:
    """A sealer with the secrets given, else the environment's, else one of its own for this process alone."""
    from ..request_state import KeyRing

    if secret is None:
        secret = os.environ.get("MCPREF_SECRET")
    generated = secret is None
    try:
        ring = KeyRing(
            os.urandom(32) if secret is None else secret,
            ttl=settings.state_ttl,
            max_length=settings.state_limit,
        )
    except ValueError as error:
        raise ValueError(f"McpServer(secret=...) or MCPREF_SECRET: {error}") from None
    return Sealer(ring, time.time, generated=generated, audience=audience)


def open_rounds(scope: RequestScope, server: McpServer) -> None:
    """Give a request that may have rounds what its last one left."""
    params = scope.request_message.params or {}
    carried: dict[str, Any] = {}
    if scope.is_stateless:
        scope.input_responses = read_input_responses(params)
        token = params.get("requestState")
        if token is not None:
            carried = server.sealer.unseal(token, binding_of(scope))
            scope.request_state = carried.get("state", "")
    scope.rounds = Rounds(carried, scope.input_responses)


def binding_of(scope: RequestScope) -> Binding:
    """What a state must match to be accepted again: caller, method, name or uri, and arguments."""
    from ..request_state import Binding

    auth = scope.auth
    return Binding.of(auth.subject if auth else None, scope.method, scope.request_message.params)


def check_sealable(scope: RequestScope, sealer: Sealer) -> None:
    """Where several processes serve, a secret that only one of them has would fail at random: so it fails always."""
    if sealer.generated and scope.multiprocess:
        log.warning("a question was not put: several processes serve, and they have no secret in common")
        raise InternalError(
            "several processes serve this server, and they need one secret to ask for input: "
            "set MCPREF_SECRET, McpServer(secret=...) or the framework's SECRET_KEY to the same value in all of them"
        )


def ended_by_ask(scope: RequestScope, rounds: Rounds, sealer: Sealer) -> dict[str, Any]:
    """The input-required result of a round that `ask` ended."""
    check_sealable(scope, sealer)
    requests = [request for _, request in rounds.pending.values()]
    return InputRequiredResult(requests, sealer.seal(rounds.to_carry(), binding_of(scope))).to_json()


def ended_by_return(
    scope: RequestScope, requests: list[InputRequest], state: str | None, sealer: Sealer
) -> dict[str, Any]:
    """The input-required result that a handler returned itself.

    Kinds of input that the client did not declare are left out; if nothing is left, the error says what is
    missing.
    """
    if not scope.is_stateless:
        raise InternalError(
            f"revision {scope.protocol_version} has no input-required results: "
            "use ctx.ask(key, question), which works on every revision"
        )
    declared = filter_declared(scope.client_capabilities, requests)
    if not declared and state is None:
        raise MissingRequiredClientCapability(missing_capabilities(scope.client_capabilities, requests))
    if state is not None:
        check_sealable(scope, sealer)
    sealed = "" if state is None else sealer.seal({"state": state}, binding_of(scope))
    return InputRequiredResult(declared, sealed).to_json()


def _largest(payload: Mapping[str, Any]) -> str:
    sizes = {
        f"the value kept under {key!r}" if part == "once" else f"the answer under {key!r}": len(
            encode_json(value)
        )
        for part in ("once", "answers")
        for key, value in payload.get(part, {}).items()
    }
    return max(sizes, key=lambda name: sizes[name]) if sizes else "the state given to input_required"
