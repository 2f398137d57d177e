"""A server as a process: what is on its standard streams, how it ends, and what that costs nobody else."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import pytest

from tests.threads import PATIENCE

from .process import (
    MODERN,
    SERVERS,
    ServerProcess,
    answers_to,
    call,
    cancel,
    initialize,
    is_method,
    launch,
    line,
    listen,
    meta,
    notification,
    request,
    serve_command,
    text_of,
)

ELICITATION: dict[str, dict[str, object]] = {"elicitation": {}}
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


class TestMessages:
    """What passes between a client and a process."""

    @pytest.mark.parity(81)
    @pytest.mark.req(
        "stdio.no-embedded-newline",
        "2026-07-28:base.in-flight-notifications",
        "2026-07-28:progress.token-echo",
        "2026-07-28:subs.id-absent-elsewhere",
    )
    def test_notifications_come_one_a_line_before_the_answer(self) -> None:
        with launch("tools") as server:
            server.send(call("p", "progress", {"times": 20}, progress="two\nlines"))
            server.answer("p")
            lines = [json.loads(raw) for raw in server.inbox.raw]
        *notifications, answer = lines
        assert answer["id"] == "p"
        assert [entry["params"]["progress"] for entry in notifications] == list(range(1, 21))
        assert {entry["params"]["progressToken"] for entry in notifications} == {"two\nlines"}
        assert not any("_meta" in entry["params"] for entry in notifications)

    @pytest.mark.parity(6)
    def test_one_state_serves_the_whole_process(self) -> None:
        with launch("tools") as server:
            server.handshake("2025-06-18")
            # What one message set, another finds: the version, the log level and the subscription.
            assert text_of(server.ask(call(1, "version", modern=False))) == "2025-06-18"
            assert server.ask(initialize("2025-11-25", 2))["error"]["code"] == -32600
            assert server.ask(request(3, "resources/subscribe", {"uri": "memo://a"}))["result"] == {}
            server.send(call(4, "touch", {"uri": "memo://a"}, modern=False))
            assert server.notified("notifications/resources/updated")["params"] == {"uri": "memo://a"}

    @pytest.mark.parity(83)
    @pytest.mark.req("2025-11-25:jsonrpc.request-id-type", "2025-11-25:jsonrpc.notification-no-response")
    def test_a_question_goes_out_and_its_answer_comes_back(self) -> None:
        with launch("tools") as server:
            server.handshake("2025-11-25", ELICITATION)
            server.send(call("q", "ask", modern=False))
            question = server.notified("elicitation/create")
            assert type(question["id"]) is int
            assert question["params"]["message"] == "Well?"
            # The handler waits; the process does not.
            server.is_alive_and_well("meanwhile")
            server.send(
                {
                    "jsonrpc": "2.0",
                    "id": question["id"],
                    "result": {"action": "accept", "content": {"word": "yes"}},
                }
            )
            assert text_of(server.answer("q")) == "accept {'word': 'yes'}"
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []

    @pytest.mark.parity(84, 25, 27)
    @pytest.mark.req(
        "2025-11-25:cancel.stop-processing",
        "2025-11-25:cancel.no-response",
        "2026-07-28:cancel.server-stop",
        "2026-07-28:cancel.server-no-response",
        "2026-07-28:stdio.cancel-no-more-messages",
    )
    @pytest.mark.parametrize("modern", [True, False])
    def test_a_cancellation_is_read_while_a_handler_runs(self, modern: bool) -> None:
        with launch("tools") as server:
            if not modern:
                server.handshake("2025-11-25")
            server.send(call("w", "wait", progress="t", modern=modern))
            server.notified("notifications/progress")
            server.send(cancel("w"))
            server.is_alive_and_well("after")
            server.close_input()
            assert server.finish() == 0
            # The process left at once, so the handler had ended; and nothing of it came.
            assert server.inbox.rest() == []
            assert "held up" not in server.errors

    @pytest.mark.req("cancel.log-reason")
    def test_the_reason_of_a_cancellation_is_logged(self) -> None:
        with launch("tools", "--log-level", "info") as server:
            server.send(call(5, "wait", progress=1))
            server.notified("notifications/progress")
            server.send(cancel(5, "the user looked\naway"))
            server.wait_for_stderr(r"cancelled request 5: 'the user looked\naway'")

    @pytest.mark.req(
        "2025-11-25:cancel.ignore-invalid",
        "2026-07-28:cancel.ignore-invalid",
        "2025-11-25:cancel.ignore-allowed",
        "2026-07-28:cancel.server-may-ignore",
        "2025-11-25:cancel.race",
    )
    @pytest.mark.parity(31)
    def test_cancellations_of_nothing_are_ignored(self) -> None:
        with launch("tools") as server:
            server.is_alive_and_well(1)
            nothing: tuple[object, ...] = (1, "1", 1.0, True, None, [], {}, "unknown")
            for request_id in nothing:
                server.send(notification("notifications/cancelled", {"requestId": request_id}))
            server.send(notification("notifications/cancelled"))
            server.send(notification("notifications/cancelled", {}))
            server.send({**notification("notifications/cancelled"), "params": ["1"]})
            server.is_alive_and_well(2)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []

    @pytest.mark.req("2026-07-28:version.dual-server-by-opening", "2026-07-28:version.dual-server-concurrent")
    def test_both_eras_on_one_wire(self) -> None:
        with launch("tools") as server:
            server.handshake("2024-11-05")
            legacy, modern = call(1, "version", modern=False), call("1", "version")
            server.send(legacy, modern)
            assert text_of(server.answer(1)) == "2024-11-05"
            assert text_of(server.answer("1")) == MODERN

    @pytest.mark.req("jsonrpc.notification-no-response", "2026-07-28:stdio.metadata-in-body")
    def test_notifications_are_never_answered(self) -> None:
        with launch("tools") as server:
            server.send(notification("notifications/unheard-of"), notification("notifications/initialized"))
            server.send({**notification("notifications/odd"), "params": [1]})
            server.send(notification("tools/call", {"name": "echo", "arguments": {"text": "x"}}))
            server.is_alive_and_well(1)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []


class TestStreams:
    """Standard input and output belong to the protocol alone."""

    @pytest.mark.req("stdio.stdout-only-mcp", "stdio.stderr-logging")
    def test_what_handlers_and_their_children_print_is_on_stderr(self) -> None:
        with launch("tools") as server:
            assert text_of(server.ask(call(1, "speak"))) == "spoken"
            server.is_alive_and_well(2)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []
        for said in (
            "printed by a handler",
            "written by a handler",
            "logged by a handler",
            "printed by a child",
        ):
            assert said in server.errors

    @pytest.mark.req("stdio.stdout-only-mcp")
    def test_handlers_and_their_children_read_nothing_of_the_wire(self) -> None:
        with launch("tools") as server:
            server.send(call(1, "hear"), call(2, "echo", {"text": "mine"}))
            assert text_of(server.answer(1)) == "'' b''"
            assert text_of(server.answer(2)) == "mine"

    @pytest.mark.req("stdio.stdout-only-mcp")
    @pytest.mark.parametrize("by", ["file", "module"])
    def test_what_is_printed_at_import_is_on_stderr(self, by: str) -> None:
        target = "noisy" if by == "file" else "tests.transport.servers.noisy:server"
        with launch(target) as server:
            server.is_alive_and_well(1)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []
        for said in (
            "printed at import",
            "still in the buffer",
            "written to descriptor 1 at import",
            "read at import: ''",
            "printed by a child at import",
        ):
            assert said in server.errors

    @pytest.mark.req("stdio.stdout-only-mcp")
    def test_what_a_script_prints_before_it_serves_is_on_stderr(self) -> None:
        with ServerProcess([sys.executable, str(SERVERS / "script.py")]) as server:
            server.is_alive_and_well(1)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []
        assert "about to serve" in server.errors

    def test_a_module_that_serves_itself_at_import_is_served_all_the_same(self) -> None:
        # Its own attempt finds the end of input, because the wire was taken before.
        with launch("script") as server:
            server.is_alive_and_well(1)
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []

    @pytest.mark.req("stdio.stdout-only-mcp", "stdio.stderr-logging")
    def test_an_unexpected_exception_is_logged_and_not_sent(self) -> None:
        with launch("tools") as server:
            error = server.ask(call(1, "fail"))["error"]
            assert error["code"] == -32603
            assert "secret" not in json.dumps(error)
            reference = error["message"].removeprefix("internal error (reference ").rstrip(")")
            server.close_input()
            assert server.finish() == 0
        assert reference in server.errors
        assert "RuntimeError: a secret of the server's" in server.errors

    @pytest.mark.parametrize(
        "before",
        [
            "os.set_blocking(0, False); os.set_blocking(1, False)",
            "os.close(2)",
        ],
        ids=["non-blocking", "no-stderr"],
    )
    def test_streams_that_come_in_an_odd_state_are_served(self, before: str) -> None:
        script = f"import os, sys; {before}; os.execv(sys.argv[1], sys.argv[1:])"
        with ServerProcess([sys.executable, "-c", script, *serve_command("tools")]) as server:
            server.is_alive_and_well(1)
            long = "x" * 50_000  # with its answer's frame, near the size of a pipe
            server.send(*(call(number, "echo", {"text": long}) for number in range(2, 12)), call(12, "speak"))
            assert all(text_of(server.answer(number)) == long for number in range(2, 12))
            assert text_of(server.answer(12)) == "spoken"
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []


class TestEndOfInput:
    """The client closes the server's input, or is gone."""

    @pytest.mark.parity(89)
    @pytest.mark.req("2026-07-28:stdio.exit-on-eof", "2026-07-28:base.request-answered")
    def test_everything_asked_before_the_end_is_answered(self) -> None:
        with launch("tools") as server:
            server.send(*(call(number, "echo", {"text": str(number)}) for number in range(100)))
            server.close_input()
            assert server.finish() == 0
            answers = server.inbox.rest()
        assert sorted(answer["id"] for answer in answers) == list(range(100))
        assert all(text_of(answer) == str(answer["id"]) for answer in answers)
        assert "the lifespan is closed" in server.errors

    @pytest.mark.parity(89)
    @pytest.mark.req("2026-07-28:stdio.exit-on-eof", "2026-07-28:stdio.server-initiated-shutdown")
    def test_a_running_handler_is_told_and_its_answer_is_sent(self) -> None:
        with launch("tools") as server:
            server.send(call("w", "wait", progress=1))
            server.notified("notifications/progress")
            began = time.monotonic()
            server.close_input()
            assert server.finish() == 0
            # Well within the grace of 20 seconds: nothing had to be waited for.
            assert time.monotonic() - began < 15
            assert [text_of(answer) for answer in server.inbox.rest()] == ["cancelled"]

    def test_a_request_that_was_still_waiting_to_run_is_told_too(self) -> None:
        # Sent in one write with the end: some of these are read after the shutdown has begun.
        with launch("tools") as server:
            server.send(*(call(number, "wait") for number in range(20)))
            server.close_input()
            began = time.monotonic()
            assert server.finish() == 0
            assert time.monotonic() - began < 15
            assert {text_of(answer) for answer in server.inbox.rest()} == {"cancelled"}

    @pytest.mark.parity(89)
    def test_a_handler_that_waits_for_an_answer_fails_at_once(self) -> None:
        with launch("tools") as server:
            server.handshake("2025-11-25", ELICITATION)
            server.send(call("q", "ask", modern=False))
            server.notified("elicitation/create")
            began = time.monotonic()
            server.close_input()
            assert server.finish() == 0
            assert time.monotonic() - began < 15
            (answer,) = server.inbox.rest()
        # The question that was out, and the one asked afterwards, by when the request may have been cancelled.
        assert text_of(answer) in {
            "ConnectionClosed, then ConnectionClosed",
            "ConnectionClosed, then RequestCancelled",
        }

    def test_half_a_line_before_the_end_is_no_message(self) -> None:
        with launch("tools") as server:
            server.send_bytes(line(call(1, "echo", {"text": "whole"})) + line(call(2, "echo"))[:-10])
            server.close_input()
            assert server.finish() == 0
            assert [answer["id"] for answer in server.inbox.rest()] == [1]

    @pytest.mark.req("2026-07-28:stdio.exit-on-eof")
    def test_a_server_outlives_no_client_that_was_killed(self) -> None:
        host = (
            "import subprocess, sys\n"
            "server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
            "server.stdin.write(sys.stdin.buffer.readline())\n"
            "server.stdin.flush()\n"
            "sys.stdout.buffer.write(server.stdout.readline())\n"
            "sys.stdout.flush()\n"
            "server.wait()\n"
        )
        with ServerProcess([sys.executable, "-c", host, *serve_command("tools")]) as client:
            client.is_alive_and_well(1)
            client.signal(signal.SIGKILL)
            # The server has the client's stderr, so it can be seen to end in order.
            client.wait_for_stderr("the lifespan is closed")
            assert client.finish() == -signal.SIGKILL

    @pytest.mark.parametrize("through", ["worker", "outbox"])
    def test_a_client_that_closes_its_reading_end_is_noticed(self, through: str) -> None:
        with launch("tools", read=False) as server:
            server.send(call(1, "echo", {"text": "x"}))
            assert os.read(server.stdout.fileno(), 65536)
            server.stdout.close()
            began = time.monotonic()
            server.send_bytes(
                line(call(2, "echo", {"text": "x"})) if through == "worker" else b"no message\n"
            )
            assert server.finish() == 0
            assert time.monotonic() - began < 15
        assert "Traceback" not in server.errors
        assert server.errors == "the lifespan is closed\n"

    def test_a_client_that_never_reads_is_given_up(self) -> None:
        with launch("stuck", read=False) as server:
            before = server.memory_peak()
            requests = line(*(call(number, "echo", {"text": "x"}) for number in range(10_000)))

            def flood() -> None:
                try:
                    server.send_bytes(requests)
                except OSError:
                    pass  # it has left

            writer = threading.Thread(target=flood, daemon=True)
            writer.start()
            server.wait_for_stderr("a peer that does not read; closing the connection")
            assert server.memory_peak() - before < 32 * 1024 * 1024
            assert server.finish() == 0
            writer.join(PATIENCE)
            assert not writer.is_alive()
        assert "held up the end for 0.5 seconds; leaving without it" in server.errors
        assert "Traceback" not in server.errors


class TestSignals:
    """Somebody else ends the process."""

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_running_handler_is_told_and_its_answer_is_sent(self, number: signal.Signals) -> None:
        with launch("tools", "--log-level", "info") as server:
            server.send(call("w", "wait", progress=1))
            server.notified("notifications/progress")
            began = time.monotonic()
            server.signal(number)
            assert text_of(server.answer("w")) == "cancelled"
            assert server.finish() == 0
            assert time.monotonic() - began < 15
            assert server.inbox.rest() == []
        assert f"shutting down: {number.name}" in server.errors
        assert "the lifespan is closed" in server.errors
        assert "Traceback" not in server.errors

    def test_a_handler_that_waits_for_an_answer_fails_at_once(self) -> None:
        with launch("tools") as server:
            server.handshake("2025-11-25", ELICITATION)
            server.send(call("q", "ask", modern=False))
            server.notified("elicitation/create")
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            assert "then" in text_of(server.answer("q"))
            assert server.finish() == 0
            assert time.monotonic() - began < 15

    @pytest.mark.parametrize("how", ["input", "signal"])
    def test_a_stuck_handler_does_not_hold_up_the_end(self, how: str) -> None:
        with launch("stuck") as server:
            server.send(call("s", "stuck", progress=1))
            server.notified("notifications/progress")
            server.is_alive_and_well(1)
            if how == "input":
                server.close_input()
            else:
                server.signal(signal.SIGTERM)
            assert server.finish() == 0
            assert server.inbox.rest() == []
        assert "held up the end for 0.5 seconds; leaving without it" in server.errors
        assert "the atexit function ran" in server.errors
        assert "Traceback" not in server.errors

    def test_an_orderly_end_runs_atexit_functions_once(self) -> None:
        with launch("stuck") as server:
            server.is_alive_and_well(1)
            server.signal(signal.SIGTERM)
            assert server.finish() == 0
        assert server.errors == "the atexit function ran\n"

    def test_an_application_may_handle_other_signals(self) -> None:
        with launch("stuck") as server:
            server.is_alive_and_well(1)
            server.signal(signal.SIGUSR1)
            server.wait_for_stderr("the application's own signal")
            server.is_alive_and_well(2)

    def test_a_signal_to_a_forked_child_ends_the_child_and_not_the_server(self) -> None:
        with launch("stuck") as server:
            child = int(text_of(server.ask(call(1, "fork"))))
            ended = text_of(server.ask(call(2, "terminate", {"child": child})))
            assert int(ended) == -signal.SIGTERM
            server.is_alive_and_well(3)

    def test_a_forked_child_that_is_left_behind_does_not_hold_the_wire(self) -> None:
        with launch("stuck") as server:
            child = int(text_of(server.ask(call(1, "fork"))))
            try:
                server.signal(signal.SIGKILL)
                assert server.inbox.rest() == []  # fails if the output does not end
                os.kill(child, 0)  # still there
            finally:
                os.kill(child, signal.SIGKILL)

    def test_a_signal_in_the_first_moment_is_not_lost(self) -> None:
        # As soon as the process answers, its main thread is just about to wait for the end.
        for _ in range(5):
            with launch("stuck") as server:
                server.send(call(1, "echo", {"text": "x"}))
                server.take(answers_to(1))
                server.signal(signal.SIGTERM)
                server.signal(signal.SIGINT)
                # The second may find the server gone and the interpreter about to go.
                assert server.finish() in (0, -signal.SIGINT)


class TestListening:
    """``subscriptions/listen`` streams, and what a legacy client hears."""

    @pytest.mark.parity(119, 120)
    @pytest.mark.req(
        "2026-07-28:subs.ack-first",
        "2026-07-28:subs.ack-subscription-id",
        "2026-07-28:subs.none-before-ack",
        "2026-07-28:subs.only-requested-types",
        "2026-07-28:subs.notification-subscription-id",
        "2026-07-28:subs.id-equals-request-id",
        "2026-07-28:subs.multiple",
        "2026-07-28:subs.ack-notifications-field",
    )
    def test_every_stream_hears_what_it_asked_for_under_its_own_id(self) -> None:
        with launch("tools") as server:
            server.send(
                listen(1, toolsListChanged=True),
                listen("1", toolsListChanged=True, promptsListChanged=True),
                listen("memos", resourceSubscriptions=["memo://a", "memo://b"]),
            )
            acknowledged = [server.notified("notifications/subscriptions/acknowledged") for _ in range(3)]
            by_id = {json.dumps(_stream(entry)): entry["params"]["notifications"] for entry in acknowledged}
            assert by_id == {
                "1": {"toolsListChanged": True},
                '"1"': {"toolsListChanged": True, "promptsListChanged": True},
                '"memos"': {"resourceSubscriptions": ["memo://a", "memo://b"]},
            }
            server.ask(call(10, "change", {"what": "tools"}))
            server.ask(call(11, "change", {"what": "prompts"}))
            server.ask(call(12, "change", {"what": "resources"}))
            server.ask(call(13, "touch", {"uri": "memo://b"}))
            server.ask(call(14, "touch", {"uri": "memo://c"}))
            tools = [server.notified("notifications/tools/list_changed") for _ in range(2)]
            assert sorted(json.dumps(_stream(entry)) for entry in tools) == ['"1"', "1"]
            assert _stream(server.notified("notifications/prompts/list_changed")) == "1"
            updated = server.notified("notifications/resources/updated")
            assert (_stream(updated), updated["params"]["uri"]) == ("memos", "memo://b")
            server.close_input()
            assert server.finish() == 0
            others = [entry for entry in server.inbox.rest() if "method" in entry]
        assert {entry["method"] for entry in others} == {"notifications/cancelled"}
        _first_is_the_acknowledgement(server)

    @pytest.mark.req(
        "2026-07-28:cancel.server-on-listen-teardown",
        "2026-07-28:cancel.request-id-param",
        "2026-07-28:cancel.server-no-other-use",
        "2026-07-28:subs.server-graceful-response",
        "2026-07-28:subs.result-empty",
        "2026-07-28:subs.result-subscription-id",
    )
    @pytest.mark.parametrize("how", ["input", "signal"])
    def test_streams_are_ended_in_order(self, how: str) -> None:
        ids: list[int | str] = [7, "7", "seven"]
        with launch("tools") as server:
            server.send(*(listen(name, toolsListChanged=True) for name in ids))
            for _ in ids:
                server.notified("notifications/subscriptions/acknowledged")
            if how == "input":
                server.close_input()
            else:
                server.signal(signal.SIGTERM)
            assert server.finish() == 0
            last = server.inbox.rest()
        # For each stream a cancellation, then the answer, and nothing in between.
        assert len(last) == 2 * len(ids)
        ended = []
        for cancelled, answer in zip(last[::2], last[1::2], strict=True):
            assert cancelled["method"] == "notifications/cancelled"
            assert json.dumps(cancelled["params"]["requestId"]) == json.dumps(answer["id"])
            assert answer["result"].keys() == {"resultType", "_meta"}
            assert answer["result"]["resultType"] == "complete"
            assert json.dumps(answer["result"]["_meta"][SUBSCRIPTION_ID]) == json.dumps(answer["id"])
            ended.append(json.dumps(answer["id"]))
        assert sorted(ended) == ['"7"', '"seven"', "7"]

    def test_a_stream_asked_for_at_the_very_end_is_ended_too(self) -> None:
        for _ in range(5):
            with launch("tools") as server:
                server.send(listen(1, toolsListChanged=True), listen(2, toolsListChanged=True))
                server.close_input()
                assert server.finish() == 0
                came = server.inbox.rest()
            for number in (1, 2):
                mine = [entry for entry in came if number in (entry.get("id"), _about(entry))]
                assert [entry.get("method", "answer") for entry in mine] == [
                    "notifications/subscriptions/acknowledged",
                    "notifications/cancelled",
                    "answer",
                ]

    @pytest.mark.req(
        "2026-07-28:base.stateless-listen-scope",
        "2026-07-28:stdio.cancel-no-more-messages",
        "2026-07-28:subs.client-cancel",
    )
    def test_a_cancelled_stream_is_silent_and_the_others_are_not(self) -> None:
        with launch("tools") as server:
            server.send(listen("gone", toolsListChanged=True), listen("here", toolsListChanged=True))
            for _ in range(2):
                server.notified("notifications/subscriptions/acknowledged")
            server.send(cancel("gone"))
            server.is_alive_and_well(1)
            server.ask(call(2, "change", {"what": "tools"}))
            assert _stream(server.notified("notifications/tools/list_changed")) == "here"
            server.close_input()
            assert server.finish() == 0
            assert [entry.get("id") or _about(entry) for entry in server.inbox.rest()] == ["here", "here"]

    @pytest.mark.req(
        "2025-11-25:resources.subscribe",
        "2025-11-25:resources.updated-only-subscribed",
        "2025-11-25:resources.list-changed-unsolicited",
    )
    @pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
    def test_a_legacy_client_hears_of_what_it_subscribed_to(self, version: str) -> None:
        with launch("tools") as server:
            server.handshake(version)
            server.ask(request(1, "resources/subscribe", {"uri": "memo://a"}))
            server.ask(call(2, "touch", {"uri": "memo://b"}, modern=False))
            server.ask(call(3, "touch", {"uri": "memo://a"}, modern=False))
            assert server.notified("notifications/resources/updated")["params"] == {"uri": "memo://a"}
            server.ask(request(4, "resources/unsubscribe", {"uri": "memo://a"}))
            server.ask(call(5, "touch", {"uri": "memo://a"}, modern=False))
            server.ask(call(6, "change", {"what": "tools"}, modern=False))
            server.notified("notifications/tools/list_changed")
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []

    @pytest.mark.req("2026-07-28:subs.no-state-across-reconnect")
    def test_a_new_process_knows_no_streams(self) -> None:
        with launch("tools") as first:
            first.send(listen(1, toolsListChanged=True))
            first.notified("notifications/subscriptions/acknowledged")
            first.close_input()
            assert first.finish() == 0
        with launch("tools") as second:
            second.ask(call(2, "change", {"what": "tools"}))
            second.close_input()
            assert second.finish() == 0
            assert second.inbox.rest() == []

    @pytest.mark.req("2026-07-28:stdio.server-no-requests", "2026-07-28:base.server-no-requests")
    def test_a_modern_question_is_no_request(self) -> None:
        with launch("tools") as server:
            params = {"name": "ask", "arguments": {}, "_meta": meta(ELICITATION)}
            result = server.ask(request(1, "tools/call", params))["result"]
            assert result["resultType"] == "input_required"
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []


def _stream(message: dict[str, object]) -> object:
    params = message["params"]
    assert isinstance(params, dict)
    return params["_meta"][SUBSCRIPTION_ID]


def _about(message: dict[str, object]) -> object:
    """The request that a notification is about."""
    params = message.get("params")
    if not isinstance(params, dict):
        return None
    return params.get("requestId", params.get("_meta", {}).get(SUBSCRIPTION_ID))


def _first_is_the_acknowledgement(server: ServerProcess) -> None:
    seen: set[str] = set()
    acknowledges = is_method("notifications/subscriptions/acknowledged")
    for raw in server.inbox.raw:
        message = json.loads(raw)
        if "method" in message and SUBSCRIPTION_ID in message["params"].get("_meta", {}):
            name = json.dumps(_stream(message))
            assert name in seen or acknowledges(message), message
            seen.add(name)
    assert len(seen) == 3
