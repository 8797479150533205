"""A server that answers as a test says, and a clock that a test moves."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from countersign import AsyncClient, Client, DpopKey
from countersign.signal_state import EVENT

ISSUER = "https://id.example.com"
Answering = Callable[[httpx.Request], httpx.Response]


def issued(token: str = "one", **changes: Any) -> httpx.Response:
    body = {"access_token": token, "token_type": "Bearer", "expires_in": 3600} | changes
    return httpx.Response(200, json=body)


def refused(code: str = "UNAUTHORIZED") -> httpx.Response:
    headers = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    return httpx.Response(401, json={"code": code, "message": "no"}, headers=headers)


def is_token_request(request: httpx.Request) -> bool:
    return request.url.path in ("/api/v1/token", "/api/v1/oidc/token")


class World:
    def __init__(
        self, answer: Answering, auth: Any = "secret", dpop: bool | DpopKey = False
    ) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []
        self.seen: list[httpx.Request] = []
        self._lock = threading.Lock()
        self._answer = answer
        transport = httpx.MockTransport(self._handle)
        self.client = Client(
            ISSUER,
            "agent",
            auth,
            dpop=dpop,
            transport=transport,
            monotonic=lambda: self.now,
            sleep=self._sleep,
        )
        self.async_client = AsyncClient(
            ISSUER,
            "agent",
            auth,
            dpop=dpop,
            transport=transport,
            monotonic=lambda: self.now,
            sleep=self._async_sleep,
        )

    @property
    def token_requests(self) -> list[httpx.Request]:
        return [request for request in self.seen if is_token_request(request)]

    def _handle(self, request: httpx.Request) -> httpx.Response:
        with self._lock:
            self.seen.append(request)
        return self._answer(request)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def _async_sleep(self, seconds: float) -> None:
        self._sleep(seconds)


ORGANIZATION = "0190c8f0-0000-7000-8000-00000000000a"
AUDIENCE = "https://api.example.com/orders"
ISSUED_AT = 1_800_000_000_123


def uuid7(milliseconds: int, tail: str = "000000000001") -> str:
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-{tail}"


def an_id(number: int) -> str:
    return f"0190c8f0-0000-4000-8000-{number:012x}"


AGENT = an_id(1)


class Issuer:
    """Signs what a server would sign."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        public = DpopKey(_pem(self._key)).jwk
        self.jwks = {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "ES256"}]}

    def sign(self, claims: Mapping[str, Any], typ: str, **header: Any) -> str:
        headers = {"typ": typ, "kid": "k1"} | header
        return jwt.encode(dict(claims), self._key, "ES256", headers)

    def token(self, **changes: Any) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": AGENT,
            "client_id": AGENT,
            "organization_id": ORGANIZATION,
            "scope": "orders:read orders:write",
            "iat": ISSUED_AT // 1000,
            "exp": ISSUED_AT // 1000 + 3600,
            "jti": uuid7(ISSUED_AT),
        }
        return self.sign(claims | changes, "at+jwt")

    def event(self, claims: Mapping[str, Any]) -> str:
        return self.sign(claims, "secevent+jwt")


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def security_event(
    kind: str, sub_id: Mapping[str, Any], at: float = ISSUED_AT, **event: Any
) -> dict[str, Any]:
    """`at` is in milliseconds."""
    return {
        "iss": ISSUER,
        "aud": "api",
        "iat": int(at) // 1000,
        "jti": uuid7(int(at), "0000000000ee"),
        "sub_id": dict(sub_id),
        "events": {f"{EVENT}{kind}": {"event_timestamp": at / 1000, **event}},
    }


def person_or_agent(name: str) -> dict[str, str]:
    return {"format": "iss_sub", "iss": ISSUER, "sub": name}


def opaque(name: str) -> dict[str, str]:
    return {"format": "opaque", "id": name}
