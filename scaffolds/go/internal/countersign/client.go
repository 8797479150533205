// Package countersign speaks to the identity service: it calls its API, and checks tokens and webhooks.
package countersign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// A token this close to its end is renewed before it is used.
	renewalMargin = time.Minute
	// A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up.
	longestWait    = 65 * time.Second
	requestTimeout = 10 * time.Second
	attempts       = 4
	maxAnswer      = 1 << 20
)

// APIError is a refusal by the API.
type APIError struct {
	Status  int
	Code    string
	Message string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}

// Client calls the API with an access token that is fetched when first needed, kept, and renewed before it expires.
// It is safe for concurrent use.
type Client struct {
	apiURL, clientID, clientSecret string

	http  *http.Client
	now   func() time.Time
	sleep func(context.Context, time.Duration) error

	// renewing is a semaphore of one: its holder may read and replace the token.
	renewing  chan struct{}
	token     string
	expiresAt time.Time
}

// NewClient makes a client for the API at apiURL.
func NewClient(apiURL, clientID, clientSecret string) *Client {
	return &Client{
		apiURL:       apiURL,
		clientID:     clientID,
		clientSecret: clientSecret,
		http:         newHTTPClient(),
		now:          time.Now,
		sleep:        sleep,
		renewing:     make(chan struct{}, 1),
	}
}

// newHTTPClient follows no redirect: it could lead a secret or a token elsewhere.
func newHTTPClient() *http.Client {
	return &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Token returns a token that is good for another minute at least. Callers that need a new one at the same time wait for
// one request.
func (c *Client) Token(ctx context.Context) (string, error) {
	select {
	case c.renewing <- struct{}{}:
		defer func() { <-c.renewing }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if c.token != "" && c.expiresAt.Sub(c.now()) > renewalMargin {
		return c.token, nil
	}
	asked := c.now()
	form := url.Values{
		"grant_type":    {"client_credentials"},
		"client_id":     {c.clientID},
		"client_secret": {c.clientSecret},
	}
	response, err := c.send(ctx, http.MethodPost, "/token", []byte(form.Encode()), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
	})
	if err != nil {
		return "", err
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := read(response, &answer); err != nil {
		return "", err
	}
	c.token = answer.AccessToken
	c.expiresAt = asked.Add(time.Duration(answer.ExpiresIn) * time.Second)
	return c.token, nil
}

// Do calls the API; path is relative to /api/v1. Body and answer may be nil. A refused token is replaced once, and a full
// rate window is waited out.
func (c *Client) Do(ctx context.Context, method, path string, body, answer any) error {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	for renewed := false; ; renewed = true {
		token, err := c.Token(ctx)
		if err != nil {
			return err
		}
		header := http.Header{"Authorization": {"Bearer " + token}}
		if sent != nil {
			header.Set("Content-Type", "application/json")
		}
		response, err := c.send(ctx, method, path, sent, header)
		if err != nil {
			return err
		}
		if response.StatusCode == http.StatusUnauthorized && !renewed {
			discard(response)
			c.forget(token)
			continue
		}
		return read(response, answer)
	}
}

func (c *Client) forget(token string) {
	c.renewing <- struct{}{}
	defer func() { <-c.renewing }()
	if c.token == token {
		c.token = ""
	}
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		request, err := http.NewRequestWithContext(ctx, method, c.apiURL+"/api/v1"+path, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header = header
		response, err := c.http.Do(request)
		if err != nil {
			return nil, err
		}
		if response.StatusCode != http.StatusTooManyRequests || attempt == attempts {
			return response, nil
		}
		wait := c.waitAfter(response.Header)
		if wait > longestWait {
			return response, nil
		}
		discard(response)
		if err := c.sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (c *Client) waitAfter(header http.Header) time.Duration {
	wait := time.Second
	if seconds, err := strconv.ParseInt(header.Get("Retry-After"), 10, 32); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
		wait = time.Unix(reset, 0).Sub(c.now())
	}
	return max(wait, time.Second)
}

func read(response *http.Response, answer any) error {
	defer discard(response)
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode < 300 {
		if answer == nil || len(text) == 0 {
			return nil
		}
		return json.Unmarshal(text, answer)
	}
	var failure struct {
		Code        string `json:"code"`
		Message     string `json:"message"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	// What is no JSON is not from the API itself: a proxy, perhaps.
	_ = json.Unmarshal(text, &failure)
	return &APIError{
		Status:  response.StatusCode,
		Code:    first(failure.Code, failure.Error, "UNKNOWN"),
		Message: first(failure.Message, failure.Description, "no explanation was given"),
	}
}

// discard lets the connection be used again.
func discard(response *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer))
	_ = response.Body.Close()
}

func first(texts ...string) string {
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
