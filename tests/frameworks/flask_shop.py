"""A shop in Flask, with users, a database and MCP, as an application would have it; and it counts what it opens.

``SHOP_DATABASE`` names the database's file. Users say who they are by Basic authentication; the password is the name.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import flask
from flask import Flask, abort, g, has_app_context, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from mcpref import Auth, Elicit, McpServer, RequestContext, RequestInfo, Settings
from mcpref.contrib.flask import Mcp

lock = threading.Lock()
counts: Counter[str] = Counter()


def count(what: str) -> None:
    with lock:
        counts[what] += 1


class Counted:
    """Something that is opened, and must be closed once, by the thread that opened it."""

    kind = "visit"

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._closed = False
        count(f"{self.kind} opened")

    def close(self) -> None:
        if threading.get_ident() != self._thread:
            count("closed by another thread")
        if self._closed:
            count("closed twice")
        self._closed = True
        count(f"{self.kind} closed")


class Database(Counted):
    kind = "database"

    def __init__(self) -> None:
        super().__init__()
        # sqlite3 itself refuses to be used, or closed, by any thread but this one.
        self.connection = sqlite3.connect(os.environ["SHOP_DATABASE"], timeout=15, isolation_level=None)
        self.execute = self.connection.execute

    def close(self) -> None:
        super().close()
        self.connection.close()


def db() -> Database:
    """The connection of whoever runs here: opened on first use, closed when its context ends."""
    if "db" not in g:
        g.db = Database()
    opened: Database = g.db
    return opened


def make_app() -> tuple[Flask, Mcp]:
    app = Flask(__name__)
    app.secret_key = "a key of the shop's"

    @app.before_request
    def enter() -> None:
        g.visit = Counted()  # the request's own
        auth = request.authorization
        g.user = auth.username if auth and auth.username == auth.password else None

    @app.after_request
    def mark(response: flask.Response) -> flask.Response:
        response.headers["X-Shop"] = "open"
        return response

    @app.teardown_request
    def leave(error: BaseException | None) -> None:
        count("requests torn down")

    @app.teardown_appcontext
    def close(error: BaseException | None) -> None:
        # Looked at and not taken out: whatever was torn down twice would be closed twice.
        for name in ("db", "visit"):
            if (opened := g.get(name)) is not None:
                opened.close()

    @app.get("/plain")
    def plain() -> str:
        return str(g.user)

    wsgi_app = app.wsgi_app

    def watch(environ: Any, start_response: Any) -> Iterable[bytes]:
        count("requests")
        if has_app_context():
            count("contexts left on a thread")
        return wsgi_app(environ, start_response)

    app.wsgi_app = watch  # type: ignore[method-assign]
    return app, Mcp(app, server, principal=who)


def who() -> Auth | None:
    if g.user is None:
        raise Unauthorized("say who you are", www_authenticate=WWWAuthenticate("basic", {"realm": "shop"}))
    if g.user == "thief":
        abort(403)
    return Auth(g.user)


server = McpServer("shop", version="1.0", settings=Settings(send_timeout=2.0, shutdown_grace=5.0))


@dataclass
class Recipient:
    name: str


def insert(name: str) -> None:
    db().execute("insert into items (owner, name) values (?, ?)", (g.user, name))


@server.tool
def add_item(name: str) -> str:
    insert(name)
    return name


@server.tool
def list_items() -> list[str]:
    rows = db().execute("select name from items where owner = ? order by name", (g.user,))
    return [name for (name,) in rows]


@server.tool
def import_items(names: list[str], ctx: RequestContext, pause: float = 0.0) -> str:
    for number, name in enumerate(names, start=1):
        insert(name)
        ctx.report_progress(number, len(names), name)
        if pause and ctx.wait(pause):
            count("imports stopped")
            return "stopped"
    return f"{len(names)} for {g.user}"


@server.tool
def order(item: str, ctx: RequestContext) -> str:
    known = db().execute("select count(*) from items where owner = ? and name = ?", (g.user, item))
    if known.fetchone() == (0,):
        return "there is none"
    answer = ctx.ask("recipient", Elicit("Who is it for?", Recipient))
    if answer.action != "accept":
        return "left it"
    db().execute("delete from items where owner = ? and name = ?", (g.user, item))
    return f"{item} goes from {g.user} to {answer.content.name}"


def voices(info: RequestInfo) -> list[str | None]:
    """The user, as everybody who knows says it; and the thread that asked."""
    auth = request.authorization
    return [
        g.user,
        auth.username if auth else None,
        info.auth.subject if info.auth else None,
        request.get_json()["params"]["arguments"]["name"],
        threading.current_thread().name,
    ]


@server.tool
def whoami(name: str, info: RequestInfo) -> list[str | None]:
    return voices(info)


@server.tool
def whoami_on_a_worker(name: str, ctx: RequestContext) -> list[str | None]:
    return voices(ctx)


@server.tool
def figures() -> dict[str, int]:
    """What was counted; nothing of this very request but its visit."""
    with lock:
        return dict(counts)


app, mcp = make_app()
