"""The command: what it serves, and what it says when it cannot."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import mcpref
from mcpref.loading import load
from tests.threads import PATIENCE

from .process import SERVERS, ServerProcess, call, launch, meta, request, serve_command, text_of

ROOT = Path(mcpref.__file__).parents[1]


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command with an empty standard input."""
    return subprocess.run(
        [sys.executable, "-m", "mcpref", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=cwd,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A directory with modules of all kinds."""
    files = {
        "good.py": "from mcpref import McpServer\nserver = McpServer('good')\n",
        "two.py": "from mcpref import McpServer\nfirst, second = McpServer('1'), McpServer('2')\n",
        "none.py": "from mcpref import McpServer\nserver = 'a string'\nnothing = None\n",
        "nested.py": "from mcpref import McpServer\nclass App:\n    server = McpServer('nested')\n",
        "broken.py": "def f(:\n",
        "raising.py": "print('so far')\nraise LookupError('of its own')\n",
        "needy.py": "import no_such_package_at_all\n",
        "helped.py": "from good import server\n",
        "notes.txt": "no program",
        "package/__init__.py": "",
        "package/inner.py": "from mcpref import McpServer\nserver = McpServer('inner')\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


class TestVersionAndUsage:
    def test_version(self) -> None:
        done = run("--version")
        assert (done.returncode, done.stdout) == (0, f"mcpref {mcpref.__version__}\n")

    @pytest.mark.parametrize("arguments", [[], ["serve"], ["no-such-command"], ["serve", "a:b", "--no-such"]])
    def test_wrong_usage_is_said_on_stderr(self, arguments: list[str]) -> None:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "usage: mcpref" in done.stderr

    def test_help_names_the_form_of_a_target(self) -> None:
        done = run("serve", "--help")
        assert done.returncode == 0
        assert "MODULE:SERVER" in done.stdout


class TestTargets:
    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ("no_such_module:server", "there is no module 'no_such_module'"),
            ("package.no_such:server", "there is no module 'package.no_such'"),
            ("good.inner:server", "there is no module 'good.inner'"),
            ("good:no_such", "'good' has no 'no_such'; its servers: server"),
            ("good:server.no_such", "'good' has no 'server.no_such'"),
            ("none:server", "'none:server' is str, not a McpServer; servers there: none"),
            ("none:nothing", "'none' has no 'nothing'; its servers: none"),
            ("two", "name the server, as in two:server; servers there: first, second"),
            ("none", "name the server, as in none:server; servers there: none"),
            ("no_such.py:server", "there is no file 'no_such.py'"),
            ("./no_such.py:server", "there is no file './no_such.py'"),
            ("./package:server", "there is no file './package'"),
            ("./notes.txt:server", "'./notes.txt' is no Python file; its name must end in .py"),
            (":server", "':server' names no module; write module:server, or file.py:server"),
            ("", "'' names no module"),
            (".relative:server", "'.relative:server' names no module"),
            ("two..first:server", "'two..first:server' names no module"),
        ],
    )
    def test_a_target_that_cannot_be_served_is_explained(self, here: Path, target: str, said: str) -> None:
        done = run("serve", target, cwd=here)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("mcpref: ")
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ("raising:server", "LookupError: of its own"),
            ("raising.py:server", "LookupError: of its own"),
            ("needy:server", "No module named 'no_such_package_at_all'"),
            ("broken:server", "SyntaxError"),
        ],
    )
    def test_an_error_of_the_module_is_shown_as_it_is(self, here: Path, target: str, said: str) -> None:
        done = run("serve", target, cwd=here)
        assert (done.returncode, done.stdout) == (1, "")
        assert "Traceback" in done.stderr
        assert said in done.stderr

    @pytest.mark.parametrize(
        "target",
        [
            "good:server",
            "good",
            "good.py",
            "good.py:server",
            "./good.py:server",
            "package.inner:server",
            "package/inner.py:server",
            "nested:App.server",
            "helped.py:server",
            "helped",
        ],
    )
    def test_a_target_that_can_be_served_is(self, here: Path, target: str) -> None:
        with ServerProcess(
            [sys.executable, "-m", "mcpref", "serve", target], cwd=here, env={"PYTHONPATH": str(ROOT)}
        ) as server:
            answer = server.ask(request(1, "server/discover", {"_meta": meta()}))
            info = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]
            assert info["name"] in {"good", "inner", "nested"}
            server.close_input()
            assert server.finish() == 0
        assert server.errors == ""

    def test_load_gives_the_very_object(self) -> None:
        from mcpref import demo

        assert load("mcpref.demo:server") is demo.server
        assert load("mcpref.demo") is demo.server


class TestServe:
    def test_stdio_is_the_default_and_may_be_named(self) -> None:
        for options in ([], ["--stdio"]):
            with launch("tools", *options) as server:
                server.is_alive_and_well(1)

    @pytest.mark.req("stdio.stderr-logging")
    @pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
    def test_the_log_is_on_stderr_from_the_level_on(self, level: str) -> None:
        with launch("tools", "--log-level", level) as server:
            server.ask(call(1, "speak"))
            server.close_input()
            assert server.finish() == 0
            assert server.inbox.rest() == []
        said = server.errors
        assert ("INFO mcpref.transport: shutting down" in said) == (level in ("debug", "info"))
        assert ("WARNING application: logged by a handler" in said) == (level != "error")

    def test_a_person_at_a_terminal_is_told_what_to_do(self) -> None:
        terminal, its_end = pty.openpty()
        process = subprocess.Popen(
            serve_command("tools"), stdin=its_end, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        os.close(its_end)
        try:
            os.write(terminal, b"\x04")  # Ctrl-D
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
            os.close(terminal)
        assert (process.returncode, output) == (0, b"")
        assert b"mcpref: serving 'tools' on stdio" in errors
        assert b"Ctrl-D ends it" in errors

    @pytest.mark.parametrize("closed", [0, 1])
    def test_a_closed_stream_is_an_error_that_says_so(self, closed: int) -> None:
        script = f"import os, sys; os.close({closed}); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run(
            [sys.executable, "-c", script, *serve_command("tools")],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("mcpref: standard input or output is closed")

    def test_a_script_may_run_its_server_itself(self) -> None:
        with ServerProcess([sys.executable, str(SERVERS / "script.py")]) as server:
            server.is_alive_and_well(1)
            server.close_input()
            assert server.finish() == 0


#: Building fetches the build backend, and making an environment writes thousands of files.
BUILD_PATIENCE = 300.0


def test_an_installed_wheel_serves_outside_of_the_checkout(tmp_path: Path) -> None:
    source, wheels, environment = tmp_path / "source", tmp_path / "wheels", tmp_path / "environment"
    source.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "README.rst", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "mcpref", source / "mcpref", ignore=shutil.ignore_patterns("__pycache__"))
    _pip("wheel", str(source), "--no-deps", "--wheel-dir", str(wheels))
    (wheel,) = wheels.glob("mcpref-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "mcpref/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"mcpref", f"mcpref-{mcpref.__version__}.dist-info"}

    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=BUILD_PATIENCE
    )
    python = environment / "bin" / "python"
    # Without what it depends on: serving over stdio loads none of it.
    _pip("--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    clean = {"PYTHONPATH": "", "PYTHONHOME": ""}
    with ServerProcess(
        [str(environment / "bin" / "mcpref"), "serve", "mcpref.demo:server", "--stdio"],
        cwd=tmp_path,
        env=clean,
    ) as server:
        answer = server.ask(call(1, "find_books", {"query": "algorithms"}))
        assert "Introduction to Algorithms" in text_of(answer)
        server.close_input()
        assert server.finish() == 0
        assert server.inbox.rest() == []
    assert server.errors == ""


def _pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments],
        capture_output=True,
        text=True,
        timeout=BUILD_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
