"""Verifies an export of the audit log with public keys alone, line by line.

The rules are those of `countersign audit verify`. An export may be large: only one line is in
memory.
"""

import json
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from countersign.audit_chain import Chain, empty_head
from countersign.audit_findings import Finding
from countersign.audit_statements import EXPORT, TrustedKeys, leaf_hash, sha256, trust_from

EXPORT_VERSION = 1
# A key for each day of 27 years.
MAX_KEYS = 10_000
STRING, NUMBER = (str,), (int, float)
REQUIRED: dict[str, dict[str, tuple[type, ...]]] = {
    "export": {"version": NUMBER},
    "key": {"number": NUMBER, "keyId": STRING, "at": STRING, "signed": STRING},
    "anchor": {"organizationId": STRING, "number": NUMBER, "at": STRING, "signed": STRING},
    "link": {
        "organizationId": STRING,
        "sequence": NUMBER,
        "eventId": STRING,
        "time": STRING,
        "eventHash": STRING,
        "hash": STRING,
        "linkedOn": STRING,
    },
    "checkpoint": {
        "organizationId": STRING,
        "number": NUMBER,
        "size": NUMBER,
        "head": STRING,
        "at": STRING,
        "signed": STRING,
    },
    "end": {},
}
OPTIONAL = {
    "link": {"event"},
    "checkpoint": {"previous", "keyId", "takenOn", "inclusion"},
    "end": {"chains", "events", "signed"},
}
EVENT_FIELDS = {"canonical", "appendedIn", "seal"}
INCLUSION_FIELDS = {"treeHead", "treeSize", "leafIndex", "proof"}


@dataclass(frozen=True)
class AuditExport:
    """An intact export.

    `organization_id` is its only organization; None if it has all of them. `at` is the time when
    the export began.
    """

    organization_id: str | None
    at: str
    chains: int
    events: int


def verify_audit_export(
    lines: Iterable[str | bytes],
    checkpoint: str | Mapping[str, Any] | None = None,
    *,
    jwks: Mapping[str, Any],
) -> AuditExport:
    """Raises AuditExportError unless the export is intact.

    `lines` are the lines of the file. `jwks` is the key set of the instance, as
    `/.well-known/jwks.json` has it: take it from the instance, not from the file. `checkpoint` is
    an entry of `GET /audit/checkpoints` that you kept; the export must contain it.
    """
    verification = ExportVerification(jwks, checkpoint)
    for line in lines:
        verification.feed(line)
    return verification.result()


async def async_verify_audit_export(
    lines: AsyncIterable[str | bytes],
    checkpoint: str | Mapping[str, Any] | None = None,
    *,
    jwks: Mapping[str, Any],
) -> AuditExport:
    """See `verify_audit_export`."""
    verification = ExportVerification(jwks, checkpoint)
    async for line in lines:
        verification.feed(line)
    return verification.result()


class ExportVerification:
    """Takes the lines of an export one by one."""

    def __init__(
        self, jwks: Mapping[str, Any], checkpoint: str | Mapping[str, Any] | None = None
    ) -> None:
        self._roots = [key for key in jwks.get("keys", ()) if isinstance(key, Mapping)]
        self._wanted = None if checkpoint is None else _hash_of(checkpoint)
        self._key_rows: list[dict[str, Any]] = []
        self._trusted: TrustedKeys | None = None
        self._chain: Chain | None = None
        self._chains = 0
        self._events = 0
        self._contents = ""
        self._is_begun = False
        self._is_ended = False
        self._statement: dict[str, Any] | None = None

    def feed(self, text: str | bytes) -> None:
        try:
            stripped = (text.decode() if isinstance(text, bytes) else text).rstrip("\r\n")
            if stripped:
                self._accept(_parse(stripped))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            open_chain = self._chain.organization_id if self._chain else None
            raise Finding("EXPORT_LINE_INVALID", organization_id=open_chain) from error

    def result(self) -> AuditExport:
        if not self._is_ended:
            open_chain = self._chain.organization_id if self._chain else None
            raise Finding("EXPORT_TRUNCATED", organization_id=open_chain)
        if self._wanted is not None:
            raise Finding("EXTERNAL_CHECKPOINT_MISSING")
        if self._statement is None:
            raise Finding("EXPORT_WITHOUT_STATEMENT")
        organization_id = self._statement.get("organizationId")
        at = str(self._statement.get("at"))
        return AuditExport(organization_id, at, self._chains, self._events)

    def _accept(self, line: dict[str, Any]) -> None:
        kind = line["kind"]
        if self._is_ended:
            raise Finding("EXPORT_CONTINUES")
        is_first, self._is_begun = not self._is_begun, True
        if is_first != (kind == "export"):
            raise Finding("EXPORT_HEADER_INVALID")
        if kind == "export":
            if line["version"] != EXPORT_VERSION:
                raise Finding("EXPORT_VERSION_UNKNOWN", version=line["version"])
            return
        if kind == "key":
            # After the first chain it would not count.
            if self._trusted or len(self._key_rows) == MAX_KEYS:
                raise ValueError("a key after the first chain, or too many keys")
            self._key_rows.append(line)
            return
        if self._trusted is None:
            self._trusted = trust_from(self._roots, self._key_rows)
        self._accept_evidence(kind, line, self._trusted)

    def _accept_evidence(self, kind: str, line: dict[str, Any], keys: TrustedKeys) -> None:
        continues = (
            kind in ("link", "checkpoint")
            and self._chain is not None
            and self._chain.organization_id == line["organizationId"]
        )
        if self._chain and not continues:
            self._close(self._chain, keys)
        if kind == "anchor":
            self._chain = Chain.after_anchor(keys, line)
            self._find_wanted(self._chain)
            return
        if kind == "end":
            self._end(line, keys)
            return
        organization_id = line["organizationId"]
        if self._chain is None:
            self._chain = Chain(organization_id, empty_head(organization_id))
        if kind == "link":
            self._events += 1
            self._chain.accept_link(line)
        else:
            self._chain.accept_checkpoint(keys, line)
            self._find_wanted(self._chain)

    def _find_wanted(self, chain: Chain) -> None:
        """An anchor names the last checkpoint that retention dropped: it is in the log, too."""
        if chain.checkpoint_hash == self._wanted:
            self._wanted = None

    def _close(self, chain: Chain, keys: TrustedKeys) -> None:
        chain.close(keys)
        parts = (self._contents, chain.organization_id, chain.dropped_through, chain.head)
        self._contents = sha256(" ".join(parts))
        self._chains += 1
        self._chain = None

    def _end(self, line: dict[str, Any], keys: TrustedKeys) -> None:
        self._is_ended = True
        if "signed" not in line:
            stated = line.get("events")
            if stated != self._events:
                raise Finding("EXPORT_UNSIGNED_COUNT", found=self._events, stated=stated)
            return
        statement = keys.read(EXPORT, line["signed"])
        if statement is None:
            raise Finding("EXPORT_NOT_SIGNED")
        chains, events = statement.get("chains"), statement.get("events")
        if chains != self._chains:
            raise Finding("EXPORT_CHAIN_COUNT", found=self._chains, signed=chains)
        if events != self._events:
            raise Finding("EXPORT_EVENT_COUNT", found=self._events, signed=events)
        if statement.get("contents") != self._contents:
            raise Finding("EXPORT_CHAINS_DIFFER")
        if (line.get("chains"), line.get("events")) != (chains, events):
            raise Finding("EXPORT_NUMBERS_DIFFER")
        self._statement = statement


def _parse(text: str) -> dict[str, Any]:
    """A line with fields of the right types, each of them known, and none of them twice."""
    line = json.loads(text, parse_constant=_refuse_constant)
    kind = line["kind"]
    required = REQUIRED[kind]
    has_fields = all(_is_a(line[name], types) for name, types in required.items())
    event: Any = line.get("event") if kind == "link" else None
    inclusion = line.get("inclusion") if kind == "checkpoint" else None
    is_valid = (
        has_fields
        and (kind != "link" or line["event"] is None or isinstance(event["canonical"], str))
        and ("inclusion" not in line or _is_inclusion(line["inclusion"]))
    )
    if not is_valid:
        raise ValueError("a field has another type")
    json.loads(text, object_pairs_hook=_refuse_repeated)
    known = {"kind", *required, *OPTIONAL.get(kind, ())}
    unknown = [
        *(name for name in line if name not in known),
        *(name for name in event or () if name not in EVENT_FIELDS),
        *(name for name in inclusion or () if name not in INCLUSION_FIELDS),
    ]
    if unknown:
        raise Finding("EXPORT_FIELD_UNKNOWN", field=unknown[0])
    return dict(line)


def _is_a(value: Any, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


def _is_inclusion(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_is_a(value.get(name), NUMBER) for name in ("treeHead", "treeSize", "leafIndex"))
        and isinstance(value.get("proof"), list)
        and all(isinstance(node, str) for node in value["proof"])
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise Finding("EXPORT_FIELD_REPEATED", field=name)
        fields[name] = value
    return fields


def _hash_of(checkpoint: str | Mapping[str, Any]) -> str:
    """The hash of a checkpoint, from its entry or, of earlier versions, from its signed text."""
    problem = "checkpoint must be an entry of GET /audit/checkpoints, as JSON or as a dictionary"
    entry: Any = checkpoint
    if isinstance(checkpoint, str):
        text = checkpoint.strip()
        if not text.startswith("{"):
            entry = {"signed": text}
        else:
            try:
                entry = json.loads(text)
            except ValueError as error:
                raise ValueError(problem) from error
    signed, inclusion = entry.get("signed"), entry.get("inclusion")
    if not isinstance(signed, str) or signed.count(".") != 2:
        raise ValueError(problem)
    if inclusion is None:
        return sha256(signed)
    if not isinstance(inclusion, Mapping) or not isinstance(inclusion.get("checkpoint"), str):
        raise ValueError(problem)
    return leaf_hash(inclusion["checkpoint"])
