"""A WSGI application that does the least a JSON server can: it reads and parses the body, and answers from a tin.

Answers are as large as mcpref's own, with the request's id set in between bytes. What it reaches on a host is
the most that any application which parses its input could reach there. It checks nothing.
"""

import json

import hosting

META = '"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}'
ERA_KEY = "io.modelcontextprotocol/protocolVersion"
SESSION = "b" * 64
STEPS = 10


def _compact(value) -> str:
    return json.dumps(value, separators=(",", ":"))


def _schema(properties, required):
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _integers(*names):
    return _schema({name: {"type": "integer"} for name in names}, list(names))


def _tools():
    yield {
        "name": "add",
        "description": "Add two integers.",
        "inputSchema": _integers("a", "b"),
        "outputSchema": _integers("result"),
    }
    yield {
        "name": "sleep",
        "description": "Sleep, then say so.",
        "inputSchema": _schema({"seconds": {"type": "number"}}, ["seconds"]),
    }
    yield {
        "name": "progress",
        "description": "Report every step as it is made, without waiting in between.",
        "inputSchema": _integers("steps"),
        "outputSchema": _integers("result"),
    }
    arguments = {
        "name": {"type": "string"},
        "count": {"type": "integer", "default": 1},
        "ratio": {"type": "number", "default": 0.5},
        "flag": {"type": "boolean", "default": False},
    }
    for number in range(47):
        yield {
            "name": f"tool_{number:02}",
            "description": "Format the arguments of a call into one line of text.",
            "inputSchema": _schema(arguments, ["name"]),
            "outputSchema": _schema({"text": {"type": "string"}}, ["text"]),
        }


def _sum(result: int) -> str:
    content = [{"type": "text", "text": _compact({"result": result})}]
    return _compact({"content": content, "isError": False, "structuredContent": {"result": result}})[1:-1]


LISTING = '"tools":' + _compact(list(_tools()))
#: What stands behind the id, by method or tool and by whether the request is modern.
TAILS = {
    ("add", False): f"{_sum(3)}}}}}".encode(),
    ("add", True): f"{_sum(3)},{META}}}}}".encode(),
    ("progress", False): f"{_sum(STEPS)}}}}}\n\n".encode(),
    ("progress", True): f"{_sum(STEPS)},{META}}}}}\n\n".encode(),
    ("tools/list", False): f"{LISTING}}}}}".encode(),
    ("tools/list", True): f'{META},"ttlMs":0,"cacheScope":"public",{LISTING}}}}}'.encode(),
    ("initialize", False): (
        b'"protocolVersion":"2025-11-25","capabilities":{"tools":{}},'
        b'"serverInfo":{"name":"bench","version":"1"}}}'
    ),
}
HEAD = b'{"jsonrpc":"2.0","id":%d,"result":{'
STEP = (
    b'data: {"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progressToken":"bench","progress":%d,"total":%d}}\n\n'
)
EVENTS = [STEP % (step, STEPS) for step in range(1, STEPS + 1)]
#: A legacy stream can be resumed, so its events have ids, and the first has nothing else.
IDS = [b"id: 0123456789abcdef.%d\n" % number for number in range(STEPS + 2)]
LEGACY_EVENTS = [
    IDS[0] + b"data: \n\n",
    *(name + event for name, event in zip(IDS[1:-1], EVENTS, strict=True)),
]


def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
    message = json.loads(body)
    if "id" not in message:
        start_response("202 Accepted", [("Content-Length", "0")])
        return []
    params = message["params"]
    what = params["name"] if message["method"] == "tools/call" else message["method"]
    modern = ERA_KEY in params.get("_meta", ())
    answer = HEAD % message["id"] + TAILS[what, modern]
    if what == "progress":
        start_response("200 OK", [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")])
        return _stream(answer, modern)
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))]
    if what == "initialize":
        headers.append(("Mcp-Session-Id", SESSION))
    start_response("200 OK", headers)
    return [answer]


def _stream(answer: bytes, modern: bool):
    if modern:
        yield from EVENTS
        yield b"data: " + answer
    else:
        yield from LEGACY_EVENTS
        yield IDS[-1] + b"data: " + answer


if __name__ == "__main__":
    hosting.main(app)
