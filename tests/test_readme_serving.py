"""The README's frameworks, command lines and configurations: run as they stand, on real ports, in both eras."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client as WsgiClient

from mcpref.meta import MetaKey
from tests.http_robust.clients import Client, Session
from tests.readme import commands, covers, run, snippet
from tests.threads import PATIENCE, eventually

BIN = Path(sys.executable).parent
FLASK_APP = snippet("flask")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def is_served(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def started(command: list[str], directory: Path, port: int, **variables: str) -> Iterator[Client]:
    """A server process that serves by the end of its start, and ends with 0 when it is told to."""
    log = directory / "stderr"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            cwd=directory,
            stderr=stderr,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **variables},
        )
    try:
        eventually(lambda: process.poll() is not None or is_served(port))
        assert process.poll() is None, log.read_text()
        yield Client(port)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert "Traceback" not in log.read_text()


def greetings(client: Client) -> list[str]:
    """What the Flask example says, in both eras, to a user that it knows."""
    said = []
    headers = {"X-User": "ada"}
    session = Session(client, headers)
    with session.call("greet") as legacy:
        said.append(legacy.text())
    meta = {MetaKey.PROTOCOL_VERSION: "2026-07-28", MetaKey.CLIENT_CAPABILITIES: {}}
    params = {"name": "greet", "arguments": {}, "_meta": meta}
    modern = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "greet"}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    with client.post(message, {**headers, **modern}) as connection:
        said.append(connection.text())
    return said


HELLO = "hello ada, client of localhost"


# ---- Frameworks -------------------------------------------------------------------------------------------


@covers("flask")
@pytest.mark.parametrize(
    "command",
    [c for c in commands() if c[-1] == "shop:app" or "shop:app" in c],
    ids=lambda command: " ".join(command[:4]),
)
def test_the_flask_example_on_every_command_line(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(FLASK_APP, encoding="utf-8")
    port = free_port()
    variables = dict(part.split("=", 1) for part in command if re.match(r"[A-Z_]+=", part))
    program, *arguments = [
        part.replace(":8000", f":{port}") for part in command if not re.match(r"[A-Z_]+=", part)
    ]
    found = shutil.which(program, path=str(BIN))
    if found is None:
        pytest.skip(f"{program} is not installed")
    if program == "waitress-serve":  # its own end is abrupt: what the README says of SIGTERM is not for it
        process = subprocess.Popen([found, *arguments], cwd=tmp_path, env={**os.environ, **variables})
        try:
            eventually(lambda: is_served(port))
            assert greetings(Client(port)) == [HELLO, HELLO]
        finally:
            process.kill()
            process.wait(PATIENCE)
        return
    with started([found, *arguments], tmp_path, port, **variables) as client:
        assert greetings(client) == [HELLO, HELLO]


@covers("django-server")
@covers("django-urls")
def test_the_django_example_in_a_new_project(tmp_path: Path) -> None:
    pytest.importorskip("django")
    admin = [sys.executable, "-m", "django"]
    subprocess.run([*admin, "startproject", "shop", str(tmp_path)], check=True, timeout=60)
    (tmp_path / "shop" / "mcp.py").write_text(snippet("django-server"), encoding="utf-8")
    urls = snippet("django-urls")
    (tmp_path / "shop" / "urls.py").write_text(urls, encoding="utf-8")
    (setting,) = re.findall(r"^# shop/settings.py:  (.*)$", urls, re.MULTILINE)
    with (tmp_path / "shop" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"{setting}\n")
    manage = [sys.executable, "manage.py"]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([*manage, "migrate", "-v", "0"], cwd=tmp_path, check=True, timeout=120, env=environ)
    make = (
        "from django.contrib.auth.models import User as U; [U.objects.create_user(n) for n in ('bob', 'ada')]"
    )
    subprocess.run([*manage, "shell", "-c", make], cwd=tmp_path, check=True, timeout=60, env=environ)
    port = free_port()
    config = ["-m", "gunicorn", "-c", "python:mcpref.contrib.gunicorn", "--no-control-socket"]
    command = [sys.executable, *config, "--bind", f"127.0.0.1:{port}", "shop.wsgi"]
    with started(command, tmp_path, port) as client:
        with client.call("colleagues") as modern:
            assert modern.text() == "log in first"
        with client.session().call("colleagues") as legacy:
            assert legacy.text() == "log in first"
        cookie = logged_in(manage, tmp_path, environ)
        with Session(client, {"Cookie": cookie}).call("colleagues") as legacy:
            assert json.loads(legacy.text()) == ["bob"]


def logged_in(manage: list[str], directory: Path, environ: dict[str, str]) -> str:
    """The cookie of a session of ada's, as a login would have made it."""
    login = (
        "from django.test import Client; from django.contrib.auth.models import User as U; c = Client(); "
        "c.force_login(U.objects.get(username='ada')); print(c.cookies['sessionid'].value)"
    )
    done = subprocess.run(
        [*manage, "shell", "-v", "0", "-c", login],
        cwd=directory,
        check=True,
        timeout=60,
        env=environ,
        capture_output=True,
        text=True,
    )
    return f"sessionid={done.stdout.split()[-1]}"


@covers("mount")
def test_the_mounted_example() -> None:
    client = WsgiClient(run("mount")["app"])
    forwarded = {"X-Forwarded-Host": "office.example.com", "X-Forwarded-Proto": "https"}
    params: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    for path in ("/ai/mcp", "/ai/mcp/"):
        answer = client.post(path, json=message, headers=forwarded)
        assert answer.json is not None
        assert answer.json["result"]["serverInfo"]["name"] == "office"
    assert client.post("/ai/mcp", json=message).status_code == 403, "not by the proxy's own name"
    assert client.get("/").text == "The site itself."


# ---- Around it --------------------------------------------------------------------------------------------

NGINX = """
daemon off;
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    server {{
        listen 127.0.0.1:{port};
{location}
    }}
}}
"""


@covers("nginx")
def test_events_come_through_nginx_one_by_one(tmp_path: Path) -> None:
    nginx = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if nginx is None:
        reason = "nginx is not installed"
        print(reason)
        pytest.skip(reason)
    port, behind = free_port(), free_port()
    location = snippet("nginx").replace(":8000", f":{behind}")
    assert location != snippet("nginx")
    (tmp_path / "nginx.conf").write_text(NGINX.format(directory=tmp_path, port=port, location=location))
    serve = [sys.executable, "-m", "mcpref", "serve", "tests.hosts.served:server"]
    root = Path(__file__).parents[1]
    with (
        started([*serve, "--http", f"127.0.0.1:{behind}"], tmp_path, behind, PYTHONPATH=str(root)),
        started([nginx, "-e", "stderr", "-c", str(tmp_path / "nginx.conf")], tmp_path, port) as client,
    ):
        client.canary()
        with client.call("hold") as call:
            assert call.begin() == 200
            assert call.message() is not None, "the first event is here while the call goes on"
        with client.listen() as listen:
            assert listen.begin() == 200
            assert listen.message() is not None
            client.canary()
        # Both clients have gone: nginx closes its side, and the server notices.
        eventually(lambda: client.figures()["parked"] == 0)
        eventually(lambda: client.figures()["running"] == 0)


@covers("systemd")
def test_what_systemd_would_start(tmp_path: Path) -> None:
    unit = ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(snippet("systemd"))
    service = unit["Service"]
    assert unit["Install"]["WantedBy"] == "multi-user.target"
    assert int(service["TimeoutStopSec"]) > 20, "the configuration's own graceful timeout"
    program, *arguments = service["ExecStart"].split()
    assert program.startswith(service["WorkingDirectory"])
    if shutil.which(Path(program).name, path=str(BIN)) is None:
        pytest.skip("gunicorn is not installed")
    (tmp_path / "shop.py").write_text(FLASK_APP, encoding="utf-8")
    port = free_port()
    command = [str(BIN / Path(program).name), *(part.replace(":8000", f":{port}") for part in arguments)]
    with started(command, tmp_path, port) as client:
        assert greetings(client) == [HELLO, HELLO]
