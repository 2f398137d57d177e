"""The codes and exceptions of `mcpref.errors` against the schemas, and the rules of the reserved ranges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from jsonschema.validators import validator_for

from mcpref import errors
from mcpref.errors import DEFINED_CODES, ProtocolError
from mcpref.jsonrpc import ErrorResponse, to_json
from mcpref.versions import ProtocolVersion

from .official import Schema

#: One instance of each exception that has a definition in some schema, under the definition's name.
_DEFINED: Mapping[str, ProtocolError] = {
    "ParseError": errors.ParseError(),
    "InvalidRequestError": errors.InvalidRequest(),
    "MethodNotFoundError": errors.MethodNotFound(),
    "InvalidParamsError": errors.InvalidParams(),
    "InternalError": errors.InternalError(),
    "HeaderMismatchError": errors.HeaderMismatch(),
    "MissingRequiredClientCapabilityError": errors.MissingRequiredClientCapability({"sampling": {}}),
    "UnsupportedProtocolVersionError": errors.UnsupportedProtocolVersion("1900-01-01", ["2026-07-28"]),
    "URLElicitationRequiredError": errors.UrlElicitationRequired(
        [{"mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "1"}]
    ),
}

#: Exceptions whose code stands in the prose of older revisions only.
_PROSE_ONLY = {errors.ResourceNotFound: -32002, errors.NotInitialized: -32002}

#: The codes that a revision's schema must define; the oldest three define none.
_SCHEMA_CODES = {
    ProtocolVersion.V2025_11_25: {-32042},
    ProtocolVersion.V2026_07_28: {-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022},
}


def _codes(schema: Schema) -> dict[str, int]:
    """Every definition that fixes an error code, and the code."""
    return {name: code for name, node in schema.definitions.items() for code in _code(node)}


def _code(node: object) -> Iterator[int]:
    if isinstance(node, dict):
        for key, child in node.items():
            if key == "code" and isinstance(child, dict) and "const" in child:
                yield child["const"]
            else:
                yield from _code(child)
    elif isinstance(node, list):
        for child in node:
            yield from _code(child)


def _subclasses(kind: type[ProtocolError]) -> Iterator[type[ProtocolError]]:
    for sub in kind.__subclasses__():
        if sub.__module__ == errors.__name__:
            yield sub
            yield from _subclasses(sub)


def test_the_schema_defines_the_codes_we_know(schema: Schema) -> None:
    codes = _codes(schema)
    assert set(codes.values()) == _SCHEMA_CODES.get(schema.version, set())
    assert codes == {name: _DEFINED[name].code for name in codes}


def test_every_exception_is_a_code_of_some_revision() -> None:
    named = {type(error): error.code for error in _DEFINED.values()} | _PROSE_ONLY
    assert {kind: kind.default_code for kind in _subclasses(ProtocolError)} == named
    assert set(named.values()) == set(DEFINED_CODES)


def test_a_constant_has_the_code_of_its_name() -> None:
    constants = {name: value for name, value in vars(errors).items() if isinstance(value, int)}
    assert constants == {
        "PARSE_ERROR": -32700,
        "INVALID_REQUEST": -32600,
        "METHOD_NOT_FOUND": -32601,
        "INVALID_PARAMS": -32602,
        "INTERNAL_ERROR": -32603,
        "HEADER_MISMATCH": -32020,
        "MISSING_REQUIRED_CLIENT_CAPABILITY": -32021,
        "UNSUPPORTED_PROTOCOL_VERSION": -32022,
        "RESOURCE_NOT_FOUND": -32002,
        "URL_ELICITATION_REQUIRED": -32042,
    }


@pytest.mark.parametrize("name", _DEFINED)
def test_what_is_sent_validates(name: str, schemas: Mapping[ProtocolVersion, Schema]) -> None:
    message = to_json(ErrorResponse(1, _DEFINED[name]))
    homes = [schema for schema in schemas.values() if name in schema.definitions]
    assert homes, f"no revision defines {name}"
    for schema in homes:
        rooted = schema.rooted(name)
        whole = "jsonrpc" in schema.properties(schema.definitions[name])
        validator_for(rooted)(rooted).validate(message if whole else message["error"])
        # The definition must be able to refuse, or the line above shows nothing.
        assert not validator_for(rooted)(rooted).is_valid({"jsonrpc": "2.0", "id": 1, "error": {"code": 1}})


@pytest.mark.req("2026-07-28:errors.reserved-range-only-defined")
@pytest.mark.parametrize("code", range(-32099, -32019))
def test_an_undefined_code_of_the_reserved_range_is_refused(code: int) -> None:
    if code in (-32020, -32021, -32022, -32042):  # the last by 2025-11-25
        assert ProtocolError(code=code).code == code
    else:
        with pytest.raises(ValueError, match=f"{code} is reserved"):
            ProtocolError("application failure", code=code)


@pytest.mark.req("2026-07-28:errors.legacy-range-no-new")
@pytest.mark.parametrize("code", range(-32019, -31999))
def test_no_code_is_added_to_the_legacy_range(code: int) -> None:
    if code == -32002:  # older revisions' own
        assert ProtocolError(code=code).code == code
    else:
        assert code not in DEFINED_CODES
        with pytest.raises(ValueError, match="use a code outside"):
            ProtocolError("application failure", code=code)


@pytest.mark.parametrize("code", [-32769, -31999, -1, 0, 1, 404, 2**31])
def test_codes_of_applications_are_free(code: int) -> None:
    assert ProtocolError("application failure", code=code).code == code
