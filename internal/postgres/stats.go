package postgres

import (
	"sync/atomic"
	"time"

	"example.com/petstore/internal/groupcommit"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Stats are numbers for metrics, of this node, counted since Open.
type Stats struct {
	groupcommit.Stats

	SplitGroups  int64 // groups that were tried again one by one
	Retries      int64 // tries after the first one
	Waiting      int   // changes that wait now
	Readers      int   // connections for reading that are open
	IdleReaders  int   // those of them that nobody uses now
	ReplicaReads int64 // reads that a replica has answered

	Pools []Pool // what each is for names it: "write", "issue", "read" and, with a replica, "replica"

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

type counters struct {
	groupcommit.Counter

	split, retries, replica atomic.Int64
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	readers := db.readers.Stat()
	s := Stats{
		Stats:        db.counted.Stats(),
		SplitGroups:  db.counted.split.Load(),
		Retries:      db.counted.retries.Load(),
		Waiting:      db.queue.Len(),
		Readers:      int(readers.TotalConns()),
		IdleReaders:  int(readers.IdleConns()),
		ReplicaReads: db.counted.replica.Load(),
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
