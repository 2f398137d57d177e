"""The command over HTTP, as real processes: the servers it serves with, several processes, reloading, mistakes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from mcpref.cancellation import Deadline
from tests.hosts.calling import HEADERS, round_of
from tests.hosts.processes import Host, HostProcess, launched
from tests.http_robust.clients import ELICITS, Client, Connection, modern_message
from tests.threads import PATIENCE, eventually, together

from .test_cli import ROOT

SERVED = "tests.hosts.served:server"
SECRET = {"MCPREF_SECRET": "s" * 40}
IN_PROCESS = ["waitress", "cheroot", "werkzeug"]

#: Python runs it at its start: what the environment names is not there.
BLOCKER = """
import importlib.machinery, os
found = importlib.machinery.PathFinder.find_spec
def find_spec(name, path=None, target=None):
    blocked = os.environ["BLOCKED"].split(",")
    return None if name.partition(".")[0] in blocked else found(name, path, target)
importlib.machinery.PathFinder.find_spec = find_spec
"""

SERVER = """
from mcpref import McpServer
server = McpServer("reloaded")
@server.tool
def answer() -> str:
    return "{}"
"""


@contextmanager
def serving(
    *options: str,
    target: str = SERVED,
    http: str = "127.0.0.1:0",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> Iterator[HostProcess]:
    command = ("-m", "mcpref", "serve", target, "--http", http, *options)
    with launched(Host("mcpref serve", "mcpref", command), cwd=cwd, env=env) as process:
        yield process


def fails(
    *options: str,
    target: str = SERVED,
    http: str = "127.0.0.1:0",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
) -> tuple[int, str]:
    """The exit status of a command that cannot serve, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "mcpref", "serve", target, *(["--http", http] if http else []), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=cwd,
        check=False,
        env={
            **{k: v for k, v in os.environ.items() if k != "MCPREF_SECRET"},
            "PYTHONPATH": str(ROOT),
            **(env or {}),
        },
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def get(process: HostProcess, path: str, host: str = "localhost") -> tuple[int, str, str]:
    """A plain GET: its status, its type and its body."""
    connection = http.client.HTTPConnection("127.0.0.1", process.port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type", ""), response.read().decode()
    finally:
        connection.close()


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that some packages are hidden from; `BLOCKED` names them."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    return {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}


# ---- The server it serves with ------------------------------------------------------------------------


class TestHostServers:
    @pytest.mark.parametrize("name", IN_PROCESS)
    def test_each_may_be_named(self, name: str) -> None:
        with serving("--wsgi", name, "--threads", "6") as process:
            process.client.canary()
            assert f"by {name} with 6 threads (Ctrl-C ends it)" in process.stderr
            assert process.end(signal.SIGINT)[0] == 0
            assert "SIGINT: shutting down" in process.stderr

    def test_waitress_is_the_default(self) -> None:
        with serving() as process:
            process.client.canary()
            assert "by waitress with 64 threads" in process.stderr
            assert "for development" not in process.stderr

    def test_without_waitress_it_is_werkzeug_which_says_what_would_be_better(
        self, without: dict[str, str]
    ) -> None:
        with serving(env={**without, "BLOCKED": "waitress"}) as process:
            process.client.canary()
            assert "by werkzeug with 64 threads" in process.stderr
            eventually(lambda: "pip install 'mcpref[serve]'" in process.stderr)

    @pytest.mark.parametrize("name", ["waitress", "cheroot"])
    def test_one_that_is_not_installed_is_told(self, without: dict[str, str], name: str) -> None:
        status, said = fails("--wsgi", name, env={**without, "BLOCKED": name})
        assert (status, said) == (2, f"mcpref: {name} is not installed; pip install {name}\n")

    def test_the_number_of_threads_bounds_streams(self) -> None:
        with serving("--threads", "3") as process:
            with process.client.listen() as first, process.client.listen() as second:
                assert sorted([first.begin(), second.begin()]) == [200, 503]
            process.client.canary()

    @pytest.mark.parametrize("name", [*IN_PROCESS, "workers"])
    def test_a_port_in_use_is_told(self, name: str) -> None:
        options = ["--workers", "2"] if name == "workers" else ["--wsgi", name]
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            status, said = fails(*options, http=address, env=SECRET)
        assert status == 2
        assert f"mcpref: cannot serve on {address}: Address already in use" in said
        assert "pick another port with --http 127.0.0.1:PORT" in said

    def test_an_address_of_another_machine_is_told(self) -> None:
        status, said = fails(http="192.0.2.1:0")
        assert status == 2
        assert "cannot serve on 192.0.2.1:0" in said

    @pytest.mark.parametrize(
        "options", [[], ["--wsgi", "werkzeug"], ["--wsgi", "cheroot"], ["--workers", "1"]]
    )
    def test_an_address_of_ipv6(self, options: list[str]) -> None:
        if not _has_ipv6():
            print("this machine has no IPv6")
            pytest.skip("this machine has no IPv6")
        with serving(*options, http="[::1]:0") as process:
            port = process.port
            assert f"http://[::1]:{port}/mcp" in process.stderr
            connection = http.client.HTTPConnection("::1", port, timeout=PATIENCE)
            connection.request("OPTIONS", "/mcp", headers={"Host": f"[::1]:{port}"})
            assert connection.getresponse().status == 405
            connection.close()

    @pytest.mark.parametrize("address", ["localhost:0", ":0"])
    def test_names_for_this_machine(self, address: str) -> None:
        with serving(http=address) as process:
            process.client.canary()


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


# ---- Several processes --------------------------------------------------------------------------------


class TestWorkers:
    def test_calls_and_rounds_are_served_by_all(self) -> None:
        """A round that one process has sealed is answered to another: they have one secret."""
        with serving("--workers", "2", "--threads", "4", env=SECRET) as process:
            client = process.client
            seen: set[str] = set()
            deadline = Deadline(PATIENCE)
            while len(seen) < 2:
                assert not deadline.expired, f"only {seen} answered"
                seen |= set(together(*[lambda: _process(client)] * 8))
            assert "by gunicorn with 2 processes of 4 threads" in process.stderr
            across = 0
            while across < 2:
                assert not deadline.expired, "both rounds always met the same process"
                across += _rounds_met_two_processes(client)
            status, seconds = process.end()
            assert (status, seconds < 6) == (0, True)

    def test_without_a_secret_it_does_not_start(self) -> None:
        status, said = fails("--workers", "2")
        assert status == 2
        assert "set MCPREF_SECRET to the same long random text" in said
        assert "secrets.token_urlsafe" in said

    def test_one_process_needs_no_secret(self) -> None:
        with serving("--workers", "1") as process:
            process.client.canary()
            session = process.client.session()
            assert session.delete() == 204
            assert process.end(signal.SIGINT)[0] == 0

    def test_without_gunicorn_it_says_what_to_install(self, without: dict[str, str]) -> None:
        status, said = fails("--workers", "2", env={**without, **SECRET, "BLOCKED": "gunicorn"})
        assert (status, said) == (2, "mcpref: --workers needs gunicorn: pip install 'mcpref[gunicorn]'\n")

    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ("no_such_module:server", "there is no module 'no_such_module'"),
            ("mcpref.demo:no_such", "'mcpref.demo' has no 'no_such'"),
            ("mcpref.demo:__name__", "is str, neither a McpServer nor a WSGI application"),
        ],
    )
    def test_a_target_that_cannot_be_served_is_told_once(self, target: str, said: str) -> None:
        status, stderr = fails("--workers", "2", target=target, env=SECRET)
        assert status == 2
        assert stderr.count("mcpref: ") == 1
        assert said in stderr


def _process(client: Client) -> str:
    with client.call("process") as connection:
        return connection.text()


def _rounds_met_two_processes(client: Client) -> bool:
    """Ask on a connection of one process, and answer on one of another."""
    with (
        client.call("process") as one,
        client.call("process") as other,
    ):
        different = one.text() != other.text()
        first = _round_on(one)
        answer = {"who": {"action": "accept", "content": {"name": "Ada"}}}
        second = _round_on(other, inputResponses=answer, requestState=first["requestState"])
        assert second["content"][0]["text"] == "hello Ada"
    assert round_of(client)["resultType"] == "input_required"
    return different


def _round_on(connection: Connection, **more: Any) -> dict[str, Any]:
    """One round on a connection that stays, so that its process is known."""
    params = {"name": "greet", "arguments": {}, **more}
    body = json.dumps(modern_message("tools/call", params, 2, ELICITS)).encode()
    result: dict[str, Any] = connection.again("POST", {**HEADERS, "Mcp-Name": "greet"}, body).answer()[
        "result"
    ]
    return result


# ---- Reloading ----------------------------------------------------------------------------------------


class TestReload:
    def test_a_changed_file_is_served_and_so_is_a_repaired_one(self, tmp_path: Path) -> None:
        file = tmp_path / "watched.py"
        file.write_text(SERVER.format("first"))
        with serving("--reload", target="watched:server", cwd=tmp_path) as process:
            assert _answer(process) == "first"
            file.write_text(SERVER.format("the second"))
            eventually(lambda: _answer(process) == "the second")
            file.write_text("def broken(:\n")
            eventually(lambda: "SyntaxError" in process.stderr)
            file.write_text(SERVER.format("repaired, for good"))
            eventually(lambda: _answer(process) == "repaired, for good")
            process.send(signal.SIGINT, everybody=True)  # as a terminal does
            assert process.process.wait(PATIENCE) == 0

    def test_sigterm_ends_it(self, tmp_path: Path) -> None:
        (tmp_path / "watched.py").write_text(SERVER.format("first"))
        with serving("--reload", target="watched:server", cwd=tmp_path) as process:
            assert _answer(process) == "first"
            port = process.port
            assert process.end(signal.SIGTERM)[0] == 0
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1)


def _answer(process: HostProcess) -> str:
    """What the tool says; "" while there is no server."""
    try:
        with process.client.call("answer") as connection:
            return connection.text() if connection.begin() == 200 else ""
    except OSError:
        return ""


# ---- What else it serves ------------------------------------------------------------------------------


class TestPaths:
    @pytest.mark.parametrize("name", IN_PROCESS)
    def test_health_is_told_to_anybody_and_ends_before_the_server(self, name: str) -> None:
        limits = {"SERVED_LIMITS": '{"shutdown_grace": 2.0}'}
        with serving("--health", "/healthy", "--wsgi", name, env=limits) as process:
            assert get(process, "/healthy", "10.0.0.7") == (200, "text/plain", "ok\n")
            assert get(process, "/other", "localhost")[0] == 404
            with process.client.call("gated", {"key": "never"}) as held:
                assert held.begin() == 200
                assert held.message() is not None
                process.send(signal.SIGTERM)
                eventually(lambda: "shutting down" in process.stderr)
                eventually(lambda: get(process, "/healthy", "10.0.0.7")[0] == 503)
                started = monotonic()
                assert process.ended() == 0
                assert monotonic() - started < 5, "a call that does not listen cannot hold it up"

    def test_the_page_is_shown_if_asked_for(self) -> None:
        with serving() as plain:
            assert get(plain, "/")[0] == 404
        with serving("--page") as process:
            status, kind, body = get(process, "/")
            assert (status, kind.partition(";")[0]) == (200, "text/html")
            assert "<html" in body
            eventually(lambda: "in a browser" in process.stderr)
            process.client.canary()

    @pytest.mark.parametrize("options", [[], ["--wsgi", "werkzeug"], ["--workers", "1"]])
    def test_any_wsgi_application(self, tmp_path: Path, options: list[str]) -> None:
        (tmp_path / "plain.py").write_text(
            "def app(environ, start_response):\n"
            "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
            "    return [environ['PATH_INFO'].encode()]\n"
        )
        with serving(*options, target="plain:app", cwd=tmp_path) as process:
            assert get(process, "/any/where", "anybody.example") == (200, "text/plain", "/any/where")
            assert process.end()[0] == 0

    def test_a_flask_application(self, tmp_path: Path) -> None:
        pytest.importorskip("flask")
        (tmp_path / "shop.py").write_text(
            "from flask import Flask\n"
            "from mcpref import McpServer\n"
            "from mcpref.contrib.flask import Mcp\n"
            "app = Flask(__name__)\n"
            "server = McpServer('shop')\n"
            "@server.tool\n"
            "def echo(text: str) -> str:\n"
            "    return text\n"
            "@app.get('/hello')\n"
            "def hello():\n"
            "    return 'hello'\n"
            "Mcp(app, server)\n"
        )
        with serving(target="shop:app", cwd=tmp_path) as process:
            assert get(process, "/hello")[::2] == (200, "hello")
            process.client.canary()
            with process.client.listen() as listen:
                assert listen.begin() == 200
                assert listen.message() is not None
                assert process.end()[0] == 0
                assert "result" in listen.answer()


# ---- Mistakes -----------------------------------------------------------------------------------------


class TestMistakes:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--workers", "2", "--wsgi", "waitress"], "--workers is gunicorn's; leave --wsgi out"),
            (["--threads", "0"], "'0' is not a number from 1 on"),
            (["--workers", "many"], "'many' is not a number from 1 on"),
            (["--wsgi", "apache"], "invalid choice: 'apache'"),
            (["--stdio"], "not allowed with argument"),
        ],
    )
    def test_options_that_make_no_sense(self, options: list[str], said: str) -> None:
        status, stderr = fails(*options)
        assert status == 2
        assert said in stderr

    @pytest.mark.parametrize(
        "address", ["8000x", "localhost", "localhost:", "localhost:99999", "localhost:-1"]
    )
    def test_an_address_that_is_none(self, address: str) -> None:
        status, stderr = fails(http=address)
        assert status == 2
        assert "is not HOST:PORT, as in localhost:8000" in stderr

    @pytest.mark.parametrize(
        "options",
        [
            ["--wsgi", "waitress"],
            ["--threads", "4"],
            ["--workers", "2"],
            ["--reload"],
            ["--page"],
            ["--health", "/healthy"],
            ["--allow-host", "example.com"],
        ],
    )
    @pytest.mark.parametrize("stdio", [[], ["--stdio"]])
    def test_what_goes_with_http_only(self, options: list[str], stdio: list[str]) -> None:
        status, stderr = fails(*stdio, *options, http="")
        assert status == 2
        assert f"{options[0]} goes with --http" in stderr

    @pytest.mark.parametrize("options", [["--page"], ["--health", "/healthy"], ["--allow-host", "a.example"]])
    @pytest.mark.parametrize("workers", [[], ["--workers", "1"]])
    def test_an_application_says_these_things_itself(
        self, tmp_path: Path, options: list[str], workers: list[str]
    ) -> None:
        (tmp_path / "plain.py").write_text("def app(environ, start_response): ...\n")
        status, stderr = fails(*workers, *options, target="plain:app", cwd=tmp_path)
        assert status == 2
        assert "are for a McpServer; an application says these things itself" in stderr

    def test_a_name_that_is_not_admitted_is_mentioned(self) -> None:
        with serving(http="0.0.0.0:0") as process:
            assert f"http://localhost:{process.port}/mcp" in process.stderr
            assert "--allow-host NAME" in process.stderr
            assert get(process, "/mcp", "shop.example")[0] == 403
        with serving("--allow-host", "shop.example", http="0.0.0.0:0") as process:
            assert get(process, "/mcp", "shop.example")[0] == 400


FACTORY = """
from mcpref import McpServer
server = McpServer("made")

def make_app():
    return server.wsgi_app()

def tool(text):
    return text
"""


def test_a_factory_is_called(tmp_path: Path) -> None:
    from mcpref.loading import load_served
    from mcpref.transport.wsgi import McpApp

    (tmp_path / "factory.py").write_text(FACTORY)
    found = load_served(f"{tmp_path}/factory.py:make_app()")
    assert isinstance(found, McpApp)


@pytest.mark.parametrize("name", ["make_app", "tool"])
def test_a_function_that_is_no_application_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcpref.loading import load_served

    (tmp_path / "factory.py").write_text(FACTORY)
    with pytest.raises(SystemExit):
        load_served(f"{tmp_path}/factory.py:{name}")
    assert f"{name}()" in capsys.readouterr().err


def test_a_module_with_an_application_and_a_server_must_be_told_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bare server would be served without the application's login."""
    from mcpref.loading import load_served

    (tmp_path / "both.py").write_text(FACTORY + "app = make_app()\n")
    with pytest.raises(SystemExit):
        load_served(f"{tmp_path}/both.py")
    said = capsys.readouterr().err
    assert "both.py:app" in said
    assert "both.py:server" in said


@pytest.mark.parametrize("health", ["h", "/", "/mcp"])
def test_a_health_path_that_is_none_is_explained(health: str, capsys: pytest.CaptureFixture[str]) -> None:
    from mcpref.http_command import HttpOptions, make_app

    with pytest.raises(SystemExit):
        make_app(HttpOptions("mcpref.demo:server", "localhost", 0, health=health))
    assert "/healthz" in capsys.readouterr().err
