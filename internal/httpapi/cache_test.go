package httpapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/ratelimit"
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
	c := newCache(func(int64) (uint64, bool) { return version, known }, 1<<20)
	reads := 0
	var meanwhile func()
	read := func(x *exchange) error {
		reads++
		meanwhile()
		body := fmt.Append(nil, "answer ", reads)
		return x.represent(&representation{etag: strong(petstore.TagOf(body)), body: body})
	}
	long := "/pets?name=" + fmt.Sprintf("%0*d", longestPath, 0)
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
}

// TestCacheIsBounded: it holds so many bytes, and reads a popular answer again only when it begins anew.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	const held = 1 << 20
	version, reads := uint64(0), 0
	c := newCache(func(int64) (uint64, bool) { return version, true }, held)
	ask := func(target string, length int) {
		_ = c.answer(asked(1, target), func(x *exchange) error {
			reads++
			return x.represent(&representation{body: make([]byte, length)})
		})
	}
	const many = 2 * held / longestBody
	for i := range many {
		ask(fmt.Sprint("/pets/", i), longestBody)
		ask("/popular", 100)
	}
	if most := held / longestBody; reads > many+3 || len(c.answers) > most {
		t.Errorf("%d were read and %d are held, want the popular one three times at most and %d at most", reads, len(c.answers), most)
	}
	reads = 0
	ask("/long", longestBody)
	ask("/longer", longestBody+1)
	ask("/longer", longestBody+1)
	if reads != 3 {
		t.Errorf("%d were read, want what is too long each time", reads)
	}
	before := c.size
	for range many {
		version++
		ask("/long", longestBody)
	}
	if c.size != before {
		t.Errorf("an answer that is replaced takes %d bytes more", c.size-before)
	}
}
