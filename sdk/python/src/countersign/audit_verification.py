"""The rules of an export, line by line: the same as those of `countersign audit verify`.

An export may be large: only one line is in memory.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from countersign.audit_chain import Chain, Head, check_signature, empty_head, head_of, read_anchor
from countersign.audit_days import Days
from countersign.audit_findings import Finding
from countersign.audit_lines import VERSIONS, parse_line
from countersign.audit_log_proofs import LogProofs, Witnessed
from countersign.audit_statements import (
    CHECKPOINT,
    EXPORT,
    TREE_HEAD,
    TrustedKeys,
    trust_from,
    type_of,
)
from countersign.errors import AuditExportError
from countersign.log_trust import CheckpointPolicy
from countersign.merkle import leaf_hash, sha256

# A key for each day of 27 years.
MAX_KEYS = 10_000
# Twice what so many keys of RSA-4096 have: they are in memory before any of them is proven.
MAX_KEY_CHARACTERS = 64 * 1024 * 1024
# One after the other. Compressed, a thousand million of them are a few kilobytes.
MAX_EMPTY_LINES = 1_000
Line = Mapping[str, Any]


@dataclass(frozen=True)
class AuditExport:
    """An intact export."""

    # The only organization of the export; None if it has all of them.
    organization_id: str | None
    # When the export began. All events that were linked by then are in it.
    at: str
    chains: int
    # Links, including those whose events retention has dropped.
    events: int
    # The only day of the export (`YYYY-MM-DD`, UTC); None if it has all days.
    day: str | None = None
    # The checkpoint of the log that the witnesses have cosigned; None unless witnesses were named.
    witnessed: Witnessed | None = None


class ExportVerification:
    """Takes the lines of an export one by one."""

    def __init__(
        self,
        jwks: Mapping[str, Any],
        checkpoint: str | Mapping[str, Any] | None = None,
        policy: CheckpointPolicy | None = None,
    ) -> None:
        if not isinstance(jwks, Mapping) or not isinstance(jwks.get("keys"), list):
            raise TypeError("jwks must be the key set of the instance")
        # Links so far.
        self.events = 0
        self._roots = [key for key in jwks["keys"] if isinstance(key, Mapping)]
        self._wanted = None if checkpoint is None else _hash_of(checkpoint)
        self._key_rows: list[dict[str, Any]] = []
        self._trusted: TrustedKeys | None = None
        self._log_proofs = LogProofs(policy)
        self._key_characters = 0
        self._lines = 0
        self._empty_lines = 0
        self._version: Any = None
        self._chain: Chain | None = None
        self._chains = 0
        self._contents = ""
        self._days = Days()
        self._witnessed_events = 0
        self._is_ended = False
        self._statement: dict[str, Any] | None = None

    @property
    def log_note(self) -> str | None:
        """The checkpoint of the instance log in the export: a signed note."""
        return self._log_proofs.note

    def feed(self, text: str | bytes) -> None:
        self._lines += 1
        try:
            line = text.decode() if isinstance(text, bytes) else text
            line = line.removesuffix("\n").removesuffix("\r")
            self._empty_lines = 0 if line else self._empty_lines + 1
            if self._empty_lines > MAX_EMPTY_LINES:
                raise ValueError("too many empty lines")
            if line:
                self._accept(parse_line(line, self._open_organization))
        except AuditExportError as finding:
            raise self._at(finding, self._lines) from None
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            invalid = Finding("EXPORT_LINE_INVALID", organization_id=self._open_organization)
            raise self._at(invalid, self._lines) from error

    def result(self) -> AuditExport:
        statement = self._statement
        if not self._is_ended:
            finding = Finding("EXPORT_TRUNCATED", organization_id=self._open_organization)
            raise self._at(finding)
        if self._wanted is not None:
            raise self._at(Finding("EXTERNAL_CHECKPOINT_MISSING"))
        if statement is None:
            chains = count_chains(self._chains)
            raise self._at(Finding("EXPORT_WITHOUT_STATEMENT", events=self.events, chains=chains))
        return AuditExport(
            statement.get("organizationId"),
            str(statement.get("at")),
            self._chains,
            self.events,
            statement.get("day"),
            self._log_proofs.witnessed(self._witnessed_events),
        )

    @property
    def _open_organization(self) -> str | None:
        return self._chain.organization_id if self._chain else None

    def _at(self, finding: AuditExportError, line: int | None = None) -> AuditExportError:
        finding.line, finding.chains, finding.events = line, self._chains, self.events
        return finding

    def _accept(self, line: Line) -> None:
        kind = line["kind"]
        if self._is_ended:
            raise Finding("EXPORT_CONTINUES")
        if (self._version is None) != (kind == "export"):
            raise Finding("EXPORT_HEADER_INVALID")
        if kind == "export":
            self._version = line["version"]
            if self._version not in VERSIONS:
                raise Finding("EXPORT_VERSION_UNKNOWN", version=self._version)
            return
        if kind in ("start", "logProof") and self._version == 1:
            raise ValueError("no line of version 1")
        if kind == "key":
            # After the first chain it would not count.
            self._key_characters += sum(len(line[name]) for name in ("keyId", "at", "signed"))
            is_full = len(self._key_rows) == MAX_KEYS or self._key_characters > MAX_KEY_CHARACTERS
            if self._trusted or is_full:
                raise ValueError("a key after the first chain, or too many keys")
            self._key_rows.append(dict(line))
            return
        if self._trusted is None:
            self._trusted = trust_from(self._roots, self._key_rows)
        self._accept_evidence(kind, line, self._trusted)

    def _accept_evidence(self, kind: str, line: Line, keys: TrustedKeys) -> None:
        chain = self._chain
        if chain and chain.organization_id != line.get("organizationId"):
            chain = None
        if kind == "logProof":
            self._accept_log_proof(line, chain)
        elif kind == "start":
            self._accept_start(line, keys, chain)
        elif kind == "link" or kind == "checkpoint":
            self._accept_chain_line(kind, line, keys, chain)
        else:
            self._close(keys)
            if kind == "end":
                self._end(line, keys)
            else:
                # Retention dropped the checkpoint itself; the signed anchor proves that it was
                # in the log.
                self._open(line, *read_anchor(keys, line))

    def _accept_start(self, line: Line, keys: TrustedKeys, chain: Chain | None) -> None:
        """The signature proves that it was in the log, like an anchor."""
        is_at_anchor = (
            chain is not None
            and self._days.start is None
            and chain.last_row is None
            and chain.is_at_checkpoint
        )
        anchor = chain if is_at_anchor else None
        if anchor is None:
            self._close(keys)
        number, day = line["number"], line.get("takenOn")
        if day != line["at"][:10] or number <= (anchor.checkpoint.number if anchor else 0):
            place = line["organizationId"]
            raise Finding("CHECKPOINT_NOT_FOLLOWING", number=number, organization_id=place)
        check_signature(keys, line)
        self._open(line, head_of(line), anchor.dropped_through if anchor else "")
        self._days.start = day

    def _accept_chain_line(
        self, kind: str, line: Line, keys: TrustedKeys, chain: Chain | None
    ) -> None:
        if chain is None:
            self._close(keys)
            chain = self._open(line, empty_head(line["organizationId"]), "")
        if kind == "link":
            self.events += 1
            chain.accept_link(line)
            return
        chain.accept_checkpoint(keys, line)
        self._days.add(line["takenOn"])
        self._find_wanted(chain)

    def _accept_log_proof(self, line: Line, chain: Chain | None) -> None:
        is_after_checkpoint = chain and not chain.has_log_proof and chain.is_at_checkpoint
        self._log_proofs.accept(line, chain.last_row if chain and is_after_checkpoint else None)
        if chain:
            chain.has_log_proof = True
            self._witnessed_events += self.events - chain.events_before

    def _open(self, line: Line, start: Head, dropped_through: str) -> Chain:
        chain = Chain(line["organizationId"], start, dropped_through, self.events)
        self._chain = chain
        self._find_wanted(chain)
        return chain

    def _find_wanted(self, chain: Chain) -> None:
        if chain.checkpoint.hash == self._wanted:
            self._wanted = None

    def _close(self, keys: TrustedKeys) -> None:
        chain = self._chain
        if chain is None:
            return
        chain.close(keys)
        if chain.last_row is not None and not chain.has_log_proof:
            self._log_proofs.require(chain.organization_id)
        parts = (self._contents, chain.organization_id, chain.dropped_through, chain.head)
        self._contents = sha256(" ".join(parts))
        self._chains += 1
        self._chain = None

    def _end(self, line: Line, keys: TrustedKeys) -> None:
        self._is_ended = True
        stated = [_number_or_text(line.get(name)) for name in ("chains", "events")]
        if "signed" not in line:
            if stated[1] != self.events:
                raise Finding("EXPORT_UNSIGNED_COUNT", found=self.events, stated=stated[1])
            return
        statement = keys.read(EXPORT, line["signed"])
        if statement is None:
            raise Finding("EXPORT_NOT_SIGNED")
        chains, events = statement.get("chains"), statement.get("events")
        if chains != self._chains:
            raise Finding("EXPORT_CHAIN_COUNT", found=self._chains, signed=chains)
        if events != self.events:
            raise Finding("EXPORT_EVENT_COUNT", found=self.events, signed=events)
        if statement.get("contents") != self._contents:
            raise Finding("EXPORT_CHAINS_DIFFER")
        if stated != [chains, events]:
            raise Finding("EXPORT_NUMBERS_DIFFER")
        self._days.check(statement, self._chains)
        if self.log_note is None:
            self._log_proofs.require(None)
        self._statement = statement


def count_chains(chains: int) -> str:
    return "1 chain" if chains == 1 else f"{chains} chains"


def _number_or_text(value: Any) -> Any:
    """True is no 1."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else f"{value}"


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
    if not isinstance(signed, str) or type_of(signed) not in (CHECKPOINT, TREE_HEAD):
        raise ValueError(problem)
    if inclusion is None:
        return sha256(signed)
    if not isinstance(inclusion, Mapping) or not isinstance(inclusion.get("checkpoint"), str):
        raise ValueError(problem)
    return leaf_hash(inclusion["checkpoint"])
