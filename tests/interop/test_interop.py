"""The interop harness tells what happened: the tee records all and changes nothing, and no cell gets lost."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder

from mcpref import McpServer, RequestContext
from mcpref.meta import MetaKey

from . import limitations, runner
from .environments import PROJECT_ROOT, SDK2, Environment
from .matrix import CHECKS, CLIENTS, REVISIONS, Check, Client, Limitation, checks_for
from .recording import RecordingApp
from .records import Recorder
from .report import render
from .runner import Cell, run_row

HERE = Path(__file__).parent
META = {
    MetaKey.PROTOCOL_VERSION: REVISIONS[-1],
    MetaKey.CLIENT_CAPABILITIES: {},
    MetaKey.CLIENT_INFO: {"name": "tests", "version": "0"},
}
CALL = next(check for check in CHECKS if check.name == "call")


def tee(frames: Path, server: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "tests.interop.tee", str(frames), sys.executable, "-c", server]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=30, cwd=PROJECT_ROOT)


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tee_copies_bytes_unchanged_and_records_both_sides(tmp_path: Path) -> None:
    frames = tmp_path / "frames"
    sent = b'{"a": "\xc3\xa9"}\n\xff\xfe not UTF-8\n' + b"x" * 300_000 + b"\ncut short"
    echo = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.exit(7)"
    done = tee(frames, echo, sent)
    assert done.stdout == sent
    assert done.returncode == 7
    *lines, last = records(tmp_path / "frames.0.jsonl")
    assert last["exit"] == 7
    for side in ("client", "server"):
        seen = [record for record in lines if record["from"] == side]
        assert [len(record["line"]) for record in seen] == [len('{"a": "é"}'), 18, 300_000, 9]
        assert seen[-1]["cut"] is True


def test_tee_passes_a_signal_on_and_tells_of_it(tmp_path: Path) -> None:
    server = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [
        sys.executable,
        "-m",
        "tests.interop.tee",
        str(tmp_path / "frames"),
        sys.executable,
        "-c",
        server,
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT_ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.terminate()
        assert process.wait(30) == 128 + 15
    assert records(tmp_path / "frames.0.jsonl")[-1]["exit"] == -15


def test_servers_that_share_a_prefix_have_a_record_each(tmp_path: Path) -> None:
    for _ in range(2):
        tee(tmp_path / "frames", "pass", b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frames.0.jsonl", "frames.1.jsonl"]


def post(app: RecordingApp, message: dict[str, Any], **headers: str) -> Iterable[bytes]:
    body = json.dumps(message).encode()
    environ = EnvironBuilder("/mcp", method="POST", data=body, content_type="application/json").get_environ()
    environ["HTTP_ACCEPT"] = "application/json, text/event-stream"
    environ.update({f"HTTP_{name}": value for name, value in headers.items()})
    return app(environ, lambda status, headers, *rest: None)


def test_an_http_server_is_recorded_with_requests_messages_and_ends() -> None:
    server = McpServer("recorded")

    @server.tool
    def two(ctx: RequestContext) -> str:
        ctx.report_progress(1)
        return "done"

    out = io.StringIO()
    app = RecordingApp(server, Recorder(out))
    meta = {**META, "progressToken": 7}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "two", "_meta": meta}}
    body = post(app, call, MCP_PROTOCOL_VERSION=REVISIONS[-1], MCP_METHOD="tools/call", MCP_NAME="two")
    sent = b"".join(body)
    body.close()  # type: ignore[attr-defined]
    app.close()
    asked, status, *messages, closed = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (asked["request"], asked["headers"]["Mcp-Name"], json.loads(asked["line"])) == (
        "POST /mcp",
        "two",
        call,
    )
    assert (status["status"], status["headers"]["Content-Type"]) == (200, "text/event-stream")
    assert [json.loads(message["line"]).get("method", "result") for message in messages] == [
        "notifications/progress",
        "result",
    ]
    assert all(message["line"].encode() in sent for message in messages)
    assert closed["closed"] == "at the end"
    assert {record["on"] for record in (asked, status, *messages, closed)} == {asked["on"]}


def test_every_check_is_implemented_and_none_is_forgotten() -> None:
    source = (HERE / "peers" / "checks.py").read_text()
    implemented = [line.split('"')[1] for line in source.splitlines() if line.startswith("@check(")]
    assert sorted(implemented) == sorted(check.name for check in CHECKS)


def test_a_check_makes_a_cell_only_where_its_feature_exists() -> None:
    names = {revision: {check.name for check in checks_for("stdio", revision)} for revision in REVISIONS}
    assert "elicit" not in names["2025-03-26"]
    assert "elicit" in names["2025-06-18"]
    assert "ping" in names["2025-11-25"]
    assert "ping" not in names["2026-07-28"]
    assert "close" not in names["2025-11-25"]
    assert "close" in {check.name for check in checks_for("http", "2025-11-25")}


class Fake(Environment):
    """An environment that is there already: the interpreter of this test."""

    __slots__ = ()

    def ensure(self) -> Path:
        return Path(sys.executable)


def run_fake(tmp_path: Path, text: str, *names: str) -> dict[str, Cell]:
    program = tmp_path / "client.py"
    program.write_text(text)
    client = Client("fake", Fake("fake", "fake", "1"), program, "stdio", REVISIONS)
    row = run_row(client, "2025-11-25", tmp_path / "frames", frozenset(names))
    return {cell.check.name: cell for cell in row.cells}


def test_a_program_that_dies_fails_the_cells_it_left_out(tmp_path: Path) -> None:
    text = """print('{"check": "call", "ok": true}'); raise SystemExit(3)"""
    cells = run_fake(tmp_path, text, "call", "ping")
    assert cells["call"].verdict == "ok"
    assert cells["ping"].verdict == "FAIL"
    assert "left with status 3" in cells["ping"].reason


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ROW_SECONDS", 0.3)
    cells = run_fake(tmp_path, "import threading; threading.Event().wait()", "call")
    assert "was killed" in cells["call"].reason


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ('{"at": 1, "exit": 0}', ""),
        ('{"at": 1, "exit": 1}', "status 1"),
        ('{"at": 1}', "was killed"),
    ],
)
def test_a_server_that_does_not_leave_by_itself_fails_the_shutdown_cell(
    tmp_path: Path, record: str, reason: str
) -> None:
    text = f"""
import sys
from pathlib import Path
frames = sys.argv[sys.argv.index("--frames") + 1]
Path(frames, "call.0.jsonl").write_text('''{record}''' + "\\n")
print('{{"check": "call", "ok": true}}')
"""
    cell = run_fake(tmp_path, text, "call")["shutdown"]
    assert cell.ok is (not reason)
    assert reason in cell.reason


@pytest.mark.parametrize(("ok", "verdict", "fine"), [(False, "known", True), (True, "stale", False)])
def test_a_limitation_excuses_a_cell_until_it_passes(
    monkeypatch: pytest.MonkeyPatch, ok: bool, verdict: str, fine: bool
) -> None:
    entry = Limitation("sdk2", ("call",), "it cannot count", ("2025-11-25",), ("stdio",))
    monkeypatch.setattr(limitations, "LIMITATIONS", (entry,))
    cell = Cell(CLIENTS[0], "2025-11-25", CALL, ok)
    assert (cell.verdict, cell.is_fine) == (verdict, fine)
    assert Cell(CLIENTS[0], "2025-06-18", CALL, ok=False).verdict == "FAIL"
    assert Cell(CLIENTS[1], "2025-11-25", CALL, ok=False).verdict == "FAIL"


@pytest.mark.parametrize(("ok", "verdict"), [(False, "known"), (True, "ok")])
def test_a_limitation_that_is_a_matter_of_luck_never_gets_stale(
    monkeypatch: pytest.MonkeyPatch, ok: bool, verdict: str
) -> None:
    entry = Limitation("sdk2", ("call",), "it counts on good days", sometimes=True)
    monkeypatch.setattr(limitations, "LIMITATIONS", (entry,))
    assert Cell(CLIENTS[0], "2025-11-25", CALL, ok).verdict == verdict


def test_every_limitation_names_cells_that_exist() -> None:
    for entry in limitations.LIMITATIONS:
        explained = {
            check.name
            for client in CLIENTS
            for revision in client.revisions
            for check in checks_for(client.transport, revision)
            if entry.covers(client, check, revision)
        }
        assert explained == set(entry.checks)


def test_the_table_shows_verdicts_reasons_and_frames(tmp_path: Path) -> None:
    frames = tmp_path / "call.0.jsonl"
    frames.write_text('{"at": 0.1, "from": "client", "line": "{\\"id\\": 1}"}\n{"at": 0.2, "exit": 0}\n')
    old = Check("old", "an old thing", until="2025-11-25")
    cells = [
        Cell(CLIENTS[0], "2026-07-28", CALL, ok=True),
        Cell(CLIENTS[0], "2025-11-25", CALL, ok=False, reason="42 instead of 41", frames=[frames]),
        Cell(CLIENTS[0], "2025-11-25", old, ok=True),
    ]
    table = render(cells)
    assert SDK2.title in table
    assert "42 instead of 41" in table
    assert '-> {"id": 1}' in table
    assert "server left with status 0" in table
    assert "3 cells: 2 ok, 1 FAIL." in table
