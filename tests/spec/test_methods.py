"""`METHODS` against the message unions of the five schemas, both ways."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mcpref.versions import METHODS, Method, ProtocolVersion

from .official import Node, Schema

_ORDER = list(ProtocolVersion)


def _methods(nodes: Iterable[Node]) -> set[str]:
    return {node["properties"]["method"]["const"] for node in nodes}


def _embedded(method: Method, version: ProtocolVersion) -> bool:
    since = method.embedded_since
    return since is not None and _ORDER.index(version) >= _ORDER.index(since)


@pytest.mark.parametrize("kind", ["request", "notification"])
@pytest.mark.parametrize("sender", ["client", "server"])
def test_a_method_is_on_the_wire_where_the_schema_has_it(sender: str, kind: str, schema: Schema) -> None:
    ours = {
        method.name
        for method in METHODS
        if method.kind == kind
        and method.sender in (sender, "both")
        and method.span.covers(schema.version)
        and not _embedded(method, schema.version)
    }
    assert ours == _methods(schema.union(f"{sender.title()}{kind.title()}"))


def test_a_method_is_embedded_where_the_schema_has_input_requests(schema: Schema) -> None:
    ours = {m.name for m in METHODS if m.span.covers(schema.version) and _embedded(m, schema.version)}
    assert ours == _methods(schema.union("InputRequest"))


def test_the_compiled_tables_hold_what_a_client_sends(schema: Schema) -> None:
    assert set(schema.version.client_requests) == _methods(schema.union("ClientRequest"))
    assert set(schema.version.client_notifications) == _methods(schema.union("ClientNotification"))


def test_no_message_has_two_rows() -> None:
    for version in ProtocolVersion:
        for sender in ("client", "server"):
            names = [m.name for m in METHODS if m.sender in (sender, "both") and m.span.covers(version)]
            assert len(names) == len(set(names)), f"{sender}, {version}"


def test_a_capability_is_one_of_the_schema(schema: Schema) -> None:
    """A row's capability is a member of the receiver's capabilities in each revision of the row."""
    members = {
        "client": schema.properties(schema.definitions["ServerCapabilities"]),
        "server": schema.properties(schema.definitions["ClientCapabilities"]),
    }
    for method in METHODS:
        if method.capability is None or not method.span.covers(schema.version):
            continue
        name, _, flag = method.capability.partition(".")
        if name == "completions" and not schema.version.features.completions_capability:
            continue  # before there was the capability, the method stood behind none
        for sender in ("client", "server") if method.sender == "both" else (method.sender,):
            # Notifications stand behind a capability of their sender, requests behind one of their receiver.
            side = sender if method.kind == "request" else {"client": "server", "server": "client"}[sender]
            assert name in members[side], f"{method.name}: {side} sends it, nobody declares {name}"
            if flag:
                assert flag in schema.properties(members[side][name]), f"{method.name}: {method.capability}"
