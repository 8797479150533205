// Command agent shows who this agent is, and checks what others send it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"agent/internal/countersign"
)

const usage = `usage:
  agent                                    show who this agent is
  agent token <access token>               check a token that was presented to this agent
  agent webhook <timestamp> <signature>    check a delivery, its body on standard input`

var errUsage = errors.New(usage)

type identity struct {
	AgentID       string   `json:"agentId"`
	Email         string   `json:"email"`
	AgentType     string   `json:"agentType"`
	Version       string   `json:"version"`
	Owner         string   `json:"owner"`
	DeploymentEnv string   `json:"deploymentEnv"`
	Capabilities  []string `json:"capabilities"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return whoAmI(ctx)
	case len(args) == 2 && args[0] == "token":
		return checkToken(ctx, args[1])
	case len(args) == 3 && args[0] == "webhook":
		return checkWebhook(args[1], args[2])
	default:
		return errUsage
	}
}

func whoAmI(ctx context.Context) error {
	apiURL, err := apiURL()
	if err != nil {
		return err
	}
	clientID, err := setting("CLIENT_ID")
	if err != nil {
		return err
	}
	secret, err := setting("CLIENT_SECRET")
	if err != nil {
		return err
	}
	client := countersign.NewClient(apiURL, clientID, secret)

	var me identity
	if err := client.Do(ctx, http.MethodGet, "/agents/"+url.PathEscape(clientID), nil, &me); err != nil {
		return err
	}
	fmt.Printf("I am %s (%s), a %s in %s.\n", me.Email, me.AgentID, me.AgentType, me.DeploymentEnv)

	// A service that receives this token checks it like this. It was issued for the API, so the API is its audience.
	token, err := client.Token(ctx)
	if err != nil {
		return err
	}
	verified, err := verify(ctx, apiURL, apiURL, token)
	if err != nil {
		return err
	}
	fmt.Printf("My token is genuine and carries: %s.\n", orNone(verified.Scopes))

	for _, field := range differences(known, me) {
		fmt.Printf("The registry says something else about %s than identity.go.\n", field)
	}
	return nil
}

func checkToken(ctx context.Context, token string) error {
	apiURL, err := apiURL()
	if err != nil {
		return err
	}
	audience := os.Getenv("TOKEN_AUDIENCE")
	if audience == "" {
		audience = apiURL
	}
	verified, err := verify(ctx, apiURL, audience, token)
	if err != nil {
		return err
	}
	fmt.Printf("The token is genuine. It was issued to %s of organization %s and carries: %s.\n",
		verified.AgentID, verified.OrganizationID, orNone(verified.Scopes))
	if verified.ChainID != "" {
		fmt.Printf("It is delegated by %s in chain %s; actors: %s.\n",
			verified.Subject.ID, verified.ChainID, strings.Join(verified.Actors, ", "))
	}
	return nil
}

// verify accepts tokens of the agent's own organization only, unless the settings say otherwise. It refuses tokens of
// agents that act for a person.
func verify(ctx context.Context, issuer, audience, token string) (*countersign.VerifiedToken, error) {
	config := countersign.VerifierConfig{Issuer: issuer, Audience: audience, Subjects: countersign.SubjectsAgents}
	var err error
	switch os.Getenv("ACCEPT_ANY_ORGANIZATION") {
	case "true":
		config.AcceptAnyOrganization = true
	case "false", "":
		config.OrganizationID, err = setting("ORGANIZATION_ID")
	default:
		err = errors.New("ACCEPT_ANY_ORGANIZATION must be true or false")
	}
	if err != nil {
		return nil, err
	}
	verifier, err := countersign.NewVerifier(config)
	if err != nil {
		return nil, err
	}
	return verifier.Verify(ctx, token)
}

func checkWebhook(timestamp, signature string) error {
	secret, err := setting("WEBHOOK_SECRET")
	if err != nil {
		return err
	}
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	if err := countersign.VerifyWebhook(secret, timestamp, signature, body, time.Now()); err != nil {
		return err
	}
	fmt.Println("The delivery is genuine.")
	return nil
}

func differences(a, b identity) []string {
	var fields []string
	for _, each := range []struct {
		field string
		equal bool
	}{
		{"agentId", a.AgentID == b.AgentID},
		{"email", a.Email == b.Email},
		{"agentType", a.AgentType == b.AgentType},
		{"version", a.Version == b.Version},
		{"owner", a.Owner == b.Owner},
		{"deploymentEnv", a.DeploymentEnv == b.DeploymentEnv},
		{"capabilities", slices.Equal(a.Capabilities, b.Capabilities)},
	} {
		if !each.equal {
			fields = append(fields, each.field)
		}
	}
	return fields
}

func apiURL() (string, error) {
	value, err := setting("API_URL")
	return strings.TrimRight(value, "/"), err
}

func setting(name string) (string, error) {
	if value := os.Getenv(name); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s is not set; copy .env.example to .env, fill it in and load it", name)
}

func orNone(scopes []string) string {
	if len(scopes) == 0 {
		return "no scope"
	}
	return strings.Join(scopes, " ")
}
