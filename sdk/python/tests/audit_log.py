"""An instance that signs an audit log and its export, a log with witnesses, and their keys."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import Issuer, an_id

from countersign.audit_statements import checkpoint_text
from countersign.log_tiles import TILE_HEIGHT, TILE_WIDTH, tile_path
from countersign.merkle import leaf_hash, node_hash, sha256

DAY = datetime(2027, 1, 15, 8, tzinfo=timezone.utc)
COSIGNED_AT = 1_800_000_000


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, word for word."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return leaves[0]
    left = 1
    while left * 2 < len(leaves):
        left *= 2
    return node_hash(naive_root(leaves[:left]), naive_root(leaves[left:]))


def naive_proof(leaf: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH of RFC 6962, word for word."""
    if len(leaves) == 1:
        return []
    left = 1
    while left * 2 < len(leaves):
        left *= 2
    if leaf < left:
        return [*naive_proof(leaf, leaves[:left]), naive_root(leaves[left:])]
    return [*naive_proof(leaf - left, leaves[left:]), naive_root(leaves[:left])]


def tiles_of(leaves: Sequence[bytes]) -> dict[str, bytes]:
    """All tiles of a tree, by their paths."""
    tiles: dict[str, bytes] = {}
    level, hashes = 0, list(leaves)
    while hashes:
        for at in range(0, len(hashes), TILE_WIDTH):
            part = hashes[at : at + TILE_WIDTH]
            tiles[tile_path(level, at // TILE_WIDTH, len(part))] = b"".join(part)
        perfect = len(hashes) >> TILE_HEIGHT << TILE_HEIGHT
        starts = range(0, perfect, TILE_WIDTH)
        hashes = [naive_root(hashes[at : at + TILE_WIDTH]) for at in starts]
        level += 1
    return tiles


class NoteKey:
    """Of a log (type 1) or of a witness (type 4)."""

    def __init__(self, name: str, kind: int, seed: int) -> None:
        self.name = name
        self._kind = kind
        self._key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        typed = bytes([kind]) + self._key.public_key().public_bytes_raw()
        self._id = hashlib.sha256(name.encode() + b"\n" + typed).digest()[:4]
        self.text = f"{name}+{self._id.hex()}+{base64.b64encode(typed).decode()}"

    def line(self, text: str, time: int = COSIGNED_AT) -> str:
        """A signature line."""
        if self._kind == 1:
            payload = self._key.sign(text.encode())
        else:
            message = f"cosignature/v1\ntime {time}\n{text}".encode()
            payload = time.to_bytes(8, "big") + self._key.sign(message)
        return f"\u2014 {self.name} {base64.b64encode(self._id + payload).decode()}\n"


LOG = NoteKey("id.example.com/log", 1, 1)
WITNESSES = NoteKey("witness.example/one", 4, 2), NoteKey("zeuge.example/zwei", 4, 3)


def note_of(leaves: Sequence[bytes], *cosigners: Callable[[str], str]) -> str:
    root = base64.b64encode(naive_root(leaves)).decode()
    text = f"{LOG.name}\n{len(leaves)}\n{root}\n"
    return f"{text}\n" + "".join(sign(text) for sign in (LOG.line, *cosigners))


class Instance:
    """With one organization. Every checkpoint is the only leaf of its tree head."""

    def __init__(self) -> None:
        self._issuer = Issuer()
        self.jwks = self._issuer.jwks
        self.organization_id = an_id(10)
        self.leaves: list[bytes] = []

    def export(
        self, *events: int, note: Callable[[Sequence[bytes]], str] | None = None
    ) -> Iterable[str]:
        """One checkpoint after each of these numbers of events, as lines."""
        key = {"number": 1, "key": self.jwks["keys"][0], "at": _iso(DAY), "previous": None}
        yield _line(kind="export", version=2)
        signed = self._issuer.sign(key, "audit-key+jwt")
        yield _line(kind="key", number=1, keyId="k1", at=key["at"], signed=signed)
        head = sha256(f"countersign audit chain of {self.organization_id}")
        sequence, previous = 0, None
        for number, count in enumerate(events, 1):
            for _ in range(count):
                sequence += 1
                link = self._link(sequence, head)
                head = link["hash"]
                yield _line(**link)
            row = self._checkpoint(number, sequence, head, previous)
            previous = leaf_hash(checkpoint_text(row))
            self.leaves.append(bytes.fromhex(leaf_hash(row["signed"])))
            yield _line(**row)
        if note:
            proof = naive_proof(len(self.leaves) - 1, self.leaves)
            yield _line(
                kind="logProof",
                organizationId=self.organization_id,
                number=len(events),
                treeHead=len(events),
                leafIndex=len(self.leaves) - 1,
                treeSize=len(self.leaves),
                proof=[each.hex() for each in proof],
                checkpoint=note(self.leaves),
            )
        statement = {
            "at": _iso(DAY + timedelta(days=1)),
            "organizationId": self.organization_id,
            "chains": 1,
            "events": sequence,
            "contents": sha256(f" {self.organization_id}  {head}"),
        }
        signed = self._issuer.sign(statement, "audit-export+jwt")
        yield _line(kind="end", chains=1, events=sequence, signed=signed)

    def _link(self, sequence: int, head: str) -> dict[str, Any]:
        event_id, time = an_id(sequence), DAY + timedelta(milliseconds=sequence)
        event = {
            "action": "token.issued",
            "eventId": event_id,
            "metadata": {"number": sequence},
            "organizationId": self.organization_id,
            "timestamp": _iso(time),
        }
        canonical = json.dumps(event, separators=(",", ":"))
        event_hash = sha256(f"7 00 {canonical}")
        since_2000 = time - datetime(2000, 1, 1, tzinfo=timezone.utc)
        microseconds = since_2000 // timedelta(microseconds=1)
        record = f"{sequence:016x}{event_id.replace('-', '')}{microseconds:016x}{event_hash}"
        return {
            "kind": "link",
            "organizationId": self.organization_id,
            "sequence": sequence,
            "eventId": event_id,
            "time": f"{_iso(time)[:-1]}000Z",
            "eventHash": event_hash,
            "hash": sha256(head + record),
            "linkedOn": _iso(DAY)[:10],
            "event": {"canonical": canonical, "appendedIn": "7", "seal": "00"},
        }

    def _checkpoint(
        self, number: int, size: int, head: str, previous: str | None
    ) -> dict[str, Any]:
        row: dict[str, Any] = {
            "kind": "checkpoint",
            "organizationId": self.organization_id,
            "number": number,
            "size": size,
            "head": head,
            "at": _iso(DAY + timedelta(seconds=number)),
            "previous": previous,
            "keyId": "k1",
            "takenOn": _iso(DAY)[:10],
            "inclusion": {"treeHead": number, "treeSize": 1, "leafIndex": 0, "proof": []},
        }
        root = leaf_hash(checkpoint_text(row))
        tree_head = {"number": number, "at": row["at"], "size": 1, "root": root}
        row["signed"] = self._issuer.sign({**tree_head, "previous": None}, "audit-tree-head+jwt")
        return row


def _line(**fields: Any) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _iso(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"
