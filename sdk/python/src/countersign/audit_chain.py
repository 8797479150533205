"""The rules of the audit chain of one organization, line by line and without I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

from countersign.audit_findings import Finding
from countersign.audit_lines import parse_json
from countersign.audit_statements import (
    ANCHOR,
    CHECKPOINT,
    TREE_HEAD,
    TrustedKeys,
    checkpoint_hash,
    checkpoint_text,
    key_id_of,
    unverified_claims,
)
from countersign.merkle import leaf_hash, root_from, sha256

YEAR_2000 = datetime(2000, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Head:
    """Where a chain ends, according to a checkpoint, an anchor, or the lack of both."""

    number: int
    size: int
    head: str
    hash: str | None
    at: str


def empty_head(organization_id: str) -> Head:
    first = sha256(f"countersign audit chain of {organization_id}")
    return Head(0, 0, first, None, "1970-01-01T00:00:00.000Z")


class Chain:
    """How far a chain is checked. Its methods raise a finding, or move it on."""

    def __init__(
        self, organization_id: str, start: Head, dropped_through: str, events_before: int
    ) -> None:
        self.organization_id = organization_id
        self.dropped_through = dropped_through
        # In the lines before it.
        self.events_before = events_before
        self.head = start.head
        self.checkpoint = start
        self.last_row: Mapping[str, Any] | None = None
        self.has_log_proof = False
        self._dropped_before = _day_after(dropped_through)
        self._sequence = start.size
        self._linked_on: str | None = None

    @property
    def is_at_checkpoint(self) -> bool:
        """No link follows the last checkpoint, or the one that the chain goes on from."""
        return self._sequence == self.checkpoint.size

    def accept_link(self, link: Mapping[str, Any]) -> None:
        expected = self._sequence + 1
        place: dict[str, Any] = {"organization_id": self.organization_id, "sequence": expected}
        if link["sequence"] != expected:
            raise Finding("LINK_MISSING", expected=expected, **place)
        place["event_id"] = link["eventId"]
        time = _time_of(link["time"])
        if time is None:
            raise Finding("LINK_HASH_MISMATCH", **place)
        microseconds = (time - YEAR_2000) // MICROSECOND
        event_id = link["eventId"].replace("-", "")
        record = f"{expected:016x}{event_id}{microseconds:016x}{link['eventHash']}"
        link_hash = sha256(self.head + record)
        if link["hash"] != link_hash:
            raise Finding("LINK_HASH_MISMATCH", **place)
        self._check_event(link, time, place)
        if self._linked_on is None:
            self._linked_on = link["linkedOn"]
        if link["linkedOn"] != self._linked_on:
            raise Finding("LINK_DAY_MISMATCH", **place)
        self._sequence = expected
        self.head = link_hash

    def _check_event(self, link: Mapping[str, Any], time: datetime, place: dict[str, Any]) -> None:
        """Only retention may have removed the event."""
        event = link["event"]
        if event is None:
            if self._dropped_before is None or time >= self._dropped_before:
                raise Finding("EVENT_MISSING", **place)
            return
        canonical = event["canonical"]
        if sha256(f"{event['appendedIn']} {event['seal']} {canonical}") != link["eventHash"]:
            raise Finding("EVENT_CHANGED", **place)
        try:
            fields = parse_json(canonical)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            raise Finding("EVENT_TEXT_INVALID", **place)
        timestamp = fields.get("timestamp")
        # A copy of another event's text has a valid hash of its own.
        is_its_own = (
            fields.get("organizationId") == self.organization_id
            and fields.get("eventId") == link["eventId"]
            and isinstance(timestamp, str)
            and f"{timestamp[:-1]}000Z" == link["time"]
        )
        if not is_its_own:
            raise Finding("EVENT_TEXT_OF_ANOTHER", **place)

    def accept_checkpoint(self, keys: TrustedKeys, row: Mapping[str, Any]) -> None:
        """The next checkpoint. A trusted key signed its tree head.

        A checkpoint does not name the tree head of the one before, so each needs a signature.
        """
        before = self.checkpoint
        number = before.number + 1
        self.last_row = row
        follows = (
            row["number"] == number
            and row.get("previous", before) == before.hash
            and row["size"] > before.size
            and row["at"] >= before.at
            and row.get("takenOn") == row["at"][:10]
        )
        if follows and row.get("inclusion"):
            _check_inclusion(row, unverified_claims(row["signed"]))
        elif not follows or not _matches_statement(row, unverified_claims(row["signed"])):
            raise _finding_of(row, "CHECKPOINT_NOT_FOLLOWING", number)
        following = head_of(row)
        place: dict[str, Any] = {
            "organization_id": self.organization_id,
            "sequence": self._sequence,
        }
        if following.size != self._sequence or following.head != self.head:
            raise Finding("CHECKPOINT_HEAD_MISMATCH", number=number, **place)
        if self._linked_on != following.at[:10]:
            raise Finding("LINK_DAY_MISMATCH", **place)
        if row.get("inclusion"):
            check_signature(keys, row)
        self.checkpoint = following
        self._linked_on = None

    def close(self, keys: TrustedKeys) -> None:
        """The chain ends with a checkpoint.

        If it is signed itself, the signature covers those before: each names the one before with
        its signature.
        """
        if self._sequence > self.checkpoint.size:
            raise Finding(
                "LINKS_WITHOUT_CHECKPOINT",
                organization_id=self.organization_id,
                sequence=self.checkpoint.size + 1,
            )
        if self.last_row is not None and not self.last_row.get("inclusion"):
            check_signature(keys, self.last_row)


def head_of(row: Mapping[str, Any]) -> Head:
    return Head(row["number"], row["size"], row["head"], checkpoint_hash(row), row["at"])


def read_anchor(keys: TrustedKeys, row: Mapping[str, Any]) -> tuple[Head, str]:
    """Where retention dropped the beginning of a chain, and the last day that it dropped."""
    organization_id, number = row["organizationId"], row["number"]
    anchor = keys.read(ANCHOR, row["signed"]) or {}
    if any(anchor.get(name) != row[name] for name in ("organizationId", "number", "at")):
        raise _finding_of(row, "ANCHOR_NOT_SIGNED", number)
    dropped = anchor["checkpoint"]
    at = empty_head(organization_id).at
    start = Head(dropped["number"], dropped["size"], dropped["head"], dropped["hash"], at)
    return start, anchor["droppedThrough"]


def check_signature(keys: TrustedKeys, row: Mapping[str, Any]) -> None:
    """A trusted key signed the checkpoint, or a tree head that includes it."""
    inclusion = row.get("inclusion")
    if not inclusion:
        if not _matches_statement(row, keys.read(CHECKPOINT, row["signed"]) or {}):
            raise _finding_of(row, "CHECKPOINT_NOT_SIGNED", row["number"])
        return
    tree_head = keys.read(TREE_HEAD, row["signed"])
    if tree_head is None and row["signed"] != "":
        raise _finding_of(row, "TREE_HEAD_NOT_SIGNED", inclusion["treeHead"])
    _check_inclusion(row, tree_head or {})


def _check_inclusion(row: Mapping[str, Any], tree_head: Mapping[str, Any]) -> None:
    """The checkpoint is a leaf of the tree."""
    inclusion = row["inclusion"]
    if row["signed"] == "":
        raise _finding_of(row, "TREE_HEAD_MISSING", inclusion["treeHead"])
    place = inclusion["leafIndex"], inclusion["treeSize"], inclusion["proof"]
    is_included = (
        inclusion["treeHead"] == tree_head.get("number")
        and inclusion["treeSize"] == tree_head.get("size")
        and row["at"] == tree_head.get("at")
        and row.get("keyId") == key_id_of(row["signed"])
        and isinstance(tree_head.get("root"), str)
        and root_from(leaf_hash(checkpoint_text(row)), *place) == tree_head["root"]
    )
    if not is_included:
        raise _finding_of(row, "INCLUSION_PROOF_INVALID", row["number"])


def _matches_statement(row: Mapping[str, Any], statement: Mapping[str, Any]) -> bool:
    names = ("organizationId", "number", "size", "head", "at", "previous")
    matches = all(name in statement and row.get(name) == statement[name] for name in names)
    return matches and row.get("keyId") == key_id_of(row["signed"])


def _finding_of(row: Mapping[str, Any], code: str, number: int) -> Finding:
    return Finding(code, number=number, organization_id=row["organizationId"])


def _time_of(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(f"{text[:-1]}+00:00")
    except ValueError:
        return None


def _day_after(day: str) -> datetime | None:
    try:
        following = date.fromisoformat(day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return datetime(following.year, following.month, following.day, tzinfo=timezone.utc)
