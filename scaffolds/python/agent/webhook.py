"""Checks that a webhook delivery is genuine."""

import hashlib
import hmac
import re
import time

# Deliveries older than this are refused, so that a recorded one cannot be played again later.
TOLERANCE_SECONDS = 300


class InvalidDelivery(Exception):
    """The delivery is not to be believed."""


def verify_webhook(
    secret: str, timestamp: str, signature: str, body: bytes, now: float | None = None
) -> None:
    """Raises InvalidDelivery unless it was signed with this secret, within the last five minutes.

    `timestamp` is the header X-Service-Timestamp, `signature` is X-Service-Signature-256, and
    `body` is what came, byte for byte, before any parsing.
    """
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise InvalidDelivery("the timestamp is not a number")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE_SECONDS:
        raise InvalidDelivery("the delivery is more than five minutes old, or the clocks differ")
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    expected = f"sha256={digest.hexdigest()}"
    if not hmac.compare_digest(expected.encode(), signature.lower().encode()):
        raise InvalidDelivery("the signature does not match")
