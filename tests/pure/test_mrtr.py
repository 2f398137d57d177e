"""Multi round-trip requests: builders, readers, the capability rule and the client's loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.errors import InvalidParams, LocalError, LocalProtocolError
from mcpref.mrtr import (
    MAX_ROUNDS,
    MRTR_METHODS,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    InvalidResult,
    TooManyRounds,
    check_retry_params,
    client_declares,
    emit_input_required,
    filter_declared,
    input_requests_to_json,
    input_responses_to_json,
    missing_capabilities,
    parse_input_requests,
    parse_input_required,
    read_input_responses,
    read_request_state,
    required_capability,
    result_type,
    run_rounds,
)

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTION: dict[str, Any] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
    "maxTokens": 100,
}

ELICIT = InputRequest.elicit("name", "Who are you?", FORM)
ELICIT_URL = InputRequest.elicit_url("login", "Sign in", "https://example.com/connect")
SAMPLE = InputRequest.sample("capital", QUESTION)
SAMPLE_TOOLS = InputRequest.sample("tools", {**QUESTION, "tools": []})
SAMPLE_CHOICE = InputRequest.sample("choice", {**QUESTION, "toolChoice": {"mode": "none"}})
SAMPLE_CONTEXT = InputRequest.sample("context", {**QUESTION, "includeContext": "thisServer"})
ROOTS = InputRequest.roots("roots")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class TestMaps:
    @pytest.mark.parity(108)
    @pytest.mark.req("2026-07-28:mrtr.input-requests-map")
    def test_requests_are_a_map_of_method_and_params(self) -> None:
        assert input_requests_to_json([ELICIT, SAMPLE, ROOTS]) == {
            "name": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Who are you?", "requestedSchema": FORM},
            },
            "capital": {"method": "sampling/createMessage", "params": QUESTION},
            "roots": {"method": "roots/list", "params": {}},
        }

    @pytest.mark.parity(108)
    @given(
        st.lists(
            st.builds(InputRequest, st.text(), st.text(), st.dictionaries(st.text(), JSON, max_size=3)),
            unique_by=lambda request: request.id,
        )
    )
    def test_parsing_inverts(self, requests: list[InputRequest]) -> None:
        assert parse_input_requests(input_requests_to_json(requests)) == requests

    @pytest.mark.parity(108)
    @pytest.mark.parametrize("value", [None, [], "x", 5, True, [{"id": "a", "method": "roots/list"}]])
    def test_what_is_no_object_has_no_requests(self, value: object) -> None:
        assert parse_input_requests(value) == []

    @pytest.mark.parity(108)
    @pytest.mark.parametrize(
        ("entry", "method", "kind", "params"),
        [
            ({"method": "roots/list"}, "roots/list", "roots", {}),
            (
                {"method": "elicitation/create", "params": {"a": 1}},
                "elicitation/create",
                "elicitation",
                {"a": 1},
            ),
            ({"method": "sampling/createMessage"}, "sampling/createMessage", "sampling", {}),
            ({"method": "vendor/ask", "params": {"b": 2}}, "vendor/ask", "vendor/ask", {"b": 2}),
            ({"method": 5}, "", "", {}),
            ({"params": []}, "", "", {}),
            ("text", "", "", {}),
        ],
    )
    def test_entries_are_read_without_refusing_any(
        self, entry: object, method: str, kind: str, params: dict[str, Any]
    ) -> None:
        [request] = parse_input_requests({"key": entry})
        assert (request.id, request.method, request.kind, request.params) == ("key", method, kind, params)

    @pytest.mark.req("2026-07-28:mrtr.keys-unique")
    def test_an_id_may_not_stand_twice(self) -> None:
        with pytest.raises(ValueError, match="'roots' stands twice"):
            input_requests_to_json([ROOTS, InputRequest.roots("roots")])
        with pytest.raises(ValueError, match="'a' stands twice"):
            input_responses_to_json([InputResponse("a", {}), InputResponse("a", {})])

    @pytest.mark.parity(109)
    def test_responses_are_bare_values(self) -> None:
        accept = {"action": "accept", "content": {"name": "octocat"}}
        roots: dict[str, Any] = {"roots": []}
        assert input_responses_to_json([InputResponse("name", accept), InputResponse("roots", roots)]) == {
            "name": accept,
            "roots": roots,
        }

    @pytest.mark.parity(109)
    def test_responses_are_read_from_params_and_not_from_meta(self) -> None:
        responses = {"name": {"action": "decline"}}
        assert (
            read_input_responses({"inputResponses": responses, "_meta": {"inputResponses": {"x": 1}}})
            == responses
        )
        assert read_input_responses({"_meta": {"inputResponses": responses}}) == {}

    @pytest.mark.parity(109)
    @pytest.mark.parametrize(
        "params", [None, {}, {"inputResponses": None}, {"inputResponses": []}, {"inputResponses": 5}]
    )
    def test_responses_that_are_no_object_are_none(self, params: dict[str, Any] | None) -> None:
        assert read_input_responses(params) == {}

    @pytest.mark.parity(112)
    @pytest.mark.parametrize(
        ("params", "state"),
        [
            (None, ""),
            ({}, ""),
            ({"requestState": None}, ""),
            ({"requestState": 5}, ""),
            ({"requestState": {"a": 1}}, ""),
            ({"_meta": {"requestState": "hidden"}}, ""),
            ({"requestState": "opaque"}, "opaque"),
        ],
    )
    def test_request_state(self, params: dict[str, Any] | None, state: str) -> None:
        assert read_request_state(params) == state

    @pytest.mark.req("2026-07-28:mrtr.protocol-error", "2026-07-28:mrtr.validate-responses")
    @pytest.mark.parametrize(
        ("params", "member"),
        [
            ({"inputResponses": 5}, "inputResponses"),
            ({"inputResponses": None}, "inputResponses"),
            ({"inputResponses": []}, "inputResponses"),
            ({"requestState": 5}, "requestState"),
            ({"requestState": None}, "requestState"),
        ],
    )
    def test_a_malformed_retry_is_refused(self, params: dict[str, Any], member: str) -> None:
        with pytest.raises(InvalidParams, match=member) as caught:
            check_retry_params(params)
        assert caught.value.code == -32602

    @pytest.mark.req("2026-07-28:mrtr.ignore-unexpected")
    @pytest.mark.parametrize(
        "params", [None, {}, {"inputResponses": {"unasked": 5, "other": {}}, "requestState": ""}]
    )
    def test_a_well_formed_retry_passes_whatever_its_entries_are(self, params: dict[str, Any] | None) -> None:
        check_retry_params(params)


class TestBuilders:
    @pytest.mark.req("2026-07-28:elicitation.url-params", "2026-07-28:elicitation.no-elicitation-id")
    def test_url_has_mode_message_and_url_alone(self) -> None:
        assert ELICIT_URL.params == {
            "mode": "url",
            "message": "Sign in",
            "url": "https://example.com/connect",
        }

    @pytest.mark.req("2026-07-28:elicitation.url-valid")
    @pytest.mark.parametrize(
        "url",
        [
            "",
            "example.com",
            "/path",
            "ftp://example.com",
            "javascript:alert(1)",
            "https://",
            "https://[",
            "https://a b/",
        ],
    )
    def test_url_must_be_absolute(self, url: str) -> None:
        with pytest.raises(ValueError, match="absolute http or https URL"):
            InputRequest.elicit_url("x", "Go there", url)

    @pytest.mark.parametrize(
        "schema",
        [
            {},
            {"type": "string", "properties": {}},
            {"properties": {}},
            {"type": "object"},
            {"type": "object", "properties": []},
        ],
    )
    def test_form_must_be_an_object_schema(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="'object' and 'properties'"):
            InputRequest.elicit("x", "Fill in", schema)

    def test_sampling_parameters_are_checked(self) -> None:
        with pytest.raises(ValueError, match="maxTokens"):
            InputRequest.sample("x", {"messages": []})


class TestInputRequired:
    @pytest.mark.parity(110)
    def test_emit_writes_no_result_type_and_the_result_does(self) -> None:
        result: dict[str, Any] = {"content": []}
        emit_input_required(result, [ROOTS], "state")
        assert result == {
            "content": [],
            "inputRequests": {"roots": {"method": "roots/list", "params": {}}},
            "requestState": "state",
        }
        assert InputRequiredResult([ROOTS], "state").to_json() == {
            "resultType": "input_required",
            "inputRequests": {"roots": {"method": "roots/list", "params": {}}},
            "requestState": "state",
        }

    @pytest.mark.parity(111)
    @pytest.mark.parametrize("state", ["", None])
    def test_an_empty_state_is_omitted(self, state: str | None) -> None:
        result: dict[str, Any] = {}
        emit_input_required(result, [ROOTS], state)
        assert "requestState" not in result
        assert "requestState" not in InputRequiredResult([ROOTS], state).to_json()

    @pytest.mark.req("2026-07-28:mrtr.may-include-state")
    def test_empty_requests_are_omitted(self) -> None:
        assert InputRequiredResult([], "later").to_json() == {
            "resultType": "input_required",
            "requestState": "later",
        }

    @pytest.mark.parity(111)
    def test_parse_keeps_what_it_was_given_when_a_member_is_absent(self) -> None:
        assert parse_input_required({"content": []}, [ROOTS], "kept") == ([ROOTS], "kept")
        assert parse_input_required({"requestState": 5, "inputRequests": []}, [ROOTS], "kept") == (
            [ROOTS],
            "kept",
        )
        assert parse_input_required({"requestState": "new"}, [ROOTS], "kept") == ([ROOTS], "new")
        assert parse_input_required({"inputRequests": {}}, [ROOTS], "kept") == ([], "kept")
        assert parse_input_required({}) == ([], None)

    @pytest.mark.req("2026-07-28:mrtr.at-least-one-field")
    @pytest.mark.parametrize("state", ["", None])
    def test_one_of_the_two_is_needed(self, state: str | None) -> None:
        with pytest.raises(ValueError, match="needs input requests or a request state"):
            InputRequiredResult([], state).to_json()

    @pytest.mark.parametrize(
        "required",
        [
            InputRequiredResult([ELICIT, ROOTS]),
            InputRequiredResult([], "s"),
            InputRequiredResult([SAMPLE], "s"),
        ],
    )
    def test_from_json_inverts_to_json(self, required: InputRequiredResult) -> None:
        assert InputRequiredResult.from_json(required.to_json()) == required

    def test_from_json_keeps_an_empty_state_apart_from_none(self) -> None:
        assert InputRequiredResult.from_json({"requestState": ""}).request_state == ""

    @pytest.mark.parametrize(
        "result",
        [
            {},
            {"inputRequests": {}},
            {"inputRequests": []},
            {"inputRequests": {"a": 5}},
            {"inputRequests": {"a": {"method": 5}}},
            {"inputRequests": {"a": {}}, "requestState": "s"},
            {"requestState": 5},
            {"inputRequests": None, "requestState": None},
        ],
    )
    def test_from_json_is_strict(self, result: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"inputRequests|requestState|input request"):
            InputRequiredResult.from_json(result)


class TestCapabilities:
    @pytest.mark.parametrize(
        ("request_", "required"),
        [
            (ELICIT, {"elicitation": {"form": {}}}),
            (InputRequest("x", "elicitation/create", {"message": "no mode"}), {"elicitation": {"form": {}}}),
            (ELICIT_URL, {"elicitation": {"url": {}}}),
            (SAMPLE, {"sampling": {}}),
            (SAMPLE_TOOLS, {"sampling": {"tools": {}}}),
            (SAMPLE_CHOICE, {"sampling": {"tools": {}}}),
            (SAMPLE_CONTEXT, {"sampling": {"context": {}}}),
            (InputRequest.sample("x", {**QUESTION, "includeContext": "none"}), {"sampling": {}}),
            (
                InputRequest.sample("x", {**QUESTION, "includeContext": "allServers", "tools": []}),
                {"sampling": {"tools": {}, "context": {}}},
            ),
            (ROOTS, {"roots": {}}),
        ],
    )
    def test_required(self, request_: InputRequest, required: dict[str, Any]) -> None:
        assert required_capability(request_) == required
        # What is required is what satisfies, and nothing less does.
        assert client_declares(required, request_)
        assert missing_capabilities({}, [request_]) == required

    @pytest.mark.parametrize(
        "request_",
        [
            InputRequest("x", "tools/call"),
            InputRequest("x", ""),
            InputRequest("x", "elicitation/create", {"mode": "voice"}),
        ],
    )
    def test_what_may_not_be_asked_is_never_declared(self, request_: InputRequest) -> None:
        with pytest.raises(ValueError, match="not"):
            required_capability(request_)
        assert not client_declares({"elicitation": {}, "sampling": {}, "roots": {}}, request_)

    @pytest.mark.req(
        "2026-07-28:elicitation.empty-means-form",
        "2026-07-28:elicitation.mode-supported-only",
        "2026-07-28:sampling.tools-only-if-declared",
        "2026-07-28:sampling.include-context-gated",
        "2026-07-28:mrtr.only-declared-capabilities",
    )
    @pytest.mark.parametrize(
        ("capabilities", "asked"),
        [
            ({}, []),
            ({"elicitation": {}}, [ELICIT]),
            ({"elicitation": {"form": {}}}, [ELICIT]),
            ({"elicitation": {"url": {}}}, [ELICIT_URL]),
            ({"elicitation": {"form": {}, "url": {}}}, [ELICIT, ELICIT_URL]),
            ({"elicitation": {"form": False}}, []),
            ({"elicitation": None}, []),
            ({"elicitation": True}, []),
            ({"sampling": {}}, [SAMPLE]),
            ({"sampling": {"tools": {}}}, [SAMPLE, SAMPLE_TOOLS, SAMPLE_CHOICE]),
            ({"sampling": {"context": {}}}, [SAMPLE, SAMPLE_CONTEXT]),
            ({"roots": {}}, [ROOTS]),
            ({"roots": {"listChanged": True}}, [ROOTS]),
            ({"sampling": {}, "roots": {}}, [SAMPLE, ROOTS]),
        ],
    )
    def test_filter(self, capabilities: dict[str, Any], asked: list[InputRequest]) -> None:
        everything = [ELICIT, ELICIT_URL, SAMPLE, SAMPLE_TOOLS, SAMPLE_CHOICE, SAMPLE_CONTEXT, ROOTS]
        assert filter_declared(capabilities, everything) == asked
        assert missing_capabilities(capabilities, asked) == {}

    @pytest.mark.req("2026-07-28:meta.missing-capability-data")
    def test_missing_ones_are_merged(self) -> None:
        everything = [ELICIT, ELICIT_URL, SAMPLE_TOOLS, SAMPLE_CONTEXT, ROOTS]
        assert missing_capabilities({"elicitation": {}, "sampling": {}}, everything) == {
            "elicitation": {"url": {}},
            "sampling": {"tools": {}, "context": {}},
            "roots": {},
        }


class Server:
    """Answers with one prepared result after the other, and notes what it was sent."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.sent: list[tuple[dict[str, Any] | None, str | None]] = []

    def __call__(self, responses: dict[str, Any] | None, state: str | None) -> dict[str, Any]:
        self.sent.append((responses, state))
        result: dict[str, Any] = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        return result


def accept(requests: list[InputRequest]) -> dict[str, Any]:
    return {request.id: {"action": "accept", "for": request.id} for request in requests}


def never(requests: list[InputRequest]) -> Mapping[str, Any]:
    raise AssertionError(f"nothing was to be asked, but {requests} was")


DONE = {"resultType": "complete", "content": []}


class TestRounds:
    def test_a_complete_result_is_returned_at_once(self) -> None:
        server = Server(DONE)
        assert run_rounds(server, never) is DONE
        assert server.sent == [(None, None)]

    @pytest.mark.req("2026-07-28:jsonrpc.result-type-absent-complete")
    def test_a_result_without_a_type_is_complete(self) -> None:
        result: dict[str, Any] = {"content": []}
        assert run_rounds(Server(result), never) is result

    @pytest.mark.req(
        "2026-07-28:mrtr.construct-before-retry",
        "2026-07-28:mrtr.responses-same-keys",
        "2026-07-28:mrtr.echo-state",
        "2026-07-28:mrtr.repeat-allowed",
    )
    def test_every_round_is_answered(self) -> None:
        server = Server(
            InputRequiredResult([ELICIT, ROOTS], "one").to_json(),
            InputRequiredResult([SAMPLE], "two").to_json(),
            DONE,
        )
        assert run_rounds(server, accept) is DONE
        assert server.sent == [
            (None, None),
            (accept([ELICIT, ROOTS]), "one"),
            (accept([SAMPLE]), "two"),
        ]

    @pytest.mark.req("2026-07-28:mrtr.no-invented-state")
    def test_an_earlier_rounds_state_is_not_sent_again(self) -> None:
        server = Server(
            InputRequiredResult([ROOTS], "one").to_json(), InputRequiredResult([ROOTS]).to_json(), DONE
        )
        run_rounds(server, accept)
        assert [state for _, state in server.sent] == [None, "one", None]

    @pytest.mark.req("2026-07-28:mrtr.retry-immediately")
    @pytest.mark.parametrize("asked", [{}, {"inputRequests": {}}, {"inputRequests": None}])
    def test_state_alone_is_retried_without_asking(self, asked: dict[str, Any]) -> None:
        server = Server({"resultType": "input_required", "requestState": "s", **asked}, DONE)
        assert run_rounds(server, never) is DONE
        assert server.sent == [(None, None), (None, "s")]

    @pytest.mark.req("2026-07-28:mrtr.state-opaque", "2026-07-28:mrtr.echo-state")
    @given(st.text())
    def test_the_state_is_echoed_whatever_it_is(self, state: str) -> None:
        server = Server({"resultType": "input_required", "requestState": state}, DONE)
        run_rounds(server, never)
        assert server.sent[1] == (None, state)

    def test_without_an_answer_the_question_is_handed_back(self) -> None:
        question = InputRequiredResult([ELICIT], "s").to_json()
        server = Server(question)
        assert run_rounds(server, lambda requests: None) is question
        assert len(server.sent) == 1

    @pytest.mark.parametrize("rounds", [1, 2, MAX_ROUNDS])
    def test_it_stops_at_the_limit_and_does_not_ask_in_vain(self, rounds: int) -> None:
        server = Server(InputRequiredResult([ROOTS], "again").to_json())
        asked: list[InputRequest] = []

        def answer(requests: list[InputRequest]) -> dict[str, Any]:
            asked.extend(requests)
            return accept(requests)

        with pytest.raises(TooManyRounds, match=f"after {rounds} rounds") as caught:
            run_rounds(server, answer, max_rounds=rounds)
        assert isinstance(caught.value, LocalError)
        assert (len(server.sent), len(asked)) == (rounds, rounds - 1)

    def test_a_server_that_completes_in_the_last_round_is_in_time(self) -> None:
        assert MAX_ROUNDS == 16
        question = InputRequiredResult([ROOTS]).to_json()
        server = Server(*[question] * (MAX_ROUNDS - 1), DONE)
        assert run_rounds(server, accept) is DONE
        assert len(server.sent) == MAX_ROUNDS

    @pytest.mark.parametrize(
        ("answers", "named"),
        [
            ({}, "missing: name"),
            ({"name": {}, "more": {}}, "not asked for: more"),
            ({"other": {}}, "missing: name"),
        ],
    )
    def test_answers_must_fit_the_questions(self, answers: dict[str, Any], named: str) -> None:
        server = Server(InputRequiredResult([ELICIT]).to_json(), DONE)
        with pytest.raises(LocalProtocolError, match=named):
            run_rounds(server, lambda requests: answers)
        assert len(server.sent) == 1

    @pytest.mark.req("2026-07-28:mrtr.request-kinds")
    def test_another_kind_of_request_is_refused(self) -> None:
        server = Server({"resultType": "input_required", "inputRequests": {"x": {"method": "tools/call"}}})
        with pytest.raises(InvalidResult, match="'tools/call', which is no input request"):
            run_rounds(server, never)

    @pytest.mark.parametrize(
        "result",
        [
            {"resultType": "input_required"},
            {"resultType": "input_required", "inputRequests": [1]},
            {"resultType": "input_required", "inputRequests": {"a": 1}, "requestState": "s"},
            {"resultType": "input_required", "requestState": 1},
        ],
    )
    def test_a_malformed_question_is_refused(self, result: dict[str, Any]) -> None:
        with pytest.raises(InvalidResult, match="input-required result is invalid"):
            run_rounds(Server(result), never)


class TestResultType:
    @pytest.mark.req("2026-07-28:jsonrpc.result-type-unknown-invalid")
    @pytest.mark.parametrize("kind", ["partial", "", None, 5, ["complete"], {}])
    def test_an_unknown_type_is_invalid(self, kind: object) -> None:
        with pytest.raises(InvalidResult, match="does not know"):
            run_rounds(Server({"resultType": kind}), never, extensions={"task"})

    @pytest.mark.req(
        "2026-07-28:jsonrpc.result-type-recognized-set", "2026-07-28:jsonrpc.result-type-extension-values"
    )
    def test_an_extensions_type_is_known_where_the_extension_is_in_use(self) -> None:
        task = {"resultType": "task", "taskId": "1"}
        assert run_rounds(Server(task), never, extensions={"task"}) is task
        with pytest.raises(InvalidResult, match="'task'"):
            run_rounds(Server(task), never)

    @pytest.mark.req("2026-07-28:mrtr.other-methods-forbidden")
    @pytest.mark.parametrize(
        "method", ["tools/list", "server/discover", "completion/complete", "subscriptions/listen"]
    )
    def test_other_requests_may_not_be_answered_by_a_question(self, method: str) -> None:
        with pytest.raises(InvalidResult, match=method):
            result_type({"resultType": "input_required", "requestState": "s"}, method)
        assert result_type({"resultType": "complete"}, method) == "complete"

    @pytest.mark.req("2026-07-28:mrtr.allowed-methods")
    def test_three_requests_may(self) -> None:
        assert sorted(MRTR_METHODS) == ["prompts/get", "resources/read", "tools/call"]
        for method in MRTR_METHODS:
            assert result_type({"resultType": "input_required"}, method) == "input_required"

    @pytest.mark.parametrize("result", [None, [], "complete", 5])
    def test_what_is_no_object_is_invalid(self, result: object) -> None:
        with pytest.raises(InvalidResult, match="not an object"):
            result_type(result, "tools/call")
