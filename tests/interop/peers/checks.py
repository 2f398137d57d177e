"""The checks, written once against a small adapter that each client's program supplies.

Results are compared in the wire's own form, so that one check fits clients that name things differently.
"""

import base64
import json

import anyio
from harness import MODERN, Handlers, check, error_of, eventually, expect, same, short, since, text_of

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
RAW = base64.b64encode(bytes(range(256))).decode()
TEXT = 'Zürich — 東京 — Ελλάδα — 👩‍🚀 — \u2028\u2029\x7f\t"quoted" \\ \n new line'


# ---- Connecting and listing ---------------------------------------------------------------------------


@check("connect")
async def connect(peer):
    async with peer.connect() as session:
        same(session.revision, peer.revision, "negotiated revision")
        same(session.server_info["name"], "interop", "server name")
        same(session.server_info["version"], "1.0", "server version")
        same(session.instructions, "Ask me anything.", "instructions")
        for capability in ("tools", "resources", "prompts"):
            expect(capability in session.capabilities, f"capability {capability} is missing")
        same("completions" in session.capabilities, since(peer, "2025-03-26"), "completions capability")


@check("pinned")
async def pinned(peer):
    async with peer.connect(probe=False) as session:
        same(text_of(await session.call("add", {"a": 20})), "42", "sum")


@check("ping")
async def ping(peer):
    async with peer.connect() as session:
        await session.ping()


@check("list-tools")
async def list_tools(peer):
    async with peer.connect() as session:
        tools = {tool["name"]: tool for tool in (await session.list_tools())["tools"]}
    for name in ("add", "forecast", "content", "hold"):
        expect(name in tools, f"{name} is not listed")
    add = tools["add"]
    same(add["inputSchema"]["required"], ["a"], "required arguments")
    same(sorted(add["inputSchema"]["properties"]), ["a", "b"], "arguments")
    same(add["description"], "Add two integers.", "description")
    # What a revision does not know must not be in it.
    wire = {tool["name"]: tool for tool in peer.results("tools/list")[0]["tools"]}
    same("annotations" in wire["add"], since(peer, "2025-03-26"), "annotations on the wire")
    same("title" in wire["add"], since(peer, "2025-06-18"), "title on the wire")
    same("outputSchema" in wire["forecast"], since(peer, "2025-06-18"), "outputSchema on the wire")


# ---- Calling ------------------------------------------------------------------------------------------


@check("call")
async def call(peer):
    async with peer.connect() as session:
        same(text_of(await session.call("add", {"a": 40, "b": 2})), "42", "sum")
        same(text_of(await session.call("add", {"a": 20})), "42", "sum with the default")


@check("structured")
async def structured(peer):
    async with peer.connect() as session:
        await session.list_tools()
        result = await session.call("forecast", {"city": "Oslo", "days": 2})
        wanted = {"city": "Oslo", "highs": [1.5, 2.5], "sunny": True}
        same(result["structuredContent"], wanted, "structured content")
        same(json.loads(text_of(result)), wanted, "its text form")


@check("content")
async def content(peer):
    async with peer.connect() as session:
        blocks = (await session.call("content", {}))["content"]
        same([block["type"] for block in blocks], ["text", "image", "resource", "resource"], "kinds")
        same(blocks[0]["text"], "plain", "text")
        same((blocks[1]["data"], blocks[1]["mimeType"]), (PNG, "image/png"), "image")
        same(blocks[2]["resource"]["text"], "a note", "embedded text")
        same(blocks[3]["resource"]["blob"], RAW, "embedded binary")


@check("audio")
async def audio(peer):
    async with peer.connect() as session:
        block = (await session.call("sound", {}))["content"][0]
        same((block["type"], block["data"], block["mimeType"]), ("audio", RAW, "audio/wav"), "audio")


@check("link")
async def link(peer):
    async with peer.connect() as session:
        block = (await session.call("point", {}))["content"][0]
        same((block["type"], block["uri"]), ("resource_link", "note://shopping"), "link")


@check("unicode")
async def unicode(peer):
    async with peer.connect() as session:
        for text in (TEXT, "", "\x01\x1f"):
            same(text_of(await session.call("echo", {"text": text})), text, "echo")


@check("large")
async def large(peer):
    async with peer.connect() as session:
        text = "0123456789abcdef" * 65536
        expect(text_of(await session.call("echo", {"text": text})) == text, "the megabyte came back changed")


@check("stray-output")
async def stray_output(peer):
    async with peer.connect() as session:
        same(text_of(await session.call("chatter", {})), "quiet on the wire", "result")
        same(text_of(await session.call("add", {"a": 1, "b": 1})), "2", "next call")
    expect(
        all(line.startswith("{") for line in peer.lines("server")), "something else than JSON is on the wire"
    )


@check("tool-error")
async def tool_error(peer):
    async with peer.connect() as session:
        failed = await session.call("refuse", {"why": "out of stock"})
        expect(failed.get("isError"), "a ToolError is no isError result")
        same(failed["content"][0]["text"], "out of stock", "the tool's own words")


@check("no-tool")
async def no_tool(peer):
    async with peer.connect() as session:
        same((await error_of(session.call("nothing", {}))).code, -32602, "code for an unknown tool")


@check("bad-arguments")
async def bad_arguments(peer):
    async with peer.connect() as session:
        wrong = session.call("add", {"a": "forty"})
        if since(peer, "2025-11-25"):
            # From here on they are the model's to read and correct, before that the client's mistake.
            result = await wrong
            expect(result.get("isError"), "wrong arguments are no isError result")
            explained = result["content"][0]["text"]
        else:
            error = await error_of(wrong)
            same(error.code, -32602, "code for wrong arguments")
            explained = error.message
        expect("a" in explained and "integer" in explained, f"not explained: {explained}")


@check("crash")
async def crash(peer):
    async with peer.connect() as session:
        error = await error_of(session.call("crash", {}))
        same(error.code, -32603, "code for a crash")
        same(text_of(await session.call("add", {"a": 1, "b": 1})), "2", "next call")
    expect(
        not any("secret" in line for line in peer.lines("server")), "the crash shows its text to the client"
    )


# ---- While a call runs --------------------------------------------------------------------------------


async def reports_of(peer, **arguments):
    reports = []

    async def on_progress(done, total, message):
        reports.append((done, total, message))

    async with peer.connect() as session:
        result = await session.call("steps", {"count": 3, **arguments}, on_progress=on_progress)
        same(text_of(result), "3 steps", "result")
        await eventually(lambda: len(reports) == 3, f"three reports, not {reports}", seconds=2.0)
    message = "step {}".format if since(peer, "2025-03-26") else lambda number: None
    same(reports, [(number, 3, message(number)) for number in (1, 2, 3)], "reports")


@check("progress")
async def progress(peer):
    await reports_of(peer, linger=0.3)


@check("progress-burst")
async def progress_burst(peer):
    await reports_of(peer)
    methods = [frame.get("method", "result") for frame in peer.frames("server")]
    expect(methods[-1] == "result", "the result was not the last line")


@check("log")
async def log(peer):
    handlers = Handlers(log_level="warning")
    async with peer.connect(handlers) as session:
        await session.call("report", {})
        await eventually(lambda: len(handlers.logs) >= 2, f"two messages, not {handlers.logs}")
        await session.call("add", {"a": 1})
    same([entry["level"] for entry in handlers.logs], ["warning", "error"], "levels")
    same(handlers.logs[1]["data"], {"disk": "full"}, "data")
    same(handlers.logs[1]["logger"], "storage", "logger")


@check("concurrent")
async def concurrent(peer):
    results = []

    async def meet():
        results.append(text_of(await session.call("meet", {"parties": 6})))

    async with peer.connect() as session, anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(meet)
    same(results, ["met"] * 6, "results")


@check("cancel")
async def cancel(peer):
    async with peer.connect() as session:
        await session.call_and_abandon("hold", {})
        with anyio.fail_after(10):
            while (outcome := text_of(await session.call("hold_outcome", {}))) == "holding":
                await anyio.sleep(0.02)
        same(outcome, "cancelled", "what the handler saw")
        same(text_of(await session.call("add", {"a": 1, "b": 1})), "2", "next call")
    if peer.is_http and since(peer, MODERN):
        (held,) = [entry for entry in peer.requests("POST") if entry["headers"].get("Mcp-Name") == "hold"]
        expect(held["closed"], "the client left the stream of its call open")
    else:
        expect(peer.sent("notifications/cancelled"), "the client sent no cancellation")
    (held,) = [frame["id"] for frame in peer.sent("tools/call") if frame["params"]["name"] == "hold"]
    answers = [frame for frame in peer.frames("server") if frame.get("id") == held]
    expect(not answers, f"the cancelled call was answered: {short(answers)}")


# ---- Asking the client --------------------------------------------------------------------------------


def answering(**answer):
    return Handlers(elicit=lambda params: answer)


@check("elicit")
async def elicit(peer):
    handlers = answering(action="accept", content={"sure": True})
    async with peer.connect(handlers) as session:
        same(text_of(await session.call("book", {"city": "Oslo"})), "booked Oslo", "result")
    same(handlers.asked[0]["message"], "Book it?", "question")
    same(handlers.asked[0]["requestedSchema"]["properties"]["sure"]["type"], "boolean", "form")


@check("decline")
async def decline(peer):
    for action in ("decline", "cancel"):
        async with peer.connect(answering(action=action)) as session:
            same(text_of(await session.call("book", {"city": "Oslo"})), f"left it: {action}", "result")


@check("elicit-url")
async def elicit_url(peer):
    handlers = answering(action="accept")
    async with peer.connect(handlers) as session:
        same(text_of(await session.call("pay", {})), "accept", "result")
    same(handlers.asked[0]["mode"], "url", "mode")
    same(handlers.asked[0]["url"], "https://example.com/pay", "url")


@check("rounds")
async def rounds(peer):
    def answer(params):
        chosen = {"From?": {"city": "Oslo"}, "To?": {"city": "Rome"}}[params["message"]]
        return {"action": "accept", "content": chosen}

    handlers = Handlers(elicit=answer)
    async with peer.connect(handlers) as session:
        before = int(text_of(await session.call("drawn", {})))
        same(text_of(await session.call("trip", {})), f"Oslo to Rome, number {before + 1}", "result")
        same(int(text_of(await session.call("drawn", {}))), before + 1, "numbers drawn")
    same([params["message"] for params in handlers.asked], ["From?", "To?"], "questions")


@check("ask-all")
async def ask_all(peer):
    handlers = Handlers(
        elicit=lambda params: {"action": "accept", "content": {"sure": True}},
        sample=lambda params: "a poem",
        roots=lambda: ["file:///work"],
    )
    async with peer.connect(handlers) as session:
        same(text_of(await session.call("survey", {})), "True, a poem, file:///work", "result")


@check("sample")
async def sample(peer):
    handlers = Handlers(sample=lambda params: f"you said {params['messages'][0]['content']['text']}")
    async with peer.connect(handlers) as session:
        same(text_of(await session.call("write", {"topic": "rain"})), "you said rain", "result")
    same(handlers.asked[0]["maxTokens"], 100, "maxTokens")


@check("roots")
async def roots(peer):
    async with peer.connect(Handlers(roots=lambda: ["file:///work", "file:///tmp"])) as session:
        same(text_of(await session.call("where", {})), "file:///work file:///tmp", "result")


@check("undeclared")
async def undeclared(peer):
    async with peer.connect() as session:
        error = await error_of(session.call("write", {"topic": "rain"}))
        same(error.code, -32021 if since(peer, MODERN) else -32600, "code")


# ---- Resources, prompts, completion -------------------------------------------------------------------


@check("resources")
async def resources(peer):
    async with peer.connect() as session:
        listed = {entry["uri"]: entry for entry in (await session.list_resources())["resources"]}
        same(sorted(listed), ["note://shopping", "raw://bytes"], "listed")
        same(listed["note://shopping"]["mimeType"], "text/plain", "MIME type")
        note = (await session.read("note://shopping"))["contents"][0]
        same((note["uri"], note["text"]), ("note://shopping", "milk"), "text")
        raw = (await session.read("raw://bytes"))["contents"][0]
        same((raw["blob"], raw["mimeType"]), (RAW, "application/octet-stream"), "binary")


@check("no-resource")
async def no_resource(peer):
    async with peer.connect() as session:
        error = await error_of(session.read("note://nothing"))
        same(error.code, -32602 if since(peer, MODERN) else -32002, "code for an unknown resource")


@check("templates")
async def templates(peer):
    async with peer.connect() as session:
        listed = [entry["uriTemplate"] for entry in (await session.list_templates())["resourceTemplates"]]
        same(listed, ["weather://{city}/now"], "listed")
        read = (await session.read("weather://S%C3%A3o%20Paulo/now"))["contents"][0]
        same(read["text"], "São Paulo: fine", "read")


@check("prompts")
async def prompts(peer):
    async with peer.connect() as session:
        listed = {entry["name"]: entry for entry in (await session.list_prompts())["prompts"]}
        arguments = {entry["name"]: entry.get("required", False) for entry in listed["plan"]["arguments"]}
        same(arguments, {"city": True, "days": False}, "arguments")
        messages = (await session.get_prompt("plan", {"city": "Oslo", "days": "2"}))["messages"]
        wanted = {"role": "user", "content": {"type": "text", "text": "Plan 2 days in Oslo."}}
        same(messages, [wanted], "messages")
        same((await error_of(session.get_prompt("plan", {}))).code, -32602, "code for a missing argument")


@check("completion")
async def completion(peer):
    async with peer.connect() as session:
        for ref in (
            {"type": "ref/prompt", "name": "plan"},
            {"type": "ref/resource", "uri": "weather://{city}/now"},
        ):
            found = (await session.complete(ref, "city", "O"))["completion"]
            same(found["values"], ["Oslo", "Ottawa"], f"values for {ref['type']}")


# ---- Changes ------------------------------------------------------------------------------------------


async def can_be_told(peer):
    """Wait for the stream that changes come on: clients open it by the way, and nobody tells when it is there."""
    if peer.is_http and not since(peer, MODERN):
        await eventually(lambda: any(entry["status"] for entry in peer.requests("GET")), "a GET stream")


def ended_listening(peer):
    if peer.is_http:
        return any(
            entry["closed"]
            for entry in peer.requests("POST")
            if entry["headers"].get("Mcp-Method") == "subscriptions/listen"
        )
    return peer.sent("notifications/cancelled")


@check("list-changed")
async def list_changed(peer):
    handlers = Handlers()
    method = "notifications/tools/list_changed"
    async with peer.connect(handlers) as session, session.listening(tools=True):
        await can_be_told(peer)
        await session.call("grow", {"name": "sprout"})
        await eventually(lambda: len(handlers.told(method)) == 1, f"{method} after a tool came")
        same(text_of(await session.call("sprout", {})), "sprouted", "the new tool")
        await session.call("shrink", {"name": "sprout"})
        await eventually(lambda: len(handlers.told(method)) == 2, f"{method} after a tool went")
        names = [tool["name"] for tool in (await session.list_tools())["tools"]]
        expect("sprout" not in names, "the removed tool is still listed")


@check("updated")
async def updated(peer):
    handlers = Handlers()
    method = "notifications/resources/updated"
    async with peer.connect(handlers) as session:
        async with session.listening(resources=["note://shopping"]):
            await can_be_told(peer)
            await session.call("touch", {"uri": "raw://bytes"})
            await session.call("touch", {"uri": "note://shopping"})
            await eventually(lambda: handlers.told(method), method)
        if since(peer, MODERN):
            await eventually(lambda: ended_listening(peer), "the client ends its stream")
        await session.call("touch", {"uri": "note://shopping"})
        # A round trip more: whatever was sent before has then arrived.
        await session.call("echo", {"text": "done"})
        same([params["uri"] for params in handlers.told(method)], ["note://shopping"], "updates")


# ---- Leaving ------------------------------------------------------------------------------------------


@check("close")
async def close(peer):
    async with peer.connect() as session:
        await session.list_tools()
    same([entry["status"] for entry in peer.requests("DELETE")], [204], "status of the answer to DELETE")
