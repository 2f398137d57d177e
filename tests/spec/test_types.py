"""The TypedDicts of `mcpref.schema` against the schemas of all five revisions.

The rule, for each TypedDict and each revision that has the type: a key is there, and is required there, as
its annotation and its note say. So notes cannot lie, and no key can be missing, made up or left over.

- A key without a note is in every revision of the type, and required in all of them or in none.
- ``since A``, ``until B`` and ``A only`` say which revisions have it.
- ``required`` (in all that have it), ``required since A`` and ``optional in A`` say which require it.
- A key inherited from a base keeps the base's note, and holds for the subtype's revisions.

A type without a definition of its own is looked up where the schema writes it in place (`_IN_PLACE`).
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

import mcpref.schema
from mcpref.versions import ProtocolVersion

from .official import Node, Schema, ref_name

Schemas: TypeAlias = Mapping[ProtocolVersion, Schema]

_HOME = Path(mcpref.schema.__file__).parent
_MODULES = sorted(path.stem for path in _HOME.glob("*.py") if path.stem != "__init__")
_NAMES: dict[str, Any] = {
    name: value
    for module in _MODULES
    for name, value in vars(importlib.import_module(f"mcpref.schema.{module}")).items()
}
_TYPES = {name: value for name, value in _NAMES.items() if is_typeddict(value) and value.__name__ == name}
_ORDER = [version.value for version in ProtocolVersion]

#: Where a revision without a definition of this name has the type: another name, or a member's own schema.
#: For ``<Message>Params`` that is ``<Message>.params`` and need not be listed.
_IN_PLACE = {
    "Annotations": "Annotated.annotations",
    "Error": "JSONRPCError.error",
    "RequestMetaObject": "RequestParams._meta",
    "RequestParams": "Request.params",
    "NotificationParams": "Notification.params",
    "PaginatedRequestParams": "PaginatedRequest.params",
    "RootsCapability": "ClientCapabilities.roots",
    "SamplingCapability": "ClientCapabilities.sampling",
    "ElicitationCapability": "ClientCapabilities.elicitation",
    "TasksCapability": "ServerCapabilities.tasks",
    "ListChangedCapability": "ServerCapabilities.tools",
    "ResourcesCapability": "ServerCapabilities.resources",
    "CompletionArgument": "CompleteRequestParams.argument",
    "CompletionContext": "CompleteRequestParams.context",
    "Completion": "CompleteResult.completion",
    "ResourceTemplateReference": "ResourceReference",
    "LegacyTitledEnumSchema": "EnumSchema",
    "EnumOption": "TitledSingleSelectEnumSchema.oneOf.[]",
    "UntitledMultiSelectItems": "UntitledMultiSelectEnumSchema.items",
    "TitledMultiSelectItems": "TitledMultiSelectEnumSchema.items",
    "ElicitRequestFormParams": "ElicitRequest.params",
    "RequestedSchema": "ElicitRequestFormParams.requestedSchema",
}

#: Members of the JSON-RPC envelope, which the dataclasses of `mcpref.jsonrpc` stand for.
_ENVELOPE = {"jsonrpc", "id"}

#: Definitions of the two newest revisions that have no type here, with the reason.
_WITHOUT_TYPE = {
    "Request": "envelope: mcpref.jsonrpc.Request",
    "Notification": "envelope: mcpref.jsonrpc.Notification",
    "PaginatedRequest": "envelope",
    "JSONRPCMessage": "envelopes",
    "JSONRPCResponse": "envelopes",
    "ParseError": "an Error with one code: mcpref.errors",
    "InvalidRequestError": "an Error with one code: mcpref.errors",
    "MethodNotFoundError": "an Error with one code: mcpref.errors",
    "InvalidParamsError": "an Error with one code: mcpref.errors",
    "InternalError": "an Error with one code: mcpref.errors",
    "ClientRequest": "a union over messages: mcpref.versions.METHODS",
    "ClientNotification": "a union over messages: mcpref.versions.METHODS",
    "ServerRequest": "a union over messages: mcpref.versions.METHODS",
    "ServerNotification": "a union over messages: mcpref.versions.METHODS",
    "ClientResult": "a union over messages",
    "ServerResult": "a union over messages",
}


# Which revisions have a type


def _node(schema: Schema, name: str) -> Node | None:
    """The type in this revision: an object with its members, or None."""
    node = schema.definitions.get(name)
    if node is None or not _is_object(schema, node):
        node = _in_place(schema, name)
    if node is None or not _is_object(schema, node):
        return None
    return _with_base(schema, name, schema.resolve(node))


def _is_object(schema: Schema, node: Node) -> bool:
    node = schema.resolve(node)
    return "allOf" in node or node.get("type") == "object"


def _in_place(schema: Schema, name: str) -> Node | None:
    path = _IN_PLACE.get(name, f"{name.removesuffix('Params')}.params")
    head, *members = path.split(".")
    node = schema.definitions.get(head)
    if node is None and head in _IN_PLACE | _TYPES and head != name:
        node = _node(schema, head)
    for member in members:
        if node is None:
            return None
        node = node["items"] if member == "[]" else schema.properties(node).get(member)
    return node


def _with_base(schema: Schema, name: str, node: Node) -> Node:
    """Params written in place take the place of `Request.params`, which has ``_meta`` for them all."""
    base = re.fullmatch(r".*(Request|Notification)(?:\w*)Params", name)
    if base is None or f"{base[1]}Params" in schema.definitions:
        return node
    general = schema.properties(schema.definitions[base[1]])["params"]
    return {**node, "properties": schema.properties(general) | schema.properties(node)}


def _homes(schemas: Schemas, name: str) -> dict[str, tuple[Schema, Node]]:
    """The revisions that have the type."""
    return {
        version.value: (schema, node)
        for version, schema in schemas.items()
        if (node := _node(schema, name)) is not None
    }


# Reading our side


@dataclass
class _Key:
    required: bool
    note: str = ""


@dataclass
class _Declared:
    keys: dict[str, _Key]
    bases: list[str]
    doc: str


def _declarations() -> dict[str, _Declared]:
    """What the source says of each TypedDict: its own keys with their notes, its bases, its docstring."""
    found: dict[str, _Declared] = {}
    for module in _MODULES:
        text = (_HOME / f"{module}.py").read_text(encoding="utf-8")
        lines = text.splitlines()
        body = ast.parse(text).body
        for place, node in enumerate(body):
            if isinstance(node, ast.ClassDef):
                found[node.name] = _Declared(
                    {
                        item.target.id: _key(item.annotation, lines)
                        for item in node.body
                        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
                    },
                    [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != "TypedDict"],
                    ast.get_docstring(node) or "",
                )
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                target, members = node.targets[0], node.value.args[1]
                assert isinstance(target, ast.Name)
                assert isinstance(members, ast.Dict)
                after = body[place + 1] if place + 1 < len(body) else None
                doc = after.value if isinstance(after, ast.Expr) else None
                found[target.id] = _Declared(
                    {
                        str(key.value): _key(value, lines)
                        for key, value in zip(members.keys, members.values, strict=True)
                        if isinstance(key, ast.Constant)
                    },
                    [],
                    str(doc.value) if isinstance(doc, ast.Constant) else "",
                )
    return found


def _key(annotation: ast.expr, lines: list[str]) -> _Key:
    optional = (
        isinstance(annotation, ast.Subscript)
        and isinstance(annotation.value, ast.Name)
        and annotation.value.id == "NotRequired"
    )
    assert annotation.end_lineno is not None
    _, _, note = lines[annotation.end_lineno - 1].partition("  # ")
    return _Key(not optional, note)


_DECLARED = _declarations()


def _keys(name: str) -> dict[str, _Key]:
    """The keys of a type, with those of its bases."""
    found: dict[str, _Key] = {}
    for base in _DECLARED[name].bases:
        found |= _keys(base)
    return found | _DECLARED[name].keys


_DATE = r"(\d{4}-\d\d-\d\d)"


def _span(text: str) -> set[str] | None:
    """The revisions that ``since A``, ``until B`` or ``A only`` names; None if the text is neither."""
    if match := re.match(rf"since {_DATE}", text, re.I):
        return {revision for revision in _ORDER if revision >= match[1]}
    if match := re.match(rf"until {_DATE}", text, re.I):
        return {revision for revision in _ORDER if revision <= match[1]}
    if match := re.match(rf"{_DATE} only", text):
        return {match[1]}
    return None


def _said(key: _Key, homes: set[str]) -> tuple[set[str], set[str]]:
    """The revisions that have a key, and those that require it, by what its line says."""
    present = set(homes)
    required = set(homes) if key.required else set()
    for clause in key.note.split(";")[0].split(", "):
        span = _span(clause)
        if span is not None:
            present &= span
            required &= span
        elif clause == "required":
            required = set(present)
        elif match := re.fullmatch(rf"required since {_DATE}", clause):
            required = {revision for revision in present if revision >= match[1]}
        elif match := re.fullmatch(rf"optional in {_DATE}", clause):
            required -= {match[1]}
        else:
            break  # a remark
    return present, required


# The tests


@pytest.mark.parametrize("name", _TYPES)
def test_keys_are_where_their_notes_say(name: str, schemas: Schemas) -> None:
    homes = _homes(schemas, name)
    assert homes, f"no revision has {name}"
    keys = _keys(name)
    official: dict[str, tuple[set[str], set[str]]] = {key: (set(), set()) for key in keys}
    for revision, (schema, node) in homes.items():
        for key in set(schema.properties(node)) - (
            _ENVELOPE if "jsonrpc" in schema.properties(node) else set()
        ):
            present, required = official.setdefault(key, (set(), set()))
            present.add(revision)
            if key in schema.required(node):
                required.add(revision)
    assert {key: _said(said, set(homes)) for key, said in keys.items()} == official
    made_up = {key for key in _DECLARED[name].keys if not official[key][0]}
    assert not made_up, "keys that no revision has"


@pytest.mark.parametrize("name", _TYPES)
def test_a_docstring_says_which_revisions_have_the_type(name: str, schemas: Schemas) -> None:
    homes = set(_homes(schemas, name))
    said = [
        span
        for sentence in re.findall(rf"((?:Since|Until) {_DATE}|{_DATE} only)\.", _DECLARED[name].doc)
        if (span := _span(sentence[0])) is not None
    ]
    assert len(said) <= 1
    assert (said[0] if said else set(_ORDER)) == homes


def test_every_official_definition_is_here(schemas: Schemas) -> None:
    newest = [schemas[ProtocolVersion.V2025_11_25], schemas[ProtocolVersion.V2026_07_28]]
    missing = {
        name
        for schema in newest
        for name, node in schema.definitions.items()
        if name not in _NAMES and "jsonrpc" not in schema.properties(node)
    }
    assert missing <= set(_WITHOUT_TYPE)
    stale = {
        name for name in _WITHOUT_TYPE if name in _NAMES or not any(name in s.definitions for s in newest)
    }
    assert not stale, "listed as having no type, and yet here or gone from the schemas"


@pytest.mark.parametrize("name", ["Role", "LoggingLevel", "TaskStatus"])
def test_enumerations(name: str, schemas: Schemas) -> None:
    official = [set(s.definitions[name]["enum"]) for s in schemas.values() if name in s.definitions]
    assert official
    assert all(set(get_args(_NAMES[name])) == values for values in official)


@pytest.mark.parametrize("name", _TYPES)
def test_values_have_the_types_of_the_schemas(name: str, schemas: Schemas) -> None:
    """What some revision allows in a member, ours allows, and nothing that none does (`_kinds`)."""
    defined = {definition for schema in schemas.values() for definition in schema.definitions}
    for key, hint in get_type_hints(_TYPES[name], localns=_NAMES, include_extras=True).items():
        official: set[str] = set()
        for schema, node in _homes(schemas, name).values():
            if key in schema.properties(node):
                official |= _kinds_of_node(schema, schema.properties(node)[key])
        ours = _kinds(hint, defined)
        # An object that a revision writes in place has no name there; the one of ours may stand for it.
        if any(kind.removeprefix("array of ") in defined for kind in ours):
            official -= {"object", "array of object"}
        if (name, key) == ("ListRootsRequest", "params"):
            official -= {"RequestParams"}  # 2025-11-25 alone; before and after it is written in place
        if "anything" in official:
            official = {"anything"}
        if official:  # else it is a base's key that no revision of this type has
            assert ours == official, key


# The kinds of value that an annotation and a schema allow, in words that both can be put into

_RENAMED = {old: new for new, old in _IN_PLACE.items() if "." not in old}


def _kinds(hint: Any, defined: set[str]) -> set[str]:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required):
        return _kinds(args[0], defined)
    if origin in (Union, UnionType):
        return set().union(*(_kinds(arg, defined) for arg in args))
    if origin is Literal:
        return {f"={arg}" for arg in args}
    if origin is list:
        return {f"array of {kind}" for kind in _kinds(args[0], defined)}
    if hint is object:
        return {"anything"}
    if is_typeddict(hint) and hint.__name__ in defined:
        return {hint.__name__}
    if is_typeddict(hint) or (origin is not None and issubclass(origin, Mapping)):
        return {"object"}
    return {{str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}[hint]}


def _kinds_of_node(schema: Schema, node: Node) -> set[str]:
    name = ref_name(node) if "$ref" in node else ""
    node = schema.resolve(node)
    if "properties" in node or "allOf" in node:
        name = _RENAMED.get(name, name)
    if name in _TYPES:
        return {name}
    if "anyOf" in node:
        return set().union(*(_kinds_of_node(schema, part) for part in node["anyOf"]))
    if "const" in node:
        return {f"={node['const']}"}
    if "enum" in node:
        return {f"={value}" for value in node["enum"]}
    kinds = node.get("type", "anything")
    found: set[str] = set()
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind == "array":
            found |= {f"array of {item}" for item in _kinds_of_node(schema, node["items"])}
        else:
            found.add("number" if kind == "integer" else kind)
    return found


def test_importing_a_page_does_not_load_the_others() -> None:
    loaded = {
        module: {
            str(node.module)
            for node in ast.parse((_HOME / f"{module}.py").read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom) and node.level == 1
        }
        for module in _MODULES
    }
    pages = {"base", "content", "inputs"}  # what the pages are built on
    assert {module: sorted(names - pages) for module, names in loaded.items() if names - pages} == {
        "sampling": ["tools"]
    }
