"""The page in a real browser, against real servers."""

from __future__ import annotations

import json
import shlex
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from mcpref import McpServer
from mcpref.demo import server as bookshop
from mcpref.headers import check_input_schema_headers, encode_header_value, param_headers
from mcpref.sse import EventDecoder
from mcpref.transport.http_request import HttpRefusal
from tests.page import nasty
from tests.page.served import served
from tests.page.test_page import SITE, links, revisions
from tests.page.webdriver import Browser, eventually, missing
from tests.spec import citations
from tests.threads import until

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
ISBN = "9780201835953"
ENTER = "\ue007"
TAB = "\ue004"

both_eras = pytest.mark.parametrize("revision", [MODERN, LEGACY])


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    reason = missing()
    if reason is not None:
        print(reason)
        pytest.skip(reason)
    with Browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with served(bookshop) as url:
        yield url


@pytest.fixture(scope="module")
def trap() -> Iterator[str]:
    with served(nasty.make()) as url:
        yield url


@pytest.fixture
def page(browser: Browser) -> Iterator[PageDriver]:
    browser.resize(1400, 1000)
    browser.console()
    driver = PageDriver(browser)
    yield driver
    # Leaving ends sessions and calls, before the next test looks at the same server.
    browser.go("about:blank")
    said = [entry for entry in browser.console() if entry["level"] in ("SEVERE", "WARNING")]
    if driver.failures_expected:
        said = [entry for entry in said if entry["source"] != "network"]
    assert said == []


class PageDriver:
    """The page, in the words of a person who uses it."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.failures_expected = False

    def open(self, url: str, revision: str = MODERN) -> None:
        self.browser.go(url)
        self.browser.wait_for_text("#status", f"Connected with {MODERN}")
        if revision != MODERN:
            self.browser.click(f'#revision option[value="{revision}"]')
            self.browser.wait_for_text("#status", f"Connected with {revision} in session")

    def item(self, name: str) -> str:
        """The selector of an entry, opened."""
        css = f'.item[data-name="{name}"]'
        self.browser.find(css)
        if not self.browser.run("return document.querySelector(arguments[0]).open", css):
            self.browser.click(f"{css} > summary")
        self.browser.find(f"{css} .tryout")  # made when it is opened
        return css

    def fill(self, css: str, **values: str) -> None:
        for field, value in values.items():
            self.browser.type(f'{css} [data-field="{field}"]', value)

    def start(self, name: str, **values: str) -> str:
        css = self.item(name)
        self.fill(css, **values)
        self.browser.click(f"{css} .tryout button.primary")
        return css

    def state(self, css: str) -> str:
        return str(
            self.browser.run("return document.querySelector(arguments[0] + ' .run').dataset.state ?? ''", css)
        )

    def end(self, css: str, state: str = "done") -> str:
        """Wait until a call has ended, and give what it shows."""
        ended = ("done", "error", "failed", "cancelled")
        eventually(lambda: self.state(css) in ended, f"the end of {css}")
        shown = self.browser.text(f"{css} .run")
        assert self.state(css) == state, shown
        return shown

    def call(self, name: str, **values: str) -> str:
        return self.end(self.start(name, **values))

    def module(self, script: str, *arguments: object) -> Any:
        """Run a function body with the page's own modules at hand as `wire`, `codec`, `log` and `spec`."""
        head = (
            "const [codec, log, spec] = await Promise.all(['codec', 'log', 'spec'].map("
            "name => import(new URL(name + '.js', document.baseURI))));"
        )
        body = f"const args = arguments; return (async () => {{ {head} {script} }})();"
        return self.browser.run(body, *arguments)

    def rows(self, method: str) -> list[dict[str, Any]]:
        """What the log shows of the last exchange with this method."""
        script = """
            const card = [...document.querySelectorAll('.exchange')]
              .filter((one) => one.dataset.method === arguments[0]).pop();
            return card ? [...card.querySelectorAll('.row')].map((row) => ({
              part: row.dataset.part, of: row.dataset.of ?? '', text: row.querySelector('.what').textContent,
              links: [...row.querySelectorAll('.notes a')].map((link) => link.href),
            })) : [];
        """
        found: list[dict[str, Any]] = self.browser.run(script, method)
        return found

    def check_links(self) -> None:
        """Every link of the log leads to a section that is there."""
        found = self.browser.run("return [...document.querySelectorAll('#wire a')].map((link) => link.href)")
        assert found
        for url in set(found):
            revision, _, place = url.removeprefix(SITE).partition("/")
            path, _, anchor = place.partition("#")
            assert anchor in citations.index()[revision, path], url


def session_of(page: PageDriver) -> str:
    """The session that the page speaks in, as its log shows it."""
    lines = page.browser.run("""
        const cards = document.querySelectorAll('.exchange[data-method="tools/call"]');
        return Object.fromEntries([...cards[0].querySelectorAll('[data-part=request] .headers div')].map(
          (line) => [line.querySelector('dt').textContent, line.querySelector('dd').textContent]));
    """)
    return str(lines["Mcp-Session-Id"])


# The server is on this machine, whatever the environment says of proxies.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


# ---- What is offered ------------------------------------------------------------------------------------


def test_the_page_shows_what_the_server_offers(page: PageDriver, shop: str) -> None:
    page.open(shop)
    browser = page.browser
    assert browser.run("return document.title") == "The demo bookshop"
    assert browser.text("#identity") == "bookshop · version 1.0 · speaks 2026-07-28"
    assert "find_books" in browser.text("#instructions")
    names = browser.run(
        "return [...document.querySelectorAll('.item')].map(e => e.dataset.kind + ' ' + e.dataset.name)"
    )
    assert {"tool find_books", "resource sign", "template book_page", "prompt recommend"} <= set(names)
    methods = browser.run("return [...document.querySelectorAll('.exchange')].map(e => e.dataset.method)")
    assert methods == [
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ]
    assert "inputSchema" in "".join(row["text"] for row in page.rows("tools/list"))


def test_long_lists_come_page_by_page(page: PageDriver) -> None:
    from mcpref import Settings

    server = McpServer("many", settings=Settings(page_size=4))
    for number in range(15):
        server.tool(lambda: "", name=f"tool_{number}")
    with served(server) as url:
        page.open(url)
        page.browser.wait_for_text("#status", "tools 15")
        assert '"cursor"' in "".join(row["text"] for row in page.rows("tools/list"))
        page.browser.type("#filter", "tool_14")
        shown = (
            "return [...document.querySelectorAll('.item')].filter(e => !e.hidden).map(e => e.dataset.name)"
        )
        eventually(lambda: page.browser.run(shown) == ["tool_14"], "one tool left")
        page.browser.go("about:blank")


def test_it_can_be_mounted_under_a_prefix(page: PageDriver) -> None:
    server = McpServer("inner")
    server.tool(lambda: "here", name="ping")
    with served(server, prefix="/some/where", path="/deep/mcp") as url:
        page.open(url.rstrip("/"))
        assert "here" in page.call("ping")
        assert "/some/where/deep/mcp" in page.rows("tools/call")[0]["text"]
        page.browser.go("about:blank")


# ---- Calls ----------------------------------------------------------------------------------------------


@both_eras
def test_a_tool_is_called(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    shown = page.call("find_books", query="mythical")
    assert "The Mythical Man-Month" in shown
    assert f"over {revision}" in shown
    rows = page.rows("tools/call")
    assert [row["part"] for row in rows] == ["request", "sent", "response", "body"]
    assert all(row["links"] for row in rows), "each has its section beside it"
    assert ("Mcp-Name" in rows[0]["text"]) == (revision == MODERN)
    assert ("Mcp-Session-Id" in rows[0]["text"]) == (revision != MODERN)
    page.check_links()


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26"])
def test_older_revisions_are_spoken_too(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    assert "The Mythical Man-Month" in page.call("find_books", query="mythical")
    assert page.browser.text("#identity").endswith(f"agreed on {revision}")
    page.check_links()


@both_eras
def test_progress_moves_before_the_result_is_there(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    css = page.start("take_inventory", seconds="2")
    look = """
        const run = document.querySelector(arguments[0] + ' .run');
        const bar = run.querySelector('progress');
        const events = document.querySelectorAll('#wire [data-of="notifications/progress"]');
        return [bar?.value ?? 0, bar?.max ?? 0, run.querySelector('.result') !== null, events.length];
    """
    seen: list[list[Any]] = []

    def moved() -> bool:
        seen.append(page.browser.run(look, css))
        value, most, has_result, events = seen[-1]
        return 0 < value < most == 4 and not has_result and events > 0

    eventually(moved, "the bar to move while the call runs")
    shown = page.end(css)
    assert "Counted" in shown
    assert "4 of 4" in shown
    assert "warning" in shown
    assert page.browser.run(look, css)[:3] == [4, 4, True]
    rows = page.rows("tools/call")
    assert [row["of"] for row in rows if row["part"] == "event"].count("notifications/message") == 4
    assert all(row["links"] for row in rows)
    page.check_links()


@both_eras
def test_a_call_is_cancelled(page: PageDriver, trap: str, revision: str) -> None:
    nasty.hanging.clear()
    nasty.stopped.clear()
    page.open(trap, revision)
    css = page.start("hang")
    until(nasty.hanging)
    page.browser.wait_for_text(f"{css} .words", "hanging")
    page.browser.click(f"{css} .cancel")
    assert "Cancelled" in page.end(css, "cancelled")
    until(nasty.stopped)
    assert bool(page.rows("notifications/cancelled")) == (revision != MODERN)
    look = (
        "return [...document.querySelectorAll('.exchange[data-method=\"tools/call\"]')].pop().dataset.state"
    )
    eventually(lambda: page.browser.run(look) == "cancelled", "the exchange to end")
    assert page.rows("tools/call")[-1]["links"]
    page.check_links()


def test_a_stream_that_ends_early_is_resumed(page: PageDriver, trap: str) -> None:
    page.open(trap, LEGACY)
    assert "came back" in page.call("leave")
    assert any("Closed before the answer" in row["text"] for row in page.rows("tools/call"))
    resumed = page.rows("GET")
    assert "Last-Event-ID" in resumed[0]["text"]
    assert "came back" in resumed[-1]["text"]
    assert all(row["links"] for row in resumed)
    page.check_links()


def test_a_tool_that_fails_says_so_in_words(page: PageDriver, shop: str) -> None:
    page.open(shop)
    shown = page.end(page.start("order_book", isbn="0"), "error")
    assert "The tool reports an error" in shown
    assert "no book has the ISBN 0" in shown


def test_arguments_are_checked_before_they_are_sent(page: PageDriver, trap: str) -> None:
    page.open(trap)
    css = page.start("nested")
    page.browser.wait_for_text(f"{css} .field-problem", "This is required.")
    page.fill(css, filters="{")
    page.browser.click(f"{css} .tryout button.primary")
    page.browser.wait_for_text(f"{css} .field-problem", "This is not JSON")
    assert page.browser.run("return document.activeElement.dataset.field") == "filters"
    assert page.rows("tools/call") == []
    shown = page.call("nested", filters='{"a": [1, null]}', tags='["x"]')
    assert "{'a': [1, None]} ['x']" in shown


def test_marked_arguments_are_repeated_in_headers(page: PageDriver, trap: str) -> None:
    page.open(trap)
    assert "Köln  7" in page.call("routed", region="Köln ")
    headers = page.rows("tools/call")[0]["text"]
    assert f"Mcp-Param-Region{encode_header_value('Köln ')}" in headers
    assert "Mcp-Param-Number7" in headers


def test_it_works_by_keyboard_alone(page: PageDriver, shop: str) -> None:
    page.open(shop)
    browser = page.browser
    browser.run("document.querySelector('.item[data-name=find_books] > summary').focus()")
    browser.press(ENTER)
    browser.press(TAB)
    browser.press("mythical" + ENTER)
    css = '.item[data-name="find_books"]'
    assert "Brooks" in page.end(css)


# ---- Questions ------------------------------------------------------------------------------------------


@both_eras
def test_a_question_is_accepted(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    css = page.start("order_book", isbn=ISBN)
    page.browser.wait_for_text(f"{css} .question .message", "How many copies of The Mythical Man-Month?")
    page.fill(f"{css} .question", copies="2")
    page.browser.click(f'{css} .question [data-field="gift_wrap"]')
    page.browser.click(f"{css} .question button.primary")
    assert "Ordered 2 of The Mythical Man-Month, gift-wrapped." in page.end(css)
    if revision == MODERN:
        sent = json.loads(page.rows("tools/call")[1]["text"])
        assert sent["params"]["arguments"] == {"isbn": ISBN}
        assert sent["params"]["inputResponses"]["order"]["action"] == "accept"
        assert sent["params"]["requestState"]
    else:
        reply = page.rows("answer to elicitation/create")
        assert json.loads(reply[1]["text"])["result"]["content"] == {"copies": 2, "gift_wrap": True}
        assert "202" in reply[2]["text"]
    page.check_links()


@both_eras
@pytest.mark.parametrize(("place", "action"), [(2, "decline"), (3, "cancel")])
def test_a_question_is_turned_down(
    page: PageDriver, shop: str, revision: str, place: int, action: str
) -> None:
    page.open(shop, revision)
    css = page.start("order_book", isbn=ISBN)
    page.browser.click(f"{css} .question .buttons button:nth-child({place})")
    assert "Nothing was ordered." in page.end(css)
    method = "tools/call" if revision == MODERN else "answer to elicitation/create"
    sent = page.rows(method)[1]["text"]
    assert f'"action": "{action}"' in sent
    assert "content" not in sent


@both_eras
def test_a_call_is_cancelled_while_it_asks(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    css = page.start("order_book", isbn=ISBN)
    page.browser.find(f"{css} .question")
    page.browser.click(f"{css} .cancel")
    page.end(css, "cancelled")
    assert page.browser.all(f"{css} .question") == []


@both_eras
def test_one_question_follows_another(page: PageDriver, trap: str, revision: str) -> None:
    page.open(trap, revision)
    css = page.start("twice")
    for message, place in (("First?", 2), ("After one, second?", 3)):
        page.browser.wait_for_text(f"{css} .question .message", message)
        page.browser.click(f"{css} .question select option:nth-child({place})")
        page.browser.click(f"{css} .question button.primary")
    assert "one and four" in page.end(css)
    ids = page.browser.run("""
        return [...document.querySelectorAll('.exchange[data-method="tools/call"] [data-part="sent"] .what')]
          .map((one) => JSON.parse(one.textContent).id);
    """)
    assert len(set(ids)) == (3 if revision == MODERN else 1), "each round has an id of its own"


def test_questions_of_one_round_are_answered_together(page: PageDriver, trap: str) -> None:
    page.open(trap)
    css = page.start("at_once")
    eventually(lambda: len(page.browser.all(f"{css} .question")) == 2, "both questions")
    page.browser.click(f"{css} .question .buttons button:nth-child(2)")
    eventually(lambda: len(page.browser.all(f"{css} .question")) == 1, "one to be answered")
    assert page.state(css) == "asking"
    page.browser.click(f"{css} .question .buttons button:nth-child(3)")
    assert "a=decline, b=cancel" in page.end(css)


@both_eras
def test_a_form_has_every_kind_of_field(page: PageDriver, trap: str, revision: str) -> None:
    page.open(trap, revision)
    css = page.start("question")
    asked = f"{css} .question"
    page.browser.find(asked)
    page.fill(asked, name="x", mail="nobody")
    page.browser.click(f"{asked} button.primary")
    problems = f"{asked} .field-problem:not([hidden])"
    eventually(lambda: len(page.browser.all(problems)) == 4, "what is wrong with the four fields")
    page.fill(asked, name="Ada", mail="ada@example.com")
    page.browser.click(f'{asked} [data-field="size"] option:nth-child(3)')
    page.browser.click(f'{asked} [data-field="colours"] .option:nth-child(2) input')
    page.browser.run("document.querySelector('.question [data-field=day]').value = '2026-07-28'")
    page.browser.click(f"{asked} button.primary")
    expected = {
        "name": "Ada",
        "mail": "ada@example.com",
        "day": "2026-07-28",
        "size": "l",
        "colours": ["green"],
        "count": 3,
    }
    assert f"accept: {expected!r}" in page.end(css)


@both_eras
def test_the_model_is_asked(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    css = page.start("blurb", isbn=ISBN)
    page.browser.wait_for_text(f"{css} .question .spoken", "Praise the book")
    page.browser.type(f"{css} .question textarea", "Adding people makes it later.")
    page.browser.click(f"{css} .question button.primary")
    assert "Adding people makes it later." in page.end(css)
    page.check_links()


@both_eras
def test_directories_are_asked_for(page: PageDriver, trap: str, revision: str) -> None:
    page.open(trap, revision)
    css = page.start("directories")
    page.browser.type(f"{css} .question textarea", "file:///tmp/a\nfile:///tmp/b")
    page.browser.click(f"{css} .question button.primary")
    assert "file:///tmp/a, file:///tmp/b" in page.end(css)


@both_eras
def test_a_url_is_shown_before_anybody_goes_there(page: PageDriver, trap: str, revision: str) -> None:
    page.open(trap, revision)
    css = page.start("visit")
    browser = page.browser
    assert browser.wait_for_text(f"{css} .address", "login.example.com").startswith(
        "https://login.example.com/start"
    )
    assert browser.text(f"{css} .address strong") == "login.example.com"
    link = browser.run(
        "const link = document.querySelector('.question a'); return [link.rel, link.target, link.href]"
    )
    assert link[:2] == ["noopener noreferrer", "_blank"]
    assert link[2].startswith("https://login.example.com/start")
    # Agreeing opens a window; here only the agreement is looked at.
    browser.run(
        "const a = document.querySelector('.question a'); a.addEventListener('click', e => e.preventDefault());"
    )
    browser.click(f"{css} .question a")
    assert "visit: accept" in page.end(css)


# ---- The rest -------------------------------------------------------------------------------------------


@both_eras
def test_resources_templates_and_prompts(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    assert "Monday to Saturday" in page.call("opening_hours")
    css = page.start("sign")
    page.end(css)
    drawn = "const i = document.querySelector(arguments[0]); return i && i.complete && i.naturalWidth"
    eventually(lambda: page.browser.run(drawn, f"{css} img") == 1, "the picture")
    assert "# The Mythical Man-Month" in page.call("book_page", isbn=ISBN)
    css = page.item("recommend")
    page.fill(css, mood="c")
    options = "return [...document.querySelectorAll(arguments[0] + ' datalist option')].map(e => e.value)"
    eventually(lambda: page.browser.run(options, css) == ["cheerful", "curious"], "suggestions")
    assert "a book about maps. I am in a calm mood" in page.call("recommend", subject="maps", mood="calm")
    page.check_links()


def test_a_linked_resource_is_read_where_it_is_shown(page: PageDriver, shop: str) -> None:
    page.open(shop)
    css = page.item("cover")
    page.browser.click(f'{css} [data-field="kind"] option:nth-child(3)')
    page.call("cover", isbn=ISBN)
    page.browser.click(f"{css} .link button")
    page.browser.wait_for_text(f"{css} .linked .result", "# The Mythical Man-Month")


@both_eras
def test_changes_are_heard_of(page: PageDriver, shop: str, revision: str) -> None:
    page.open(shop, revision)
    browser = page.browser
    browser.click("#listen")
    opened = "subscriptions/listen" if revision == MODERN else "GET"
    eventually(lambda: any(row["part"] == "response" for row in page.rows(opened)), "the stream")
    try:
        shown = page.call("open_annex")
        browser.find('.item[data-name="visit_annex"]')
        assert browser.text('.item[data-name="open_annex"] .run') == shown, "what was shown stays"
    finally:
        page.call("close_annex")
    eventually(lambda: browser.all('.item[data-name="visit_annex"]') == [], "the tool to go")
    browser.click("#listen")
    browser.wait_for_text("#status", "No longer listening.")
    assert browser.run("return document.getElementById('listen').getAttribute('aria-pressed')") == "false"
    page.check_links()


def test_what_was_typed_survives_a_change_of_the_revision(page: PageDriver, shop: str) -> None:
    page.open(shop)
    page.fill(page.item("find_books"), query="algorithms")
    page.browser.click(f'#revision option[value="{LEGACY}"]')
    page.browser.wait_for_text("#status", "in session")
    assert "Cormen" in page.call("find_books")
    page.browser.click(f'#revision option[value="{MODERN}"]')
    page.browser.wait_for_text("#status", f"Connected with {MODERN}")
    eventually(lambda: "204" in "".join(row["text"] for row in page.rows("DELETE")), "the end of the session")


# ---- When things go wrong -------------------------------------------------------------------------------


def test_a_session_that_ended_is_opened_again(page: PageDriver, shop: str) -> None:
    page.failures_expected = True
    page.open(shop, LEGACY)
    page.call("find_books", query="mythical")
    gone = urllib.request.Request(f"{shop}mcp", method="DELETE", headers={"Mcp-Session-Id": session_of(page)})
    with _DIRECT.open(gone, timeout=10) as reply:
        assert reply.status == 204
    assert "Brooks" in page.call("find_books", query="mythical")
    statuses = page.browser.run(
        "return [...document.querySelectorAll('.exchange[data-method=\"tools/call\"] .outcome')]"
        ".map((one) => one.textContent)"
    )
    assert [status[:3] for status in statuses] == ["200", "404", "200"]
    page.check_links()


def test_leaving_the_page_ends_the_session(page: PageDriver, shop: str) -> None:
    page.open(shop, LEGACY)
    page.call("find_books", query="mythical")
    session = session_of(page)
    page.browser.go("about:blank")

    def is_gone() -> bool:
        asked = urllib.request.Request(
            f"{shop}mcp",
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}',
            {"Content-Type": "application/json", "Mcp-Session-Id": session},
        )
        try:
            with _DIRECT.open(asked, timeout=10):
                return False
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code == 404

    eventually(is_gone, "the end of the session")


def test_a_server_that_went_away_is_named_as_such(page: PageDriver) -> None:
    page.failures_expected = True
    server = McpServer("brief")
    server.tool(lambda: "here", name="ping")
    with served(server) as url:
        page.open(url)
        assert "here" in page.call("ping")
    shown = page.end(page.start("ping"), "failed")
    assert "The server cannot be reached" in shown
    assert "start it again" in shown
    page.browser.click("#refresh")
    page.browser.wait_for_text("#problem", "cannot be reached")
    port = int(url.rstrip("/").rpartition(":")[2])
    with served(server, port=port):
        page.browser.click("#problem button")
        page.browser.wait_for_text("#status", "Connected")
        assert page.browser.text("#problem") == ""
        assert "here" in page.call("ping")
        page.browser.go("about:blank")


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "Sign in"), (403, "allowed_hosts"), (406, "Accept"), (503, "Wait")]
)
def test_a_refusal_is_explained(page: PageDriver, status: int, advice: str) -> None:
    page.failures_expected = True

    def nobody(environ: dict[str, Any]) -> None:
        raise HttpRefusal(status, "not today", {"Retry-After": "7", "WWW-Authenticate": "Bearer"})

    with served(McpServer("closed"), principal=nobody) as url:
        page.browser.go(url)
        shown = page.browser.wait_for_text("#problem", advice)
        assert f"The server answered {status}" in shown
        assert "not today" in shown
        assert "wait 7 s" in shown
        assert page.browser.text("#status") == "Not connected."
        page.check_links()
        page.browser.go("about:blank")


# ---- Words that are not markup --------------------------------------------------------------------------


@both_eras
def test_whatever_a_server_says_is_text(page: PageDriver, trap: str, revision: str) -> None:
    page.open(trap, revision)
    browser = page.browser
    browser.run("""
        window.__violations = [];
        document.addEventListener('securitypolicyviolation', (event) => window.__violations.push(event.blockedURI));
    """)
    assert browser.text("#name") == f"Nasty {nasty.SCRIPT}"
    assert browser.run("return document.title") == f"Nasty {nasty.SCRIPT}"
    assert nasty.SCRIPT in browser.text("#instructions")
    css = page.item("echo")
    assert nasty.SCRIPT in browser.text(f"{css} .description")
    assert nasty.IMAGE in browser.text(f"{css} > summary")
    assert json.dumps(nasty.IMAGE)[1:-1] in page.call("echo")
    assert nasty.SCRIPT in page.end(page.start("fail"), "error")
    shown = page.call("kinds")
    assert nasty.SCRIPT in shown
    assert nasty.SCRIPT in page.call(f"{nasty.IMAGE} {nasty.LONG}".replace('"', '\\"'))
    assert nasty.SCRIPT in page.call("prompt", subject="x")
    asked = page.start("question")
    assert nasty.IMAGE in browser.wait_for_text(f"{asked} .message", "Fill this in")
    found = browser.run("""
        return [typeof window.__pwned, window.__violations.length,
                document.querySelectorAll('script').length,
                document.querySelectorAll('img[onerror], [onload], svg').length,
                [...document.querySelectorAll('img')].filter((one) => !one.src.startsWith('data:image/')).length];
    """)
    assert found == ["undefined", 0, 1, 0, 0]


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(page: PageDriver, trap: str, width: int) -> None:
    page.browser.resize(width, 800)
    page.open(trap)
    page.call("echo")
    page.end(page.start("fail"), "error")
    page.call("kinds")
    asked = page.start("question")
    page.browser.find(f"{asked} .question")
    page.browser.run("for (const one of document.querySelectorAll('.item')) one.open = true;")
    eventually(lambda: page.browser.all(".item-body:empty") == [], "every entry to be opened")
    page.browser.run("for (const one of document.querySelectorAll('details')) one.open = true;")
    widths = page.browser.run("return [document.documentElement.scrollWidth, document.body.scrollWidth]")
    assert max(widths) <= width, "what is too wide: " + str(
        page.browser.run(
            "return [...document.querySelectorAll('body *')]"
            ".filter((one) => one.getBoundingClientRect().right > arguments[0])"
            ".slice(0, 5).map(e => e.outerHTML.slice(0, 120))",
            width,
        )
    )


def test_the_log_stays_small(page: PageDriver, trap: str) -> None:
    page.open(trap)
    kept = page.module("""
        const box = document.getElementById('wire');
        const kept = new log.Log(box, document.getElementById('newest'));
        const message = { method: 'x' };
        const facts = { revision: '2026-07-28', verb: 'POST', url: location.href, headers: {}, message };
        for (let i = 0; i < 200; i++) kept.exchange(facts);
        const card = kept.exchange(facts);
        const event = { id: null, event: '', retry: null, data: '1' };
        for (let i = 0; i < 500; i++) card.event(event, message);
        return [box.querySelectorAll('.exchange').length, card.element.querySelectorAll('.row').length,
                card.element.querySelector('.dropped').textContent];
    """)
    assert kept == [80, 102, "400 earlier events are no longer shown."]


# ---- The script against the library ---------------------------------------------------------------------


def test_the_script_shows_the_links_of_the_table(page: PageDriver, shop: str) -> None:
    page.open(shop)
    shown = page.module("""
        return Object.keys(spec.NOTES).flatMap((key) => spec.REVISIONS.map(({ id }) =>
          [key, id, spec.noteFor(key, id).url]).filter((one) => one[2]));
    """)
    assert [tuple(one) for one in shown] == [
        (key, rev, f"{SITE}{rev}/{place}") for key, rev, place in links()
    ]
    offered = page.browser.run("return [...document.querySelectorAll('#revision option')].map(e => e.value)")
    assert offered == revisions()


def test_headers_are_encoded_as_the_library_does(page: PageDriver, shop: str) -> None:
    values = [
        "",
        "plain",
        "a b",
        " a",
        "a ",
        "tab\t",
        "ä",
        "日本",
        "😀",
        "=?base64?x?=",
        "=?base64?=",
        "=?base64?",
        "~",
        "\x7f",
        "a\nb",
    ]
    page.open(shop)
    assert page.module("return args[0].map(codec.encodeHeaderValue)", values) == [
        encode_header_value(v) for v in values
    ]
    assert (
        page.module(
            "try { codec.encodeHeaderValue('a\\ud800'); return 'sent'; } catch (e) { return e.kind; }"
        )
        == "broken"
    )


def test_marks_in_a_schema_are_found_as_the_library_does(page: PageDriver, shop: str) -> None:
    def marked(**more: object) -> dict[str, Any]:
        return {"type": "string", "x-mcp-header": "A", **more}

    schemas: list[dict[str, Any]] = [
        {"properties": {"a": marked()}},
        {"properties": {"a": {"type": "object", "properties": {"b": marked(type="integer")}}}},
        {"properties": {"a": marked(type="number")}},
        {"properties": {"a": marked(), "b": {"type": "boolean", "x-mcp-header": "a"}}},
        {"properties": {"a": {"type": "array", "items": marked()}}},
        {"properties": {"a": {"anyOf": [marked()]}}},
        {"properties": {"a": {"default": marked(), "enum": [marked()]}}},
        {"$defs": {"x": marked()}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "not a token"}}},
        {"properties": {"x-mcp-header": {"type": "string"}}},
        marked(),
    ]
    page.open(shop)
    found = page.module(
        "return args[0].map((one) => { const { headers, problem } = codec.paramHeaders(one);"
        " return [headers.map(({ path, name }) => [path, name]), problem !== '']; })",
        schemas,
    )
    expected = [
        [
            [[list(entry.path), entry.name] for entry in param_headers(schema)],
            check_input_schema_headers(schema) is not None,
        ]
        for schema in schemas
    ]
    assert found == expected


def test_events_are_read_as_the_library_does(page: PageDriver, shop: str) -> None:
    streams = [
        "data: a\n\ndata: b\r\n\r\ndata:c\r\r",
        ": open\nid: 1\nretry: 10\ndata:\n\n",
        "event: x\ndata: 1\ndata: 2\ndata\n\n",
        "data:  two blanks\nunknown: x\nid\n\n",
        "data: ä😀\n\ndata: unfinished\n",
    ]
    page.open(shop)
    for stream in streams:
        decoder = EventDecoder()
        expected = [[event.event, event.data] for event in decoder.feed(stream.encode())]
        for size in (1, 2, 7, len(stream)):
            pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
            found = page.module(
                "const seen = []; const parser = new codec.EventParser("
                "(one) => { if (one.data !== null) seen.push([one.event || 'message', one.data]); }, () => {});"
                "for (const piece of args[0]) parser.push(piece); return seen;",
                pieces,
            )
            assert found == expected, (stream, size)


def test_a_request_is_copied_as_a_command(page: PageDriver, shop: str) -> None:
    page.open(shop)
    message = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": 'it\'s $HOME `x` \\ "q"'}}
    facts = {
        "verb": "POST",
        "url": "http://localhost/mcp?a=b&c",
        "headers": {"Mcp-Name": "o'clock"},
        "message": message,
    }
    command: str = page.module("return log.asCurl(args[0])", facts)
    words = shlex.split(command.replace("\\\n", ""))  # which a shell joins, and shlex does not
    assert words[:5] == ["curl", "-N", "http://localhost/mcp?a=b&c", "-H", "Mcp-Name: o'clock"]
    assert json.loads(words[words.index("-d") + 1]) == message
    page.call("find_books")
    page.browser.click('.exchange[data-method="tools/call"] .copy')
    # A browser that lends no clipboard to the page has the command shown instead.
    shown = "return document.querySelector('.exchange[open] :is(.curl, .copy)').textContent"
    eventually(lambda: page.browser.run(shown).startswith(("curl -N", "Copied")), "the command")
