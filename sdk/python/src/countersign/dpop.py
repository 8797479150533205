"""Proofs that a client holds a key (DPoP, RFC 9449). It does no I/O."""

import base64
import hashlib
import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.algorithms import get_default_algorithms

from countersign.addresses import origin_of, path_of
from countersign.proof import algorithm_of

# The members of a key that its thumbprint is made of (RFC 7638), in their order.
MEMBERS = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}
MAX_NONCES = 100
MAX_NONCE_LENGTH = 1_000
PERCENT_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
USE_NONCE = re.compile(r'\berror="?use_dpop_nonce\b')


class DpopKey:
    """A key pair for proofs: `DpopKey()` makes a new one (P-256), or give a private key (PEM)."""

    def __init__(self, pem: str | None = None) -> None:
        self._key: Any
        if pem is None:
            self._key = ec.generate_private_key(ec.SECP256R1())
        else:
            self._key = load_pem_private_key(pem.encode(), password=None)
        self.algorithm = algorithm_of(self._key, "a key for DPoP")
        described = get_default_algorithms()[self.algorithm].to_jwk(
            self._key.public_key(), as_dict=True
        )
        self.jwk: dict[str, str] = {name: described[name] for name in MEMBERS[described["kty"]]}
        self.thumbprint = thumbprint(self.jwk)

    def sign(self, claims: Mapping[str, Any]) -> str:
        headers = {"typ": "dpop+jwt", "jwk": self.jwk}
        return jwt.encode(dict(claims), self._key, self.algorithm, headers)


class Dpop:
    """The key of a client, and the nonces that servers gave to it. Threads may share it."""

    def __init__(self, key: DpopKey, now: Callable[[], float] = time.time) -> None:
        self.key = key
        self._now = now
        self._nonces: OrderedDict[tuple[str, str, int], str] = OrderedDict()

    def proof(
        self, method: str, url: str, *, access_token: str | None = None, body: bytes = b""
    ) -> str:
        """The value of the header `DPoP`, for one request.

        With an `access_token`, it is for the API that the token is presented to, and has a
        digest of the body.
        """
        address = httpx.URL(url)
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(18),
            "htm": method.upper(),
            "htu": str(address.copy_with(userinfo=b"", query=None, fragment=None)),
            "iat": int(self._now()),
        }
        if access_token is not None:
            claims["ath"] = token_hash(access_token)
            if body:
                claims["content_digest"] = content_digest(body)
        nonce = self._nonces.get(_origin(address))
        if nonce is not None:
            claims["nonce"] = nonce
        return self.key.sign(claims)

    def learn_nonce(self, url: str, headers: Mapping[str, str]) -> None:
        nonce = headers.get("DPoP-Nonce", "")
        if not 0 < len(nonce) <= MAX_NONCE_LENGTH:
            return
        self._nonces[_origin(httpx.URL(url))] = nonce
        while len(self._nonces) > MAX_NONCES:
            self._nonces.popitem(last=False)


def read_dpop(dpop: "bool | DpopKey") -> Dpop | None:
    if isinstance(dpop, DpopKey):
        return Dpop(dpop)
    if not isinstance(dpop, bool):
        raise TypeError("dpop must be True, False or a DpopKey")
    return Dpop(DpopKey()) if dpop else None


def demands_nonce(status: int, headers: Mapping[str, str], content: bytes = b"") -> bool:
    """A server wants the nonce of its answer in a new proof."""
    if not headers.get("DPoP-Nonce"):
        return False
    if status == 401:
        return USE_NONCE.search(headers.get("WWW-Authenticate", "")) is not None
    if status != 400:
        return False
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("error") == "use_dpop_nonce"


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """RFC 7638. Raises KeyError for a key of another kind, or one without a member."""
    members = {name: jwk[name] for name in MEMBERS[jwk["kty"]]}
    return base64url(hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest())


def token_hash(access_token: str) -> str:
    """The claim `ath`."""
    return base64url(hashlib.sha256(access_token.encode()).digest())


def content_digest(body: bytes) -> str:
    """The claim `content_digest` (as in RFC 9530)."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def normalized_url(address: str) -> str:
    """The claim `htu` in a form that can be compared. Raises ValueError."""
    try:
        url = httpx.URL(address)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError("this is no address") from error
    if url.scheme not in ("https", "http") or not url.host or url.userinfo:
        raise ValueError("this is no address")
    scheme, host, port = _origin(url)
    path = PERCENT_ENCODED.sub(_normal_character, path_of(url.raw_path)) or "/"
    return f"{scheme}://{host}:{port}{path}"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _normal_character(match: "re.Match[str]") -> str:
    character = chr(int(match[0][1:], 16))
    return character if UNRESERVED.fullmatch(character) else match[0].upper()


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return origin_of(url.scheme, url.host, url.port)
