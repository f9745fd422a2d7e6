package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestPagesFollowThePets asks for pages again and again while pets change, so
// that they are held. Each answer is as the one to a query that says the same in
// a way in which nobody said it before.
func TestPagesFollowThePets(t *testing.T) {
	t.Parallel()
	s := openService(t)
	s.post("/categories", `{"name":"Dogs"}`).want(http.StatusCreated, "")
	for i := range 25 {
		s.post("/pets", fmt.Sprintf(`{"name":"pet %d","categoryId":1}`, i)).want(http.StatusCreated, "")
	}
	queries := []string{"limit=20", "limit=2", "limit=2&status=available", "status=pending&status=available&limit=23", "categoryId=1&limit=100", "limit=1&categoryId=2"}
	changes := []request{
		{method: "PATCH", path: "/pets/1", body: `{"name":"Laika"}`},
		{method: "POST", path: "/store/orders", body: `{"petId":2}`},
		{method: "DELETE", path: "/pets/3"},
		{method: "POST", path: "/pets", body: `{"name":"last","categoryId":1}`},
		{method: "PATCH", path: "/pets/4", body: `{"status":"pending"}`},
	}
	for i, change := range changes {
		for _, query := range queries {
			fresh := s.get("/pets?"+strings.Replace(query, "limit", otherwise("limit", i+1), 1)).want(http.StatusOK, "")
			for range 4 {
				s.get("/pets?"+query).want(http.StatusOK, "").sameAs(fresh)
				zipped := s.do(request{method: "GET", path: "/pets?" + query, header: map[string]string{"Accept-Encoding": "gzip"}}).want(http.StatusOK, "")
				zipped.body = unzipped(t, zipped)
				zipped.sameAs(fresh)
			}
			s.do(request{method: "GET", path: "/pets?" + query, header: map[string]string{"If-None-Match": fresh.header.Get("ETag")}}).want(http.StatusNotModified, "")
		}
		if got := s.do(change); got.status >= 300 {
			t.Fatalf("%s = %d %s", got.what, got.status, got.body)
		}
	}
}

// otherwise spells a word in one of the ways of URLs, those of its letters as
// bytes that n has bits for.
func otherwise(word string, n int) string {
	var out strings.Builder
	for i, letter := range []byte(word) {
		if n>>i&1 == 1 {
			fmt.Fprintf(&out, "%%%02X", letter)
		} else {
			out.WriteByte(letter)
		}
	}
	return out.String()
}

func (a answer) sameAs(b answer) {
	a.t.Helper()
	if !bytes.Equal(a.body, b.body) || a.header.Get("ETag") != b.header.Get("ETag") || a.header.Get("Link") != b.header.Get("Link") {
		a.t.Fatalf("%s = %s\n%v, want %s\n%v", a.what, a.body, a.header, b.body, b.header)
	}
}

func unzipped(t *testing.T, a answer) []byte {
	t.Helper()
	if a.header.Get("Content-Encoding") == "" {
		return a.body
	}
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	must(t, err)
	body, err := io.ReadAll(z)
	must(t, err)
	return body
}
