package sqlite

import "example.com/petstore/internal/groupcommit"

// Stats are numbers for metrics, counted since Open.
type Stats struct {
	groupcommit.Stats

	Waiting     int // writes that wait now
	Readers     int // connections for reading
	IdleReaders int // those of them that nobody uses now
}

// Stats returns the numbers as they stand.
func (db *DB) Stats() Stats {
	return Stats{
		Stats:       db.counted.Stats(),
		Waiting:     db.queue.Len(),
		Readers:     db.count,
		IdleReaders: len(db.readers.free),
	}
}
