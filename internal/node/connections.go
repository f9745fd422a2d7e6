package node

import (
	"cmp"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"example.com/petstore/internal/http1"
)

const (
	// mostConnections is how many the public listener takes at once where neither
	// memory nor descriptors are short, unless --max-connections says.
	mostConnections = 8192

	// connectionCost is what one may hold in memory at worst: a header up to its
	// bound, read and copied, its buffers and its stack. http2Cost is how many times
	// as much one of HTTP/2 may, with all its streams and ten thousand answers to
	// pings waiting.
	connectionCost = 64 << 10
	http2Cost      = 32

	// ofMemory is the share of a container's memory that Go may have: SQLite's is
	// beside it, and so is what the system keeps for sockets.
	ofMemory = 0.5
)

// limitMemory keeps Go within the memory of its control group, unless GOMEMLIMIT
// says.
func (n *node) limitMemory() {
	if _, err := memlimit.Set(memlimit.WithRatio(ofMemory)); err != nil {
		n.log.Debug("no control group's limit of memory is known", "err", err)
	}
}

// connectionLimits returns the bounds of the public listener. A quarter of Go's
// memory is theirs, and half of the descriptors: the rest is the database's and
// the operations listener's.
func (n *node) connectionLimits() http1.Limits {
	all := mostConnections
	if memory := debug.SetMemoryLimit(-1); memory < math.MaxInt64 {
		all = min(all, int(memory/4/connectionCost))
	}
	if most, ok := mostDescriptors(); ok {
		all = min(all, (most-openDescriptors())/2)
	}
	all = cmp.Or(n.Config.MaxConnections, max(all, 16))
	return http1.Limits{
		All:        all,
		PerAddress: cmp.Or(n.Config.MaxAnonymousPerAddress, max(all/4, 1)),
		HTTP2:      max(all/http2Cost, 1),
		Exempt:     n.Config.TrustedProxies,
	}
}

// openDescriptors returns how many there are; 0 if the system does not say.
func openDescriptors() int {
	open, _ := os.ReadDir("/dev/fd") // some systems have none
	return len(open)
}
