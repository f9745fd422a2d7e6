package console_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/console"
	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/ratelimit"
)

// openGate lets everybody in, and counts who is inside.
type openGate struct {
	inside *atomic.Int64
	enters *atomic.Int64
}

func (openGate) Wait() time.Duration { return 0 }
func (openGate) Addr() netip.Addr    { return netip.MustParseAddr("192.0.2.1") }

func (openGate) Admit(*access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	return ratelimit.Decision{Minute: ratelimit.Window{Limit: 1 << 30}, Day: ratelimit.Window{Limit: 1 << 30}}
}

func (openGate) Show(*access.Entry[*ratelimit.Caller], ratelimit.Decision) {}

func (openGate) Hold(int64) error { return nil }

func (g openGate) Enter(bool) (leave func(), err error) {
	g.inside.Add(1)
	g.enters.Add(1)
	return func() { g.inside.Add(-1) }, nil
}

// A watched is a response of which each write is looked at.
type watched struct {
	http.ResponseWriter
	write func()
}

func (w watched) Write(p []byte) (int, error) {
	w.write()
	return w.ResponseWriter.Write(p)
}

func (w watched) WriteHeader(status int) {
	w.write()
	w.ResponseWriter.WriteHeader(status)
}

func (w watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serve serves the console by itself behind a gate, and calls write before each write of a response.
func (h *house) serve(g console.Gate, write func(r *http.Request)) (url string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.console.Serve(watched{w, func() { write(r) }}, r, g)
	}))
	h.t.Cleanup(server.Close)
	return server.URL
}

// TestNothingIsHeldForWriting: no page, answer to a form or download is written while it takes room of reads or writes.
func TestNothingIsHeldForWriting(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write|access.Manage)
	gate := openGate{new(atomic.Int64), new(atomic.Int64)}
	h.url = h.serve(gate, func(r *http.Request) {
		if n := gate.inside.Load(); n != 0 {
			t.Errorf("%s %s writes while it is inside", r.Method, r.URL)
		}
	})
	for _, route := range console.Routes() {
		if path := strings.ReplaceAll(route.Path, "{id}", "1"); route.Method == http.MethodGet {
			g.get(strings.TrimSuffix(path, "{$}"))
		}
	}
	g.upload("try", "name,category\n,x\n").want(422, "1 row is wrong")
	g.upload("try", "name,category\nMia,Cats\n").want(200, "All rows are right")
	g.post("/console/pets/1/stock", "quantity", "5").leadsTo("/console/pets/1")
	g.post("/console/pets/1/stock", "quantity", "-5").want(422, "must be between")
	g.post("/console/pets/99/delete").want(404, "Not found")
	if gate.enters.Load() < 30 {
		t.Errorf("only %d went through the gate", gate.enters.Load())
	}
}

// stall begins to send a file of so many bytes and stops before its end.
func (g *guest) stall(size int) {
	g.t.Helper()
	body, send := io.Pipe()
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+"/console/pets/import", body)
	must(g.t, err)
	head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\nname,category\n"
	r.ContentLength = int64(len(head) + size)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	g.t.Cleanup(func() { send.Close() })
	go func() {
		if resp, err := g.client.Do(r); err == nil { // else the test is over
			resp.Body.Close()
		}
	}()
	must(g.t, errOf(io.WriteString(send, head)))
}

// TestStalledUploads: files that do not arrive hold up nobody's import.
func TestStalledUploads(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	gate := arrivals{openGate{new(atomic.Int64), new(atomic.Int64)}, new(atomic.Int64)}
	h.url = h.serve(gate, func(*http.Request) {})
	for i := range 10 {
		g := h.signedIn(h.workspace(fmt.Sprint("greedy", i)), access.Read|access.Write)
		g.stall(1 << 20)
		g.stall(1 << 20)
	}
	processtest.Eventually(t, "all files have begun to arrive", func() bool { return gate.pieces.Load() == 20 })
	h.signedIn(h.workspace("modest"), access.Read|access.Write).upload("import", "name,category\nMia,Cats\n").leadsTo("/console/pets")
}

// arrivals count the pieces of files that are about to be read.
type arrivals struct {
	openGate
	pieces *atomic.Int64
}

func (g arrivals) Hold(int64) error {
	g.pieces.Add(1)
	return nil
}

// A fullGate has no room for more than so many bytes.
type fullGate struct {
	openGate
	room *atomic.Int64
}

func (g fullGate) Hold(size int64) error {
	if g.room.Add(-size) < 0 {
		return petstore.Unavailable(nil)
	}
	return nil
}

// TestUploadsAreCounted: a file takes no more memory than the client may have, and what came of it is counted as it comes.
func TestUploadsAreCounted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	room := new(atomic.Int64)
	h.url = h.serve(fullGate{openGate{new(atomic.Int64), new(atomic.Int64)}, room}, func(*http.Request) {})
	file := "name,category\n" + strings.Repeat("Mia,Cats\n", 20_000)
	room.Store(4 << 16)
	g.upload("try", file).want(200, "20,000 pets")
	room.Store(2 << 16)
	g.upload("try", file).want(503, "The service is busy")
	room.Store(2 << 16)
	g.upload("try", "name,category\nMia,Cats\n").want(200, "1 pet")
}

// TestImportsAreOneByOne: a workspace has one import at a time, which others do not wait for.
func TestImportsAreOneByOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g, second, other := h.signedIn(w, access.Read|access.Write), h.signedIn(w, access.Read|access.Write), h.signedIn(h.workspace("other"), access.Read|access.Write)
	begun, release := make(chan struct{}), make(chan struct{})
	h.url = h.serve(openGate{new(atomic.Int64), new(atomic.Int64)}, func(*http.Request) {})
	file := "name,category\nMia,Cats\n"
	slow := h.serve(slowGate{openGate{new(atomic.Int64), new(atomic.Int64)}, begun, release}, func(*http.Request) {})
	g.house = &house{t: t, url: slow}
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.upload("try", file).want(200, "1 pet")
	}()
	<-begun
	second.upload("try", file).want(429, "Another file of this workspace is being imported")
	other.upload("try", file).want(200, "1 pet")
	close(release)
	<-done
	second.upload("try", file).want(200, "1 pet")
}

// A slowGate lets nobody in to the writes before it is released.
type slowGate struct {
	openGate
	begun, release chan struct{}
}

func (g slowGate) Enter(write bool) (leave func(), err error) {
	if write {
		close(g.begun)
		<-g.release
	}
	return g.openGate.Enter(write)
}

// TestUploadsLeaveNoFile: a file that is sent is held in memory alone, also one that is too long.
func TestUploadsLeaveNoFile(t *testing.T) { //nolint:paralleltest // it sets a variable
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	g.upload("try", "name,category\n"+strings.Repeat(strings.Repeat("M", 93)+",Cats\n", (1<<20-100)/99)).want(200, "All rows are right")
	g.upload("try", "name,category\n"+strings.Repeat("x", 1<<20)).want(422, "longer than 1 MiB")
	g.upload("try", "name,category\n"+strings.Repeat("x", 1<<20+1<<15)).want(422, "longer than 1 MiB")
	g.upload("try", "name,category\n"+strings.Repeat("x", 2<<20)).want(422, "longer than 1 MiB")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v, want no files", left, err)
	}
}

// TestUploadsAreHeldOnce: while an import waits for its turn, there is one copy of its file in memory.
func TestUploadsAreHeldOnce(t *testing.T) { //nolint:paralleltest // it measures the heap
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	begun, release := make(chan struct{}), make(chan struct{})
	slow := h.serve(slowGate{openGate{new(atomic.Int64), new(atomic.Int64)}, begun, release}, func(*http.Request) {})
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"pets.csv\"\r\n\r\nname,category\n" +
		strings.Repeat(strings.Repeat("M", 93)+",Cats\n", 10_000) +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"do\"\r\n\r\ntry\r\n--b--\r\n"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, slow+"/console/pets/import", strings.NewReader(form))
	must(t, err)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	before, done := heap(), make(chan struct{})
	go func() {
		defer close(done)
		g.send(r).want(200, "10,000 pets")
	}()
	<-begun
	if more := heap() - before; more > 3<<19 {
		t.Errorf("an import that waits with a file of 1 MB holds %d bytes more", more)
	}
	runtime.KeepAlive(form) // it was there before
	close(release)
	<-done
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // which empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestUploadForms: what is not a file, and forms with more in them than ours have.
func TestUploadForms(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	send := func(fill func(*multipart.Writer)) answer {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		fill(form)
		_ = form.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/console/pets/import", &body)
		must(t, err)
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		return g.send(r)
	}
	send(func(f *multipart.Writer) { _ = f.WriteField("do", "try") }).want(422, "Choose a file")
	send(func(f *multipart.Writer) { _, _ = f.CreateFormFile("file", "") }).want(422, "Choose a file")
	send(func(f *multipart.Writer) { _, _ = f.CreateFormFile("file", "a.csv") }).want(422, "empty")
	send(func(f *multipart.Writer) { _ = f.WriteField("do", strings.Repeat("x", 80_000)) }).want(422, "Choose a file")
	send(func(f *multipart.Writer) {
		for range 10_000 {
			_ = f.WriteField("x", "")
		}
	}).want(422, "Choose a file")
}

// TestFaultPagesAreSmall: the page about a bad file is not longer than its bounds say, whatever the file.
func TestFaultPagesAreSmall(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	long := strings.Repeat("'", 1000)
	for file, want := range map[string]string{
		"name,category" + strings.Repeat(",x", 50_000):                         "the line has more than 1000 columns",
		"name,category" + strings.Repeat(","+long, 120):                        "there is no column",
		strings.Repeat("name,category\rMia,\r", 40_000):                        "100 rows or more are wrong",
		"name,category,stock\n" + strings.Repeat("Mia,Cats,"+long+"\n", 1_000): "100 rows or more are wrong",
	} {
		if a := g.upload("try", file).want(422, want); len(a.body) > 150_000 {
			t.Errorf("the page about %.40q has %d bytes", file, len(a.body))
		}
	}
}

// TestDownloadsAreOneByOne: a workspace has one download at a time, however slowly its client takes it, and holds up no
// page and no other workspace.
func TestDownloadsAreOneByOne(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.workspace("shop")
	g, other := h.signedIn(w, access.Read), h.signedIn(h.workspace("other"), access.Read)
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.url = h.serve(openGate{new(atomic.Int64), new(atomic.Int64)}, func(r *http.Request) {
		if r.URL.Query().Has("slow") {
			once.Do(func() { close(begun) })
			<-release
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.get("/console/pets.csv?slow").want(200, "Rex")
	}()
	<-begun
	if a := g.get("/console/orders.csv").want(429, "Another download of this workspace is under way"); a.header.Get("Retry-After") != "10" {
		t.Errorf("the refusal says Retry-After %q, want 10", a.header.Get("Retry-After"))
	}
	g.get("/console/pets").want(200, "Rex")
	other.get("/console/pets.csv").want(200, "Rex")
	close(release)
	<-done
	g.get("/console/orders.csv").want(200, "")
}

// endings are the ways in which a session or its key ends.
var endings = map[string]func(*house, access.Key){
	"revoked": func(h *house, k access.Key) { h.revoke(k.ID) },
	"banned": func(h *house, k access.Key) {
		h.ban(access.Ban{KeyID: k.ID, From: h.clock.Now(), Until: h.clock.Now().Add(time.Hour), Reason: "test", By: ratelimit.ByOperator})
	},
	"signed out": func(h *house, k access.Key) {
		if err := h.db.EndSessions(h.t.Context(), k.ID); err != nil {
			h.t.Error(err)
		}
	},
}

// TestSessionsAreCheckedAgain: after a wait no page and no download is sent to somebody whose session or key has ended meanwhile, or
// whose key is banned. A download is broken off once a part of it was sent, and a form does nothing of which the rest came later.
func TestSessionsAreCheckedAgain(t *testing.T) {
	t.Parallel()
	for what, end := range endings {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			w := h.workspace("shop")
			h.signedIn(w, access.Read|access.Write).upload("import", "name,category\n"+strings.Repeat(strings.Repeat("M", 93)+",Dogs\n", 500)).leadsTo("/console/pets")
			gate := openGate{new(atomic.Int64), new(atomic.Int64)}
			over := func(k access.Key) func() {
				return func() { h.clock.Advance(2 * time.Second); end(h, k) }
			}
			signIn := func() (*guest, access.Key) {
				k, secret := h.key(w, access.Read|access.Write, time.Time{})
				g := h.guest()
				g.post("/console/signin", "key", secret).leadsTo("/console")
				return g, k
			}
			for path, send := range map[string]func(*guest) answer{
				"/console/categories/new": func(g *guest) answer { return g.post("/console/categories/new", "name", "Late") },
				"/console/pets/import":    func(g *guest) answer { return g.upload("import", "name,category\nTom,Late\n") },
			} {
				early, k := signIn()
				early.house = &house{t: t, url: h.serve(heldGate{gate, path, over(k)}, func(*http.Request) {})}
				a := send(early)
				if signIn := strings.HasPrefix(a.header.Get("Location"), "/console/signin"); signIn == (what == "banned") || !signIn && a.status != http.StatusTooManyRequests {
					t.Errorf("the rest of %s is answered %d, %q", path, a.status, a.header)
				}
			}
			if late, err := h.shop.Categories(t.Context(), w.Shop, petstore.CategoryQuery{Name: "late", Page: petstore.Page{Limit: 1}}); err != nil || len(late) > 0 {
				t.Errorf("the forms have made %+v, %v", late, err)
			}
			for _, path := range []string{"/console/categories.csv", "/console/categories"} {
				early, k := signIn()
				early.house = &house{t: t, url: h.serve(endingGate{gate, over(k)}, func(*http.Request) {})}
				if a := early.get(path); a.status == http.StatusOK || a.header.Get("Content-Disposition") != "" || strings.Contains(a.body, "Dogs") {
					t.Errorf("after the wait %s is answered %d, %q", path, a.status, a.header)
				}
			}
			late, k := signIn()
			once := sync.OnceFunc(over(k))
			url := h.serve(gate, func(*http.Request) { once() })
			resp, err := late.client.Get(url + "/console/pets.csv")
			must(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err == nil || len(body) > 32<<10 {
				t.Errorf("after the first part the download is answered %d with %d bytes, %v, want it broken off", resp.StatusCode, len(body), err)
			}
		})
	}
}

// An endingGate calls end before it lets anybody in.
type endingGate struct {
	openGate
	end func()
}

func (g endingGate) Enter(write bool) (leave func(), err error) {
	g.end()
	return g.openGate.Enter(write)
}

// A heldGate calls end when a form is let in whose fields have not been read, or when a file is read.
type heldGate struct {
	openGate
	path string
	end  func()
}

func (g heldGate) Admit(e *access.Entry[*ratelimit.Caller]) ratelimit.Decision {
	if g.path != "/console/pets/import" {
		g.end()
	}
	return g.openGate.Admit(e)
}

func (g heldGate) Hold(int64) error {
	g.end()
	return nil
}

// TestEchoesAreBounded: a page shows no more of what was entered than a field can have, and none of a long query.
func TestEchoesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	g := h.signedIn(h.workspace("shop"), access.Read|access.Write)
	if a := g.post("/console/pets/1", "name", strings.Repeat("a", 60_000)).want(422, "aaa…"); len(a.body) > 20_000 {
		t.Errorf("the form has %d bytes", len(a.body))
	}
	g.get("/console/pets?name="+strings.Repeat("'", 3000)).want(414, "The address is too long")
	next := "/console/pets?" + strings.Repeat("a", 3000)
	if a := h.guest().post("/console/signin", "key", "x", "next", next).want(422, "not valid"); strings.Contains(a.body, next) {
		t.Error("the sign-in form repeats a long address")
	}
	h.guest().get("/console/pets?name=" + strings.Repeat("%27", 500)).leadsTo("/console/signin")
}
