"""`mcpref.asking`: questions as each revision has them, and answers good and bad."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from mcpref.asking import (
    Ask,
    Elicit,
    ElicitAccepted,
    ElicitCancelled,
    ElicitDeclined,
    ElicitUrl,
    Root,
    Roots,
    Sample,
    question_digest,
    shape_form,
)
from mcpref.errors import InvalidAnswer, InvalidParams, LocalProtocolError
from mcpref.mrtr import InputRequest
from mcpref.versions import ProtocolVersion

V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28 = ProtocolVersion
WITH_FORMS = [V2025_06_18, V2025_11_25, V2026_07_28]
WITHOUT_FORMS = [V2024_11_05, V2025_03_26]

SIGN_IN = "https://example.com/sign-in?flow=7"


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Booking:
    city: str
    nights: int
    size: Size = Size.SMALL
    price: float | None = None
    breakfast: bool = True


class Address(TypedDict):
    street: str
    unit: NotRequired[int]


@dataclass
class Toppings:
    chosen: list[Literal["cheese", "olives", "onions"]]


@dataclass
class Inner:
    a: int


@dataclass
class Nested:
    inner: Inner


@dataclass
class Lists:
    numbers: list[int]


FORM: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "default": "Ada"},
        "age": {"type": "integer", "minimum": 0, "default": 30},
        "sure": {"type": "boolean", "default": True},
        "mail": {"type": "string", "format": "email"},
        "colour": {
            "type": "string",
            "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}],
            "default": "#f00",
        },
    },
    "required": ["name"],
}

MULTIPLE: dict[str, Any] = {
    "type": "object",
    "properties": {"days": {"type": "array", "items": {"type": "string", "enum": ["Mon", "Tue"]}}},
}


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


# ---- Elicit: the question --------------------------------------------------------------------------------


@pytest.mark.parity(54)
@pytest.mark.req(
    "elicitation.form-params", "elicitation.schema-flat", "2025-11-25:elicitation.message-required"
)
@pytest.mark.parametrize("version", [V2025_11_25, V2026_07_28], ids=str)
def test_a_dataclass_becomes_a_flat_form(version: ProtocolVersion) -> None:
    params = Elicit("Where to?", Booking).params(version)
    assert params.keys() == {"message", "requestedSchema"}
    assert params["message"] == "Where to?"
    form = params["requestedSchema"]
    assert form["type"] == "object"
    assert form["required"] == ["city", "nights"]
    kinds = {name: field["type"] for name, field in form["properties"].items()}
    assert kinds == {
        "city": "string",
        "nights": "integer",
        "size": "string",
        "price": "number",
        "breakfast": "boolean",
    }
    assert form["properties"]["size"]["enum"] == ["small", "large"]


@pytest.mark.req("2025-11-25:elicitation.mode-omitted", "2026-07-28:elicitation.mode-omit-form")
@pytest.mark.parametrize("version", WITH_FORMS, ids=str)
def test_a_form_names_no_mode(version: ProtocolVersion) -> None:
    assert "mode" not in Elicit("?", Booking).params(version)


def test_a_typed_dict_becomes_a_form() -> None:
    form = Elicit("Where?", Address).params(V2026_07_28)["requestedSchema"]
    assert form["properties"].keys() == {"street", "unit"}
    assert form["required"] == ["street"]


def test_a_schema_is_sent_as_it_was_written() -> None:
    assert Elicit("?", FORM).params(V2026_07_28)["requestedSchema"] == FORM
    assert Elicit("?", FORM).params(V2025_11_25)["requestedSchema"] == FORM


def test_the_callers_schema_is_not_changed() -> None:
    before = repr(FORM)
    ask = Elicit("?", FORM)
    for version in WITH_FORMS:
        ask.params(version)
    assert repr(FORM) == before


def test_a_list_becomes_a_choice() -> None:
    ask = Elicit("Which?", ["left", "right"])
    form = ask.params(V2026_07_28)["requestedSchema"]
    assert form == {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": ["left", "right"]}},
        "required": ["choice"],
    }


def test_a_list_of_no_choices_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Elicit("Which?", [])


@pytest.mark.req("2025-11-25:elicitation.schema-enums", "2026-07-28:elicitation.schema-enum-forms")
def test_a_choice_of_several_becomes_an_array() -> None:
    field = Elicit("?", Toppings).params(V2026_07_28)["requestedSchema"]["properties"]["chosen"]
    assert field["type"] == "array"
    assert field["items"] == {"type": "string", "enum": ["cheese", "olives", "onions"]}


@pytest.mark.parity(54)
@pytest.mark.req("elicitation.schema-flat")
@pytest.mark.parametrize("form", [Nested, Lists, int, str], ids=lambda form: form.__name__)
def test_a_type_that_is_no_flat_form_is_refused(form: type) -> None:
    with pytest.raises(TypeError):
        Elicit("?", form)


@pytest.mark.req("elicitation.schema-flat", "elicitation.schema-formats")
@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({}, id="empty"),
        pytest.param({"type": "string"}, id="no-object"),
        pytest.param({"type": "object"}, id="no-properties"),
        pytest.param({"type": "object", "properties": {"a": {"type": "object"}}}, id="nested"),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "#/x"}}}, id="ref"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
            id="array-of-numbers",
        ),
        pytest.param({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, id="two-types"),
        pytest.param(
            {"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}}, id="other-format"
        ),
        pytest.param({"type": "object", "properties": {}, "allOf": []}, id="composition"),
        pytest.param({"type": "object", "properties": {}, "required": ["a"]}, id="unknown-required"),
    ],
)
def test_a_schema_that_is_no_flat_form_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Elicit("?", schema)


@pytest.mark.parametrize("version", WITHOUT_FORMS, ids=str)
@pytest.mark.parametrize("ask", [Elicit("?", Booking), ElicitUrl("?", SIGN_IN)], ids=["form", "url"])
def test_the_oldest_revisions_have_no_elicitation(ask: Ask[Any], version: ProtocolVersion) -> None:
    with pytest.raises(LocalProtocolError, match=version.value):
        ask.params(version)


# ---- Elicit: the form of 2025-06-18 ----------------------------------------------------------------------


def test_the_form_of_2025_06_18_has_no_titled_choices_nor_defaults_but_booleans() -> None:
    assert shape_form(FORM, V2025_06_18) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 2},
            "age": {"type": "integer", "minimum": 0},
            "sure": {"type": "boolean", "default": True},
            "mail": {"type": "string", "format": "email"},
            "colour": {"type": "string", "enum": ["#f00", "#00f"], "enumNames": ["Red", "Blue"]},
        },
        "required": ["name"],
    }


def test_the_form_of_2025_06_18_has_no_choice_of_several() -> None:
    with pytest.raises(LocalProtocolError, match="days"):
        Elicit("?", MULTIPLE).params(V2025_06_18)


@pytest.mark.parametrize("version", [V2025_11_25, V2026_07_28], ids=str)
@pytest.mark.parametrize("form", [FORM, MULTIPLE], ids=["titled", "multiple"])
def test_later_forms_are_left_as_they_are(form: dict[str, Any], version: ProtocolVersion) -> None:
    assert shape_form(form, version) is form


def test_a_plain_choice_keeps_its_enum_on_2025_06_18() -> None:
    form = Elicit("Which?", ["left", "right"]).params(V2025_06_18)["requestedSchema"]
    assert form["properties"] == {"choice": {"type": "string", "enum": ["left", "right"]}}


# ---- Elicit: the answer ----------------------------------------------------------------------------------


@pytest.mark.req("2025-11-25:elicitation.handle-actions", "2026-07-28:elicitation.server-handles-actions")
@pytest.mark.parametrize(
    "extra", [{}, {"content": None}, {"content": {}}, {"content": {"city": 1}}], ids=repr
)
@pytest.mark.parametrize("ask", [Elicit("?", Booking), Elicit("?", ["a"]), ElicitUrl("?", SIGN_IN)])
def test_decline_and_cancel_need_no_content(ask: Ask[Any], extra: dict[str, Any]) -> None:
    assert ask.parse({"action": "decline", **extra}) == ElicitDeclined()
    assert ask.parse({"action": "cancel", **extra}) == ElicitCancelled()


def test_what_stands_beside_a_refusal_is_not_looked_at() -> None:
    assert Elicit("?", Booking).parse({"action": "decline", "content": "no thanks"}).action == "decline"


def test_an_accepted_dataclass_is_an_instance() -> None:
    answer = Elicit("?", Booking).parse(accepted(city="Oslo", nights=3, size="large"))
    assert answer == ElicitAccepted(Booking("Oslo", 3, Size.LARGE))
    assert answer.action == "accept"
    assert isinstance(answer.content, Booking)
    assert answer.content.size is Size.LARGE
    assert answer.content.price is None


def test_a_whole_float_is_an_integer_and_a_whole_number_a_float() -> None:
    answer = Elicit("?", Booking).parse(accepted(city="Oslo", nights=3.0, price=2))
    assert isinstance(answer.content, Booking)
    assert (type(answer.content.nights), type(answer.content.price)) == (int, float)


def test_an_accepted_typed_dict_is_a_dict() -> None:
    assert Elicit("?", Address).parse(accepted(street="Main")) == ElicitAccepted({"street": "Main"})


def test_an_accepted_schema_is_a_dict_of_what_was_asked() -> None:
    answer = Elicit("?", FORM).parse(accepted(name="Bo", colour="#00f", injected="x"))
    assert answer == ElicitAccepted({"name": "Bo", "colour": "#00f"})


def test_an_accepted_choice_is_its_text() -> None:
    assert Elicit("Which?", ["left", "right"]).parse(accepted(choice="left")) == ElicitAccepted("left")


def test_an_accepted_choice_of_several_is_a_list() -> None:
    answer = Elicit("?", Toppings).parse(accepted(chosen=["olives"]))
    assert answer == ElicitAccepted(Toppings(["olives"]))


@pytest.mark.req("2025-11-25:elicitation.server-validates", "2026-07-28:elicitation.server-validate")
@pytest.mark.parametrize(
    ("form", "content"),
    [
        pytest.param(Booking, {}, id="missing"),
        pytest.param(Booking, {"city": "Oslo", "nights": "three"}, id="wrong-type"),
        pytest.param(Booking, {"city": "Oslo", "nights": 1.5}, id="fraction"),
        pytest.param(Booking, {"city": "Oslo", "nights": True}, id="boolean-number"),
        pytest.param(Booking, {"city": None, "nights": 1}, id="null"),
        pytest.param(Booking, {"city": "Oslo", "nights": 1, "size": "huge"}, id="no-member"),
        pytest.param(Address, {"street": ["Main"]}, id="typed-dict"),
        pytest.param(FORM, {"name": "B"}, id="too-short"),
        pytest.param(FORM, {"name": "Bo", "age": -1}, id="below-minimum"),
        pytest.param(FORM, {"name": "Bo", "mail": "nowhere"}, id="no-email"),
        pytest.param(FORM, {"name": "Bo", "colour": "Red"}, id="title-instead-of-value"),
        pytest.param(["left", "right"], {"choice": "up"}, id="no-choice"),
        pytest.param(["left", "right"], {}, id="choice-missing"),
        pytest.param(MULTIPLE, {"days": ["Sun"]}, id="no-choice-of-several"),
        pytest.param(MULTIPLE, {"days": "Mon"}, id="no-array"),
    ],
)
def test_an_answer_that_does_not_fit_the_form_is_refused(form: Any, content: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer, match="does not fit the form"):
        Elicit("?", form).parse({"action": "accept", "content": content})


@pytest.mark.parametrize("content", [[], "text", 1, True], ids=repr)
def test_accepted_content_is_an_object(content: object) -> None:
    with pytest.raises(InvalidAnswer, match="must be an object"):
        Elicit("?", FORM).parse({"action": "accept", "content": content})


def test_content_may_be_left_out_of_an_accept_where_nothing_is_required() -> None:
    assert Elicit("?", MULTIPLE).parse({"action": "accept"}) == ElicitAccepted({})
    with pytest.raises(InvalidAnswer, match="name"):
        Elicit("?", FORM).parse({"action": "accept"})


@pytest.mark.req("elicitation.actions")
@pytest.mark.parametrize(
    "result",
    [None, [], "accept", {}, {"action": None}, {"action": "Accept"}, {"action": "ok"}, {"action": []}],
    ids=repr,
)
@pytest.mark.parametrize("ask", [Elicit("?", Booking), ElicitUrl("?", SIGN_IN)], ids=["form", "url"])
def test_an_answer_has_one_of_three_actions(ask: Ask[Any], result: object) -> None:
    with pytest.raises(InvalidAnswer, match="accept, decline or cancel"):
        ask.parse(result)


# ---- ElicitUrl -------------------------------------------------------------------------------------------


@pytest.mark.parity(53)
@pytest.mark.req("2025-11-25:elicitation.url-params")
def test_a_url_has_an_id_on_2025_11_25() -> None:
    assert ElicitUrl("Sign in", SIGN_IN, "id-1").params(V2025_11_25) == {
        "mode": "url",
        "message": "Sign in",
        "url": SIGN_IN,
        "elicitationId": "id-1",
    }


@pytest.mark.req("2026-07-28:elicitation.url-params", "2026-07-28:elicitation.no-elicitation-id")
def test_a_url_has_no_id_on_2026_07_28() -> None:
    assert ElicitUrl("Sign in", SIGN_IN, "id-1").params(V2026_07_28) == {
        "mode": "url",
        "message": "Sign in",
        "url": SIGN_IN,
    }


def test_2025_06_18_has_no_urls() -> None:
    with pytest.raises(LocalProtocolError, match="URL"):
        ElicitUrl("Sign in", SIGN_IN).params(V2025_06_18)


@pytest.mark.req("2025-11-25:elicitation.id-unique")
def test_ids_are_made_up_when_none_is_given() -> None:
    made = {ElicitUrl("?", SIGN_IN).elicitation_id for _ in range(50)}
    assert len(made) == 50
    assert all(len(made_up) >= 32 for made_up in made)


@pytest.mark.parity(53)
@pytest.mark.req("elicitation.url-valid")
@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "example.com",
        "/sign-in",
        "//example.com/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "http://:80/",
        "http://[::1",
        "https://ada:secret@example.com/",
        "https://example.com/a b",
        "https://example.com/\n",
        "\thttps://example.com/",
        "https://exam\x00ple.com/",
    ],
    ids=repr,
)
def test_a_url_is_absolute_and_http(url: str) -> None:
    with pytest.raises(InvalidParams, match="not an absolute http or https URL"):
        ElicitUrl("Sign in", url)


@pytest.mark.parametrize(
    "url",
    ["http://localhost:8000/", "https://example.com", "HTTPS://EXAMPLE.COM/", "https://[::1]:8/", SIGN_IN],
)
def test_other_urls_are_taken_as_they_are(url: str) -> None:
    assert ElicitUrl("Sign in", url).params(V2026_07_28)["url"] == url


@pytest.mark.parity(53)
def test_an_empty_id_is_refused() -> None:
    with pytest.raises(InvalidParams, match="elicitation_id"):
        ElicitUrl("Sign in", SIGN_IN, "")


@pytest.mark.req("2025-11-25:elicitation.accept-not-complete", "2026-07-28:elicitation.accept-is-consent")
def test_an_accepted_url_brings_no_content() -> None:
    ask = ElicitUrl("Sign in", SIGN_IN)
    assert ask.parse({"action": "accept"}) == ElicitAccepted(None)
    assert ask.parse(accepted(password="hunter2")) == ElicitAccepted(None)


# ---- Sample ----------------------------------------------------------------------------------------------

HELLO = {"role": "user", "content": {"type": "text", "text": "Hello"}}
TOOL = {"name": "add", "inputSchema": {"type": "object"}}
MANY: dict[str, Any] = {
    "role": "user",
    "content": [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "data": "", "mimeType": "image/png"},
    ],
}


@pytest.mark.req("sampling.max-tokens-required")
@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
@pytest.mark.parametrize("messages", ["Hello", HELLO, [HELLO]], ids=["text", "message", "messages"])
def test_a_question_to_the_model_in_three_forms(messages: Any, version: ProtocolVersion) -> None:
    assert Sample(messages, max_tokens=9).params(version) == {"messages": [HELLO], "maxTokens": 9}


def test_every_option_has_its_name_on_the_wire() -> None:
    ask = Sample(
        "Hello",
        max_tokens=9,
        system_prompt="Be brief.",
        temperature=0.5,
        stop_sequences=["."],
        model_preferences={"hints": [{"name": "small"}], "costPriority": 1},
        include_context="none",
        tools=[TOOL],
        tool_choice={"mode": "auto"},
        metadata={"trace": 1},
    )
    assert ask.params(V2025_11_25) == {
        "messages": [HELLO],
        "maxTokens": 9,
        "systemPrompt": "Be brief.",
        "temperature": 0.5,
        "stopSequences": ["."],
        "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 1},
        "includeContext": "none",
        "tools": [TOOL],
        "toolChoice": {"mode": "auto"},
        "metadata": {"trace": 1},
    }


def test_a_temperature_of_zero_is_sent() -> None:
    assert Sample("Hello", max_tokens=9, temperature=0).params(V2025_11_25)["temperature"] == 0


@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26, V2025_06_18], ids=str)
@pytest.mark.parametrize("option", [{"tools": [TOOL]}, {"tools": []}, {"tool_choice": {}}], ids=repr)
def test_old_revisions_have_no_tools_in_sampling(option: dict[str, Any], version: ProtocolVersion) -> None:
    ask = Sample("Hello", max_tokens=9, **option)
    assert ask.params(V2025_11_25)["maxTokens"] == 9
    with pytest.raises(LocalProtocolError, match=version.value):
        ask.params(version)


@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26, V2025_06_18], ids=str)
def test_old_revisions_get_one_block_a_message(version: ProtocolVersion) -> None:
    ask = Sample([HELLO, MANY], max_tokens=9)
    assert ask.params(version)["messages"] == [
        HELLO,
        {"role": "user", "content": MANY["content"][0]},
        {"role": "user", "content": MANY["content"][1]},
    ]
    assert ask.params(V2025_11_25)["messages"] == [HELLO, MANY]


@pytest.mark.parametrize("version", [V2024_11_05, V2025_03_26, V2025_06_18], ids=str)
def test_old_revisions_have_no_tool_content(version: ProtocolVersion) -> None:
    use = {"role": "assistant", "content": {"type": "tool_use", "id": "1", "name": "add", "input": {}}}
    result = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "1", "content": []}]}
    ask = Sample([HELLO, use, result], max_tokens=9)
    with pytest.raises(LocalProtocolError, match="tool_use"):
        ask.params(version)


def test_the_oldest_revision_has_no_sound_in_sampling() -> None:
    sound = {"role": "user", "content": {"type": "audio", "data": "", "mimeType": "audio/wav"}}
    ask = Sample(sound, max_tokens=9)
    assert ask.params(V2025_03_26)["messages"] == [sound]
    with pytest.raises(LocalProtocolError, match="audio"):
        ask.params(V2024_11_05)


@pytest.mark.req("sampling.validate-content", "sampling.max-tokens-required", "sampling.priorities-range")
@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"max_tokens": -1},
        {"max_tokens": 1.5},
        {"max_tokens": True},
        {"temperature": "warm"},
        {"stop_sequences": "."},
        {"model_preferences": {"costPriority": 2}},
        {"include_context": "everything"},
        {"tools": [{"name": "add"}]},
        {"tool_choice": {"mode": "maybe"}},
    ],
    ids=repr,
)
def test_bad_parameters_are_refused_where_they_are_given(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Sample("Hello", **{"max_tokens": 9, **options})


def test_from_params_takes_the_wires_own_form() -> None:
    params = {"messages": [HELLO], "maxTokens": 9, "unknownMember": {"kept": True}}
    ask = Sample.from_params(params)
    assert ask.params(V2025_11_25) == params
    assert (
        ask.parse({"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}}).text == "hi"
    )


@pytest.mark.parametrize("params", [{}, {"messages": [HELLO]}, {"maxTokens": 9}, []], ids=repr)
def test_from_params_refuses_what_is_incomplete(params: Any) -> None:
    with pytest.raises(ValueError):
        Sample.from_params(params)


def test_one_block_or_several_are_read_alike() -> None:
    block = {"type": "text", "text": "one"}
    single = Sample("?", max_tokens=9).parse({"role": "assistant", "model": "m", "content": block})
    several = Sample("?", max_tokens=9).parse({"role": "assistant", "model": "m", "content": [block]})
    assert single.text == several.text == "one"
    assert single.content == several.content == [block]


@pytest.mark.req("2025-11-25:sampling.parallel-array")
def test_the_text_of_a_sample_is_that_of_its_text_blocks() -> None:
    uses = [{"type": "tool_use", "id": str(n), "name": "add", "input": {}} for n in range(2)]
    raw = {
        "role": "assistant",
        "model": "m-1",
        "stopReason": "toolUse",
        "content": [{"type": "text", "text": "a"}, *uses, {"type": "text", "text": "b"}],
    }
    sample = Sample("?", max_tokens=9).parse(raw)
    assert (sample.text, sample.model, sample.stop_reason) == ("a\nb", "m-1", "toolUse")
    assert sample.content == raw["content"]
    assert sample.raw is raw


@pytest.mark.req("sampling.stop-reason-open")
@pytest.mark.parametrize(
    ("stop_reason", "expected"),
    [("endTurn", "endTurn"), ("vendorReason", "vendorReason"), (None, None), (7, None)],
)
def test_a_stop_reason_is_any_text(stop_reason: object, expected: str | None) -> None:
    raw = {"role": "assistant", "model": "m", "content": [], "stopReason": stop_reason}
    assert Sample("?", max_tokens=9).parse(raw).stop_reason == expected


@pytest.mark.parametrize(
    "result",
    [None, [], "text", {}, {"content": None}, {"content": "text"}, {"content": [{}, "text"]}],
    ids=repr,
)
def test_a_bad_sample_is_refused(result: object) -> None:
    with pytest.raises(InvalidAnswer):
        Sample("?", max_tokens=9).parse(result)


# ---- Roots -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ProtocolVersion, ids=str)
def test_roots_need_no_parameters(version: ProtocolVersion) -> None:
    assert Roots().params(version) == {}


@pytest.mark.req("2025-11-25:roots.list", "2026-07-28:roots.result-shape")
def test_roots_are_read() -> None:
    raw = {
        "roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}, {"uri": "file:///c", "name": 7}]
    }
    assert Roots().parse(raw) == [Root("file:///a", "A"), Root("file:///b"), Root("file:///c")]
    assert Roots().parse({"roots": []}) == []


@pytest.mark.req("2025-11-25:roots.list", "2026-07-28:roots.result-shape")
@pytest.mark.parametrize(
    "result",
    [
        None,
        [],
        {},
        {"roots": None},
        {"roots": {}},
        {"roots": ["file:///a"]},
        {"roots": [{}]},
        {"roots": [{"uri": 1}]},
    ],
    ids=repr,
)
def test_bad_roots_are_refused(result: object) -> None:
    with pytest.raises(InvalidAnswer, match="root"):
        Roots().parse(result)


# ---- What all have in common -----------------------------------------------------------------------------

ASKS: list[tuple[Ask[Any], str]] = [
    (Elicit("?", Booking), "elicitation/create"),
    (ElicitUrl("?", SIGN_IN), "elicitation/create"),
    (Sample("?", max_tokens=9), "sampling/createMessage"),
    (Roots(), "roots/list"),
]


@pytest.mark.parametrize(("ask", "method"), ASKS, ids=lambda value: type(value).__name__)
def test_an_input_request_has_the_method_and_the_parameters_of_the_revision(
    ask: Ask[Any], method: str
) -> None:
    assert ask.input_request("key", V2026_07_28) == InputRequest("key", method, ask.params(V2026_07_28))


def test_equal_questions_have_equal_digests() -> None:
    def asks() -> list[Ask[Any]]:
        return [
            Elicit("?", Booking),
            Elicit("?", dict(reversed(FORM.items()))),
            Elicit("?", ["a", "b"]),
            ElicitUrl("?", SIGN_IN),
            Sample("?", max_tokens=9, temperature=0.5),
            Roots(),
        ]

    digests = [ask.digest() for ask in asks()]
    assert digests == [ask.digest() for ask in asks()]
    assert len(set(digests)) == len(digests)
    assert digests[1] == Elicit("?", FORM).digest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(Elicit("a?", Booking), Elicit("b?", Booking), id="message"),
        pytest.param(Elicit("?", Booking), Elicit("?", Toppings), id="form"),
        pytest.param(Elicit("?", ["a", "b"]), Elicit("?", ["b", "a"]), id="order-of-choices"),
        pytest.param(Elicit("?", Booking), ElicitUrl("?", SIGN_IN), id="mode"),
        pytest.param(Sample("a", max_tokens=9), Sample("b", max_tokens=9), id="text"),
        pytest.param(Sample("a", max_tokens=9), Sample("a", max_tokens=8), id="limit"),
        pytest.param(ElicitUrl("a?", SIGN_IN), ElicitUrl("b?", SIGN_IN), id="url-message"),
    ],
)
def test_different_questions_have_different_digests(one: Ask[Any], other: Ask[Any]) -> None:
    assert one.digest() != other.digest()


def test_a_url_and_its_id_may_be_new_in_each_round() -> None:
    first = ElicitUrl("Sign in", "https://example.com/?once=1")
    assert first.digest() == ElicitUrl("Sign in", "https://example.com/?once=2").digest()


def test_a_digest_does_not_change_with_the_revision_it_is_asked_on() -> None:
    ask = Elicit("?", FORM)
    before = ask.digest()
    ask.params(V2025_06_18)
    assert ask.digest() == before == question_digest(InputRequest("any key", ask.method, ask._identity()))


@dataclass
class Noted:
    name: Annotated[str, "Your full name"]
    tags: list[Literal["a", "b"]] = field(default_factory=list)


def test_annotations_and_defaults_reach_the_form() -> None:
    properties = Elicit("?", Noted).params(V2026_07_28)["requestedSchema"]["properties"]
    assert properties["name"] == {"type": "string", "description": "Your full name"}
    assert Elicit("?", Noted).parse(accepted(name="Ada")) == ElicitAccepted(Noted("Ada", []))
