"""Sealing of ``requestState``: what a server hands to the client must come back unchanged, or not at all.

A sealed state is bound to the principal and the request it was made for, and expires. It is authenticated
always (HMAC-SHA256, standard library alone) and encrypted as well (AES-256-GCM) where ``cryptography`` is
installed. Sealing does not make a state usable only once: who needs that must remember what was consumed.

A token is the URL-safe base64, without padding, of::

    format   1 byte    1: authenticated, 2: authenticated and encrypted
    key id   8 bytes   which secret sealed it, so that secrets can be rotated
    nonce   24 bytes   random
    body               issued and expires (milliseconds, 8 bytes each), principal and request (SHA-256),
                       payload; encrypted in format 2
    tag     32 or 16   over everything before it

Format 2 makes a key for each token from the first half of the nonce, and AES-GCM's own nonce is the second.

Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow

Pure: the clock is an argument, and random bytes come from a function that can be replaced. Knows nothing of
what the payload means, nor where the secrets come from.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .errors import InvalidParams
from .jsonrpc import canonical_json

#: How long a sealed state is accepted, in seconds.
DEFAULT_TTL: Final = 600.0
#: How far in the future a state may have been issued: the clocks of several machines differ.
DEFAULT_SKEW: Final = 60.0
#: The longest token that is made or looked at, in characters.
MAX_TOKEN_LENGTH: Final = 64 * 1024
#: The shortest secret, in bytes.
MIN_SECRET_LENGTH: Final = 16

_SIGNED = 1
_ENCRYPTED = 2

_HEADER = struct.Struct(">B8s24s")
_CLAIMS = struct.Struct(">QQ32s32s")
_MAC_SIZE = 32


class BadRequestState(InvalidParams):
    """The client sent a state that must not be used.

    The message is one for all reasons, because the reason would help whoever is trying states out;
    ``why`` is for the log.

    Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow MUST reject what does not verify
    """

    def __init__(self, why: str) -> None:
        super().__init__("requestState is not valid here: start the request again")
        self.why = why
        """What was wrong. Never sent."""


class StateTooLarge(ValueError):
    """The payload does not fit into a token of the permitted length."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(f"the sealed state would have {length} characters; the limit is {limit}")
        self.length = length
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Binding:
    """Whose state it is, and of which request. A state opens under an equal binding only."""

    principal: str | None
    """The authenticated caller; None for one that did not authenticate."""
    request: str
    """What `request_digest` gives."""

    @classmethod
    def of(cls, principal: str | None, method: str, params: Mapping[str, Any] | None) -> Binding:
        return cls(principal, request_digest(method, params))


def request_digest(method: str, params: Mapping[str, Any] | None) -> str:
    """Identify a request by its method, its name or URI, and its arguments.

    ``_meta`` does not count: a progress token may change on a retry. Nor do the answers and the state, which
    do change.
    """
    members = params or {}
    salient = [method, members.get("name"), members.get("uri"), members.get("arguments", {})]
    return hashlib.sha256(canonical_json(salient).encode("ascii")).hexdigest()


class _Key:
    """The keys derived from one secret: one for each purpose, so that no two uses can interact."""

    __slots__ = ("encryption", "id", "mac")

    def __init__(self, secret: bytes) -> None:
        # RFC: 5869 2.2
        extracted = hmac.digest(b"mcpref requestState", secret, "sha256")
        self.id = _derive(extracted, b"key id")[:8]
        self.mac = _derive(extracted, b"authentication")
        self.encryption = _derive(extracted, b"encryption")


def _derive(extracted: bytes, purpose: bytes) -> bytes:
    # RFC: 5869 2.3 (its first block, which is as long as a key)
    return hmac.digest(extracted, purpose + b"\x01", "sha256")


class KeyRing:
    """Seals with the first secret and opens what any of them sealed.

    To rotate, put the new secret first and drop the old one when the lifetime of its states has passed.
    Every process of a deployment needs the same ring.
    """

    __slots__ = ("_aesgcm", "_encrypt", "_keys", "_random_bytes", "_sealing", "max_length", "skew", "ttl")

    def __init__(
        self,
        secrets: str | bytes | Sequence[str | bytes],
        *,
        ttl: float = DEFAULT_TTL,
        skew: float = DEFAULT_SKEW,
        max_length: int = MAX_TOKEN_LENGTH,
        encrypt: bool | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """``encrypt``: None encrypts where ``cryptography`` is installed, True insists on it, False never."""
        if isinstance(secrets, str | bytes):
            secrets = [secrets]
        keys = [_Key(_checked(secret)) for secret in secrets]
        if not keys:
            raise ValueError("a key ring needs at least one secret")
        self._sealing = keys[0]
        self._keys = {key.id: key for key in keys}
        self._random_bytes = random_bytes
        self._encrypt = encrypt
        self._aesgcm: Any = None
        self.ttl = ttl
        self.skew = skew
        self.max_length = max_length
        if encrypt and not self._can_encrypt():
            raise ValueError("encrypting needs the package 'cryptography': install mcpref[crypto]")

    def seal(self, payload: bytes | str, *, now: float, binding: Binding, ttl: float | None = None) -> str:
        """Make a token that opens under an equal ``binding`` until ``ttl`` seconds after ``now``.

        ``now`` is wall-clock time, the same on every process that shares the secrets. Raises `StateTooLarge`.
        """
        key = self._sealing
        nonce = self._random_bytes(24)
        issued = _milliseconds(now)
        expires = issued + _milliseconds(self.ttl if ttl is None else ttl)
        body = _CLAIMS.pack(issued, expires, *_hashed(binding))
        body += payload.encode() if isinstance(payload, str) else payload
        if self._encrypt is not False and self._can_encrypt():
            header = _HEADER.pack(_ENCRYPTED, key.id, nonce)
            sealed = self._cipher(key, nonce).encrypt(nonce[12:], body, header)
        else:
            header = _HEADER.pack(_SIGNED, key.id, nonce)
            sealed = body + hmac.digest(key.mac, header + body, "sha256")
        token = urlsafe_b64encode(header + sealed).rstrip(b"=").decode("ascii")
        if len(token) > self.max_length:
            raise StateTooLarge(len(token), self.max_length)
        return token

    def unseal(self, token: str, *, now: float, binding: Binding) -> bytes:
        """The payload of a token that this ring sealed for this binding, or `BadRequestState`.

        Spec: 2026-07-28 basic/patterns/mrtr#server-requirements-basic-workflow SHOULD verify the principal,
        the expiry and the originating request
        """
        body = self._open(self._decode(token))
        issued, expires, principal, request = _CLAIMS.unpack_from(body)
        milliseconds = _milliseconds(now)
        if milliseconds >= expires:
            raise BadRequestState("expired")
        if issued > milliseconds + _milliseconds(self.skew):
            raise BadRequestState("issued in the future: the clocks of two machines differ")
        expected_principal, expected_request = _hashed(binding)
        if not hmac.compare_digest(principal, expected_principal):
            raise BadRequestState("foreign principal")
        if not hmac.compare_digest(request, expected_request):
            raise BadRequestState("other request")
        return body[_CLAIMS.size :]

    def _decode(self, token: str) -> bytes:
        if len(token) > self.max_length:
            raise BadRequestState("malformed: too long")
        try:
            raw = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4))
        except (UnicodeEncodeError, binascii.Error):
            raise BadRequestState("malformed: not base64") from None
        # The decoder skips foreign characters and ignores spare bits; only one spelling of a token is ours.
        if urlsafe_b64encode(raw).rstrip(b"=") != token.encode("ascii"):
            raise BadRequestState("malformed: not canonical base64")
        if len(raw) < _HEADER.size:
            raise BadRequestState("malformed: too short")
        return raw

    def _open(self, raw: bytes) -> bytes:
        """The body of a token whose tag is right."""
        form, key_id, nonce = _HEADER.unpack_from(raw)
        if form not in (_SIGNED, _ENCRYPTED):
            raise BadRequestState("malformed: unknown format")
        key = self._keys.get(key_id)
        if key is None:
            raise BadRequestState("unknown key")
        if form == _ENCRYPTED:
            body = self._decrypt(key, nonce, raw)
        else:
            mac = raw[-_MAC_SIZE:]
            if not hmac.compare_digest(mac, hmac.digest(key.mac, raw[:-_MAC_SIZE], "sha256")):
                raise BadRequestState("tampered")
            body = raw[_HEADER.size : -_MAC_SIZE]
        # Cannot happen to what `seal` made; the tag alone does not say what lies under it.
        if len(body) < _CLAIMS.size:
            raise BadRequestState("malformed: too short")
        return body

    def _decrypt(self, key: _Key, nonce: bytes, raw: bytes) -> bytes:
        if not self._can_encrypt():
            raise BadRequestState("encrypted, and cryptography is not installed")
        from cryptography.exceptions import InvalidTag

        try:
            opened: bytes = self._cipher(key, nonce).decrypt(
                nonce[12:], raw[_HEADER.size :], raw[: _HEADER.size]
            )
        except (InvalidTag, ValueError):
            raise BadRequestState("tampered") from None
        return opened

    def _cipher(self, key: _Key, nonce: bytes) -> Any:
        # A key of its own for each token, from half of the nonce: with one key for all, random 96-bit nonces
        # would be safe for some 2^32 tokens only.
        return self._aesgcm(hmac.digest(key.encryption, nonce[:12], "sha256"))

    def _can_encrypt(self) -> bool:
        # Imported on first use: it takes longer than everything else here, and many servers never seal.
        if self._aesgcm is None:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            except ImportError:
                self._aesgcm = False
            else:
                self._aesgcm = AESGCM
        return self._aesgcm is not False


def _checked(secret: str | bytes) -> bytes:
    raw = secret.encode() if isinstance(secret, str) else secret
    if len(raw) < MIN_SECRET_LENGTH:
        raise ValueError(
            f"a secret needs at least {MIN_SECRET_LENGTH} bytes, and random ones; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe(32))'"
        )
    return raw


def _milliseconds(seconds: float) -> int:
    # Also refuses NaN and infinity, and what would not fit into the token.
    if not 0 <= seconds < 1e15:
        raise ValueError(f"{seconds!r} is not a number of seconds that a state can carry")
    return int(seconds * 1000)


def _hashed(binding: Binding) -> tuple[bytes, bytes]:
    """Both parts in a fixed length. Nobody (None) is distinct from a principal with an empty name."""
    name = b"-" if binding.principal is None else b"+" + binding.principal.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).digest(), hashlib.sha256(binding.request.encode()).digest()
