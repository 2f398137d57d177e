"""`mcpref.contrib.django` inside Django's own request cycle, by Django's test client."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

import pytest

from mcpref import McpServer, Settings
from mcpref.meta import MetaKey
from mcpref.sse import EventDecoder
from tests.threads import eventually

pytest.importorskip("django", reason="django is not installed")

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections
from django.test import Client, RequestFactory, TestCase, override_settings
from django.test.utils import setup_test_environment, teardown_test_environment

from mcpref.contrib.django import mcp_view
from mcpref.contrib.django.apps import check_setting
from mcpref.contrib.django.config import read_config, routes
from mcpref.contrib.django.embedding import DjangoEmbedding
from mcpref.contrib.django.incoming import environ_of

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
SHOP = "tests.frameworks.django_shop"
#: Django's test client says that its host has many processes of one thread, where no session could be kept.
HOST = {"wsgi.multithread": True, "wsgi.multiprocess": False}


@pytest.fixture(autouse=True, scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The project, set up in this process; the session cookies of its users."""
    zone = os.environ.get("TZ")
    database = tmp_path_factory.mktemp("shop") / "shop.db"
    with patch.dict(
        os.environ, {"DJANGO_SETTINGS_MODULE": f"{SHOP}.settings", "SHOP_DATABASE": str(database)}
    ):
        django.setup()
    # Django makes its time zone that of the process, which other tests share.
    os.environ.pop("TZ", None)
    if zone is not None:
        os.environ["TZ"] = zone
    time.tzset()
    setup_test_environment()
    try:
        yield importlib.import_module(f"{SHOP}.prepare").prepare()
    finally:
        for name in ("mcp", "internal/mcp"):
            assert _app_of(f"/{name}").close(10.0)
        teardown_test_environment()
        connections.close_all()


@pytest.fixture(params=[False, True], ids=["not atomic", "atomic"])
def atomic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """ATOMIC_REQUESTS of the default database."""
    monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", request.param)
    return bool(request.param)


@pytest.fixture
def all_atomic(monkeypatch: pytest.MonkeyPatch) -> None:
    """ATOMIC_REQUESTS of every database."""
    for alias in connections:
        monkeypatch.setitem(connections.settings[alias], "ATOMIC_REQUESTS", True)


def _app_of(path: str) -> Any:
    from django.urls import resolve

    return resolve(path).func.mcp_app


def orders(**wanted: Any) -> int:
    from tests.frameworks.django_shop.models import Order

    found: int = Order.objects.filter(**wanted).count()
    return found


# ---- Sending ----------------------------------------------------------------------------------------------


def message(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    meta = {
        MetaKey.PROTOCOL_VERSION: MODERN,
        MetaKey.CLIENT_INFO: {"name": "client", "version": "1"},
        MetaKey.CLIENT_CAPABILITIES: {"elicitation": {}},
        "progressToken": "p",
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def post(
    sent: Mapping[str, Any],
    *,
    client: Any = None,
    path: str = "/mcp",
    headers: Mapping[str, str] | None = None,
    **environ: Any,
) -> Any:
    params = sent.get("params", {})
    given = {"Accept": "application/json, text/event-stream"}
    if MetaKey.PROTOCOL_VERSION in params.get("_meta", {}):
        given |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": sent["method"]}
        if "name" in params:
            given["Mcp-Name"] = params["name"]
    return (client or Client(**HOST)).post(
        path,
        json.dumps(sent),
        content_type="application/json",
        headers={**given, **(headers or {})},
        **environ,
    )


def call(tool: str, arguments: Mapping[str, Any] | None = None, rest: Any = None, **options: Any) -> Any:
    """A call of a tool by a modern client; the HTTP response."""
    params = {"name": tool, "arguments": arguments or {}, **(rest or {})}
    return post(message("tools/call", params), **options)


def messages(response: Any) -> list[dict[str, Any]]:
    """All that a response says, in either form."""
    assert response.status_code == 200, getattr(response, "content", b"")
    if not response.streaming:
        return [json.loads(response.content)]
    decoder = EventDecoder()
    events = [event for chunk in response.streaming_content for event in decoder.feed(chunk)]
    return [json.loads(event.data) for event in events if event.data]


def result(response: Any) -> dict[str, Any]:
    """The result in a response."""
    answer = messages(response)[-1]
    assert "result" in answer, answer
    found: dict[str, Any] = answer["result"]
    return found


def value(response: Any) -> Any:
    """What a tool returned."""
    found = result(response)
    assert not found.get("isError"), found
    structured = found.get("structuredContent", {"result": found["content"][0]["text"]})
    return structured["result"] if isinstance(structured, dict) and "result" in structured else structured


def client_of(shop: Mapping[str, str], name: str, **options: Any) -> Any:
    client = Client(**options, **HOST)
    client.cookies["sessionid"] = shop[name]
    return client


# ---- Routes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/internal/mcp", "/internal/mcp/"])
def test_both_forms_of_the_path_are_served_without_a_redirect(path: str) -> None:
    assert value(call("whoami", path=path)) == "nobody"


def test_the_test_client_works_as_it_is() -> None:
    assert value(call("whoami", client=Client())) == "nobody"
    assert value(call("place_on_worker", {"what": "by one thread"}, client=Client()))
    assert len(messages(call("place_slowly", {"what": "by one thread"}, client=Client()))) == 3


def test_other_paths_are_django_s() -> None:
    assert Client(**HOST).get("/mcp/nothing").status_code == 404
    assert Client(**HOST).get("/mcpx").status_code == 404


@pytest.mark.parametrize(
    ("method", "status"), [("get", 405), ("delete", 405), ("put", 405), ("options", 405), ("head", 405)]
)
def test_the_view_takes_every_method(method: str, status: int) -> None:
    response = getattr(Client(**HOST), method)("/mcp", headers={"MCP-Protocol-Version": MODERN})
    assert response.status_code == status
    assert "POST" in response.headers["Allow"]


def test_a_post_needs_no_csrf_token(shop: dict[str, str]) -> None:
    client = client_of(shop, "anna", enforce_csrf_checks=True)
    assert value(call("whoami", client=client)).endswith(" anna")


def test_headers_come_through_as_they_are() -> None:
    response = call("whoami")
    assert response.headers["Content-Type"] == "application/json"
    accepted = post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert accepted.status_code == 400  # no session
    session = legacy_session()
    accepted = post({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
    assert accepted.status_code == 202
    assert "Content-Type" not in accepted.headers


def test_the_page_is_served_with_its_policy() -> None:
    from mcpref.page import HEADERS

    response = Client(**HOST).get("/mcp/page/")
    assert response.status_code == 200
    assert b'content="../"' in response.content
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    script = Client(**HOST).get("/mcp/page/page.js")
    assert script.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert Client(**HOST).get("/mcp/page/settings.py").status_code == 404
    assert Client(**HOST).get("/mcp/page/", headers={"Host": "evil.example"}).status_code == 400
    assert Client(**HOST).post("/mcp/page/").status_code == 405


# ---- Hosts and origins ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("shop.example", 200),
        ("shop.example:8000", 200),
        ("any.wild.example", 200),
        ("wild.example", 200),
        ("evil.example", 400),
        ("shop.example.evil.example", 400),
        ("127.0.0.1", 400),
    ],
)
def test_django_says_which_hosts_are_served(host: str, status: int) -> None:
    assert call("whoami", headers={"Host": host}).status_code == status


def test_a_proxy_s_host_counts_where_django_says_so() -> None:
    headers = {"Host": "inner", "X-Forwarded-Host": "shop.example", "Origin": "http://shop.example"}
    assert call("whoami", headers=headers).status_code == 400
    with override_settings(USE_X_FORWARDED_HOST=True):
        assert call("whoami", headers=headers).status_code == 200
        assert environ_of(RequestFactory().get("/mcp", headers=headers))["HTTP_HOST"] == "shop.example"


def test_debug_serves_this_machine() -> None:
    with override_settings(DEBUG=True, ALLOWED_HOSTS=[]):
        assert call("whoami", headers={"Host": "localhost:8000"}).status_code == 200
        assert call("whoami", headers={"Host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://shop.example", 200),  # our own
        ("https://shop.example", 403),  # another scheme is another origin
        ("http://shop.example:8000", 403),
        ("http://any.wild.example", 403),  # a host of ours, but not this one: Django's own rule
        ("https://partner.example", 200),
        ("https://partner.example:8443", 403),
        ("http://partner.example", 403),
        ("https://a.friends.example", 200),
        ("http://a.friends.example", 403),
        ("https://friends.example.evil.example", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
@pytest.mark.parametrize("hosts", [None, ["*"]], ids=["named hosts", "any host"])
def test_pages_come_from_where_django_trusts_them(origin: str, status: int, hosts: list[str] | None) -> None:
    headers = {"Host": "shop.example", "Origin": origin}
    with override_settings(**({"ALLOWED_HOSTS": hosts} if hosts else {})):
        response = call("whoami", headers=headers)
    assert response.status_code == status
    if status == 403:
        assert json.loads(response.content)["error"]["code"] == -32600


def test_a_server_may_name_origins_of_its_own() -> None:
    server = McpServer("open", settings=Settings(allowed_origins=("https://app.example",), cors=True))
    view = mcp_view(server)
    for origin, status in (
        ("https://app.example", 204),
        ("https://a.friends.example", 204),
        ("https://x", 403),
    ):
        preflight = view(RequestFactory(**HOST).options("/mcp", headers={"Origin": origin}))
        assert preflight.status_code == status
        assert preflight.headers.get("Access-Control-Allow-Origin") == (origin if status == 204 else None)
    assert view.mcp_app.close(10.0)  # type: ignore[attr-defined]


# ---- Users ------------------------------------------------------------------------------------------------


def test_the_user_reaches_the_tool_on_either_thread(shop: dict[str, str]) -> None:
    client = client_of(shop, "ben")
    assert value(call("whoami", client=client)).endswith(" ben")
    assert value(call("place_on_worker", {"what": "ben's"}, client=client)) == ["ben's"]
    assert orders(user__username="ben", what="ben's") == 1


def test_a_session_belongs_to_its_user(shop: dict[str, str]) -> None:
    session = legacy_session(client=client_of(shop, "anna"))
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    mine = post(asked, client=client_of(shop, "anna"), headers=session)
    assert mine.status_code == 200
    assert post(asked, client=client_of(shop, "ben"), headers=session).status_code == 404
    assert post(asked, headers=session).status_code == 404


def legacy_session(**options: Any) -> dict[str, str]:
    params = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    }
    response = post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, **options)
    assert response.status_code == 200
    return {"Mcp-Session-Id": response.headers["Mcp-Session-Id"], "MCP-Protocol-Version": LEGACY}


def test_a_principal_of_one_s_own() -> None:
    assert value(call("whoami", path="/internal/mcp", headers={"X-Caller": "robot"})) == "robot "
    refused = call("whoami", path="/internal/mcp", headers={"X-Caller": "banned"})
    assert (refused.status_code, json.loads(refused.content)["error"]["message"]) == (403, "not you")
    unknown = call("whoami", path="/internal/mcp", headers={"X-Caller": "nobody"})
    assert (unknown.status_code, unknown.headers["WWW-Authenticate"]) == (401, 'Bearer realm="shop"')


# ---- Transactions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["place", "place_on_worker", "place_slowly"])
def test_what_a_tool_writes_stays(tool: str, atomic: bool) -> None:
    what = f"{tool} {atomic}"
    assert what in value(call(tool, {"what": what}))
    assert orders(what=what) == 1


@pytest.mark.parametrize("tool", ["place_in_vain", "place_in_vain_on_worker"])
def test_a_failure_rolls_back_what_is_atomic(tool: str, atomic: bool) -> None:
    what = f"{tool} {atomic}"
    assert result(call(tool, {"what": what}))["isError"]
    assert orders(what=what) == (0 if atomic else 1)


def test_a_tool_may_opt_out(atomic: bool) -> None:
    assert result(call("place_at_once", {"what": f"at once {atomic}"}))["isError"]
    assert orders(what=f"at once {atomic}") == 1


@pytest.mark.usefixtures("all_atomic")
@pytest.mark.parametrize("tool", ["where", "where_on_worker"])
def test_every_database_has_its_transaction_around_the_call_and_not_the_view(tool: str) -> None:
    assert value(call(tool))["atomic"] == ["default", "archive"]
    with patch.object(DjangoEmbedding, "call", lambda self, fn, invoke: invoke()):
        assert value(call(tool))["atomic"] == []


def test_a_round_that_asks_commits(atomic: bool, shop: dict[str, str]) -> None:
    what = f"reserved {atomic}"
    client = client_of(shop, "carla")
    asked = result(call("reserve", {"what": what}, client=client))
    assert asked["resultType"] == "input_required"
    assert orders(what=what, paid=False) == 1
    rest = {
        "inputResponses": {"sure": {"action": "accept", "content": {"sure": True}}},
        "requestState": asked["requestState"],
    }
    stranger = messages_of_error(call("reserve", {"what": what}, rest, client=client_of(shop, "dora")))
    assert stranger["code"] == -32602  # sealed for carla
    done = value(call("reserve", {"what": what}, rest, client=client))
    assert done == f"carla has ordered {what} (1)"
    assert orders(what=what, paid=True) == 1


def messages_of_error(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(response.content)["error"]
    return found


def test_django_s_key_seals_and_its_former_ones_open() -> None:
    def ask_with(key: str, former: list[str], rest: dict[str, Any] | None = None) -> Any:
        from tests.frameworks.django_shop.mcp import reserve

        server = McpServer("fresh")
        server.tool(reserve)
        view = mcp_view(server)
        with override_settings(SECRET_KEY=key, SECRET_KEY_FALLBACKS=former):
            params = {"name": "reserve", "arguments": {"what": "sealed"}, **(rest or {})}
            response = view(
                RequestFactory(**HOST).post(
                    "/mcp",
                    json.dumps(message("tools/call", params)),
                    content_type="application/json",
                    headers={
                        "MCP-Protocol-Version": MODERN,
                        "Mcp-Method": "tools/call",
                        "Mcp-Name": "reserve",
                    },
                )
            )
        assert view.mcp_app.close(10.0)  # type: ignore[attr-defined]
        return json.loads(response.content)

    state = ask_with("old", [])["result"]["requestState"]
    rest = {
        "inputResponses": {"sure": {"action": "accept", "content": {"sure": True}}},
        "requestState": state,
    }
    assert ask_with("new", [], rest)["error"]["code"] == -32602
    assert "has ordered sealed" in ask_with("new", ["old"], rest)["result"]["content"][0]["text"]


class InATestCase(TestCase):  # type: ignore[misc]
    """Django's TestCase keeps a transaction around each test, on the thread that runs tools in place."""

    def test_what_a_tool_wrote_is_seen(self) -> None:
        assert "in a test" in value(call("place", {"what": "in a test"}, client=Client(**HOST)))
        assert orders(what="in a test") == 1

    def test_and_rolled_back_after_the_test(self) -> None:
        assert orders(what="in a test") == 0

    def test_a_worker_and_a_stream_leave_the_transaction_alone(self) -> None:
        call("place", {"what": "before"}, client=Client(**HOST))
        assert value(call("where_on_worker", client=Client(**HOST)))["worker"]
        assert len(messages(call("count"))) == 2
        assert connection.in_atomic_block
        assert not connection.needs_rollback
        assert orders(what="before") == 1


# ---- Connections ------------------------------------------------------------------------------------------


class Opened:
    """Connections that were opened while it watches, and those still open."""

    def __init__(self) -> None:
        self.wrappers: list[tuple[str, Any]] = []

    def __call__(self, sender: object, connection: Any, **rest: object) -> None:
        self.wrappers.append((threading.current_thread().name, connection))

    @property
    def by_workers(self) -> int:
        return sum(name.startswith("mcpref-worker") for name, _ in self.wrappers)

    @property
    def open_by_workers(self) -> int:
        return sum(
            wrapper.connection is not None
            for name, wrapper in self.wrappers
            if name.startswith("mcpref-worker")
        )


@pytest.fixture
def opened() -> Iterator[Opened]:
    from django.db.backends.signals import connection_created

    opened = Opened()
    connection_created.connect(opened)
    yield opened
    connection_created.disconnect(opened)


def test_a_worker_closes_its_connection_before_its_answer_goes_out(opened: Opened) -> None:
    for number in range(3):
        value(call("place_on_worker", {"what": f"closed {number}"}))
        assert (opened.by_workers, opened.open_by_workers) == (number + 1, 0)


def test_a_worker_keeps_its_connection_as_long_as_django_says_and_closes_it_when_it_ends(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.frameworks.django_shop.mcp import place_on_worker

    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 60)
    server = McpServer("fresh", settings=Settings(workers=1))
    server.tool(place_on_worker)
    view = mcp_view(server, threads=1)
    request = RequestFactory(**HOST).post(
        "/mcp",
        json.dumps(message("tools/call", {"name": "place_on_worker", "arguments": {"what": "kept"}})),
        content_type="application/json",
        headers={
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": "place_on_worker",
        },
    )
    body = request.body
    for _ in range(3):
        request._body = body
        assert view(request).status_code == 200
    assert (opened.by_workers, opened.open_by_workers) == (1, 1)
    assert view.mcp_app.close(10.0)  # type: ignore[attr-defined]
    eventually(lambda: opened.open_by_workers == 0)


def test_the_request_s_thread_holds_no_connection_while_it_waits(shop: dict[str, str]) -> None:
    """Its user was loaded, by a query; then the thread waits for a worker."""
    held: list[bool] = []
    request_thread = connections["default"]

    def look(self: object, fn: object, invoke: Any) -> Any:
        held.append(request_thread.connection is not None)
        return invoke()

    with patch.object(DjangoEmbedding, "call", look):
        assert value(call("place_on_worker", {"what": "waiting"}, client=client_of(shop, "anna")))
        assert value(call("whoami", client=client_of(shop, "anna")))
    assert held == [False, True]


# ---- Bodies -----------------------------------------------------------------------------------------------


def test_a_body_that_middleware_has_read() -> None:
    assert value(call("whoami", headers={"X-Read-Body": "1"})) == "nobody"


def test_django_s_limit_of_bodies_does_not_count_where_nobody_reads_them() -> None:
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=10):
        assert value(call("whoami")) == "nobody"
        assert call("whoami", headers={"X-Read-Body": "1"}).status_code == 400
    assert call("place", {"what": "x" * 5_000_000}).status_code == 413


def test_a_chunked_body_is_whole_whether_middleware_looked_or_not() -> None:
    """Django takes a body without a length for empty; the host knows where it ends."""
    from io import BytesIO

    body = json.dumps(message("tools/call", {"name": "whoami", "arguments": {}})).encode()
    for headers in ({}, {"X-Read-Body": "1"}):
        response = Client(**HOST).generic(
            "POST",
            "/mcp",
            content_type="application/json",
            headers={
                "MCP-Protocol-Version": MODERN,
                "Mcp-Method": "tools/call",
                "Mcp-Name": "whoami",
                **headers,
            },
            **{
                "wsgi.input": BytesIO(body),
                "wsgi.input_terminated": True,
                "CONTENT_LENGTH": "",
                "CONTENT_TYPE": "application/json",
            },
        )
        assert value(response) == "nobody"


# ---- Streams and other middleware -------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_stream_is_neither_compressed_nor_held_back(encoding: str) -> None:
    response = call("place_slowly", {"what": "streamed"}, headers={"Accept-Encoding": encoding})
    assert response.streaming
    sent = dict(response.items())
    assert sent["Content-Type"] == "text/event-stream"
    assert sent["X-Accel-Buffering"] == "no"
    assert "Content-Encoding" not in sent
    assert "Content-Length" not in sent
    chunks = iter(response.streaming_content)
    said = b"".join(chunks)
    assert b"notifications/progress" in said
    assert b'"result"' in said


def test_a_stream_is_closed_once(shop: dict[str, str]) -> None:
    from mcpref.transport.event_stream import EventIterator

    ends: list[bool] = []
    original = EventIterator.close

    def close(self: EventIterator) -> None:
        if not self._closed:
            ends.append(self._finished)
        original(self)

    with patch.object(EventIterator, "close", close):
        assert messages(call("place_slowly", {"what": "closed"}))
        assert ends == [True]
        left = call("watch", client=client_of(shop, "anna"))
        next(iter(left.streaming_content))
        left.close()
        left.close()
        assert ends == [True, False]
    eventually(lambda: _app_of("/mcp").runtime.pool.busy == 0)


def test_a_body_may_be_compressed() -> None:
    response = post(message("tools/list", {}), headers={"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert "place" in str(json.loads(gzip.decompress(response.content)))


@pytest.mark.parametrize("tool", ["where", "where_on_worker"])
def test_the_request_s_language_and_zone_reach_the_tool(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoneinfo import ZoneInfo

    from django.utils import timezone, translation

    with timezone.override(ZoneInfo("Europe/Berlin")), translation.override("en"):
        around = value(call(tool, headers={"Accept-Language": "de"}, SCRIPT_NAME="/shop"))
        assert around["worker"] is (tool == "where_on_worker")
        assert (around["language"], around["zone"]) == ("de", "Europe/Berlin")
    # and nothing of it stays on the worker
    with timezone.override(None), translation.override("en"):
        around = value(call(tool, headers={"Accept-Language": "en"}))
        assert (around["language"], around["zone"]) == ("en", "UTC")


def test_a_prefix_reaches_the_worker() -> None:
    from django.urls import get_script_prefix, set_script_prefix

    before = get_script_prefix()
    set_script_prefix("/shop/")
    try:
        assert value(call("where_on_worker"))["url"] == value(call("where"))["url"] == "/shop/mcp"
    finally:
        set_script_prefix(before)


# ---- Mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (None, ["MCPREF", "'SERVER': 'shop.mcp.server'"]),
        ({}, ["names a server"]),
        ({"SERVER": f"{SHOP}.mcp.server", "SEVER": 1}, ["SEVER", "SERVER:", "PATH:", "PRINCIPAL:", "PAGE:"]),
        ({"SERVER": "shop.nowhere"}, ["'SERVER'", "'shop.nowhere'", "No module named"]),
        ({"SERVER": f"{SHOP}.mcp.sever"}, ["sever", "does not define"]),
        ({"SERVER": f"{SHOP}.mcp.place"}, ["no McpServer but a function"]),
        ({"SERVER": 3}, ["no dotted path but a int"]),
        ({"SERVER": f"{SHOP}.mcp.server", "PRINCIPAL": f"{SHOP}.nobody"}, ["'PRINCIPAL'", "nobody"]),
        ({"SERVER": f"{SHOP}.mcp.server", "PRINCIPAL": 3}, ["cannot be called"]),
        ({"SERVER": f"{SHOP}.mcp.server", "THREADS": "8"}, ["no number of threads"]),
        ({"SERVER": f"{SHOP}.mcp.server", "PAGE": "yes"}, ["neither True nor False"]),
        ({"SERVER": f"{SHOP}.mcp.server", "PATH": None}, ["no string"]),
    ],
)
def test_a_wrong_setting_is_named(setting: Any, words: list[str]) -> None:
    with override_settings(MCPREF=setting):
        with pytest.raises(ImproperlyConfigured) as raised:
            read_config()
        assert [word for word in words if word not in str(raised.value)] == []
        (found,) = check_setting()
        assert (found.id, found.msg) == ("mcpref.E001", str(raised.value))


def test_a_right_setting_is_checked_in_silence() -> None:
    assert check_setting() == []
    with override_settings():
        from django.conf import settings

        del settings.MCPREF
        assert check_setting() == []


def test_the_setting_s_other_keys() -> None:
    setting = {
        "SERVER": f"{SHOP}.mcp.server",
        "PATH": "/api/mcp/",
        "PRINCIPAL": f"{SHOP}.urls.by_header",
        "THREADS": 3,
    }
    with override_settings(MCPREF=setting):
        (route,) = routes(read_config())
        assert route.resolve("api/mcp") is not None
        assert route.resolve("api/mcp/") is not None
        assert route.resolve("mcp") is None
        response = route.callback(RequestFactory(**HOST).post("/api/mcp", headers={"X-Caller": "banned"}))
        assert response.status_code == 403
        app = route.callback.mcp_app
        assert app.runtime.budget.threads == 3
        assert app.close(10.0)
    with override_settings(MCPREF={**setting, "PATH": "", "PAGE": True}):
        assert [route.resolve("") is not None for route in routes(read_config())] == [True, False]


def test_asgi_is_refused() -> None:
    from django.test import AsyncRequestFactory

    with pytest.raises(ImproperlyConfigured, match="WSGI server"):
        mcp_view(McpServer("fresh"))(AsyncRequestFactory().post("/mcp"))
