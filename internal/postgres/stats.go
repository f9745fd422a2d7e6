package postgres

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Stats are numbers for metrics, of this node, counted since Open.
type Stats struct {
	Groups       int64 // commits that were carried out
	Writes       int64 // changes in them, refused ones included
	LostGroups   int64 // groups that were answered with an error
	LargestGroup int64 // most changes in one commit
	SplitGroups  int64 // groups that were tried again one by one
	Retries      int64 // tries after the first one
	Waiting      int   // changes that wait now
	Readers      int   // connections for reading that are open
	IdleReaders  int   // those of them that nobody uses now
	ReplicaReads int64 // reads that a replica has answered

	Sizes map[float64]uint64 // of the commits that were carried out: how many had at most so many changes
	Pools []Pool             // what each is for names it: "write", "issue", "read" and, with a replica, "replica"

	// ReplicaLag is how old what the replica shows was at most when it was last
	// asked, a second ago or so, and negative if that is not known: there is no
	// replica, it does not answer, or nobody asks, see [DB.Watch].
	ReplicaLag time.Duration
}

// A Pool is how the connections of one kind are used.
type Pool struct {
	Name              string
	Most, Used, Idle  int
	Acquired, Waited  int64         // how often a connection was taken, and how often none was free
	WaitingTime       time.Duration // of those who waited, added up
	Opened, Abandoned int64         // connections made; those who gave up waiting
}

// sizes are the bounds of the histogram of commits.
var sizes = [...]int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

type counters struct {
	groups, writes, lost, largest, split, retries, replica atomic.Int64

	sizes [len(sizes)]atomic.Uint64 // cumulative only when they are read
}

// add counts a group.
func (c *counters) add(n int, err error) {
	if err != nil {
		c.lost.Add(1)
		return
	}
	c.groups.Add(1)
	c.writes.Add(int64(n))
	for i, most := range sizes {
		if int64(n) <= most {
			c.sizes[i].Add(1)
			break
		}
	}
	for {
		largest := c.largest.Load()
		if int64(n) <= largest || c.largest.CompareAndSwap(largest, int64(n)) {
			return
		}
	}
}

func (c *counters) histogram() map[float64]uint64 {
	all, sum := make(map[float64]uint64, len(sizes)), uint64(0)
	for i, most := range sizes {
		sum += c.sizes[i].Load()
		all[float64(most)] = sum
	}
	return all
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	readers := db.readers.Stat()
	s := Stats{
		Groups:       db.counted.groups.Load(),
		Writes:       db.counted.writes.Load(),
		LostGroups:   db.counted.lost.Load(),
		LargestGroup: db.counted.largest.Load(),
		SplitGroups:  db.counted.split.Load(),
		Retries:      db.counted.retries.Load(),
		Waiting:      db.queue.len(),
		Readers:      int(readers.TotalConns()),
		IdleReaders:  int(readers.IdleConns()),
		ReplicaReads: db.counted.replica.Load(),
		Sizes:        db.counted.histogram(),
		Pools:        []Pool{poolOf("write", db.writer), poolOf("issue", db.issuer.pool), poolOf("read", db.readers)},
		ReplicaLag:   -1,
	}
	if db.replica != nil {
		s.Pools = append(s.Pools, poolOf("replica", db.replica.pool))
		s.ReplicaLag = time.Duration(db.replica.lag.Load())
	}
	return s
}

func poolOf(name string, p *pgxpool.Pool) Pool {
	s := p.Stat()
	return Pool{
		Name: name,
		Most: int(s.MaxConns()), Used: int(s.AcquiredConns()), Idle: int(s.IdleConns()),
		Acquired: s.AcquireCount(), Waited: s.EmptyAcquireCount(), WaitingTime: s.EmptyAcquireWaitTime(),
		Opened: s.NewConnsCount(), Abandoned: s.CanceledAcquireCount(),
	}
}
