"""Batches over HTTP: an array of messages in one POST. 2025-03-26 alone has them.

Spec: 2025-03-26 basic/index#batching
Spec: 2025-03-26 basic/transports#sending-messages-to-the-server
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import InvalidRequest, ProtocolError
from ..jsonrpc import Batch, ErrorResponse, InvalidNotification, Notification, Request, Response, encode
from ..versions import MODERN_VERSIONS
from .http_peer import make_context, open_session, peer_state

if TYPE_CHECKING:
    from ..server.state import ConnectionState
    from .exchange import Exchange
    from .seams import Session


def serve_batch(exchange: Exchange, batch: Batch) -> Iterable[bytes]:
    """Answer every request of a batch with one array, in place and one after the other.

    A batch is answered by one JSON body, so its calls cannot stream, and cannot ask the client anything.
    """
    if exchange.version_header in MODERN_VERSIONS:
        return exchange.error(400, InvalidRequest("this revision has no batches: send one message a request"))
    session = open_session(exchange)
    state = peer_state(exchange, session)
    if not state.negotiated.features.batching:
        return exchange.error(
            400, InvalidRequest(f"revision {state.negotiated} has no batches: send one message a request")
        )
    exchange.runtime.begin_in_place()
    try:
        answers = _answer_each(exchange, batch, session, state)
    finally:
        exchange.runtime.end_in_place()
    if not answers:
        return exchange.respond(202)
    return exchange.respond(200, b"[" + b",".join(answers) + b"]")


def _answer_each(
    exchange: Exchange, batch: Batch, session: Session | None, state: ConnectionState
) -> list[bytes]:
    server = exchange.runtime.server
    answers: list[bytes] = []
    for entry in batch.entries:
        ctx = make_context(exchange, peer_state(exchange, session), state.negotiated, modern=False)
        ctx.mute = True
        match entry:
            case Request() if entry.method == "initialize":
                # Spec: 2025-03-26 basic/lifecycle#initialization MUST NOT be part of a batch
                answers.append(
                    encode(ErrorResponse(entry.id, InvalidRequest("initialize cannot be part of a batch")))
                )
            case Request():
                answer = server.handle(entry, ctx)
                if answer is not None:
                    answers.append(server.encode(answer))
            case Notification():
                server.notify(entry, ctx)
            case Response() | ErrorResponse():
                if session is not None and isinstance(entry.id, str):
                    exchange.runtime.seams.replies.resolve(session.id, entry.id, encode(entry))
            case InvalidNotification():
                pass  # Spec: 2025-03-26 basic/index#notifications MUST NOT be answered
            case ProtocolError():
                answers.append(encode(ErrorResponse(entry.request_id, entry, entry.request_id is None)))
    return answers
