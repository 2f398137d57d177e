"""The Django project under gunicorn: a process of its own, real connections, real users, a database in a file.

What is counted is what the process has open: the descriptors of the database's files.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mcpref.meta import MetaKey
from tests.http_robust.clients import ELICITS, Client, Connection, Session
from tests.threads import PATIENCE, eventually, together

ROOT = Path(__file__).parents[2]
SHOP = "tests.frameworks.django_shop"
for package in ("django", "gunicorn"):
    pytest.importorskip(package, reason=f"{package} is not installed")


class Incremental(Connection):
    """Reads what has come, also of a body that ends with its connection."""

    def chunk(self) -> bytes:
        if "content-length" in self.headers or "transfer-encoding" in self.headers:
            return super().chunk()
        return self._file.read1(65536)


class Customer(Client):
    """A user of the shop, known by a session cookie; nobody without one."""

    def __init__(self, port: int, name: str = "", cookie: str = "") -> None:
        super().__init__(port)
        self.name = name
        self.cookies = {"Cookie": f"sessionid={cookie}"} if cookie else {}

    def post(self, message: object, headers: Mapping[str, str] | None = None, **options: Any) -> Connection:
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        body = json.dumps(message).encode()
        return Incremental(self.port, **options).request(
            "POST", {**given, **self.cookies, **(headers or {})}, body
        )

    def session(self, headers: Mapping[str, str] | None = None) -> Session:
        return super().session({**self.cookies, **(headers or {})})

    def round(self, tool: str, arguments: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
        """A modern call by a client that can be asked; the result."""
        params = {"name": tool, "arguments": arguments, **rest}
        meta = {
            MetaKey.PROTOCOL_VERSION: "2026-07-28",
            MetaKey.CLIENT_INFO: {"name": "client", "version": "1"},
            MetaKey.CLIENT_CAPABILITIES: ELICITS,
        }
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {**params, "_meta": meta},
        }
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        with self.post(message, headers) as connection:
            answer = connection.answer()
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result


@dataclass
class Shop:
    """The project while it is served."""

    port: int
    database: Path
    cookies: dict[str, str]
    process: subprocess.Popen[bytes]
    pid: int = 0
    atomic: bool = False

    def customer(self, name: str) -> Customer:
        return Customer(self.port, name, self.cookies[name])

    @property
    def nobody(self) -> Customer:
        return Customer(self.port)

    def worker(self) -> int:
        """The process that serves requests; gunicorn's own is its parent."""
        with self.nobody.call("process") as connection:
            return int(connection.text())

    def open_files(self) -> list[str]:
        """What the serving process has open of the database, one entry for each descriptor."""
        found = []
        for entry in os.scandir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(entry.path)
            except FileNotFoundError:  # closed just now
                continue
            if target.startswith(str(self.database)):
                found.append(target)
        return found

    def comes_to_rest(self) -> None:
        eventually(lambda: self.open_files() == [])


@contextmanager
def served(directory: Path, *options: str, **settings: str) -> Iterator[Shop]:
    database = directory / "shop.db"
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "SHOP_DATABASE": str(database),
        **settings,
    }
    prepared = subprocess.run(
        [sys.executable, "-m", f"{SHOP}.prepare"],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "-c", "python:mcpref.contrib.gunicorn", "-w", "1"]
    rest = ["-b", f"127.0.0.1:{port}", "--log-level", "error", f"{SHOP}.wsgi:application"]
    process = subprocess.Popen([*command, *options, *rest], cwd=ROOT, env=environ)
    try:
        eventually(lambda: process.poll() is not None or _accepts(port))
        assert process.poll() is None, "gunicorn did not start"
        shop = Shop(port, database, json.loads(prepared.stdout), process)
        shop.pid = shop.worker()
        yield shop
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        finally:
            process.wait(PATIENCE)


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


THREADS = ("-k", "gthread", "--threads", "16")


@pytest.fixture(scope="module", params=["0", "1"], ids=["not atomic", "atomic"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Under gunicorn with threads, with ATOMIC_REQUESTS off and on."""
    with served(tmp_path_factory.mktemp("shop"), *THREADS, SHOP_ATOMIC=request.param) as found:
        found.atomic = request.param == "1"
        yield found


def orders(answer: Mapping[str, Any]) -> list[str]:
    found: list[str] = answer["result"]["structuredContent"]
    return found


# ---- One user ---------------------------------------------------------------------------------------------


def test_the_user_is_known(shop: Shop) -> None:
    with shop.customer("anna").call("whoami") as connection:
        assert connection.text().endswith(" anna")
    with shop.nobody.call("whoami") as connection:
        assert connection.text() == "nobody"


def test_a_tool_reads_and_writes_in_place_and_on_a_worker(shop: Shop) -> None:
    customer = shop.customer("dora")
    with customer.call("place", {"what": "dora: a"}) as connection:
        assert "dora: a" in orders(connection.answer())
    with customer.call("place_on_worker", {"what": "dora: b"}) as connection:
        assert {"dora: a", "dora: b"} <= set(orders(connection.answer()))
    shop.comes_to_rest()


def test_progress_is_streamed_from_a_worker(shop: Shop) -> None:
    with shop.customer("dora").call("place_slowly", {"what": "dora: slow"}) as connection:
        assert connection.begin() == 200
        assert connection.headers["content-type"] == "text/event-stream"
        said = []
        while (message := connection.message()) is not None:
            said.append(message)
    assert [message["params"]["message"] for message in said[:-1]] == [
        "dora orders dora: slow",
        "dora has ordered dora: slow",
    ]
    assert "dora: slow" in orders(said[-1])
    shop.comes_to_rest()


def test_compression_does_not_hold_a_stream_back(shop: Shop) -> None:
    """GZipMiddleware is installed. The tool waits after its first event, so that one must come alone."""
    params = {"name": "watch", "arguments": {}, "_meta": {"progressToken": "p"}}
    session = shop.customer("anna").session({"Accept-Encoding": "gzip"})
    with session.post({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}) as connection:
        assert connection.begin() == 200
        assert "content-encoding" not in connection.headers
        message = connection.message()
        assert message is not None
        assert message["method"] == "notifications/progress"
        session.notify("notifications/cancelled", {"requestId": 5})
    shop.comes_to_rest()


def test_a_legacy_client_is_asked_on_its_stream(shop: Shop) -> None:
    session = shop.customer("ben").session()
    with session.call("reserve", {"what": "ben: legacy"}) as connection:
        assert connection.begin() == 200
        question = connection.message()
        assert question is not None
        assert question["method"] == "elicitation/create"
        answer = {"action": "accept", "content": {"sure": True}}
        with session.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}) as reply:
            assert reply.begin() == 202
        assert connection.text() == "ben has ordered ben: legacy (1)"
    assert session.delete() == 204
    shop.comes_to_rest()


def test_a_modern_client_is_asked_by_rounds(shop: Shop) -> None:
    customer = shop.customer("ben")
    asked = customer.round("reserve", {"what": "ben: modern"})
    assert asked["resultType"] == "input_required"
    # What the first round wrote is there, and nothing holds it open.
    shop.comes_to_rest()
    done = customer.round(
        "reserve",
        {"what": "ben: modern"},
        inputResponses={"sure": {"action": "accept", "content": {"sure": True}}},
        requestState=asked["requestState"],
    )
    assert done["content"][0]["text"] == "ben has ordered ben: modern (1)"
    shop.comes_to_rest()


def test_what_fails_is_rolled_back_where_it_is_atomic(shop: Shop) -> None:
    for tool in ("place_in_vain", "place_in_vain_on_worker"):
        with shop.nobody.call(tool, {"what": f"lost: {tool}"}) as connection:
            assert connection.answer()["result"]["isError"]
    with shop.nobody.call("place", {"what": "kept"}) as connection:
        found = [what for what in orders(connection.answer()) if what.startswith("lost:")]
    assert len(found) == (0 if shop.atomic else 2)
    for tool in ("where", "where_on_worker"):
        with shop.nobody.call(tool) as connection:
            around = connection.answer()["result"]["structuredContent"]
        assert around["atomic"] == (["default", "archive"] if shop.atomic else [])
        assert around["worker"] is (tool == "where_on_worker")
    shop.comes_to_rest()


# ---- Many -------------------------------------------------------------------------------------------------


def test_two_hundred_calls_at_once_leave_nothing_open_and_mix_up_nobody(shop: Shop) -> None:
    tools = ("place", "place_on_worker", "place_slowly")
    customers = [shop.customer(name) for name in shop.cookies]

    def order(customer: Customer, number: int) -> set[str]:
        what = f"{customer.name}: {number}"
        with customer.call(tools[number % 3], {"what": what}, id=number) as connection:
            answer = connection.answer()
            assert answer["id"] == number
            found = orders(answer)
            said = connection.body.decode()
        assert what in found
        assert [other for other in found if not other.startswith(f"{customer.name}:")] == []
        assert [other.name for other in customers if other is not customer and f"{other.name} " in said] == []
        return set(found)

    together(*(partial(order, customers[number % len(customers)], number) for number in range(200)))
    shop.comes_to_rest()
    for place, customer in enumerate(customers):
        with customer.call("place_on_worker", {"what": f"{customer.name}: last"}) as connection:
            found = orders(connection.answer())
        mine = {f"{customer.name}: {number}" for number in range(200) if number % len(customers) == place}
        assert mine <= set(found)
    shop.comes_to_rest()


@pytest.mark.parametrize("leave", ["close", "reset"])
def test_clients_that_leave_in_mid_stream_leave_nothing_open(shop: Shop, leave: str) -> None:
    with ExitStack() as opened:
        streams = [opened.enter_context(shop.customer("carla").call("watch")) for _ in range(4)]
        for stream in streams:
            assert stream.begin() == 200
            assert stream.message() is not None
        for stream in streams:
            getattr(stream, leave)()
        shop.comes_to_rest()
    with shop.nobody.call("whoami") as connection:
        assert connection.text() == "nobody"


def test_a_stream_that_waits_holds_no_connection(shop: Shop) -> None:
    """Its user was loaded, by a query, on the thread that now waits for something to happen."""
    with shop.customer("anna").listen() as one, shop.customer("ben").listen() as other:
        for stream in (one, other):
            assert stream.begin() == 200
            assert stream.message() is not None
        shop.comes_to_rest()


# ---- Other ways to serve it -------------------------------------------------------------------------------


def test_persistent_connections_are_used_again(tmp_path: Path) -> None:
    with served(tmp_path, *THREADS, SHOP_CONN_MAX_AGE="60") as shop:
        customer = shop.customer("anna")
        for number in range(30):
            with customer.call("place_on_worker", {"what": f"anna: {number}"}) as connection:
                connection.answer()
        # One for each thread of the host that came by, and one for each worker: not one for each call.
        main = [name for name in shop.open_files() if name == str(shop.database)]
        assert 0 < len(main) <= 17


def test_it_ends_in_good_order(tmp_path: Path) -> None:
    with served(tmp_path, *THREADS) as shop, shop.customer("anna").listen() as stream:
        assert stream.begin() == 200
        assert stream.message() is not None
        shop.process.send_signal(signal.SIGTERM)
        end = stream.message()
        assert end is not None
        assert "result" in end
        assert shop.process.wait(PATIENCE) == 0


@pytest.mark.skipif(find_spec("gevent") is None, reason="gevent is not installed")
def test_gevent(tmp_path: Path) -> None:
    with served(tmp_path, "-k", "gevent", SHOP_ATOMIC="1") as shop:
        customers = [shop.customer(name) for name in shop.cookies]

        def order(customer: Customer, tool: str) -> None:
            with customer.call(tool, {"what": f"{customer.name}: {tool}"}) as connection:
                found = orders(connection.answer())
            assert f"{customer.name}: {tool}" in found
            assert all(what.startswith(f"{customer.name}:") for what in found)

        tools = ("place", "place_on_worker", "place_slowly")
        together(*(partial(order, customer, tool) for customer in customers for tool in tools))
        with customers[0].call("watch") as left:
            assert left.begin() == 200
            assert left.message() is not None
        shop.comes_to_rest()
        test_a_modern_client_is_asked_by_rounds(shop)
        test_a_legacy_client_is_asked_on_its_stream(shop)


def test_runserver(tmp_path: Path) -> None:
    """Django's own server for development, with its thread for each connection."""
    with served(tmp_path, *THREADS) as prepared:
        cookies, database = prepared.cookies, prepared.database
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "SHOP_DATABASE": str(database),
        "DJANGO_SETTINGS_MODULE": f"{SHOP}.settings",
    }
    command = [sys.executable, "-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}"]
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=output, stderr=output)
        try:
            eventually(lambda: process.poll() is not None or _accepts(port))
            shop = Shop(port, database, cookies, process, process.pid)
            test_the_user_is_known(shop)
            test_progress_is_streamed_from_a_worker(shop)
            test_a_legacy_client_is_asked_on_its_stream(shop)
        finally:
            process.terminate()
            process.wait(PATIENCE)
