"""The state that a round leaves with the client: nobody else can use it, and nobody can change it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpref import Auth, McpServer
from mcpref.meta import MetaKey
from tests.server.support import FORM, PATIENCE, LocalContext, meta, refusal, result, texts
from tests.threads import together

from .asking import YES, make_server

SECRET = "a secret of sixteen bytes or more"
CALL: dict[str, Any] = {"name": "delete", "arguments": {"path": "/tmp/x"}}


def begin(server: McpServer, ctx: LocalContext | None = None) -> str:
    """The state after the first round."""
    first = result(server, "tools/call", CALL, capabilities=FORM, ctx=ctx)
    assert list(first["inputRequests"]) == ["sure"]
    return str(first["requestState"])


def retry(state: str, key: str = "sure", **members: Any) -> dict[str, Any]:
    return {**CALL, "requestState": state, "inputResponses": {key: YES}, **members}


def assert_refused(server: McpServer, params: dict[str, Any], ctx: LocalContext | None = None) -> None:
    """Refused with one message for all reasons: which one it was would help whoever tries states out."""
    error = refusal(server, "tools/call", params, capabilities=FORM, ctx=ctx)
    assert (error.code, error.message) == (
        -32602,
        "requestState is not valid here: start the request again",
    )


# ---- Changed ----------------------------------------------------------------------------------------------


@pytest.mark.parity(115)
@pytest.mark.req(
    "2026-07-28:mrtr.state-integrity",
    "2026-07-28:mrtr.state-untrusted",
    "2026-07-28:mrtr.state-reject-tampered",
)
def test_a_state_of_which_any_byte_was_changed_is_refused() -> None:
    server = make_server(SECRET)
    state = begin(server)
    raw = bytearray(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4)))
    for place in range(0, len(raw), 7):
        changed = bytearray(raw)
        changed[place] ^= 1
        token = base64.urlsafe_b64encode(bytes(changed)).rstrip(b"=").decode()
        assert_refused(server, retry(token))


@pytest.mark.parity(115)
@pytest.mark.parametrize("length", [0, 1, 20, 43, 100, -1, -4], ids=str)
def test_a_truncated_state_is_refused(length: int) -> None:
    server = make_server(SECRET)
    assert_refused(server, retry(begin(server)[:length]))


@pytest.mark.parametrize("extra", ["A", "=", "====", "AAAA", " ", "\n", "\x00", "é"], ids=repr)
def test_a_longer_state_is_refused(extra: str) -> None:
    server = make_server(SECRET)
    state = begin(server)
    assert_refused(server, retry(state + extra))
    assert_refused(server, retry(extra + state))


# ---- Late -------------------------------------------------------------------------------------------------


@pytest.mark.parity(115)
@pytest.mark.req("2026-07-28:mrtr.state-expiry")
@pytest.mark.parametrize(("seconds", "accepted"), [(0, True), (599, True), (600, False), (10**6, False)])
def test_a_state_expires(monkeypatch: pytest.MonkeyPatch, seconds: int, accepted: bool) -> None:
    server = make_server(SECRET)
    now = [1_800_000_000.0]
    monkeypatch.setattr(server.sealer, "_clock", lambda: now[0])
    state = begin(server)
    now[0] += seconds
    if accepted:
        assert result(server, "tools/call", retry(state), capabilities=FORM)["inputRequests"]
    else:
        assert_refused(server, retry(state))


def test_the_lifetime_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    server = make_server(SECRET, state_ttl=5)
    now = [1_800_000_000.0]
    monkeypatch.setattr(server.sealer, "_clock", lambda: now[0])
    state = begin(server)
    now[0] += 5
    assert_refused(server, retry(state))


def test_clocks_may_differ_a_little_but_not_much(monkeypatch: pytest.MonkeyPatch) -> None:
    server = make_server(SECRET)
    now = [1_800_000_000.0]
    monkeypatch.setattr(server.sealer, "_clock", lambda: now[0])
    state = begin(server)
    now[0] -= 59
    assert result(server, "tools/call", retry(state), capabilities=FORM)["inputRequests"]
    now[0] -= 2
    assert_refused(server, retry(state))


# ---- Somebody else's --------------------------------------------------------------------------------------


@pytest.mark.parity(115)
@pytest.mark.req(
    "2026-07-28:mrtr.state-bind-principal",
    "2026-07-28:elicitation.state-user-bound",
    "2026-07-28:elicitation.same-user",
    "2026-07-28:elicitation.state-identity-from-auth",
)
def test_a_state_serves_the_caller_it_was_made_for() -> None:
    server = make_server(SECRET)
    ann = LocalContext(auth=Auth("ann"))
    nobody = LocalContext()
    anns, anonymous = begin(server, ann), begin(server, nobody)
    for state, owner in ((anns, ann), (anonymous, nobody)):
        for ctx in (ann, LocalContext(auth=Auth("bob")), LocalContext(auth=Auth("")), nobody):
            if ctx is owner:
                assert result(server, "tools/call", retry(state), capabilities=FORM, ctx=ctx)["inputRequests"]
            else:
                assert_refused(server, retry(state), ctx)


@pytest.mark.req("2026-07-28:elicitation.no-client-asserted-identity")
def test_who_a_client_says_it_is_opens_nothing() -> None:
    """Only the authenticated subject counts, never a name that stands in the request."""
    server = make_server(SECRET)
    params = retry(begin(server, LocalContext(auth=Auth("ann"))))
    claims = {MetaKey.CLIENT_INFO: {"name": "ann", "version": "1"}, "com.example/user": "ann"}
    params["_meta"] = {**meta(FORM), **claims}
    for ctx in (LocalContext(), LocalContext(auth=Auth("bob"))):
        assert_refused(server, params, ctx)


@pytest.mark.parity(115)
@pytest.mark.req("2026-07-28:mrtr.state-bind-request")
@pytest.mark.parametrize("changed", [{"arguments": {"path": "/etc"}}, {"name": "other"}], ids=str)
def test_a_state_serves_the_request_it_was_made_for(changed: dict[str, Any]) -> None:
    server = make_server(SECRET)
    assert_refused(server, retry(begin(server), **changed))


@pytest.mark.req("2026-07-28:mrtr.state-bind-request")
def test_a_state_serves_the_method_it_was_made_for() -> None:
    server = make_server(SECRET)
    error = refusal(server, "prompts/get", retry(begin(server)), capabilities=FORM)
    assert error.code == -32602


def test_what_may_change_on_a_retry_may_change() -> None:
    """The request's own metadata, such as the progress token, and the order of the arguments."""
    server = make_server(SECRET)
    params = retry(begin(server))
    params["_meta"] = {**meta(FORM), "progressToken": "another", "com.example/trace": 1}
    assert result(server, "tools/call", params)["inputRequests"]


# ---- Another server ---------------------------------------------------------------------------------------


def test_another_server_object_with_the_same_secret_goes_on() -> None:
    state = begin(make_server(SECRET))
    second = result(make_server(SECRET), "tools/call", retry(state), capabilities=FORM)
    assert list(second["inputRequests"]) == ["really"]
    third = result(
        make_server(SECRET), "tools/call", retry(second["requestState"], "really"), capabilities=FORM
    )
    assert texts(third) == "/tmp/x: accept accept, note on /tmp/x"


def test_a_server_with_another_secret_does_not() -> None:
    assert_refused(make_server("another secret of some length"), retry(begin(make_server(SECRET))))


def test_without_a_secret_each_server_has_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPREF_SECRET", raising=False)
    one, other = make_server(), make_server()
    state = begin(one)
    assert_refused(other, retry(state))
    assert result(one, "tools/call", retry(state), capabilities=FORM)["inputRequests"]


def test_the_first_requests_of_a_server_agree_on_its_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MCPREF_SECRET", raising=False)
    for _ in range(20):
        server = make_server()
        states = together(*[lambda server=server: begin(server)] * 4)
        for state in states:
            assert result(server, "tools/call", retry(state), capabilities=FORM)["inputRequests"]


def test_secrets_can_be_rotated() -> None:
    old, new = "the old secret, long enough", "the new secret, long enough"
    state = begin(make_server(old))
    both = make_server([new, old])
    second = result(both, "tools/call", retry(state), capabilities=FORM)
    assert second["inputRequests"]
    assert_refused(make_server(old), retry(second["requestState"], "really"))
    third = result(make_server(new), "tools/call", retry(second["requestState"], "really"), capabilities=FORM)
    assert third["resultType"] == "complete"


def test_a_short_secret_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        make_server("short")


@pytest.mark.req("2026-07-28:base.state-explicit-id")
def test_another_process_with_the_same_secret_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCPREF_SECRET", SECRET)
    state = begin(make_server())
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {**retry(state), "_meta": meta(FORM)},
    }
    process = subprocess.run(
        [sys.executable, "-m", "tests.interaction.asking"],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        timeout=PATIENCE * 2,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "MCPREF_SECRET": SECRET},
        check=True,
    )
    second = json.loads(process.stdout)["result"]
    assert list(second["inputRequests"]) == ["really"]
    third = result(make_server(), "tools/call", retry(second["requestState"], "really"), capabilities=FORM)
    assert texts(third) == "/tmp/x: accept accept, note on /tmp/x"


# ---- What it shows ----------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:mrtr.state-integrity")
def test_a_state_shows_nothing_of_what_it_holds() -> None:
    state = begin(make_server(SECRET))
    raw = base64.urlsafe_b64decode(state + "=" * (-len(state) % 4))
    for held in (b"note on", b"/tmp/x", b"sure", SECRET.encode()):
        assert held not in raw


def test_two_states_of_the_same_round_differ() -> None:
    server = make_server(SECRET)
    assert begin(server) != begin(server)
