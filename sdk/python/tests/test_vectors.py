"""The vectors that every SDK passes: tokens, webhooks and audit exports, good and bad."""

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import countersign
from countersign import AuditExportError, TokenError, WebhookError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors.json").read_text())
TOKENS = VECTORS["tokens"]


def names(cases: list[dict[str, Any]]) -> list[str]:
    return [case["name"] for case in cases]


def transport() -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, json=TOKENS["jwks"]))


def verify(case: dict[str, Any]) -> countersign.VerifiedToken:
    """With both verifiers, which agree."""
    is_any = case["acceptAnyOrganization"]
    options: dict[str, Any] = {
        "accept_any_organization": is_any,
        "subjects": case["subjects"],
        "revocation": "none",
        "transport": transport(),
        "organization_id": None if is_any else TOKENS["organizationId"],
    }
    if "at" in case:
        options["now"] = lambda: case["at"]
    required = case.get("require", {})
    use = {"scopes": required.get("scopes", ()), "max_depth": required.get("maxDepth")}
    place = TOKENS["issuer"], TOKENS["audience"]

    def demand(verified: countersign.VerifiedToken) -> countersign.VerifiedToken:
        if "detail" in required:
            assert verified.require_detail(required["detail"])["type"] == required["detail"]
        return verified

    async def verify_async() -> countersign.VerifiedToken | TokenError:
        try:
            verifier = countersign.AsyncVerifier(*place, **options)
            return demand(await verifier.verify(case["token"], **use))
        except TokenError as error:
            return error

    other = asyncio.run(verify_async())
    try:
        verified = demand(countersign.Verifier(*place, **options).verify(case["token"], **use))
    except TokenError as error:
        assert isinstance(other, TokenError)
        assert (other.code, str(other)) == (error.code, str(error))
        raise
    assert verified == other
    return verified


@pytest.mark.parametrize("case", TOKENS["accepted"], ids=names(TOKENS["accepted"]))
def test_accepted_token(case: dict[str, Any]) -> None:
    verified = dataclasses.asdict(verify(case))
    assert verified.pop("claims")["iss"] == TOKENS["issuer"]
    expected = case["verified"]
    assert verified == {
        "agent_id": expected["agentId"],
        "subject": expected["subject"],
        "actors": tuple(expected["actors"]),
        "chain_id": expected["chainId"],
        "scopes": tuple(expected["scopes"]),
        "organization_id": expected["organizationId"],
        "authorization_details": tuple(expected["authorizationDetails"]),
        "key_thumbprint": expected.get("keyThumbprint"),
    }


@pytest.mark.parametrize("case", TOKENS["refused"], ids=names(TOKENS["refused"]))
def test_refused_token(case: dict[str, Any]) -> None:
    with pytest.raises(TokenError) as refusal:
        verify(case)
    assert case["reason"] in str(refusal.value)
    assert refusal.value.code == case["code"]
    assert refusal.value.status == (403 if case["code"].startswith("insufficient_") else 401)
    assert f'error="{case["code"]}"' in refusal.value.www_authenticate


@pytest.mark.parametrize("case", VECTORS["webhooks"], ids=names(VECTORS["webhooks"]))
def test_webhook(case: dict[str, Any]) -> None:
    body = case["body"].encode()
    if case["valid"]:
        delivery = countersign.verify_webhook(
            body, case["headers"], case["secrets"], now=case["now"]
        )
        assert delivery.json() == json.loads(body)
        return
    with pytest.raises(WebhookError) as refusal:
        countersign.verify_webhook(body, case["headers"], case["secrets"], now=case["now"])
    assert refusal.value.code == case["reason"]


@pytest.mark.parametrize("case", VECTORS["auditExports"], ids=names(VECTORS["auditExports"]))
def test_audit_export(case: dict[str, Any]) -> None:
    lines, checkpoint = case["lines"], case["checkpoint"]
    log = countersign.LogTrust(**case["log"]) if "log" in case else None
    options: dict[str, Any] = {"jwks": case["jwks"], "log": log}
    if not case["valid"]:
        with pytest.raises(AuditExportError) as refusal:
            countersign.verify_audit_export(lines, checkpoint, **options)
        assert (refusal.value.code, refusal.value.line) == (case["problem"], case.get("line"))
        return
    export = countersign.verify_audit_export(lines, checkpoint, **options)
    end = json.loads(next(line for line in reversed(lines) if line))
    assert (export.chains, export.events) == (end["chains"], end["events"])
    assert export.day == case.get("day")
    expected = case.get("witnessed")
    assert export.witnessed == (
        expected
        and countersign.Witnessed(
            expected["checkpointSize"],
            expected["time"],
            tuple(expected["witnesses"]),
            expected["events"],
        )
    )
