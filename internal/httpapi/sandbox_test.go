package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/sandbox"
)

// withSandboxes lets visitors make sandboxes, at most so many.
func withSandboxes(most, perAddress int) func(*httpapi.Options) {
	return func(o *httpapi.Options) {
		o.Sandboxes = sandbox.New(sandbox.Options{
			Store: o.Access, Now: o.Now, Log: o.Log, Most: most, PerAddress: perAddress, Life: 24 * time.Hour,
			Plan: access.Enterprise, Quota: access.Quota{PerMinute: access.MaxQuota, PerDay: access.MaxQuota}, Webhooks: true,
		})
		o.SignIn = func(keyID string) string { return "/console/link?token=" + keyID }
	}
}

// visit makes a sandbox and returns its key.
func (s *service) visit(body string) string {
	s.t.Helper()
	var made struct{ Key string }
	a := s.do(request{method: "POST", path: "/sandboxes", key: "-", body: body}).want(201, "")
	must(s.t, json.Unmarshal(a.body, &made))
	return made.Key
}

func simulate(value string) map[string]string { return map[string]string{"Petstore-Simulate": value} }

// sandboxPromises has both operations of sandboxes give every answer that the description lists.
func sandboxPromises(t *testing.T) {
	t.Helper()
	s := openService(t, withSandboxes(4, 3))
	key := s.visit(`{"catalogue":"demo"}`)
	for id, r := range map[string]request{"createSandbox": {path: "/sandboxes", key: "-"}, "resetSandbox": {path: "/account/reset", key: key}} {
		r.method, r.body = "POST", `{"catalogue":"demo"}`
		s.commonFaults(id, r)
		r.body = `{"catalogue":"huge"}`
		s.do(r).want(400, "validation_failed").field("/catalogue", "invalid_enum")
	}
	reset := request{method: "POST", path: "/account/reset"}
	s.do(reset).want(403, "not_a_sandbox")
	reset.key = s.addKey(s.workspace, access.Read, time.Time{})
	s.do(reset).want(403, "insufficient_scope")
	reset.key = "-"
	s.do(reset).want(401, "missing_api_key")
	reset.key = key
	reset.header = simulate("code=rate_limit_exceeded")
	s.do(reset).want(429, "rate_limit_exceeded")
	reset.header = simulate("code=api_key_banned")
	s.do(reset).want(429, "api_key_banned")
	reset.header = nil
	s.do(reset).want(204, "")
	s.visit("")
	s.visit("")
	if a := s.do(request{method: "POST", path: "/sandboxes", key: "-"}).want(429, "rate_limit_exceeded"); a.header.Get("Retry-After") != "3600" {
		t.Errorf("Retry-After = %q, want that of an hour", a.header.Get("Retry-After"))
	}
	full := openService(t, withSandboxes(1, 3))
	key = full.visit("")
	if a := full.do(request{method: "POST", path: "/sandboxes", key: "-"}).want(503, "sandboxes_full"); a.header.Get("Retry-After") != "86400" {
		t.Errorf("Retry-After = %q, want that of a day", a.header.Get("Retry-After"))
	}
	full.fillRows(key)
}

// fillRows makes one kind after the other reach its bound, which no request gets beyond.
func (s *service) fillRows(key string) {
	s.t.Helper()
	s.do(request{method: "POST", path: "/account/reset", body: `{"catalogue":"empty"}`, key: key}).want(204, "")
	w := s.sandbox(key)
	const left = 8
	var units []petstore.Unit
	for id := int64(1); id <= sandbox.MaxRows-left; id++ {
		units = append(units, petstore.Unit{Category: &petstore.Category{ID: id, Name: "dogs"}})
	}
	for id := int64(1); id <= sandbox.MaxRows-left; id++ {
		units = append(units, petstore.Unit{PetID: id, Pet: &petstore.StockedPet{Pet: petstore.Pet{ID: id, Name: "Rex", CategoryID: 1, Status: petstore.Available}, Quantity: 100},
			Orders: []petstore.Order{{ID: id, PetID: id, Quantity: 1}}})
	}
	for i := range units {
		if _, err := units[i].Check(petstore.At(s.start)); err != nil {
			s.t.Fatal(err)
		}
	}
	if refused, err := s.db.Load(s.t.Context(), w.Shop, &petstore.Batch{Units: units}); err != nil || len(refused) > 0 {
		s.t.Fatal(refused, err)
	}
	for _, r := range []request{
		{method: "POST", path: "/categories", body: `{"name":"dogs"}`}, {method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":1}`},
		{method: "POST", path: "/store/orders", body: `{"petId":1}`},
	} {
		r.key = key
		first := r
		first.header = map[string]string{"Idempotency-Key": "first"}
		s.do(first).want(201, "")
		var wg sync.WaitGroup
		for range 2 * left {
			wg.Go(func() { s.do(r) })
		}
		wg.Wait()
		for range left { // those that were refused at once beside others
			s.do(r)
		}
		s.do(r).want(409, "sandbox_quota_exceeded")
		s.do(first).want(201, "") // what was made before is answered again
	}
	if has, err := s.db.Contents(s.t.Context(), w.Shop, 0); err != nil || has != (access.Contents{Categories: sandbox.MaxRows, Pets: sandbox.MaxRows, Orders: sandbox.MaxRows}) {
		s.t.Errorf("the sandbox has %+v, %v, want %d of each", has, err, sandbox.MaxRows)
	}
}

// sandbox returns the workspace of a key, as it is.
func (s *service) sandbox(key string) access.Workspace {
	s.t.Helper()
	e, err := s.keys.Verify(key)
	must(s.t, err)
	w, err := s.db.WorkspaceByID(s.t.Context(), e.Workspace.ID)
	must(s.t, err)
	return w
}

// TestSandbox: it is reset to the same state each time, its key stays, and what others have is theirs.
func TestSandbox(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	key, other := s.visit(`{"catalogue":"large"}`), s.visit("")
	get := func(key, path string) answer { return s.do(request{method: "GET", path: path, key: key}).want(200, "") }
	if a := get(key, "/account"); !strings.Contains(string(a.body), `"sandbox":{"expiresAt":"2026-03-15T09:26:53`) {
		t.Errorf("the account is %s, want its end", a.body)
	}
	first := get(key, "/pets?limit=100&sort=-id")
	for range 3 {
		made := s.do(request{method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":1}`, key: key, header: map[string]string{"Idempotency-Key": "k"}}).want(201, "")
		if made.id() != 1001 || made.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("the pet is %s, want a new one with the id 1001", made.body)
		}
		get(key, "/events/1")
		s.do(request{method: "POST", path: "/account/reset", key: key}).want(204, "")
		get(key, "/pets?limit=100&sort=-id").is(string(first.body))
		get(key, "/events").is("[]")
	}
	s.do(request{method: "POST", path: "/account/reset", key: key, body: `{"catalogue":"empty"}`}).want(204, "")
	get(key, "/pets").is("[]")
	get(other, "/pets?limit=1").is(`[{"id":1,"name":"Biscuit, beagle","categoryId":3,"status":"available"}]`)
	s.do(request{method: "POST", path: "/webhooks", body: `{"url":"https://example.com/"}`, key: key}).want(201, "")
	s.do(request{method: "POST", path: "/account/reset", key: key}).want(204, "")
	get(key, "/webhooks").is("[]")
}

// TestResetsInALoop: the former rows of 64 resets wait for the server to remove them, and the others
// remove their own.
func TestResetsInALoop(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	key := s.visit("")
	left := 0 // former shops with rows
	var former []int64
	for range 70 {
		former = append(former, s.sandbox(key).Shop)
		s.do(request{method: "POST", path: "/account/reset", key: key}).want(204, "")
	}
	for _, shop := range former {
		pets, err := s.db.Pets(t.Context(), shop, petstore.PetQuery{Page: petstore.Page{Limit: 1}})
		must(t, err)
		left += len(pets)
	}
	if left != 64 {
		t.Errorf("%d former shops have rows, want 64", left)
	}
}

// A resetAfterRead resets a sandbox as soon as a request has read which shop it goes by.
type resetAfterRead struct {
	access.Store

	of atomic.Int64 // the sandbox; 0 for none
}

func (s *resetAfterRead) WorkspaceByID(ctx context.Context, id int64) (access.Workspace, error) {
	w, err := s.Store.WorkspaceByID(ctx, id)
	if err == nil && s.of.CompareAndSwap(id, 0) {
		if _, err = s.ResetSandbox(ctx, id, nil); err == nil {
			err = s.Resume(ctx)
		}
	}
	return w, err
}

// TestResetMeanwhile: a request whose sandbox is reset before it is carried out finds nothing, or is told to come back;
// then it is carried out.
func TestResetMeanwhile(t *testing.T) {
	t.Parallel()
	race := &resetAfterRead{}
	s := openService(t, withSandboxes(9, 9), func(o *httpapi.Options) { race.Store = o.Access; o.Access = race })
	key := s.visit("")
	for id, r := range samples() {
		r.key = key
		race.of.Store(s.sandbox(key).ID)
		switch a := s.do(r); {
		case a.status >= 500 && (a.code() != "service_unavailable" || a.header.Get("Retry-After") != "1"):
			t.Errorf("%s = %d %s, want 503 with Retry-After", id, a.status, a.body)
		case race.of.Load() != 0:
			t.Errorf("%s was not raced", id)
		case id == "createWebhook", id == "createPet":
			a.want(503, "service_unavailable")
		}
	}
	again := samples()["createWebhook"]
	again.key = key
	s.do(again).want(201, "")
}

// TestStreamEndsWithReset: who follows the events is not left with those of before.
func TestStreamEndsWithReset(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	key := s.visit("")
	stream := s.follow("/events", map[string]string{"Authorization": "Bearer " + key})
	s.do(request{method: "POST", path: "/account/reset", key: key}).want(204, "")
	stream.ended()
}

// TestSimulatedCodes has every operation fail by each code that the description lists for it,
// with the headers that it lists: every answer is held against it.
func TestSimulatedCodes(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	key := s.visit("")
	before := s.do(request{method: "GET", path: "/events", key: key}).want(200, "")
	all := samples()
	all["resetSandbox"] = request{method: "POST", path: "/account/reset"}
	n := 0
	for _, promise := range contract(t).promised() {
		var id, status, code string
		if words, _ := fmt.Sscan(promise, &id, &status, &code); words < 3 || id == "createSandbox" {
			continue
		}
		r, there := all[id]
		if !there {
			t.Errorf("there is no sample of %s", id)
			continue
		}
		r.key, r.header = key, simulate("code="+code)
		a := s.do(r)
		if n++; fmt.Sprint(a.status) != status || a.code() != code || a.header.Get("Petstore-Simulated") != "code="+code {
			t.Errorf("%s: %d %s, %q, want %s %s", promise, a.status, a.body, a.header.Get("Petstore-Simulated"), status, code)
		}
		if a.status == 429 && a.header.Get("Retry-After") != "1" {
			t.Errorf("%s: Retry-After = %q, want 1", promise, a.header.Get("Retry-After"))
		}
	}
	if n < 300 {
		t.Errorf("only %d codes were tried", n)
	}
	s.do(request{method: "GET", path: "/events", key: key}).want(200, "").is(string(before.body))
	if strikes := s.do(request{method: "GET", path: "/account", key: key}); !strings.Contains(string(strikes.body), `"strikesLeft":20`) {
		t.Errorf("the account is %s, want no strike", strikes.body)
	}
}

// TestSimulated: each value does what it says, and what is no value is told.
func TestSimulated(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	key := s.visit("")
	ask := func(path, value string) answer {
		return s.do(request{method: "GET", path: path, key: key, header: simulate(value)})
	}
	for _, bad := range []string{
		"", "code", "code=", "code=pet_not_found", "code=nothing", "latency=31s", "latency=-1s", "latency=x", "connection=slow", "sunset=later", "sunset=now",
		"times=2", "id=a", "times=2;id=a", "code=internal_error;times=0;id=a", "code=internal_error;times=2", "retry-after=3", "code=internal_error;retry-after=3",
		"code=internal_error;code=internal_error", "colour=red", "code=rate_limit_exceeded;retry-after=0", "code=internal_error;times=1;id=" + strings.Repeat("x", 101),
	} {
		ask("/pets", bad).want(400, "invalid_parameter").field("Petstore-Simulate", "invalid_format")
	}
	if e := ask("/pets", "code=nothing").errors()[0]; !strings.Contains(e.Message, "rate_limit_exceeded") {
		t.Errorf("the error is %+v, want the codes", e)
	}
	if a := ask("/pets", "code=rate_limit_exceeded; retry-after=3").want(429, "rate_limit_exceeded"); a.header.Get("Retry-After") != "3" ||
		a.header.Get("X-RateLimit-Remaining") != "0" || a.header.Get("X-RateLimit-Reset") != fmt.Sprint(s.start.Unix()+3) {
		t.Errorf("the answer has %v, want that the minute is used up for 3 s", a.header)
	}
	ask("/pets/1", "sunset=now").want(410, "operation_sunset")
	began := time.Now()
	if a := ask("/pets", "latency=60ms").want(200, ""); time.Since(began) < 60*time.Millisecond || a.header.Get("Petstore-Simulated") != "latency=60ms" {
		t.Errorf("a latency of 60 ms took %v, %v", time.Since(began), a.header)
	}
	for i, want := range []int{503, 503, 200, 200} {
		if a := ask("/pets", "code=service_unavailable; times=2; id=a"); a.status != want || (a.header.Get("Petstore-Simulated") == "") != (want == 200) {
			t.Errorf("request %d = %d, %q, want %d", i, a.status, a.header.Get("Petstore-Simulated"), want)
		}
	}
	s.clock.Advance(time.Hour)
	ask("/pets", "code=service_unavailable; times=2; id=a").want(503, "service_unavailable")
	s.do(request{method: "POST", path: "/account/reset", key: key}).want(204, "")
	ask("/pets", "code=service_unavailable; times=1; id=a").want(503, "service_unavailable")
	ask("/pets", "code=service_unavailable; times=1; id=a").want(200, "")
	s.do(request{method: "GET", path: "/pets", header: simulate("code=internal_error")}).want(200, "") // no sandbox
}

// TestBrokenConnections: what is lost was carried out once, what is refused was not, and what
// is cut ends in the midst, on HTTP/1.1 and HTTP/2.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := openService(t, withSandboxes(9, 9))
			key := s.visit(`{"catalogue":"demo"}`)
			client := http.Client{Transport: &http.Transport{Protocols: new(http.Protocols)}}
			protocols := client.Transport.(*http.Transport).Protocols
			protocols.SetHTTP1(protocol == "HTTP/1.1")
			protocols.SetUnencryptedHTTP2(protocol == "HTTP/2.0")
			t.Cleanup(client.CloseIdleConnections)
			ask := func(method, path, body, value string) (status int, text string, err error) {
				req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
				must(t, err)
				req.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}, "Idempotency-Key": {"once"}}
				if value != "" {
					req.Header.Set("Petstore-Simulate", value)
				}
				res, err := client.Do(req)
				if err != nil {
					return 0, "", err
				}
				defer res.Body.Close()
				if res.Proto != protocol {
					t.Errorf("the answer came by %s", res.Proto)
				}
				all, err := io.ReadAll(res.Body)
				return res.StatusCode, string(all), err
			}
			const pet = `{"name":"Rex","categoryId":1}`
			if _, text, err := ask("POST", "/pets", pet, "connection=refuse-answer"); err == nil {
				t.Errorf("a refused answer is %q, want an end", text)
			}
			if status, _, _ := ask("GET", "/pets?id=44", "", ""); status != 200 {
				t.Errorf("after a broken connection: %d", status)
			}
			if _, text, err := ask("POST", "/pets", pet, "connection=lose-answer"); err == nil {
				t.Errorf("a lost answer is %q, want an end", text)
			}
			if status, text, err := ask("POST", "/pets", pet, ""); status != 201 || !strings.Contains(text, `"id":44,`) || err != nil {
				t.Errorf("the same again is %d %q, %v, want the pet 44", status, text, err)
			}
			status, text, err := ask("GET", "/pets?limit=5", "", "connection=cut-answer")
			if status != 200 || err == nil || !strings.HasPrefix(text, `[{"id":1,`) || strings.HasSuffix(text, "]") {
				t.Errorf("a cut answer is %d %q, %v, want a part", status, text, err)
			}
			if _, text, err := ask("GET", "/pets?sort=-id&limit=1", "", ""); !strings.Contains(text, `"id":44,`) || err != nil {
				t.Errorf("the newest pet is %q, %v, want one", text, err)
			}
		})
	}
}

// TestCatalogues: they never change.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	s := openService(t, withSandboxes(9, 9))
	all := map[string]access.Contents{"demo": {Categories: 7, Pets: 43, Orders: 15}, "empty": {}, "large": {Categories: 20, Pets: 1000, Orders: 200}}
	for name, want := range all {
		w := s.sandbox(s.visit(`{"catalogue":"` + name + `"}`))
		if has, err := s.db.Contents(t.Context(), w.Shop, 0); err != nil || has != want {
			t.Errorf("the catalogue %s has %+v, %v, want %+v", name, has, err, want)
		}
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, sandbox.Catalogues) {
		t.Errorf("the catalogues are %v, want %v", sandbox.Catalogues, got)
	}
}
