"""The proofs of an export that the instance log has its chains.

Each leads from the tree head of a checkpoint to the root of one checkpoint of the log, which is in
the file as a signed note.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from countersign.audit_findings import Finding
from countersign.log_keys import TransparencyError
from countersign.log_note import LogCheckpoint, parse_checkpoint, parse_note
from countersign.log_trust import CheckpointPolicy, Judgement, judge
from countersign.merkle import leaf_hash, root_from

# The calendar repeats after 400 years.
CYCLE_SECONDS = 146_097 * 86_400


@dataclass(frozen=True)
class Witnessed:
    """A quorum of witnesses has cosigned a checkpoint of the instance log."""

    # The size of the log at that checkpoint.
    checkpoint_size: int
    # When the quorum was reached, by the clocks of the witnesses (ISO 8601).
    time: str
    # The names of those that cosigned, the earliest first.
    witnesses: tuple[str, ...]
    # How many events the witnesses have seen. The others are newer than the checkpoint of the log.
    events: int


class LogProofs:
    """Without a policy, nothing is known about the signatures of the note."""

    def __init__(self, policy: CheckpointPolicy | None) -> None:
        # The signed note of the log in the export.
        self.note: str | None = None
        self._policy = policy
        self._checkpoint = LogCheckpoint("", 0, "")
        self._judgement: Judgement | None = None

    def accept(self, line: Mapping[str, Any], before: Mapping[str, Any] | None) -> None:
        """`before` is the checkpoint in the line before.

        It is None when that is another line, or when the chain has a proof already.
        """
        inclusion = before and before.get("inclusion")
        if (
            before is None
            or not inclusion
            or before["number"] != line["number"]
            or inclusion["treeHead"] != line["treeHead"]
        ):
            problem = "the proof is not of the checkpoint in the line before it"
            raise _invalid(line, f"{problem}, or the chain has two")
        self._read(line)
        size, leaf = self._checkpoint.size, leaf_hash(before["signed"])
        if size != line["treeSize"]:
            raise _invalid(line, "the checkpoint of the log has another size than the proof")
        if root_from(leaf, line["leafIndex"], size, line["proof"]) != self._checkpoint.root:
            raise _invalid(line, "the proof does not lead to the root of the log")

    def require(self, organization_id: str | None) -> None:
        """Raises the finding of a chain with checkpoints and without a proof."""
        if self._policy:
            raise Finding("LOG_QUORUM_MISSING", organization_id=organization_id)

    def witnessed(self, events: int) -> Witnessed | None:
        """None without a proof, and when no witnesses are given."""
        judged = self._judgement
        if judged is None or judged.witnessed_at is None:
            return None
        names = tuple(each.witness.name for each in judged.cosignatures)
        return Witnessed(judged.checkpoint.size, _iso(judged.witnessed_at), names, events)

    def _read(self, line: Mapping[str, Any]) -> None:
        """All proofs of a file are of one note."""
        note = line["checkpoint"]
        if note == self.note:
            return
        try:
            checkpoint = parse_checkpoint(parse_note(note)[0])
        except TransparencyError as error:
            raise _invalid(line, str(error)) from error
        judgement = None
        if self._policy:
            judgement = judge_or_raise(note, self._policy, line["organizationId"])
        if self.note is None:
            self.note, self._checkpoint, self._judgement = note, checkpoint, judgement
            return
        known = self._checkpoint
        if known.root != checkpoint.root and (known.origin, known.size) == (
            checkpoint.origin,
            checkpoint.size,
        ):
            place = line["organizationId"]
            raise Finding("LOG_FORKED", size=checkpoint.size, organization_id=place)
        raise _invalid(line, "the export has two checkpoints of the log")


def judge_or_raise(note: str, policy: CheckpointPolicy, organization_id: str | None) -> Judgement:
    """Raises a finding unless the log and enough witnesses have signed the note."""
    try:
        judgement = judge(note, policy)
    except TransparencyError as error:
        raise Finding(
            "LOG_CHECKPOINT_NOT_SIGNED", reason=error, organization_id=organization_id
        ) from error
    if judgement.lacking:
        raise Finding(
            "LOG_QUORUM_MISSING",
            lacking=judgement.lacking,
            absent=", ".join(judgement.absent),
            organization_id=organization_id,
        )
    return judgement


def _invalid(line: Mapping[str, Any], reason: str) -> Finding:
    return Finding("LOG_PROOF_INVALID", reason=reason, organization_id=line["organizationId"])


def _iso(seconds: int) -> str:
    """A witness can name any time."""
    cycles, rest = divmod(seconds, CYCLE_SECONDS)
    moment = datetime.fromtimestamp(rest, timezone.utc)
    year = moment.year + 400 * cycles
    return f"{year if year < 10_000 else f'+{year:06}'}{moment:-%m-%dT%H:%M:%S}.000Z"
