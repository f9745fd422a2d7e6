package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// ask has the service answer a request with the header fields that are not empty, without a connection.
func (s *service) ask(t *testing.T, method, path, body string, fields map[string]string) answer {
	t.Helper()
	r := httptest.NewRequest(method, "http://shop.example"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	for name, value := range fields {
		if value = strings.Trim(value, " \t"); !httpguts.ValidHeaderFieldValue(value) {
			t.Skip("net/http lets no such value through")
		} else if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	a := answer{t: t, what: clip(fmt.Sprintf("%s %s with %q", method, path, fields)), status: w.Code, header: http.Header{}, body: w.Body.Bytes()}
	for name, values := range w.Header() { // ours are not spelled as net/http would
		a.header[http.CanonicalHeaderKey(name)] = values
	}
	if a.status >= 500 {
		t.Errorf("%s = %d: %s", a.what, a.status, a.body)
	}
	checkEvery(t, a, request{method: method})
	return a
}

// FuzzIdempotencyKey checks that a key of 1 to 255 visible characters makes a request once, whoever repeats it, and that
// any other is refused by name.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"", "a", "a b", strings.Repeat("x", 255), strings.Repeat("x", 256), `"quoted"`, "é", "\t", "a,b", "\x7f"} {
		f.Add(seed)
	}
	s := prepareService(f, limits())
	right := regexp.MustCompile(`^[!-~]{1,255}$`)
	f.Fuzz(func(t *testing.T, key string) {
		s.log.reset()
		key = strings.Trim(key, " \t")
		once := map[string]string{"Idempotency-Key": key}
		first := s.ask(t, "POST", "/categories", `{"name":"Dogs"}`, once)
		if key == "" {
			first.want(http.StatusCreated, "")
			return
		}
		if !right.MatchString(key) {
			first.want(http.StatusBadRequest, "invalid_parameter").field("Idempotency-Key", "invalid_format")
			return
		}
		first.want(http.StatusCreated, "")
		again := s.ask(t, "POST", "/categories", `{"name":"Dogs"}`, once).want(http.StatusCreated, "").is(string(first.body))
		if again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: repeated, the answer does not say so", again.what)
		}
		s.ask(t, "POST", "/categories", `{"name":"Cats"}`, once).want(http.StatusUnprocessableEntity, "idempotency_key_reused")
	})
}

// FuzzRequestHeaders checks that no value of a header that is read makes a request fail but with a 4xx that names it, and
// that a request's id is the client's where it may be.
func FuzzRequestHeaders(f *testing.F) {
	for _, seed := range [][5]string{
		{}, {"abc-1._", "*/*", "application/json", `"x"`, `W/"y", *`}, {"pst_x", "text/html", "text/plain", "*", "*"},
		{strings.Repeat("a", 129), "a/b;q=2", "application/merge-patch+json; charset=utf-8", `"`, `"a" "b"`}, {"a b", ",", ";", "W/", ","},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	s := prepareService(f, limits())
	right := regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)
	f.Fuzz(func(t *testing.T, id, accept, contentType, ifMatch, ifNoneMatch string) {
		s.log.reset()
		s.ask(t, "POST", "/categories", `{"name":"Dogs"}`, nil).want(http.StatusCreated, "")
		fields := map[string]string{
			"X-Request-Id": id, "Accept": accept, "Content-Type": contentType, "If-Match": ifMatch, "If-None-Match": ifNoneMatch,
		}
		for method, statuses := range map[string]string{"PATCH": "200 400 406 412 415", "GET": "200 304 400 406"} {
			a := s.ask(t, method, "/categories/1", map[string]string{"PATCH": `{"name":"Dogs"}`}[method], fields)
			if !strings.Contains(statuses, fmt.Sprint(a.status)) {
				t.Errorf("%s = %d, want one of %s", a.what, a.status, statuses)
			}
			if a.status == http.StatusBadRequest {
				named := a.errors()
				if len(named) != 1 || named[0].Parameter != "If-Match" && named[0].Parameter != "If-None-Match" {
					t.Errorf("%s = %s, want the header named", a.what, a.body)
				}
			}
			got := a.header.Get("X-Request-Id")
			if given := strings.Trim(id, " \t"); right.MatchString(given) && !strings.Contains(given, "pst_") && got != given || !right.MatchString(got) || strings.Contains(got, "pst_") {
				t.Errorf("%s: the id is %q", a.what, got)
			}
		}
	})
}
