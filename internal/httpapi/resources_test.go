package httpapi_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/access"
)

// TestLifeOfAWorkspace follows stock through every state.
func TestLifeOfAWorkspace(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"dogs","description":"They bark."}`).want(201, "").
		is(`{"id":1,"name":"dogs","description":"They bark."}`)
	created := s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "").
		is(`{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
	if got, want := created.header.Get("Location"), "https://shop.example/v1/pets/1"; got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
	s.get("/inventory/1").want(200, "").is(`{"petId":1,"quantity":1,"status":"available"}`)
	s.patch("/inventory/1", `{"quantity":3}`).want(200, "").is(`{"petId":1,"quantity":3,"status":"available"}`)
	s.post("/store/orders", `{"petId":1,"quantity":2}`).want(201, "").
		is(`{"id":1,"petId":1,"quantity":2,"complete":false}`)
	s.post("/store/orders", `{"petId":1,"quantity":2}`).want(409, "insufficient_stock")
	s.post("/store/orders", `{"petId":1,"shipDate":"2026-04-01T10:00:00+02:00"}`).want(201, "").
		is(`{"id":2,"petId":1,"quantity":1,"shipDate":"2026-04-01T08:00:00Z","complete":false}`)
	s.get("/inventory/1").want(200, "").is(`{"petId":1,"quantity":0,"status":"pending"}`)
	s.post("/store/orders", `{"petId":1}`).want(409, "pet_not_available")
	s.del("/store/orders/1").want(204, "")
	s.get("/store/orders/1").want(404, "order_not_found")
	s.get("/pets?id=1").want(200, "").is(`[{"id":1,"name":"Rex","categoryId":1,"status":"available"}]`)
	s.post("/store/orders", `{"petId":1,"quantity":2,"complete":true}`).want(201, "").
		is(`{"id":3,"petId":1,"quantity":2,"shipDate":"` + s.start.Format(milliseconds) + `","complete":true}`)
	s.patch("/store/orders/2", `{"complete":true}`).want(200, "").
		is(`{"id":2,"petId":1,"quantity":1,"shipDate":"2026-04-01T08:00:00Z","complete":true}`)
	s.get("/inventory/1").want(200, "").is(`{"petId":1,"quantity":0,"status":"sold"}`)
	s.patch("/store/orders/2", `{"shipDate":null}`).want(409, "order_completed")
	s.del("/pets/1").want(204, "")
	s.get("/store/orders/2").want(200, "")
	s.post("/pets", `{"name":"Next","categoryId":1}`).want(201, "").
		is(`{"id":2,"name":"Next","categoryId":1,"status":"available"}`)
}

func TestNothingIsOversold(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	s.patch("/inventory/2", `{"quantity":10}`).want(200, "")
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		sold = map[int]int{}
	)
	for range 50 {
		wg.Go(func() {
			a := s.post("/store/orders", `{"petId":2}`)
			mu.Lock()
			defer mu.Unlock()
			sold[a.status]++
		})
	}
	wg.Wait()
	if sold[201] != 10 || sold[409] != 40 {
		t.Errorf("50 buyers of 10 units got %v, want 10 × 201 and 40 × 409", sold)
	}
	s.get("/inventory/2").is(`{"petId":2,"quantity":0,"status":"pending"}`)
}

// TestWorkspacesAreApart tries every id of one workspace with the key of
// another.
func TestWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	foreign := s.addKey(s.addWorkspace("other", access.Quota{PerMinute: 1e6, PerDay: 1e6}), access.Read|access.Write|access.Manage, time.Time{})
	for id, r := range samples() {
		if slices.Contains([]string{"createCategory", "getAccount", "createKey", "listKeys", "createWebhook"}, id) {
			continue // they name nothing of another workspace
		}
		r.key = foreign
		a := s.do(r)
		switch {
		case strings.HasPrefix(id, "list") && id != "listDeliveries" && id != "listMovements":
			a.want(200, "").is(`[]`)
		case id == "createPet" || id == "createOrder" || id == "replacePet":
			a.want(400, "validation_failed")
		default:
			if a.status != 404 {
				t.Errorf("%s with another workspace's key = %d %s, want 404", id, a.status, a.body)
			}
		}
	}
	s.get("/pets/1").want(200, "").is(`{"id":1,"name":"Rex","categoryId":1,"status":"available"}`)
}

func TestLists(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	for i := range 45 {
		s.post("/pets", fmt.Sprintf(`{"name":"Pet %02d","categoryId":1}`, i)).want(201, "")
	}
	for _, test := range []struct {
		query string
		pages []int
	}{
		{"", []int{20, 20, 5}},
		{"limit=45", []int{45}},
		{"limit=44", []int{44, 1}},
		{"limit=30&name=pET", []int{30, 15}},
		{"name=pet+1", []int{10}},
		{"status=available&status=sold", []int{20, 20, 5}},
		{"status=sold", []int{0}},
		{"id=3&id=1&id=3&id=999", []int{2}},
		{"id=3", []int{1}},
		{"categoryId=2", []int{0}},
		{"sort=id&limit=45", []int{45}},
		{"sort=-id", []int{20, 20, 5}},
		{"sort=-id&limit=30&name=pET", []int{30, 15}},
		{"sort=-id&id=3&id=1&id=999&limit=1", []int{1, 1}},
	} {
		t.Run(test.query, func(t *testing.T) {
			path := "/pets?" + test.query
			last := int64(0)
			for i, want := range test.pages {
				a := s.get(path).want(200, "")
				ids := idsOf(t, a.body)
				if len(ids) != want {
					t.Fatalf("page %d of %s has %d entries, want %d", i, test.query, len(ids), want)
				}
				for _, id := range ids {
					if last > 0 && (id <= last) != strings.HasPrefix(test.query, "sort=-id") {
						t.Fatalf("page %d of %s: %d after %d", i, test.query, id, last)
					}
					last = id
				}
				link := a.header.Get("Link")
				if last := i == len(test.pages)-1; last != (link == "") {
					t.Fatalf("page %d of %s: Link = %q", i, test.query, link)
				}
				if more := a.header.Get("X-Has-More"); more != strconv.FormatBool(link != "") {
					t.Fatalf("page %d of %s: X-Has-More = %q, and Link = %q", i, test.query, more, link)
				}
				path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`), "https://shop.example/v1")
			}
		})
	}
}

func TestCursorsFitOneList(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	cursor := between(t, s.get("/pets?limit=1").header.Get("Link"), "cursor=", ">")
	s.get("/pets?limit=2&cursor="+cursor).want(200, "")
	for _, path := range []string{
		"/categories?cursor=" + cursor,
		"/pets?status=sold&cursor=" + cursor,
		"/pets?cursor=" + cursor + "A",
		"/pets?cursor=" + cursor[1:],
		"/pets?cursor=" + strings.ToUpper(cursor),
		"/pets?cursor=",
		"/pets?sort=-id&cursor=" + cursor,
	} {
		s.get(path).want(400, "invalid_cursor").field("cursor", "invalid_format")
	}
	foreign := s.addKey(s.addWorkspace("other", access.Quota{PerMinute: 1e6, PerDay: 1e6}), access.Read, time.Time{})
	s.do(request{method: "GET", path: "/pets?cursor=" + cursor, key: foreign}).want(400, "invalid_cursor")
	s.get("/pets?cursor="+cursor+"&cursor="+cursor).want(400, "invalid_parameter")
}

// TestSort: every list begins with the newest if asked to, and knows no other order.
func TestSort(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.stock()
	for _, path := range []string{"/pets", "/categories", "/store/orders", "/inventory"} {
		ascending := idsOf(t, s.get(path).want(200, "").body)
		slices.Reverse(ascending)
		if got := idsOf(t, s.get(path+"?sort=-id").want(200, "").body); !slices.Equal(got, ascending) {
			t.Errorf("GET %s?sort=-id = %v, want %v", path, got, ascending)
		}
		s.get(path+"?sort=name").want(400, "invalid_parameter").field("sort", "invalid_enum")
	}
}

// TestMovements reads a ledger page by page, also that of a pet that is gone.
func TestMovements(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"dogs"}`).want(201, "")
	for range 2 {
		s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	}
	s.patch("/inventory/1", `{"quantity":5}`).want(200, "")
	s.post("/store/orders", `{"petId":1,"quantity":2,"complete":true}`).want(201, "")
	a := s.get("/inventory/1/movements?limit=2").want(200, "")
	for _, part := range []string{`[{"number":3,"kind":"sale","orderId":1,"delta":-2,"quantity":3,"at":"`, `{"number":2,"kind":"set","delta":4,"quantity":5,`} {
		if !strings.Contains(string(a.body), part) {
			t.Errorf("the movements are %s, want %s", a.body, part)
		}
	}
	cursor := between(t, a.header.Get("Link"), "cursor=", ">")
	last := s.get("/inventory/1/movements?limit=2&cursor="+cursor).want(200, "")
	if !strings.HasPrefix(string(last.body), `[{"number":1,"kind":"created","delta":1,"quantity":1,`) || last.header.Get("Link") != "" {
		t.Errorf("the last page is %s with the link %q, want the first movement alone", last.body, last.header.Get("Link"))
	}
	s.get("/inventory/2/movements?cursor="+cursor).want(400, "invalid_cursor")
	s.get("/inventory/3/movements").want(404, "pet_not_found")
	s.do(request{method: "DELETE", path: "/pets/1"}).want(204, "")
	if a := s.get("/inventory/1/movements?limit=1").want(200, ""); !strings.Contains(string(a.body), `"kind":"deleted"`) {
		t.Errorf("the newest movement of a deleted pet is %s", a.body)
	}
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
	first := s.do(r).want(201, "")
	again := s.do(r).want(201, "").is(string(first.body))
	if again.header.Get("Idempotency-Replayed") != "true" || first.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("Idempotency-Replayed = %q first, %q again", first.header.Get("Idempotency-Replayed"), again.header.Get("Idempotency-Replayed"))
	}
	for _, name := range []string{"Location", "ETag"} {
		if first.header.Get(name) != again.header.Get(name) {
			t.Errorf("%s = %q first, %q again", name, first.header.Get(name), again.header.Get(name))
		}
	}
	s.do(request{method: "POST", path: "/categories", body: `{"name":"x"}`, header: r.header}).want(201, "")
	failing := request{method: "POST", path: "/store/orders", body: `{"petId":1,"quantity":5000}`, header: map[string]string{"Idempotency-Key": "k2"}}
	s.do(failing).want(409, "insufficient_stock")
	s.patch("/inventory/1", `{"quantity":6000}`).want(200, "")
	s.do(failing).want(201, "")
	s.clock.Advance(24 * time.Hour)
	if next := s.do(r).want(201, ""); next.id() == first.id() {
		t.Errorf("after 24 hours the key still answers order %d", first.id())
	}
	for _, key := range []string{"with space", "umläut", strings.Repeat("x", 256)} {
		s.do(request{method: "POST", path: "/categories", body: `{"name":"x"}`, header: map[string]string{"Idempotency-Key": key}}).
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
	ask("PATCH", "If-Match", `W/`+etag, `{"name":"Max"}`).want(412, "precondition_failed")
	ask("PATCH", "If-None-Match", "*", `{"name":"Max"}`).want(412, "precondition_failed")
	changed := ask("PATCH", "If-Match", `"other", `+etag, `{"name":"Max"}`).want(200, "")
	ask("PUT", "If-Match", etag, `{"name":"Tim","categoryId":1}`).want(412, "precondition_failed")
	ask("PUT", "If-Match", changed.header.Get("ETag"), `{"name":"Tim","categoryId":1}`).want(200, "")
	ask("PUT", "If-Match", "*", `{"name":"Tom","categoryId":1}`).want(200, "")
	ask("DELETE", "If-Match", etag, "").want(412, "precondition_failed")
}
