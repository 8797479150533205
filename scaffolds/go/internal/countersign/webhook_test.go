package countersign

import (
	"testing"
	"time"
)

func TestVerifyWebhook(t *testing.T) {
	const (
		secret    = "whsec_test"
		body      = `{"type":"agent.created"}`
		timestamp = "1700000000"
		signature = "sha256=17203041e9406bee38c6096bf0228f37fe82578204ab2c3cc965d2babad6ee5e"
	)
	sent := time.Unix(1_700_000_000, 0)
	for name, each := range map[string]struct {
		secret, timestamp, signature, body string
		age                                time.Duration
		genuine                            bool
	}{
		"genuine":             {secret, timestamp, signature, body, 0, true},
		"five minutes old":    {secret, timestamp, signature, body, 5 * time.Minute, true},
		"older":               {secret, timestamp, signature, body, 5*time.Minute + time.Second, false},
		"from the future":     {secret, timestamp, signature, body, -6 * time.Minute, false},
		"another secret":      {"other", timestamp, signature, body, 0, false},
		"another body":        {secret, timestamp, signature, "{}", 0, false},
		"another time":        {secret, "1700000001", signature, body, 0, false},
		"no number as time":   {secret, "17e8", signature, body, 0, false},
		"a signature too few": {secret, timestamp, signature[:len(signature)-2], body, 0, false},
		"no signature":        {secret, timestamp, "", body, 0, false},
		"no prefix":           {secret, timestamp, signature[7:], body, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := VerifyWebhook(each.secret, each.timestamp, each.signature, []byte(each.body), sent.Add(each.age))
			if (err == nil) != each.genuine {
				t.Fatalf("got %v", err)
			}
		})
	}
}
