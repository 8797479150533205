package countersign

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// world is a server that answers as told, and a client whose time and waiting are in the test's hands.
type world struct {
	client *Client

	mu    sync.Mutex
	seen  []string
	now   time.Time
	slept []time.Duration
}

func newWorld(t *testing.T, answer http.HandlerFunc) *world {
	t.Helper()
	w := &world{now: time.Unix(1_000_000, 0)}
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, request.Method+" "+request.URL.Path)
		answer(response, request)
	}))
	t.Cleanup(server.Close)
	w.client = NewClient(server.URL, "id", "secret")
	w.client.now = func() time.Time { return w.now }
	w.client.sleep = func(_ context.Context, wait time.Duration) error {
		w.slept = append(w.slept, wait)
		w.now = w.now.Add(wait)
		return nil
	}
	return w
}

func (w *world) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

func issue(w http.ResponseWriter, token string) {
	_, _ = fmt.Fprintf(w, `{"access_token":%q,"expires_in":3600}`, token)
}

func TestOneTokenServesManyCallers(t *testing.T) {
	w := newWorld(t, func(response http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			issue(response, "one")
		}
	})
	var group sync.WaitGroup
	for range 10 {
		group.Add(1)
		go func() {
			defer group.Done()
			if err := w.client.Do(t.Context(), http.MethodGet, "/x", nil, nil); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	requests := w.requests()
	calls := slices.DeleteFunc(slices.Clone(requests), func(line string) bool { return line == "POST /api/v1/token" })
	if len(requests) != 11 || len(calls) != 10 {
		t.Fatalf("made %d requests, %d of them for a token", len(requests), len(requests)-len(calls))
	}
}

func TestTokenIsRenewedBeforeItExpires(t *testing.T) {
	count := 0
	w := newWorld(t, func(response http.ResponseWriter, _ *http.Request) {
		count++
		issue(response, fmt.Sprint("token-", count))
	})
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "token-1"}, {3539 * time.Second, "token-1"}, {2 * time.Second, "token-2"}} {
		w.now = w.now.Add(step.after)
		if got, err := w.client.Token(t.Context()); err != nil || got != step.want {
			t.Fatalf("got %q, %v; want %q", got, err, step.want)
		}
	}
}

func TestRefusedTokenIsReplacedOnce(t *testing.T) {
	for _, accepted := range []string{"Bearer token-2", "none"} {
		count := 0
		w := newWorld(t, func(response http.ResponseWriter, request *http.Request) {
			if request.Method == http.MethodPost {
				count++
				issue(response, fmt.Sprint("token-", count))
			} else if request.Header.Get("Authorization") != accepted {
				response.WriteHeader(http.StatusUnauthorized)
				_, _ = fmt.Fprint(response, `{"code":"UNAUTHORIZED"}`)
			}
		})
		err := w.client.Do(t.Context(), http.MethodGet, "/x", nil, nil)
		var refusal *APIError
		if accepted == "none" && (!errors.As(err, &refusal) || refusal.Code != "UNAUTHORIZED") {
			t.Errorf("got %v", err)
		}
		if accepted != "none" && err != nil {
			t.Error(err)
		}
		if requests := w.requests(); len(requests) != 4 {
			t.Errorf("made the requests %v", requests)
		}
	}
}

func TestFullRateWindowIsWaitedOut(t *testing.T) {
	calls := 0
	w := newWorld(t, func(response http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			issue(response, "one")
			return
		}
		if calls++; calls == 1 {
			response.Header().Set("X-RateLimit-Reset", "1000030")
			response.WriteHeader(http.StatusTooManyRequests)
		}
	})
	if err := w.client.Do(t.Context(), http.MethodGet, "/x", nil, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(w.slept, []time.Duration{30 * time.Second}) {
		t.Fatalf("slept %v", w.slept)
	}
}

func TestDoesNotWaitForTheNextDay(t *testing.T) {
	w := newWorld(t, func(response http.ResponseWriter, request *http.Request) {
		if request.Method == http.MethodPost {
			issue(response, "one")
			return
		}
		response.Header().Set("Retry-After", "40000")
		response.WriteHeader(http.StatusTooManyRequests)
	})
	var refusal *APIError
	err := w.client.Do(t.Context(), http.MethodGet, "/x", nil, nil)
	if !errors.As(err, &refusal) || refusal.Status != http.StatusTooManyRequests || len(w.slept) != 0 {
		t.Fatalf("got %v after %v", err, w.slept)
	}
}

func TestWrongSecretIsSaidToBeOne(t *testing.T) {
	w := newWorld(t, func(response http.ResponseWriter, _ *http.Request) {
		response.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprint(response, `{"error":"invalid_client"}`)
	})
	var refusal *APIError
	if _, err := w.client.Token(t.Context()); !errors.As(err, &refusal) || refusal.Code != "invalid_client" {
		t.Fatalf("got %v", err)
	}
}
