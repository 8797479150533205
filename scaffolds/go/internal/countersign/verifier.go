package countersign

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A made-up key id must not make us ask for the keys each time.
const coolDown = 30 * time.Second

// Claims are what a genuine access token says.
type Claims struct {
	jwt.RegisteredClaims

	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
}

// Verifier checks access tokens that others present to this agent. It is safe for concurrent use.
type Verifier struct {
	issuer string
	parser *jwt.Parser
	http   *http.Client

	mu        sync.Mutex
	keys      map[string]*rsa.PublicKey
	fetchedAt time.Time
}

// NewVerifier takes who issues the tokens, the API's address, and whom they must be meant for.
func NewVerifier(issuer, audience string) *Verifier {
	return &Verifier{
		issuer: issuer,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithAudience(audience),
			jwt.WithExpirationRequired(),
			jwt.WithStrictDecoding(),
		),
		http: newHTTPClient(),
	}
}

// Verify returns the claims of a genuine token.
func (v *Verifier) Verify(ctx context.Context, token string) (*Claims, error) {
	claims := &Claims{}
	_, err := v.parser.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		kind, _ := token.Header["typ"].(string)
		if !strings.EqualFold(strings.TrimPrefix(kind, "application/"), "at+jwt") {
			return nil, errors.New("this is not an access token")
		}
		if _, there := token.Header["crit"]; there {
			return nil, errors.New("the token demands an extension that is not known here")
		}
		kid, _ := token.Header["kid"].(string)
		return v.key(ctx, kid)
	})
	if err != nil {
		return nil, err
	}
	if claims.Subject == "" || claims.ClientID == "" {
		return nil, errors.New("the token does not say whose it is")
	}
	return claims, nil
}

func (v *Verifier) key(ctx context.Context, kid string) (*rsa.PublicKey, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys[kid] == nil && time.Since(v.fetchedAt) >= coolDown {
		v.fetchedAt = time.Now()
		keys, err := v.fetch(ctx)
		if err != nil {
			return nil, err
		}
		v.keys = keys
	}
	if key := v.keys[kid]; key != nil {
		return key, nil
	}
	return nil, errors.New("the token is signed with an unknown key")
}

func (v *Verifier) fetch(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.issuer+"/.well-known/jwks.json", nil)
	if err != nil {
		return nil, err
	}
	response, err := v.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer discard(response)
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the keys cannot be fetched: %s", response.Status)
	}
	var set struct {
		Keys []struct{ Kty, Kid, N, E string }
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&set); err != nil {
		return nil, err
	}
	keys := make(map[string]*rsa.PublicKey)
	for _, key := range set.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(key.N)
		e, errE := base64.RawURLEncoding.DecodeString(key.E)
		if key.Kty != "RSA" || key.Kid == "" || errN != nil || errE != nil || len(e) == 0 || len(e) > 4 {
			continue
		}
		keys[key.Kid] = &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())}
	}
	return keys, nil
}
