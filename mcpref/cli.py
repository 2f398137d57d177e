"""The command ``mcpref``: serve a server object of somebody's module.

Messages for people go to stderr; stdout belongs to the protocol.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from . import __version__
from .server.core import McpServer
from .settings import LOOPBACK
from .transport.process import run_stdio, take_standard_streams


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Exits with 2 where the command line or what it names is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    if options.http is not None:
        host, port = options.http
        serve_http(options.target, host, port, options.allow_host)
    else:
        serve_stdio(options.target)


def serve_http(target: str, host: str, port: int, allow_hosts: Sequence[str]) -> None:
    """``--http``: until a signal comes."""
    server = load(target)
    if allow_hosts:
        admitted = (*server.settings.allowed_hosts, *(name.lower() for name in allow_hosts))
        server.settings = replace(server.settings, allowed_hosts=admitted)
    elif host not in ("localhost", "127.0.0.1", "::1") and server.settings.allowed_hosts == LOOPBACK:
        print(
            "mcpref: only requests to localhost are admitted, whatever the address; --allow-host NAME admits "
            "those to another name",
            file=sys.stderr,
        )
    try:
        server.run("http", host=host, port=port)
    except OSError as error:
        _fail(f"cannot serve on {host}:{port}: {error.strerror}; pick another port with --http {host}:PORT")


def serve_stdio(target: str) -> None:
    """``--stdio``: until the client goes, or a signal comes."""
    if sys.stdin is None or sys.stdout is None:
        _fail("standard input or output is closed; an MCP host connects both")
    interactive = sys.stdin.isatty()
    # Before the module is imported: what it prints, and what it reads, must not touch the wire either.
    stream = take_standard_streams()
    server = load(target)
    if interactive:
        print(
            f"mcpref: serving {server.name!r} on stdio: type JSON-RPC messages, one a line, or let an MCP host "
            "start this command; Ctrl-D ends it",
            file=sys.stderr,
        )
    run_stdio(server, stream)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcpref", description="Serve an MCP server.")
    parser.add_argument("--version", action="version", version=f"mcpref {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="serve a server object",
        description="Serve the McpServer that a module has: mcpref serve mcpref.demo:server --http localhost:8000",
    )
    serve.add_argument(
        "target", metavar="MODULE:SERVER", help="a module or a file, and the name of the server in it"
    )
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument(
        "--stdio", action="store_true", default=True, help="over standard input and output (the default)"
    )
    transport.add_argument(
        "--http",
        type=_address,
        metavar="HOST:PORT",
        help="over HTTP at /mcp; the host may be left out, and port 0 picks a free one",
    )
    serve.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="admit HTTP requests to this host name as well as to localhost; may be repeated",
    )
    serve.add_argument(
        "--log-level",
        default="warning",
        choices=["debug", "info", "warning", "error"],
        help="what to write to stderr (default: warning)",
    )
    return parser


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, as in localhost:8000")
    return host.strip("[]") or "127.0.0.1", int(port)


def load(target: str) -> McpServer:
    """The server that ``module:name`` or ``file.py:name`` names; a module with one server needs no name."""
    module_name, _, attribute = target.partition(":")
    if not all(module_name.split(".")) and os.sep not in module_name:
        _fail(f"{target!r} names no module; write module:server, or file.py:server")
    if module_name.endswith(".py") or os.sep in module_name:
        module = _load_file(module_name)
    else:
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())  # as `python -m` does: the user's module lies where they stand
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not (
                module_name == error.name or module_name.startswith(error.name + ".")
            ):
                raise  # the module is there; something it imports is not
            _fail(f"there is no module {module_name!r}; run the command where it can be imported")
    if attribute:
        found: object = module
        for part in attribute.split("."):
            found = getattr(found, part, None)
        if found is None:
            _fail(f"{module_name!r} has no {attribute!r}; its servers: {_names(vars(module)) or 'none'}")
        if not isinstance(found, McpServer):
            there = _names(vars(module)) or "none"
            _fail(f"{target!r} is {type(found).__name__}, not a McpServer; servers there: {there}")
        return found
    servers = {name: value for name, value in vars(module).items() if isinstance(value, McpServer)}
    if len(servers) != 1:
        _fail(f"name the server, as in {module_name}:server; servers there: {_names(vars(module)) or 'none'}")
    return next(iter(servers.values()))


def _load_file(path: str) -> object:
    from importlib.util import module_from_spec, spec_from_file_location

    if not os.path.isfile(path):
        _fail(f"there is no file {path!r}")
    spec = spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None:
        _fail(f"{path!r} is no Python file; its name must end in .py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec.loader.exec_module(module)
    return module


def _names(members: dict[str, object]) -> str:
    return ", ".join(name for name, value in members.items() if isinstance(value, McpServer))


def _fail(message: str) -> NoReturn:
    print(f"mcpref: {message}", file=sys.stderr)
    raise SystemExit(2)
