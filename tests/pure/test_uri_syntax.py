"""What counts as a URI, and how templates expand: RFC 3986 and RFC 6570."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.uri_syntax import (
    MAX_TEMPLATE_LENGTH,
    MAX_URI_LENGTH,
    MAX_VARIABLES,
    decode_escapes,
    encode_reserved,
    encode_unreserved,
    is_uri_text,
    is_valid_uri,
)
from mcpref.uri_template import UriTemplate

#: RFC: 6570 3.2, which defines its examples over these values.
VALUES: dict[str, Any] = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "keys": {"semi": ";", "dot": ".", "comma": ","},
    "v": "6",
    "x": 1024,
    "y": 768,
    "empty": "",
    "empty_keys": {},
    "undef": None,
}


class TestExpansion:
    @pytest.mark.req("2026-07-28:resources.template-rfc6570")
    @pytest.mark.parametrize(
        ("template", "expanded"),
        [
            # RFC: 6570 3.2.1
            ("{count}", "one,two,three"),
            ("{count*}", "one,two,three"),
            ("{/count}", "/one,two,three"),
            ("{/count*}", "/one/two/three"),
            ("{;count}", ";count=one,two,three"),
            ("{;count*}", ";count=one;count=two;count=three"),
            ("{?count}", "?count=one,two,three"),
            ("{?count*}", "?count=one&count=two&count=three"),
            ("{&count*}", "&count=one&count=two&count=three"),
            # RFC: 6570 3.2.2
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("?{x,empty}", "?1024,"),
            ("?{x,undef}", "?1024"),
            ("?{undef,y}", "?768"),
            ("{var:3}", "val"),
            ("{var:30}", "value"),
            ("{list}", "red,green,blue"),
            ("{keys}", "semi,%3B,dot,.,comma,%2C"),
            ("{keys*}", "semi=%3B,dot=.,comma=%2C"),
            # RFC: 6570 3.2.3
            ("{+half}", "50%25"),
            ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
            ("{+base}index", "http://example.com/home/index"),
            ("{+path}/here", "/foo/bar/here"),
            ("here?ref={+path}", "here?ref=/foo/bar"),
            ("up{+path}{var}/here", "up/foo/barvalue/here"),
            ("{+x,hello,y}", "1024,Hello%20World!,768"),
            ("{+path:6}/here", "/foo/b/here"),
            ("{+keys}", "semi,;,dot,.,comma,,"),
            ("{+keys*}", "semi=;,dot=.,comma=,"),
            # RFC: 6570 3.2.4
            ("{#hello}", "#Hello%20World!"),
            ("foo{#empty}", "foo#"),
            ("foo{#undef}", "foo"),
            ("{#path,x}/here", "#/foo/bar,1024/here"),
            # RFC: 6570 3.2.5
            ("{.who,who}", ".fred.fred"),
            ("{.half,who}", ".50%25.fred"),
            ("www{.dom*}", "www.example.com"),
            ("X{.empty}", "X."),
            ("X{.undef}", "X"),
            ("X{.keys*}", "X.semi=%3B.dot=..comma=%2C"),
            ("X{.empty_keys*}", "X"),
            # RFC: 6570 3.2.6
            ("{/var,x}/here", "/value/1024/here"),
            ("{/var,empty}", "/value/"),
            ("{/var:1,var}", "/v/value"),
            ("{/list*,path:4}", "/red/green/blue/%2Ffoo"),
            # RFC: 6570 3.2.7
            ("{;v,empty,who}", ";v=6;empty;who=fred"),
            ("{;v,bar,who}", ";v=6;who=fred"),
            ("{;hello:5}", ";hello=Hello"),
            ("{;keys*}", ";semi=%3B;dot=.;comma=%2C"),
            # RFC: 6570 3.2.8
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("{?x,y,undef}", "?x=1024&y=768"),
            ("{?var:3}", "?var=val"),
            ("{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"),
            ("{?keys*}", "?semi=%3B&dot=.&comma=%2C"),
            # RFC: 6570 3.2.9
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("{&x,y,empty}", "&x=1024&y=768&empty="),
            # Literals that a URI cannot have are encoded, those it can have are not.
            ("über/{var}", "%C3%BCber/value"),
            ("a%20b'[c]", "a%20b'[c]"),
            ("", ""),
        ],
    )
    def test_examples(self, template: str, expanded: str) -> None:
        assert UriTemplate(template, expand_only=True).expand(VALUES) == expanded

    @pytest.mark.parametrize(
        ("value", "expanded"),
        [(5, "5"), (-1.5, "-1.5"), (True, "true"), (False, "false"), ("50%41", "50%2541")],
    )
    def test_scalars(self, value: Any, expanded: str) -> None:
        assert UriTemplate("{x}").expand({"x": value}) == expanded

    def test_escapes_in_a_reserved_value_stay(self) -> None:
        assert UriTemplate("{+x}").expand({"x": "50%41%"}) == "50%41%25"

    def test_a_prefix_counts_characters_and_not_bytes(self) -> None:
        assert UriTemplate("{x:2}", expand_only=True).expand({"x": "üöä"}) == "%C3%BC%C3%B6"

    def test_a_prefix_of_a_list_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"'\{list:1\}' cuts list to a prefix"):
            UriTemplate("{list:1}", expand_only=True).expand(VALUES)

    def test_half_a_character_is_refused(self) -> None:
        with pytest.raises(ValueError, match="surrogate"):
            UriTemplate("{x}").expand({"x": "\ud800"})


class TestTemplateSyntax:
    @pytest.mark.req("2026-07-28:resources.template-rfc6570")
    @pytest.mark.parametrize(
        ("template", "complaint"),
        [
            ("{", "without its"),
            ("a/{x", "without its"),
            ("a}b", "'}' at position 1"),
            ("{}", "'' where the name of a variable is expected"),
            ("{+}", "where the name"),
            ("{a{b}", "where the name"),
            ("{a b}", "where the name"),
            ("{a,}", "where the name"),
            ("{a-b}", "where the name"),
            ("{.a.}", "where the name"),
            ("{a..b}", "where the name"),
            ("{a:0}", "where the name"),
            ("{a:10000}", "where the name"),
            ("{a:1*}", "where the name"),
            ("{ä}", "where the name"),
            ("{a%2}", "where the name"),
            ("{=a}", "operator '='"),
            ("{|a}", r"operator '\|'"),
            ("{!a}", "operator '!'"),
            ("{@a}", "operator '@'"),
            ("{,a}", "operator ','"),
            ("a b", "' ' at position 1; percent-encode it"),
            ("50%", "'%' at position 2"),
            ("%zz", "'%' at position 0"),
            ("a\nb", "position 1"),
            ('a"b', "position 1"),
            ("a\\b", "position 1"),
            ("a<b", "position 1"),
            ("a\x7f", "position 1"),
            ("a\ud800", "position 1"),
        ],
    )
    def test_malformed_templates_are_refused(self, template: str, complaint: str) -> None:
        with pytest.raises(ValueError, match=complaint):
            UriTemplate(template, expand_only=True)

    @pytest.mark.parametrize("name", ["x", "X_1", "user.name", "%41", "a%20b", "0", "_"])
    def test_names_of_variables(self, name: str) -> None:
        assert UriTemplate(f"{{{name}}}").variables == (name,)

    def test_limits(self) -> None:
        assert (MAX_TEMPLATE_LENGTH, MAX_URI_LENGTH, MAX_VARIABLES) == (8192, 8192, 64)
        assert UriTemplate("a" * 8192).expand({}) == "a" * 8192
        with pytest.raises(ValueError, match="8193 characters; the limit is 8192"):
            UriTemplate("a" * 8193)
        names = [f"v{n}" for n in range(65)]
        assert len(UriTemplate("/".join(f"{{{n}}}" for n in names[:64])).variables) == 64
        for template in ("/".join(f"{{{n}}}" for n in names), "{?" + ",".join(names) + "}"):
            with pytest.raises(ValueError, match="more than 64 variables"):
                UriTemplate(template)


class TestUris:
    @pytest.mark.req(
        "2025-11-25:resources.validate-uri",
        "2026-07-28:resources.validate-uris",
        "2025-11-25:resources.custom-scheme",
        "2026-07-28:resources.custom-scheme-rfc3986",
    )
    @pytest.mark.parametrize(
        "uri",
        [
            # RFC: 3986 1.1.2
            "ftp://ftp.is.co.za/rfc/rfc1808.txt",
            "http://www.ietf.org/rfc/rfc2396.txt",
            "ldap://[2001:db8::7]/c=GB?objectClass?one",
            "mailto:John.Doe@example.com",
            "news:comp.infosystems.www.servers.unix",
            "tel:+1-816-555-1212",
            "telnet://192.0.2.16:80/",
            "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
            # and others
            "test://static-text",
            "test://template/123/data",
            "file:///C:/x",
            "file:///a%20b/%C3%BC?x=1#y",
            "x+y.z-1:a",
            "a:",
            "a:/",
            "a://",
            "a://user:pw@host:99/p",
            "a://host:/p",
            "a:?q/?#f/?",
            "a://[v1.x:y]/",
            "a:b//c",
            "a://h//c",
        ],
    )
    def test_valid(self, uri: str) -> None:
        assert is_valid_uri(uri)
        assert is_uri_text(uri)

    @pytest.mark.req(
        "2025-11-25:resources.validate-uri",
        "2026-07-28:resources.validate-uris",
        "2025-11-25:resources.custom-scheme",
        "2026-07-28:resources.custom-scheme-rfc3986",
    )
    @pytest.mark.parametrize(
        "uri",
        [
            "",
            "a",
            "/path",
            "//host/path",
            "../x",
            ":a",
            "1a:b",
            "a_b:c",
            "ä:b",
            "a b:c",
            "a:b c",
            "a:b\n",
            "a:b\0",
            "a:ü",
            "a:%",
            "a:%2",
            "a:%zz",
            "a:<b>",
            'a:"b"',
            "a:b\\c",
            "a:{b}",
            "a:b|c",
            "a:b^c",
            "a:b`c",
            "a:b#c#d",
            "a:[b]",
            "a:?[",
            "a://[::1",
            "a://[::1]x",
            "a://[zz]/",
            "a://host:port/",
            "a://a@b@c/",
            "a:\ud800",
        ],
    )
    def test_invalid(self, uri: str) -> None:
        assert not is_valid_uri(uri)

    def test_limit(self) -> None:
        assert is_valid_uri("a:" + "b" * (MAX_URI_LENGTH - 2))
        assert not is_valid_uri("a:" + "b" * (MAX_URI_LENGTH - 1))
        assert is_valid_uri("a:bc", max_length=4)
        assert not is_valid_uri("a:bcd", max_length=4)

    @given(st.text(), st.text(), st.text())
    def test_anything_is_valid_once_it_is_encoded(self, host: str, path: str, query: str) -> None:
        host, path, query = (text.encode("utf-8", "ignore").decode() for text in (host, path, query))
        uri = f"x://{encode_unreserved(host)}/{encode_unreserved(path)}?{encode_unreserved(query)}"
        assert is_valid_uri(uri, max_length=10**6)

    @pytest.mark.parametrize("hostile", ["%2", "a@", "[", ":", "//", "%41", "?", "#", "'"])
    def test_hostile_text_is_judged_in_one_pass(self, hostile: str) -> None:
        for prefix in ("a:", "a://", "a://[", "a://u@"):
            for suffix in ("", "\0", "%"):
                text = prefix + hostile * 2000 + suffix
                assert not is_valid_uri(text[:8000] + "\0")


class TestEscapes:
    @given(st.text(st.characters(codec="utf-8")))
    def test_encoding_is_that_of_the_standard_library_and_can_be_undone(self, text: str) -> None:
        assert encode_unreserved(text) == quote(text, safe="")
        assert decode_escapes(encode_unreserved(text)) == text

    @given(st.text(st.characters(codec="utf-8")))
    def test_reserved_encoding_gives_uri_text_and_is_done_once(self, text: str) -> None:
        encoded = encode_reserved(text)
        assert is_uri_text(encoded)
        assert encode_reserved(encoded) == encoded

    @pytest.mark.parametrize("text", ["%ff", "%C3", "%C3a", "%ED%A0%80", "%C0%AF", "%F5%80%80%80"])
    def test_what_is_no_utf8_is_not_decoded(self, text: str) -> None:
        assert decode_escapes(text) is None
