"""``completion/complete``: suggestions for prompt arguments and template variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mcpref import Auth, Completion, McpServer, PeerError, RequestContext, Roots
from mcpref.testing import connect

from .support import EVERYTHING, VERSIONS, LocalContext, refusal, result

PROMPT = {"type": "ref/prompt", "name": "travel"}
TEMPLATE = {"type": "ref/resource", "uri": "city://{country}/{city}"}
CITIES = {"fr": ["Paris", "Pau", "Lyon"], "no": ["Oslo"]}


@pytest.fixture
def server() -> McpServer:
    server = McpServer("completing")

    @server.prompt
    def travel(country: str, city: str = "", how: str = "") -> str:
        return f"{country} {city} {how}"

    @server.resource("city://{country}/{city}")
    def city_page(country: str, city: str) -> str:
        return city

    @server.resource("city://fixed/one")
    def fixed() -> str:
        return "fixed"

    @server.completion(travel, "country")
    def countries(value: str) -> list[str]:
        return [country for country in CITIES if country.startswith(value)]

    @server.completion("travel", "city")
    def cities(value: str, arguments: Mapping[str, str]) -> list[str]:
        return [c for c in CITIES.get(arguments.get("country", ""), []) if c.startswith(value)]

    @server.completion("city://{country}/{city}", "city")
    def template_cities(ctx: RequestContext, value: str, arguments: Mapping[str, str]) -> Completion:
        return Completion([ctx.protocol_version.value, *arguments.values()], total=77, has_more=True)

    return server


def complete(
    server: McpServer, ref: Mapping[str, Any], name: str, value: str, version: str, **more: object
) -> dict[str, Any]:
    params = {"ref": ref, "argument": {"name": name, "value": value}, **more}
    found = result(server, "completion/complete", params, version=version)["completion"]
    assert isinstance(found, dict)
    return found


@pytest.mark.req("completion.ref-types")
@pytest.mark.parametrize("version", VERSIONS)
def test_suggestions_for_a_prompts_argument(server: McpServer, version: str) -> None:
    assert complete(server, PROMPT, "country", "", version) == {
        "values": ["fr", "no"],
        "total": 2,
        "hasMore": False,
    }
    assert complete(server, PROMPT, "country", "n", version)["values"] == ["no"]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_user_filled_in_already_counts(server: McpServer, version: str) -> None:
    context = {"arguments": {"country": "fr"}}
    assert complete(server, PROMPT, "city", "P", version, context=context)["values"] == ["Paris", "Pau"]
    assert complete(server, PROMPT, "city", "P", version)["values"] == []


@pytest.mark.req(
    "completion.ref-types", "2025-11-25:completion.total-has-more", "2026-07-28:completion.has-more"
)
@pytest.mark.parametrize("version", VERSIONS)
def test_suggestions_for_a_templates_variable(server: McpServer, version: str) -> None:
    context = {"arguments": {"country": "no"}}
    assert complete(server, TEMPLATE, "city", "", version, context=context) == {
        "values": [version, "no"],
        "total": 77,
        "hasMore": True,
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_an_argument_without_a_completer_has_none(server: McpServer, version: str) -> None:
    for ref, name in ((PROMPT, "how"), (TEMPLATE, "country")):
        assert complete(server, ref, name, "x", version) == {"values": [], "total": 0, "hasMore": False}


@pytest.mark.req("completion.max-100", "2026-07-28:completion.has-more")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("count", "more"), [(99, False), (100, False), (101, True), (5000, True)])
def test_at_most_a_hundred_are_sent(version: str, count: int, more: bool) -> None:
    server = McpServer("many")
    server.prompt(lambda word: word, name="p")
    server.completion("p", "word")(lambda value: [str(number) for number in range(count)])
    found = complete(server, {"type": "ref/prompt", "name": "p"}, "word", "", version)
    assert found["values"] == [str(number) for number in range(min(count, 100))]
    assert (found["total"], found["hasMore"]) == (count, more)


@pytest.mark.req("completion.max-100")
def test_a_completion_of_its_own_is_cut_too() -> None:
    server = McpServer("many")
    server.prompt(lambda word: word, name="p")
    server.completion("p", "word")(lambda value: Completion(["x"] * 150))
    found = complete(server, {"type": "ref/prompt", "name": "p"}, "word", "", "2026-07-28")
    assert (len(found["values"]), found["hasMore"]) == (100, True)


@pytest.mark.req(
    "2025-11-25:completion.error-unknown-prompt",
    "2026-07-28:completion.invalid-prompt-32602",
    "2025-11-25:completion.validate",
    "2026-07-28:completion.validate-inputs",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("ref", "name", "named"),
    [
        ({"type": "ref/prompt", "name": "missing"}, "x", "missing"),
        (PROMPT, "planet", "country, city, how"),
        ({"type": "ref/resource", "uri": "none://{x}"}, "x", "none://"),
        (TEMPLATE, "planet", "country, city"),
        ({"type": "ref/resource", "uri": "city://fixed/one"}, "x", "none"),
        ({"type": "ref/tool", "name": "x"}, "x", "ref/prompt"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_not_there_is_refused_by_name(
    server: McpServer, version: str, ref: dict[str, str], name: str, named: str
) -> None:
    params = {"ref": ref, "argument": {"name": name, "value": ""}}
    error = refusal(server, "completion/complete", params, version=version)
    assert error.code == -32602
    assert named in error.message


@pytest.mark.req(
    "2025-11-25:completion.error-missing-args",
    "2026-07-28:completion.missing-args-32602",
    "2025-11-25:completion.validate",
    "2026-07-28:completion.validate-inputs",
)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": PROMPT},
        {"argument": {"name": "country", "value": ""}},
        {"ref": "travel", "argument": {"name": "country", "value": ""}},
        {"ref": {"type": 1}, "argument": {"name": "country", "value": ""}},
        {"ref": {"type": "ref/prompt"}, "argument": {"name": "country", "value": ""}},
        {"ref": {"type": "ref/resource", "name": "x"}, "argument": {"name": "country", "value": ""}},
        {"ref": PROMPT, "argument": {"name": "country"}},
        {"ref": PROMPT, "argument": {"name": "country", "value": 5}},
        {"ref": PROMPT, "argument": {"name": 5, "value": ""}},
        {"ref": PROMPT, "argument": ["country", ""]},
        {"ref": PROMPT, "argument": {"name": "country", "value": ""}, "context": 5},
        {"ref": PROMPT, "argument": {"name": "country", "value": ""}, "context": {"arguments": []}},
    ],
    ids=repr,
)
def test_malformed_params_are_refused(server: McpServer, version: str, params: dict[str, Any]) -> None:
    assert refusal(server, "completion/complete", params, version=version).code == -32602


@pytest.mark.req(
    "2025-11-25:completion.access", "2026-07-28:completion.access-control", "completion.no-disclosure"
)
@pytest.mark.parametrize("version", VERSIONS)
def test_who_may_not_use_an_entry_gets_no_suggestions_for_it(version: str) -> None:
    server = McpServer("guarded")
    ran = []
    server.prompt(lambda word: word, name="p", scopes=["secret"])
    server.resource("s://{word}", name="s", scopes=["secret"])(lambda word: word)

    def words(value: str) -> list[str]:
        ran.append(value)
        return ["classified"]

    for target in ("p", "s://{word}"):
        server.completion(target, "word")(words)
    ctx = LocalContext(version, auth=Auth("ann"))
    for ref in ({"type": "ref/prompt", "name": "p"}, {"type": "ref/resource", "uri": "s://{word}"}):
        params = {"ref": ref, "argument": {"name": "word", "value": ""}}
        error = refusal(server, "completion/complete", params, version=version, ctx=ctx)
        assert error.data == {"requiredScopes": ["secret"]}
    assert ran == []


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_completer_cannot_ask_the_client(server: McpServer, version: str) -> None:
    @server.completion("travel", "how")
    def asks(ctx: RequestContext, value: str) -> list[str]:
        return [root.uri for root in ctx.ask("roots", Roots())]

    with connect(server, version, capabilities=EVERYTHING) as peer:
        with pytest.raises(PeerError) as caught:
            peer.request("completion/complete", {"ref": PROMPT, "argument": {"name": "how", "value": ""}})
        assert caught.value.code == -32600
        assert "completion/complete" in caught.value.message
        assert [message for message in peer.messages if "id" in message] == []


def test_a_completer_must_have_something_to_complete(server: McpServer) -> None:
    with pytest.raises(ValueError, match="neither a prompt nor"):
        server.completion("nothing", "x")(lambda value: [])
    with pytest.raises(ValueError, match="planet"):
        server.completion("travel", "planet")(lambda value: [])
    with pytest.raises(ValueError, match="already"):
        server.completion("travel", "country")(lambda value: [])


def test_a_prompt_that_comes_back_can_be_completed_anew(server: McpServer) -> None:
    server.remove_prompt("travel")
    server.prompt(lambda country: country, name="travel")
    assert complete(server, PROMPT, "country", "", "2026-07-28")["values"] == []
    server.completion("travel", "country")(lambda value: ["new"])
    assert complete(server, PROMPT, "country", "", "2026-07-28")["values"] == ["new"]
