package security

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestOperatorToken: only a live token opens the operator's API, to no page of another site and under no foreign name, and
// nothing on the disk tells it.
func TestOperatorToken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	out := petstore.Must(t, s.dir, "operator", "token", "create", "ci", "-o=json")
	var made struct{ ID, Token string }
	if err := json.Unmarshal([]byte(out), &made); err != nil || made.Token == "" {
		t.Fatalf("%v in %s", err, out)
	}
	s.serve("--backup-dir=backups")
	const list = "/admin/v1/workspaces"
	if got := s.ask("GET", list, key, nil).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("with a key the operator's API answers %d, want 401", got)
	}
	foreign := map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
	for _, method := range []string{"OPTIONS", "GET"} {
		if got := s.ask(method, list, made.Token, foreign).Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s lets a page of another site in: %q", method, got)
		}
	}
	if got := s.ask("GET", list, made.Token, map[string]string{"Host": "evil.example"}).StatusCode; got != http.StatusMisdirectedRequest {
		t.Errorf("under a foreign name the operator's API answers %d, want 421", got)
	}
	s.do(request{method: "GET", path: list, key: made.Token}).want(404, "route_not_found")
	s.do(request{method: "GET", path: "/pets", key: made.Token}).want(401, "invalid_api_key")
	if got := s.ask("POST", "/admin/v1/backups", made.Token, nil).StatusCode; got != http.StatusCreated {
		t.Errorf("a backup is answered %d, want 201", got)
	}
	s.ask("GET", "/admin/v1/keys/"+made.Token, made.Token, nil) // in a path, where it stands in the log
	for name, text := range s.files() {
		if strings.Contains(text, made.Token) {
			t.Errorf("%s has the token", name)
		}
	}
	petstore.Must(t, s.dir, "operator", "token", "revoke", made.ID)
	if got := s.ask("GET", list, made.Token, nil).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("with a revoked token the operator's API answers %d, want 401", got)
	}
}

// ask sends a request to the listener for operations, with a token unless it is empty.
func (s *site) ask(method, path, token string, header map[string]string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.Ops+path, nil)
	must(s.t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	r.Host = header["Host"] // the address if empty
	resp, err := client.Do(r)
	must(s.t, err)
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}
