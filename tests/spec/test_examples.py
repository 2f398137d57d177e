"""The schema's own examples: each fits its definition, and comes back unchanged from `mcpref.jsonrpc`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema.validators import validator_for

from mcpref.jsonrpc import (
    Batch,
    ErrorResponse,
    Notification,
    Request,
    Response,
    decode,
    encode,
)
from mcpref.versions import ProtocolVersion

from .official import EXAMPLES_OF, HOW_TO_GET, Schema, examples, spec_dir


def _read(example: str) -> Any:
    return json.loads(examples()[example].read_text(encoding="utf-8"))


def test_there_are_examples() -> None:
    """A wrong directory must not pass for "nothing to check"."""
    if spec_dir() is None:
        pytest.skip(HOW_TO_GET)
    assert len(examples()) >= 129


def test_an_example_fits_its_definition(example: str, schemas: Mapping[ProtocolVersion, Schema]) -> None:
    rooted = schemas[EXAMPLES_OF].rooted(example.split("/")[0])
    validator_for(rooted)(rooted).validate(_read(example))


def test_an_example_survives_the_wire(example: str) -> None:
    value = _read(example)
    if "jsonrpc" not in value:
        value = _wrapped(example.split("/")[0], value)
    data = json.dumps(value, ensure_ascii=False, indent=2).encode()
    message = decode(data)
    assert not isinstance(message, Batch)
    assert type(message) is _kind(value)
    assert json.loads(encode(message)) == value
    assert b"\n" not in encode(message)


def _wrapped(name: str, value: dict[str, Any]) -> dict[str, Any]:
    """A message with this part of one where it belongs; what is no params or error stands as a result."""
    if name.endswith("NotificationParams"):
        return {"jsonrpc": "2.0", "method": "notifications/example", "params": value}
    if name.endswith("Params"):
        return {"jsonrpc": "2.0", "id": "example-1", "method": "example", "params": value}
    if name.endswith("Error"):
        return {"jsonrpc": "2.0", "id": 1, "error": value}
    return {"jsonrpc": "2.0", "id": 1, "result": value}


def _kind(value: Mapping[str, object]) -> type[object]:
    if "method" in value:
        return Request if "id" in value else Notification
    return Response if "result" in value else ErrorResponse
