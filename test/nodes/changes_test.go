package nodes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/test/servertest"
)

// TestThreeNodes: one quota, one set of keys and one set of sandboxes, whichever node is
// asked.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	awaitDay(t)
	d := deploy(t, newDatabase(t), 3, "--redis="+redistest.Start(t).URL(), fmt.Sprint("--ban-strikes=", strikes), "--ban-grace=0s",
		"--sandbox", "--sandbox-plan=business")
	for name, part := range map[string]func(*deployment){"changes": changes, "bans": bans, "limits": limits, "resets": resets} {
		t.Run(name, func(t *testing.T) {
			of := *d
			of.t = t
			part(&of)
		})
	}
}

const strikes = 5

// changes: what the commands change beside the nodes holds at each of them within a
// second.
func changes(d *deployment) {
	first := d.workspace("changes", endless, endless)
	var key servertest.Key
	d.change("a new key is accepted", func() string {
		out := d.run("key", "create", "changes", "-o=json")
		must(d.t, json.Unmarshal([]byte(out), &key))
		return key.Key
	}, func(a servertest.Answer) bool { return a.Status == http.StatusOK })
	d.change("a plan counts", func() string {
		d.run("workspace", "set-plan", "changes", "enterprise", "--per-minute=777777", "--per-day=1000000000")
		return key.Key
	}, func(a servertest.Answer) bool { return a.Header.Get("X-RateLimit-Limit") == "777777" })
	d.change("a ban holds", func() string {
		d.run("key", "ban", key.ID, "--for=1h", "--reason=test")
		return key.Key
	}, banned)
	d.change("it is lifted", func() string { d.run("key", "unban", key.ID); return key.Key },
		func(a servertest.Answer) bool { return a.Status == http.StatusOK })
	d.change("a revoked key is refused", func() string { d.run("key", "revoke", key.ID); return key.Key },
		func(a servertest.Answer) bool { return a.Header.Get("X-RateLimit-Limit") != "777777" }) // it counts as nobody's, whether 401 or 429
	if a := get(d.t, d.nodes[0].URL+"/pets", first.Key); a.Status != http.StatusOK {
		d.t.Errorf("the other key = %d %s, want 200", a.Status, a.Body)
	}
}

func banned(a servertest.Answer) bool { return a.Code == "api_key_banned" }

// bans: a client that asks three nodes in turn is banned by one of them after at most
// three times the strikes. The ban holds at the others within a second.
func bans(d *deployment) {
	key := d.workspace("bans", endless, 1).Key
	d.change("a ban holds", func() string {
		refused := 0
		for i := 0; refused <= 100; i++ {
			switch a := get(d.t, d.nodes[i%3].URL+"/pets", key); {
			case banned(a):
				if refused > 3*strikes {
					d.t.Errorf("banned after %d refusals, want %d at most", refused, 3*strikes)
				}
				return key
			case a.Code == "rate_limit_exceeded":
				refused++
			}
		}
		d.t.Fatalf("no ban in %d refusals", refused)
		return key
	}, banned)
}

// change makes one, and wants it to hold at each node a second after the command
// has ended. The command returns the key to ask with.
func (d *deployment) change(what string, command func() string, holds func(servertest.Answer) bool) {
	d.t.Helper()
	key := command()
	ended := time.Now()
	for i, n := range d.nodes {
		for {
			begun := time.Now()
			a := get(d.t, n.URL+"/account", key) // which spends nothing
			if holds(a) {
				break
			}
			if begun.Sub(ended) > time.Second {
				d.t.Errorf("%s: not at node %d after a second, but %s", what, i, fmt.Sprint(a.Status, " ", a.Code))
				break
			}
			time.Sleep(10 * time.Millisecond) // between two polls
		}
	}
	d.t.Logf("%s: at %d nodes %v after the command", what, len(d.nodes), time.Since(ended).Round(time.Millisecond))
}
