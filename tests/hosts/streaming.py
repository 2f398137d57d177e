"""Probes: streams that stay open, and clients that go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from time import monotonic

from mcpref.cancellation import Deadline
from tests.http_robust.clients import Client, Connection
from tests.threads import PATIENCE, together

from .capabilities import capability
from .processes import HostProcess

_keys = count()
#: How long a call waits that nobody cancels.
SILENCE = 4.0


def listening(client: Client) -> Connection:
    """A listen stream that has been acknowledged."""
    asked = {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["thing://one"]}}
    connection = client.modern("subscriptions/listen", asked, id="mine")
    assert connection.begin() == 200, connection.json()
    message = connection.message()
    assert message is not None
    assert message["method"] == "notifications/subscriptions/acknowledged"
    return connection


def announce(client: Client, what: str) -> None:
    with client.call("change", {"what": what}) as connection:
        assert connection.text() == what


def at_rest(client: Client, within: float = PATIENCE) -> None:
    """Wait until nothing is under way any more."""
    deadline = Deadline(within)
    while left := {
        name: value for name, value in client.figures().items() if value > (name == "host threads")
    }:
        assert not deadline.expired, f"left over: {left}"
        threading.Event().wait(0.02)


# ---- Streams ------------------------------------------------------------------------------------------


@capability("listen stream")
def changes_arrive_on_a_listen_stream(running: HostProcess) -> str:
    client = running.client
    with listening(client) as stream:
        for what, method in (
            ("tools", "notifications/tools/list_changed"),
            ("thing://one", "notifications/resources/updated"),
        ):
            announce(client, what)
            message = stream.message()
            assert message is not None
            assert message["method"] == method
    at_rest(client)
    return "yes"


@capability("GET stream, resumed")
def a_session_s_stream_goes_on_after_a_dropped_connection(running: HostProcess) -> str:
    client = running.client
    session = client.session()
    with session.get() as stream:
        assert stream.begin() == 200
        assert stream.chunk(), "it is open"
        announce(client, "tools")
        assert stream.message() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        last = stream.last_event_id
        assert last
        stream.reset()
    # Whether the server has noticed or not: a new reader takes the old one's place, and misses nothing.
    with session.get(Last_Event_ID=last) as resumed:
        assert resumed.begin() == 200
        announce(client, "tools")
        message = resumed.message()
        assert message is not None
        assert message["method"] == "notifications/tools/list_changed"
        assert resumed.last_event_id != last
    session.delete()
    at_rest(client)
    return "yes"


@capability("streams held")
def idle_streams_leave_room_for_calls(running: HostProcess) -> int:
    """Opened until one is refused; half of what the host has. Meanwhile fifty calls at a time are answered."""
    client = running.client
    streams: list[Connection] = []
    try:
        while True:
            stream = client.listen()
            if stream.begin() != 200:
                break
            streams.append(stream)
            assert len(streams) <= running.host.threads
        assert (stream.status, stream.headers["retry-after"]) == (503, "1")
        stream.close()
        together(*[client.canary] * 50)
        assert client.figures()["parked"] == len(streams)
        announce(client, "tools")
        for one in streams:
            first, second = one.message(), one.message()
            assert first is not None
            assert second is not None
            assert second["method"] == "notifications/tools/list_changed"
    finally:
        for one in streams:
            one.close()
    at_rest(client)
    return len(streams)


# ---- Clients that go ----------------------------------------------------------------------------------


def outcome(client: Client, key: str) -> str:
    with client.call("outcome", {"key": key}) as connection:
        return connection.text()


def wait_for_outcome(client: Client, key: str, wanted: Callable[[str], bool]) -> str:
    deadline = Deadline(PATIENCE)
    while not wanted(found := outcome(client, key)):
        assert not deadline.expired, f"the call is still {found!r}"
        threading.Event().wait(0.02)
    return found


def leave(running: HostProcess, *, stream: bool) -> float | None:
    """Go in the middle of a call: the seconds until it was cancelled, or None if it ran to its own end."""
    client = running.client
    key = f"leave {next(_keys)}"
    connection = client.call("linger", {"key": key, "seconds": SILENCE, "stream": stream})
    wait_for_outcome(client, key, lambda found: found == "waits")
    if stream:
        assert connection.begin() == 200
        assert connection.message() is not None
    left = monotonic()
    connection.close()
    found = wait_for_outcome(client, key, lambda found: found not in ("waits", "unknown"))
    seconds = monotonic() - left
    at_rest(client)
    return seconds if found.startswith("cancelled") else None


@capability("a streaming call's client goes")
def a_streaming_call_is_cancelled_when_its_client_goes(running: HostProcess) -> float | None:
    return leave(running, stream=True)


@capability("a silent call's client goes")
def a_silent_call_is_cancelled_when_its_client_goes(running: HostProcess) -> float | None:
    return leave(running, stream=False)


@capability("an idle stream's client goes")
def an_idle_stream_is_freed_when_its_client_goes(running: HostProcess) -> float | None:
    client = running.client
    stream = listening(client)
    assert client.figures()["parked"] == 1
    left = monotonic()
    stream.close()
    at_rest(client)
    return monotonic() - left


@capability("a legacy client comes back")
def a_legacy_call_goes_on_without_its_client(running: HostProcess) -> str:
    client = running.client
    session = client.session()
    with session.call("gated", {"key": "legacy gate"}) as connection:
        assert connection.begin() == 200
        assert connection.message() is not None
        connection.reset()
    with client.call("confirm", {"key": "legacy gate"}) as confirmation:
        assert confirmation.text() == "legacy gate"
    with session.get(Last_Event_ID=connection.last_event_id) as resumed:
        assert resumed.begin() == 200
        assert resumed.text() == "went on"
    session.delete()
    at_rest(client)
    return "yes"
