package node

import (
	"cmp"
	"log/slog"
	"os"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/http1"
)

const (
	// mostConnections is how many connections the public listener accepts at once by
	// default, if neither memory nor descriptors are short.
	mostConnections = 8192

	// connectionCost is how many bytes a connection of HTTP/1.1 may hold at most: the
	// longest header, read and copied, its buffers and its stack.
	connectionCost = 64 << 10

	// streamsInCost is how many requests of HTTP/2 may be open on a connection if there
	// is just connectionCost for each connection. If there is more memory, there may be
	// up to mostStreams, which is the least that RFC 9113 §6.5.2 recommends. There may
	// always be fewestStreams, even if --max-connections is more than the memory allows.
	streamsInCost, mostStreams, fewestStreams = 8, 100, 4

	// shortBuffer is the size of the system's send buffer of a connection if memory is
	// short, since a control group counts it too.
	shortBuffer = 64 << 10

	// ofMemory is the share of a container's memory that Go may use. SQLite and the
	// buffers of sockets need the rest.
	ofMemory = 0.5

	// readCost and writeCost are how many bytes a request may hold while it is carried
	// out: a page of a hundred of the largest events, and the largest body with what is
	// decoded from it.
	readCost, writeCost = 1 << 20, 128 << 10

	// importCost is how many bytes an import in the console may hold in addition to the
	// file.
	importCost = 6 << 20
)

// limitMemory sets Go's memory limit from the control group, unless GOMEMLIMIT is set.
func limitMemory(log *slog.Logger) {
	if _, err := memlimit.Set(memlimit.WithRatio(ofMemory)); err != nil {
		log.Debug("no control group's limit of memory is known", "err", err)
	}
}

// A budget divides Go's memory. A quarter is for connections, a quarter for requests that
// are carried out, an eighth for what clients cause to wait in memory, and the rest for
// everything else. If the used memory came close to the limit, the garbage collector would
// take half of the processors.
type budget struct {
	memory  int64 // Go's, in bytes
	quarter int64 // a quarter of it, or less if that is enough
	limited bool  // quarter is not enough for mostConnections
}

func newBudget(memory int64) budget {
	quarter := min(memory/4, mostConnections*connectionCost)
	return budget{memory, quarter, quarter < mostConnections*connectionCost}
}

// streams returns how many requests of HTTP/2 may be open on each of the connections.
// Before a request begins, its memory of some 16 KiB is not counted. A record of TLS may
// contain hundreds of requests, and net/http keeps up to four times as many that the
// client has reset.
func (b budget) streams(connections int64) int {
	return int(min(max(streamsInCost*(b.memory/4/connectionCost)/connections, fewestStreams), mostStreams))
}

// reads and writes return how many requests may be carried out at once. connections is
// how many connections for reading the store has: more reads would wait for a
// connection, and short ones would wait for long ones.
func (b budget) reads(connections int) int {
	return min(int(max(b.quarter/2/readCost, 4)), connections)
}
func (b budget) writes() int { return int(min(max(b.quarter/2/writeCost, 16), 512)) }

// imports returns how many files the console may import at once. Their memory is part
// of the rest of the budget.
func (b budget) imports() int { return int(min(max(b.quarter/importCost, 1), 4)) }

// caches reports whether there is memory for the API's cache of answers, most of which is
// not Go's.
func (b budget) caches() bool { return b.memory >= 256<<20 }

// limits returns the limits of the public listener. It may use half of the file
// descriptors; the rest is for the database and the operations listener.
func (b budget) limits(c *config.Config) http1.Limits {
	all := int(b.quarter / connectionCost)
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err == nil {
		all = min(all, (int(min(files.Cur, 1<<30))-openDescriptors())/2) //nolint:gosec // it fits
	}
	buffer := 0
	if b.limited {
		buffer = shortBuffer
	}
	return http1.Limits{
		Connections: cmp.Or(c.MaxConnections, max(all, 16)),
		Memory:      b.quarter / 2,
		SendBuffer:  buffer,
		Exempt:      c.TrustedProxies,
	}
}

// keyIsValid reports whether a key of a connection is still valid, according to the
// directory. It does not read the store; the directory does so for many keys at once.
func (n *node) keyIsValid(id string) bool {
	e := n.keys.Held(id)
	return e != nil && e.Key.CheckValid(n.now()) == nil
}

// openDescriptors returns how many descriptors are open; 0 if the system does not say.
func openDescriptors() int {
	open, _ := os.ReadDir("/dev/fd") // some systems have none
	return len(open)
}
