import pytest

from countersign import WebhookError, verify_webhook

SECRET = "whsec_test"
NOW = 1_700_000_000
BODY = b'{"id":"0190d6c0-0000-7000-8000-000000000001","type":"agent.created"}'
SIGNATURE = "sha256=b6b5ab240486a9ea765ae863c0103915a846694413b9261ab36012ae708070df"
HEADERS = {"X-Service-Timestamp": str(NOW), "X-Service-Signature-256": SIGNATURE}


@pytest.mark.parametrize("age", [0, 300])
def test_a_genuine_delivery_passes(age: int) -> None:
    delivery = verify_webhook(BODY, HEADERS, SECRET, now=NOW + age)
    assert delivery.json()["type"] == "agent.created"


@pytest.mark.parametrize(
    ("secret", "changes", "body", "now"),
    [
        pytest.param("other", {}, BODY, NOW, id="another secret"),
        pytest.param(SECRET, {}, b"{}", NOW, id="another body"),
        pytest.param(SECRET, {"X-Service-Timestamp": str(NOW + 1)}, BODY, NOW, id="another time"),
        pytest.param(SECRET, {"X-Service-Timestamp": "17e8"}, BODY, NOW, id="no number as time"),
        pytest.param(SECRET, {"X-Service-Signature-256": ""}, BODY, NOW, id="no signature"),
        pytest.param(SECRET, {}, BODY, NOW + 301, id="old"),
    ],
)
def test_anything_else_is_refused(
    secret: str, changes: dict[str, str], body: bytes, now: int
) -> None:
    with pytest.raises(WebhookError):
        verify_webhook(body, HEADERS | changes, secret, now=now)
