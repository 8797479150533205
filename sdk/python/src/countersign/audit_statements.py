"""Signed statements of the audit log (compact JWS), and the keys that sign them."""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt

from countersign.audit_findings import Finding
from countersign.merkle import leaf_hash, sha256
from countersign.verified_token import ALGORITHMS

CHECKPOINT = "audit-checkpoint+jwt"
TREE_HEAD = "audit-tree-head+jwt"
KEY = "audit-key+jwt"
ANCHOR = "audit-anchor+jwt"
EXPORT = "audit-export+jwt"
# Each byte string has one spelling: no padding, and no bits beyond the last byte. A hash of the
# text names the statement.
BASE64URL = re.compile(
    r"(?:[\w-]{4})*(?:[\w-]{4}|[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])", re.ASCII
)
# Their texts take a few megabytes.
MAX_REMEMBERED = 10_000


def checkpoint_text(row: Mapping[str, Any]) -> str:
    """The leaf of a checkpoint: canonical JSON (RFC 8785). The names are in order already."""
    names = ("at", "head", "number", "organizationId", "previous", "size")
    fields = {name: row[name] for name in names if name in row}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False)


def checkpoint_hash(row: Mapping[str, Any]) -> str:
    """The next checkpoint names it as `previous`."""
    return leaf_hash(checkpoint_text(row)) if row.get("inclusion") else sha256(row["signed"])


def unverified_claims(text: str) -> dict[str, Any]:
    """The claims without a check of the signature; empty if there are none."""
    return _decoded_part(text, 1)


def key_id_of(text: str) -> Any:
    return _decoded_part(text, 0).get("kid")


def type_of(text: str) -> Any:
    return _decoded_part(text, 0).get("typ")


def _decoded_part(text: str, part: int) -> dict[str, Any]:
    """0 is the header, 1 the payload."""
    try:
        encoded = text.split(".")[part]
        if BASE64URL.fullmatch(encoded) is None:
            return {}
        decoded = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
        value = json.loads(decoded.decode(errors="replace"))
    except (ValueError, IndexError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@dataclass
class TrustedKeys:
    """The keys of the instance, and earlier keys that their statements name."""

    keys: dict[str, jwt.PyJWK] = field(default_factory=dict)
    _tree_heads: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, jwk: Mapping[str, Any]) -> None:
        try:
            key = jwt.PyJWK.from_dict(dict(jwk))
        except Exception:  # the library raises many kinds of errors for a key that is not one
            return
        if isinstance(key.key_id, str) and key.algorithm_name in ALGORITHMS:
            self.keys[key.key_id] = key

    def read(self, kind: str, text: Any) -> dict[str, Any] | None:
        """The claims, if one of the keys signed them as a statement of this kind.

        Chains that grew in the same pass share a tree head: it is verified once.
        """
        if kind != TREE_HEAD or not isinstance(text, str):
            return self._verify(kind, text)
        known = self._tree_heads.get(text)
        if known is not None:
            return known
        claims = self._verify(kind, text)
        if len(self._tree_heads) == MAX_REMEMBERED:
            self._tree_heads.clear()
        if claims is not None:
            self._tree_heads[text] = claims
        return claims

    def _verify(self, kind: str, text: Any) -> dict[str, Any] | None:
        if not isinstance(text, str) or BASE64URL.fullmatch(text.rpartition(".")[2]) is None:
            return None
        try:
            header = _decoded_part(text, 0)
            key = self.keys[header["kid"]]
            if header.get("typ") != kind or "crit" in header:
                return None
            jwt.PyJWS().decode(text, key, algorithms=[key.algorithm_name])
        except Exception:  # a statement is hostile until it is verified
            return None
        return unverified_claims(text) or None


def trust_from(roots: Iterable[Mapping[str, Any]], rows: list[dict[str, Any]]) -> TrustedKeys:
    """Trust starts at the published keys and goes back: `rows` from the newest to the oldest."""
    trusted = TrustedKeys()
    for root in roots:
        trusted.add(root)
    expected: tuple[int, str | None] | None = None
    for row in rows:
        number = row["number"]
        statement = trusted.read(KEY, row["signed"])
        if statement is None:
            raise Finding("KEY_NOT_TRUSTED", number=number)
        if expected and expected != (number, sha256(row["signed"])):
            raise Finding("KEY_NOT_NAMED", number=number)
        previous = statement.get("previous")
        matches = (
            statement.get("number") == number
            and statement.get("key", {}).get("kid") == row["keyId"]
            and statement.get("at") == row["at"]
            and (previous is None) == (number == 1)
        )
        if not matches:
            raise Finding("KEY_ROW_DIFFERS", number=number)
        if previous:
            trusted.add(previous["key"])
        expected = (number - 1, previous["hash"] if previous else None)
    if expected is None or expected[0] != 0:
        raise Finding("FIRST_KEY_MISSING")
    return trusted
