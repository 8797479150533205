//! Checks that a webhook delivery is genuine.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::error::Error;

/// Deliveries older than this are refused, so that a recorded one cannot be played again later.
const TOLERANCE_SECONDS: u64 = 300;

/// Fails unless the delivery was signed with this secret, within the last five minutes. The timestamp is the header
/// `X-Service-Timestamp`, the signature `X-Service-Signature-256`, and the body what came, byte for byte, before any
/// parsing.
pub fn verify_webhook(
    secret: &str,
    timestamp: &str,
    signature: &str,
    body: &[u8],
    now: u64,
) -> Result<(), Error> {
    let refuse = |why: &str| Error::Untrusted(why.to_owned());
    let sent: u64 = timestamp
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| timestamp.parse().ok())
        .flatten()
        .ok_or_else(|| refuse("the timestamp is not a number"))?;
    if now.abs_diff(sent) > TOLERANCE_SECONDS {
        return Err(refuse(
            "the delivery is more than five minutes old, or the clocks differ",
        ));
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
        .map_err(|_| refuse("the secret cannot be used"))?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    // Compares in constant time.
    signature
        .strip_prefix("sha256=")
        .and_then(decode_hex)
        .and_then(|given| mac.verify_slice(&given).ok())
        .ok_or_else(|| refuse("the signature does not match"))
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|value| value.try_into().ok()))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_test";
    const NOW: u64 = 1_700_000_000;
    const TIMESTAMP: &str = "1700000000";
    const BODY: &[u8] = br#"{"type":"agent.created"}"#;
    const SIGNATURE: &str =
        "sha256=17203041e9406bee38c6096bf0228f37fe82578204ab2c3cc965d2babad6ee5e";

    #[test]
    fn a_genuine_delivery_passes() {
        for now in [NOW, NOW + 300, NOW - 300] {
            verify_webhook(SECRET, TIMESTAMP, SIGNATURE, BODY, now).unwrap();
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for (secret, timestamp, signature, body, now) in [
            ("other", TIMESTAMP, SIGNATURE, BODY, NOW),
            (SECRET, TIMESTAMP, SIGNATURE, b"{}", NOW),
            (SECRET, "1700000001", SIGNATURE, BODY, NOW),
            (SECRET, "+1700000000", SIGNATURE, BODY, NOW),
            (SECRET, "", SIGNATURE, BODY, NOW),
            (SECRET, TIMESTAMP, &SIGNATURE[..69], BODY, NOW),
            (SECRET, TIMESTAMP, "", BODY, NOW),
            (SECRET, TIMESTAMP, "sha256=é", BODY, NOW),
            (SECRET, TIMESTAMP, SIGNATURE, BODY, NOW + 301),
        ] {
            assert!(verify_webhook(secret, timestamp, signature, body, now).is_err());
        }
    }
}
