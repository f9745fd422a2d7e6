package httpapi

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
	"github.com/VictoriaMetrics/fastcache"
)

// asked returns a request of a workspace.
func asked(workspace int64, target string) *exchange {
	x := newExchange(&env{now: time.Now}, httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, target, nil))
	x.entry = &access.Entry[*ratelimit.Caller]{Workspace: &access.Workspace{ID: workspace, Shop: workspace}}
	return x
}

// TestCache asks twice for each target, and wants the second answer to be held only if
// nothing changed.
func TestCache(t *testing.T) {
	t.Parallel()
	version, known := uint64(2), true
	c := newCache(func(int64) (uint64, bool) { return version, known })
	reads := 0
	var meanwhile func()
	read := func(x *exchange) error {
		reads++
		meanwhile()
		body := fmt.Append(nil, "answer ", reads)
		return x.represent(&representation{etag: strong(petstore.TagOf(body)), body: body})
	}
	long := "/pets?name=" + fmt.Sprintf("%0*d", longestTarget, 0)
	for _, test := range []struct {
		what          string
		first, second string
		other         int64 // the second one's workspace
		change        func()
		held          bool
	}{
		{"the same", "/pets/1", "/pets/1", 1, func() {}, true},
		{"another path", "/pets/2", "/pets/3", 1, func() {}, false},
		{"another query", "/pets?limit=1", "/pets?limit=2", 1, func() {}, false},
		{"another workspace", "/pets/4", "/pets/4", 2, func() {}, false},
		{"after a change", "/pets/5", "/pets/5", 1, func() { version += 2 }, false},
		{"not known", "/pets/6", "/pets/6", 1, func() { known = !known }, false},
		{"a long target", long, long, 1, func() {}, false},
	} {
		meanwhile = func() {}
		x := asked(1, test.first)
		if err := c.answer(x, read); err != nil {
			t.Fatal(err)
		}
		first := string(x.answer)
		test.change()
		x = asked(test.other, test.second)
		x.held = []byte("of the request before")
		if err := c.answer(x, read); err != nil || (string(x.answer) == first) != test.held {
			t.Errorf("%s: answered %q and then %q, %v, want the first one again: %t", test.what, first, x.answer, err, test.held)
		}
		known = true
	}
	meanwhile = func() { version += 2 } // after it was asked for, and before the store is read
	_ = c.answer(asked(1, "/pets/7"), read)
	meanwhile = func() {}
	before := reads
	if _ = c.answer(asked(1, "/pets/7"), read); reads == before {
		t.Error("what was read while it changed is held")
	}
	before = reads
	if _ = c.answer(asked(1, "/pets/7"), read); reads != before {
		t.Error("what was read after a change is not held")
	}
}

// TestCacheIsBounded: it takes so many bytes, and drops the oldest answers.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	reads := 0
	c := newCache(func(int64) (uint64, bool) { return 0, true })
	ask := func(target string, length int) {
		reads++
		_ = c.answer(asked(1, target), func(x *exchange) error {
			reads--
			return x.represent(&representation{body: make([]byte, length)})
		})
	}
	const many = 2 * cacheSize / longestBody
	for i := range many {
		ask(fmt.Sprint("/pets/", i), longestBody)
	}
	var s fastcache.Stats
	c.answers.UpdateStats(&s)
	if s.BytesSize > cacheSize || s.EntriesCount < many/4 {
		t.Errorf("%d answers take %d bytes, want at least %d in at most %d", s.EntriesCount, s.BytesSize, many/4, cacheSize)
	}
	ask("/pets/0", longestBody)
	if reads != 0 {
		t.Error("the oldest answer is held")
	}
	ask(fmt.Sprint("/pets/", many-1), longestBody)
	if reads != 1 {
		t.Error("the newest answer is not held")
	}
	ask("/long", longestBody+1)
	ask("/long", longestBody+1)
	if reads != 1 {
		t.Error("too long an answer is held")
	}
}

// TestCacheOfCompressed: an answer is held as it was sent, for clients that accept it.
func TestCacheOfCompressed(t *testing.T) {
	t.Parallel()
	c := newCache(func(int64) (uint64, bool) { return 0, true })
	body := bytes.Repeat([]byte("Rex"), minGzipLength)
	ask := func(accepts, etag string) *exchange {
		x := asked(1, "/pets")
		x.r.Header = http.Header{"Accept-Encoding": {accepts}, "If-None-Match": {etag}}
		if err := c.answer(x, func(x *exchange) error { return x.represent(pageOf(body, "</pets>", true)) }); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for range 2 { // read, and then held
		x := ask("gzip", `"another"`)
		h := x.Header()
		if z, err := gzip.NewReader(bytes.NewReader(x.answer)); err != nil {
			t.Errorf("a body that is accepted in gzip: %v", err)
		} else if got, err := io.ReadAll(z); !bytes.Equal(got, body) || h.Get("Content-Encoding") != "gzip" || h.Get("Link") != "</pets>" || h.Get("X-Has-More") != "true" {
			t.Errorf("in gzip it answers %d bytes and %v, %v", len(got), h, err)
		}
		etag := x.shown.etag
		if x = ask("gzip", etag); x.ready != http.StatusNotModified || len(x.answer) != 0 {
			t.Errorf("to a client that has it, it answers %d with %d bytes", x.ready, len(x.answer))
		}
		if x = ask("identity", `"another"`); !bytes.Equal(x.answer, body) || x.Header().Get("Content-Encoding") != "" {
			t.Errorf("without compression it answers %d bytes, %v", len(x.answer), x.Header())
		}
	}
}
