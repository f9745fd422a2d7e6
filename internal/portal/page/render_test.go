package page

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/fairshare"
)

// A page of a workspace is made when it is its turn, and refused in words if that does not
// come soon.
func TestPagesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newTestSite(t, 1)
		s.turns = fairshare.New(fairshare.Options{Capacity: 1, Queue: 9, Wait: turnWait})
		ask := func() *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			v := &Visit{Site: s, W: w, R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/console/nowhere", nil), Session: new(access.Session)}
			v.guest = tenant{v, 2}
			v.Refuse(http.StatusNotFound, "There is no such page", "")
			v.send()
			return w
		}
		other, err := s.turns.Enter(t.Context(), fairshare.Holder{Workspace: 1}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := ask(); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "Too many pages are asked for") {
			t.Errorf("while another page is being made, the answer is %d\n%s\nwant 503 and why", w.Code, w.Body)
		}
		answers := make(chan *httptest.ResponseRecorder, 1)
		go func() { answers <- ask() }()
		synctest.Wait()
		other.Leave()
		w := <-answers
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "There is no such page") {
			t.Errorf("after its turn came, the answer is %d\n%s\nwant 404 and why", w.Code, w.Body)
		}
		if n := w.Header().Get("Content-Length"); n != strconv.Itoa(w.Body.Len()) {
			t.Errorf("Content-Length = %s, want %d", n, w.Body.Len())
		}
		slow := &Visit{Site: s, R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), Session: new(access.Session)}
		slow.guest = tenant{slow, 1}
		if err := slow.takeTurn(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if w, waited := ask(), time.Since(began); w.Code != http.StatusNotFound || waited != maxTurn {
			t.Errorf("beside a page that takes long, the answer is %d after %v, want 404 after %v", w.Code, waited, maxTurn)
		}
		slow.turn.end()
	})
}
