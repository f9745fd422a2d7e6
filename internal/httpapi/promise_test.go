package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/ratelimit"
)

// samples returns a request that works for every operation, on a service that
// stock has filled. Those that destroy something come last.
func samples() map[string]request {
	return map[string]request{
		"listPets":         {method: "GET", path: "/pets"},
		"createPet":        {method: "POST", path: "/pets", body: `{"name":"Rex","categoryId":1}`},
		"getPet":           {method: "GET", path: "/pets/1"},
		"replacePet":       {method: "PUT", path: "/pets/1", body: `{"name":"Rex","categoryId":1}`},
		"updatePet":        {method: "PATCH", path: "/pets/1", body: `{"name":"Rex"}`},
		"deletePet":        {method: "DELETE", path: "/pets/3"},
		"listCategories":   {method: "GET", path: "/categories"},
		"createCategory":   {method: "POST", path: "/categories", body: `{"name":"dogs"}`},
		"getCategory":      {method: "GET", path: "/categories/1"},
		"replaceCategory":  {method: "PUT", path: "/categories/1", body: `{"name":"dogs"}`},
		"updateCategory":   {method: "PATCH", path: "/categories/1", body: `{"description":null}`},
		"deleteCategory":   {method: "DELETE", path: "/categories/2"},
		"listOrders":       {method: "GET", path: "/store/orders"},
		"createOrder":      {method: "POST", path: "/store/orders", body: `{"petId":1}`},
		"getOrder":         {method: "GET", path: "/store/orders/1"},
		"updateOrder":      {method: "PATCH", path: "/store/orders/1", body: `{"shipDate":null}`},
		"cancelOrder":      {method: "DELETE", path: "/store/orders/2"},
		"listInventory":    {method: "GET", path: "/inventory"},
		"getInventoryItem": {method: "GET", path: "/inventory/1"},
		"updateInventory":  {method: "PATCH", path: "/inventory/1", body: `{"quantity":50}`},
		"listMovements":    {method: "GET", path: "/inventory/1/movements"},
		"listKeys":         {method: "GET", path: "/keys"},
		"createKey":        {method: "POST", path: "/keys", body: `{"name":"till"}`},
		"getKey":           {method: "GET", path: "/keys/" + sampleKey},
		"updateKey":        {method: "PATCH", path: "/keys/" + sampleKey, body: `{"name":"till"}`},
		"revokeKey":        {method: "DELETE", path: "/keys/" + spareKey},
		"rotateKey":        {method: "POST", path: "/keys/" + olderKey + "/rotate", body: `{"overlap":"1h"}`},
		"listEvents":       {method: "GET", path: "/events"},
		"getEvent":         {method: "GET", path: "/events/1"},
		"listWebhooks":     {method: "GET", path: "/webhooks"},
		"createWebhook":    {method: "POST", path: "/webhooks", body: `{"url":"https://example.com/"}`},
		"getWebhook":       {method: "GET", path: "/webhooks/" + sampleHook},
		"updateWebhook":    {method: "PATCH", path: "/webhooks/" + sampleHook, body: `{"description":"till"}`},
		"deleteWebhook":    {method: "DELETE", path: "/webhooks/" + spareHook},
		"rotateWebhook":    {method: "POST", path: "/webhooks/" + sampleHook + "/rotate"},
		"testWebhook":      {method: "POST", path: "/webhooks/" + sampleHook + "/test"},
		"replayWebhook":    {method: "POST", path: "/webhooks/" + sampleHook + "/replay", body: `{"after":1}`},
		"listDeliveries":   {method: "GET", path: "/webhooks/" + sampleHook + "/deliveries"},
		"retryDelivery":    {method: "POST", path: "/webhooks/" + sampleHook + "/deliveries/1/retry"},
		"getAccount":       {method: "GET", path: "/account"},
	}
}

// The keys of samples.
const sampleKey, spareKey, olderKey = "key_Sample0000000001", "key_Sample0000000002", "key_Sample0000000003"

// stock fills a service with what samples needs.
func (s *service) stock() {
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	s.post("/categories", `{"name":"empty"}`).want(201, "")
	for range 3 {
		s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	}
	s.patch("/inventory/1", `{"quantity":100}`).want(200, "")
	for range 2 {
		s.post("/store/orders", `{"petId":1,"quantity":2}`).want(201, "")
	}
	for _, id := range []string{sampleKey, spareKey, olderKey} {
		s.addKeyAs(id, s.workspace, access.Read, time.Time{})
	}
	s.addHook(s.workspace, sampleHook)
	s.addHook(s.workspace, spareHook)
}

// TestPromises makes the server give every status and code that the
// description lists for every operation, but for the failures that all have, see
// TestFailures. That it gives no other is checked with every request of every test.
func TestPromises(t *testing.T) {
	s := openService(t)
	s.stock()
	for id, r := range samples() {
		s.genericFaults(id, r)
	}
	s.refusals()
	s.specificFaults(t)
	for _, r := range samples() {
		if a := s.do(r); a.status >= 300 {
			t.Errorf("%s = %d %s", a.what, a.status, a.body)
		}
	}
	sunsetPromises(t)
	addressPromises(t)
	sandboxPromises(t)

	d := contract(t)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, promise := range d.promised() {
		if !d.seen[promise] && !strings.HasSuffix(promise, " 500 internal_error") && !strings.HasSuffix(promise, " 503 service_unavailable") {
			t.Errorf("the description promises %q, which no request got", promise)
		}
	}
}

// genericFaults makes an operation of a workspace give the answers that it shares with others.
func (s *service) genericFaults(id string, r request) {
	s.commonFaults(id, r)
	scope := access.Write
	switch {
	case strings.HasPrefix(r.path, "/keys"), strings.HasPrefix(r.path, "/webhooks"):
		scope |= access.Read // they need manage
	case r.method != "GET":
		scope = access.Read
	}
	keyless, lacking := r, r
	keyless.key, lacking.key = "-", s.addKey(s.workspace, scope, time.Time{})
	s.do(keyless).want(401, "missing_api_key")
	s.do(lacking).want(403, "insufficient_scope")
	switch {
	case strings.HasPrefix(r.path, "/keys"):
		s.keyFaults(id, r)
	case strings.HasPrefix(r.path, "/webhooks"):
		s.webhookFaults(id, r)
	case r.method == "POST":
		s.idempotencyFaults(r)
	}
}

// commonFaults makes an operation give the answers that all have.
func (s *service) commonFaults(id string, r request) {
	s.t.Helper()
	with := func(change func(*request)) answer {
		q := r
		q.header = map[string]string{}
		change(&q)
		return s.do(q)
	}
	expired := s.addKey(s.workspace, access.Read|access.Write, s.start.Add(-time.Hour))
	other, _ := access.Mint()
	with(func(q *request) { q.key = other }).want(401, "invalid_api_key")
	with(func(q *request) { q.key = expired }).want(401, "expired_api_key")
	with(func(q *request) { q.header["Accept"] = "text/html" }).want(406, "not_acceptable")
	with(func(q *request) { q.path += "?x=" + strings.Repeat("x", 9000) }).want(414, "uri_too_long")
	with(func(q *request) { q.header["X-Padding"] = strings.Repeat("x", 17<<10) }).want(431, "headers_too_large")
	with(func(q *request) { q.path += "?colour=red" }).want(400, "invalid_parameter").field("colour", "unknown_field")
	if r.body != "" {
		with(func(q *request) { q.header["Content-Type"] = "text/plain" }).want(415, "unsupported_media_type")
		with(func(q *request) { q.header["Content-Encoding"] = "gzip" }).want(415, "unsupported_media_type")
		with(func(q *request) { q.body = `{"name":"` + strings.Repeat("x", 64<<10) + `"}` }).want(413, "payload_too_large")
		with(func(q *request) { q.body = `{` }).want(400, "malformed_json")
		with(func(q *request) { q.body = `{"colour":"red"}` }).want(400, "validation_failed").field("/colour", "unknown_field")
	}
	if r.method == "GET" && id != "getAccount" {
		with(func(q *request) { q.header["If-None-Match"] = "*" }).want(304, "")
	}
}

// anotherBody makes another value of the body of a POST.
var anotherBody = strings.NewReplacer("Rex", "Max", "dogs", "cats", `"petId":1}`, `"petId":1,"quantity":1}`, "till", "desk", "1h", "2h", ".com/", ".com/b")

func (s *service) idempotencyFaults(r request) {
	r.header = map[string]string{"Idempotency-Key": "same-" + r.path}
	release := s.fault.holdWrites()
	answers := make(chan answer, 2)
	for range 2 {
		go func() { answers <- s.do(r) }()
	}
	a := (<-answers).want(409, "idempotency_in_progress") // the other one is held
	if a.header.Get("Retry-After") == "" {
		s.t.Errorf("%s: 409 without Retry-After", a.what)
	}
	release()
	(<-answers).want(201, "")
	r.body = anotherBody.Replace(r.body)
	s.do(r).want(422, "idempotency_key_reused")
}

// keyFaults makes an operation on keys give the answers of those alone. A second
// request with its Idempotency-Key waits for the first, and is answered as that.
func (s *service) keyFaults(id string, r request) {
	const rotated, expired = "key_Rotated0000000", "key_Expired0000000"
	switch id {
	case "listKeys":
		return
	case "createKey", "rotateKey":
		if id == "rotateKey" {
			s.addKeyAs("key_Once000000000001", s.workspace, access.Read, time.Time{})
			r.path = "/keys/key_Once000000000001/rotate"
		}
		r.header = map[string]string{"Idempotency-Key": "same-" + r.path}
		s.do(r).want(201, "")
		r.body = anotherBody.Replace(r.body)
		s.do(r).want(422, "idempotency_key_reused")
		r.header = nil
	}
	if id == "createKey" {
		s.fullOfKeys(r)
		return
	}
	with := func(key string) request {
		q := r
		q.path = strings.Replace(strings.Replace(r.path, sampleKey, key, 1), "key_Once000000000001", key, 1)
		q.path = strings.Replace(q.path, spareKey, key, 1)
		return q
	}
	s.do(with("key_Unknown000000001")).want(404, "key_not_found")
	s.do(with("other")).want(404, "key_not_found")
	if id != "updateKey" && id != "rotateKey" {
		return
	}
	if r.body = `{"expiresAt":null}`; id == "rotateKey" {
		r.body = `{}`
		q := with("key_Full000000000001")
		s.addKeyAs("key_Full000000000001", s.workspace, access.Read, time.Time{})
		q.path = "/keys/key_Full000000000001/rotate"
		s.fullOfKeys(q)
	}
	s.addKeyAs(expired+id[:2], s.workspace, access.Read, s.start.Add(-time.Hour))
	s.do(with(expired+id[:2])).want(409, "key_expired")
	s.addKeyAs(rotated+id[:2], s.workspace, access.Read, time.Time{})
	if _, err := s.db.MakeKey(s.t.Context(), access.KeyRequest{Key: s.newKey(), Replaces: rotated + id[:2], Until: s.start.Add(time.Hour), By: "test"}); err != nil {
		s.t.Fatal(err)
	}
	s.do(with(rotated+id[:2])).want(409, "key_rotated")
}

// fullOfKeys makes a request for a key while the workspace has too many.
func (s *service) fullOfKeys(r request) {
	var made []string
	for err := error(nil); err == nil; {
		k := s.newKey()
		if _, err = s.db.MakeKey(s.t.Context(), access.KeyRequest{Key: k, By: "test"}); err == nil {
			made = append(made, k.ID)
		}
	}
	s.do(r).want(409, "too_many_keys")
	for _, id := range made {
		must(s.t, s.revoke(id))
	}
}

// newKey returns a key of the service that the store does not have.
func (s *service) newKey() access.Key {
	text, prefix := access.Mint()
	return access.Key{ID: access.MintID(), WorkspaceID: s.workspace.ID, Name: "test", Prefix: prefix, Hash: access.HashOf(text), Scopes: access.Read, CreatedAt: s.clock.Now()}
}

// refusals makes every operation refuse for the limit and for a ban.
func (s *service) refusals() {
	tiny := s.addWorkspace("tiny", access.Quota{PerMinute: 1, PerDay: 1})
	key := s.addKey(tiny, access.Read|access.Write, time.Time{})
	s.do(request{method: "GET", path: "/pets", key: key}).want(200, "")
	banned := s.addKey(s.workspace, access.Read|access.Write, time.Time{})
	s.ban(s.idOfKey(banned), ratelimit.ByOperator)
	for id, r := range samples() {
		if r.key = key; id != "getAccount" {
			s.do(r).want(429, "rate_limit_exceeded")
		}
		r.key = banned
		a := s.do(r).want(429, "api_key_banned")
		if got, want := a.header.Get("X-RateLimit-Reset"), fmt.Sprint(s.start.Add(time.Hour+time.Second).Unix()); got != want {
			s.t.Errorf("%s: X-RateLimit-Reset = %s while banned, want %s", a.what, got, want)
		}
	}
}

// specificFaults makes operations give the answers that are theirs alone.
func (s *service) specificFaults(t *testing.T) {
	const none = "999999"
	for _, c := range []struct{ path, code, put, patch string }{
		{"/pets/", "pet_not_found", `{"name":"x","categoryId":1}`, `{}`}, {"/categories/", "category_not_found", `{"name":"x"}`, `{}`},
		{"/store/orders/", "order_not_found", "", `{}`}, {"/inventory/", "pet_not_found", "", `{"quantity":1}`},
	} {
		s.get(c.path+none).want(404, c.code)
		s.patch(c.path+none, c.patch).want(404, c.code)
		if c.path != "/inventory/" {
			s.del(c.path+none).want(404, c.code)
		}
		if c.put != "" {
			s.put(c.path+none, c.put).want(404, c.code)
		}
	}
	stale := map[string]string{"If-Match": `"stale"`}
	for id, r := range samples() {
		if r.header = stale; r.method != "GET" && r.method != "POST" {
			if a := s.do(r); a.status != 412 || a.code() != "precondition_failed" {
				t.Errorf("%s with a stale If-Match = %d %s, want 412", id, a.status, a.body)
			}
		}
	}
	for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory", "/inventory/1/movements", "/keys", "/webhooks", "/webhooks/" + sampleHook + "/deliveries"} {
		s.get(list+"?cursor=made-up").want(400, "invalid_cursor")
	}
	s.get("/inventory/"+none+"/movements").want(404, "pet_not_found")
	s.get("/events/"+none).want(404, "event_not_found")
	s.get("/events/x").want(400, "invalid_parameter")
	s.do(request{method: "GET", path: "/events?after=0", key: s.expireEvents()}).want(410, "events_expired")
	end := s.fillStreams()
	full := s.do(request{method: "GET", path: "/events", header: map[string]string{"Accept": "text/event-stream"}}).want(429, "too_many_streams")
	if got := full.header.Get("Retry-After"); got != "10" {
		t.Errorf("%s: Retry-After = %q, want 10", full.what, got)
	}
	end()
	s.del("/categories/1").want(409, "category_in_use")
	s.del("/pets/1").want(409, "pet_has_open_orders")
	s.patch("/pets/1", `{"status":"sold"}`).want(409, "pet_has_open_orders")
	s.put("/pets/1", `{"name":"x","categoryId":1,"status":"sold"}`).want(409, "pet_has_open_orders")
	s.post("/store/orders", `{"petId":1,"quantity":1000}`).want(409, "insufficient_stock")
	s.patch("/inventory/2", `{"quantity":0}`).want(200, "")
	s.post("/store/orders", `{"petId":2}`).want(409, "pet_not_available")
	s.patch("/pets/2", `{"status":"available"}`).want(409, "out_of_stock")
	s.put("/pets/2", `{"name":"x","categoryId":1,"status":"available"}`).want(409, "out_of_stock")
	order := s.post("/store/orders", `{"petId":1,"complete":true}`).want(201, "").id()
	s.patch(fmt.Sprintf("/store/orders/%d", order), `{"complete":true}`).want(409, "order_completed")
	s.del(fmt.Sprintf("/store/orders/%d", order)).want(409, "order_completed")
}

func sunsetPromises(t *testing.T) {
	sunset := startOfService
	s := openService(t, func(o *httpapi.Options) { o.Sunset = sunset })
	s.stock()
	a := s.get("/pets/1").want(410, "operation_sunset")
	if a.header.Get("Sunset") != sunset.Format(http.TimeFormat) || a.header.Get("Deprecation") == "" {
		t.Errorf("410 with Sunset %q and Deprecation %q", a.header.Get("Sunset"), a.header.Get("Deprecation"))
	}
	s.patch("/pets/1", `{"name":"still here"}`).want(200, "")
}

// addressPromises makes getAccount refuse an address that tries keys.
func addressPromises(t *testing.T) {
	cfg := limits()
	cfg.AddressLimits = ratelimit.Limits{PerMinute: 2, PerDay: 10}
	s := openLimitedService(t, cfg)
	for range 2 {
		s.do(request{method: "GET", path: "/account", key: "guess"}).want(401, "invalid_api_key")
	}
	s.do(request{method: "GET", path: "/account", key: "guess"}).want(429, "rate_limit_exceeded")
	s.get("/account").want(200, "")
}
