package sqlite

import (
	"encoding/binary"
	"iter"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A recent is the column of that name: the latest orders of a pet, in
// ascending order of their ids. The first byte says whether there may be earlier
// ones, in pet_orders. Of each order follows, as binary.Uvarint reads it, how much
// its id is greater than the one before, twice that, and one more if it is complete;
// then zeros. The length is a multiple of recentStep, so that most orders leave the
// row as long as it was and its page in place. Without a byte a pet had no order
// yet. NULL is the row of a pet whose orders, if it has any, are all in
// pet_orders: one that was imported, or was there before the column.
type recent struct {
	bytes  [mostRecent]byte
	length int // of the column
}

const (
	mostRecent  = 64 // bytes: ten orders of many pets that are far apart, sixty of one that has every order
	recentStep  = 16
	hasEarlier  = 1 // in the first byte
	noneEarlier = 0
)

func scanRecent(row *sqlite.Stmt, col int) (r recent) {
	if row.ColumnIsNull(col) {
		r.bytes[0] = hasEarlier
		return r
	}
	row.ColumnBytes(col, r.bytes[:])
	r.length = row.ColumnLen(col)
	return r
}

// earlier reports whether there may be orders in pet_orders, too.
func (r *recent) earlier() bool { return r.bytes[0] != noneEarlier }

// all gives the ids of the orders, and whether each is complete.
func (r *recent) all() iter.Seq2[int64, bool] {
	return func(yield func(int64, bool) bool) {
		for at, id := 1, int64(0); ; {
			step, n := r.step(at)
			if n == 0 {
				return
			}
			at += n
			if id += step >> 1; !yield(id, step&1 != 0) {
				return
			}
		}
	}
}

// step returns what is noted of an order at a place, and in how many bytes: none
// behind the last.
func (r *recent) step(at int) (int64, int) {
	step, n := binary.Uvarint(r.bytes[at:])
	if step < 2 || step > petstore.MaxID<<1+1 || n <= 0 {
		return 0, 0
	}
	return int64(step), n //nolint:gosec // bounded
}

// end returns the place behind the last order, and its id.
func (r *recent) end() (at int, last int64) {
	for at = 1; ; {
		step, n := r.step(at)
		if n == 0 {
			return at, last
		}
		at += n
		last += step >> 1
	}
}

// add appends an order. It reports false, and leaves the others as they are, if
// there is no room or the id is not greater than theirs.
func (r *recent) add(id int64, complete bool) bool {
	at, last := r.end()
	if id <= last {
		return false
	}
	at = r.put(at, last, id, complete)
	if at == 0 {
		return false
	}
	clear(r.bytes[at:]) // of what damage left there
	r.length = max(r.length, (at+recentStep-1)/recentStep*recentStep)
	return true
}

// put writes an order to a place, behind the one with the id last, and returns the
// place behind it. It returns 0, and writes nothing, if there is no room.
func (r *recent) put(at int, last, id int64, complete bool) int {
	var coded [binary.MaxVarintLen64]byte
	step := uint64(id-last) << 1 //nolint:gosec // greater
	if complete {
		step++
	}
	n := binary.PutUvarint(coded[:], step)
	if at+n > mostRecent {
		return 0
	}
	return at + copy(r.bytes[at:], coded[:n])
}

// change completes an order, or removes it. It reports whether the order is one of
// these.
func (r *recent) change(id int64, remove bool) (found bool) {
	changed := recent{length: r.length}
	changed.bytes[0] = r.bytes[0]
	at, last := 1, int64(0)
	for have, complete := range r.all() {
		if have == id {
			found, complete = true, true
			if remove {
				continue
			}
		}
		at, last = changed.put(at, last, have, complete), have // never longer than it was
	}
	if found {
		*r = changed
	}
	return found
}

// empty forgets the orders: they are in pet_orders now.
func (r *recent) empty() {
	r.bytes = [mostRecent]byte{hasEarlier}
}

// column returns what is kept.
func (r *recent) column() []byte {
	n := min(r.length, mostRecent)
	if r.earlier() {
		n = max(n, recentStep)
	}
	return r.bytes[:n]
}
