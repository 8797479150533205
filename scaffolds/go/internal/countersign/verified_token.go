package countersign

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const maxActors = 10

var uuid = regexp.MustCompile(`\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\z`)

// VerifiedToken is a genuine access token. It is delegated when Actors is not empty.
type VerifiedToken struct {
	// AgentID is the agent that acts, which the token was issued to: client_id.
	AgentID string
	// Subject is the agent on whose behalf it acts: sub. The same as AgentID unless the token is delegated.
	Subject string
	// Actors are the agents of the delegation chain (act): the one that acts now first, the subject's own delegatee last.
	Actors []string
	// ChainID is the delegation: chain_id. Empty unless the token is delegated.
	ChainID        string
	Scopes         []string
	OrganizationID string
	Claims         map[string]any
}

func readClaims(claims map[string]any) (*VerifiedToken, error) {
	verified := &VerifiedToken{Claims: claims}
	for _, each := range []struct {
		claim string
		value *string
	}{
		{"client_id", &verified.AgentID},
		{"sub", &verified.Subject},
		{"organization_id", &verified.OrganizationID},
	} {
		if err := readID(claims, each.claim, each.value); err != nil {
			return nil, err
		}
	}
	if scope, there := claims["scope"]; there {
		text, ok := scope.(string)
		if !ok {
			return nil, errors.New("scope must be a string")
		}
		verified.Scopes = strings.Fields(text)
	}
	return verified, readDelegation(claims, verified)
}

func readDelegation(claims map[string]any, verified *VerifiedToken) error {
	if _, delegated := claims["act"]; !delegated {
		if _, there := claims["chain_id"]; there {
			return errors.New("chain_id without act")
		}
		if verified.Subject != verified.AgentID {
			return errors.New("sub and client_id differ, but act is missing")
		}
		return nil
	}
	holder := claims
	for act, there := holder["act"]; there; act, there = holder["act"] {
		actor, _ := act.(map[string]any)
		sub, _ := actor["sub"].(string)
		if !isID(sub) {
			return errors.New("act must name an agent in sub")
		}
		if len(verified.Actors) == maxActors {
			return fmt.Errorf("act names more than %d agents", maxActors)
		}
		verified.Actors = append(verified.Actors, sub)
		holder = actor
	}
	if verified.Actors[0] != verified.AgentID {
		return errors.New("act names another agent than client_id")
	}
	return readID(claims, "chain_id", &verified.ChainID)
}

func readID(claims map[string]any, claim string, value *string) error {
	text, _ := claims[claim].(string)
	if !isID(text) {
		return fmt.Errorf("%s must be a UUID", claim)
	}
	*value = text
	return nil
}

func isID(text string) bool {
	return uuid.MatchString(text)
}
