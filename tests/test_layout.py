"""What the repository holds, and what no file of it may say."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

FILES = {"LICENSE", "Makefile", "README.rst", "pyproject.toml", "setup.cfg"}
DIRECTORIES = {"conformance", "mcpref", "tests"}

#: In two parts, so that this file does not say them either: where somebody's work happens to lie, where
#: packages come from, and how the text came about. None of it means anything to a reader elsewhere.
FORBIDDEN = [
    "".join(parts)
    for parts in (
        ("/wo", "rk/"),
        ("/ro", "ot/"),
        ("/opt/", "pypi"),
        ("/opt/", "wheels"),
        ("pypi", ".org"),
        ("python", "hosted.org"),
        ("npm", "js.org"),
        ("npm", "js.com"),
        ("help", "er-"),
        ("sub", "agent"),
    )
]


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """Every file that is tracked, or would be with ``git add .``."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
        problem = ended.stderr.strip()
    except OSError as error:
        ended, problem = None, str(error)
    if ended is None or ended.returncode != 0:
        reason = f"git cannot say which files are tracked here: {problem}"
        print(reason)
        pytest.skip(reason)
    names = [name for name in ended.stdout.split("\0") if name]
    return [Path(name) for name in names if (ROOT / name).is_file()]


def test_the_top_level_has_nothing_unexpected(tracked: list[Path]) -> None:
    top = {path.parts[0] for path in tracked if not path.parts[0].startswith(".")}
    files = {name for name in top if (ROOT / name).is_file()}
    assert files == FILES
    assert top - files == DIRECTORIES


def test_nothing_generated_is_tracked(tracked: list[Path]) -> None:
    generated = {".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", "build", "dist"}
    assert [path for path in tracked if generated & set(path.parts) or path.suffix == ".pyc"] == []


@pytest.mark.parametrize("word", FORBIDDEN)
def test_no_file_says(word: str, tracked: list[Path]) -> None:
    found = [
        f"{path}:{number}"
        for path in tracked
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), start=1)
        if word.encode() in line.lower()
    ]
    assert found == []


def test_text_ends_its_lines_alike(tracked: list[Path]) -> None:
    """Newlines alone, one at the end."""
    texts = [path for path in tracked if path.suffix in (".py", ".rst", ".cfg", ".toml", ".md")]
    assert len(texts) > 50
    wrong = []
    for path in texts:
        data = (ROOT / path).read_bytes()
        if b"\r" in data or (data and (not data.endswith(b"\n") or data.endswith(b"\n\n"))):
            wrong.append(path)
    assert wrong == []
