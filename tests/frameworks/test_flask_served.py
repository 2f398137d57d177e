"""The shop of flask_shop.py in a process of its own, under gunicorn: real connections, threads and database."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flask")
pytest.importorskip("gunicorn")

from mcpref.meta import MetaKey
from tests.http_robust.clients import ELICITS, MODERN, Client, Connection, Session, modern_message
from tests.threads import PATIENCE, eventually, together

ROOT = Path(__file__).parents[2]


class User(Client):
    """A client who says who he is."""

    def __init__(self, port: int, name: str) -> None:
        super().__init__(port)
        self.name = name
        self.auth = {"Authorization": "Basic " + b64encode(f"{name}:{name}".encode()).decode()}

    def post(self, message: object, headers: Mapping[str, str] | None = None, **options: Any) -> Connection:
        return super().post(message, {**self.auth, **(headers or {})}, **options)

    def session(self, headers: Mapping[str, str] | None = None) -> Session:
        return super().session({**self.auth, **(headers or {})})

    def text(self, tool: str, **arguments: Any) -> str:
        with self.call(tool, arguments) as connection:
            return connection.text()

    def value(self, tool: str, **arguments: Any) -> Any:
        """What a tool returns that returns a list."""
        with self.call(tool, arguments) as connection:
            return connection.answer()["result"]["structuredContent"]

    def round(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """One round of a modern call that may ask."""
        message = modern_message("tools/call", {"name": tool, "arguments": arguments, **more})
        message["params"]["_meta"][MetaKey.CLIENT_CAPABILITIES] = ELICITS
        headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": tool}
        with self.post(message, headers) as connection:
            result: dict[str, Any] = connection.answer()["result"]
            return result


class Shop:
    """The process, seen from outside."""

    def __init__(self, port: int) -> None:
        self.port = port

    def user(self, name: str) -> User:
        return User(self.port, name)

    def figures(self) -> dict[str, int]:
        with self.user("auditor").call("figures") as connection:
            found: dict[str, int] = connection.answer()["result"]["structuredContent"]
            return found

    def comes_to_rest(self) -> dict[str, int]:
        """Wait until all that was opened is closed, but for the visit of whoever looks; and check how it was."""
        found: dict[str, int] = {}

        def at_rest() -> bool:
            found.clear()
            found.update(self.figures())
            return (
                found.get("database opened", 0) == found.get("database closed", 0)
                and found["visit opened"] == found.get("visit closed", 0) + 1
                and found["requests"] == found.get("requests torn down", 0) + 1
            )

        try:
            eventually(at_rest)
        except AssertionError:
            raise AssertionError(f"it does not come to rest: {found}") from None
        assert [name for name in found if name.startswith(("closed", "contexts"))] == [], found
        return found


@contextmanager
def gunicorn(directory: Path, *options: str) -> Iterator[Shop]:
    database = directory / "shop.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table items (owner text, name text)")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    errors = directory / "errors"
    with errors.open("wb") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "-c", "python:mcpref.contrib.gunicorn", "-w", "1"),
                *("-b", f"127.0.0.1:{port}", "--log-level", "warning", *options),
                "tests.frameworks.flask_shop:app",
            ],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
                "SHOP_DATABASE": str(database),
            },
            stderr=log,
        )
    try:
        eventually(lambda: process.poll() is not None or _accepts(port))
        yield Shop(port)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)
        said = errors.read_text()
        print(said)
    assert "Traceback" not in said
    assert "ProgrammingError" not in said


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with gunicorn(tmp_path_factory.mktemp("shop"), "-k", "gthread", "--threads", "16") as shop:
        yield shop


def test_a_tool_reads_and_writes_the_database(shop: Shop) -> None:
    ann = shop.user("ann")
    assert ann.text("add_item", name="ann's kettle") == "ann's kettle"
    assert ann.value("list_items") == ["ann's kettle"]
    assert shop.user("bob").value("list_items") == []
    shop.comes_to_rest()


def test_a_worker_writes_while_it_streams(shop: Shop) -> None:
    cid = shop.user("cid")
    with cid.call("import_items", {"names": ["cid's cup", "cid's pot"]}) as connection:
        assert connection.begin() == 200
        assert connection.headers["content-type"] == "text/event-stream"
        assert connection.headers["x-shop"] == "open"
        progress = [connection.message(), connection.message()]
        assert [message["params"]["message"] for message in progress if message] == ["cid's cup", "cid's pot"]
        assert connection.text() == "2 for cid"
    assert cid.value("list_items") == ["cid's cup", "cid's pot"]
    shop.comes_to_rest()


@pytest.mark.parametrize("tool", ["whoami", "whoami_on_a_worker"])
def test_everybody_agrees_who_it_is(shop: Shop, tool: str) -> None:
    *names, thread = shop.user("dora").value(tool, name="dora")
    assert names == ["dora"] * 4
    assert thread.startswith("mcpref-") == (tool == "whoami_on_a_worker")


def test_nobody_is_told_to_say_who_he_is(shop: Shop) -> None:
    with Client(shop.port).call("list_items") as connection:
        assert connection.begin() == 401
        assert connection.headers["www-authenticate"] == "Basic realm=shop"
        assert connection.json()["error"]["message"] == "say who you are"
    with shop.user("thief").call("list_items") as connection:
        assert connection.begin() == 403
    shop.comes_to_rest()


def test_a_legacy_client_is_asked_on_its_stream(shop: Shop) -> None:
    emil = shop.user("emil")
    session = emil.session()
    with session.call("add_item", {"name": "emil's jug"}) as connection:
        assert connection.text() == "emil's jug"
    with session.call("order", {"item": "emil's jug"}) as connection:
        connection.begin()
        question = connection.message()
        assert question is not None
        assert question["method"] == "elicitation/create"
        session.reply(question, "fred")
        assert connection.text() == "emil's jug goes from emil to fred"
    assert emil.value("list_items") == []
    assert session.delete() in (200, 204)
    shop.comes_to_rest()


def test_a_modern_client_is_asked_in_a_second_round(shop: Shop) -> None:
    """The state is sealed with the application's SECRET_KEY, and bound to the user."""
    gil = shop.user("gil")
    gil.text("add_item", name="gil's jar")
    first = gil.round("order", {"item": "gil's jar"})
    assert first["resultType"] == "input_required"
    answers = {"recipient": {"action": "accept", "content": {"name": "hal"}}}
    again = {"inputResponses": answers, "requestState": first["requestState"]}
    with pytest.raises(KeyError, match="result"):
        shop.user("mallory").round("order", {"item": "gil's jar"}, **again)
    second = gil.round("order", {"item": "gil's jar"}, **again)
    assert second["content"][0]["text"] == "gil's jar goes from gil to hal"
    assert gil.value("list_items") == []
    shop.comes_to_rest()


def test_two_hundred_calls_at_once(shop: Shop) -> None:
    """Ten users, in place, on workers and streaming, of both eras: everybody gets his own, and all is closed."""
    users = [shop.user(f"user{number}") for number in range(10)]
    sessions = {user.name: user.session() for user in users}

    def adds(user: User, name: str) -> None:
        assert user.text("add_item", name=name) == name

    def imports(user: User, name: str) -> None:
        names = [f"{name}.{part}" for part in range(3)]
        assert user.text("import_items", names=names) == f"3 for {user.name}"

    def imports_in_session(user: User, name: str) -> None:
        with sessions[user.name].call("import_items", {"names": [name]}, id=name) as connection:
            answer = connection.answer()
            assert answer["id"] == name
            assert answer["result"]["content"][0]["text"] == f"1 for {user.name}"

    def lists(user: User, name: str) -> None:
        assert all(item.startswith(user.name + " ") for item in user.value("list_items"))

    def looks(user: User, name: str) -> None:
        for tool in ("whoami", "whoami_on_a_worker"):
            assert user.value(tool, name=user.name)[:4] == [user.name] * 4

    kinds = [adds, imports, imports_in_session, lists, looks]
    calls: list[Callable[[], None]] = [
        lambda kind=kind, user=user, n=n: kind(user, f"{user.name} {kind.__name__} {n}")  # type: ignore[misc]
        for user in users
        for kind in kinds
        for n in range(4)
    ]
    assert len(calls) == 200
    together(*calls)
    for user in users:
        items = user.value("list_items")
        assert len(items) == 4 + 4 * 3 + 4
        assert all(item.startswith(user.name + " ") for item in items)
    found = shop.comes_to_rest()
    assert found["database opened"] >= 160


@pytest.mark.parametrize("leave", [Connection.close, Connection.reset])
def test_a_client_that_goes_away(shop: Shop, leave: Callable[[Connection], None]) -> None:
    """In the middle of its stream: what the request and the worker hold is closed all the same, once each."""
    ida = shop.user("ida")
    before = shop.comes_to_rest()

    def goes() -> None:
        connection = ida.call("import_items", {"names": ["a", "b"], "pause": 15})
        connection.begin()
        assert connection.message() is not None
        leave(connection)

    together(*[goes] * 6)
    eventually(lambda: shop.figures().get("imports stopped", 0) >= before.get("imports stopped", 0) + 6)
    found = shop.comes_to_rest()
    assert found["database opened"] == before.get("database opened", 0) + 6


def test_a_listening_client_holds_nothing(shop: Shop) -> None:
    """A listen stream runs no function, so its request is torn down when the stream has begun."""
    with shop.user("jo").listen() as stream:
        assert stream.begin() == 200
        assert stream.message() is not None
        shop.comes_to_rest()


def test_a_shutdown_ends_streams_and_tears_down(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "-k", "gthread", "--threads", "8") as shop:
        stream = shop.user("kim").listen()
        stream.begin()
        assert stream.message() is not None
        held = shop.user("kim").call("import_items", {"names": ["a", "b"], "pause": 15})
        held.begin()
        assert held.message() is not None
    # With its closing result, and with the answer that was there in time.
    with stream, held:
        assert "result" in stream.answer()
        assert held.text() == "stopped"


def test_under_gevent(tmp_path: Path) -> None:
    pytest.importorskip("gevent")
    with gunicorn(tmp_path, "-k", "gevent") as shop:
        lea = shop.user("lea")

        def streams(name: str) -> None:
            assert lea.text("import_items", names=[name]) == "1 for lea"

        together(*[lambda n=n: streams(f"lea's {n}") for n in range(20)])
        assert len(lea.value("list_items")) == 20
        session = lea.session()
        with session.call("order", {"item": "lea's 7"}) as connection:
            connection.begin()
            question = connection.message()
            assert question is not None
            session.reply(question, "max")
            assert connection.text() == "lea's 7 goes from lea to max"
        shop.comes_to_rest()
