import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from agent.access_token import InvalidToken, Verifier

CASES = json.loads((Path(__file__).parents[1] / "testdata" / "access-token-cases.json").read_text())
ISSUER = CASES["issuer"]
AUDIENCE = CASES["audience"]
ORGANIZATION = CASES["organizationId"]
OWN = CASES["accepted"][0]["token"]
UNKNOWN_KEY = next(each["token"] for each in CASES["refused"] if each["name"] == "unknown key id")


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [case["name"] for case in cases]


class KeyServer:
    def __init__(self, jwks: dict[str, Any]) -> None:
        self.jwks = jwks
        self.status = 200
        self.fetches = 0
        self.now = 0.0

    def verifier(self, *, accept_any_organization: bool = False) -> Verifier:
        return Verifier(
            ISSUER,
            AUDIENCE,
            None if accept_any_organization else ORGANIZATION,
            accept_any_organization=accept_any_organization,
            transport=httpx.MockTransport(self._handle),
            monotonic=lambda: self.now,
        )

    def _handle(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/.well-known/jwks.json"
        self.fetches += 1
        return httpx.Response(self.status, json=self.jwks)


@pytest.fixture
def server() -> KeyServer:
    return KeyServer(CASES["jwks"])


@pytest.mark.parametrize("case", CASES["accepted"], ids=names(CASES["accepted"]))
def test_accepted(server: KeyServer, case: dict[str, Any]) -> None:
    verifier = server.verifier(accept_any_organization=case["acceptAnyOrganization"])
    verified = dataclasses.asdict(verifier.verify(case["token"]))
    assert verified.pop("claims")["iss"] == ISSUER
    assert verified == {
        "agent_id": case["verified"]["agentId"],
        "subject": case["verified"]["subject"],
        "actors": tuple(case["verified"]["actors"]),
        "chain_id": case["verified"]["chainId"],
        "scopes": tuple(case["verified"]["scopes"]),
        "organization_id": case["verified"]["organizationId"],
    }


@pytest.mark.parametrize("case", CASES["refused"], ids=names(CASES["refused"]))
def test_refused(server: KeyServer, case: dict[str, Any]) -> None:
    verifier = server.verifier(accept_any_organization=case["acceptAnyOrganization"])
    with pytest.raises(InvalidToken) as refusal:
        verifier.verify(case["token"])
    assert case["reason"] in str(refusal.value)


@pytest.mark.parametrize("organization_id", [None, "", "acme"])
def test_a_verifier_needs_an_organization_or_the_option(organization_id: str | None) -> None:
    with pytest.raises(ValueError, match="accept_any_organization"):
        Verifier(ISSUER, AUDIENCE, organization_id)


def test_keys_are_fetched_once(server: KeyServer) -> None:
    verifier = server.verifier()
    for _ in range(3):
        verifier.verify(OWN)
    for _ in range(3):
        with pytest.raises(InvalidToken, match="unknown key"):
            verifier.verify(UNKNOWN_KEY)
    assert server.fetches == 1


def test_a_key_that_is_no_longer_published_is_refused_after_ten_minutes(
    server: KeyServer,
) -> None:
    verifier = server.verifier()
    verifier.verify(OWN)
    server.jwks = {"keys": [CASES["jwks"]["keys"][0] | {"kid": "next"}]}
    server.now = 599.0
    verifier.verify(OWN)
    server.now = 600.0
    with pytest.raises(InvalidToken, match="unknown key"):
        verifier.verify(OWN)


def test_a_failed_fetch_is_not_repeated_at_once(server: KeyServer) -> None:
    verifier = server.verifier()
    server.status = 503
    with pytest.raises(httpx.HTTPError):
        verifier.verify(OWN)
    with pytest.raises(InvalidToken, match="could not be fetched"):
        verifier.verify(OWN)
    assert server.fetches == 1
    server.status, server.now = 200, 30.0
    verifier.verify(OWN)


def test_clocks_may_differ_by_five_seconds() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())) | {"kid": "k"}
    verifier = KeyServer({"keys": [jwk]}).verifier()

    def sign(seconds_left: int) -> str:
        claims = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": ORGANIZATION,
            "client_id": ORGANIZATION,
            "organization_id": ORGANIZATION,
            "exp": int(time.time()) + seconds_left,
        }
        return jwt.encode(claims, key, "RS256", {"typ": "at+jwt", "kid": "k"})

    verifier.verify(sign(-1))
    with pytest.raises(InvalidToken):
        verifier.verify(sign(-10))
