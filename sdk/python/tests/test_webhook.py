import hashlib
import hmac

import pytest

from countersign import WebhookError, verify_webhook

SECRET = "whsec_test"
NOW = 1_790_000_000
EVENT = b'{"id":"1","type":"agent.created"}'


def signed(body: bytes) -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), f"{NOW}.".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Service-Timestamp": str(NOW), "X-Service-Signature-256": f"sha256={digest}"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ping",
        b"null",
        b"[]",
        b'"id type"',
        b"[" * 100_000,
        b'{"type":"agent.created"}',
        b'{"id":"1","type":1}',
        b'{"id":"\xff","type":"agent.created"}',
        EVENT.decode().encode("utf-16"),
    ],
    ids=range(10),
)
def test_a_signed_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(WebhookError) as refusal:
        verify_webhook(body, signed(body), SECRET, now=NOW)
    assert refusal.value.code == "invalid_body"


def test_the_tolerance_can_be_chosen() -> None:
    headers = signed(EVENT)
    for tolerance, age in ((0, 0), (10, 10), (10, -10), (86_400, 86_400)):
        verify_webhook(EVENT, headers, SECRET, tolerance_seconds=tolerance, now=NOW + age)
    with pytest.raises(WebhookError, match="10 seconds") as refusal:
        verify_webhook(EVENT, headers, SECRET, tolerance_seconds=10, now=NOW + 11)
    assert refusal.value.code == "timestamp_out_of_tolerance"


@pytest.mark.parametrize("number", [-1, 86_401, float("inf"), float("nan")])
def test_a_tolerance_has_limits(number: float) -> None:
    with pytest.raises(ValueError, match="tolerance_seconds must be from 0 to 86400"):
        verify_webhook(EVENT, signed(EVENT), SECRET, tolerance_seconds=number, now=NOW)


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="now"):
        verify_webhook(EVENT, signed(EVENT), SECRET, now=float("nan"))
