package security

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/portal/admin"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/portal/page"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// TestPlantedKeys uses keys, good and bad, in every place where a client might
// put one, and then looks for them in what the service keeps, shows and sends.
func TestPlantedKeys(t *testing.T) {
	t.Parallel()
	traces := newCollector(t)
	s := newSite(t)
	s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL}
	keys := s.plantAll(t)
	shown := s.shown(t, keys[0])
	for name, args := range map[string][]string{
		"backup": {"backup", filepath.Join(s.dir, "backup.db")}, "export": {"export", "shop", filepath.Join(s.dir, "export.ndjson")},
		"keys": {"key", "list", "shop", "-o=json"}, "doctor": {"doctor"}, "settings": {"config", "print"},
	} {
		out, err := petstore.Run(s.dir, args...)
		if err != nil {
			t.Error(err)
		}
		shown["output of "+name] = out
	}
	for name, text := range s.files() { // while it runs: the WAL is there
		shown[name] = text
	}
	if err := s.Stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	shown["traces"] = traces.sent.String()
	for name, text := range s.files() {
		shown[name+" afterwards"] = text
	}
	for name, want := range map[string]string{"petstore.db-wal": "", "backup.db": "SQLite format 3", "export.ndjson": `"Pet 1"`, "traces": "GET /pets", "metrics": "petstore_http_requests_total",
		"page /console/audit of the operator's console": "key.create", "page /console/requests of the shop's console": "/pets", "page /console/keys.csv of the shop's console": "revoked",
	} {
		if text, ok := shown[name]; !ok || !strings.Contains(text, want) {
			t.Errorf("the %s was not looked through", name)
		}
	}
	wantNoKeys(t, shown, keys)
}

// TestPlantedKeysInPostgres looks for them in every file of the server, its log
// of writes among them.
func TestPlantedKeysInPostgres(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, "log_statement = 'none'", "log_min_duration_statement = 0", "log_parameter_max_length_on_error = -1")
	s := newSite(t)
	s.db = []string{"--db=" + server.URL("postgres")}
	keys := s.plantAll(t)
	shown := s.shown(t, keys[0])
	if err := s.Stop(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	must(t, server.Stop())
	home, err := url.Parse(server.URL("postgres"))
	must(t, err)
	heap := false
	err = filepath.WalkDir(home.Query().Get("host"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		shown[path] = string(text)
		heap = heap || strings.Contains(path, "/base/") && strings.Contains(shown[path], "Pet 1")
		return err
	})
	if err != nil || !heap {
		t.Fatalf("the tables were not looked through: %v", err)
	}
	if log := shown[filepath.Join(home.Query().Get("host"), "log")]; !strings.Contains(log, "api_keys") {
		t.Errorf("the log has no statements: %s", log)
	}
	wantNoKeys(t, shown, keys)
}

// plantAll starts a server and uses a good key, one that is revoked, one that is
// unknown and one that is mistyped.
func (s *site) plantAll(t *testing.T) []string {
	t.Helper()
	good := s.workspace("shop")
	revoked := s.key("shop")
	petstore.Must(t, s.dir, append([]string{"key", "revoke", revoked.ID}, s.db...)...)
	unknown, _ := access.Mint()
	keys := []string{good, revoked.Key, unknown, unknown[:len(unknown)-1] + "-"}
	s.serve(append([]string{"--log-level=debug"}, s.db...)...)
	s.stock(good, "Pet", 2)
	for _, k := range keys {
		s.plant(k)
	}
	return keys
}

// shown returns what a running server shows of itself, every page of both
// consoles among it, and its log.
func (s *site) shown(t *testing.T, key string) map[string]string {
	t.Helper()
	shown := map[string]string{
		"metrics": fetch(t, s.Ops+"/metrics"), "readiness": fetch(t, s.Ops+"/readyz"), "command line": fetch(t, s.Ops+"/debug/pprof/cmdline"),
		"goroutines": fetch(t, s.Ops+"/debug/pprof/goroutine?debug=2"), "log": s.LogText(),
	}
	look := func(who string, in visitor, routes []page.Route) {
		for _, one := range things(routes, func(string, int) string { return "1" }) {
			if one.Method == http.MethodGet {
				shown["page "+one.path+" of the "+who+" console"] = in.send("GET", one.path, nil, nil).Body
			}
		}
	}
	look("shop's", s.signedIn(key), console.Routes())
	look("operator's", s.operator(), admin.Routes())
	return shown
}

// wantNoKeys fails the test if a key, or the larger part of one, is in a text.
func wantNoKeys(t *testing.T, shown map[string]string, keys []string) {
	t.Helper()
	for name, text := range shown {
		for i, k := range keys {
			if strings.Contains(text, k) || strings.Contains(text, k[:len(k)-6]) || strings.Contains(text, k[12:]) {
				t.Errorf("key %d is in the %s", i, name)
			}
		}
	}
}

// A collector keeps what it is sent as traces.
type collector struct {
	*httptest.Server
	sent processtest.Buffer
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Encoding") != "" {
			t.Errorf("traces cannot be read: %v %v", r.Header, err)
		}
		_, _ = c.sent.Write(body) // never fails
	}))
	t.Cleanup(c.Close)
	return c
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
	s.nobody().send("POST", "/console/signin", url.Values{"key": {key}, "next": {"/console?key=" + key}}, nil)
	s.nobody().send("GET", "/console/pets?name="+key, nil, nil)
}

// files returns the contents of the database's files, of backups and of the log.
func (s *site) files() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all[filepath.Base(path)] = string(text)
		return err
	})
	must(s.t, err)
	return all
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	a, err := servertest.Send(t.Context(), client, servertest.Request{Method: http.MethodGet, URL: url})
	must(t, err)
	return a.Body
}

// TestRefusedKeysLookAlike compares the answers to keys that are unknown,
// malformed or revoked: a caller learns nothing of which it was.
func TestRefusedKeysLookAlike(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.workspace("shop")
	revoked := s.key("shop")
	petstore.Must(t, s.dir, "key", "revoke", revoked.ID)
	unknown, _ := access.Mint()
	s.serve()
	refused := map[string]string{
		"unknown": unknown, "revoked": revoked.Key, "another checksum": unknown[:41] + "x", "no prefix": unknown[4:],
		"short": "pst_1", "long": "pst_" + strings.Repeat("a", 500), "other letters": strings.Repeat("é", 20), "a wildcard": "pst_%", "one letter": "x",
	}
	framed := &http.Client{Transport: http2Transport(), Timeout: servertest.Patience}
	t.Cleanup(framed.CloseIdleConnections)
	for protocol, c := range map[string]*http.Client{"HTTP/1.1": client, "HTTP/2": framed} {
		want := s.refusal(c, unknown)
		for name, key := range refused {
			if got := s.refusal(c, key); got != want {
				t.Errorf("%s: the answer to a key that is %s = %s, want %s", protocol, name, got, want)
			}
		}
	}
}

// refusal returns the answer to a key, without what differs by each request.
func (s *site) refusal(c *http.Client, key string) string {
	s.t.Helper()
	a := s.through(c, request{method: "GET", path: "/pets", key: key}).want(401, "invalid_api_key")
	var body map[string]any
	must(s.t, json.Unmarshal([]byte(a.Body), &body))
	if body["requestId"] != a.Header.Get("X-Request-Id") {
		s.t.Errorf("requestId = %v, want %v", body["requestId"], a.Header.Get("X-Request-Id"))
	}
	delete(body, "requestId")
	h := a.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit"} {
		h.Del(name)
	}
	text, err := json.Marshal([]any{a.Status, h, body})
	must(s.t, err)
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
	server := petstore.Start(t, options)
	for _, name := range []string{"petstore.db", "petstore.db-wal", "petstore.db-shm"} {
		info, err := os.Stat(filepath.Join(s.dir, name))
		must(t, err)
		if got := info.Mode(); got != 0o600 {
			t.Errorf("the mode of %s = %v, want -rw-------", name, got)
		}
	}
	resp, err := client.Get(server.URL + "/openapi.json")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /openapi.json = %d, want 200", resp.StatusCode)
	}
}
