package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"example.com/petstore/test/servertest"
)

// webhookKills is how often TestWebhooksAreDelivered kills the server.
var webhookKills = flag.Int("webhook-kills", 24, "let TestWebhooksAreDelivered kill the server `N` times")

// An inbox is a receiver of events.
type inbox struct {
	*httptest.Server
	mu  sync.Mutex
	got map[int64]int // how often, by event
	// reply answers the request for an event; it was noted if noted is true.
	reply func(w http.ResponseWriter, r *http.Request, event int64) (noted bool)
}

func newInbox(t *testing.T, reply func(http.ResponseWriter, *http.Request, int64) bool) *inbox {
	t.Helper()
	b := &inbox{got: make(map[int64]int), reply: reply}
	b.Server = httptest.NewServer(http.HandlerFunc(b.receive))
	t.Cleanup(b.Close)
	return b
}

func (b *inbox) receive(w http.ResponseWriter, r *http.Request) {
	var e struct{ ID int64 }
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &e) != nil {
		return // the server was killed meanwhile
	}
	if b.reply(w, r, e.ID) {
		b.mu.Lock()
		b.got[e.ID]++
		b.mu.Unlock()
	}
}

// missing returns the events from 1 to last that never arrived.
func (b *inbox) missing(last int64) (all []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := int64(1); id <= last; id++ {
		if b.got[id] == 0 {
			all = append(all, id)
		}
	}
	return all
}

func well(w http.ResponseWriter, _ *http.Request, _ int64) bool {
	w.WriteHeader(http.StatusNoContent)
	return true
}

// An integrator sends requests with a key.
type integrator struct {
	*testing.T
	url, key string
}

func (c *integrator) call(method, path, body string, into any) error {
	r, err := http.NewRequestWithContext(c.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s = %d %s", method, path, answer.StatusCode, text)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func (c *integrator) must(method, path, body string, into any) {
	c.Helper()
	if err := c.call(method, path, body, into); err != nil {
		c.Fatal(err)
	}
}

type hook struct{ ID, State string }

func (c *integrator) hook(url string) (h hook) {
	c.Helper()
	c.must("POST", "/webhooks", `{"url":"`+url+`"}`, &h)
	return h
}

// last returns the id of the latest event.
func (c *integrator) last() (last int64) {
	c.Helper()
	for {
		var page []struct{ ID int64 }
		c.must("GET", fmt.Sprintf("/events?limit=100&after=%d", last), "", &page)
		if len(page) == 0 {
			return last
		}
		last = page[len(page)-1].ID
	}
}

// await polls until done.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * servertest.Patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

func hooksServer(t *testing.T, dir string) (*servertest.Server, error) {
	t.Helper()
	return petstore.Serve(servertest.Options{Dir: dir, Flags: []string{"--log-level=warn", "--webhook-allow-http", "--webhook-allow-to=127.0.0.0/8", "--drain-timeout=5s"}})
}

func newIntegrator(t *testing.T, dir string) *integrator {
	t.Helper()
	if err := petstore.NewWorkspace(dir, "shop"); err != nil {
		t.Fatal(err)
	}
	key, err := petstore.NewKey(dir, "shop", "--scope=read,write,manage")
	if err != nil {
		t.Fatal(err)
	}
	return &integrator{T: t, key: key.Key}
}

// TestWebhooksAreDelivered: the server is killed again and again while it delivers to a
// receiver that is well and to one that fails, hangs up or lies dead at random. In the end
// each event has reached both, and nothing that is no event.
func TestWebhooksAreDelivered(t *testing.T) {
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	var calm atomic.Bool
	steady := newInbox(t, well)
	moody := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		switch n := rand.IntN(8); {
		case calm.Load() || n > 2:
			w.WriteHeader(http.StatusOK)
			return true
		case n == 0:
			panic(http.ErrAbortHandler)
		case n == 1:
			time.Sleep(200 * time.Millisecond)
		}
		w.WriteHeader(http.StatusInternalServerError)
		return false
	})
	made := 0
	for kills := range *webhookKills + 1 {
		server, err := hooksServer(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		c.url = server.URL
		if kills == 0 {
			c.hook(steady.URL)
			c.hook(moody.URL)
		}
		if kills == *webhookKills {
			calm.Store(true)
			finish(c, server, steady, moody)
			break
		}
		stop := time.AfterFunc(time.Duration(50+rand.IntN(250))*time.Millisecond, server.Kill)
		for c.call("POST", "/categories", `{"name":"dogs"}`, nil) == nil {
			made++
		}
		stop.Stop()
		server.Kill()
		<-server.Ended
	}
	t.Logf("%d kills, %d categories", *webhookKills, made)
}

// finish checks that everything arrives. What waits for minutes is asked for at once.
func finish(c *integrator, server *servertest.Server, boxes ...*inbox) {
	c.Helper()
	last := c.last()
	var hooks []hook
	c.must("GET", "/webhooks", "", &hooks)
	for i, box := range boxes {
		await(c.T, fmt.Sprintf("%d events at receiver %d", last, i), func() bool {
			for _, id := range box.missing(last) {
				_ = c.call("POST", fmt.Sprintf("/webhooks/%s/deliveries/%d/retry", hooks[i].ID, id), "", nil) // it may not be due yet
			}
			return len(box.missing(last)) == 0
		})
	}
	if err := server.Stop(); err != nil {
		c.Error(err)
	}
	for i, box := range boxes {
		box.Close() // a late delivery may still be noted: Close waits for it
		for id, times := range box.got {
			if id < 1 || id > last || times > *webhookKills+2 {
				c.Errorf("receiver %d got event %d %d times; the last one is %d", i, id, times, last)
			}
		}
	}
}

// TestBadReceivers: one hangs, one fails, one is gone, one never ends its answer, one has a
// certificate of nobody. Another one gets its events all the same, and at once.
func TestBadReceivers(t *testing.T) {
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	server, err := hooksServer(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	c.url = server.URL
	release := make(chan struct{})
	hanging := newInbox(t, func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	})
	defer close(release)
	failing := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(500); return true })
	gone := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int64) bool { w.WriteHeader(410); return true })
	endless := newInbox(t, func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		for part := make([]byte, 1<<10); ; {
			if _, err := w.Write(part); err != nil {
				return true
			}
		}
	})
	wrong := httptest.NewUnstartedServer(http.NotFoundHandler())
	wrong.Config.ErrorLog = log.New(io.Discard, "", 0) // of each refusal it has a line
	wrong.StartTLS()
	defer wrong.Close()
	var at sync.Map // when each event arrived
	good := newInbox(t, func(w http.ResponseWriter, r *http.Request, id int64) bool {
		at.Store(id, time.Now())
		return well(w, r, id)
	})
	for range 3 {
		c.hook(hanging.URL)
	}
	ended := c.hook(gone.URL)
	refused := c.hook(wrong.URL)
	for _, url := range []string{failing.URL, endless.URL, good.URL} {
		c.hook(url)
	}
	var late []time.Duration
	for range 50 {
		began := time.Now()
		c.must("POST", "/categories", `{"name":"dogs"}`, nil)
		id := c.last()
		await(t, "the event arrives", func() bool { _, there := at.Load(id); return there })
		arrived, _ := at.Load(id)
		late = append(late, arrived.(time.Time).Sub(began))
	}
	slices.Sort(late)
	t.Logf("from the request to the receipt: median %v, most %v", late[25], late[49])
	if late[45] > 5*time.Second {
		t.Errorf("one in ten took %v and longer", late[45])
	}
	await(t, "the one that is gone is disabled", func() bool {
		var h hook
		c.must("GET", "/webhooks/"+ended.ID, "", &h)
		return h.State == "disabled"
	})
	await(t, "the certificate is refused", func() bool {
		var page []struct{ Error string }
		c.must("GET", "/webhooks/"+refused.ID+"/deliveries", "", &page)
		return len(page) > 0 && strings.HasPrefix(page[len(page)-1].Error, "The certificate is not valid")
	})
	if n := len(endless.missing(10)); n > 0 {
		t.Errorf("the one that never ends its answer missed %d of 10 events", n)
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// TestListen: events come to a receiver on this machine, signed with the secret that is
// printed, also after the server was away.
func TestListen(t *testing.T) {
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	server, err := hooksServer(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	c.url = server.URL
	c.must("POST", "/categories", `{"name":"before"}`, nil)
	var secret atomic.Pointer[string]
	box := newInbox(t, well)
	verified := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v, err := standardwebhooks.NewWebhook(*secret.Load())
		if err == nil {
			err = v.Verify(body, r.Header)
		}
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		box.receive(w, r)
	})
	receiver := httptest.NewServer(verified)
	defer receiver.Close()
	listen := exec.CommandContext(t.Context(), string(petstore), "listen", "--forward-to="+receiver.URL, "--server="+server.URL) //nolint:gosec // the binary under test
	listen.Env = []string{"HOME=" + dir, "PETSTORE_KEY=" + c.key}
	out, err := listen.StdoutPipe()
	if err == nil {
		err = listen.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listen.Process.Kill(); _ = listen.Wait() }()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "Secret: "); ok {
			secret.Store(&text)
			break
		}
	}
	if secret.Load() == nil {
		t.Fatal("listen printed no secret")
	}
	c.must("POST", "/categories", `{"name":"first"}`, nil)
	await(t, "the event arrives", func() bool { return len(box.missing(2)) == 1 }) // not the one before
	if !lines.Scan() || !strings.Contains(lines.Text(), "category.created") || !strings.Contains(lines.Text(), "204 No Content") {
		t.Errorf("listen printed %q", lines.Text())
	}
	server.Kill()
	<-server.Ended
	_, addr, _ := strings.Cut(server.URL, "://")
	if server, err = petstore.Serve(servertest.Options{Dir: dir, Flags: []string{"--log-level=warn", "--addr=" + addr}}); err != nil {
		t.Fatal(err)
	}
	c.must("POST", "/categories", `{"name":"second"}`, nil)
	await(t, "the event after the restart arrives", func() bool { return len(box.missing(3)) == 1 })
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
