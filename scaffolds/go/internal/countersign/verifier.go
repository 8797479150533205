package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	// A made-up key id must not make us ask for the keys each time.
	coolDown = 30 * time.Second
	// A key that is no longer published is refused after this time at the latest.
	keysMaxAge     = 10 * time.Minute
	clockTolerance = 5 * time.Second
)

// Subjects says on whose behalf the agents that present a token may act.
type Subjects string

const (
	// SubjectsAgents accepts agents that act for themselves or for other agents.
	SubjectsAgents Subjects = "agents"
	// SubjectsPeople accepts agents that act for a person.
	SubjectsPeople Subjects = "people"
	// SubjectsAny accepts both.
	SubjectsAny Subjects = "any"
)

// VerifierConfig says which tokens a Verifier accepts.
type VerifierConfig struct {
	// Issuer is the API's address.
	Issuer string
	// Audience is the audience that tokens must have.
	Audience string
	// OrganizationID is the organization whose tokens are accepted.
	OrganizationID string
	// AcceptAnyOrganization accepts tokens of every organization on the instance, and ignores OrganizationID: compare
	// VerifiedToken.OrganizationID yourself.
	AcceptAnyOrganization bool
	// Subjects has no default.
	Subjects Subjects
}

// Verifier checks access tokens that others present to this agent. It is safe for concurrent use.
type Verifier struct {
	config VerifierConfig
	parser *jwt.Parser
	http   *http.Client
	now    func() time.Time

	mu          sync.Mutex
	keys        map[string]verificationKey
	fetchedAt   time.Time
	attemptedAt time.Time
}

// NewVerifier needs an organization, or AcceptAnyOrganization, and Subjects.
func NewVerifier(config VerifierConfig) (*Verifier, error) {
	if !config.AcceptAnyOrganization && !isID(config.OrganizationID) {
		return nil, errors.New("OrganizationID must be a UUID; or set AcceptAnyOrganization")
	}
	switch config.Subjects {
	case SubjectsAgents, SubjectsPeople, SubjectsAny:
	default:
		return nil, errors.New("Subjects must be SubjectsAgents, SubjectsPeople or SubjectsAny")
	}
	verifier := &Verifier{config: config, http: newHTTPClient(), now: time.Now}
	verifier.parser = jwt.NewParser(
		jwt.WithValidMethods([]string{rs256, es256, edDSA}),
		jwt.WithIssuer(config.Issuer),
		jwt.WithAudience(config.Audience),
		jwt.WithExpirationRequired(),
		jwt.WithLeeway(clockTolerance),
		jwt.WithStrictDecoding(),
		jwt.WithTimeFunc(func() time.Time { return verifier.now() }),
	)
	return verifier, nil
}

// Verify returns what a genuine token says.
func (v *Verifier) Verify(ctx context.Context, token string) (*VerifiedToken, error) {
	claims := jwt.MapClaims{}
	_, err := v.parser.ParseWithClaims(token, claims, func(token *jwt.Token) (any, error) {
		kind, _ := token.Header["typ"].(string)
		if !strings.EqualFold(strings.TrimPrefix(kind, "application/"), "at+jwt") {
			return nil, errors.New("this is not an access token")
		}
		if _, there := token.Header["crit"]; there {
			return nil, errors.New("the token demands an extension that is not known here")
		}
		kid, _ := token.Header["kid"].(string)
		key, err := v.key(ctx, kid)
		if err != nil {
			return nil, err
		}
		// The key decides the algorithm; the token does not.
		if token.Method.Alg() != key.algorithm {
			return nil, errors.New("the token names another algorithm than its key")
		}
		return key.public, nil
	})
	if err != nil {
		return nil, err
	}
	verified, err := readClaims(claims)
	if err != nil {
		return nil, err
	}
	if !v.config.AcceptAnyOrganization && verified.OrganizationID != v.config.OrganizationID {
		return nil, fmt.Errorf("the token is of organization %s, not %s",
			verified.OrganizationID, v.config.OrganizationID)
	}
	switch {
	case v.config.Subjects == SubjectsAgents && verified.Subject.Type != agentType:
		return nil, errors.New("the subject of the token is a person; only agents are accepted")
	case v.config.Subjects == SubjectsPeople && verified.Subject.Type != personType:
		return nil, errors.New("the subject of the token is an agent; only people are accepted")
	}
	return verified, nil
}

func (v *Verifier) key(ctx context.Context, kid string) (verificationKey, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.now()
	fresh := now.Sub(v.fetchedAt) < keysMaxAge
	_, there := v.keys[kid]
	known := fresh && there
	if !known && now.Sub(v.attemptedAt) >= coolDown {
		v.attemptedAt = now
		keys, err := v.fetch(ctx)
		if err != nil {
			return verificationKey{}, err
		}
		v.keys, v.fetchedAt, fresh = keys, now, true
	}
	if !fresh {
		return verificationKey{}, errors.New("the keys could not be fetched; the token cannot be checked")
	}
	if key, there := v.keys[kid]; there {
		return key, nil
	}
	return verificationKey{}, errors.New("the token is signed with an unknown key")
}

func (v *Verifier) fetch(ctx context.Context) (map[string]verificationKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.config.Issuer+"/.well-known/jwks.json", nil)
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
		Keys []jwk
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&set); err != nil {
		return nil, err
	}
	keys := make(map[string]verificationKey)
	for _, key := range set.Keys {
		if usable, ok := key.verificationKey(); ok && key.Kid != "" {
			keys[key.Kid] = usable
		}
	}
	return keys, nil
}
