package sqlite

import (
	"encoding/binary"
	"iter"
	"slices"

	"zombiezen.com/go/sqlite"
)

// A recent is the column of that name: the latest orders of a pet, which are not in
// pet_orders yet, in ascending order of their ids. Each is twice its id, and one more
// if it is complete; zeros follow. NULL is as good as none.
type recent []int64

const (
	mostRecent = 8 // orders: then they go to pet_orders, all at once
	recentStep = 4 // by so many the column grows: most orders leave the row as long as it was, and its page in place
)

func scanRecent(row *sqlite.Stmt, col int) recent {
	var bytes [8 * mostRecent]byte
	r := make(recent, row.ColumnBytes(col, bytes[:])/8, mostRecent)
	for i := range r {
		r[i] = int64(binary.BigEndian.Uint64(bytes[8*i:])) //nolint:gosec // as column wrote it
	}
	return r
}

// column returns what is kept.
func (r recent) column() (bytes []byte) {
	for _, order := range r {
		bytes = binary.BigEndian.AppendUint64(bytes, uint64(order)) //nolint:gosec // not negative
	}
	return bytes
}

// all gives the ids of the orders, and whether each is complete.
func (r recent) all() iter.Seq2[int64, bool] {
	return func(yield func(int64, bool) bool) {
		for _, order := range r {
			if order != 0 && !yield(order>>1, order&1 != 0) {
				return
			}
		}
	}
}

// add appends an order, and reports false if there is no room.
func (r *recent) add(id int64, complete bool) bool {
	at := slices.Index(*r, 0)
	if at < 0 {
		if at = len(*r); at == mostRecent {
			return false
		}
		*r = append(*r, make(recent, recentStep)...)
	}
	if (*r)[at] = id << 1; complete {
		(*r)[at]++
	}
	return true
}

// change completes an order, or removes it. It reports whether the order is one of
// these.
func (r recent) change(id int64, remove bool) bool {
	at := slices.IndexFunc(r, func(order int64) bool { return order>>1 == id })
	switch {
	case at < 0:
		return false
	case remove:
		copy(r[at:], r[at+1:])
		r[len(r)-1] = 0
	default:
		r[at] |= 1
	}
	return true
}
