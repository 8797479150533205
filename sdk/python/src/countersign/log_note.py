"""Checkpoints of a log: signed notes (C2SP signed-note, tlog-checkpoint) with cosignatures (v1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from countersign.log_keys import NOTE, TransparencyError, VerifierKey, from_base64, is_key_name

MAX_NOTE_BYTES = 256 * 1024
MAX_CHECKPOINT_BYTES = 16 * 1024
MAX_SIGNATURES = 100
MAX_EXACT = 2**53 - 1
LINE_PREFIX = "\u2014 "
DECIMAL = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")


@dataclass(frozen=True)
class NoteSignature:
    name: str
    key_id: str
    # The bytes after the key id: a signature, or a time and a signature.
    payload: bytes


@dataclass(frozen=True)
class LogCheckpoint:
    origin: str
    size: int
    # Hexadecimal.
    root: str


@dataclass(frozen=True)
class Cosignature:
    witness: VerifierKey
    # In seconds since 1970.
    time: int


@dataclass(frozen=True)
class OpenedCheckpoint:
    checkpoint: LogCheckpoint
    # In the order of the note. A witness can be here more than once.
    cosignatures: tuple[Cosignature, ...]


def open_checkpoint(
    note: str, log_key: VerifierKey, witnesses: Sequence[VerifierKey] = ()
) -> OpenedCheckpoint:
    """Raises TransparencyError unless the log has signed under its own name as the origin.

    Also when a signature that names a known key is wrong: such a note was changed. Signatures of
    other keys are ignored.
    """
    text, signatures = parse_note(note)
    checkpoint = parse_checkpoint(text)
    if checkpoint.origin != log_key.name:
        raise TransparencyError(f"the checkpoint is not of the log {log_key.name}")
    verified = list(_verified(text, signatures, (log_key, *witnesses)))
    if not verified:
        raise TransparencyError("no known key has signed")
    if not any((key.name, key.key_id) == (log_key.name, log_key.key_id) for key, _ in verified):
        raise TransparencyError(f"{log_key.name} has not signed the checkpoint")
    cosignatures = (Cosignature(key, time) for key, time in verified if time is not None)
    return OpenedCheckpoint(checkpoint, tuple(cosignatures))


def parse_note(note: str) -> tuple[str, list[NoteSignature]]:
    """Its text, with the last newline, and its signatures. They are not verified."""
    _check_lines(note, MAX_NOTE_BYTES)
    end = note.rfind("\n\n")
    if end < 0:
        raise TransparencyError("no blank line before the signatures")
    *lines, rest = note[end + 2 :].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise TransparencyError(f"more than {MAX_SIGNATURES} signatures")
    if not lines or rest != "":
        raise TransparencyError("no signature lines that end with a newline")
    return note[: end + 1], [_parse_signature(line) for line in lines]


def parse_checkpoint(text: str) -> LogCheckpoint:
    """Of the text of a note. Further lines are signed, too, but no rule concerns them."""
    _check_lines(text, MAX_CHECKPOINT_BYTES)
    *lines, rest = text.split("\n")
    if rest != "" or len(lines) < 3 or "" in lines:
        raise TransparencyError("a checkpoint has three lines or more, none of them empty")
    origin, size, encoded = lines[:3]
    if DECIMAL.fullmatch(size) is None or int(size) > MAX_EXACT:
        raise TransparencyError("the second line is not a size up to 2^53 - 1")
    root = from_base64(encoded)
    if root is None or len(root) != 32:
        raise TransparencyError("the third line is not the base64 of a hash")
    return LogCheckpoint(origin, int(size), root.hex())


def _parse_signature(line: str) -> NoteSignature:
    name, space, encoded = line.removeprefix(LINE_PREFIX).partition(" ")
    decoded = from_base64(encoded)
    is_signature = line.startswith(LINE_PREFIX) and space != "" and is_key_name(name)
    if not is_signature or decoded is None or len(decoded) < 5:
        raise TransparencyError("a line that is not a signature line")
    return NoteSignature(name, decoded[:4].hex(), decoded[4:])


def _check_lines(text: str, limit: int) -> None:
    try:
        size = len(text.encode()) if len(text) <= limit else len(text)
    except UnicodeEncodeError as error:
        raise TransparencyError("not UTF-8") from error
    if size > limit:
        raise TransparencyError(f"more than {limit} bytes")
    if CONTROL.search(text):
        raise TransparencyError("a control character")


def _verified(
    text: str, signatures: Iterable[NoteSignature], keys: Sequence[VerifierKey]
) -> Iterable[tuple[VerifierKey, int | None]]:
    """The keys that have signed, each with the time of its cosignature."""
    for signature in signatures:
        name_and_id = signature.name, signature.key_id
        named = [key for key in keys if (key.name, key.key_id) == name_and_id]
        if not named:
            continue
        key, time, message, signed = named[0], None, text, signature.payload
        if key.type != NOTE:
            time, signed = int.from_bytes(signed[:8], "big"), signed[8:]
            message = f"cosignature/v1\ntime {time}\n{text}"
        is_own = (
            # With more than one, an attacker has made a key for the id of another.
            len(named) == 1
            and (time is None or 1 <= time <= MAX_EXACT)
            and _is_signed(key.public_key, signed, message.encode())
        )
        if not is_own:
            raise TransparencyError(f"the signature of {key.name} is not its own")
        yield key, time


def _is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    # A platform without Ed25519 raises another error: nothing is known about the note then.
    key = Ed25519PublicKey.from_public_bytes(public_key)
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
