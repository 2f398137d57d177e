"""Which URIs match a template, with which values, and which templates can be matched at all."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcpref.uri_template import MAX_URI_LENGTH, UriTemplate, most_specific_first

#: Values that need no separator to tell them apart: no '-', no '.', no '/', no ','.
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="-./\\,\0"), min_size=1, max_size=8)


class TestMatch:
    @pytest.mark.req("2026-07-28:resources.template-rfc6570")
    @pytest.mark.parametrize(
        ("template", "uri", "values"),
        [
            ("test://static", "test://static", {}),
            ("test://static", "test://static/", None),
            ("test://static", "test://Static", None),
            ("test://template/{id}/data", "test://template/123/data", {"id": "123"}),
            ("test://template/{id}/data", "test://template//data", None),
            ("test://template/{id}/data", "test://template/1/2/data", None),
            ("test://template/{id}/data", "test://template/123/data/", None),
            ("test://template/{id}/data", "xtest://template/123/data", None),
            ("test://{id}", "test://a%20b%2Cc", {"id": "a b,c"}),
            ("test://{id}", "test://a:b@c!$&'()*+,;=d", {"id": "a:b@c!$&'()*+,;=d"}),
            ("test://{id}", "test://%C3%BC", {"id": "ü"}),
            ("test://{id}", "test://a?b", None),
            ("test://{id}", "test://a#b", None),
            ("test://{id}", "test://a+b", {"id": "a+b"}),
            ("test://ü/{id}", "test://%C3%BC/1", {"id": "1"}),
            # Shortest first, up to the literal that follows.
            ("{a}-{b}", "1-2", {"a": "1", "b": "2"}),
            ("{a}-{b}", "1-2-3", {"a": "1", "b": "2-3"}),
            ("{a}-{b}-", "1-2-3-", {"a": "1", "b": "2-3"}),
            ("{a}-{b}", "-1-2", {"a": "-1", "b": "2"}),
            ("{a}-{b}", "1-", None),
            ("{a}-{b}", "-", None),
            ("{a}aa{b}", "aaaaa", {"a": "a", "b": "aa"}),
            ("x{a}x", "xx", None),
            ("x{a}x", "x", None),
            ("xy{a}yx", "xyx", None),
            ("xy{a}{/b}yx", "xyx", None),
            ("ab{x}", "cdx", None),
            ("{x}ab", "xcd", None),
            ("{x,y}", "1,2", {"x": "1", "y": "2"}),
            ("{x,y}", "1", None),
            ("file{.ext}", "file.tar.gz", {"ext": "tar.gz"}),
            ("{name}{.ext}", "report.final.pdf", {"name": "report", "ext": "final.pdf"}),
            ("{.a,b}", ".x.y", {"a": "x", "b": "y"}),
            ("a:{/b,c}", "a:/1/2", {"b": "1", "c": "2"}),
            ("a:{/b,c}", "a:/1/2/3", None),
            ("a:{b}{/c}", "a:1/2", {"b": "1", "c": "2"}),
            # A literal that stands inside an escape does not stand there.
            ("{a}2{b}", "x%202y", {"a": "x ", "b": "y"}),
            ("{a}2{b}", "x%20y", None),
            ("{a}2{b}", "%202x", {"a": " ", "b": "x"}),
            ("{a}0{b}", "%200x", {"a": " ", "b": "x"}),
            ("{a}0{b}", "%41%41x", None),
            ("{+a}2{b}", "x2%20%32y", {"a": "x", "b": " 2y"}),
            ("{a}0", "x%20", None),
            ("{a}0", "x%200", {"a": "x "}),
            # Any characters.
            ("file:///{+path}", "file:///a/b/c.txt", {"path": "a/b/c.txt"}),
            ("file:///{+path}", "file:///", None),
            (
                "proxy://{+url}",
                "proxy://https://example.com/?q=1#top",
                {"url": "https://example.com/?q=1#top"},
            ),
            ("a:{+path}/{name}", "a:1/2/3", {"path": "1/2", "name": "3"}),
            (
                "a:{first}/{+path}/{name}.{ext}",
                "a:1/2/3/4.5.6",
                {"first": "1", "path": "2/3", "name": "4.5", "ext": "6"},
            ),
            ("a:{+path}/edit", "a:1/edit/edit", {"path": "1/edit"}),
            ("a:{+path}/x/{y}", "a:1/2", None),
            ("a:{+path}/{y}", "a:/2", None),
            ("a:{+path}-{y}/{z}", "a:1-2-3", None),
            ("a:{+path}2{b}", "a:x%20%20", None),
            # Several segments.
            ("a:{/path*}", "a:/1/2/3", {"path": "1/2/3"}),
            ("a:{/path*}", "a:/1", {"path": "1"}),
            ("a:{/path*}", "a:", None),
            ("a:{/path*}", "a:/1//2", None),
            ("a:{/path*}", "a:/1/", None),
            ("a:{/path*}/end", "a:/1/2/end", {"path": "1/2"}),
            ("a:{x}{/path*}/end", "a:0/1/2/end", {"x": "0", "path": "1/2"}),
            # Query.
            ("a:b{?q,r}", "a:b", {}),
            ("a:b{?q,r}", "a:b?q=1", {"q": "1"}),
            ("a:b{?q,r}", "a:b?r=2&q=1", {"q": "1", "r": "2"}),
            ("a:b{?q,r}", "a:b?q=", {"q": ""}),
            ("a:b{?q,r}", "a:b?q=a=b/c?d", {"q": "a=b/c?d"}),
            ("a:b{?q,r}", "a:b?q=%26+%3D", {"q": "&+="}),
            ("a:b{?q,r}", "a:b?", None),
            ("a:b{?q,r}", "a:b?q", None),
            ("a:b{?q,r}", "a:b?q=1&q=2", None),
            ("a:b{?q,r}", "a:b?q=1&r=2&q=3", None),
            ("a:b{?q,r}", "a:b?other=1", None),
            ("a:b{?q,r}", "a:b?q=1&", None),
            ("a:b{?q,r}", "a:b?Q=1", None),
            ("a:b{?q}", "a:c?q=1", None),
            ("a:{b}{?q}", "a:1?q=2", {"b": "1", "q": "2"}),
            ("a:{+b}{?q}", "a:1/2?q=3", {"b": "1/2", "q": "3"}),
            ("a:{+b}{?q}", "a:1/2?x=3", None),
            ("a:b?v=1{&q}", "a:b?v=1", {}),
            ("a:b?v=1{&q}", "a:b?v=1&q=2", {"q": "2"}),
            ("a:b?v=1{&q}", "a:b?v=12", None),
            ("a:b?v=1{&q}", "a:b?v=1;q=2", None),
            ("a:b?v=1{&q}", "a:b?w=2&q=1", None),
            ("a:b?v=1{&q}", "a:b?q=2&v=1", None),
            ("a:b?v=1{&q}", "a:b", None),
            ("a:b?v=1{&q}", "a:b?v=1&", None),
            ("a:{b}?v=1{&q}", "a:c?v=1&q=2", {"b": "c", "q": "2"}),
            ("a:b?q={q}&r={r}", "a:b?q=1&r=2", {"q": "1", "r": "2"}),
            # Fragment.
            ("a:b{#f}", "a:b", {}),
            ("a:b{#f}", "a:b#", {"f": ""}),
            ("a:b{#f}", "a:b#c/d", {"f": "c/d"}),
            ("a:b{?q}{#f}", "a:b?q=1#c", {"q": "1", "f": "c"}),
            ("a:b{?q}{#f}", "a:b#c", {"f": "c"}),
            # What is no text of a URI.
            ("a:{b}", "a:b c", None),
            ("a:{b}", "a:ü", None),
            ("a:{b}", "a:%zz", None),
            ("a:{b}", "a:%", None),
            ("a:{b}", "a:\ud800", None),
            ("a:{b}", "", None),
            ("a:{+b}", "a:b\n", None),
        ],
    )
    def test_table(self, template: str, uri: str, values: dict[str, str] | None) -> None:
        assert UriTemplate(template).match(uri) == values

    @pytest.mark.parametrize("template", ["a:{x}", "a:{+x}", "a:{/x*}", "a:b{?x}", "a:b{#x}"])
    @pytest.mark.parametrize("bad", ["%ff", "%C3", "%C0%AE%C0%AE", "%ED%A0%80"])
    def test_a_value_that_is_no_utf8_does_not_match(self, template: str, bad: str) -> None:
        parsed = UriTemplate(template)
        uri = parsed.expand({"x": ["good"] if "*" in template else "good"})
        assert parsed.match(uri) == {"x": "good"}
        assert parsed.match(uri.replace("good", bad)) is None

    def test_limit(self) -> None:
        template = UriTemplate("a:{x}")
        assert template.match("a:" + "b" * (MAX_URI_LENGTH - 2)) == {"x": "b" * (MAX_URI_LENGTH - 2)}
        assert template.match("a:" + "b" * (MAX_URI_LENGTH - 1)) is None

    def test_a_template_for_expansion_only_does_not_match(self) -> None:
        with pytest.raises(ValueError, match="expansion only"):
            UriTemplate("{x}", expand_only=True).match("a")


@pytest.mark.req("2026-07-28:resources.path-traversal")
class TestTraversal:
    @pytest.mark.parametrize(
        "value",
        [
            "..",
            ".",
            "%2e%2e",
            "%2E",
            ".%2e",
            "a%2Fb",
            "%2F",
            "..%2Fetc",
            "%00",
            "a%00b",
            "..%5Cx",
            "a%5C..",
            "%2e%5Cx",
        ],
    )
    @pytest.mark.parametrize("template", ["a:{x}", "a:{x}.txt", "a:b{/x}", "a:{/x*}", "a:{/x*}/end"])
    def test_one_segment_is_one_segment(self, template: str, value: str) -> None:
        parsed = UriTemplate(template)
        uri = parsed.expand({"x": ["good"] if "*" in template else "good"})
        assert parsed.match(uri) == {"x": "good"}
        assert parsed.match(uri.replace("good", value)) is None
        assert UriTemplate(template, allow_traversal=True).match(uri.replace("good", value)) is None

    @pytest.mark.parametrize(
        "value",
        [
            "..",
            "../etc/passwd",
            "a/../b",
            "a/..",
            "%2e%2e/x",
            "a%2F..%2Fb",
            "/etc/passwd",
            "%2Fetc",
            "a%5C..%5Cb",
            "%5Cx",
        ],
    )
    @pytest.mark.parametrize("template", ["a:{+x}", "a:{+x}/end", "a:b{?x}", "a:b{#x}"])
    def test_longer_values_stay_below_their_root(self, template: str, value: str) -> None:
        uri = UriTemplate(template).expand({"x": "good"}).replace("good", value)
        assert UriTemplate(template).match(uri) is None
        allowed = UriTemplate(template, allow_traversal=True).match(uri)
        assert allowed is not None
        assert list(allowed) == ["x"]

    @pytest.mark.parametrize("value", ["a..b", "..a", "a..", "...", ".hidden", "a.", "a/.b", "./a"])
    def test_dots_in_names_are_fine(self, value: str) -> None:
        assert UriTemplate("a:{+x}").match(f"a:{value}") == {"x": value}

    @pytest.mark.parametrize("template", ["a:{x}", "a:{+x}", "a:{/x*}", "a:b{?x}", "a:b{#x}"])
    def test_nul_is_never_fine(self, template: str) -> None:
        uri = UriTemplate(template).expand({"x": ["good"] if "*" in template else "good"})
        for nul in ("%00", "a%00b"):
            assert UriTemplate(template, allow_traversal=True).match(uri.replace("good", nul)) is None

    def test_escapes_are_decoded_once(self) -> None:
        assert UriTemplate("a:{x}").match("a:%252e%252e%252f") == {"x": "%2e%2e%2f"}

    @given(st.text("./\\%25efEFc0", max_size=12))
    def test_whatever_matches_is_below_its_root(self, text: str) -> None:
        for template in ("a:{x}", "a:{+x}", "a:{/x*}", "a:b{?x}"):
            values = UriTemplate(template).match(
                template.split("{")[0] + ("?x=" if "?" in template else "") + text
            )
            if values:
                segments = values["x"].replace("\\", "/").split("/")
                assert ".." not in segments
                assert "+" not in template or not values["x"].startswith(("/", "\\"))
                if template == "a:{x}":
                    assert "/" not in values["x"]


class TestRefused:
    """Templates whose match would be a guess; each complaint names the expression and the remedy."""

    @pytest.mark.parametrize(
        ("template", "complaint"),
        [
            ("{a}{b}", r"nothing stands between '\{b\}' and the variable before it.*put a literal between"),
            ("{+a}{b}", r"nothing stands between '\{b\}'"),
            ("{a}{+b}", r"nothing stands between '\{\+b\}'"),
            ("{/a*}{b}", r"nothing stands between '\{b\}'"),
            ("{+a}/{+b}", "several variables that may hold slashes.*use {x} for all but one"),
            ("{+a}{/b*}", "several variables that may hold slashes"),
            ("{/a*}/x{/b*}", "several variables that may hold slashes"),
            ("{+a,b}", r"'\{\+a,b\}' cannot be matched.*use one variable"),
            ("{#a,b}", r"'\{#a,b\}' cannot be matched.*use one variable"),
            ("{a:3}", r"'\{a:3\}' cannot be matched.*drop the ':'"),
            ("{?a:3}", r"'\{\?a:3\}' cannot be matched"),
            ("{a*}", r"'\{a\*\}' cannot be matched, as only \{/x\*\}.*name each variable"),
            ("{+a*}", r"'\{\+a\*\}' cannot be matched"),
            ("{?a*}", r"'\{\?a\*\}' cannot be matched"),
            ("{/a*,b}", r"'\{/a\*,b\}' cannot be matched"),
            ("{;a}", r"'\{;a\}' cannot be matched; write the parameters as a query"),
            ("{a}/{a}", "'a' stands twice"),
            ("{a}{?a}", "'a' stands twice"),
            ("{a,a}", "'a' stands twice"),
            ("x{?a}/y", "goes on after its query or fragment; put those last"),
            ("x{#a}/y", "goes on after its query or fragment"),
            ("x{#a}{?b}", "goes on after its query or fragment"),
            ("x{?a}{&b}", "goes on after its query or fragment"),
            ("x{?a}{b}", "goes on after its query or fragment"),
            ("x{&a}", r"'\{&a\}' can be matched after a literal query only.*begin the query with \{\?x\}"),
            ("x?q={q}{&a}", r"'\{&a\}' can be matched after a literal query only"),
        ],
    )
    def test_for_matching_but_not_for_expansion(self, template: str, complaint: str) -> None:
        with pytest.raises(ValueError, match=complaint):
            UriTemplate(template)
        assert UriTemplate(template, expand_only=True).variables


TEMPLATES = [
    ("a:{x}", ("x",)),
    ("a://{x}/b/{y}", ("x", "y")),
    ("a:{x}-{y}.{z}", ("x", "y", "z")),
    ("a:{x,y}", ("x", "y")),
    ("a:{.x,y}", ("x", "y")),
    ("a:{/x,y}/c", ("x", "y")),
    ("a:{x}{/y}{.z}", ("x", "y", "z")),
    ("a:{x}{?y,z}", ("x", "y", "z")),
    ("a:{x}?v=1{&y,z}", ("x", "y", "z")),
    ("a:{x}{?y}{#z}", ("x", "y", "z")),
    ("a:{x}ü{y}", ("x", "y")),
]


class TestRoundTrip:
    @pytest.mark.parametrize(("template", "names"), TEMPLATES)
    @given(data=st.data())
    def test_matching_gives_the_values_back(
        self, template: str, names: tuple[str, ...], data: st.DataObject
    ) -> None:
        values: dict[str, Any] = {name: data.draw(PLAIN) for name in names}
        # A fragment keeps the escapes it is given, and the encoded literal can be written in a value.
        assume("%" not in values.get("z", "") or "{#" not in template)
        assume("ü" not in values["x"])
        parsed = UriTemplate(template)
        assert parsed.variables == names
        assert parsed.match(parsed.expand(values)) == values

    @given(st.lists(PLAIN, min_size=1, max_size=5), PLAIN)
    def test_segments(self, segments: list[str], name: str) -> None:
        template = UriTemplate("a:{/path*}/x/{name}")
        uri = template.expand({"path": segments, "name": name})
        assert template.match(uri) == {"path": "/".join(segments), "name": name}

    @given(st.lists(PLAIN, min_size=1, max_size=5), PLAIN)
    def test_reserved(self, segments: list[str], name: str) -> None:
        path = "/".join(segments)
        # Escapes that a reserved value already has are kept, so they come back decoded.
        assume("%" not in path)
        template = UriTemplate("a:{+path}-{name}")
        assert template.match(template.expand({"path": path, "name": name})) == {"path": path, "name": name}


@st.composite
def templates_and_uris(draw: st.DrawFn) -> tuple[str, str, str]:
    """A template of literals and variables, a pattern that says the same, and a URI that is near to them."""
    count = draw(st.integers(1, 4))
    spanning = draw(st.integers(0, 2 * count))  # which variable is {+x}; none if it is past the last
    template = uri = draw(st.text("ab-/", max_size=2))
    pattern = re.escape(template)
    for index in range(count):
        spans = index == spanning
        literal = draw(
            st.text("ab-/", min_size=1, max_size=2) if index < count - 1 else st.text("ab-/", max_size=2)
        )
        template += f"{{{'+' if spans else ''}v{index}}}{literal}"
        # After {+x} the last variable is the shortest, so those before it are greedy.
        text = ".+" if spans else "[^/]+" if index > spanning else "[^/]+?"
        pattern += f"(?P<v{index}>{text}){re.escape(literal)}"
        uri += draw(st.text("ab-/", max_size=4)) + literal
    return template, pattern, draw(st.just(uri) | st.text("ab-/", max_size=14))


class TestAgainstBacktracking:
    """The linear search finds a match exactly where trying every possibility does, and the same one."""

    @settings(max_examples=1000)
    @given(templates_and_uris())
    def test_same_verdict(self, drawn: tuple[str, str, str]) -> None:
        template, pattern, uri = drawn
        found = re.fullmatch(pattern, uri)
        expected = found.groupdict() if found else None
        assert UriTemplate(template, allow_traversal=True).match(uri) == expected


class TestHostile:
    """Inputs on which a backtracking matcher would not come back; that these do is the test."""

    TEMPLATES = (
        "a:{a}/{b}/{c}/{d}/{e}/{f}",
        "a:" + "a/".join(f"{{v{n}}}" for n in range(60)),
        "a:" + "aa".join(f"{{v{n}}}" for n in range(60)),
        "a:{+a}/{b}/{c}/{d}a",
        "a:" + "".join(f"{{v{n}}}a" for n in range(30)) + "{+x}" + "".join(f"a{{w{n}}}" for n in range(30)),
        "a:{/a*}/x",
        "a:{+a}{?" + ",".join(f"q{n}" for n in range(60)) + "}",
        "a:{a}2{b}2{+c}2{d}",
    )

    @pytest.mark.parametrize(
        "unit", ["a/", "a", "/", "aa/a", "%20", "%2", "?", "&q0=", "q0=1&", "..", "%61", "-", "2%22"]
    )
    @pytest.mark.parametrize("end", ["", "!", "/", "\0", "x"])
    def test_it_comes_back(self, unit: str, end: str) -> None:
        uri = "a:" + (unit * MAX_URI_LENGTH)[: MAX_URI_LENGTH - 3] + end
        for template in self.TEMPLATES:
            values = UriTemplate(template).match(uri)
            assert values is None or set(values) <= set(UriTemplate(template).variables)

    @given(st.text(max_size=60), st.text("{}+#./;?&*:,ax1%", max_size=20))
    def test_nothing_but_value_error_comes_of_any_input(self, uri: str, text: str) -> None:
        try:
            template = UriTemplate(text)
        except ValueError:
            assume(False)
        values = template.match(uri)
        assert values is None or set(values) <= set(template.variables)
        template.match(template.expand(dict.fromkeys(template.variables, "v")))


class TestSpecificity:
    @pytest.mark.parametrize(
        ("uri", "templates", "meant"),
        [
            ("a://x/data", ["a://{+any}", "a://{x}/data", "a://x/{y}"], "a://{x}/data"),
            ("a://x/1", ["a://{+any}", "a://{x}/{y}", "a://x/{y}"], "a://x/{y}"),
            ("a://x/data", ["a://{+x}/data", "a://{x}/data"], "a://{x}/data"),
            ("a:/1/end", ["a:{/x*}/end", "a:{/x}/end"], "a:{/x}/end"),
            ("a://1-2", ["a://{x}-{y}", "a://{x}"], "a://{x}-{y}"),
            ("a://x", ["a://{x}{?q,r}", "a://{x}{?q}", "a://{x}"], "a://{x}"),
            ("a://x", ["a://{b}", "a://{a}"], "a://{a}"),
        ],
    )
    def test_the_most_literal_one_is_meant_in_any_order(
        self, uri: str, templates: list[str], meant: str
    ) -> None:
        for order in (templates, templates[::-1]):
            ranked = most_specific_first(map(UriTemplate, order))
            assert next(t.text for t in ranked if t.match(uri) is not None) == meant


def test_repr_shows_the_text() -> None:
    assert repr(UriTemplate("a:{x}")) == "UriTemplate('a:{x}')"
