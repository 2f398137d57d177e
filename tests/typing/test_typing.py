"""The types of the public API: programs that type checkers accept, and lines that they refuse.

``good/`` has small programs of the kind a README shows; ``assert_type`` pins what is inferred in them. They
and the README's own snippets pass ``mypy --strict`` and pyright in strict mode, and those of ``good/`` run.

``bad/`` has wrong lines, marked ``# refused: why``. Both checkers report an error on exactly the marked lines.
Pyright looks at these in standard mode, plus comparisons that are always false, as mypy does: strict mode
would refuse many of them for being unused.
"""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.readme import ROOT, blocks, snippet

HERE = Path(__file__).parent
GOOD = sorted(path.stem for path in (HERE / "good").glob("*.py"))
BAD = sorted(path.stem for path in (HERE / "bad").glob("*.py"))
#: Django has no types of its own, so nothing that uses it passes.
SNIPPETS = [
    block.name
    for block in blocks()
    if block.language == "python" and block.name and "django" not in block.name
]
MARK = "# refused: "
#: A line refused for one of these shows a mistake in the program, not that the API is typed.
MISTAKES = frozenset(
    {
        "syntax",
        "import-not-found",
        "import-untyped",
        "name-defined",
        "reportMissingImports",
        "reportMissingModuleSource",
        "reportUndefinedVariable",
    }
)

#: file ("good/asking") -> line -> what a checker says, each message with its code
Report = Mapping[str, Mapping[int, list[str]]]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with everything to check, so that each checker runs once."""
    root = tmp_path_factory.mktemp("typing")
    shutil.copytree(HERE / "good", root / "good", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(HERE / "bad", root / "bad", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "readme").mkdir()
    for name in SNIPPETS:
        # The tests in the README are about its first server.
        text = snippet("server") + snippet(name) if name == "testing" else snippet(name)
        (root / "readme" / f"{name}.py").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def mypy_report(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Report:
    config = programs / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = True\npython_version = 3.11\nmypy_path = {ROOT}\n", encoding="utf-8")
    command = [
        *(sys.executable, "-m", "mypy", "--config-file", str(config)),
        *("--cache-dir", str(tmp_path_factory.mktemp("mypy-cache"))),
        *("--explicit-package-bases", "--follow-imports=silent", "--output=json"),
        *("good", "bad", "readme"),
    ]
    ended = subprocess.run(command, cwd=programs, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode in (0, 1), f"mypy failed: {ended.stdout}{ended.stderr}"
    report: dict[str, dict[int, list[str]]] = {}
    for line in ended.stdout.splitlines():
        found = json.loads(line)
        if found["severity"] == "error":
            said = report.setdefault(_name(Path(found["file"])), {}).setdefault(found["line"], [])
            said.append(f"{found['message']} [{found['code']}]")
    return report


@pytest.fixture(scope="session")
def pyright_report(programs: Path) -> Report:
    config = {
        "include": ["good", "bad", "readme"],
        "strict": ["good", "readme"],
        "typeCheckingMode": "standard",
        "reportUnnecessaryComparison": "error",
        "pythonVersion": "3.11",
        "extraPaths": [str(ROOT)],
    }
    (programs / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    pyright = [sys.executable, "-m", "pyright"]
    probe = subprocess.run(
        [*pyright, "--version"], cwd=programs, capture_output=True, text=True, timeout=300, check=False
    )
    if probe.returncode != 0:
        last = "".join(probe.stderr.splitlines()[-1:])
        reason = f"pyright cannot be started; it needs node, or a network to fetch it from: {last}"
        print(reason)
        pytest.skip(reason)
    command = [*pyright, "--project", str(programs), "--pythonpath", sys.executable, "--outputjson"]
    ended = subprocess.run(command, cwd=programs, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode in (0, 1), f"pyright failed: {ended.stdout}{ended.stderr}"
    checked = json.loads(ended.stdout)
    assert checked["summary"]["filesAnalyzed"] == len(GOOD) + len(BAD) + len(SNIPPETS)
    report: dict[str, dict[int, list[str]]] = {}
    for found in checked["generalDiagnostics"]:
        if found["severity"] == "error":
            line = found["range"]["start"]["line"] + 1
            said = report.setdefault(_name(Path(found["file"])), {}).setdefault(line, [])
            said.append(f"{found['message']} [{found.get('rule', 'syntax')}]")
    return report


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _marked(name: str) -> dict[int, str]:
    lines = (HERE / "bad" / f"{name}.py").read_text(encoding="utf-8").splitlines()
    return {number: line for number, line in enumerate(lines, start=1) if MARK in line}


def test_there_are_enough_programs() -> None:
    assert len(GOOD) >= 20
    assert sum(len(_marked(name)) for name in BAD) >= 20
    assert {"server", "rest", "blueprint", "ask", "long", "application", "testing"} <= set(SNIPPETS)


@pytest.mark.parametrize("name", [f"good/{name}" for name in GOOD] + [f"readme/{name}" for name in SNIPPETS])
def test_mypy_accepts(name: str, mypy_report: Report) -> None:
    assert mypy_report.get(name, {}) == {}


@pytest.mark.parametrize("name", [f"good/{name}" for name in GOOD] + [f"readme/{name}" for name in SNIPPETS])
def test_pyright_accepts(name: str, pyright_report: Report) -> None:
    assert pyright_report.get(name, {}) == {}


@pytest.mark.parametrize("name", BAD)
def test_mypy_refuses(name: str, mypy_report: Report) -> None:
    check_refused(name, mypy_report)


@pytest.mark.parametrize("name", BAD)
def test_pyright_refuses(name: str, pyright_report: Report) -> None:
    check_refused(name, pyright_report)


def check_refused(name: str, report: Report) -> None:
    """Exactly the marked lines are refused, and for what they say."""
    marked, refused = _marked(name), report.get(f"bad/{name}", {})
    accepted = [
        f"{name}:{number}: {line.strip()}" for number, line in marked.items() if number not in refused
    ]
    assert accepted == [], "these lines should have been refused"
    others = [f"{name}:{number}: {said}" for number, said in refused.items() if number not in marked]
    assert others == [], "these lines should have been accepted"
    for number, said in refused.items():
        codes = {message.rpartition("[")[2].rstrip("]") for message in said}
        assert not codes & MISTAKES, f"{name}:{number}: {said}"


@pytest.mark.parametrize("name", GOOD)
def test_the_program_also_runs(name: str) -> None:
    """Everything in it can be registered."""
    namespace = runpy.run_path(str(HERE / "good" / f"{name}.py"), run_name="program")
    assert namespace["server"].name
