package sqlite

import (
	"encoding/binary"
	"iter"

	"example.com/petstore/internal/petstore"
	"zombiezen.com/go/sqlite"
)

// A recent is the column of that name: the latest orders of an animal, in
// ascending order of their ids. The first byte says whether there are earlier ones,
// in pet_orders. Of each order follows, as binary.Uvarint reads it, how much its id
// is greater than the one before, twice that, and one more if it is complete; then
// zeros. The length is a multiple of recentStep, so that most orders leave the row
// as long as it was and its page in place. Without a byte an animal had no order
// yet.
type recent struct {
	bytes  [mostRecent]byte
	length int // of the column
}

const (
	mostRecent  = 64 // bytes: some fifteen orders
	recentStep  = 16
	hasEarlier  = 1 // in the first byte
	noneEarlier = 0
)

// scanRecent reads the column. A row from before there was one has all of its
// orders in pet_orders.
func scanRecent(row *sqlite.Stmt, col int) (r recent) {
	if row.ColumnIsNull(col) {
		r.bytes[0] = hasEarlier
		return r
	}
	r.length = row.ColumnBytes(col, r.bytes[:])
	return r
}

// earlier reports whether there may be orders in pet_orders, too.
func (r *recent) earlier() bool { return r.bytes[0] != noneEarlier }

// all gives the ids of the orders, and whether each is complete.
func (r *recent) all() iter.Seq2[int64, bool] {
	return func(yield func(int64, bool) bool) {
		id := int64(0)
		for at := 1; at < mostRecent; {
			step, n := binary.Uvarint(r.bytes[at:])
			if step < 2 || n <= 0 {
				return
			}
			at += n
			id += int64(step >> 1) //nolint:gosec // below 2^63
			if !yield(id, step&1 != 0) {
				return
			}
		}
	}
}

// add appends an order with an id greater than all of these. It reports false, and
// leaves them as they are, if there is no room.
func (r *recent) add(id int64, complete bool) bool {
	at, last := 1, int64(0)
	for at < mostRecent {
		step, n := binary.Uvarint(r.bytes[at:])
		if step < 2 || n <= 0 {
			break
		}
		at += n
		last += int64(step >> 1) //nolint:gosec // below 2^63
	}
	var coded [binary.MaxVarintLen64]byte
	step := uint64(id-last) << 1 //nolint:gosec // greater
	if complete {
		step++
	}
	n := binary.PutUvarint(coded[:], step)
	if at+n > mostRecent {
		return false
	}
	copy(r.bytes[at:], coded[:n])
	r.length = max(r.length, (at+n+recentStep-1)/recentStep*recentStep)
	return true
}

// change completes an order, or removes it. It reports whether the order is one of
// these.
func (r *recent) change(id int64, remove bool) (found bool) {
	changed := recent{length: r.length}
	changed.bytes[0] = r.bytes[0]
	for have, complete := range r.all() {
		if have == id {
			found, complete = true, true
			if remove {
				continue
			}
		}
		changed.add(have, complete) // never longer than it was
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
func (r *recent) column() []byte { return r.bytes[:r.length] }

// AppendRecent appends orders to the column recent of a pet, for who writes rows
// without a store, in ascending order of their ids. It reports false if not all of
// them have room there.
func AppendRecent(column []byte, orders ...petstore.Order) (_ []byte, ok bool) {
	var r recent
	r.length = copy(r.bytes[:], column)
	for _, o := range orders {
		if !r.add(o.ID, o.Complete) {
			return column, false
		}
	}
	return r.column(), true
}
