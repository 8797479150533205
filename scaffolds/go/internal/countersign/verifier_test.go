package countersign

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const audience = "https://agent.example.com"

func TestVerify(t *testing.T) {
	key, another := newKey(t), newKey(t)
	fetches := 0
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		fetches++
		encode := base64.RawURLEncoding.EncodeToString
		_, _ = fmt.Fprintf(response, `{"keys":[{"kty":"RSA","kid":"k","n":%q,"e":%q}]}`,
			encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes()))
	}))
	t.Cleanup(server.Close)
	verifier := NewVerifier(server.URL, audience)

	sign := func(method jwt.SigningMethod, key any, header, changes map[string]any) string {
		claims := jwt.MapClaims{
			"iss": server.URL, "aud": audience, "sub": "a", "client_id": "a", "exp": time.Now().Unix() + 3600,
		}
		for name, value := range changes {
			claims[name] = value
		}
		token := jwt.NewWithClaims(method, claims)
		token.Header["typ"], token.Header["kid"] = "at+jwt", "k"
		for name, value := range header {
			token.Header[name] = value
		}
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	rs256 := func(header, changes map[string]any) string {
		return sign(jwt.SigningMethodRS256, key, header, changes)
	}

	for range 3 {
		claims, err := verifier.Verify(t.Context(), rs256(nil, nil))
		if err != nil || claims.ClientID != "a" {
			t.Fatalf("got %v, %v", claims, err)
		}
	}
	for name, token := range map[string]string{
		"another issuer":        rs256(nil, map[string]any{"iss": "https://elsewhere.example.com"}),
		"another audience":      rs256(nil, map[string]any{"aud": server.URL}),
		"expired":               rs256(nil, map[string]any{"exp": time.Now().Unix() - 60}),
		"never expires":         rs256(nil, map[string]any{"exp": nil}),
		"nobody's":              rs256(nil, map[string]any{"client_id": ""}),
		"another kind of token": rs256(map[string]any{"typ": "JWT"}, nil),
		"an unknown extension":  rs256(map[string]any{"crit": []string{"x"}}, nil),
		"an unknown key":        rs256(map[string]any{"kid": "made-up"}, nil),
		"another key":           sign(jwt.SigningMethodRS256, another, nil, nil),
		"another algorithm":     sign(jwt.SigningMethodRS512, key, nil, nil),
		"a symmetric signature": sign(jwt.SigningMethodHS256, []byte("secret"), nil, nil),
		"no signature":          sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil),
		"no token":              "x.y.z",
	} {
		if claims, err := verifier.Verify(t.Context(), token); err == nil {
			t.Errorf("%s: got %v", name, claims)
		}
	}
	if fetches != 1 {
		t.Errorf("the keys were fetched %d times", fetches)
	}
}

func newKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
