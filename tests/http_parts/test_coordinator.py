"""StreamCoordinator and CancelTable by themselves: what is left in them, and what runs without their locks."""

from __future__ import annotations

from functools import partial

from mcpref.cancellation import CancellationToken
from mcpref.transport.coordinator import CancelTable, StreamCoordinator
from tests.threads import together


def test_replies_leave_the_table_by_every_way() -> None:
    replies = StreamCoordinator()
    answered, dropped, failed, kept = (
        replies.expect(sid, lambda: None) for sid in ("s", "s", "ended", "other")
    )
    assert len(replies) == 4
    replies.resolve("s", answered.id, b"{}")
    dropped.drop()
    replies.fail_session("ended")
    replies.fail_session("ended")
    assert len(replies) == 1
    assert failed.failed
    assert not kept.failed
    kept.drop()
    assert len(replies) == 0


def test_failing_a_session_with_many_waiting_fails_all_of_them_and_nobody_else() -> None:
    replies = StreamCoordinator()
    woken: list[int] = []
    mine = [replies.expect("mine", partial(woken.append, place)) for place in range(100)]
    theirs = [replies.expect("theirs", partial(woken.append, -1)) for _ in range(100)]
    replies.fail_session("mine")
    assert all(pending.failed and pending.reply is None for pending in mine)
    assert sorted(woken) == list(range(100))
    assert not any(pending.failed for pending in theirs)
    assert len(replies) == 100


def test_a_wake_may_use_the_table() -> None:
    replies = StreamCoordinator()
    seen: list[int] = []
    one = replies.expect("s", lambda: seen.append(len(replies)))
    replies.expect("s", lambda: seen.append(len(replies)))
    together(partial(replies.resolve, "s", one.id, b"{}"))
    together(partial(replies.fail_session, "s"))
    assert seen == [1, 0]


def test_a_cancelled_request_may_use_the_table() -> None:
    cancels = CancelTable()
    seen: list[int] = []
    cancels.track("s", "i:1", lambda reason: seen.append(len(cancels)))
    together(partial(cancels.cancel, "s", "i:1"))
    together(partial(cancels.cancel_session, "s"))
    assert seen == [1, 1]


def test_a_request_is_taken_out_by_its_identity() -> None:
    """Two tokens under one key: each leaves by itself, in either order."""
    for first_to_leave in (0, 1):
        cancels = CancelTable()
        tokens = [CancellationToken(), CancellationToken()]
        done = [cancels.track("s", "i:1", token.cancel) for token in tokens]
        done[first_to_leave]()
        done[first_to_leave]()
        assert len(cancels) == 1
        cancels.cancel("s", "i:1", "x")
        assert tokens[1 - first_to_leave].cancelled
        assert not tokens[first_to_leave].cancelled
        done[1 - first_to_leave]()
        assert len(cancels) == 0


def test_cancelling_a_session_reaches_every_request_also_those_under_one_id() -> None:
    cancels = CancelTable()
    tokens = [CancellationToken() for _ in range(6)]
    other = CancellationToken()
    done = [cancels.track("s", f"i:{place // 2}", token.cancel) for place, token in enumerate(tokens)]
    cancels.track("t", "i:0", other.cancel)
    cancels.cancel_session("s")
    assert all(token.cancelled and token.reason == "the session has ended" for token in tokens)
    assert not other.cancelled
    assert cancels.running("s") == 6, "they count until they are done"
    for one in done:
        one()
    assert len(cancels) == 1
