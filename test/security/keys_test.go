package security

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/test/servertest"
)

// TestKeyInURL sends a valid key everywhere but where a key belongs.
func TestKeyInURL(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key := s.workspace("shop")
	s.serve()
	for _, name := range []string{"api_key", "apikey", "key", "access_token", "token", "X-API-Key", "Authorization", "authorization", "bearer"} {
		s.do(request{method: "GET", path: "/pets?" + name + "=" + key}).want(401, "missing_api_key")
		s.do(request{method: "GET", path: "/pets", header: map[string]string{"Cookie": name + "=" + key}}).want(401, "missing_api_key")
	}
	s.do(request{method: "GET", path: "/pets", header: map[string]string{"Authorization": "Basic " + key}}).want(401, "invalid_api_key")
	s.do(request{method: "GET", path: "/pets?api_key=" + key, key: key}).want(400, "invalid_parameter")
	s.do(request{method: "POST", path: "/categories", body: `{"name":"x","apiKey":"` + key + `"}`}).want(401, "missing_api_key")
	s.do(request{method: "GET", path: "/pets", key: key}).want(200, "")
}

// TestPlantedKeys uses keys, good and bad, in every place where a client might
// put one, and then looks for them in what the service keeps and shows.
func TestPlantedKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := s.workspace("shop")
	revoked := s.key("shop")
	if _, err := petstore.Run(s.dir, "key", "revoke", revoked.ID); err != nil {
		t.Fatal(err)
	}
	unknown, _ := access.Mint()
	mistyped := unknown[:len(unknown)-1] + "-"
	s.serve("--log-level=debug")
	s.stock(good, "Pet", 2)
	keys := []string{good, revoked.Key, unknown, mistyped}
	for _, k := range keys {
		s.plant(k)
	}
	shown := map[string]string{"metrics": fetch(t, s.Ops+"/metrics"), "readiness": fetch(t, s.Ops+"/readyz"), "command line": fetch(t, s.Ops+"/debug/pprof/cmdline")}
	for name, text := range s.files() { // while it runs: the WAL is there
		shown[name] = text
	}
	if err := s.Stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	for name, text := range s.files() {
		shown[name+" afterwards"] = text
	}
	if _, ok := shown["petstore.db-wal"]; !ok {
		t.Errorf("no WAL among %v", slices.Sorted(maps.Keys(shown)))
	}
	for name, text := range shown {
		for i, k := range keys {
			if strings.Contains(text, k) || strings.Contains(text, k[:len(k)-6]) || strings.Contains(text, k[12:]) {
				t.Errorf("key %d is in the %s", i, name)
			}
		}
	}
}

// plant uses a key in every place where a client might put one by mistake.
func (s *site) plant(key string) {
	s.t.Helper()
	for _, r := range []request{
		{method: "GET", path: "/pets", key: key},
		{method: "GET", path: "/pets", header: map[string]string{"X-API-Key": key}},
		{method: "GET", path: "/pets", header: map[string]string{"X-API-Key": key, "Authorization": "Bearer other"}},
		{method: "GET", path: "/pets?api_key=" + key},
		{method: "GET", path: "/pets/" + key},
		{method: "GET", path: "/" + key + "/pets", key: key},
		{method: "GET", path: "/account", key: key},
		{method: "GET", path: "/pets", header: map[string]string{"User-Agent": key, "Referer": "http://x/?" + key}},
		{method: "GET", path: "/pets", header: map[string]string{"X-Request-Id": key}},
		{method: "GET", path: "/pets?cursor=" + key, key: key},
		{method: "GET", path: "/pets", header: map[string]string{"X-Forwarded-For": key}},
		{method: "POST", path: "/pets", key: key, body: `{"name":1,"` + key + `":2}`},
		{method: "POST", path: "/store/orders", key: key, body: `{"petId":1}`, header: map[string]string{"Content-Type": key}},
		{method: "POST", path: "/store/orders", key: key, body: `{"petId":1}`, header: map[string]string{"Idempotency-Key": "once " + key[:3]}},
	} {
		s.do(r)
	}
}

// files returns the contents of the database's files and of the log.
func (s *site) files() map[string]string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRefusedKeysLookAlike compares the answers to keys that are unknown,
// malformed or revoked: a caller learns nothing of which it was.
func TestRefusedKeysLookAlike(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workspace("shop")
	revoked := s.key("shop")
	if _, err := petstore.Run(s.dir, "key", "revoke", revoked.ID); err != nil {
		t.Fatal(err)
	}
	unknown, _ := access.Mint()
	s.serve()
	refused := map[string]string{
		"unknown": unknown, "revoked": revoked.Key, "another checksum": unknown[:41] + "x", "no prefix": unknown[4:],
		"short": "pst_1", "long": "pst_" + strings.Repeat("a", 500), "other letters": strings.Repeat("é", 20), "a wildcard": "pst_%", "one letter": "x",
	}
	want := s.refusal(unknown)
	for name, key := range refused {
		if got := s.refusal(key); got != want {
			t.Errorf("the answer to a key that is %s = %s, want %s", name, got, want)
		}
	}
}

// refusal returns the answer to a key, without what differs by each request.
func (s *site) refusal(key string) string {
	s.t.Helper()
	a := s.do(request{method: "GET", path: "/pets", key: key}).want(401, "invalid_api_key")
	var body map[string]any
	if err := json.Unmarshal([]byte(a.body), &body); err != nil {
		s.t.Fatal(err)
	}
	if body["requestId"] != a.header.Get("X-Request-Id") {
		s.t.Errorf("requestId = %v, want %v", body["requestId"], a.header.Get("X-Request-Id"))
	}
	delete(body, "requestId")
	h := a.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit", "Content-Length"} {
		h.Del(name)
	}
	text, err := json.Marshal([]any{a.status, h, body})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestFiles holds that only the owner can read what the service keeps, whatever
// the umask, and that it needs no root.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	options := servertest.Options{Dir: s.dir, Shell: "umask 000", Flags: []string{"--demo"}}
	if os.Geteuid() == 0 {
		options.Attr = nobody(t, s.dir)
	}
	server, err := petstore.Serve(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	for _, name := range []string{"petstore.db", "petstore.db-wal", "petstore.db-shm"} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode(); got != 0o600 {
			t.Errorf("the mode of %s = %v, want -rw-------", name, got)
		}
	}
	resp, err := client.Get(server.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /openapi.json = %d, want 200", resp.StatusCode)
	}
}
