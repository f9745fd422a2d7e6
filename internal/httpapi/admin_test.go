package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/petstore"
)

// An operated service has an operator's API besides.
type operated struct {
	*service
	token   string
	tokenID string
	backups *fakeBackups
}

// fakeBackups has those of the test; internal/node has the real ones.
type fakeBackups struct {
	mu   sync.Mutex
	made []httpapi.Backup
	err  error
}

func (b *fakeBackups) Start(context.Context) (httpapi.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return httpapi.Backup{}, b.err
	}
	b.made = append(b.made, httpapi.Backup{File: "petstore-20260314T092653Z.db", CreatedAt: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Bytes: 4096})
	return b.made[len(b.made)-1], nil
}

func (b *fakeBackups) List(context.Context) ([]httpapi.Backup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]httpapi.Backup{}, b.made...), b.err
}

func openOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{service: prepareService(t, limits()), backups: &fakeBackups{}}
	secret, err := o.db.Secret(t.Context())
	must(t, err)
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: o.db, Keys: o.keys, Counts: operator.Live(o.limiter), Backups: o.backups,
		Secret: secret, Log: slog.New(slog.NewJSONHandler(o.log, nil)), Now: o.clock.Now,
	})
	must(t, err)
	server := httptest.NewServer(admin)
	t.Cleanup(server.Close)
	o.url = server.URL
	o.token, o.tokenID = o.addToken(o.start.Add(time.Hour))
	o.described, o.sends = loaded(t, loadAdmin), o.token
	return o
}

func (o *operated) addToken(until time.Time) (token, id string) {
	o.t.Helper()
	token, prefix := access.MintToken()
	t := access.Token{ID: access.MintTokenID(), Name: "test", Prefix: prefix, Hash: access.HashOf(token), CreatedAt: o.clock.Now(), ExpiresAt: until}
	must(o.t, o.db.AddToken(o.t.Context(), t, "test"))
	return token, t.ID
}

// checkEveryOfOperators is checkEvery of the operator's API.
func checkEveryOfOperators(t testing.TB, a answer, _ request) {
	t.Helper()
	if a.header.Get("Access-Control-Allow-Origin") != "" || a.header.Get("X-Request-Id") == "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: the header is %v", a.what, a.header)
	}
}

func (o *operated) send(method, path, body string) answer {
	o.t.Helper()
	return o.do(request{method: method, path: operator.Root + path, body: body})
}

// TestOperatorsAPI makes workspaces and keys, changes and removes them, and gets every success and every code of the
// description.
func TestOperatorsAPI(t *testing.T) { //nolint:paralleltest // its answers alone are looked at
	o := openOperated(t)
	made := o.send("POST", "/workspaces", `{"name":"acme","plan":"pro"}`).want(201, "")
	at := "/workspaces/" + fmt.Sprint(made.id())
	o.send("POST", "/workspaces", `{"name":"acme","plan":"pro"}`).want(409, "workspace_exists")
	o.send("PUT", at+"/plan", `{"plan":"enterprise","perMinute":5,"perDay":50}`).want(200, "")
	o.send("PATCH", at, `{"name":"acme & sons"}`).want(200, "")
	k := o.send("POST", at+"/keys", `{"name":"till","scopes":["read","manage"]}`).want(201, "").key()
	if e, err := o.keys.Verify(k.Key); err != nil || !e.Key.Scopes.Has(access.Manage) || e.Workspace.Quota.PerMinute != 5 {
		t.Errorf("the new key is %+v, %v", e, err)
	}
	var detail operator.WorkspaceDetail
	if body := o.send("GET", at, "").want(200, "").body; json.Unmarshal(body, &detail) != nil || detail.Name != "acme & sons" || detail.Keys != 1 || detail.Minute.Limit != 5 || made.header.Get("Location") != operator.Root+at {
		t.Errorf("getWorkspace = %s, at %s", body, made.header.Get("Location"))
	}
	o.send("PATCH", "/keys/"+k.ID, `{"expiresAt":"2031-01-01T00:00:00Z"}`).want(200, "")
	o.send("PUT", "/keys/"+k.ID+"/ban", `{"for":"1h","reason":"too fast"}`).want(200, "")
	if e := o.keys.Entry(k.ID); e.Key.Ban == nil || e.Key.Ban.Reason != "too fast" {
		t.Errorf("the ban does not hold: %+v", e.Key)
	}
	o.send("DELETE", "/keys/"+k.ID+"/ban", "").want(200, "")
	next := o.send("POST", "/keys/"+k.ID+"/rotate", `{"overlap":"0s"}`).want(201, "").key()
	o.clock.Advance(time.Second)
	if _, err := o.keys.Verify(k.Key); err == nil {
		t.Error("the old key works after a rotation without overlap")
	}
	o.send("POST", "/keys/"+k.ID+"/rotate", `{}`).want(409, "key_rotated")
	if revoked := o.send("DELETE", "/keys/"+next.ID, "").want(200, "").key(); revoked.State != "revoked" {
		t.Errorf("revokeKey = %+v", revoked)
	}
	o.send("PATCH", "/keys/"+next.ID, `{"expiresAt":null}`).want(409, "key_revoked")
	o.send("GET", "/keys/"+next.ID, "").want(200, "")
	if got := o.send("GET", at+"/keys?limit=1", "").want(200, ""); !strings.Contains(got.header.Get("Link"), operator.Root+at+"/keys?limit=1&cursor=") {
		t.Errorf("Link = %q", got.header.Get("Link"))
	}
	o.addKeyAs("key_Ended00000000001", access.Workspace{ID: made.id()}, access.Read, o.start)
	o.send("PATCH", "/keys/key_Ended00000000001", `{"expiresAt":null}`).want(409, "key_expired")
	o.workspace = access.Workspace{ID: made.id()}
	o.full(func() { o.send("POST", at+"/keys", `{"name":"one more"}`).want(409, "too_many_keys") })
	o.send("POST", at+"/reset", "").want(204, "")
	o.send("DELETE", at, "").want(204, "")
	o.send("GET", at, "").want(404, "workspace_not_found")
	o.send("GET", "/keys/"+next.ID, "").want(404, "key_not_found")
	o.backUp()
	o.wantAudit("token:"+o.tokenID, "backup.start petstore-20260314T092653Z.db", "workspace.delete acme & sons", "workspace.reset acme & sons", "key.revoke "+next.ID, "key.rotate "+k.ID,
		"ban.lift "+k.ID, "ban.set "+k.ID, "key.update "+k.ID, "key.create "+k.ID, "workspace.rename acme", "workspace.set_plan acme", "workspace.create acme")
	o.faults()
	o.wantAll()
}

// backUp makes and lists backups, and gets the answer of who has none.
func (o *operated) backUp() {
	o.send("POST", "/backups", "").want(201, "")
	o.send("GET", "/backups", "").want(200, "")
	o.backups.err = petstore.Errorf(httpapi.CodeBackupUnavailable, "No.")
	o.send("GET", "/backups", "").want(409, "backup_unavailable")
	o.send("POST", "/backups", "").want(409, "backup_unavailable")
	o.backups.err = nil
}

// TestOperatorInProcess: a caller of this process needs no token, is named in the audit log, and is not known by an
// Idempotency-Key, since there is no secret from which keys could be derived.
func TestOperatorInProcess(t *testing.T) {
	t.Parallel()
	o := openOperated(t)
	admin, err := httpapi.NewAdmin(httpapi.AdminOptions{
		Access: o.db, As: "cli", Counts: operator.Live(o.limiter), Secret: make([]byte, 32), Log: slog.New(slog.DiscardHandler), Now: o.clock.Now,
	})
	must(t, err)
	server := httptest.NewServer(admin)
	t.Cleanup(server.Close)
	o.url = server.URL
	once := request{method: "POST", path: fmt.Sprint(operator.Root, "/workspaces/", o.workspace.ID, "/keys"), body: `{"name":"a"}`, key: "-", header: map[string]string{"Idempotency-Key": "k"}}
	first, second := o.do(once).want(201, "").key(), o.do(once).want(201, "").key()
	if first.ID == second.ID {
		t.Errorf("the key %s was made once", first.ID)
	}
	o.wantAudit("cli", "key.create "+second.ID, "key.create "+first.ID)
}

// full calls f while the workspace has as many keys as it may.
func (o *operated) full(f func()) {
	for err := error(nil); err == nil; {
		_, err = o.db.MakeKey(o.t.Context(), access.KeyRequest{Key: o.newKey(), By: "test"})
	}
	f()
}

// faults makes the operator's API give the answers that all operations share.
func (o *operated) faults() {
	expired, _ := o.addToken(o.clock.Now())
	revoked, id := o.addToken(o.clock.Now().Add(time.Hour))
	if _, err := o.db.RevokeToken(o.t.Context(), id, o.clock.Now(), "test"); err != nil {
		o.t.Fatal(err)
	}
	unknown, _ := access.MintToken()
	list := operator.Root + "/workspaces"
	for token, code := range map[string]string{"-": "missing_token", unknown: "invalid_token", o.key: "invalid_token", revoked: "invalid_token", expired: "expired_token", "x": "invalid_token"} {
		if a := o.do(request{method: "GET", path: list, key: token}).want(401, code); !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
			o.t.Errorf("%s: WWW-Authenticate = %q", a.what, a.header.Get("WWW-Authenticate"))
		}
	}
	o.do(request{method: "GET", path: list, header: map[string]string{"Accept": "text/html"}}).want(406, "not_acceptable")
	o.do(request{method: "GET", path: list + "?x=" + strings.Repeat("x", 9000)}).want(414, "uri_too_long")
	o.do(request{method: "GET", path: list, header: map[string]string{"X-Padding": strings.Repeat("x", 17<<10)}}).want(431, "headers_too_large")
	o.do(request{method: "POST", path: list, body: `{"name":"a","plan":"pro"}`, header: map[string]string{"Content-Type": "text/plain"}}).want(415, "unsupported_media_type")
	o.do(request{method: "POST", path: list, body: `{"name":"` + strings.Repeat("x", 64<<10) + `"}`}).want(413, "payload_too_large")
	o.send("POST", "/workspaces", `{`).want(400, "malformed_json")
	o.send("GET", "/workspaces?cursor=x", "").want(400, "invalid_cursor")
	o.send("GET", "/workspaces?x=1", "").want(400, "invalid_parameter")
	o.send("POST", "/workspaces", `{}`).want(400, "validation_failed")
	o.backups.err = errBroken
	o.send("GET", "/backups", "").want(500, "internal_error")
	o.backups.err = petstore.Unavailable(errBroken)
	o.send("GET", "/backups", "").want(503, "service_unavailable")
	o.backups.err = nil
	first := o.repeat(list)
	o.addWorkspace("caf\u00e9", access.Quota{PerMinute: 1, PerDay: 1})
	for query, want := range map[string]int{"once": 1, "cafe%CC%81": 1, "onc": 0} {
		if got := o.send("GET", "/workspaces?name="+query, "").want(200, ""); strings.Count(string(got.body), `"id"`) != want {
			o.t.Errorf("the workspaces named %s are %s, want %d", query, got.body, want)
		}
	}
	o.send("GET", "/audit?limit=3", "").want(200, "")
	o.send("GET", "/nothing", "").want(404, "route_not_found")
	o.send("PUT", "/workspaces", `{}`).want(405, "method_not_allowed")
	if a := o.do(request{method: "OPTIONS", path: list, key: "-", header: map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}}).want(204, ""); a.header.Get("Allow") != "GET, HEAD, POST, OPTIONS" {
		o.t.Errorf("a preflight is answered %v", a.header)
	}
	o.do(request{method: "GET", path: operator.Root + "/openapi.yaml", key: "-", header: map[string]string{"Accept": "*/*"}})
	if log := o.log.String(); strings.Contains(log, o.token) || strings.Contains(log, first.Key) {
		o.t.Error("the log has a token or a key")
	}
}

// repeat sends requests again with their Idempotency-Key, and returns the key that the first one made.
func (o *operated) repeat(list string) keyAnswer {
	o.t.Helper()
	w := o.addWorkspace("once", access.Quota{PerMinute: 1, PerDay: 1})
	once := request{method: "POST", path: fmt.Sprint(list, "/", w.ID, "/keys"), body: `{"name":"a"}`, header: map[string]string{"Idempotency-Key": "k"}}
	first := o.do(once).want(201, "").key()
	if again := o.do(once).want(201, ""); again.key().Key != first.Key || again.header.Get("Idempotency-Replayed") != "true" {
		o.t.Errorf("the second answer is %s, want the key %s", again.body, first.Key)
	}
	once.body = `{"name":"b"}`
	o.do(once).want(422, "idempotency_key_reused")
	rotate := request{method: "POST", path: operator.Root + "/keys/" + first.ID + "/rotate", header: map[string]string{"Idempotency-Key": "k"}}
	next := o.do(rotate).want(201, "").key()
	rotate.body = "{}"
	if again := o.do(rotate).want(201, "").key(); again.Key != next.Key {
		o.t.Errorf("the second answer is %+v, want the key %s", again, next.Key)
	}
	return first
}

// wantAll fails the test for each operation that did not succeed, and for each code that nobody got.
func (o *operated) wantAll() {
	o.t.Helper()
	d := o.described
	d.mu.Lock()
	defer d.mu.Unlock()
	got := map[string]bool{"route_not_found": true, "method_not_allowed": true} // of no operation
	for seen := range d.seen {
		got[seen[strings.LastIndex(seen, " ")+1:]] = true
	}
	for _, promise := range d.promised() {
		if status := strings.Fields(promise)[1]; status < "300" && !d.seen[promise] {
			o.t.Errorf("nobody got %q", promise)
		}
	}
	for _, v := range d.doc.Components.Schemas["Error"].Value.Properties["code"].Value.Enum {
		if !got[v.(string)] {
			o.t.Errorf("nobody got the code %s", v)
		}
	}
}

// TestOperatorHeldBody: a request that was let in before its token was revoked, or ended, does nothing after.
func TestOperatorHeldBody(t *testing.T) {
	t.Parallel()
	o := openOperated(t)
	path := operator.Root + "/workspaces/" + fmt.Sprint(o.workspace.ID) + "/keys"
	token, id := o.addToken(o.start.Add(time.Hour))
	ask := request{method: "POST", path: path, body: `{"name":"late"}`, key: token}
	o.held(o.url, ask, func() error {
		_, err := o.db.RevokeToken(t.Context(), id, o.clock.Now(), "test")
		return err
	}).want(401, "invalid_token")
	ask.key, _ = o.addToken(o.start.Add(time.Minute))
	o.held(o.url, ask, func() error { o.clock.Advance(time.Minute); return nil }).want(401, "expired_token")
}

func TestBadOperatorsInput(t *testing.T) {
	t.Parallel()
	o := openOperated(t)
	at := "/workspaces/" + fmt.Sprint(o.workspace.ID)
	o.addKeyAs(sampleKey, o.workspace, access.Read, time.Time{})
	for _, test := range []struct{ method, path, body, pointer, code string }{
		{"POST", "/workspaces", `{"plan":"pro"}`, "/name", "required"},
		{"POST", "/workspaces", `{"name":"a"}`, "/plan", "required"},
		{"POST", "/workspaces", `{"name":"a\u0007","plan":"pro"}`, "/name", "invalid_format"},
		{"POST", "/workspaces", `{"name":"a","plan":"gold"}`, "/plan", "invalid_enum"},
		{"POST", "/workspaces", `{"name":"a","plan":"pro","perMinute":5}`, "/perMinute", "out_of_range"},
		{"POST", "/workspaces", `{"name":"a","plan":"enterprise","perMinute":5}`, "/perDay", "out_of_range"},
		{"POST", "/workspaces", `{"name":"a","plan":"enterprise","perMinute":"5","perDay":5}`, "/perMinute", "invalid_type"},
		{"POST", "/workspaces", `{"name":"a","plan":"pro","colour":"red"}`, "/colour", "unknown_field"},
		{"PUT", at + "/plan", `{"plan":"enterprise"}`, "/perMinute", "out_of_range"},
		{"PATCH", at, `{"plan":"pro"}`, "/plan", "unknown_field"},
		{"POST", at + "/keys", `{"name":"a","expiresAt":"2020-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"},
		{"PATCH", "/keys/" + sampleKey, `{"scopes":["manage"]}`, "/scopes", "read_only"},
		{"PUT", "/keys/" + sampleKey + "/ban", `{"reason":"x"}`, "/for", "required"},
		{"PUT", "/keys/" + sampleKey + "/ban", `{"for":"1h"}`, "/reason", "required"},
		{"PUT", "/keys/" + sampleKey + "/ban", `{"for":"0s","reason":"x"}`, "/for", "out_of_range"},
		{"PUT", "/keys/" + sampleKey + "/ban", `{"for":"87601h","reason":"x"}`, "/for", "out_of_range"},
		{"PUT", "/keys/" + sampleKey + "/ban", `{"for":"1h","reason":" "}`, "/reason", "invalid_format"},
	} {
		o.send(test.method, test.path, test.body).want(400, "validation_failed").field(test.pointer, test.code)
	}
	for _, test := range []struct{ path, parameter, code string }{
		{"/workspaces/x", "workspaceId", "invalid_type"}, {"/workspaces/0", "workspaceId", "out_of_range"}, {"/workspaces?limit=0", "limit", "out_of_range"},
		{"/workspaces?colour=red", "colour", "unknown_field"}, {"/audit?limit=x", "limit", "invalid_type"}, {"/backups?limit=1", "limit", "unknown_field"},
	} {
		o.send("GET", test.path, "").want(400, "invalid_parameter").field(test.parameter, test.code)
	}
	for _, id := range []string{"x", "key_%00", "%ff", "key_a%2Fb"} {
		o.send("GET", "/keys/"+id, "").want(404, "key_not_found")
		o.send("PUT", "/keys/"+id+"/ban", `{"for":"1h","reason":"x"}`).want(404, "key_not_found")
		o.send("DELETE", "/keys/"+id+"/ban", "").want(404, "key_not_found")
		o.send("DELETE", "/keys/"+id, "").want(404, "key_not_found")
		o.do(request{method: "POST", path: operator.Root + "/keys/" + id + "/rotate", body: `{}`, header: map[string]string{"Idempotency-Key": "k"}}).want(404, "key_not_found")
	}
	o.send("GET", "/workspaces/99", "").want(404, "workspace_not_found")
	o.send("POST", "/workspaces/99/keys", `{"name":"a"}`).want(404, "workspace_not_found")
}

// TestOperatorsPages: every workspace and every entry of the audit log comes once.
func TestOperatorsPages(t *testing.T) {
	t.Parallel()
	o := openOperated(t)
	for i := range 3 {
		o.send("POST", "/workspaces", fmt.Sprintf(`{"name":"w%d","plan":"free"}`, i)).want(201, "")
	}
	for _, list := range []string{"/workspaces", "/audit"} {
		o.wantPages(operator.Root+list+"?", "")
	}
}
