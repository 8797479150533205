package countersign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Deliveries older than this are refused, so that a recorded one cannot be played again later.
const tolerance = 5 * time.Minute

// VerifyWebhook fails unless the delivery was signed with this secret, within the last five minutes. The timestamp is the
// header X-Service-Timestamp, the signature X-Service-Signature-256, and the body what came, byte for byte, before any
// parsing.
func VerifyWebhook(secret, timestamp, signature string, body []byte, now time.Time) error {
	seconds, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil {
		return errors.New("the timestamp is not a number")
	}
	if now.Sub(time.Unix(int64(seconds), 0)).Abs() > tolerance {
		return errors.New("the delivery is more than five minutes old, or the clocks differ")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	text, found := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(text)
	if !found || err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return errors.New("the signature does not match")
	}
	return nil
}
