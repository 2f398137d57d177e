"""`mcpref.errors`: the tree, the codes, and what each exception brings along."""

from __future__ import annotations

import pytest

from mcpref import errors
from mcpref.errors import (
    DEFINED_CODES,
    HTTP_STATUS,
    LocalError,
    McpError,
    MissingRequiredClientCapability,
    NotInitialized,
    PeerError,
    ProtocolError,
    ResourceNotFound,
    ToolError,
    UnsupportedProtocolVersion,
    UrlElicitationRequired,
    is_reserved_code,
)

WIRE = {
    "ParseError": -32700,
    "InvalidRequest": -32600,
    "MethodNotFound": -32601,
    "InvalidParams": -32602,
    "InternalError": -32603,
    "HeaderMismatch": -32020,
    "MissingRequiredClientCapability": -32021,
    "UnsupportedProtocolVersion": -32022,
    "ResourceNotFound": -32002,
    "NotInitialized": -32002,
    "UrlElicitationRequired": -32042,
}
LOCAL = {
    "ConnectionClosed",
    "RequestTimeout",
    "RequestCancelled",
    "Busy",
    "InvalidAnswer",
    "LocalProtocolError",
}
SIGN_IN = {"mode": "url", "url": "https://example.com/", "elicitationId": "1", "message": "Sign in"}


def subclasses(base: type[Exception]) -> set[str]:
    return {cls.__name__ for cls in base.__subclasses__() if cls.__module__ == errors.__name__}


def test_the_tree() -> None:
    assert subclasses(McpError) == {"ProtocolError", "PeerError", "LocalError", "ToolError"}
    assert subclasses(ProtocolError) == WIRE.keys()
    assert subclasses(LocalError) == LOCAL
    assert not issubclass(McpError, OSError | ValueError)


@pytest.mark.parametrize(("name", "code"), WIRE.items())
def test_the_code_of_each(name: str, code: int) -> None:
    assert getattr(errors, name).default_code == code
    assert code in DEFINED_CODES


@pytest.mark.parametrize("name", ["ParseError", "InvalidRequest", "MethodNotFound", "InvalidParams"])
def test_a_plain_one_has_a_message_of_its_own_and_no_data(name: str) -> None:
    error = getattr(errors, name)()
    assert error.message == str(error) == DEFINED_CODES[WIRE[name]]
    assert (error.data, error.request_id) == (None, None)
    told = getattr(errors, name)("what was wrong", data={"at": 1})
    assert (told.message, str(told), told.data) == ("what was wrong", "what was wrong", {"at": 1})


@pytest.mark.req("2026-07-28:errors.local-distinguishable")
@pytest.mark.parametrize("name", sorted(LOCAL))
def test_a_local_failure_has_no_code_and_is_no_error_of_the_peer(name: str) -> None:
    error = getattr(errors, name)("here")
    assert not hasattr(error, "code")
    assert not isinstance(error, ProtocolError | PeerError)


# ---- Codes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [-32000, -32001, -32002, -32019, -32020, -32022, -32042, -32099])
def test_both_ends_of_the_reserved_range_are_in_it(code: int) -> None:
    assert is_reserved_code(code)


@pytest.mark.parametrize("code", [-31999, -32100, 0, 1, 404, -32700, -32603, -1])
def test_other_codes_are_not_in_it(code: int) -> None:
    assert not is_reserved_code(code)


@pytest.mark.req("2026-07-28:errors.legacy-range-no-new", "2026-07-28:errors.reserved-range-only-defined")
@pytest.mark.parametrize("code", sorted(set(range(-32099, -31999)) - DEFINED_CODES.keys()))
def test_a_reserved_code_that_is_not_defined_is_refused_where_it_is_made(code: int) -> None:
    with pytest.raises(ValueError, match="outside -32768") as caught:
        ProtocolError("mine", code=code)
    assert str(code) in str(caught.value)


@pytest.mark.parametrize("code", [1, 0, -1, 404, -31999, -32769, 2**40])
def test_a_code_of_the_application_is_its_own(code: int) -> None:
    error = ProtocolError("mine", code=code, data=[1])
    assert (error.code, error.message, error.data) == (code, "mine", [1])


def test_a_protocol_error_without_a_code_is_internal() -> None:
    assert ProtocolError("oops").code == -32603
    assert ProtocolError().message == "Internal error"
    assert ProtocolError(code=12).message == "Error"


def test_a_request_id_is_set_on_one_error_and_no_other() -> None:
    error = errors.InvalidRequest("no")
    error.request_id = 7
    assert errors.InvalidRequest("no").request_id is None


# ---- Data ------------------------------------------------------------------------------------------------


@pytest.mark.req("2026-07-28:meta.missing-capability-data")
def test_a_missing_capability_is_named_in_the_data() -> None:
    required: dict[str, object] = {"sampling": {"tools": {}}, "roots": {}}
    error = MissingRequiredClientCapability(required)
    assert error.data == {"requiredCapabilities": required}
    assert "sampling, roots" in error.message
    assert MissingRequiredClientCapability(required, "ask me").message == "ask me"


@pytest.mark.req("2026-07-28:version.unsupported-data")
def test_an_unsupported_version_names_the_supported_ones() -> None:
    error = UnsupportedProtocolVersion("1900-01-01", ("2026-07-28",))
    assert error.data == {"supported": ["2026-07-28"], "requested": "1900-01-01"}
    assert "1900-01-01" in error.message
    assert "2026-07-28" in error.message


def test_a_peers_own_words_are_cut_short_in_messages() -> None:
    long = "v" * 10_000
    assert len(UnsupportedProtocolVersion(long, ["2026-07-28"]).message) < 200
    assert len(ResourceNotFound(long).message) < 300


def test_a_missing_resource_is_named() -> None:
    error = ResourceNotFound("file:///none")
    assert (error.code, error.data) == (-32002, {"uri": "file:///none"})
    assert "file:///none" in error.message


def test_a_request_before_the_handshake_is_told_what_to_send() -> None:
    assert "initialize" in NotInitialized().message


@pytest.mark.req(
    "2025-11-25:errors.url-elicitation-code",
    "2025-11-25:elicitation.required-list",
    "2025-11-25:elicitation.required-url-mode",
)
def test_url_elicitations_are_listed() -> None:
    error = UrlElicitationRequired([SIGN_IN])
    assert (error.code, error.data) == (-32042, {"elicitations": [SIGN_IN]})


@pytest.mark.req("2025-11-25:elicitation.required-url-mode")
@pytest.mark.parametrize(
    "change", [{"mode": "form"}, {"mode": None}, {"url": ""}, {"elicitationId": ""}], ids=str
)
def test_an_elicitation_that_is_no_url_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="elicitationId"):
        UrlElicitationRequired([SIGN_IN, {**SIGN_IN, **change}])


@pytest.mark.parametrize("code", [-32601, -32050, -1, 0, 10**9])
def test_an_error_of_the_peer_is_kept_verbatim(code: int) -> None:
    error = PeerError(code, "their words", {"a": [1]})
    assert (error.code, error.message, error.data) == (code, "their words", {"a": [1]})
    assert str(code) in str(error)
    assert "their words" in str(error)


def test_a_tool_error_is_text_for_the_model() -> None:
    error = ToolError("no such city")
    assert error.message == str(error) == "no such city"
    assert not isinstance(error, ProtocolError)


# ---- HTTP ------------------------------------------------------------------------------------------------


def test_the_status_of_each_code() -> None:
    assert HTTP_STATUS == {
        -32700: 400,
        -32600: 400,
        -32020: 400,
        -32021: 400,
        -32022: 400,
        -32601: 404,
    }
    assert HTTP_STATUS.keys() <= DEFINED_CODES.keys()
