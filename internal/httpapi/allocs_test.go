//go:build !race

package httpapi_test

import (
	"io"
	"net/http"
	"runtime/debug"
	"testing"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/httpapi"
)

// TestPlainRequestsAllocateLittle has one client ask again and again. What is
// counted is all that the process allocates meanwhile. For an unknown key the store is
// asked besides.
func TestPlainRequestsAllocateLittle(t *testing.T) {
	s := openService(t, func(o *httpapi.Options) { o.AccessLog = httpapi.NewAccessLog(io.Discard) })
	s.do(request{method: "POST", path: "/categories", body: `{"name":"Dogs"}`}).want(http.StatusCreated, "")
	for range 30 {
		s.do(request{method: "POST", path: "/pets", body: `{"name":"Laika","categoryId":1}`}).want(http.StatusCreated, "")
	}
	unknown, _ := access.Mint()
	spent := s.addKey(s.addWorkspace("spent", access.Quota{PerMinute: 1, PerDay: 1}), access.Read, s.start.AddDate(1, 0, 0))
	s.do(request{method: "GET", path: "/pets", key: spent}).want(http.StatusOK, "")
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties the pools
	for _, test := range []struct {
		name   string
		ask    request
		status string
		most   float64
	}{
		{"one pet", request{method: "GET", path: "/pets/7"}, "200", 8},
		{"list", request{method: "GET", path: "/pets?limit=20"}, "200", 7},
		{"rate limit", request{method: "GET", path: "/pets/7", key: spent}, "429", 8},
		{"unknown key", request{method: "GET", path: "/pets/7", key: unknown}, "401", 8},
	} {
		w, text, answer := s.dial(t), []byte(test.ask.text(s.key)), make([]byte, 16<<10)
		ask := func() {
			_, err := w.Conn.Write(text)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := w.Conn.Read(answer); err != nil || string(answer[9:12]) != test.status {
				t.Fatalf("%s: the answer is %q (%v), want %s", test.name, answer[:n], err, test.status)
			}
		}
		for range 10 {
			ask()
		}
		if got := testing.AllocsPerRun(200, ask); got > test.most {
			t.Errorf("%s: %v allocations a request, want at most %v", test.name, got, test.most)
		}
	}
}
