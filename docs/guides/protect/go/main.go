// An API with net/http. go.mod and go.sum beside this file have the versions that were tested.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

type claims struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
}

func verify(keys keyfunc.Keyfunc, text string) (*claims, error) {
	verified := &claims{}
	token, err := jwt.ParseWithClaims(text, verified, keys.Keyfunc,
		// keyfunc uses each key with its own algorithm only.
		jwt.WithValidMethods([]string{"RS256", "ES256", "EdDSA"}),
		jwt.WithIssuer(os.Getenv("ISSUER")),
		jwt.WithAudience(os.Getenv("AUDIENCE")),
		jwt.WithExpirationRequired())
	if err != nil {
		return nil, err
	}
	if token.Header["typ"] != "at+jwt" {
		return nil, fmt.Errorf("not an access token")
	}
	return verified, nil
}

// requireScope answers 401 without a valid token for this API, and 403 without the scope.
func requireScope(keys keyfunc.Keyfunc, scope string, handle func(*claims) any) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		kind, text, _ := strings.Cut(request.Header.Get("Authorization"), " ")
		if !strings.EqualFold(kind, "Bearer") {
			response.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(response, "invalid_token", http.StatusUnauthorized)
			return
		}
		agent, err := verify(keys, text)
		if err != nil {
			response.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(response, "invalid_token", http.StatusUnauthorized)
			return
		}
		if !slices.Contains(strings.Split(agent.Scope, " "), scope) {
			response.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, scope))
			http.Error(response, "insufficient_scope", http.StatusForbidden)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(response).Encode(handle(agent))
	}
}

func main() {
	keys, err := keyfunc.NewDefault([]string{os.Getenv("ISSUER") + "/.well-known/jwks.json"})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /orders", requireScope(keys, "orders:read", func(agent *claims) any {
		return map[string]any{"agent": agent.ClientID, "orders": []string{}}
	}))
	http.HandleFunc("POST /orders", requireScope(keys, "orders:write", func(agent *claims) any {
		return map[string]any{"agent": agent.ClientID, "created": true}
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
