package httpapi_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/http1"
	"example.com/petstore/internal/http1/http1test"
	"example.com/petstore/internal/httpapi"
	"example.com/petstore/internal/ratelimit"
)

// A deafWriter is the ResponseWriter of a client that takes nothing of its answer until
// it is released.
type deafWriter struct {
	http.ResponseWriter
	waits    chan struct{} // receives a value when the client lets the server wait
	released chan struct{}
}

func (w *deafWriter) Write(p []byte) (int, error) {
	w.waits <- struct{}{}
	<-w.released
	return w.ResponseWriter.Write(p)
}

// Clients that do not take their answers hold no place among the requests that are carried
// out, whatever they ask for.
func TestDeafClientsHoldNothing(t *testing.T) {
	t.Parallel()
	s := openService(t, func(o *httpapi.Options) { o.Reads, o.Writes = 1, 1 })
	s.post("/categories", `{"name":"Dogs"}`).want(201, "")
	s.post("/pets", `{"name":"Rex","categoryId":1}`).want(201, "")
	for _, r := range []struct{ method, path, body string }{
		{"GET", "/pets", ""}, {"GET", "/store/orders", ""}, {"GET", "/events", ""}, {"GET", "/pets/999", ""},
		{"GET", "/docs", ""}, {"GET", "/openapi.json", ""}, {"POST", "/categories", `{"name":"Cats"}`}, {"POST", "/categories", `{}`},
	} {
		w := &deafWriter{httptest.NewRecorder(), make(chan struct{}, 100), make(chan struct{})}
		request := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
		request.Header.Set("Authorization", "Bearer "+s.key)
		if r.body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.api.ServeHTTP(w, request)
		}()
		<-w.waits
		s.get("/pets").want(200, "")
		s.post("/categories", `{"name":"Birds"}`).want(201, "")
		for kind, load := range s.api.Workload() {
			if load.Used != 0 {
				t.Errorf("%s %s: %d requests of the kind %q are carried out while the client does not read", r.method, r.path, load.Used, kind)
			}
		}
		close(w.released)
		<-ended
	}
}

// A banned key gives the connections on which it is shown no standing: they yield to others
// like those without a key, whatever is asked for.
func TestBannedKeysGiveNoStanding(t *testing.T) {
	t.Parallel()
	s := openService(t)
	for _, banned := range []bool{false, true} {
		key := s.addKey(s.workspace, access.Read, time.Time{})
		if banned {
			s.ban(s.idOfKey(key), ratelimit.ByOperator)
		}
		on, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		limit := http1.NewLimit(http1.Limits{Connections: 1, Memory: 1 << 20})
		server := s.api.Server()
		go func() { _ = server.Serve(s.front(server).Listener(limit.Listener(on))) }() // until it is closed
		t.Cleanup(func() { server.Close() })
		first := http1test.Dial(t, on.Addr().String())
		first.Send("GET /openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n\r\n")
		first.Want("GET", http.StatusOK)
		other, err := net.Dial("tcp", on.Addr().String())
		must(t, err)
		second := http1test.New(t, other)
		second.Send("GET /account HTTP/1.1\r\nHost: x\r\n\r\n")
		if r, err := second.ReadReply("GET"); (err == nil) != banned {
			t.Errorf("banned: %t; the answer to the next client is %v, %v, want one only if the first gives way", banned, r, err)
		}
	}
}
