import dataclasses
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from countersign import TokenError, VerifiedToken, Verifier

CASES = json.loads((Path(__file__).parents[1] / "testdata" / "access-token-cases.json").read_text())
ISSUER = CASES["issuer"]
AUDIENCE = CASES["audience"]
ORGANIZATION = CASES["organizationId"]
OWN = CASES["accepted"][0]["token"]


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [case["name"] for case in cases]


def verifier(
    status: int = 200, *, accept_any_organization: bool = False, subjects: Any = "agents"
) -> Verifier:
    keys = httpx.MockTransport(lambda _: httpx.Response(status, json=CASES["jwks"]))
    return Verifier(
        ISSUER,
        AUDIENCE,
        None if accept_any_organization else ORGANIZATION,
        accept_any_organization=accept_any_organization,
        subjects=subjects,
        revocation="none",
        transport=keys,
    )


def verify(case: dict[str, Any]) -> VerifiedToken:
    accept_any = case["acceptAnyOrganization"]
    checking = verifier(accept_any_organization=accept_any, subjects=case["subjects"])
    return checking.verify(case["token"])


@pytest.mark.parametrize("case", CASES["accepted"], ids=names(CASES["accepted"]))
def test_accepted(case: dict[str, Any]) -> None:
    verified = dataclasses.asdict(verify(case))
    assert verified.pop("claims")["iss"] == ISSUER
    assert verified == {
        "agent_id": case["verified"]["agentId"],
        "subject": case["verified"]["subject"],
        "actors": tuple(case["verified"]["actors"]),
        "chain_id": case["verified"]["chainId"],
        "scopes": tuple(case["verified"]["scopes"]),
        "organization_id": case["verified"]["organizationId"],
        "authorization_details": tuple(case["verified"]["authorizationDetails"]),
        "key_thumbprint": case["verified"].get("keyThumbprint"),
    }


@pytest.mark.parametrize("case", CASES["refused"], ids=names(CASES["refused"]))
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(TokenError) as refusal:
        verify(case)
    assert case["reason"] in str(refusal.value)
    assert refusal.value.code == case["code"]
    assert refusal.value.status == (403 if case["code"] == "insufficient_scope" else 401)


def test_503_without_keys() -> None:
    with pytest.raises(TokenError) as refusal:
        verifier(503).verify(OWN)
    assert refusal.value.status == 503
