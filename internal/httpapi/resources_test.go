package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
)

// base is what the links of a service begin with.
const base = "https://shop.example/v1"

// wantPages reads a list one by one, and fails the test unless that gives what the list has,
// and each page says whether there is more.
func (s *service) wantPages(list, base string) {
	s.t.Helper()
	var whole, got []json.RawMessage
	if err := json.Unmarshal(s.get(list+"limit=100").want(200, "").body, &whole); err != nil || len(whole) < 2 {
		s.t.Fatalf("GET %s has %d entries, %v, want some", list, len(whole), err)
	}
	for path := list + "limit=1"; path != ""; whole = whole[1:] {
		a := s.get(path).want(200, "")
		link := a.header.Get("Link")
		if err := json.Unmarshal(a.body, &got); err != nil || len(whole) == 0 || len(got) != 1 || string(got[0]) != string(whole[0]) {
			s.t.Fatalf("%s = %s, %v, want the first of %s", a.what, a.body, err, whole)
		}
		if more := a.header.Get("X-Has-More"); more != strconv.FormatBool(link != "") {
			s.t.Fatalf("%s: X-Has-More = %q with the Link %q", a.what, more, link)
		}
		path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`), base)
	}
	if len(whole) > 0 {
		s.t.Errorf("the pages of %s leave out %s", list, whole)
	}
}

// TestPages: every list has each entry once, page by page, and begins with the newest if
// asked to where that is promised.
func TestPages(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, list := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
		s.wantPages(list+"?sort=id&", base)
		s.wantPages(list+"?sort=-id&", base)
		up, down := idsOf(t, s.get(list).body), idsOf(t, s.get(list+"?sort=-id").body)
		if slices.Reverse(down); !slices.Equal(up, down) || !slices.IsSorted(up) {
			t.Errorf("GET %s has %v, and the newest first in the other order %v", list, up, down)
		}
		s.get(list+"?sort=name").want(400, "invalid_parameter").field("sort", "invalid_enum")
	}
	for _, list := range []string{"/keys", "/webhooks", "/inventory/1/movements", "/webhooks/" + sampleHook + "/deliveries"} {
		s.wantPages(list+"?", base)
	}
}

// TestFilters: every filter reaches the store, and a page has twenty unless asked for others.
func TestFilters(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	for i := range 22 {
		s.post("/pets", fmt.Sprintf(`{"name":"Pet %02d","categoryId":1}`, i)).want(201, "")
	}
	s.patch("/inventory/4", `{"quantity":0}`).want(200, "")
	s.post("/store/orders", `{"petId":1,"shipDate":"2026-04-01T10:00:00Z"}`).want(201, "")
	for path, want := range map[string][]int64{
		"/pets?id=3&id=1&id=3&id=999":                              {1, 3},
		"/pets?status=pending&status=sold":                         {1, 4},
		"/pets?name=pEt+1&limit=2":                                 {11, 12},
		"/pets?categoryId=2":                                       {},
		"/pets?sort=-id&id=3&id=1":                                 {3, 1},
		"/categories?name=OG":                                      {1},
		"/store/orders?petId=1&complete=false":                     {1},
		"/store/orders?complete=true":                              {},
		"/store/orders?shipDateFrom=2026-04-01T12:00:00%2B02:00":   {1},
		"/store/orders?shipDateTo=2026-04-01T09:59:59.999Z":        {},
		"/inventory?maxQuantity=0&status=sold":                     {4},
		"/inventory?maxQuantity=0&status=pending&status=available": {1},
	} {
		if got := idsOf(t, s.get(path).want(200, "").body); !slices.Equal(got, want) {
			t.Errorf("GET %s has %v, want %v", path, got, want)
		}
	}
	if got := len(idsOf(t, s.get("/pets").body)); got != 20 {
		t.Errorf("a page has %d pets, want 20", got)
	}
}

func TestCursorsFitOneList(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	cursor := between(t, s.get("/pets?limit=1").header.Get("Link"), "cursor=", ">")
	s.get("/pets?limit=2&cursor="+cursor).want(200, "")
	for _, path := range []string{"/categories?", "/pets?status=sold&", "/pets?sort=-id&", "/keys?"} {
		s.get(path+"cursor="+cursor).want(400, "invalid_cursor").field("cursor", "invalid_format")
	}
	s.get("/pets?cursor=").want(400, "invalid_cursor")
	foreign := s.addKey(s.addWorkspace("other", access.Quota{PerMinute: 1e6, PerDay: 1e6}), access.Read, time.Time{})
	s.do(request{method: "GET", path: "/pets?cursor=" + cursor, key: foreign}).want(400, "invalid_cursor")
	s.get("/pets?cursor="+cursor+"&cursor="+cursor).want(400, "invalid_parameter")
	movements := between(t, s.get("/inventory/1/movements?limit=1").header.Get("Link"), "cursor=", ">")
	s.get("/inventory/2/movements?cursor="+movements).want(400, "invalid_cursor")
}

func between(t *testing.T, s, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		t.Fatalf("no %q in %q", before, s)
	}
	rest, _, _ = strings.Cut(rest, after)
	return rest
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	r := request{method: "POST", path: "/store/orders", body: `{"petId":1}`, header: map[string]string{"Idempotency-Key": "k1"}}
	first := s.do(r).want(201, "").is(`{"id":3,"petId":1,"quantity":1,"complete":false}`)
	if got := first.header.Get("Location"); got != base+"/store/orders/3" {
		t.Errorf("Location = %q, want that of the order", got)
	}
	again := s.do(r).want(201, "").is(string(first.body))
	if again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("Idempotency-Replayed = %q first, %q again", first.header.Get("Idempotency-Replayed"), again.header.Get("Idempotency-Replayed"))
	}
	for _, name := range []string{"Location", "ETag"} {
		if first.header.Get(name) != again.header.Get(name) {
			t.Errorf("%s = %q first, %q again", name, first.header.Get(name), again.header.Get(name))
		}
	}
	for body, status := range map[string]int{
		`{"name":"Ä/","description":"x"}`: 201, " {\n\"description\":\t\"x\", \"name\":\"\\u00c4\\/\" }\r\n": 201,
		`{"name":"Ä/","description":"x "}`: 422, `{"name":"Ä/"}`: 422,
	} {
		once := request{method: "POST", path: "/categories", body: `{"description":"x","name":"Ä/"}`, header: r.header}
		made := s.do(once).want(201, "").id()
		once.body = body
		if other := s.do(once); other.status != status || status == 201 && other.id() != made {
			t.Errorf("the key of category %d with the body %s = %d %s, want %d", made, body, other.status, other.body, status)
		}
	}
	for _, key := range []string{"a b", strings.Repeat("x", 256), "\u00e9"} {
		s.do(request{method: "POST", path: "/categories", body: `{"name":"a"}`, header: map[string]string{"Idempotency-Key": key}}).
			want(400, "invalid_parameter").field("Idempotency-Key", "invalid_format")
	}
}

// A page stays the same when something is added behind it. Who has it must learn that.
func TestNotModifiedListHasMore(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"Dogs"}`).want(201, "")
	page := request{method: "GET", path: "/categories?limit=1"}
	first := s.do(page).want(200, "")
	s.post("/categories", `{"name":"Cats"}`).want(201, "")
	page.header = map[string]string{"If-None-Match": first.header.Get("ETag")}
	now := s.do(page).want(304, "")
	if before, after := first.header.Get("X-Has-More"), now.header.Get("X-Has-More"); before != "false" || after != "true" || now.header.Get("Link") == "" {
		t.Errorf("X-Has-More = %q, then %q with the Link %q, want false, then true with a Link", before, after, now.header.Get("Link"))
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	etag := s.get("/pets/1").header.Get("ETag")
	if one := s.get("/pets?id=1").header.Get("ETag"); one != etag {
		t.Errorf("ETag of GET /pets?id=1 = %s, want the pet's %s", one, etag)
	}
	if list := s.get("/pets").header.Get("ETag"); !strings.HasPrefix(list, `W/"`) {
		t.Errorf("ETag of a list = %s, want a weak one", list)
	}
	ask := func(method, name, value, body string) answer {
		return s.do(request{method: method, path: "/pets/1", body: body, header: map[string]string{name: value}})
	}
	ask("GET", "If-None-Match", etag, "").want(304, "")
	ask("GET", "If-None-Match", `"other", W/`+etag, "").want(304, "")
	ask("GET", "If-None-Match", `"other"`, "").want(200, "")
	ask("GET", "If-None-Match", `other`, "").want(400, "invalid_parameter").field("If-None-Match", "invalid_format")
	for value, weakened := range map[string]bool{`"a", W/` + etag: true, `W/"a"`: false} {
		refused := ask("PATCH", "If-Match", value, `{"name":"Max"}`).want(412, "precondition_failed")
		if got := strings.Contains(string(refused.body), "A proxy that compresses"); got != weakened {
			t.Errorf("If-Match: %s = %s, want it to speak of a proxy: %t", value, refused.body, weakened)
		}
	}
	ask("PATCH", "If-None-Match", "*", `{"name":"Max"}`).want(412, "precondition_failed")
	changed := ask("PATCH", "If-Match", `"other", `+etag, `{"name":"Max"}`).want(200, "")
	ask("PUT", "If-Match", etag, `{"name":"Tim","categoryId":1}`).want(412, "precondition_failed")
	ask("PUT", "If-Match", changed.header.Get("ETag"), `{"name":"Tim","categoryId":1}`).want(200, "")
	ask("PUT", "If-Match", "*", `{"name":"Tom","categoryId":1}`).want(200, "")
	ask("DELETE", "If-Match", etag, "").want(412, "precondition_failed")
}
