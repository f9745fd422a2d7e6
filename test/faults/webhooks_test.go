package faults

import (
	"bufio"
	"bytes"
	"flag"
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

// TestWebhooksAreDelivered: the server is killed again and again while it delivers to a
// receiver that is well and to one that fails, hangs up or lies dead at random. In the end
// each event has reached both, and nothing that is no event; the one that is well had them
// in order.
func TestWebhooksAreDelivered(t *testing.T) {
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	var calm atomic.Bool
	steady := newInbox(t, well)
	moody := newMoodyInbox(t, calm.Load)
	made := 0
	for kills := range *webhookKills + 1 {
		server := c.startHooks(dir)
		if kills == 0 {
			c.hook(steady.URL)
			c.hook(moody.URL)
		}
		if kills == *webhookKills {
			calm.Store(true)
			c.finish(*webhookKills, []*servertest.Server{server}, steady, moody)
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

// TestBadReceivers: one hangs, one fails, one is gone, one never ends its answer, one has a
// certificate of nobody. Another one gets its events all the same, and at once.
func TestBadReceivers(t *testing.T) {
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	server := c.startHooks(dir)
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
		id := int64(len(c.feed()))
		servertest.Eventually(t, "the event arrives", func() bool { _, there := at.Load(id); return there })
		arrived, _ := at.Load(id)
		late = append(late, arrived.(time.Time).Sub(began))
	}
	slices.Sort(late)
	t.Logf("from the request to the receipt: median %v, most %v", late[25], late[49])
	if late[45] > 5*time.Second {
		t.Errorf("one in ten took %v and longer", late[45])
	}
	servertest.Eventually(t, "the one that is gone is disabled", func() bool {
		var h hook
		c.must("GET", "/webhooks/"+ended.ID, "", &h)
		return h.State == "disabled"
	})
	servertest.Eventually(t, "the certificate is refused", func() bool {
		var page []struct{ Error string }
		c.must("GET", "/webhooks/"+refused.ID+"/deliveries", "", &page)
		return len(page) > 0 && strings.HasPrefix(page[len(page)-1].Error, "The certificate is not valid")
	})
	if n := len(endless.missing(upTo(10))); n > 0 {
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
	server := c.startHooks(dir)
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
	servertest.Eventually(t, "the event arrives", func() bool { return len(box.missing(upTo(2))) == 1 }) // not the one before
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
	servertest.Eventually(t, "the event after the restart arrives", func() bool { return len(box.missing(upTo(3))) == 1 })
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}
