package nodes

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/test/servertest"
)

// A place is where a node listens, before and after it is restarted.
type place struct{ addr, ops string }

// balance runs HAProxy with deploy/haproxy.cfg, whose names and ports become
// those of this test. It returns the addresses of the balancer and of its
// statistics.
func balance(t *testing.T, places []place) (public, stats string) {
	t.Helper()
	program := servertest.Need(t, "haproxy", "haproxy")
	public, stats = servertest.FreeAddr(t), servertest.FreeAddr(t)
	config := servertest.Text(t, "../../deploy/haproxy.cfg")
	for i, p := range places {
		_, port, _ := net.SplitHostPort(p.ops)
		name := fmt.Sprint("node", i+1)
		config = replace(t, config, fmt.Sprintf("server %s %s:8080", name, name), fmt.Sprintf("server %s %s port %s", name, p.addr, port))
	}
	config = replace(t, config, "maxconn 20000", "maxconn 500") // for which the limit of descriptors need not be raised
	config = replace(t, config, "bind :8080", "bind "+public)
	config = replace(t, config, "check port 9090 inter 1s", "check inter 200ms") // and a shorter delay of the drain
	config = replace(t, config, "init-addr last,libc,none resolvers docker", "")
	config = regexp.MustCompile(`(?ms)^resolvers docker.*?^$`).ReplaceAllString(config+"\n", "")
	config += "\nfrontend statistics\n    bind " + stats + "\n    stats enable\n    stats uri /\n"
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	must(t, os.WriteFile(file, []byte(config), 0o600))
	servertest.Started(t, nil, program, "-db", "-f", file)
	return "http://" + public, "http://" + stats + "/;csv"
}

func replace(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("deploy/haproxy.cfg has no %q", old)
	}
	return strings.ReplaceAll(text, old, by)
}

// awaitState waits until the balancer has this state for a node.
func awaitState(t *testing.T, stats string, node int, state string) {
	t.Helper()
	row := regexp.MustCompile(fmt.Sprintf(`(?m)^nodes,node%d,(?:[^,]*,){15}%s`, node+1, state))
	servertest.Eventually(t, fmt.Sprintf("the balancer has node %d %s", node+1, state), func() bool {
		a, err := servertest.Send(t.Context(), http.DefaultClient, servertest.Request{Method: "GET", URL: stats})
		return err == nil && row.MatchString(a.Body)
	})
}

// startClients starts clients that read and order in turn, with a connection for each
// request, so that no client library hides a failure by trying again. It counts the orders.
func startClients(n int, url, key string, ordered *atomic.Int64) *servertest.Herd {
	transports := make([]*http.Transport, n)
	for i := range transports {
		transports[i] = &http.Transport{DisableKeepAlives: true}
	}
	return servertest.StartHerd(transports, func(_, number int) (servertest.Request, int) {
		if number%2 == 0 {
			return servertest.Request{Method: "GET", URL: url + "/pets?limit=5", Key: key}, http.StatusOK
		}
		ordered.Add(1)
		return servertest.Request{Method: "POST", URL: url + "/store/orders", Key: key, Body: `{"petId":1}`}, http.StatusCreated
	})
}

// TestRollingRestart runs what deploy/compose.yaml describes, two nodes with its
// settings behind its balancer on PostgreSQL and Redis, and restarts one node
// after the other under load. No request fails.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	places := []place{{servertest.FreeAddr(t), servertest.FreeAddr(t)}, {servertest.FreeAddr(t), servertest.FreeAddr(t)}}
	public, stats := balance(t, places)
	d := deploy(t, newDatabase(t), 0, "--redis="+redistest.Start(t).URL(), "--base-url="+public,
		"--trusted-proxies=127.0.0.1/32", "--drain-delay=2s")
	start := func(i int) *servertest.Server {
		s := d.serve("--addr="+places[i].addr, "--ops-addr="+places[i].ops)
		if s != nil {
			s.URL = "http://" + places[i].addr // it announces the balancer's
		}
		return s
	}
	for i := range places {
		d.nodes = append(d.nodes, start(i))
		if t.Failed() {
			t.FailNow()
		}
		awaitState(t, stats, i, "UP")
	}
	const units = 100_000_000
	key := d.shop("shop", units)
	var ordered atomic.Int64
	clients := startClients(8, public, key.Key, &ordered)
	for i := range places {
		clients.More(100)
		d.restart(i, start, key.Key, func() { awaitState(t, stats, i, "DOWN") })
		awaitState(t, stats, i, "UP")
	}
	clients.More(100)
	if sent, err := clients.End(); err != nil {
		t.Error(err)
	} else if left := unitsLeft(t, public, key.Key); left != units-int(ordered.Load()) {
		t.Errorf("%d units are left after %d requests with %d orders of %d units", left, sent, ordered.Load(), units)
	}
	d.sound()
}

// restart ends a node and starts it again. While it drains it says that it is
// not ready, and goes on answering until the balancer has noticed.
func (d *deployment) restart(i int, start func(int) *servertest.Server, key string, noticed func()) {
	t := d.t
	t.Helper()
	node := d.nodes[i]
	must(t, node.Cmd.Process.Signal(syscall.SIGTERM))
	servertest.Eventually(t, "the node says that it ends", func() bool { return get(t, node.Ops+"/readyz", "").Status == http.StatusServiceUnavailable })
	if a := get(t, node.URL+"/pets", key); a.Status != http.StatusOK {
		t.Errorf("a node that drains = %d %s, want 200", a.Status, a.Body)
	}
	noticed()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	if err := node.Wait(ctx); err != nil {
		t.Errorf("the end of node %d: %v", i, err)
	}
	if d.nodes[i] = start(i); d.nodes[i] == nil {
		t.FailNow()
	}
}
