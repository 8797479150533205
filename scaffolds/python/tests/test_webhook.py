import pytest

from agent.webhook import InvalidDelivery, verify_webhook

SECRET = "whsec_test"
NOW = 1_700_000_000
BODY = b'{"type":"agent.created"}'
SIGNATURE = "sha256=17203041e9406bee38c6096bf0228f37fe82578204ab2c3cc965d2babad6ee5e"


@pytest.mark.parametrize("age", [0, 300])
def test_a_genuine_delivery_passes(age: int) -> None:
    verify_webhook(SECRET, str(NOW), SIGNATURE, BODY, NOW + age)


@pytest.mark.parametrize(
    ("secret", "timestamp", "signature", "body", "now"),
    [
        pytest.param("other", str(NOW), SIGNATURE, BODY, NOW, id="another secret"),
        pytest.param(SECRET, str(NOW), SIGNATURE, b"{}", NOW, id="another body"),
        pytest.param(SECRET, str(NOW + 1), SIGNATURE, BODY, NOW, id="another time"),
        pytest.param(SECRET, "17e8", SIGNATURE, BODY, NOW, id="no number as time"),
        pytest.param(SECRET, str(NOW), SIGNATURE[:-2], BODY, NOW, id="cut short"),
        pytest.param(SECRET, str(NOW), "", BODY, NOW, id="no signature"),
        pytest.param(SECRET, str(NOW), "sha256=é", BODY, NOW, id="no hexadecimal"),
        pytest.param(SECRET, str(NOW), SIGNATURE, BODY, NOW + 301, id="old"),
    ],
)
def test_anything_else_is_refused(
    secret: str, timestamp: str, signature: str, body: bytes, now: int
) -> None:
    with pytest.raises(InvalidDelivery):
        verify_webhook(secret, timestamp, signature, body, now)
