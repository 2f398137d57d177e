"""Every host does what the table says, no less and no more, and prints no traceback about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .capabilities import Capability, Found, load
from .matrix import EXPECTED, Within, as_rst, as_text, is_as_expected, shown
from .processes import HOSTS, ROOT, Host, HostProcess, running

CAPABILITIES = load()

every_host = pytest.mark.parametrize("host", HOSTS.values(), ids=list(HOSTS))


def needs(host: Host) -> None:
    if not host.is_installed:
        reason = f"{host.package} is not installed"
        print(reason)
        pytest.skip(reason)


def check(capability: Capability, process: HostProcess) -> None:
    found = capability.probe(process)
    expected = EXPECTED[capability.title][process.host.name]
    said = f"{capability.title}: {shown(found)}, where {shown(expected)} is expected"
    assert is_as_expected(expected, found), said


@every_host
@pytest.mark.parametrize("title", [title for title, one in CAPABILITIES.items() if not one.ends])
def test_a_host_that_runs(shared: Callable[[Host], HostProcess], host: Host, title: str) -> None:
    needs(host)
    process = shared(host)
    check(CAPABILITIES[title], process)
    process.is_well()


@every_host
@pytest.mark.parametrize("title", [title for title, one in CAPABILITIES.items() if one.ends])
def test_a_host_at_its_end(host: Host, title: str) -> None:
    needs(host)
    with running(host) as process:
        check(CAPABILITIES[title], process)


def test_the_table_is_complete() -> None:
    assert set(EXPECTED) == set(CAPABILITIES)
    assert all(set(row) == set(HOSTS) for row in EXPECTED.values())


@pytest.mark.parametrize(
    ("expected", "found", "fits"),
    [
        ("yes", "yes", True),
        ("yes", "no", False),
        (4, 4, True),
        (4, 4.0, False),
        (None, None, True),
        (None, 1.0, False),
        (Within(2.0), 1.9, True),
        (Within(2.0), 2.0, False),
        (Within(2.0), None, False),
    ],
)
def test_what_was_found_is_compared_by_kind(expected: object, found: object, fits: bool) -> None:
    assert is_as_expected(expected, found) is fits  # type: ignore[arg-type]


def test_tables_are_aligned() -> None:
    rows: dict[str, dict[str, Found]] = {
        "holds": {"a": 4, "longer": None},
        "ends": {"a": 1.04, "longer": "yes"},
    }
    assert as_text(rows).splitlines() == [
        "       a      longer",
        "holds  4      never",
        "ends   1.0 s  yes",
    ]
    assert as_rst(rows).splitlines() == [
        "=====  =====  ======",
        "       a      longer",
        "=====  =====  ======",
        "holds  4      never",
        "ends   1.0 s  yes",
        "=====  =====  ======",
    ]


BEGIN, END = ".. hosts-matrix-begin", ".. hosts-matrix-end"


def test_the_readme_shows_this_table() -> None:
    text = Path(ROOT / "README.rst").read_text()
    if BEGIN not in text:
        reason = (
            f"README.rst has no {BEGIN!r}: python -m tests.hosts --expected --rst prints what to put there"
        )
        print(reason)
        pytest.skip(reason)
    between = text.partition(BEGIN)[2].partition(END)[0]
    assert between.strip() == as_rst(EXPECTED)
