package sqlite

import "sync/atomic"

// Stats are numbers for metrics, counted since Open.
type Stats struct {
	Groups       int64 // commits that were carried out
	Writes       int64 // writes in them, refused ones included
	LostGroups   int64 // groups that were answered with Unavailable
	LargestGroup int64 // most writes in one commit
	Waiting      int   // writes that wait now
	Readers      int   // connections for reading
	IdleReaders  int   // those of them that nobody uses now
}

type counters struct{ groups, writes, lost, largest atomic.Int64 }

// add counts a group; only the writer calls it.
func (c *counters) add(n int, err error) {
	if err != nil {
		c.lost.Add(1)
		return
	}
	c.groups.Add(1)
	c.writes.Add(int64(n))
	c.largest.Store(max(c.largest.Load(), int64(n)))
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	return Stats{
		Groups:       db.counted.groups.Load(),
		Writes:       db.counted.writes.Load(),
		LostGroups:   db.counted.lost.Load(),
		LargestGroup: db.counted.largest.Load(),
		Waiting:      db.queue.len(),
		Readers:      db.count,
		IdleReaders:  len(db.readers.free),
	}
}
