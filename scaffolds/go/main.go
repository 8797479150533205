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

	// What anybody does who is handed this token: it was issued for the API, so that is its audience.
	token, err := client.Token(ctx)
	if err != nil {
		return err
	}
	claims, err := countersign.NewVerifier(apiURL, apiURL).Verify(ctx, token)
	if err != nil {
		return err
	}
	fmt.Printf("My token is genuine and carries: %s.\n", orNone(claims.Scope))

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
	claims, err := countersign.NewVerifier(apiURL, audience).Verify(ctx, token)
	if err != nil {
		return err
	}
	fmt.Printf("The token is genuine. It was issued to %s and carries: %s.\n", claims.ClientID, orNone(claims.Scope))
	return nil
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

func orNone(scope string) string {
	if scope == "" {
		return "no scope"
	}
	return scope
}
