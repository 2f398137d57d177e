"""`mcpref.transport.pending`: every waiter comes to exactly one end, whoever races for it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpref.cancellation import CancellationToken
from mcpref.errors import (
    ConnectionClosed,
    InvalidParams,
    InvalidRequest,
    LocalProtocolError,
    McpError,
    PeerError,
    RequestCancelled,
    RequestTimeout,
)
from mcpref.jsonrpc import ErrorResponse, ReceivedError, RequestId, Response, decode
from mcpref.transport.pending import PendingReplies, Waiter
from tests.threads import PATIENCE, restless, together


def wait(waiter: Waiter, timeout: float = PATIENCE, token: CancellationToken | None = None) -> Any:
    """The result, or the exception instead of it."""
    try:
        return waiter.wait(timeout, token)
    except McpError as error:
        return error


# ---- One at a time ---------------------------------------------------------------------------------------


@pytest.mark.req("jsonrpc.request-id-not-null")
@pytest.mark.req("2025-11-25:jsonrpc.request-id-unique", "2026-07-28:jsonrpc.request-id-unique-inflight")
def test_ids_are_integers_and_never_used_again() -> None:
    pending = PendingReplies()
    ids = []
    for number in range(100):
        waiter = pending.expect("one" if number % 2 else "other")
        ids.append(waiter.id)
        if number % 3:
            waiter.drop()
    assert all(type(request_id) is int for request_id in ids)
    assert len(set(ids)) == 100


def test_ids_are_not_shared_by_threads() -> None:
    pending = PendingReplies()

    def expect() -> list[RequestId]:
        return [pending.expect().id for _ in range(500)]

    with restless():
        ids = [request_id for each in together(*[expect] * 4) for request_id in each]
    assert len(set(ids)) == 2000 == len(pending)


def test_an_answer_that_comes_before_anybody_waits_is_not_lost() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    assert pending.resolve(Response(waiter.id, {"early": True}))
    assert len(pending) == 0
    assert waiter.wait(0) == {"early": True}


def test_an_answer_wakes_the_one_who_waits() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    result, resolved = together(partial(wait, waiter), lambda: pending.resolve(Response(waiter.id, [1])))
    assert (result, resolved) == ([1], True)
    assert len(pending) == 0


@pytest.mark.req("2026-07-28:stdio.response-by-id")
def test_answers_find_their_waiters_in_any_order() -> None:
    pending = PendingReplies()
    waiters = [pending.expect() for _ in range(5)]
    for waiter in reversed(waiters):
        pending.resolve(Response(waiter.id, waiter.id))
    assert [waiter.wait(0) for waiter in waiters] == [waiter.id for waiter in waiters]


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}], ids=repr)
def test_an_empty_result_is_a_result(result: object) -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.resolve(Response(waiter.id, result))
    assert waiter.wait(0) == result


@pytest.mark.parity(76)
@pytest.mark.req("2026-07-28:errors.local-distinguishable")
@pytest.mark.parametrize("code", [-32601, -32603, -1, 7, -32050])
def test_an_error_is_raised_again_with_its_code_message_and_data(code: int) -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.resolve(ErrorResponse(waiter.id, ReceivedError(code, "their words", {"why": 1})))
    with pytest.raises(PeerError) as caught:
        waiter.wait(0)
    assert (caught.value.code, caught.value.message) == (code, "their words")
    assert caught.value.data == {"why": 1}
    assert len(pending) == 0


def test_an_error_of_ours_arrives_as_an_error_of_the_peer() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.resolve(ErrorResponse(waiter.id, InvalidParams("no")))
    with pytest.raises(PeerError):
        waiter.wait(0)


def test_no_answer_in_time_is_a_timeout_that_says_how_long() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    with pytest.raises(RequestTimeout, match=r"0\.01 seconds"):
        waiter.wait(0.01)
    assert len(pending) == 0


@pytest.mark.req("2025-11-25:cancel.sender-ignores-late", "2026-07-28:cancel.client-ignore-late")
def test_a_late_answer_is_ignored() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    assert isinstance(wait(waiter, 0), RequestTimeout)
    assert not pending.resolve(Response(waiter.id, {}))


def test_a_second_answer_is_ignored() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    assert pending.resolve(Response(waiter.id, "first"))
    assert not pending.resolve(Response(waiter.id, "second"))
    assert waiter.wait(0) == "first"


@pytest.mark.parametrize("request_id", [99, "1", "", None], ids=repr)
def test_an_answer_to_nothing_is_ignored(request_id: RequestId | None) -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    assert waiter.id == 1
    error = ReceivedError(-1, "no")
    assert not pending.resolve(ErrorResponse(request_id, error))
    assert len(pending) == 1


@pytest.mark.parity(77)
@pytest.mark.parametrize(
    ("text", "found"), [("1", True), ("1.0", True), ('"1"', False), ("2", False), ("-1.0", False)]
)
def test_the_id_of_an_answer_as_it_comes_off_the_wire(text: str, found: bool) -> None:
    pending = PendingReplies()
    assert pending.expect().id == 1
    reply = decode(f'{{"jsonrpc":"2.0","id":{text},"result":{{}}}}'.encode())
    assert isinstance(reply, Response)
    assert pending.resolve(reply) is found


@pytest.mark.parity(77)
def test_a_fractional_id_is_no_answer_at_all() -> None:
    with pytest.raises(InvalidRequest):
        decode(b'{"jsonrpc":"2.0","id":1.5,"result":{}}')


def test_a_dropped_waiter_is_off_the_table() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    assert waiter.drop()
    assert not waiter.drop()
    assert len(pending) == 0
    assert not pending.resolve(Response(waiter.id, {}))


def test_dropping_after_the_answer_says_that_it_was_there() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.resolve(Response(waiter.id, {}))
    assert not waiter.drop()


# ---- Cancellation ----------------------------------------------------------------------------------------


def test_a_cancelled_token_ends_the_wait() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    token = CancellationToken()
    outcome, _ = together(partial(wait, waiter, PATIENCE, token), token.cancel)
    assert isinstance(outcome, RequestCancelled)
    assert len(pending) == 0


def test_a_token_that_is_cancelled_already_ends_the_wait_at_once() -> None:
    pending = PendingReplies()
    token = CancellationToken()
    token.cancel()
    with pytest.raises(RequestCancelled):
        pending.expect().wait(PATIENCE, token)


def test_an_answer_that_is_there_counts_more_than_the_cancellation() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    token = CancellationToken()
    pending.resolve(Response(waiter.id, "in time"))
    token.cancel()
    assert waiter.wait(0, token) == "in time"


def test_the_token_forgets_a_wait_that_is_over() -> None:
    pending = PendingReplies()
    token = CancellationToken()
    for _ in range(3):
        waiter = pending.expect()
        pending.resolve(Response(waiter.id, {}))
        waiter.wait(0, token)
        wait(pending.expect(), 0, token)
    del waiter
    gc.collect()
    assert not [found for found in gc.get_objects() if type(found) is Waiter and found._owner is pending]


# ---- The end of the connection ---------------------------------------------------------------------------


def test_the_end_wakes_every_waiter_and_refuses_new_ones() -> None:
    pending = PendingReplies()
    waiters = [pending.expect(scope) for scope in ("", "", "session")]
    *outcomes, _ = together(
        *[partial(wait, waiter) for waiter in waiters], partial(pending.fail_all, "gone away")
    )
    assert [type(outcome) for outcome in outcomes] == [ConnectionClosed] * 3
    assert {str(outcome) for outcome in outcomes} == {"gone away"}
    assert len({id(outcome) for outcome in outcomes}) == 3
    assert len(pending) == 0
    for _ in range(2):
        with pytest.raises(ConnectionClosed, match="gone away"):
            pending.expect()


def test_the_end_has_a_reason_of_its_own() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.fail_all()
    with pytest.raises(ConnectionClosed, match="before the answer came"):
        waiter.wait(0)


def test_refusals_after_the_end_do_not_pile_up_their_tracebacks() -> None:
    pending = PendingReplies()
    pending.fail_all()
    depths = []
    for _ in range(3):
        with pytest.raises(ConnectionClosed) as caught:
            pending.expect()
        depths.append(len(caught.traceback))
    assert depths[0] == depths[2]


def test_an_answer_that_came_before_the_end_is_kept() -> None:
    pending = PendingReplies()
    waiter = pending.expect()
    pending.resolve(Response(waiter.id, "in time"))
    pending.fail_all()
    assert waiter.wait(0) == "in time"


# ---- Scopes and chosen ids -------------------------------------------------------------------------------


def test_an_answer_on_another_session_reaches_nobody() -> None:
    pending = PendingReplies()
    one = pending.expect("one", "id")
    other = pending.expect("other", "id")
    unscoped = pending.expect()
    assert not pending.resolve(Response("id", "stray"))
    assert not pending.resolve(Response("id", "stray"), "third")
    assert not pending.resolve(Response(unscoped.id, "stray"), "one")
    assert pending.resolve(Response("id", "mine"), "other")
    assert other.wait(0) == "mine"
    assert isinstance(wait(one, 0), RequestTimeout)
    assert pending.resolve(Response(unscoped.id, "mine"))


def test_an_id_that_is_used_again_leaves_no_waiter_without_an_end() -> None:
    pending = PendingReplies()
    first = pending.expect(request_id="a")
    second = pending.expect(request_id="a")
    assert not first.drop()
    with pytest.raises(LocalProtocolError, match="'a' was used again"):
        first.wait(0)
    assert pending.resolve(Response("a", "for the second"))
    assert second.wait(0) == "for the second"
    assert len(pending) == 0


def test_a_chosen_id_may_be_used_again_after_its_answer() -> None:
    pending = PendingReplies()
    for number in range(3):
        waiter = pending.expect(request_id="a")
        pending.resolve(Response("a", number))
        assert waiter.wait(0) == number


# ---- Races -----------------------------------------------------------------------------------------------

#: What each rival may make of a waiter.
OUTCOMES: dict[str, type | str] = {
    "answer": "answer",
    "error": PeerError,
    "cancel": RequestCancelled,
    "end": ConnectionClosed,
    "timeout": RequestTimeout,
}


def race(rivals: list[str]) -> None:
    """Let all of them at one waiter; it must come to exactly one end, and one that was in the race."""
    pending = PendingReplies()
    token = CancellationToken()
    waiter = pending.expect()
    actions: dict[str, Callable[[], Any]] = {
        "answer": lambda: pending.resolve(Response(waiter.id, "answer")),
        "error": lambda: pending.resolve(ErrorResponse(waiter.id, ReceivedError(-1, "no"))),
        "cancel": token.cancel,
        "end": pending.fail_all,
    }
    timeout = 0.0 if "timeout" in rivals else PATIENCE
    outcome, *results = together(
        partial(wait, waiter, timeout, token), *[actions[rival] for rival in rivals if rival != "timeout"]
    )
    ends = [OUTCOMES[rival] for rival in rivals]
    assert (outcome if isinstance(outcome, str) else type(outcome)) in ends, outcome
    # At most one answer was taken, and if one was, it is the one that the waiter got.
    taken = [rival for rival, result in zip(_without_timeout(rivals), results, strict=True) if result is True]
    assert len(taken) <= 1
    if taken:
        assert (outcome if isinstance(outcome, str) else type(outcome)) == OUTCOMES[taken[0]]
    assert len(pending) == 0


def _without_timeout(rivals: list[str]) -> list[str]:
    return [rival for rival in rivals if rival != "timeout"]


@pytest.mark.req("2025-11-25:cancel.race", "2026-07-28:cancel.races")
@pytest.mark.parametrize(
    "rivals",
    [
        ["answer", "cancel"],
        ["answer", "timeout"],
        ["error", "timeout"],
        ["error", "cancel"],
        ["end", "cancel"],
        ["answer", "end"],
        ["answer", "error", "cancel", "end", "timeout"],
    ],
    ids="-".join,
)
def test_whoever_races_a_waiter_comes_to_one_end(rivals: list[str]) -> None:
    with restless():
        for _ in range(300):
            race(rivals)


@given(st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=1, max_size=6))
@settings(max_examples=100)
def test_any_company_of_rivals_leaves_one_end(rivals: list[str]) -> None:
    with restless():
        race(rivals)


def test_many_requests_at_once_each_get_their_own_answer() -> None:
    pending = PendingReplies()
    asked: list[RequestId] = []
    ready = threading.Semaphore(0)

    def ask() -> None:
        for _ in range(200):
            waiter = pending.expect()
            asked.append(waiter.id)
            ready.release()
            assert waiter.wait(PATIENCE) == {"echo": waiter.id}

    def answer() -> None:
        for number in range(800):
            assert ready.acquire(timeout=PATIENCE)
            request_id = asked[number]
            assert pending.resolve(Response(request_id, {"echo": request_id}))

    with restless():
        together(ask, ask, ask, ask, answer)
    assert len(pending) == 0
