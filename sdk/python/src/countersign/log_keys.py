"""Public keys of logs and witnesses, as signed notes write them: `name+keyID+base64(type, key)`."""

import base64
import hashlib
import re
from dataclasses import dataclass

# Ed25519 over the text of a note, and over a checkpoint with a time (cosignature/v1).
NOTE, COSIGNATURE = 0x01, 0x04
MAX_NAME_LENGTH = 255
FORBIDDEN_IN_NAMES = re.compile(r"[\s+\x00-\x1f\ud800-\udfff]")


class TransparencyError(ValueError):
    """A key, note, checkpoint or tile that is malformed, or that its key has not signed."""


@dataclass(frozen=True)
class VerifierKey:
    name: str
    # Eight hexadecimal digits. It depends on the type: a log and a witness never share one.
    key_id: str
    type: int
    public_key: bytes


def from_base64(text: str) -> bytes | None:
    """None unless the text is as an encoder writes it: padded, without spaces and surplus bits."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return decoded if base64.b64encode(decoded).decode() == text else None


def is_key_name(name: str) -> bool:
    return name != "" and FORBIDDEN_IN_NAMES.search(name) is None


def parse_verifier_key(text: str, kind: int) -> VerifierKey:
    """`kind` is the type that the reader needs; a key of another type is refused."""
    # The base64 may have plus signs, the name has none.
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    decoded = from_base64(encoded)
    if not decoded:
        raise TransparencyError("not of the form name+keyID+base64(type, key)")
    if decoded[0] != kind:
        raise TransparencyError(f"the key has type 0x{decoded[0]:02x}, not 0x{kind:02x}")
    if not is_key_name(name) or len(name) > MAX_NAME_LENGTH:
        problem = f"the name of a key is 1 to {MAX_NAME_LENGTH} characters without spaces and plus"
        raise TransparencyError(problem)
    if len(decoded) != 33:
        raise TransparencyError("a public key of Ed25519 has 32 bytes")
    if hashlib.sha256(name.encode() + b"\n" + decoded).hexdigest()[:8] != key_id:
        raise TransparencyError("the key id is not that of this name and key")
    return VerifierKey(name, key_id, kind, decoded[1:])
