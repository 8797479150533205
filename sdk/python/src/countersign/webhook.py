"""Checks that a webhook delivery is genuine."""

import hashlib
import hmac
import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from countersign.errors import WebhookError

# Older deliveries are refused, so that a recorded one cannot be sent again later.
TOLERANCE_SECONDS = 300.0
MAX_TOLERANCE_SECONDS = 86_400
TIMESTAMP = "x-service-timestamp"
# The second is there for a while after a change of the secret.
SIGNATURES = ("x-service-signature-256", "x-service-signature-256-previous")


@dataclass(frozen=True)
class WebhookDelivery:
    """A genuine delivery. The same `delivery_id` can come twice."""

    delivery_id: str | None
    event_type: str | None
    timestamp: int
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """The event: `id`, `type`, `organizationId`, `timestamp`, `data`."""
        return json.loads(self.body)


def verify_webhook(
    raw_body: bytes | str,
    headers: Mapping[str, Any],
    secrets: str | Iterable[str],
    *,
    tolerance_seconds: float = TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookDelivery:
    """Raises WebhookError unless one of the secrets signed this event a short time ago.

    `raw_body` is the body byte for byte, before any parsing. Upper and lower case do not matter in
    the names of `headers`. `secrets` are the signing secrets of your subscriptions.
    `tolerance_seconds` is how old a delivery may be, or how far in the future.
    """
    # Neither infinity nor NaN is in between.
    if not 0 <= tolerance_seconds <= MAX_TOLERANCE_SECONDS:
        raise ValueError(f"tolerance_seconds must be from 0 to {MAX_TOLERANCE_SECONDS}")
    at = time.time() if now is None else now
    if not math.isfinite(at):
        raise ValueError("now must be a number of seconds since 1970")
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    keys = [secrets] if isinstance(secrets, str) else list(secrets)
    if not keys or not all(isinstance(key, str) and key for key in keys):
        raise ValueError("secrets must be a signing secret or a list of them")
    given: dict[str, str] = {}
    for name, value in headers.items():
        lower, text = str(name).lower(), _text_of(value)
        given[lower] = f"{given[lower]}, {text}" if lower in given else text
    timestamp = given.get(TIMESTAMP)
    if timestamp is None:
        raise _missing(TIMESTAMP)
    if re.fullmatch(r"[0-9]{1,12}", timestamp) is None:
        raise WebhookError("invalid_timestamp", "the timestamp is not a number of seconds")
    if abs(at - int(timestamp)) > tolerance_seconds:
        raise WebhookError(
            "timestamp_out_of_tolerance",
            f"the delivery is more than {tolerance_seconds:g} seconds old, or the clocks differ",
        )
    received = [given[name] for name in SIGNATURES if name in given]
    if not received:
        raise _missing(SIGNATURES[0])
    genuine = False
    for key in keys:
        digest = hmac.new(key.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
        expected = f"sha256={digest.hexdigest()}".encode()
        for signature in received:
            genuine |= hmac.compare_digest(expected, signature.lower().encode("utf-8", "replace"))
    if not genuine:
        raise WebhookError("invalid_signature", "the signature does not match")
    if not _is_event(body):
        raise WebhookError("invalid_body", "the body is not an event")
    return WebhookDelivery(
        given.get("x-service-delivery-id"), given.get("x-service-event"), int(timestamp), body
    )


def _missing(name: str) -> WebhookError:
    return WebhookError("missing_header", f"the delivery has no header {name}")


def _is_event(body: bytes) -> bool:
    try:
        event = json.loads(body.decode())
    except (ValueError, RecursionError):  # the secret has signed something else
        return False
    return isinstance(event, dict) and all(
        isinstance(event.get(key), str) for key in ("id", "type")
    )


def _text_of(value: Any) -> str:
    """A header that is there twice is a list in some servers, and matches nothing."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ", ".join(map(str, value))
