package postgres

import "sync/atomic"

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
}

type counters struct{ groups, writes, lost, largest, split, retries, replica atomic.Int64 }

// add counts a group.
func (c *counters) add(n int, err error) {
	if err != nil {
		c.lost.Add(1)
		return
	}
	c.groups.Add(1)
	c.writes.Add(int64(n))
	for {
		largest := c.largest.Load()
		if int64(n) <= largest || c.largest.CompareAndSwap(largest, int64(n)) {
			return
		}
	}
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	readers := db.readers.Stat()
	return Stats{
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
	}
}
