"""Checks the proofs that clients present with bound tokens (DPoP, RFC 9449). It does no I/O."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jwt

from countersign.dpop import (
    MEMBERS,
    base64url,
    content_digest,
    normalized_url,
    thumbprint,
    token_hash,
)
from countersign.verified_token import NeedsProof, is_number

# The kind of key, and its curve, by algorithm.
ALGORITHMS = {
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "EdDSA": ("OKP", "Ed25519"),
    **{
        f"{family}{bits}": ("RSA", None)
        for family in ("RS", "PS")
        for bits in ("256", "384", "512")
    },
}
ALGORITHM_NAMES = " ".join(ALGORITHMS)
PRIVATE_MEMBERS = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}
# The clock of the client may differ, and a request takes time.
PROOF_SECONDS = 300
MAX_PROOF_LENGTH = 8_192
MAX_ID_LENGTH = 256
# 4096 bits.
MAX_MODULUS_LENGTH = 700
# Without query, fragment and credentials. The parser also reads what is no URI, such as blanks.
ADDRESS = re.compile(r"https?://[\w.\[\]:-]+(?:/[!-\"$->@-\[\]-~]*)?", re.ASCII | re.IGNORECASE)
DIGEST = re.compile(r"(?:^|,)\s*sha-256=(:[A-Za-z0-9+/]+={0,2}:)\s*(?:,|$)")


@dataclass(frozen=True)
class Request:
    """The request that a token came with, and the addresses at which clients may have sent it."""

    method: str
    urls: tuple[str, ...]


@dataclass(frozen=True)
class CheckedProof:
    """A proof of the right key. `proof_id` must be new; `digest` is that of the body."""

    proof_id: str
    expires_at: float
    digest: str | None


def check_proof(
    proof: str, token: str, key_thumbprint: str, request: Request, now: float
) -> CheckedProof:
    if len(proof) > MAX_PROOF_LENGTH:
        raise NeedsProof("the proof is too long")
    try:
        header = jwt.get_unverified_header(proof)
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise NeedsProof("the proof is not a signed token") from error
    claims = _decode(proof, _read_key(header, key_thumbprint), str(header["alg"]))
    _check_request(claims, request)
    if claims.get("ath") != token_hash(token):
        raise NeedsProof("ath is not the hash of the access token")
    issued_at: Any = claims.get("iat")
    proof_id = claims.get("jti")
    if not is_number(issued_at):
        raise NeedsProof("iat must be a number")
    # Without arithmetic: an integer of a proof may be larger than any float.
    if not now - PROOF_SECONDS <= issued_at <= now + PROOF_SECONDS:
        raise NeedsProof("the proof is too old, or its iat is in the future")
    expiry, start = claims.get("exp", now + 1), claims.get("nbf", now)
    if not is_number(expiry) or not expiry > now:
        raise NeedsProof("the proof has expired")
    if not is_number(start) or not start <= now + PROOF_SECONDS:
        raise NeedsProof("the proof is not valid yet")
    if not isinstance(proof_id, str) or not 0 < len(proof_id) <= MAX_ID_LENGTH:
        raise NeedsProof(f"jti must be a text of at most {MAX_ID_LENGTH} characters")
    digest = claims.get("content_digest")
    if digest is not None and not isinstance(digest, str):
        raise NeedsProof("content_digest must be a text")
    unique = hashlib.sha256(f"{key_thumbprint} {proof_id}".encode("utf-8", "surrogatepass"))
    return CheckedProof(base64url(unique.digest()), issued_at + PROOF_SECONDS, digest)


def check_body(digest: str | None, body: bytes, is_required: bool) -> None:
    if digest is None:
        if is_required and body:
            raise NeedsProof("the proof must have the content_digest of the body")
        return
    found = DIGEST.search(digest)
    if found is None:
        raise NeedsProof("content_digest must have a digest of sha-256")
    if f"sha-256={found[1]}" != content_digest(body):
        raise NeedsProof("content_digest is not that of the body")


def _read_key(header: Mapping[str, Any], key_thumbprint: str) -> jwt.PyJWK:
    if header.get("typ") != "dpop+jwt":
        raise NeedsProof("this is not a proof: typ must be dpop+jwt")
    if "crit" in header:
        raise NeedsProof("the proof demands an extension that is not known here")
    algorithm, jwk = header.get("alg"), header.get("jwk")
    kind = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
    if kind is None:
        raise NeedsProof(f"alg must be one of {ALGORITHM_NAMES}")
    if not isinstance(jwk, dict) or (jwk.get("kty"), jwk.get("crv")) != kind:
        raise NeedsProof("jwk must be a public key for alg")
    if PRIVATE_MEMBERS & jwk.keys():
        raise NeedsProof("jwk must not be a private key")
    members = {name: jwk.get(name) for name in MEMBERS[kind[0]]}
    if not all(isinstance(each, str) for each in members.values()):
        raise NeedsProof("jwk must be a public key for alg")
    # Before the signature, which costs more.
    if thumbprint(members) != key_thumbprint:
        raise NeedsProof("the proof is of another key than that of the token")
    if len(members.get("n") or "") > MAX_MODULUS_LENGTH:
        raise NeedsProof("the key is too large")
    try:
        return _load_key(json.dumps(members), str(algorithm))
    except Exception as error:  # the library raises many kinds of errors for a key that is not one
        raise NeedsProof("jwk must be a public key for alg") from error


@lru_cache(maxsize=1_000)
def _load_key(members: str, algorithm: str) -> jwt.PyJWK:
    key = jwt.PyJWK.from_json(members, algorithm)
    if ALGORITHMS[algorithm][0] == "RSA" and key.key.key_size < 2048:
        raise ValueError("the key is too small")
    return key


def _decode(proof: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
    try:
        claims: dict[str, Any] = jwt.decode(
            proof,
            key,
            algorithms=[algorithm],
            # All claims are checked here, by the clock of the verifier.
            options={
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
                "verify_aud": False,
                "verify_iss": False,
                "verify_sub": False,
                "verify_jti": False,
            },
        )
    except Exception as error:  # the proof is hostile until it is verified
        raise NeedsProof("the signature of the proof is not valid") from error
    return claims


def _check_request(claims: Mapping[str, Any], request: Request) -> None:
    if claims.get("htm") != request.method.upper():
        raise NeedsProof("htm is not the method of the request")
    address = claims.get("htu")
    if not isinstance(address, str) or not any(
        _is_same_address(address, url) for url in request.urls
    ):
        raise NeedsProof("htu is not the address of the request")


def _is_same_address(address: str, url: str) -> bool:
    if not ADDRESS.fullmatch(address):
        return False
    try:
        return normalized_url(address) == normalized_url(url)
    except ValueError:
        return False
