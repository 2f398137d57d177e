"""What every test gets: strict threads, and a hypothesis profile that does not look at the clock."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine makes any deadline lie; the tests assert results, never times.
settings.register_profile("mcpref", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mcpref")


@pytest.fixture(autouse=True)
def no_thread_fails(request: pytest.FixtureRequest) -> Iterator[None]:
    """An exception that ends a thread fails the test that started it."""
    failures: list[threading.ExceptHookArgs] = []
    previous = threading.excepthook
    threading.excepthook = failures.append
    yield
    threading.excepthook = previous
    if failures and "expects_thread_failure" not in request.keywords:
        first = failures[0]
        raise AssertionError(f"thread {first.thread} ended with {first.exc_value!r}") from first.exc_value
