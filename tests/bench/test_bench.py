"""The bench measures what it says: against peers that behave, lie, die and hang."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from . import drivers
from .__main__ import HTTP_KEYS, STDIO_KEYS, parse_arguments
from .drivers import LEGACY, MODERN, Peer, PeerFailed, Script
from .measures import Plan, add_script, is_sum
from .report import Row, Side, Table, as_json, render

STUB = Path(__file__).parent / "peers" / "stub_server.py"


def program(text: str) -> Peer:
    return Peer([sys.executable, "-c", text])


def test_script_numbers_its_lines_and_is_what_the_revision_asks_for() -> None:
    legacy = Script("tools/list", {}, revision=LEGACY, ids=range(5, 8))
    lines = [json.loads(line) for line in bytes(legacy.data).splitlines()]
    assert [line["id"] for line in lines] == [5, 6, 7]
    assert lines[0] == {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {}}
    assert legacy.offsets[-1] == len(legacy.data)
    modern = Script("tools/list", {}, revision=MODERN, ids=range(1, 2))
    meta = json.loads(bytes(modern.data))["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == MODERN


@pytest.mark.parametrize("depth", [1, 3, 32, 200])
def test_pump_gets_one_answer_to_each_request(depth: int) -> None:
    with Peer([sys.executable, str(STUB)]) as peer:
        pumped = peer.pump(add_script(LEGACY, range(10, 110)), depth=depth).check(is_sum)
    assert len(pumped.ids) == 100
    assert pumped.rate > 0


def test_pump_stops_sending_when_the_time_is_over() -> None:
    with Peer([sys.executable, str(STUB)]) as peer:
        pumped = peer.pump(add_script(LEGACY, range(1000)), depth=8, seconds=0).check(is_sum)
    assert list(pumped.ids) == list(range(8))


def test_pump_refuses_a_window_that_could_block() -> None:
    script = Script("tools/call", {"text": "x" * drivers.WINDOW_BYTES}, revision=LEGACY, ids=range(2))
    with Peer([sys.executable, str(STUB)]) as peer, pytest.raises(ValueError, match="lower the depth"):
        peer.pump(script, depth=1)


def test_a_peer_that_dies_is_told_with_its_stderr() -> None:
    with (
        program("import sys; sys.stdin.readline(); sys.exit('out of cheese')") as peer,
        pytest.raises(PeerFailed, match=r"closed its stdout \(exit status 1\)(.|\n)*out of cheese"),
    ):
        peer.handshake(LEGACY)


def test_a_peer_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "ANSWER_SECONDS", 0.3)
    with (
        program("import sys; sys.stdin.read()") as peer,
        pytest.raises(PeerFailed, match="did not answer in time and was killed"),
    ):
        peer.handshake(LEGACY)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}', "answered wrongly"),
        ('{"jsonrpc":"2.0","id":7,"result":{}}', "other ids"),
    ],
)
def test_a_wrong_answer_is_no_figure(answer: str, complaint: str) -> None:
    with (
        program(f"import sys; sys.stdin.readline(); print('{answer}', flush=True)") as peer,
        pytest.raises(PeerFailed, match=complaint),
    ):
        peer.handshake(LEGACY)


def row(ours: list[float], *theirs: list[float] | None, aim: float | None, more_is_better: bool) -> Row:
    sides = [Side(f"peer {number}", aim, samples) for number, samples in enumerate(theirs)]
    return Row("the title", "/s", more_is_better, sides, ours)


@pytest.mark.parametrize(
    ("aim", "more_is_better", "verdict"),
    [
        (2, True, ">= 2x    met"),
        (11, True, ">= 11x   not met"),
        (4, True, ">= 4x    in 1 of 3 rounds"),
        (10, False, "<= 10x   met"),
        (1, False, "<= 1x    not met"),
        (4, False, "<= 4x    in 2 of 3 rounds"),
        (None, True, ""),
    ],
)
def test_the_verdict_is_given_where_all_rounds_agree(
    aim: float | None, more_is_better: bool, verdict: str
) -> None:
    figures = row([2, 3, 40], [1, 1, 4], aim=aim, more_is_better=more_is_better)
    assert figures.verdict(figures.sides[0]) == verdict


def test_the_table_and_the_raw_figures_show_ratio_and_spread() -> None:
    rows = [row([200, 300, 4000], [100, 100, 100], aim=2, more_is_better=True)]
    tables = [Table("stdio", "ours", rows, {"depth 1": 5000.0})]
    table = render(tables)
    assert "300 /s" in table
    assert "3.00x" in table
    assert "2.00..40.0" in table
    assert "5,000/s at depth 1" in table
    figures = json.loads(as_json(tables, Plan(3, 0.1)))
    assert figures["tables"][0]["figures"][0]["beside"][0]["ratios"] == [2.0, 3.0, 40.0]


def test_each_other_side_has_a_line_and_one_that_does_not_offer_it_says_so() -> None:
    rows = [row([300, 300], [100, 100], None, [600, 600], aim=2, more_is_better=True)]
    tables = [Table("http", "ours", rows)]
    first, second, third = (line for line in render(tables).splitlines() if "peer " in line)
    assert first.startswith("the title")
    assert "300 /s" in first
    assert first.endswith(">= 2x    met")
    assert second.split() == ["peer", "1", "not", "offered"]
    assert "0.50x" in third
    assert third.endswith(">= 2x    not met")
    beside = json.loads(as_json(tables, Plan(2, 0.1)))["tables"][0]["figures"][0]["beside"]
    assert [side["ratios"] for side in beside] == [[3.0, 3.0], None, [0.5, 0.5]]


@pytest.mark.parametrize(
    ("line", "chosen"),
    [
        ("", STDIO_KEYS | HTTP_KEYS),
        ("--stdio", STDIO_KEYS),
        ("--http", HTTP_KEYS),
        ("--only hosts,call", {"hosts", "call"}),
        ("--http --only hosts,call", {"hosts"}),
    ],
)
def test_the_arguments_choose_what_is_measured(line: str, chosen: set[str]) -> None:
    assert parse_arguments(line.split()).only == chosen


@pytest.mark.parametrize("line", ["--only calls", "--http --only call", "--http --stdio", "--rounds 0"])
def test_arguments_that_choose_nothing_are_refused(line: str) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(line.split())


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": '{"result":3}'}]},
        {"content": [{"type": "text", "text": "4"}], "structuredContent": {"result": 3}},
        {"content": [{"type": "text", "text": '{"result":3}'}], "structuredContent": 3},
    ],
)
def test_an_answer_with_less_in_it_is_not_the_same_work(result: dict[str, object]) -> None:
    assert not is_sum(result)
