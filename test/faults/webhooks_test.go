package faults

import (
	"flag"
	"math/rand/v2"
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
