"""Idle streams on a gevent worker, fewer than it is meant for."""

from __future__ import annotations

import pytest

from .processes import HOSTS
from .streams import measure


def test_a_hundred_idle_streams_leave_room_for_calls() -> None:
    """All are acknowledged, told of a change, and ended with their result; `measure` asserts it."""
    if not HOSTS["gunicorn gevent"].is_installed:
        reason = "gevent is not installed"
        print(reason)
        pytest.skip(reason)
    figures = measure(100, seconds=0.5, idle=1.5)
    print(figures)
    assert figures.calls_per_second_on_8_beside > figures.calls_per_second_on_8_alone / 5
    assert figures.kb_per_stream < 200
    assert figures.cpu_percent_idle < 50
    assert figures.change_reached_all_seconds < 5
    assert figures.end_seconds < 8
