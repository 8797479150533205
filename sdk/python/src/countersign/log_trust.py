"""What the reader of a log trusts: its key, and witnesses of which a quorum must have cosigned."""

from collections.abc import Sequence
from dataclasses import dataclass

from countersign.log_keys import COSIGNATURE, NOTE, VerifierKey
from countersign.log_keys import parse_verifier_key as parse_key
from countersign.log_note import Cosignature, LogCheckpoint, open_checkpoint


@dataclass(frozen=True)
class LogTrust:
    """`key` is the verifier key of the log, as `GET /log/key` answers it.

    `witnesses` are the verifier keys of witnesses. All of them must have cosigned, unless `quorum`
    is a smaller number. Without a witness, only the signature of the log is verified.
    """

    key: str
    witnesses: Sequence[str] = ()
    quorum: int | None = None


@dataclass(frozen=True)
class CheckpointPolicy:
    log_key: VerifierKey
    witnesses: tuple[VerifierKey, ...]
    quorum: int


@dataclass(frozen=True)
class Judgement:
    checkpoint: LogCheckpoint
    # One for each witness, with its earliest time; the earliest first.
    cosignatures: tuple[Cosignature, ...]
    # When the quorum was reached, in seconds since 1970.
    witnessed_at: int | None
    # The names of the witnesses that have not cosigned.
    absent: tuple[str, ...]
    # How many cosignatures the quorum lacks.
    lacking: int


def read_log_trust(trust: LogTrust) -> CheckpointPolicy:
    """Raises ValueError for a text that is no key of its kind, or when one party would be two."""
    if isinstance(trust.witnesses, str):
        raise ValueError("witnesses must be a list of keys, not one text")
    log_key = parse_key(trust.key.strip(), NOTE)
    witnesses = tuple(parse_key(text.strip(), COSIGNATURE) for text in trust.witnesses)
    quorum = len(witnesses) if trust.quorum is None else trust.quorum
    for at, witness in enumerate(witnesses):
        for other in (log_key, *witnesses[:at]):
            if other.name == witness.name or other.public_key == witness.public_key:
                problem = "has the name or the public key of another witness or the log"
                raise ValueError(f"{witness.name} {problem}")
    if not witnesses and quorum != 0:
        raise ValueError("a quorum needs witnesses")
    if witnesses and quorum not in range(1, len(witnesses) + 1):
        raise ValueError("the quorum is between 1 and the number of witnesses")
    return CheckpointPolicy(log_key, witnesses, int(quorum))


def judge(note: str, policy: CheckpointPolicy) -> Judgement:
    """Whether enough witnesses have cosigned a checkpoint, and since when.

    Raises TransparencyError when it is not of this log, or has a wrong signature of a known key.
    """
    opened = open_checkpoint(note, policy.log_key, policy.witnesses)
    earliest: dict[str, Cosignature] = {}
    for each in sorted(opened.cosignatures, key=lambda each: each.time):
        earliest.setdefault(each.witness.name, each)
    counting = tuple(earliest.values())
    lacking = max(0, policy.quorum - len(counting))
    is_witnessed = policy.quorum > 0 and lacking == 0
    return Judgement(
        opened.checkpoint,
        counting,
        counting[policy.quorum - 1].time if is_witnessed else None,
        tuple(each.name for each in policy.witnesses if each.name not in earliest),
        lacking,
    )
