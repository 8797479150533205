package countersign

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

type tokenCase struct {
	Name                  string
	AcceptAnyOrganization bool
	Subjects              Subjects
	Verified              VerifiedToken
	Reason                string
	Token                 string
}

type tokenCases struct {
	Issuer, Audience, OrganizationID string

	JWKS              json.RawMessage
	Accepted, Refused []tokenCase
}

func readCases(t *testing.T) tokenCases {
	t.Helper()
	text, err := os.ReadFile("../../testdata/access-token-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases tokenCases
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// keyServer answers requests for the key set, at a time that the test sets.
type keyServer struct {
	keys    string
	status  int
	fetches int
	now     time.Time
}

func (s *keyServer) RoundTrip(request *http.Request) (*http.Response, error) {
	s.fetches++
	recorder := httptest.NewRecorder()
	recorder.WriteHeader(s.status)
	if request.URL.Path == "/.well-known/jwks.json" {
		_, _ = recorder.WriteString(s.keys)
	}
	return recorder.Result(), nil
}

func newKeyServer(t *testing.T, cases tokenCases, each tokenCase) (*keyServer, *Verifier) {
	t.Helper()
	server := &keyServer{keys: string(cases.JWKS), status: http.StatusOK, now: time.Now()}
	config := VerifierConfig{Issuer: cases.Issuer, Audience: cases.Audience, AcceptAnyOrganization: each.AcceptAnyOrganization, Subjects: each.Subjects}
	if !each.AcceptAnyOrganization {
		config.OrganizationID = cases.OrganizationID
	}
	verifier, err := NewVerifier(config)
	if err != nil {
		t.Fatal(err)
	}
	verifier.http = &http.Client{Transport: server}
	verifier.now = func() time.Time { return server.now }
	return server, verifier
}

func assertRefused(t *testing.T, verifier *Verifier, token, reason string) {
	t.Helper()
	verified, err := verifier.Verify(t.Context(), token)
	if err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, %v", verified, err)
	}
}

func assertAccepted(t *testing.T, verifier *Verifier, token string) {
	t.Helper()
	if _, err := verifier.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
}

func TestAccepted(t *testing.T) {
	cases := readCases(t)
	for _, each := range cases.Accepted {
		t.Run(each.Name, func(t *testing.T) {
			_, verifier := newKeyServer(t, cases, each)
			verified, err := verifier.Verify(t.Context(), each.Token)
			if err != nil {
				t.Fatal(err)
			}
			if verified.Claims["iss"] != cases.Issuer {
				t.Errorf("got %v", verified.Claims)
			}
			for _, detail := range verified.AuthorizationDetails {
				if found, err := verified.RequireDetail(detail["type"].(string)); err != nil || found["type"] != detail["type"] {
					t.Errorf("got %v, %v", found, err)
				}
			}
			if found, err := verified.RequireDetail("other"); err == nil {
				t.Errorf("got %v", found)
			}
			verified.Claims = nil
			if got, want := fmt.Sprintf("%+v", *verified), fmt.Sprintf("%+v", each.Verified); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	cases := readCases(t)
	for _, each := range cases.Refused {
		t.Run(each.Name, func(t *testing.T) {
			_, verifier := newKeyServer(t, cases, each)
			assertRefused(t, verifier, each.Token, each.Reason)
		})
	}
}

func TestVerifierNeedsAnOrganizationOrTheOption(t *testing.T) {
	for _, organizationID := range []string{"", "acme"} {
		if _, err := NewVerifier(VerifierConfig{OrganizationID: organizationID, Subjects: SubjectsAny}); err == nil {
			t.Errorf("%q is accepted", organizationID)
		}
	}
}

func TestVerifierNeedsSubjects(t *testing.T) {
	for _, subjects := range []Subjects{"", "agent"} {
		if _, err := NewVerifier(VerifierConfig{AcceptAnyOrganization: true, Subjects: subjects}); err == nil {
			t.Errorf("%q is accepted", subjects)
		}
	}
}

func TestKeysAreFetchedOnce(t *testing.T) {
	cases := readCases(t)
	server, verifier := newKeyServer(t, cases, cases.Accepted[0])
	for range 3 {
		assertAccepted(t, verifier, cases.Accepted[0].Token)
	}
	for _, each := range cases.Refused {
		if each.Name == "unknown key id" {
			assertRefused(t, verifier, each.Token, "unknown key")
		}
	}
	if server.fetches != 1 {
		t.Errorf("the keys were fetched %d times", server.fetches)
	}
}

func TestAKeyThatIsNoLongerPublishedIsRefusedAfterTenMinutes(t *testing.T) {
	cases := readCases(t)
	token := cases.Accepted[0].Token
	server, verifier := newKeyServer(t, cases, cases.Accepted[0])
	assertAccepted(t, verifier, token)
	server.keys = `{"keys":[]}`
	server.now = server.now.Add(keysMaxAge - time.Second)
	assertAccepted(t, verifier, token)
	server.now = server.now.Add(time.Second)
	assertRefused(t, verifier, token, "unknown key")
}

func TestAFailedFetchIsNotRepeatedAtOnce(t *testing.T) {
	cases := readCases(t)
	token := cases.Accepted[0].Token
	server, verifier := newKeyServer(t, cases, cases.Accepted[0])
	server.status = http.StatusServiceUnavailable
	assertRefused(t, verifier, token, "503")
	assertRefused(t, verifier, token, "could not be fetched")
	if server.fetches != 1 {
		t.Errorf("the keys were fetched %d times", server.fetches)
	}
	server.status, server.now = http.StatusOK, server.now.Add(coolDown)
	assertAccepted(t, verifier, token)
}

func TestClocksMayDifferByFiveSeconds(t *testing.T) {
	cases := readCases(t)
	token := cases.Accepted[0].Token
	server, verifier := newKeyServer(t, cases, cases.Accepted[0])
	expiry := time.Unix(4_102_444_800, 0)
	server.now = expiry.Add(2 * time.Second)
	assertAccepted(t, verifier, token)
	server.now = expiry.Add(10 * time.Second)
	assertRefused(t, verifier, token, "expired")
}
