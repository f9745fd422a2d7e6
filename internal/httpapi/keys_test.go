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
	if err != nil {
		s.t.Fatal(err)
	}
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
	entries, err := s.db.AuditPage(s.t.Context(), 0, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
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
	rotate := request{method: "POST", path: "/keys/" + first.key().ID + "/rotate", body: `{}`, header: map[string]string{"Idempotency-Key": "k1"}}
	next := s.do(rotate).want(201, "")
	s.do(rotate).want(201, "").is(string(next.body))
	if log := s.log.String(); strings.Contains(log, first.key().Key) || strings.Contains(log, next.key().Key) {
		t.Errorf("the log has a key: %s", log)
	}
}

// TestKeysGrantNoMore: a key makes none that may do more or lasts longer, revokes any of its workspace, and finds no other.
func TestKeysGrantNoMore(t *testing.T) {
	t.Parallel()
	s := openService(t)
	end := s.start.Add(time.Hour)
	at := func(d time.Duration) string { return end.Add(d).UTC().Format(time.RFC3339) }
	manager := s.addKey(s.workspace, access.Manage, end)
	full := s.idOfKey(s.key)
	foreign := s.idOfKey(s.addKey(s.addWorkspace("other", access.Quota{PerMinute: 100, PerDay: 100}), access.Manage, time.Time{}))
	for _, test := range []struct{ method, path, body, pointer string }{
		{"POST", "/keys", `{"name":"a"}`, "/scopes"}, // read and write
		{"POST", "/keys", `{"name":"a","scopes":["manage","read"],"expiresAt":"` + at(-time.Minute) + `"}`, "/scopes"},
		{"POST", "/keys", `{"name":"a","scopes":["manage"],"expiresAt":"` + at(time.Minute) + `"}`, "/expiresAt"},
		{"PATCH", "/keys/" + s.idOfKey(manager), `{"expiresAt":"` + at(time.Minute) + `"}`, "/expiresAt"},
		{"PATCH", "/keys/" + s.idOfKey(manager), `{"expiresAt":null}`, "/expiresAt"},
	} {
		s.with(manager, test.method, test.path, test.body).want(403, "insufficient_scope").field(test.pointer, "out_of_range")
	}
	s.with(manager, "POST", "/keys/"+full+"/rotate", `{}`).want(403, "insufficient_scope")
	for _, r := range []request{
		{method: "GET", path: "/keys/" + foreign},
		{method: "PATCH", path: "/keys/" + foreign, body: `{"name":"mine"}`},
		{method: "DELETE", path: "/keys/" + foreign},
		{method: "POST", path: "/keys/" + foreign + "/rotate", body: `{}`},
	} {
		r.key = manager
		s.do(r).want(404, "key_not_found")
	}
	own := s.with(manager, "POST", "/keys", `{"name":"a","scopes":["manage"],"expiresAt":"`+at(-time.Minute)+`"}`).want(201, "").key()
	s.with(own.Key, "PATCH", "/keys/"+s.idOfKey(manager), `{"expiresAt":"`+at(-time.Minute)+`"}`).want(200, "") // sooner
	s.with(manager, "DELETE", "/keys/"+full, "").want(204, "")
	s.get("/account").want(401, "invalid_api_key")
	s.with(manager, "DELETE", "/keys/"+own.ID, "").want(204, "")
	s.with(manager, "DELETE", "/keys/"+s.idOfKey(manager), "").want(204, "") // the last one
	s.with(manager, "GET", "/account", "").want(401, "invalid_api_key")
}

// TestRotationKeepsBan: a banned key cannot ask, and one that rotates it for it gains nothing.
func TestRotationKeepsBan(t *testing.T) {
	t.Parallel()
	s := openService(t)
	banned := s.addKey(s.workspace, access.Read, time.Time{})
	ban := access.Ban{KeyID: s.idOfKey(banned), From: s.start, Until: s.start.Add(time.Hour), Reason: "too fast", By: ratelimit.ByOperator}
	if err := s.db.SetBan(t.Context(), ban, "test"); err != nil {
		t.Fatal(err)
	}
	next := s.post("/keys/"+ban.KeyID+"/rotate", `{}`).want(201, "")
	if next.key().State != "banned" || !strings.Contains(string(next.body), `"bannedUntil":"`) {
		t.Errorf("rotateKey of a banned key = %s", next.body)
	}
}

func TestKeyPages(t *testing.T) {
	t.Parallel()
	s := openService(t)
	want := []string{s.idOfKey(s.key)}
	for range 24 {
		s.clock.Advance(time.Millisecond)
		want = append(want, s.post("/keys", `{"name":"k"}`).want(201, "").key().ID)
	}
	s.del("/keys/"+want[3]).want(204, "")
	want = slices.Delete(want, 3, 4)
	var got []string
	path := "/keys?limit=10"
	for range 3 {
		a := s.get(path).want(200, "")
		var page []keyAnswer
		if err := json.Unmarshal(a.body, &page); err != nil {
			t.Fatal(err)
		}
		for _, k := range page {
			got = append(got, k.ID)
		}
		path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(a.header.Get("Link"), "<"), `>; rel="next"`), "https://shop.example/v1")
	}
	if !slices.Equal(got, want) || path != "" {
		t.Errorf("the pages have %q and then %q, want %q", got, path, want)
	}
	s.get("/pets?cursor="+strings.Repeat("A", 50)).want(400, "invalid_cursor")
	other := s.addKey(s.addWorkspace("other", access.Quota{PerMinute: 100, PerDay: 100}), access.Manage, time.Time{})
	link := s.get("/keys?limit=10").header.Get("Link")
	cursor := link[strings.Index(link, "cursor="):strings.Index(link, ">")]
	s.with(other, "GET", "/keys?limit=10&"+cursor, "").want(400, "invalid_cursor")
	s.get("/pets?limit=10&"+cursor).want(400, "invalid_cursor")
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, test := range []struct{ method, path, body, pointer, code string }{
		{"POST", "/keys", `{}`, "/name", "required"},
		{"POST", "/keys", `{"name":7}`, "/name", "invalid_type"},
		{"POST", "/keys", `{"name":""}`, "/name", "too_short"},
		{"POST", "/keys", `{"name":" x"}`, "/name", "invalid_format"},
		{"POST", "/keys", `{"name":"a\u202eb"}`, "/name", "invalid_format"},
		{"POST", "/keys", `{"name":"` + strings.Repeat("é", 101) + `"}`, "/name", "too_long"},
		{"POST", "/keys", `{"name":"a","scopes":[]}`, "/scopes", "too_short"},
		{"POST", "/keys", `{"name":"a","scopes":"read"}`, "/scopes", "invalid_type"},
		{"POST", "/keys", `{"name":"a","scopes":null}`, "/scopes", "invalid_type"},
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
		{"PATCH", "/keys/" + sampleKey, `{"name":"  "}`, "/name", "invalid_format"},
		{"PATCH", "/keys/" + sampleKey, `{"expiresAt":"2026-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"},
		{"PATCH", "/keys/" + sampleKey, `{"expiresAt":"0001-01-01T00:00:00Z"}`, "/expiresAt", "out_of_range"},
		{"PATCH", "/keys/" + sampleKey, `{"colour":"red"}`, "/colour", "unknown_field"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"soon"}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"-1h"}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"1m1h"}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":""}`, "/overlap", "invalid_format"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":"8761h"}`, "/overlap", "out_of_range"},
		{"POST", "/keys/" + sampleKey + "/rotate", `{"overlap":24}`, "/overlap", "invalid_type"},
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
	s.get("/keys/"+sampleKey+"/rotate").want(405, "method_not_allowed")
	s.get("/keys/"+sampleKey+"/").want(404, "route_not_found")
	s.get("/keys/"+sampleKey+"/ban").want(404, "route_not_found")
	if got := s.do(request{method: http.MethodOptions, path: "/keys/" + sampleKey}).want(204, "").header.Get("Allow"); got != "GET, HEAD, PATCH, DELETE, OPTIONS" {
		t.Errorf("Allow = %q", got)
	}
}

// TestStrikesLeft: getAccount says the scopes of the key and how far it is from a ban.
func TestStrikesLeft(t *testing.T) {
	t.Parallel()
	needsClockOfLimits(t)
	s := openService(t)
	key := s.addKey(s.addWorkspace("tiny", access.Quota{PerMinute: 1, PerDay: 100}), access.Read|access.Manage, time.Time{})
	left := func() int {
		var a struct {
			Key struct {
				Scopes      []string
				StrikesLeft int
			}
		}
		if body := s.with(key, "GET", "/account", "").want(200, "").body; json.Unmarshal(body, &a) != nil || !slices.Equal(a.Key.Scopes, []string{"read", "manage"}) {
			t.Fatalf("getAccount = %s", body)
		}
		return a.Key.StrikesLeft
	}
	if got := left(); got != 20 {
		t.Errorf("a new key is %d strikes from a ban, want 20", got)
	}
	s.with(key, "GET", "/pets", "").want(200, "")
	s.with(key, "GET", "/pets", "").want(429, "rate_limit_exceeded")
	s.clock.Advance(3 * time.Second)
	for range 5 {
		s.with(key, "GET", "/pets", "").want(429, "rate_limit_exceeded")
	}
	if got := left(); got != 15 {
		t.Errorf("after five strikes the key is %d from a ban, want 15", got)
	}
	s.clock.Advance(time.Minute)
	if got := left(); got != 20 {
		t.Errorf("a minute later the key is %d strikes from a ban, want 20", got)
	}
}

// TestHeldBody: who was let in before its key ended, and holds its body back until then, gets no key for it.
func TestHeldBody(t *testing.T) {
	t.Parallel()
	s := openService(t)
	ends := map[string]func(id string) error{
		"invalid_api_key": s.revoke,
		"api_key_banned": func(id string) error {
			return s.db.SetBan(t.Context(), access.Ban{KeyID: id, From: s.start, Until: s.start.Add(time.Hour), By: ratelimit.ByOperator}, "test")
		},
		"insufficient_scope": func(id string) error { // it is let to make none that lasts longer than itself
			next := access.Key{ID: access.MintID(), Hash: access.HashOf(id), CreatedAt: s.start}
			_, err := s.db.MakeKey(t.Context(), access.Making{Key: next, Replaces: id, Until: s.start.Add(time.Hour), By: "test"})
			return err
		},
	}
	for code, end := range ends {
		for what, ask := range map[string]request{
			"create": {method: "POST", path: "/keys", body: `{"name":"late","scopes":["manage"]}`},
			"rotate": {method: "POST", path: "/keys/" + s.idOfKey(s.key) + "/rotate", body: `{}`},
			"update": {method: "PATCH", path: "/keys/" + s.idOfKey(s.addKey(s.workspace, access.Read, s.start.Add(time.Minute))), body: `{"expiresAt":null}`},
		} {
			ask.key = s.addKey(s.workspace, access.Read|access.Write|access.Manage, time.Time{})
			id := s.idOfKey(ask.key)
			got := s.held(s.url, ask, func() error { return end(id) })
			if got.code() != code {
				t.Errorf("%s: %d %s, want %s", what, got.status, got.body, code)
			}
			if code == "api_key_banned" && (got.status != 429 || got.header.Get("Retry-After") != "3600") {
				t.Errorf("%s: %d with Retry-After %q, want 429 with 3600", what, got.status, got.header.Get("Retry-After"))
			}
		}
	}
}

// TestHeldWrite: nor does such a key write anything, once its end is known on every node.
func TestHeldWrite(t *testing.T) {
	t.Parallel()
	needsClockOfLimits(t)
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
			now := s.clock.Now()
			s.limiter.SetBan(id, &ratelimit.Ban{KeyID: id, From: now, Until: now.Add(time.Hour), By: ratelimit.ByOperator})
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
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + r.key}, "Content-Type": {"application/json"}, "Expect": {"100-continue"}}
	transport := &http.Transport{ExpectContinueTimeout: time.Minute, DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
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
