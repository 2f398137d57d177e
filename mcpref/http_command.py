"""``mcpref serve --http``: in this process, in one that is started anew when a file changes, or in several.

Several processes are gunicorn's. They share nothing but a secret, so it must be there before any of them starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec

from .loading import fail, load_served
from .server.core import McpServer
from .server.state import ServerMode
from .settings import LOOPBACK
from .transport.host_servers import AddressUnavailable
from .transport.http_server import listen, root_url, run_http
from .transport.wsgi import McpApp, WsgiApp


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """What the command line says."""

    target: str
    host: str
    port: int
    allow_hosts: tuple[str, ...] = ()
    host_server: str | None = None
    threads: int | None = None
    workers: int | None = None
    reload: bool = False
    page: bool | None = None
    health: str | None = None


def serve_http(options: HttpOptions) -> None:
    """Until a signal comes."""
    if options.host_server is not None and find_spec(options.host_server) is None:
        fail(f"{options.host_server} is not installed; pip install {options.host_server}")
    if options.workers is not None:
        _serve_with_workers(options, options.workers)
    elif options.reload:
        # Its own name for it is private, but the only one for a server that is not werkzeug's.
        from werkzeug._reloader import run_with_reloader

        def serve() -> None:
            try:
                _serve(options, signals=False)
            except SystemExit:
                print("mcpref: waiting for a file to change (Ctrl-C ends it)", file=sys.stderr, flush=True)

        run_with_reloader(serve)
    else:
        _serve(options, signals=True)


def _serve(options: HttpOptions, *, signals: bool) -> None:
    app = make_app(options)
    _mention_hosts(app.server if isinstance(app, McpApp) else app, options)
    try:
        run_http(
            app,
            options.host,
            options.port,
            signals=signals,
            host_server=options.host_server,
            threads=options.threads,
        )
    except AddressUnavailable as error:
        fail(_no_address(options, error))


def _no_address(options: HttpOptions, error: OSError) -> str:
    host = f"[{options.host}]" if ":" in options.host else options.host
    why = error.strerror or error
    return f"cannot serve on {host}:{options.port}: {why}; pick another port with --http {host}:PORT"


def make_app(options: HttpOptions) -> WsgiApp:
    """The application to serve: the server's, or the one that was named."""
    return _app_of(load_served(options.target), options)


def _app_of(found: McpServer | WsgiApp, options: HttpOptions) -> WsgiApp:
    if not isinstance(found, McpServer):
        if options.allow_hosts or options.page or options.health:
            fail(
                "--allow-host, --page and --health are for a McpServer; an application says these things itself, "
                "as by Flask's TRUSTED_HOSTS and Mcp(..., page=True), or Django's ALLOWED_HOSTS and MCPREF['PAGE']"
            )
        return found
    admitted = (*found.settings.allowed_hosts, *(name.lower() for name in options.allow_hosts))
    settings = replace(found.settings, allowed_hosts=admitted)
    try:
        return found.wsgi_app(settings=settings, page=options.page, health=options.health)
    except ValueError as error:  # it says which option, and what would do
        fail(str(error))


def _mention_hosts(found: McpServer | WsgiApp, options: HttpOptions) -> None:
    """Whoever serves on another address than localhost wonders why nobody gets in."""
    if (
        isinstance(found, McpServer)
        and not options.allow_hosts
        and options.host not in ("localhost", "127.0.0.1", "::1")
        and found.settings.allowed_hosts == LOOPBACK
    ):
        print(
            "mcpref: only requests to localhost are admitted, whatever the address; --allow-host NAME admits "
            "those to another name",
            file=sys.stderr,
        )


# ---- Several processes --------------------------------------------------------------------------------


def _serve_with_workers(options: HttpOptions, workers: int) -> None:
    if find_spec("gunicorn") is None:
        fail("--workers needs gunicorn: pip install 'mcpref[gunicorn]'")
    _check_in_child(lambda: _check_shareable(options, workers))
    from gunicorn.app.base import BaseApplication
    from gunicorn.arbiter import Arbiter

    from .contrib import gunicorn as defaults

    threads = options.threads or defaults.threads
    try:
        # By ourselves: gunicorn would try five times, and give up with words of its own.
        sock = listen(options.host, options.port)
    except AddressUnavailable as error:
        fail(_no_address(options, error))
    root = root_url(options.host, sock.getsockname()[1])
    given = {
        "bind": f"fd://{sock.fileno()}",
        "workers": workers,
        "worker_class": defaults.worker_class,
        "threads": threads,
        "keepalive": defaults.keepalive,
        "graceful_timeout": defaults.graceful_timeout,
        "post_worker_init": defaults.post_worker_init,
        "worker_exit": defaults.worker_exit,
        "reload": options.reload,
        "loglevel": "warning",
        "proc_name": "mcpref",
    }

    class Application(BaseApplication):  # type: ignore[misc]
        def load_config(self) -> None:
            for name, value in given.items():
                self.cfg.set(name, value)
            self.cfg.set("when_ready", self._tell)
            # Newer versions put a socket into the home directory, under one name for all that run.
            if "control_socket_disable" in self.cfg.settings:
                self.cfg.set("control_socket_disable", True)

        def load(self) -> WsgiApp:
            # In each worker by itself: what a module opens when it is imported must not be shared by a fork.
            return make_app(options)

        def _tell(self, arbiter: Arbiter) -> None:
            print(
                f"mcpref: serving {options.target} at {root} (a McpServer: {root}/mcp) by gunicorn with {workers} "
                f"processes of {threads} threads (Ctrl-C ends it)",
                file=sys.stderr,
                flush=True,
            )

    Application().run()


def _check_shareable(options: HttpOptions, workers: int) -> None:
    """Refuse what would fail at random: a round sealed by one process and answered to another."""
    found = load_served(options.target)
    _app_of(found, options)  # here and not only in the workers, which would be started again and again
    _mention_hosts(found, options)
    if workers < 2 or not isinstance(found, McpServer):
        return
    if not found.has_secret:
        fail(
            f"{workers} processes need one secret to seal what they leave with clients: set MCPREF_SECRET to the "
            "same long random text for all of them, as in\n"
            "  export MCPREF_SECRET=$(python3 -c 'import secrets; print(secrets.token_urlsafe(32))')"
        )
    if found.mode is ServerMode.STATEFUL:
        print(
            "mcpref: sessions live in one process, so with several only 2026-07-28 is served; "
            "McpServer(mode=ServerMode.STATELESS) serves the older revisions too, without sessions",
            file=sys.stderr,
        )


def _check_in_child(check: Callable[[], None]) -> None:
    """Run a check in a process of its own, so that this one has imported nothing of the user's when it forks."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check()
            status = 0
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(os.waitstatus_to_exitcode(status))
