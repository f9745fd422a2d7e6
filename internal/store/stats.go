package store

import "sync/atomic"

// Stats are numbers for metrics, counted since the store was opened.
type Stats struct {
	Groups      int64 // commits that were carried out
	Writes      int64 // writes in them, refused ones included
	LostGroups  int64 // groups that were answered with an error
	SplitGroups int64 // groups that were tried again one by one

	Sizes map[float64]uint64 // of the commits that were carried out: how many had at most so many writes
}

// sizes are the bounds of the histogram of commits.
var sizes = [...]int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}

// A Counter counts groups.
type Counter struct {
	groups, writes, lost, split atomic.Int64

	sizes [len(sizes)]atomic.Uint64 // cumulative only when they are read
}

// Add counts a group of so many writes.
func (c *Counter) Add(n int, err error) {
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
}

// Stats returns the numbers as they stand.
func (c *Counter) Stats() Stats {
	s := Stats{
		Groups: c.groups.Load(), Writes: c.writes.Load(), LostGroups: c.lost.Load(),
		SplitGroups: c.split.Load(),
		Sizes:       make(map[float64]uint64, len(sizes)),
	}
	sum := uint64(0)
	for i, most := range sizes {
		sum += c.sizes[i].Load()
		s.Sizes[float64(most)] = sum
	}
	return s
}
