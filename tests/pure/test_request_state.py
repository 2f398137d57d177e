"""Sealed request state: comes back unchanged, to its owner, for its request, in time; or not at all."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpref.errors import InvalidParams
from mcpref.request_state import (
    DEFAULT_SKEW,
    DEFAULT_TTL,
    MAX_TOKEN_LENGTH,
    BadRequestState,
    Binding,
    KeyRing,
    StateTooLarge,
    request_digest,
)

SECRET = "a secret of enough bytes"
OTHER_SECRET = b"another one, also of enough bytes"
NOW = 1_800_000_000.0
CALL = {"name": "book", "arguments": {"seats": 2, "day": "monday"}}
BINDING = Binding.of("alice", "tools/call", CALL)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@pytest.fixture(params=[False, True], ids=["signed", "encrypted"])
def ring(request: pytest.FixtureRequest) -> KeyRing:
    return KeyRing(SECRET, encrypt=request.param)


def why(ring: KeyRing, token: str, now: float = NOW, binding: Binding = BINDING) -> str:
    with pytest.raises(BadRequestState) as caught:
        ring.unseal(token, now=now, binding=binding)
    # One message for all: the reason would help whoever is trying states out.
    assert caught.value.message == "requestState is not valid here: start the request again"
    assert (caught.value.code, caught.value.data) == (-32602, None)
    assert isinstance(caught.value, InvalidParams)
    return caught.value.why


@pytest.mark.parametrize("encrypt", [False, True])
@given(payload=st.binary(max_size=200), principal=st.none() | st.text(), now=st.floats(0, 1e11))
def test_what_was_sealed_opens(encrypt: bool, payload: bytes, principal: str | None, now: float) -> None:
    ring = KeyRing(SECRET, encrypt=encrypt)
    binding = Binding.of(principal, "tools/call", CALL)
    token = ring.seal(payload, now=now, binding=binding)
    assert set(token) <= set(ALPHABET)
    assert ring.unseal(token, now=now, binding=binding) == payload


def test_text_is_sealed_as_utf8(ring: KeyRing) -> None:
    token = ring.seal("grüezi", now=NOW, binding=BINDING)
    assert ring.unseal(token, now=NOW, binding=BINDING).decode() == "grüezi"


def test_two_seals_of_one_state_differ(ring: KeyRing) -> None:
    assert ring.seal("x", now=NOW, binding=BINDING) != ring.seal("x", now=NOW, binding=BINDING)


def test_the_random_bytes_are_an_argument() -> None:
    rings = [KeyRing(SECRET, random_bytes=lambda size: b"\x07" * size) for _ in range(2)]
    first, second = (ring.seal("x", now=NOW, binding=BINDING) for ring in rings)
    assert first == second


def test_only_encryption_hides_the_payload() -> None:
    def raw(encrypt: bool) -> bytes:
        token = KeyRing(SECRET, encrypt=encrypt).seal("the payload", now=NOW, binding=BINDING)
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))

    assert b"the payload" in raw(False)
    assert b"the payload" not in raw(True)


@pytest.mark.parity(115)
@pytest.mark.req("2026-07-28:mrtr.state-integrity", "2026-07-28:mrtr.state-reject-tampered")
def test_no_flipped_bit_goes_unnoticed(ring: KeyRing) -> None:
    token = ring.seal(b"pay", now=NOW, binding=BINDING)
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    reasons = set()
    for index in range(len(raw)):
        for bit in range(8):
            flipped = bytearray(raw)
            flipped[index] ^= 1 << bit
            reasons.add(why(ring, base64.urlsafe_b64encode(flipped).decode().rstrip("=")))
    assert reasons == {"tampered", "unknown key", "malformed: unknown format"}


@pytest.mark.req("2026-07-28:mrtr.state-reject-tampered")
def test_no_other_character_goes_unnoticed(ring: KeyRing) -> None:
    """Includes the last one, whose spare bits a lenient decoder would ignore."""
    for size in range(3):
        token = ring.seal(b"x" * size, now=NOW, binding=BINDING)
        for index, character in enumerate(token):
            for other in ALPHABET:
                if other != character:
                    why(ring, token[:index] + other + token[index + 1 :])


@pytest.mark.req("2026-07-28:mrtr.state-untrusted")
def test_no_truncation_opens(ring: KeyRing) -> None:
    token = ring.seal(b"payload", now=NOW, binding=BINDING)
    for length in range(len(token)):
        why(ring, token[:length])
        why(ring, token[length + 1 :])


@pytest.mark.req("2026-07-28:mrtr.state-untrusted")
@pytest.mark.parametrize("suffix", ["=", "==", "\n", " ", "A", "AAAA", "-TAMPERED", "\0", "é"])
def test_nothing_may_be_added(ring: KeyRing, suffix: str) -> None:
    token = ring.seal(b"payload", now=NOW, binding=BINDING)
    for spelling in (token + suffix, suffix + token, token[:9] + suffix + token[9:]):
        why(ring, spelling)


def test_the_other_alphabet_of_base64_is_not_taken() -> None:
    ring = KeyRing(SECRET, encrypt=False, random_bytes=lambda size: b"\xfb\xff" * (size // 2))
    token = ring.seal(b"\xfb\xff\xfe" * 5, now=NOW, binding=BINDING)
    assert "-" in token
    assert "_" in token
    assert why(ring, token.replace("-", "+")) == "malformed: not canonical base64"
    assert why(ring, token.replace("_", "/")) == "malformed: not canonical base64"


@pytest.mark.parity(115)
@pytest.mark.req("2026-07-28:mrtr.state-untrusted")
@given(
    st.text()
    | st.text(ALPHABET, max_size=400)
    | st.binary(max_size=400).map(lambda b: base64.urlsafe_b64encode(b).decode().rstrip("="))
)
@example("")
@example("\ud800")
@example("AQ")
def test_garbage_does_not_open_and_raises_nothing_else(token: str) -> None:
    why(KeyRing(SECRET), token)


@given(st.integers(0, 255), st.binary(max_size=300))
def test_garbage_under_a_known_key_does_not_open(form: int, rest: bytes) -> None:
    """Past the key id, where the tags are checked and the lengths matter."""
    ring = KeyRing(SECRET)
    token = ring.seal(b"", now=NOW, binding=BINDING)
    key_id = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[1:9]
    raw = bytes([form]) + key_id + rest
    why(ring, base64.urlsafe_b64encode(raw).decode().rstrip("="))


class TestLimits:
    def test_the_longest_token(self, ring: KeyRing) -> None:
        by_length = {
            len(ring.seal(b"x" * size, now=NOW, binding=BINDING)): b"x" * size for size in range(300)
        }
        longest = by_length[400]
        ring.max_length = 400
        token = ring.seal(longest, now=NOW, binding=BINDING)
        assert ring.unseal(token, now=NOW, binding=BINDING) == longest
        with pytest.raises(StateTooLarge) as caught:
            ring.seal(longest + b"x", now=NOW, binding=BINDING)
        assert (caught.value.length, caught.value.limit) == (402, 400)  # no base64 has 401 characters
        ring.max_length = 399
        assert why(ring, token) == "malformed: too long"

    def test_the_default_limit(self) -> None:
        assert MAX_TOKEN_LENGTH == 65_536
        assert why(KeyRing(SECRET), "A" * 65_537) == "malformed: too long"
        assert why(KeyRing(SECRET), "A" * 65_536) != "malformed: too long"

    @pytest.mark.parametrize("secret", ["", "short", "x" * 15, b"y" * 15])
    def test_a_short_secret_is_refused_with_the_remedy(self, secret: str | bytes) -> None:
        with pytest.raises(ValueError, match=r"at least 16 bytes.*token_urlsafe"):
            KeyRing([SECRET, secret])

    @pytest.mark.parametrize("secret", ["x" * 16, b"y" * 16, "ü" * 8])
    def test_sixteen_bytes_are_enough(self, secret: str | bytes) -> None:
        ring = KeyRing(secret)
        assert ring.unseal(ring.seal("x", now=NOW, binding=BINDING), now=NOW, binding=BINDING) == b"x"

    def test_a_ring_needs_a_secret(self) -> None:
        with pytest.raises(ValueError, match="at least one secret"):
            KeyRing([])

    @pytest.mark.parametrize("now", [-1.0, float("nan"), float("inf"), 1e15])
    def test_a_time_must_make_sense(self, ring: KeyRing, now: float) -> None:
        with pytest.raises(ValueError, match="number of seconds"):
            ring.seal("x", now=now, binding=BINDING)


@pytest.mark.parity(115)
class TestTime:
    @pytest.mark.req("2026-07-28:mrtr.state-expiry")
    def test_it_expires(self, ring: KeyRing) -> None:
        token = ring.seal("x", now=NOW, binding=BINDING)
        assert DEFAULT_TTL == 600
        assert ring.unseal(token, now=NOW + 599.9, binding=BINDING) == b"x"
        assert why(ring, token, now=NOW + 600) == "expired"
        assert why(ring, token, now=NOW + 1e6) == "expired"

    def test_a_lifetime_of_its_own(self, ring: KeyRing) -> None:
        token = ring.seal("x", now=NOW, binding=BINDING, ttl=5)
        assert ring.unseal(token, now=NOW + 4.9, binding=BINDING) == b"x"
        assert why(ring, token, now=NOW + 5) == "expired"

    def test_clocks_may_differ_by_a_minute(self, ring: KeyRing) -> None:
        token = ring.seal("x", now=NOW, binding=BINDING)
        assert DEFAULT_SKEW == 60
        assert ring.unseal(token, now=NOW - 60, binding=BINDING) == b"x"
        assert "issued in the future" in why(ring, token, now=NOW - 60.1)


@pytest.mark.parity(115)
class TestBinding:
    @pytest.mark.req("2026-07-28:mrtr.state-bind-principal")
    @pytest.mark.parametrize(
        ("mine", "other"), [("alice", "bob"), ("alice", None), (None, ""), ("", None), ("-", None)]
    )
    def test_another_principals_state_is_refused(
        self, ring: KeyRing, mine: str | None, other: str | None
    ) -> None:
        token = ring.seal("x", now=NOW, binding=Binding(mine, BINDING.request))
        assert why(ring, token, binding=Binding(other, BINDING.request)) == "foreign principal"
        assert ring.unseal(token, now=NOW, binding=Binding(mine, BINDING.request)) == b"x"

    @pytest.mark.req("2026-07-28:mrtr.state-bind-request")
    @pytest.mark.parametrize(
        ("method", "params"),
        [
            ("prompts/get", CALL),
            ("tools/call", {**CALL, "name": "cancel"}),
            ("tools/call", {**CALL, "arguments": {"seats": 3, "day": "monday"}}),
            ("tools/call", {**CALL, "arguments": {"seats": "2", "day": "monday"}}),
            ("tools/call", {**CALL, "arguments": {}}),
            ("tools/call", {"name": "book"}),
            ("tools/call", {**CALL, "uri": "test://x"}),
            ("tools/call", None),
        ],
    )
    def test_another_requests_state_is_refused(
        self, ring: KeyRing, method: str, params: dict[str, Any] | None
    ) -> None:
        token = ring.seal("x", now=NOW, binding=BINDING)
        assert why(ring, token, binding=Binding.of("alice", method, params)) == "other request"

    @pytest.mark.parametrize(
        "retry",
        [
            {"arguments": {"day": "monday", "seats": 2}, "name": "book"},
            {**CALL, "_meta": {"progressToken": 7}},
            {**CALL, "inputResponses": {"ok": {"action": "accept"}}, "requestState": "..."},
        ],
    )
    def test_a_retry_of_the_same_request_opens(self, ring: KeyRing, retry: dict[str, Any]) -> None:
        token = ring.seal("x", now=NOW, binding=BINDING)
        assert ring.unseal(token, now=NOW, binding=Binding.of("alice", "tools/call", retry)) == b"x"

    def test_the_uri_counts(self) -> None:
        one, two = (request_digest("resources/read", {"uri": f"test://{n}"}) for n in (1, 2))
        assert one != two

    def test_no_arguments_are_empty_arguments(self) -> None:
        assert request_digest("tools/call", {"name": "x"}) == request_digest(
            "tools/call", {"name": "x", "arguments": {}}
        )

    @given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans(), min_size=2, max_size=6))
    def test_the_order_of_arguments_does_not_count(self, arguments: dict[str, Any]) -> None:
        shuffled = dict(reversed(arguments.items()))
        assert request_digest("tools/call", {"arguments": arguments}) == request_digest(
            "tools/call", {"arguments": shuffled}
        )


class TestKeys:
    def test_rotation(self, ring: KeyRing) -> None:
        old = ring.seal("x", now=NOW, binding=BINDING)
        rotated = KeyRing([OTHER_SECRET, SECRET])
        assert rotated.unseal(old, now=NOW, binding=BINDING) == b"x"
        new = rotated.seal("y", now=NOW, binding=BINDING)
        assert KeyRing([OTHER_SECRET]).unseal(new, now=NOW, binding=BINDING) == b"y"
        assert why(ring, new) == "unknown key"
        assert why(KeyRing(OTHER_SECRET), old) == "unknown key"

    def test_a_secret_does_not_show(self, ring: KeyRing) -> None:
        assert SECRET not in repr(ring)

    @pytest.mark.parametrize("form", [1, 2])
    def test_a_token_can_be_made_from_its_description(self, form: int) -> None:
        """By another implementation of HKDF, from what the module's docstring says."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        def derive(purpose: bytes) -> bytes:
            return HKDF(SHA256(), 32, b"mcpref requestState", purpose).derive(SECRET.encode())

        body = struct.pack(
            ">QQ32s32s",
            int(NOW * 1000),
            int(NOW * 1000) + 1000,
            hashlib.sha256(b"+alice").digest(),
            hashlib.sha256(BINDING.request.encode()).digest(),
        )
        body += b"payload"
        nonce = bytes(range(24))
        raw = bytes([form]) + derive(b"key id")[:8] + nonce
        if form == 1:
            raw += body
            raw += hmac.digest(derive(b"authentication"), raw, "sha256")
        else:
            key = hmac.digest(derive(b"encryption"), nonce[:12], "sha256")
            raw += AESGCM(key).encrypt(nonce[12:], body, raw)
        token = base64.urlsafe_b64encode(raw).decode().rstrip("=")
        assert KeyRing(SECRET).unseal(token, now=NOW, binding=BINDING) == b"payload"

    def test_a_signed_body_that_is_too_short_is_refused(self) -> None:
        """Nobody without the key can make one; the length is checked all the same."""
        ring = KeyRing(SECRET)
        raw = b"\x01" + ring._sealing.id + bytes(24) + b"short"
        raw += hmac.digest(ring._sealing.mac, raw, "sha256")
        assert why(ring, base64.urlsafe_b64encode(raw).decode().rstrip("=")) == "malformed: too short"


class TestWithoutCryptography:
    @pytest.fixture(autouse=True)
    def without(self, monkeypatch: pytest.MonkeyPatch) -> str:
        token = KeyRing(SECRET, encrypt=True).seal("x", now=NOW, binding=BINDING)
        monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.ciphers.aead", None)
        return token

    def test_it_signs(self) -> None:
        ring = KeyRing(SECRET)
        token = ring.seal("x", now=NOW, binding=BINDING)
        assert base64.urlsafe_b64decode(token[:4])[0] == 1
        assert ring.unseal(token, now=NOW, binding=BINDING) == b"x"

    def test_an_encrypted_token_is_refused_with_the_reason(self, without: str) -> None:
        assert why(KeyRing(SECRET), without) == "encrypted, and cryptography is not installed"

    def test_insisting_on_encryption_fails_at_once(self) -> None:
        with pytest.raises(ValueError, match=r"mcpref\[crypto\]"):
            KeyRing(SECRET, encrypt=True)


def test_it_encrypts_where_it_can() -> None:
    token = KeyRing(SECRET).seal("x", now=NOW, binding=BINDING)
    assert base64.urlsafe_b64decode(token[:4])[0] == 2
