"""How a client proves its identity at the token endpoint."""

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# The server takes five minutes at most. Clocks may differ by two.
ASSERTION_SECONDS = 180


@dataclass(frozen=True)
class PrivateKey:
    """A private key (PEM) whose public key is registered for the agent.

    `key_id` is the `kid` of the registered key. It is needed if the agent has several keys.
    """

    pem: str = field(repr=False)
    key_id: str | None = None


Workload: TypeAlias = Callable[[], str]
AsyncWorkload: TypeAlias = Callable[[], str | Awaitable[str]]
Auth: TypeAlias = str | PrivateKey | Workload
AsyncAuth: TypeAlias = str | PrivateKey | AsyncWorkload
Prove: TypeAlias = Callable[[], Any]


def prover(client_id: str, issuer: str, auth: Any) -> Prove:
    """A function that returns the client's secret or an assertion; it may return an awaitable."""
    if isinstance(auth, PrivateKey):
        return _signer(client_id, issuer, auth)
    if isinstance(auth, str):
        # A private key that is sent as a secret would no longer be private.
        if "PRIVATE KEY-----" in auth:
            return _signer(client_id, issuer, PrivateKey(auth))
        if not auth:
            raise ValueError("auth must not be empty")
        return lambda: {"client_secret": auth}
    if callable(auth):
        return auth  # type: ignore[no-any-return]
    raise TypeError("auth must be a secret, a PrivateKey, or a function that returns a token")


def is_workload_token(proof: Any) -> bool:
    """A text is a workload's own token; a dictionary has form fields."""
    if isinstance(proof, dict):
        return False
    if not isinstance(proof, str) or not proof.strip():
        raise TypeError("the function given as auth must return a token as text")
    return True


def proof_fields(proof: Any) -> dict[str, str]:
    """The form fields of a proof."""
    if is_workload_token(proof):
        return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": proof.strip()}
    return dict(proof)


def _signer(client_id: str, issuer: str, private_key: PrivateKey) -> Prove:
    key = load_pem_private_key(private_key.pem.encode(), password=None)
    algorithm = algorithm_of(key)
    headers = {"kid": private_key.key_id} if private_key.key_id else None

    def sign() -> dict[str, str]:
        now = int(time.time())
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": issuer,
            "iat": now,
            "exp": now + ASSERTION_SECONDS,
            "jti": secrets.token_urlsafe(24),
        }
        # The type check above leaves only keys that the algorithm accepts.
        assertion = jwt.encode(claims, key, algorithm, headers)  # type: ignore[arg-type]
        return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}

    return sign


def algorithm_of(key: object, name: str = "auth") -> str:
    if isinstance(key, rsa.RSAPrivateKey):
        return "RS256"
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return "EdDSA"
    if isinstance(key, ec.EllipticCurvePrivateKey):
        algorithms = {"secp256r1": "ES256", "secp384r1": "ES384"}
        if key.curve.name in algorithms:
            return algorithms[key.curve.name]
    raise ValueError(f"{name} must be an RSA, Ed25519, P-256 or P-384 private key")
