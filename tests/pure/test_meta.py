"""`mcpref.meta`: keys of ``_meta`` and the view over a request's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpref.meta import (
    MetaKey,
    RequestMeta,
    check_extension_id,
    check_user_meta,
    is_allowed_user_meta_key,
    is_baggage,
    is_reserved_meta_prefix,
    is_traceparent,
    is_tracestate,
    is_valid_meta_key,
)
from mcpref.versions import ProtocolVersion

OLD_RULE = [ProtocolVersion.V2024_11_05, ProtocolVersion.V2025_03_26, ProtocolVersion.V2025_06_18]
NEW_RULE = [None, ProtocolVersion.V2025_11_25, ProtocolVersion.V2026_07_28]
ALL = [*OLD_RULE, *NEW_RULE]
MODERN = [None, ProtocolVersion.V2026_07_28]
LEGACY = [*OLD_RULE, ProtocolVersion.V2025_11_25]

SPEC_KEYS = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/serverInfo",
    "io.modelcontextprotocol/related-task",
    "progressToken",
    "traceparent",
    "tracestate",
    "baggage",
]


def test_meta_keys_are_the_specification_s() -> None:
    named = {value for name, value in vars(MetaKey).items() if name.isupper()}
    assert named == set(SPEC_KEYS)


# ----- the grammar


@pytest.mark.parity(91)
@pytest.mark.req(
    "2026-07-28:meta.prefix-format",
    "2026-07-28:meta.prefix-label-format",
    "2026-07-28:meta.name-format",
    "2026-07-28:meta.name-inner-chars",
    "2025-11-25:meta.prefix-form",
    "2025-11-25:meta.label-form",
    "2025-11-25:meta.name-form",
    "2025-11-25:meta.name-interior",
)
@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("name", True),
        ("n", True),
        ("9", True),
        ("a.b-c_d", True),
        ("A-Z.0_9", True),
        ("com.example/name", True),
        ("com.example/", True),
        ("example/name", True),
        ("a/b", True),
        ("c-o-m.ex--ample/x", True),
        ("com.example2/9", True),
        ("", False),
        ("/", False),
        ("/name", False),
        ("com..example/name", False),
        (".com/name", False),
        ("com./name", False),
        ("-com/name", False),
        ("com-/name", False),
        ("1com/name", False),
        ("com.1example/name", False),
        ("com_x/name", False),
        ("com.example/a/b", False),
        ("com.example//", False),
        ("com.example/-a", False),
        ("com.example/a-", False),
        ("com.example/.a", False),
        ("com.example/a.", False),
        ("_a", False),
        ("a_", False),
        ("a b", False),
        ("a\n", False),
        ("com.example/a\n", False),
        ("ä", False),
        ("com.exämple/a", False),
        ("a٣", False),
    ],
)
def test_key_validity(key: str, valid: bool) -> None:
    assert is_valid_meta_key(key) is valid


letters = "abzAZ"
alnum = letters + "09"


def labels(inner: str, first: str) -> st.SearchStrategy[str]:
    return st.one_of(
        st.sampled_from(first),
        st.builds(
            lambda a, b, c: a + b + c,
            st.sampled_from(first),
            st.text(inner, max_size=6),
            st.sampled_from(alnum),
        ),
    )


prefixes = st.lists(labels(alnum + "-", letters), min_size=1, max_size=4).map(".".join)
names = labels(alnum + "-_.", alnum)


@given(prefixes, names)
def test_every_key_of_the_grammar_is_valid(prefix: str, name: str) -> None:
    assert is_valid_meta_key(name)
    assert is_valid_meta_key(f"{prefix}/{name}")
    assert is_valid_meta_key(f"{prefix}/")


@given(st.text(alnum + "-_./ \n", max_size=10))
def test_validity_agrees_with_a_plain_reading_of_the_rules(key: str) -> None:
    def is_label(label: str) -> bool:
        return (
            label[:1] in tuple(letters) and label[-1] in alnum and all(c in alnum or c == "-" for c in label)
            if label
            else False
        )

    prefix, slash, name = key.rpartition("/")
    expected = bool(key) and (not slash or all(map(is_label, prefix.split("."))))
    if name:
        expected = (
            expected and name[0] in alnum and name[-1] in alnum and all(c in alnum + "-_." for c in name)
        )
    assert is_valid_meta_key(key) is expected


def test_a_long_hostile_key_is_judged_at_once() -> None:
    # A pattern that backtracks over each pair of positions would not return from these.
    assert not is_valid_meta_key("a" * 200_000 + "!")
    assert not is_valid_meta_key("a-" * 100_000)
    assert not is_valid_meta_key("a." * 100_000 + "/x")


# ----- reserved prefixes


@pytest.mark.parity(92)
@pytest.mark.req("2026-07-28:meta.prefix-reserved", "2025-11-25:meta.reserved-prefix")
@pytest.mark.parametrize("version", NEW_RULE)
@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("io.modelcontextprotocol/x", True),
        ("dev.mcp/x", True),
        ("org.modelcontextprotocol.api/x", True),
        ("com.mcp.tools/x", True),
        ("com.mcp/", True),
        ("com.example.mcp/x", False),
        ("mcp/x", False),
        ("mcp.dev/x", False),
        ("modelcontextprotocol.io/x", False),
        ("com.mcpx/x", False),
        ("com.example/mcp", False),
        ("mcp", False),
        ("io.modelcontextprotocol", False),
    ],
)
def test_second_label_rule(key: str, reserved: bool, version: ProtocolVersion | None) -> None:
    assert is_reserved_meta_prefix(key, version) is reserved
    assert is_allowed_user_meta_key(key, version) is not reserved


@pytest.mark.parity(93)
@pytest.mark.parametrize("version", OLD_RULE)
@pytest.mark.parametrize(
    ("key", "reserved"),
    [
        ("modelcontextprotocol.io/x", True),
        ("mcp.dev/x", True),
        ("api.modelcontextprotocol.org/x", True),
        ("tools.mcp.com/x", True),
        ("a.b.c.mcp.d/x", True),
        ("com.example.mcp/x", False),
        ("io.modelcontextprotocol/x", False),
        ("dev.mcp/x", False),
        ("mcp/x", False),
        ("com.mcpx.dev/x", False),
        ("com.example/mcp.dev", False),
        ("mcp.dev", False),
    ],
)
def test_any_position_rule(key: str, reserved: bool, version: ProtocolVersion) -> None:
    assert is_reserved_meta_prefix(key, version) is reserved
    assert is_allowed_user_meta_key(key, version) is not reserved


# ----- what a user may attach


@pytest.mark.parity(94)
@pytest.mark.parametrize("version", ALL)
@pytest.mark.parametrize("key", ["", "a b", "/x", "com..example/x", "_x"])
def test_a_malformed_key_is_never_allowed(key: str, version: ProtocolVersion | None) -> None:
    assert not is_allowed_user_meta_key(key, version)
    with pytest.raises(ValueError, match="malformed") as raised:
        check_user_meta({"com.example/fine": 1, key: 2}, version)
    assert repr(key) in str(raised.value)


@pytest.mark.parity(94)
@pytest.mark.parametrize("version", ALL)
def test_the_progress_token_is_nobody_s_own_key(version: ProtocolVersion | None) -> None:
    assert not is_allowed_user_meta_key("progressToken", version)
    with pytest.raises(ValueError, match="'progressToken' is reserved"):
        check_user_meta({"progressToken": 1}, version)


@pytest.mark.parity(94)
@pytest.mark.parametrize("key", ["traceparent", "tracestate", "baggage"])
def test_trace_keys_are_reserved_since_2026(key: str) -> None:
    for version in MODERN:
        assert not is_allowed_user_meta_key(key, version)
    for version in LEGACY:
        assert is_allowed_user_meta_key(key, version)


@pytest.mark.parity(94)
@pytest.mark.parametrize(
    ("key", "allowed_by_new_rule", "allowed_by_old_rule"),
    [
        ("com.example/x", True, True),
        ("x", True, True),
        ("com.example.mcp/x", True, True),
        ("mcp.dev/x", True, False),
        ("io.modelcontextprotocol/x", False, True),
        ("tools.mcp.com/x", False, False),
    ],
)
def test_allowed_is_valid_and_unreserved(
    key: str, allowed_by_new_rule: bool, allowed_by_old_rule: bool
) -> None:
    for version in ALL:
        allowed = allowed_by_new_rule if version in NEW_RULE else allowed_by_old_rule
        assert is_allowed_user_meta_key(key, version) is allowed


@pytest.mark.req("2026-07-28:meta.prefix-reserved", "2025-11-25:meta.reserved-prefix")
def test_a_reserved_prefix_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"'io\.modelcontextprotocol/serverInfo' has a prefix that is reserved"
    ):
        check_user_meta({"io.modelcontextprotocol/serverInfo": {}})


def test_good_user_meta_passes() -> None:
    check_user_meta({})
    check_user_meta({"com.example/a": 1, "note": None, "com.example/": []})
    check_user_meta({"traceparent": "anything"}, ProtocolVersion.V2025_11_25)


@pytest.mark.req("2026-07-28:meta.trace-context-format", "2026-07-28:meta.baggage-format")
@pytest.mark.parametrize("version", MODERN)
def test_trace_context_is_attached_only_in_its_own_format(version: ProtocolVersion | None) -> None:
    good: dict[str, object] = {
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        "tracestate": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
        "baggage": "userId=alice,serverNode=DF%2028",
    }
    check_user_meta(good, version)
    for key in good:
        bad: object
        for bad in ("\n", "not it", 7, None, [1]):
            with pytest.raises(ValueError, match=f"'{key}' is reserved for trace context"):
                check_user_meta({**good, key: bad}, version)


@pytest.mark.req("2026-07-28:version.extension-id-format")
def test_extension_identifiers() -> None:
    check_extension_id("io.modelcontextprotocol/tasks")
    check_extension_id("com.example/")
    with pytest.raises(ValueError, match="'tasks' needs a prefix"):
        check_extension_id("tasks")
    for malformed in ("", "/tasks", "com..example/x", "com.example/a/b", "com.example/_x"):
        with pytest.raises(ValueError, match="is malformed"):
            check_extension_id(malformed)


# ----- W3C formats

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-ff", True),
        (f"01-{TRACE}-{SPAN}-01", True),
        (f"fe-{TRACE}-{SPAN}-01-what-comes-later", True),
        (f"00-{TRACE}-{SPAN}-01-more", False),
        (f"01-{TRACE}-{SPAN}-01more", False),
        (f"ff-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE.upper()}-{SPAN}-01", False),
        (f"00-{'0' * 32}-{SPAN}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE[1:]}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}-1", False),
        (f"00-{TRACE}-{SPAN}", False),
        (f" 00-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}-01\n", False),
        ("", False),
        (None, False),
        (1, False),
    ],
)
def test_traceparent(value: object, valid: bool) -> None:
    assert is_traceparent(value) is valid


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ("congo=t61rcWkgMzE", True),
        ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", True),
        ("a=1 ,\tb=2", True),
        ("", True),
        ("a=1,,b=2, ", True),
        ("fw529a3039@dt=FfhV", True),
        ("0@v=x", True),
        ("a_-*/=x", True),
        ("a=x y!", True),
        (f"{'a' * 256}={'v' * 256}", True),
        (",".join(f"k{n}=v" for n in range(32)), True),
        (",".join(f"k{n}=v" for n in range(33)), False),
        (f"{'a' * 257}=v", False),
        (f"a={'v' * 257}", False),
        ("a=1,a=2", False),
        ("A=1", False),
        ("_a=1", False),
        ("a", False),
        ("a=", False),
        ("=1", False),
        ("a=1=2", False),
        ("a =1", False),
        ("a=é", False),
        ("a=\n", False),
        (None, False),
        (["a=1"], False),
    ],
)
def test_tracestate(value: object, valid: bool) -> None:
    assert is_tracestate(value) is valid


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ("userId=alice,serverNode=DF%2028,isProduction=false", True),
        ("key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=propertyValue", True),
        ("userId =   alice", True),
        ("a=", True),
        ("a=b=c==", True),
        ("a=1;p=", True),
        ("a=1,a=2", True),
        (",".join(["a=1"] * 180), True),
        (",".join(["a=1"] * 181), False),
        ("", False),
        ("a", False),
        ("=1", False),
        ("a=1,", False),
        ("a=1;", False),
        ("a=1;=2", False),
        ("a b=1", False),
        ("a=b c", False),
        ('a="b"', False),
        ("a=b\\c", False),
        ("a=é", False),
        ("ä=1", False),
        ("a=1\n", False),
        (None, False),
        ({}, False),
    ],
)
def test_baggage(value: object, valid: bool) -> None:
    assert is_baggage(value) is valid


# ----- RequestMeta


def test_a_complete_request_meta() -> None:
    raw = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": "t",
        "com.example/own": 1,
    }
    meta = RequestMeta.from_params({"name": "x", "_meta": raw})
    assert meta == RequestMeta("2026-07-28", {"name": "c", "version": "1"}, {"roots": {}}, "debug", "t", raw)
    assert meta.raw is raw


@pytest.mark.parity(118)
@pytest.mark.parametrize(
    "params",
    [None, {}, [], "x", 5, {"_meta": None}, {"_meta": []}, {"_meta": "x"}, {"_meta": {}}, {"meta": {"a": 1}}],
)
def test_no_usable_meta(params: object) -> None:
    assert RequestMeta.from_params(params) == RequestMeta()


@pytest.mark.parity(118)
@pytest.mark.req("meta.reserved-no-assumptions")
@pytest.mark.parametrize(
    ("key", "attribute", "good", "bad"),
    [
        (
            MetaKey.PROTOCOL_VERSION,
            "protocol_version",
            ["2026-07-28", "v999", ""],
            [None, 1, True, {}, ["2026-07-28"]],
        ),
        (MetaKey.CLIENT_INFO, "client_info", [{}, {"name": 5}], [None, "c", 1, [], True]),
        (MetaKey.CLIENT_CAPABILITIES, "client_capabilities", [{}, {"x": None}], [None, "c", 1, [], False]),
        (MetaKey.LOG_LEVEL, "log_level", ["info", "loud"], [None, 3, {}, ["info"], True]),
        (
            MetaKey.PROGRESS_TOKEN,
            "progress_token",
            ["t", "", 0, -1, 2**70],
            [None, True, False, 1.5, 1.0, {}, [1]],
        ),
    ],
)
def test_a_wrong_type_counts_as_absent(
    key: str, attribute: str, good: list[object], bad: list[object]
) -> None:
    for value in good:
        assert getattr(RequestMeta.from_params({"_meta": {key: value}}), attribute) == value
    for value in bad:
        meta = RequestMeta.from_params({"_meta": {key: value}})
        assert meta == RequestMeta(raw={key: value})
        assert getattr(meta, attribute) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parity(118)
@pytest.mark.req("meta.reserved-no-assumptions")
@given(st.dictionaries(st.sampled_from(SPEC_KEYS) | st.text(max_size=3), json_values, max_size=6))
def test_from_params_never_raises_and_never_lies(raw: dict[str, object]) -> None:
    meta = RequestMeta.from_params({"_meta": raw})
    assert type(meta.protocol_version) in (str, type(None))
    assert type(meta.client_info) in (dict, type(None))
    assert type(meta.client_capabilities) in (dict, type(None))
    assert type(meta.log_level) in (str, type(None))
    assert type(meta.progress_token) in (str, int, type(None))
    assert meta.raw == raw or meta.raw is raw


def test_two_empty_views_share_nothing() -> None:
    first, second = RequestMeta.from_params(None), RequestMeta.from_params(None)
    assert first.raw is not second.raw
