package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// A Request is what a client sends; zero members are left out.
type Request struct {
	Method, URL string
	Key         string // sent as a bearer token
	Body        string // JSON, unless Header has another Content-Type
	Once        string // its Idempotency-Key
	Header      map[string]string
}

func (r Request) String() string { return r.Method + " " + r.URL + " " + r.Body }

// An Answer is what came back.
type Answer struct {
	Status int
	Code   string // of an error of the API, else ""
	Header http.Header
	Body   string
}

// Send sends a request and reads the whole answer, of whatever status.
func Send(ctx context.Context, c *http.Client, r Request) (a Answer, err error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return a, err
	}
	if r.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.Key)
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Once != "" {
		req.Header.Set("Idempotency-Key", r.Once)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	a = Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body)}
	if a.Status >= 400 {
		var e struct{ Code string }
		_ = json.Unmarshal(body, &e) // pages and proxies answer in other ways
		a.Code = e.Code
	}
	return a, err
}

// UsedToday returns how many requests of its day the workspace of a key has used.
// To ask spends none.
func UsedToday(url, key string) (int64, error) {
	a, err := Send(context.Background(), http.DefaultClient, Request{Method: http.MethodGet, URL: url + "/account", Key: key})
	if err != nil {
		return 0, err
	}
	var account struct {
		Limits struct{ Day struct{ Used int64 } }
	}
	if err := json.Unmarshal([]byte(a.Body), &account); err != nil || a.Status != http.StatusOK {
		return 0, fmt.Errorf("GET /account = %d %s", a.Status, a.Body)
	}
	return account.Limits.Day.Used, nil
}

// Metric returns the value of a series, as text, or "" if the server has none.
func (s *Server) Metric(series string) string {
	a, err := Send(context.Background(), http.DefaultClient, Request{Method: http.MethodGet, URL: s.Ops + "/metrics"})
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(a.Body, "\n"+series+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}
