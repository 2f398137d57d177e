"""What a process knows of its host."""

from __future__ import annotations

import pytest

from mcpref import McpServer, Settings
from mcpref.transport import hosting
from mcpref.transport.wsgi import McpApp


@pytest.fixture(autouse=True)
def _nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "_threads", None)
    monkeypatch.delenv("MCPREF_THREADS", raising=False)


def make_app(threads: int | None = None, **settings: int) -> McpApp:
    return McpServer("hosted", settings=Settings(**settings)).wsgi_app(threads=threads)  # type: ignore[arg-type]


def test_what_is_declared_counts_for_apps_made_before_and_after() -> None:
    before = make_app()
    assert before.runtime.budget.threads == 4
    hosting.declare_threads(12)
    assert before.runtime.budget.threads == 12
    assert make_app().runtime.budget.threads == 12


def test_what_an_app_was_told_itself_counts_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told, set_, named = make_app(threads=3), make_app(threads=5), make_app()
    _ = told.runtime, set_.runtime
    monkeypatch.setenv("MCPREF_THREADS", "7")
    _ = named.runtime
    hosting.declare_threads(12)
    assert [app.runtime.budget.threads for app in (told, set_, named)] == [3, 5, 7]


@pytest.mark.parametrize(
    ("software", "multithread", "threads"),
    [
        ("Werkzeug/3.1.9", True, 64),
        ("WSGIServer/0.2 CPython/3.11.7", True, 64),
        ("Werkzeug/3.1.9", False, 1),
        ("gunicorn/27.0.1", True, 4),
        ("", True, 4),
    ],
)
def test_a_hosts_name_tells_where_nobody_else_does(software: str, multithread: bool, threads: int) -> None:
    runtime = make_app().runtime
    runtime.learn_threads({"SERVER_SOFTWARE": software, "wsgi.multithread": multithread})
    assert runtime.budget.threads == threads


def test_a_request_of_a_test_client_says_nothing_of_later_ones() -> None:
    runtime = make_app(threads=8).runtime
    runtime.learn_threads({"wsgi.multithread": False})
    assert runtime.budget.threads == 1
    runtime.learn_threads({"wsgi.multithread": True})
    assert runtime.budget.threads == 8


def test_all_apps_end_together() -> None:
    apps = [make_app() for _ in range(3)]
    for app in apps[:2]:
        _ = app.runtime
    assert hosting.close_all(5.0)
    assert all(app.runtime.closing for app in apps[:2])
    assert hosting.close_all(5.0), "twice does no harm"
