package move

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"sync/atomic"
)

// reportEvery is after how many rows a side tells that it goes on.
const reportEvery = 10_000

// A sum is the checksum of a table: the SHA-256 of each row, added up, so that
// the order of the rows does not matter and each of them counts.
type sum struct {
	rows  int64
	lanes [4]uint64 // a number of 256 bits, the lowest first
	row   []byte
}

// add adds a row. Each value stands with its type and its length: no two rows
// are written alike.
func (s *sum) add(values []any) {
	b := s.row[:0]
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v)) //nolint:gosec // the same bits
		case string:
			b = append(binary.BigEndian.AppendUint32(append(b, 's'), uint32(len(v))), v...) //nolint:gosec // no value is that long
		case []byte:
			b = append(binary.BigEndian.AppendUint32(append(b, 'b'), uint32(len(v))), v...) //nolint:gosec // as above
		default:
			b = fmt.Appendf(append(b, '?'), "%T %v", v, v)
		}
	}
	s.row = b
	hash, carry := sha256.Sum256(b), uint64(0)
	for i := range s.lanes {
		s.lanes[i], carry = bits.Add64(s.lanes[i], binary.LittleEndian.Uint64(hash[8*i:]), carry)
	}
	s.rows++
}

// String returns the first half of the sum, which is enough to compare by eye.
func (s *sum) String() string {
	var b []byte
	for _, lane := range s.lanes {
		b = binary.BigEndian.AppendUint64(b, lane)
	}
	return hex.EncodeToString(b[:16])
}

func (s *sum) equal(other *sum) bool { return s.rows == other.rows && s.lanes == other.lanes }

func fingerprint(secret []byte) string {
	hash := sha256.Sum256(append([]byte("petstore move by the source's keys "), secret...))
	return hex.EncodeToString(hash[:16])
}

// verify reads a table on both sides, as it is there, and compares.
func (r *run) verify(ctx context.Context, t *table) (Moved, error) {
	var from, to sum
	var read atomic.Int64 // of the target
	failed := make(chan error, 1)
	go func() {
		failed <- r.To.Rows(ctx, t.Table, func(row []any) {
			if to.add(row); to.rows%reportEvery == 0 {
				read.Store(to.rows)
			}
		})
	}()
	err := r.From.Rows(t.Name, t.columns, nil, nil, func(row []any) bool {
		if from.add(row); from.rows%reportEvery == 0 {
			r.progress(Verifying, r.verified+min(from.rows, read.Load()))
		}
		return ctx.Err() == nil
	})
	if err := cmp.Or(ctx.Err(), err, <-failed); err != nil {
		return Moved{}, err
	}
	if !from.equal(&to) {
		return Moved{}, fmt.Errorf("the table %s differs: %d rows with the checksum %v in the source, %d with %v in the target; "+
			"the target stays closed to nodes, and --start-over begins again", t.Name, from.rows, &from, to.rows, &to)
	}
	r.verified += from.rows
	r.progress(Verifying, r.verified)
	return Moved{t.Name, from.rows, from.String()}, nil
}
