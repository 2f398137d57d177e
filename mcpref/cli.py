"""The command ``mcpref``: serve a server object of somebody's module.

Messages for people go to stderr; stdout belongs to the protocol.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from . import __version__
from .loading import fail, load
from .transport.process import run_stdio, take_standard_streams


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command. Exits with 2 where the command line or what it names is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
    )
    if options.http is None:
        for name in ("wsgi", "threads", "workers", "reload", "page", "health", "allow_host"):
            if getattr(options, name):
                parser.error(f"--{name.replace('_', '-')} goes with --http")
        serve_stdio(options.target)
        return
    if options.workers is not None and options.wsgi is not None:
        parser.error("--workers is gunicorn's; leave --wsgi out")
    from .http_command import HttpOptions, serve_http

    host, port = options.http
    serve_http(
        HttpOptions(
            options.target,
            host,
            port,
            allow_hosts=tuple(options.allow_host),
            host_server=options.wsgi,
            threads=options.threads,
            workers=options.workers,
            reload=options.reload,
            page=options.page,
            health=options.health,
        )
    )


def serve_stdio(target: str) -> None:
    """``--stdio``: until the client goes, or a signal comes."""
    if sys.stdin is None or sys.stdout is None:
        fail("standard input or output is closed; an MCP host connects both")
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
        "target",
        metavar="MODULE:SERVER",
        help="a module or a file, and the name of the server in it; with --http also of a WSGI application",
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
    _add_http_options(serve.add_argument_group("with --http"))
    serve.add_argument(
        "--log-level",
        default="warning",
        choices=["debug", "info", "warning", "error"],
        help="what to write to stderr (default: warning)",
    )
    return parser


def _add_http_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="admit requests to this host name as well as to localhost; may be repeated",
    )
    group.add_argument(
        "--wsgi",
        choices=["waitress", "cheroot", "werkzeug"],
        help="the server to serve with (default: waitress if it is installed, else werkzeug)",
    )
    group.add_argument("--threads", type=_count, metavar="N", help="how many threads it has")
    group.add_argument("--workers", type=_count, metavar="N", help="serve with gunicorn in so many processes")
    group.add_argument(
        "--reload", action="store_true", help="start again when a file changes: for development"
    )
    group.add_argument(
        "--page", action="store_true", default=None, help="show at / what the server offers, to try it out"
    )
    group.add_argument("--health", metavar="PATH", help="a path that answers 200 while requests are served")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or "/" in host:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not HOST:PORT, as in localhost:8000, with a port up to 65535"
        )
    return host.strip("[]") or "127.0.0.1", int(port)
