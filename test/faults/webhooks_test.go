package faults

import (
	"bufio"
	"flag"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/petstore/test/servertest"
)

// webhookKills is how often TestWebhooksAreDelivered kills the server.
var webhookKills = flag.Int("webhook-kills", 12, "let TestWebhooksAreDelivered kill the server `N` times")

// TestWebhooksAreDelivered: the server is killed again and again while it delivers to a
// receiver that is well and to one that fails, hangs up or lies dead at random. In the end
// each event has reached both, and nothing that is no event; the one that is well had them
// in order.
func TestWebhooksAreDelivered(t *testing.T) {
	t.Parallel()
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

// TestListen: events come to a receiver on this machine, also after the server was away.
func TestListen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newIntegrator(t, dir)
	server := c.startHooks(dir)
	c.must("POST", "/categories", `{"name":"before"}`, nil)
	box := newInbox(t, well)
	listen := exec.CommandContext(t.Context(), string(petstore), "listen", "--forward-to="+box.URL, "--server="+server.URL) //nolint:gosec // the binary under test
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
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "Secret: ") { // it listens then
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
