"""Who is measured: each implementation in an environment of its own, made on demand, and the command that serves.

mcpref runs as users get it: installed from a wheel. An editable install would not do: its import hook costs
what no user pays.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tests.interop.environments import SDK1, SDK1_HTTP, SDK2, SDK2_HTTP, TS2_SERVER, Environment

from .drivers import LEGACY, MODERN, Target
from .http_driver import Contestant

ROOT = Path(__file__).resolve().parents[2]
PEERS = Path(__file__).parent / "peers"

STUB = Target("stub", "stub", Path(sys.executable), PEERS / "stub_server.py", "import os")
HTTP_STUB = Contestant("stub", "stub", (sys.executable, str(PEERS / "stub_http.py"), "--port", "{port}"))

HOST_PACKAGES = ("waitress==3.0.2", "gunicorn[gevent]==27.0.1", "gevent==26.9.0", "cheroot==11.1.2")
"""The WSGI hosts, each with its exact version; werkzeug comes with mcpref."""

HOSTS = ("waitress", "gunicorn gthread", "gunicorn gevent", "cheroot", "werkzeug")

_GUNICORN = {
    "gunicorn gthread": ("-k", "gthread", "--threads", "16"),
    "gunicorn gevent": ("-k", "gevent", "--worker-connections", "2000"),
}


def install_mcpref(*, hosts: bool) -> Path:
    """The interpreter of an environment with the checkout in it, and the hosts for HTTP."""
    directory = ROOT / ".venv-bench"
    python = directory / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(directory)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as copy:
        # Built from a copy: setuptools leaves a build directory where it works.
        for name in ("mcpref", "setup.cfg", "pyproject.toml", "README.rst", "LICENSE"):
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, Path(copy, name), ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy)
        subprocess.run([*pip, "--upgrade", copy], check=True)
        subprocess.run([*pip, "--force-reinstall", "--no-deps", copy], check=True)
    if hosts:
        subprocess.run([*pip, *HOST_PACKAGES], check=True)
    return python


def stdio_mcpref(python: Path) -> Target:
    return Target("mcpref", "mcpref", python, PEERS / "mcpref_server.py", "from mcpref import McpServer")


def stdio_sdk(name: str) -> Target:
    """The official Python SDK on stdio, of the line that `--against` names."""
    if name == "sdk1":
        return _stdio(SDK1, "from mcp.server.fastmcp import FastMCP")
    return _stdio(SDK2, "from mcp.server import MCPServer")


def _stdio(environment: Environment, statement: str) -> Target:
    return Target(
        environment.name, environment.title, environment.ensure(), PEERS / "sdk_server.py", statement
    )


def on_host(python: Path, program: str, host: str) -> tuple[str, ...]:
    """The command that serves the application of a program beside this file on a host; one process each."""
    if host not in _GUNICORN:
        return (str(python), str(PEERS / f"{program}.py"), "--host-server", host, "--port", "{port}")
    return (
        *(str(python), "-m", "gunicorn", "--bind", "127.0.0.1:{port}", "--log-level", "warning"),
        *(*_GUNICORN[host], "--workers", "1", "--keep-alive", "30"),
        f"{program}:app",
    )


# Both run beside their programs: gunicorn imports from where it runs before it looks at what is installed, and in
# the project's own directory that would be the checkout instead of the wheel.


def http_mcpref(python: Path, host: str) -> Contestant:
    command = on_host(python, "mcpref_http", host)
    return Contestant("mcpref", f"mcpref on {host}", command, directory=PEERS)


def http_bare(python: Path, host: str) -> Contestant:
    return Contestant(f"bare-{host}", "bare WSGI app", on_host(python, "bare_http", host), directory=PEERS)


def http_sdk(name: str) -> Contestant:
    """The official Python SDK over HTTP as it is by default, of the line that `--against` names."""
    environment = SDK1_HTTP if name == "sdk1" else SDK2_HTTP
    return Contestant(
        "sdk",
        environment.title,
        (str(environment.ensure()), str(PEERS / "sdk_http.py"), "--port", "{port}"),
        revisions=(LEGACY,) if name == "sdk1" else (LEGACY, MODERN),
    )


def http_sdk_json(name: str) -> Contestant:
    """The same where it never streams: faster, and without progress. The others need not choose."""
    streaming = http_sdk(name)
    return replace(
        streaming,
        name="sdk-json",
        title=f"{streaming.title}, no SSE",
        command=(*streaming.command, "--json"),
        streams=False,
    )


def http_typescript() -> Contestant:
    node = TS2_SERVER.ensure().parent / "node"
    return Contestant(
        "typescript",
        TS2_SERVER.title,
        (str(node), str(PEERS / "ts_http.mjs"), "--port", "{port}"),
        environ={"BENCH_ROOT": str(TS2_SERVER.root), "NODE_ENV": "production"},
    )
