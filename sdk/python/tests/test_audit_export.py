import json
from pathlib import Path
from typing import Any

import pytest

from countersign import AuditExportError, verify_audit_export
from countersign.audit_statements import checkpoint_text, unverified_claims
from countersign.merkle import leaf_hash

EXPORTS = json.loads((Path(__file__).parents[2] / "vectors.json").read_text())["auditExports"]


def export(name: str) -> dict[str, Any]:
    return next(each for each in EXPORTS if each["name"] == name)


def rows(case: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in case["lines"] if line)
    return [line for line in lines if line["kind"] == kind]


def kept(row: dict[str, Any]) -> str:
    """The entry of GET /audit/checkpoints."""
    inclusion = {"checkpoint": checkpoint_text(row)}
    return json.dumps({"signed": row["signed"], "inclusion": inclusion})


def test_the_checkpoint_that_an_anchor_names_is_in_the_log() -> None:
    whole, rest = export("one organization"), export("after retention has dropped links")
    named = unverified_claims(rows(rest, "anchor")[0]["signed"])["checkpoint"]["hash"]
    dropped = [row for row in rows(whole, "checkpoint") if leaf_hash(checkpoint_text(row)) == named]
    assert len(dropped) == 1
    assert dropped[0]["number"] not in [row["number"] for row in rows(rest, "checkpoint")]
    verify_audit_export(rest["lines"], kept(dropped[0]), jwks=rest["jwks"])


def test_space_around_a_checkpoint_does_not_matter() -> None:
    case = export("one organization")
    checkpoint = kept(rows(case, "checkpoint")[0])
    verify_audit_export(case["lines"], f"\n {checkpoint}\r\n", jwks=case["jwks"])


def test_the_keys_of_an_export_are_limited() -> None:
    case = export("one organization")
    header, key = case["lines"][:2]
    read = 0

    def lines() -> Any:
        nonlocal read
        yield header
        for read in range(1, 20_000):  # noqa: B007
            yield key

    with pytest.raises(AuditExportError) as refusal:
        verify_audit_export(lines(), jwks=case["jwks"])
    assert (refusal.value.code, read) == ("EXPORT_LINE_INVALID", 10_001)
