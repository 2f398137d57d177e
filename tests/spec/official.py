"""The official schemas and their examples, read from the directory that ``MCP_SPEC_DIR`` names.

Two layouts are understood: a checkout of the specification's repository, and a flat one::

    schema/<revision>/schema.json                     schema/<revision>.json
    schema/2026-07-28/examples/<Type>/<name>.json     examples-2026-07-28/<Type>/<name>.json
    docs/specification/<revision>/<page>.mdx          (none)
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from mcpref.versions import ProtocolVersion

VARIABLE = "MCP_SPEC_DIR"
HOW_TO_GET = (
    f"the official schemas are not here: check out the specification's repository "
    f"(modelcontextprotocol/modelcontextprotocol) and set {VARIABLE} to that directory"
)
#: The one revision whose schema comes with examples.
EXAMPLES_OF = ProtocolVersion.V2026_07_28

Node: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Schema:
    """One revision's schema. ``definitions`` is a name for both spellings of that keyword."""

    version: ProtocolVersion
    document: Node = field(repr=False)

    @property
    def definitions(self) -> Mapping[str, Node]:
        found: Mapping[str, Node] = self.document.get("$defs") or self.document["definitions"]
        return found

    def resolve(self, node: Node) -> Node:
        """Follow ``$ref`` until there is none."""
        while "$ref" in node:
            node = self.definitions[ref_name(node)]
        return node

    def properties(self, node: Node) -> dict[str, Node]:
        """The members of an object, also of one made of several by ``allOf``."""
        node = self.resolve(node)
        found = dict(node.get("properties", {}))
        for part in node.get("allOf", ()):
            found |= self.properties(part)
        return found

    def required(self, node: Node) -> set[str]:
        """The members that such an object must have."""
        node = self.resolve(node)
        return set(node.get("required", ())).union(*(self.required(part) for part in node.get("allOf", ())))

    def union(self, name: str) -> list[Node]:
        """The alternatives of a union; none if this revision lacks it, one if it is no union."""
        node = self.definitions.get(name)
        if node is None:
            return []
        return [self.resolve(part) for part in node.get("anyOf", [node])]

    def rooted(self, name: str) -> dict[str, Any]:
        """A schema that accepts exactly what the definition of this name does."""
        keyword = "$defs" if "$defs" in self.document else "definitions"
        return {
            "$schema": self.document["$schema"],
            "$ref": f"#/{keyword}/{name}",
            keyword: self.definitions,
        }


def ref_name(node: Node) -> str:
    """The definition that a ``$ref`` points at."""
    return str(node["$ref"]).rsplit("/", 1)[1]


def spec_dir() -> Path | None:
    """What ``MCP_SPEC_DIR`` names; None if it is not set."""
    value = os.environ.get(VARIABLE)
    return Path(value) if value else None


def load_schemas(root: Path) -> dict[ProtocolVersion, Schema]:
    """All five; a missing one is an error, since whoever set the variable wanted them checked."""
    return {version: _load(root, version) for version in ProtocolVersion}


def _load(root: Path, version: ProtocolVersion) -> Schema:
    for path in (root / "schema" / version.value / "schema.json", root / "schema" / f"{version.value}.json"):
        if path.is_file():
            return Schema(version, json.loads(path.read_text(encoding="utf-8")))
    raise FileNotFoundError(
        f"{VARIABLE}={root} has neither schema/{version}/schema.json nor schema/{version}.json; {HOW_TO_GET}"
    )


@functools.cache
def examples() -> Mapping[str, Path]:
    """The official examples as ``Type/name`` -> file; empty if the variable is not set."""
    return dict(_examples())


def _examples() -> Iterator[tuple[str, Path]]:
    root = spec_dir()
    if root is None:
        return
    for home in (root / "schema" / EXAMPLES_OF.value / "examples", root / f"examples-{EXAMPLES_OF}"):
        for path in sorted(home.glob("*/*.json")):
            yield f"{path.parent.name}/{path.stem}", path
