package httpapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/ratelimit"
)

// A keyAnswer is a key as the interface answers it.
type keyAnswer struct {
	ID, Key, Name, Prefix, State, RotatedTo string
	Scopes                                  []string
	ExpiresAt                               time.Time
}

func (a answer) key() (k keyAnswer) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &k); err != nil {
		a.t.Fatalf("%s: %v in %s", a.what, err, a.body)
	}
	return k
}

// with sends a request with another key than the service's own.
func (s *service) with(key, method, path, body string) answer {
	s.t.Helper()
	return s.do(request{method: method, path: path, body: body, key: key})
}

// idOfKey returns the public id of a key.
func (s *service) idOfKey(key string) string {
	s.t.Helper()
	e, err := s.keys.Verify(key)
	must(s.t, err)
	return e.Key.ID
}

// TestLifeOfAKey makes a key, uses it, changes it, rotates it and revokes it, all over HTTP.
func TestLifeOfAKey(t *testing.T) {
	t.Parallel()
	s := openService(t)
	end := s.start.Add(90 * 24 * time.Hour).Truncate(time.Second).Format(time.RFC3339)
	made := s.post("/keys", `{"name":"till","scopes":["read"],"expiresAt":"`+end+`"}`).want(201, "")
	k := made.key()
	if want := "https://shop.example/v1/keys/" + k.ID; made.header.Get("Location") != want || made.header.Get("Cache-Control") != "no-store" {
		t.Errorf("Location = %q, Cache-Control = %q, want %q and no-store", made.header.Get("Location"), made.header.Get("Cache-Control"), want)
	}
	if !strings.HasPrefix(k.Key, k.Prefix) || !access.WellFormed(k.Key) || k.State != "active" || !slices.Equal(k.Scopes, []string{"read"}) {
		t.Errorf("createKey = %s", made.body)
	}
	s.with(k.Key, "GET", "/pets", "").want(200, "")
	s.with(k.Key, "POST", "/categories", `{"name":"x"}`).want(403, "insufficient_scope")
	s.with(k.Key, "GET", "/keys", "").want(403, "insufficient_scope")
	read := s.get("/keys/"+k.ID).want(200, "")
	if read.header.Get("ETag") != made.header.Get("ETag") || strings.Contains(string(read.body), k.Key) {
		t.Errorf("getKey = %s with %s, want the version %s without the key", read.body, read.header.Get("ETag"), made.header.Get("ETag"))
	}
	s.do(request{method: "PATCH", path: "/keys/" + k.ID, body: `{"name":"x"}`, header: map[string]string{"If-Match": `"old"`}}).want(412, "precondition_failed")
	s.do(request{method: "PATCH", path: "/keys/" + k.ID, body: `{"name":"till 2"}`, header: map[string]string{"If-Match": read.header.Get("ETag")}}).want(200, "")
	if got := s.patch("/keys/"+k.ID, `{"expiresAt":null}`).want(200, "").key(); got.Name != "till 2" || !got.ExpiresAt.IsZero() {
		t.Errorf("updateKey = %+v", got)
	}
	next := s.post("/keys/"+k.ID+"/rotate", `{"overlap":"1h"}`).want(201, "").key()
	if next.ID == k.ID || next.Name != "till 2" || next.Key == k.Key {
		t.Errorf("rotateKey = %+v", next)
	}
	if old := s.get("/keys/"+k.ID).want(200, "").key(); old.RotatedTo != next.ID || !old.ExpiresAt.Equal(s.start.Add(time.Hour).Truncate(time.Millisecond)) {
		t.Errorf("the old key is %+v", old)
	}
	s.with(k.Key, "GET", "/pets", "").want(200, "")
	s.with(next.Key, "GET", "/pets", "").want(200, "")
	s.clock.Advance(2 * time.Hour)
	s.with(k.Key, "GET", "/pets", "").want(401, "expired_api_key")
	s.del("/keys/"+next.ID).want(204, "")
	s.with(next.Key, "GET", "/pets", "").want(401, "invalid_api_key")
	s.get("/keys/"+next.ID).want(404, "key_not_found")
	s.del("/keys/"+next.ID).want(404, "key_not_found")
	s.wantAudit("api:"+s.idOfKey(s.key), "key.revoke "+next.ID, "key.rotate "+k.ID, "key.update "+k.ID, "key.update "+k.ID, "key.create "+k.ID)
}

// wantAudit compares what an actor did, the latest first.
func (s *service) wantAudit(actor string, want ...string) {
	s.t.Helper()
	entries, err := s.db.AuditPage(s.t.Context(), 0, 0, 1000)
	must(s.t, err)
	var got []string
	for _, e := range entries {
		if string(e.Actor) == actor {
			got = append(got, e.Action+" "+e.Subject)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s did %q, want %q", actor, got, want)
	}
}

// TestKeysOnce: the answer to a request that is repeated has the key again, for its own holder alone, and nothing that is
// kept has it.
func TestKeysOnce(t *testing.T) {
	t.Parallel()
	s := openService(t)
	ask := request{method: "POST", path: "/keys", body: `{"name":"till"}`, header: map[string]string{"Idempotency-Key": "k1"}}
	first := s.do(ask).want(201, "")
	again := s.do(ask).want(201, "").is(string(first.body))
	if again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("the second answer has %v", again.header)
	}
	ask.key = s.addKey(s.workspace, access.Read|access.Write|access.Manage, time.Time{})
	if other := s.do(ask).want(201, ""); other.key().ID == first.key().ID || other.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another key is answered %s, which was made for the first", other.body)
	}
	ask.key = ""
	s.with(first.key().Key, "GET", "/pets", "").want(200, "")
	rotate := request{method: "POST", path: "/keys/" + first.key().ID + "/rotate", header: map[string]string{"Idempotency-Key": "k1"}}
	next := s.do(rotate).want(201, "")
	rotate.header["Content-Type"] = "text/plain" // of no body
	s.do(rotate).want(201, "").is(string(next.body))
	rotate.body = "{}"
	s.do(rotate).want(415, "unsupported_media_type")
	rotate.header["Content-Type"] = "application/json"
	s.do(rotate).want(201, "").is(string(next.body))
	if log := s.log.String(); strings.Contains(log, first.key().Key) || strings.Contains(log, next.key().Key) {
		t.Errorf("the log has a key: %s", log)
	}
}

// TestKeysGrantNoMore: a key makes none that may do more or lasts longer, and may revoke any of its workspace.
func TestKeysGrantNoMore(t *testing.T) {
	t.Parallel()
	s := openService(t)
	end := s.start.Add(time.Hour)
	at := func(d time.Duration) string { return end.Add(d).UTC().Format(time.RFC3339) }
	manager := s.addKey(s.workspace, access.Manage, end)
	full := s.idOfKey(s.key)
	for _, test := range []struct{ method, path, body, pointer string }{
		{"POST", "/keys", `{"name":"a"}`, "/scopes"}, // read and write
		{"POST", "/keys", `{"name":"a","scopes":["manage"],"expiresAt":"` + at(time.Minute) + `"}`, "/expiresAt"},
		{"PATCH", "/keys/" + s.idOfKey(manager), `{"expiresAt":null}`, "/expiresAt"},
	} {
		s.with(manager, test.method, test.path, test.body).want(403, "insufficient_scope").field(test.pointer, "out_of_range")
	}
	s.with(manager, "POST", "/keys/"+full+"/rotate", `{}`).want(403, "insufficient_scope")
	s.with(manager, "DELETE", "/keys/"+full, "").want(204, "")
	s.get("/account").want(401, "invalid_api_key")
	s.with(manager, "DELETE", "/keys/"+s.idOfKey(manager), "").want(204, "") // the last one
	s.with(manager, "GET", "/account", "").want(401, "invalid_api_key")
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, test := range []struct{ method, path, body, pointer, code string }{
		{"POST", "/keys", `{}`, "/name", "required"},
		{"POST", "/keys", `{"name":" x"}`, "/name", "invalid_format"},
		{"POST", "/keys", `{"name":"a","scopes":[]}`, "/scopes", "too_short"},
		{"POST", "/keys", `{"name":"a","scopes":["read",1]}`, "/scopes/1", "invalid_type"},
		{"POST", "/keys", `{"name":"a","scopes":["read","admin"]}`, "/scopes/1", "invalid_enum"},
		{"POST", "/keys", `{"name":"a","scopes":["read","read"]}`, "/scopes/1", "invalid_format"},
		{"POST", "/keys", `{"name":"a","expiresAt":"tomorrow"}`, "/expiresAt", "invalid_format"},
		{"POST", "/keys", `{"name":"a","expiresAt":null}`, "/expiresAt", "invalid_type"},
		{"POST", "/keys", `{"name":"a","expiresAt":"2026-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"},
		{"POST", "/keys", `{"name":"a","expiresAt":"0001-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"}, // Go's zero time
		{"POST", "/keys", `{"name":"a","key":"pst_x"}`, "/key", "read_only"},
		{"PATCH", "/keys/" + sampleKey, `{"scopes":["read"]}`, "/scopes", "read_only"},
		{"PATCH", "/keys/" + sampleKey, `{"name":null}`, "/name", "invalid_type"},
		{"PATCH", "/keys/" + sampleKey, `{"expiresAt":"0001-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"soon"}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"-1h"}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"8761h"}`, "/overlap", "out_of_range"},
	} {
		a := s.do(request{method: test.method, path: test.path, body: test.body}).want(400, "validation_failed").field(test.pointer, test.code)
		if len(a.errors()) != 1 {
			t.Errorf("%s = %s, want one fault", a.what, a.body)
		}
	}
	for _, path := range []string{"/keys/x", "/keys/key_%00000000000000001", "/keys/%ff", "/keys/key_a%2Fb", "/keys/" + strings.Repeat("k", 4000)} {
		s.get(path).want(404, "key_not_found")
		s.post(path+"/rotate", `{}`).want(404, "key_not_found")
		s.del(path).want(404, "key_not_found")
	}
}

// TestHeldWrite: who was let in before its key ended, and holds its body back until then, writes nothing.
func TestHeldWrite(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"Dogs"}`).want(201, "")
	s.post("/pets", `{"name":"Laika","categoryId":1}`).want(201, "")
	s.patch("/inventory/1", `{"quantity":9}`).want(200, "")
	for code, test := range map[string]struct {
		status int
		end    func(id string) error
	}{
		"": {201, func(string) error { return nil }},
		"invalid_api_key": {401, func(id string) error {
			return errors.Join(s.revoke(id), s.keys.Refresh(t.Context()))
		}},
		"expired_api_key": {401, func(string) error { s.clock.Advance(time.Minute); return nil }},
		"api_key_banned": {429, func(id string) error {
			s.ban(id, ratelimit.ByOperator)
			return nil
		}},
	} {
		key := s.addKey(s.workspace, access.Read|access.Write, s.clock.Now().Add(time.Minute))
		id := s.idOfKey(key)
		ask := request{method: "POST", path: "/store/orders", body: `{"petId":1}`, key: key}
		got := s.held(s.url, ask, func() error {
			s.clock.Advance(2 * time.Second)
			return test.end(id)
		}).want(test.status, code)
		if after := got.header.Get("Retry-After"); (after == "3600") != (test.status == 429) {
			t.Errorf("%s: Retry-After = %q", code, after)
		}
	}
	if orders := s.get("/store/orders"); strings.Count(string(orders.body), `"petId"`) != 1 {
		t.Errorf("the orders are %s, want one", orders.body)
	}
}

// held sends a request whose body begins after the server asks for it, and after meanwhile.
func (s *service) held(base string, r request, meanwhile func() error) answer {
	s.t.Helper()
	held := &heldBody{Reader: strings.NewReader(r.body), meanwhile: meanwhile}
	req, err := http.NewRequestWithContext(s.t.Context(), r.method, base+r.path, held)
	must(s.t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + r.key}, "Content-Type": {"application/json"}, "Expect": {"100-continue"}}
	transport := &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	must(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || held.meanwhile != nil {
		s.t.Fatalf("%s %s: %d %s, %v; the body was asked for: %t", r.method, r.path, resp.StatusCode, body, err, held.meanwhile == nil)
	}
	return answer{t: s.t, what: r.method + " " + r.path, status: resp.StatusCode, header: resp.Header, body: body}
}

// A heldBody calls meanwhile before it is read first.
type heldBody struct {
	io.Reader
	meanwhile func() error
}

func (b *heldBody) Read(p []byte) (int, error) {
	if f := b.meanwhile; f != nil {
		b.meanwhile = nil
		if err := f(); err != nil {
			return 0, err
		}
	}
	return b.Reader.Read(p)
}
