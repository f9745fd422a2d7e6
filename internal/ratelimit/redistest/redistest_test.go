package redistest_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/ratelimit/redistest"
)

// TestPortsAreNoClients checks that no connection of a client can have taken the
// port of a server that is started, or started again.
func TestPortsAreNoClients(t *testing.T) {
	t.Parallel()
	node := redistest.StartClusterNode(t)
	secure, address, _ := redistest.StartTLS(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	_, bus, _ := strings.Cut(node.Do(t, "CLUSTER", "NODES"), "@")
	bus, _, _ = strings.Cut(bus, " ")
	bus, _, _ = strings.Cut(bus, ",") // the name of the host
	for what, text := range map[string]string{
		"of a server": strconv.Itoa(secure.Port()), "for TLS": u.Port(), "of a node of a cluster": strconv.Itoa(node.Port()), "of its bus": bus,
	} {
		if port, err := strconv.Atoi(text); err != nil || port < 1024 || port >= 32768 {
			t.Errorf("the port %s is %q, want one from 1024 on and below 32768, the first that Linux gives to clients", what, text)
		}
	}
}
