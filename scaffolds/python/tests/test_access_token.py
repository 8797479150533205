import json
import time
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from agent.access_token import InvalidToken, Verifier

ISSUER = "https://id.example.com"
AUDIENCE = "https://agent.example.com"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
ANOTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
JWK = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())) | {"kid": "k"}
CLAIMS = {
    "iss": ISSUER,
    "aud": AUDIENCE,
    "sub": "a",
    "client_id": "a",
    "exp": int(time.time()) + 3600,
}


def sign(
    headers: dict[str, str] | None = None,
    key: Any = KEY,
    algorithm: str = "RS256",
    **changes: Any,
) -> str:
    claims = {name: value for name, value in (CLAIMS | changes).items() if value is not None}
    return jwt.encode(claims, key, algorithm, {"typ": "at+jwt", "kid": "k"} | (headers or {}))


@pytest.fixture
def fetches() -> list[str]:
    return []


@pytest.fixture
def verifier(fetches: list[str]) -> Verifier:
    def handle(request: httpx.Request) -> httpx.Response:
        fetches.append(request.url.path)
        return httpx.Response(200, json={"keys": [JWK]})

    return Verifier(ISSUER, AUDIENCE, transport=httpx.MockTransport(handle))


def test_a_genuine_token_tells_whose_it_is(verifier: Verifier, fetches: list[str]) -> None:
    for _ in range(3):
        assert verifier.verify(sign())["client_id"] == "a"
    assert fetches == ["/.well-known/jwks.json"]


def test_made_up_keys_are_looked_for_once(verifier: Verifier, fetches: list[str]) -> None:
    for number in range(5):
        with pytest.raises(InvalidToken, match="unknown key"):
            verifier.verify(sign({"kid": f"made-up-{number}"}))
    assert len(fetches) == 1


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(sign(iss="https://elsewhere.example.com"), id="another issuer"),
        pytest.param(sign(aud=ISSUER), id="another audience"),
        pytest.param(sign(exp=int(time.time()) - 60), id="expired"),
        pytest.param(sign(exp=None), id="never expires"),
        pytest.param(sign({"typ": "JWT"}), id="another kind of token"),
        pytest.param(sign(key=ANOTHER), id="another key"),
        pytest.param(sign(key="k" * 32, algorithm="HS256"), id="a symmetric signature"),
        pytest.param(sign(key=None, algorithm="none"), id="no signature"),
        pytest.param("x.y.z", id="no token"),
    ],
)
def test_anything_else_is_refused(verifier: Verifier, token: str) -> None:
    with pytest.raises(InvalidToken):
        verifier.verify(token)
