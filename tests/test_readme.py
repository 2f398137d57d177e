"""The README tells the truth: every block of it is run, on both eras, and every name in it exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from docutils import nodes

from mcpref import McpServer, ProtocolVersion
from mcpref.meta import MetaKey
from mcpref.testing import RecordingContext, connect
from tests.readme import COVERED, ROOT, blocks, commands, covers, document, literals, run, snippet

ERAS = ("2025-11-25", "2026-07-28")
TIMEOUT = 30.0


def server_of(name: str) -> McpServer:
    server = run(name)["server"]
    assert isinstance(server, McpServer)
    return server


def text_of(result: Mapping[str, Any]) -> str:
    (block,) = result["content"]
    assert not result["isError"]
    return str(block["text"])


# ---- The document -----------------------------------------------------------------------------------------


def test_it_is_valid_restructuredtext() -> None:
    assert [message.astext() for message in document().findall(nodes.system_message)] == []


def test_every_block_of_code_has_a_name_and_every_name_a_test() -> None:
    unnamed = [block.text for block in blocks() if block.language != "console" and block.name is None]
    assert unnamed == []
    names = [block.name for block in blocks() if block.name is not None]
    import_module("tests.test_readme_serving")  # it covers some of them
    assert sorted(names) == sorted(COVERED)
    languages = {block.language for block in blocks()}
    assert languages == {"python", "json", "shell", "console", "nginx", "ini"}
    comments = [node.astext() for node in document().findall(nodes.comment)]
    named = [text for text in comments if not text.startswith("hosts-matrix")]
    assert [text.removeprefix("snippet: ") for text in named] == names, "each comment names a block"


def test_the_files_it_names_exist() -> None:
    named = [text for text in literals() if re.fullmatch(r"[\w/]+\.(py|rst)", text)]
    assert len(named) >= 5
    missing = [name for name in named if not any((part / name).is_file() for part in (ROOT, ROOT / "mcpref"))]
    assert missing == []


def test_the_modules_it_names_exist() -> None:
    named = [match[1] for text in literals() if (match := re.fullmatch(r"python -m ([\w.]+)", text))]
    assert named
    places = [ROOT / name.replace(".", "/") for name in named]
    missing = [
        place
        for place in places
        if not (place.with_suffix(".py").is_file() or (place / "__main__.py").is_file())
    ]
    assert missing == []


def test_the_table_lists_every_revision() -> None:
    listed = [row[0].astext() for row in document().findall(nodes.row)]
    assert listed[listed.index("revision") + 1 :] == [version.value for version in ProtocolVersion]


# ---- Commands ---------------------------------------------------------------------------------------------


def test_every_command_is_known() -> None:
    """The last three are run by test_readme_serving.py."""
    assert {command[0] for command in commands()} == {"make", "mcpref", "gunicorn", "MCPREF_THREADS=32"}


def test_make_has_the_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    named = {target for command in commands() if command[0] == "make" for target in command[1:]}
    assert {"run", "test"} <= named <= targets


def test_the_command_is_installed() -> None:
    (found,) = entry_points(group="console_scripts", name="mcpref")
    assert found.value == "mcpref.cli:main"


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize(
    "command", [c for c in commands() if c[0] == "mcpref" and "weather" in c[2]], ids=" ".join
)
def test_mcpref_serves_as_shown(command: list[str], version: str, tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(snippet("server"), encoding="utf-8")
    (tmp_path / "mypackage").mkdir()
    (tmp_path / "mypackage" / "__init__.py").touch()
    (tmp_path / "mypackage" / "weather.py").write_text(snippet("server"), encoding="utf-8")
    if "--http" in command:
        arguments = [part.replace(":8000", ":0") for part in command[1:]]
        with served_over_http(arguments, tmp_path) as url:
            assert_answers_over_http(url)
    else:
        assert_serves_the_weather(command[1:], version, tmp_path)


def assert_answers_over_http(url: str) -> None:
    meta = {MetaKey.PROTOCOL_VERSION: "2026-07-28", MetaKey.CLIENT_CAPABILITIES: {}}
    params = {"name": "forecast", "arguments": {"city": "Oslo"}, "_meta": meta}
    request = Request(
        url,
        json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode(),
        {
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "forecast",
        },
    )
    with urlopen(request, timeout=20) as response:
        assert json.load(response)["result"]["structuredContent"] == {"max": 21.5, "min": 9.0}


@pytest.mark.parametrize("version", ERAS)
def test_the_server_also_runs_as_a_program(version: str, tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(snippet("server"), encoding="utf-8")
    answers = talk([sys.executable, "weather.py"], calls(version), tmp_path)
    assert answers[7]["structuredContent"] == {"max": 21.5, "min": 9.0}


@covers("host")
@pytest.mark.parametrize("version", ERAS)
def test_a_desktop_host_starts_the_server(version: str, tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(snippet("server"), encoding="utf-8")
    config = json.loads(snippet("host"))
    (entry,) = config["mcpServers"].values()
    assert os.path.isabs(entry["command"])
    assert os.path.basename(entry["command"]) == "mcpref"
    arguments = [
        argument.replace("/home/me/weather/weather.py", str(tmp_path / "weather.py"))
        for argument in entry["args"]
    ]
    assert arguments != entry["args"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert_serves_the_weather(arguments, version, elsewhere)


@contextmanager
def served_over_http(arguments: list[str], directory: Path) -> Iterator[str]:
    """The URL of ``mcpref`` serving on a free port; it must end well when it is told to."""
    command = [sys.executable, "-m", "mcpref", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=directory)
    try:
        assert process.stderr is not None
        (url,) = re.findall(r"http://\S+/mcp", process.stderr.readline())
        yield url
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def demo_url() -> Iterator[str]:
    """The demo, served as ``make run`` serves it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (arguments,) = re.findall(r"-m mcpref (serve .*)", makefile)
    with served_over_http(arguments.replace("$(PORT)", "0").split(), ROOT) as url:
        yield url


@covers("curl-modern")
@covers("curl-legacy")
@pytest.mark.parametrize("name", ["curl-modern", "curl-legacy"])
def test_curl_calls_a_tool_of_the_demo(name: str, demo_url: str) -> None:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("curl and bash are not installed here")
    script = snippet(name)
    assert "http://localhost:8000/mcp" in script
    script = script.replace("http://localhost:8000/mcp", demo_url).replace(
        "curl ", "curl --silent --max-time 20 "
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(json.loads(done.stdout)["result"]["content"][0]["text"])
    assert [book["title"] for book in found] == ["The C Programming Language"]


def assert_serves_the_weather(arguments: list[str], version: str, directory: Path) -> None:
    answers = talk([sys.executable, "-m", "mcpref", *arguments], calls(version), directory)
    assert answers[7]["structuredContent"] == {"max": 21.5, "min": 9.0}


def calls(version: str) -> bytes:
    """What a client of this revision writes to call the tool, as lines."""
    call: dict[str, Any] = {"name": "forecast", "arguments": {"city": "Oslo"}}
    lines: list[dict[str, Any]] = []
    if version == "2026-07-28":
        call["_meta"] = {
            MetaKey.PROTOCOL_VERSION: version,
            MetaKey.CLIENT_CAPABILITIES: {},
            MetaKey.CLIENT_INFO: {"name": "test", "version": "1"},
        }
    else:
        hello = {
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        lines.append({"id": 6, "method": "initialize", "params": hello})
        lines.append({"method": "notifications/initialized"})
    lines.append({"id": 7, "method": "tools/call", "params": call})
    return b"".join(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n" for line in lines)


def talk(command: list[str], sent: bytes, directory: Path) -> dict[int, dict[str, Any]]:
    """Start a server, send it lines, close its input; the results by their ids."""
    ended = subprocess.run(
        command, cwd=directory, input=sent, capture_output=True, timeout=TIMEOUT, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stderr == b""
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    return {answer["id"]: answer["result"] for answer in answers}


# ---- Servers ----------------------------------------------------------------------------------------------


@covers("server")
@pytest.mark.parametrize("version", ERAS)
def test_server(version: str) -> None:
    namespace = run("server")
    with connect(namespace["server"], version) as client:
        result = client.call_tool("forecast", {"city": "Oslo", "days": 1})
        assert result["structuredContent"] == {"max": 21.5, "min": 9.0}
        tools = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
    assert tools["forecast"]["description"] == "Forecast for a city."
    assert tools["forecast"]["inputSchema"]["required"] == ["city"]
    assert tools["forecast"]["inputSchema"]["properties"]["days"] == {"type": "integer", "default": 3}
    assert tools["forecast"]["outputSchema"]["additionalProperties"] == {"type": "number"}
    assert list(tools["book"]["inputSchema"]["properties"]) == ["city"], "the context is hidden"
    assert namespace["forecast"]("Oslo") == {"max": 21.5, "min": 9.0}, "the function stays callable"


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"action": "accept", "content": {"sure": True}}, "booked"),
        ({"action": "accept", "content": {"sure": False}}, "left it"),
        ({"action": "decline"}, "left it"),
        ({"action": "cancel"}, "left it"),
    ],
)
def test_server_books_what_the_user_agrees_to(version: str, answer: dict[str, Any], said: str) -> None:
    asked: list[str] = []

    def on_elicit(question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(question["message"])
        return answer

    with connect(server_of("server"), version, on_elicit=on_elicit) as client:
        assert text_of(client.call_tool("book", {"city": "Oslo"})) == said
    assert asked == ["Book a trip to Oslo?"]


@covers("rest")
@pytest.mark.parametrize("version", ERAS)
def test_rest(version: str) -> None:
    with connect(server_of("rest"), version) as client:
        (read,) = client.read_resource("book://42")["contents"]
        assert read == {"uri": "book://42", "mimeType": "text/plain", "text": "The book 42"}
        (message,) = client.get_prompt("recommend", {"subject": "trains"})["messages"]
        assert message["role"] == "user"
        assert message["content"]["text"] == "Recommend a book about trains; I feel curious."
        completed = client.request(
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "recommend"},
                "argument": {"name": "mood", "value": "cu"},
            },
        )
        assert completed["completion"]["values"] == ["curious"]
        (tool,) = client.request("tools/list")["tools"]
        assert (tool["title"], tool["annotations"]) == ("Search", {"readOnlyHint": True})
        words = tool["inputSchema"]["properties"]["words"]
        assert words == {"type": "string", "description": "What to look for", "minLength": 1}
        assert tool["inputSchema"]["properties"]["sort"]["enum"] == ["title", "year"]
        found = client.call_tool("search", {"words": "trains"})
        assert [block["type"] for block in found["content"]] == ["text", "resource_link"]
        assert "structuredContent" not in found
        failed = client.call_tool("search", {"words": "nothing"})
        assert failed["isError"]
        assert failed["content"][0]["text"] == "nothing was found; try other words"
        assert client.call_tool("search", {"words": ""})["isError"], "min_length"


def test_rest_gives_its_instructions() -> None:
    server = server_of("rest")
    with connect(server, "2025-11-25", initialize=False) as client:
        assert client.initialize()["instructions"] == "Search first, then read."
    with connect(server, "2026-07-28") as client:
        assert client.request("server/discover")["instructions"] == "Search first, then read."


@covers("blueprint")
@pytest.mark.parametrize("version", ERAS)
def test_blueprint(version: str) -> None:
    with connect(server_of("blueprint"), version) as client:
        assert [tool["name"] for tool in client.request("tools/list")["tools"]] == ["billing_invoice"]
        assert text_of(client.call_tool("billing_invoice", {"number": 7})) == "Invoice 7"


@covers("wsgi")
@pytest.mark.parametrize(("user", "said"), [("ada", "ada"), (None, "nobody")])
def test_wsgi(user: str | None, said: str) -> None:
    from werkzeug.test import Client

    app = run("wsgi")["app"]
    client = Client(app)
    meta = {MetaKey.PROTOCOL_VERSION: "2026-07-28", MetaKey.CLIENT_CAPABILITIES: {}}
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "whoami", "arguments": {}, "_meta": meta},
    }
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "whoami"}
    environ = {} if user is None else {"REMOTE_USER": user}
    base = "http://mcp.example.com"
    response = client.post("/mcp", base, json=message, headers=headers, environ_overrides=environ)
    assert response.status_code == 200
    assert response.json is not None
    assert response.json["result"]["content"][0]["text"] == said
    assert client.post("/mcp", "http://localhost", json=message, headers=headers).status_code == 403
    assert app.close()


@covers("ask")
@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize("style", [{"tone": "dry"}, {"tone": "dry", "words": 9}, None])
def test_ask(version: str, style: dict[str, Any] | None) -> None:
    asked: list[Mapping[str, Any]] = []

    def on_elicit(question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(question)
        return {"action": "decline"} if style is None else {"action": "accept", "content": style}

    def on_roots(question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(question)
        return {"roots": [{"uri": "file:///home/me", "name": "home"}]}

    def on_sample(question: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(question)
        said = question["messages"][0]["content"]["text"]
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": f"About {said}"}}

    with connect(
        server_of("ask"), version, on_elicit=on_elicit, on_roots=on_roots, on_sample=on_sample
    ) as client:
        said = text_of(client.call_tool("draft", {"topic": "trains"}))
    if style is None:
        assert said == "No draft then."
        assert len(asked) == 2, "both questions of ask_all, and no more"
        return
    assert said == "#1042 for file:///home/me: About trains, dry"
    assert asked[2]["maxTokens"] == style.get("words", 50)


@covers("long")
@pytest.mark.parametrize("version", ERAS)
def test_long(version: str) -> None:
    server = server_of("long")
    wanted = {"progressToken": "p", MetaKey.LOG_LEVEL: "info"}
    with connect(server, version) as client:
        result = client.request("tools/call", {"name": "crunch", "arguments": {"steps": 3}, "_meta": wanted})
        assert text_of(result) == "done"
        progress = [client.next_notification("notifications/progress").params for _ in range(3)]
    assert [(sent or {})["progress"] for sent in progress] == [1, 2, 3]
    assert (progress[2] or {})["message"] == "step 3"
    logged = [sent["params"] for sent in client.messages if sent["method"] == "notifications/message"]
    assert [(sent["level"], sent["data"]) for sent in logged] == [("info", {"step": n}) for n in (1, 2, 3)]


@pytest.mark.parametrize("version", ERAS)
def test_long_work_stops_when_it_is_cancelled(version: str) -> None:
    namespace = run("long")
    with connect(namespace["server"], version) as client:
        many = {"name": "crunch", "arguments": {"steps": 10**6}, "_meta": {"progressToken": "p"}}
        call = client.start("tools/call", many)
        client.next_notification("notifications/progress")
        call.cancel()
        assert client.request("tools/list")["tools"]
        assert client.close(), "no handler is left running"
    ctx = RecordingContext()
    ctx.token.cancel()
    assert namespace["crunch"](ctx) == "stopped"


@covers("application")
@pytest.mark.parametrize("version", ERAS)
def test_application(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace = run("application")
    server = namespace["server"]
    assert server.settings.workers == 16
    with connect(server, version) as client:
        assert text_of(client.call_tool("order", {"number": 1, "what": "tea"})) == "ordered tea"
        again = client.call_tool("order", {"number": 1, "what": "tea"})
        assert again["isError"]
        assert again["content"][0]["text"] == "that order exists already"
        assert text_of(client.call_tool("order", {"number": 2, "what": "milk"})) == "ordered milk"
        connection: sqlite3.Connection = namespace["database"]()
        rows = connection.execute("select id, what from orders order by id").fetchall()
        assert rows == [(1, "tea"), (2, "milk")]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")
    assert capsys.readouterr().out.count("tools/call from mcpref.testing\n") == 3


TESTING = [
    "test_forecast",
    "test_booking_on_an_old_revision",
    "test_booking_on_the_newest",
    "test_the_function_alone",
]


@covers("testing")
@pytest.mark.parametrize("name", TESTING)
def test_testing(name: str) -> None:
    run("server", "testing")[name]()


def test_testing_has_no_other_tests() -> None:
    """What the list above leaves out would not be run."""
    defined = [name for name in run("server", "testing") if name.startswith("test_")]
    assert defined == TESTING
