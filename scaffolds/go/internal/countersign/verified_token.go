package countersign

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const maxActors = 10

var uuid = regexp.MustCompile(`\A[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\z`)

var errInvalidDetails = errors.New("authorization_details must be a list of objects with a type")

const (
	agentType  = "agent"
	personType = "person"
)

// Subject is the person or the agent on whose behalf an agent acts: sub and sub_profile.
type Subject struct {
	// Type is "person" or "agent".
	Type string
	ID   string
}

// VerifiedToken is a genuine access token. It is delegated when it has a ChainID.
type VerifiedToken struct {
	// AgentID is the agent that acts, which the token was issued to: client_id.
	AgentID string
	// Subject is the person or the agent on whose behalf it acts: the agent itself unless the token is delegated.
	Subject Subject
	// Actors are the agents that act (act): the one that acts now first, the subject's own delegatee last. The agent
	// alone unless the token is delegated. Actors that another issuer named have an iss, and are only in Claims.
	Actors []string
	// ChainID is the delegation: chain_id. Empty unless the token is delegated.
	ChainID string
	Scopes  []string
	// AuthorizationDetails is what exactly a person approved. Empty: the scopes alone say it.
	AuthorizationDetails []map[string]any
	OrganizationID       string
	Claims               map[string]any
}

// RequireDetail returns the first of the AuthorizationDetails that has this type. Compare its values with the call.
func (t *VerifiedToken) RequireDetail(kind string) (map[string]any, error) {
	for _, detail := range t.AuthorizationDetails {
		if detail["type"] == kind {
			return detail, nil
		}
	}
	return nil, fmt.Errorf("the token has no authorization_details of the type %s", kind)
}

func readClaims(claims map[string]any) (*VerifiedToken, error) {
	verified := &VerifiedToken{Claims: claims}
	for _, each := range []struct {
		claim string
		value *string
	}{
		{"client_id", &verified.AgentID},
		{"sub", &verified.Subject.ID},
		{"organization_id", &verified.OrganizationID},
	} {
		if err := readID(claims, each.claim, each.value); err != nil {
			return nil, err
		}
	}
	verified.Subject.Type = agentType
	if profile, there := claims["sub_profile"]; there {
		// Only tokens of people have it.
		if profile != personType {
			return nil, errors.New("sub_profile must be person")
		}
		verified.Subject.Type = personType
	}
	if scope, there := claims["scope"]; there {
		text, ok := scope.(string)
		if !ok {
			return nil, errors.New("scope must be a string")
		}
		verified.Scopes = strings.Fields(text)
	}
	if err := readDetails(claims, verified); err != nil {
		return nil, err
	}
	return verified, readDelegation(claims, verified)
}

func readDelegation(claims map[string]any, verified *VerifiedToken) error {
	isPerson := verified.Subject.Type == personType
	if _, delegated := claims["act"]; !delegated {
		if isPerson {
			return errors.New("sub is a person, but act is missing")
		}
		if _, there := claims["chain_id"]; there {
			return errors.New("chain_id without act")
		}
		if verified.Subject.ID != verified.AgentID {
			return errors.New("sub and client_id differ, but act is missing")
		}
		verified.Actors = []string{verified.AgentID}
		return nil
	}
	holder := claims
	for act, there := holder["act"]; there; act, there = holder["act"] {
		actor, _ := act.(map[string]any)
		_, isAsserted := actor["iss"]
		if isAsserted && len(verified.Actors) > 0 {
			if err := checkAsserted(actor); err != nil {
				return err
			}
			break
		}
		sub, _ := actor["sub"].(string)
		profile, there := actor["sub_profile"]
		if isAsserted || !isID(sub) || there && profile != "ai_agent" {
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
	if isPerson && slices.Contains(verified.Actors, verified.Subject.ID) {
		return errors.New("sub is a person, but act names it as an agent")
	}
	return readID(claims, "chain_id", &verified.ChainID)
}

// checkAsserted reads the actors of another issuer, which an identity assertion named. Earlier actors are so, too.
func checkAsserted(actor map[string]any) error {
	for count := 1; ; count++ {
		issuer, _ := actor["iss"].(string)
		sub, _ := actor["sub"].(string)
		if issuer == "" || sub == "" {
			return errors.New("act of another issuer must name an actor in iss and sub")
		}
		if count > maxActors {
			return fmt.Errorf("act names more than %d actors of other issuers", maxActors)
		}
		earlier, there := actor["act"]
		if !there {
			return nil
		}
		actor, _ = earlier.(map[string]any)
	}
}

func readDetails(claims map[string]any, verified *VerifiedToken) error {
	value, there := claims["authorization_details"]
	details, isList := value.([]any)
	if there && !isList {
		return errInvalidDetails
	}
	for _, each := range details {
		detail, _ := each.(map[string]any)
		if _, ok := detail["type"].(string); !ok {
			return errInvalidDetails
		}
		verified.AuthorizationDetails = append(verified.AuthorizationDetails, detail)
	}
	return nil
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
