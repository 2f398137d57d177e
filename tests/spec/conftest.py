"""Fixtures over the official schemas. Without ``MCP_SPEC_DIR`` the tests that need them are skipped."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mcpref.versions import ProtocolVersion

from . import official


@pytest.fixture(scope="session")
def schemas() -> Mapping[ProtocolVersion, official.Schema]:
    """The five official schemas."""
    root = official.spec_dir()
    if root is None:
        pytest.skip(official.HOW_TO_GET)
    return official.load_schemas(root)


@pytest.fixture(params=list(ProtocolVersion), ids=str)
def schema(
    request: pytest.FixtureRequest, schemas: Mapping[ProtocolVersion, official.Schema]
) -> official.Schema:
    """Each of the official schemas in turn."""
    return schemas[request.param]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "example" not in metafunc.fixturenames:
        return
    names: list[object] = list(official.examples())
    if not names:
        names = [pytest.param("none", marks=pytest.mark.skip(reason=official.HOW_TO_GET))]
    metafunc.parametrize("example", names)
