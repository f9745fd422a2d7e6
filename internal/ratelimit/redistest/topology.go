package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/processtest"
)

// StartReplica runs a replica of a server.
func StartReplica(tb testing.TB, master *Server) *Server {
	tb.Helper()
	s := Start(tb, "--replicaof", "127.0.0.1", strconv.Itoa(master.port))
	s.Await(tb, "role:slave\r\n", "master_link_status:up\r\n")
	return s
}

// Await returns when the server says all that is wanted of its replication.
func (s *Server) Await(tb testing.TB, wanted ...string) {
	tb.Helper()
	s.awaitInfo(tb, "INFO replication", wanted...)
}

// awaitInfo returns when the answer to a command holds all that is wanted.
func (s *Server) awaitInfo(tb testing.TB, command string, wanted ...string) {
	tb.Helper()
	var said string
	lacks := func(want string) bool { return !strings.Contains(said, want) }
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if said = s.ask(command); !slices.ContainsFunc(wanted, lacks) {
			return
		}
	}
	tb.Fatalf("%s does not say %q, but %q", command, wanted, said)
}

// StartSentinels runs n sentinels that watch a master under the given name. They have noticed each other and its replicas
// when it returns; a master that is silent for half a second is replaced.
func StartSentinels(tb testing.TB, n int, name string, master *Server, replicas int) []*Server {
	tb.Helper()
	var all []*Server
	for range n {
		all = append(all, startSentinel(tb, name, master, n/2+1))
	}
	for _, s := range all {
		known := []string{fmt.Sprintf("slaves=%d,", replicas), fmt.Sprintf("sentinels=%d", n)}
		s.awaitInfo(tb, "INFO sentinel", known...)
	}
	return all
}

func startSentinel(tb testing.TB, name string, master *Server, quorum int) *Server {
	tb.Helper()
	conf := filepath.Join(tb.TempDir(), "sentinel.conf") // which the sentinel rewrites
	text := fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d %d\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
		name, master.port, quorum, name, name)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	giveTo(tb, filepath.Dir(conf))
	giveTo(tb, conf)
	openTo(tb, filepath.Dir(conf))
	return start(tb, "redis-sentinel", []string{conf})
}

// SentinelURL returns the URL of a master that sentinels watch under the given name.
func SentinelURL(name string, sentinels []*Server) string {
	return several(sentinels) + "&master_set=" + name
}

// ClusterURL returns the URL of a cluster.
func ClusterURL(servers []*Server) string { return several(servers) }

func several(servers []*Server) string {
	url, between := servers[0].URL(), "?"
	for _, s := range servers[1:] {
		url += between + "addr=" + s.Addr()
		between = "&"
	}
	return url
}

// StartClusterNode runs a server for a cluster, which belongs to none yet.
func StartClusterNode(tb testing.TB) *Server {
	tb.Helper()
	bus, err := processtest.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	return Start(tb, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "1000")
}

// StartCluster runs a cluster of n masters, at least three, without replicas.
func StartCluster(tb testing.TB, n int) []*Server {
	tb.Helper()
	var all []*Server
	words := []string{"--cluster", "create"}
	for range n {
		s := StartClusterNode(tb)
		all, words = append(all, s), append(words, s.Addr())
	}
	out, err := exec.CommandContext(tb.Context(), "redis-cli", append(words, "--cluster-yes")...).CombinedOutput() //nolint:gosec // addresses of ours
	if err != nil {
		tb.Fatalf("redis-cli --cluster create: %v: %s", err, out)
	}
	for _, s := range all {
		s.awaitInfo(tb, "CLUSTER INFO", "cluster_state:ok", fmt.Sprintf("cluster_size:%d", n))
	}
	return all
}

// StartTLS runs a server that speaks TLS on a port of its own. It returns the URL, and the file with the certificate that
// a client must trust.
func StartTLS(tb testing.TB) (s *Server, url, certificate string) {
	tb.Helper()
	dir := tb.TempDir()
	cert, key, err := processtest.WriteCertificate(dir, "localhost")
	if err != nil {
		tb.Fatal(err)
	}
	giveTo(tb, cert)
	giveTo(tb, key)
	openTo(tb, dir)
	port, err := processtest.FreePort()
	if err != nil {
		tb.Fatal(err)
	}
	s = Start(tb, "--tls-port", strconv.Itoa(port), "--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
	return s, "rediss://localhost:" + strconv.Itoa(port), cert
}

// giveTo makes the server's user the owner of a file or folder.
func giveTo(tb testing.TB, path string) {
	tb.Helper()
	if who := unprivileged(); who != nil {
		if err := os.Chown(path, int(who.Uid), int(who.Gid)); err != nil {
			tb.Fatal(err)
		}
	}
}

// openTo lets the server's user into a folder of the test, and those above it that the test made.
func openTo(tb testing.TB, dir string) {
	tb.Helper()
	for ; dir != filepath.Clean(os.TempDir()) && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a test's
			tb.Fatal(err)
		}
	}
}
