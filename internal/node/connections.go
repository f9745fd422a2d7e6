package node

import (
	"cmp"
	"log/slog"
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/http1"
)

const (
	// mostConnections is how many the public listener takes at once where neither
	// memory nor descriptors are short, unless --max-connections says.
	mostConnections = 8192

	// connectionCost is what one of HTTP/1.1 may hold in memory at worst: a header up
	// to its bound, read and copied, its buffers and its stack.
	connectionCost = 64 << 10

	// streamsInCost is how many requests a client of HTTP/2 may have open on a connection
	// for which there is connectionCost; mostStreams where there is more. RFC 9113 §6.5.2
	// recommends that at least. It may always have fewestStreams, even if
	// --max-connections says more than memory is for.
	streamsInCost, mostStreams, fewestStreams = 8, 100, 4

	// shortBuffer is how many bytes the system keeps of what a connection sends, where
	// memory is short: a control group counts them too.
	shortBuffer = 64 << 10

	// ofMemory is the share of a container's memory that Go may have: SQLite's is
	// beside it, and so is what the system keeps for sockets.
	ofMemory = 0.5

	// readCost and writeCost are what a request that is carried out may hold: a page of
	// a hundred of the largest events, and the largest body with what is made of it.
	readCost, writeCost = 1 << 20, 128 << 10

	// importCost is what the import of a file in the console may hold beside the file.
	importCost = 6 << 20
)

// limitMemory keeps Go within the memory of its control group, unless GOMEMLIMIT
// says.
func limitMemory(log *slog.Logger) {
	if _, err := memlimit.Set(memlimit.WithRatio(ofMemory)); err != nil {
		log.Debug("no control group's limit of memory is known", "err", err)
	}
}

// A budget divides Go's memory. A quarter each is for connections and for the requests that
// are carried out, an eighth for what clients make wait, and the rest for everything else:
// if what is held came close to the limit, the collector would take half of the processors.
type budget struct {
	memory  int64 // Go's, in bytes
	quarter int64 // or less, if that is enough
	limited bool  // it is not enough for as many connections as there may be
}

func newBudget(memory int64) budget {
	quarter := min(memory/4, mostConnections*connectionCost)
	return budget{memory, quarter, quarter < mostConnections*connectionCost}
}

// streams returns how many requests a client of HTTP/2 may have open on each of so many
// connections: before they begin, nothing can count what they hold, which is some 16 KiB.
// Over TLS a record brings hundreds at once, and net/http keeps four times as many that
// the client has reset.
func (b budget) streams(connections int64) int {
	return int(min(max(streamsInCost*(b.memory/4/connectionCost)/connections, fewestStreams), mostStreams))
}

// reads and writes return how many requests are carried out at once, if the store has so
// many connections for reading. More reads would wait for a connection, or share the
// processors, and the short ones would wait for the long ones. The most writes are those
// of package httpapi.
func (b budget) reads(connections int) int {
	return min(int(max(b.quarter/2/readCost, 4)), connections)
}
func (b budget) writes() int { return int(min(max(b.quarter/2/writeCost, 16), 512)) }

// imports returns how many files the console imports at once, of what is left for
// everything else.
func (b budget) imports() int { return int(min(max(b.quarter/importCost, 1), 4)) }

// held returns how many bytes the answers take that the API holds, of what is left for
// everything else.
func (b budget) held() int64 { return min(max(b.memory/16, 128<<10), 16<<20) }

// limits returns the bounds of the public listener. Half of the descriptors
// are its: the rest is the database's and the operations listener's.
func (b budget) limits(c *config.Config) http1.Limits {
	all := int(b.quarter / connectionCost)
	if most, ok := mostDescriptors(); ok {
		all = min(all, (most-openDescriptors())/2)
	}
	buffer := 0
	if b.limited {
		buffer = shortBuffer
	}
	return http1.Limits{
		Connections: cmp.Or(c.MaxConnections, max(all, 16)),
		Memory:      b.quarter / 2,
		SendBuffer:  buffer,
		Short:       b.limited,
		Exempt:      c.TrustedProxies,
	}
}

// keyStands reports whether a key that was valid when it was shown still is, as far as
// it was read again: it asks nothing of the store, which the directory does for many at once.
func (n *node) keyStands(id string) bool {
	e := n.keys.Held(id)
	return e != nil && e.Key.CheckHolder(n.now()) == nil
}

// openDescriptors returns how many there are; 0 if the system does not say.
func openDescriptors() int {
	open, _ := os.ReadDir("/dev/fd") // some systems have none
	return len(open)
}
