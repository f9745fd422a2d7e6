package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
)

// A sum is the checksum of a table: the SHA-256 of each row, added up, so that
// the order of the rows does not matter and each of them counts.
type sum struct {
	rows  int64
	lanes [4]uint64 // a number of 256 bits, the lowest first
	row   []byte    // the last one
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

// valuesOf returns the values of a row, as int64, string, []byte or nil.
func valuesOf(row Row, n int) ([]any, error) {
	values, columns := make([]any, n), make([]any, n)
	for i := range values {
		columns[i] = &values[i]
	}
	if err := row.Scan(columns...); err != nil {
		return nil, err
	}
	for i, value := range values {
		switch v := value.(type) {
		case int32:
			values[i] = int64(v)
		case int16:
			values[i] = int64(v)
		case bool:
			values[i] = int64(0)
			if v {
				values[i] = int64(1)
			}
		}
	}
	return values, nil
}

// addAll adds the rows of a query, and calls each for each.
func (s *sum) addAll(tx Tx, query string, columns int, each func()) error {
	for row, err := range tx.Query(query) {
		var values []any
		if err == nil {
			values, err = valuesOf(row, columns)
		}
		if err != nil {
			return err
		}
		s.add(values)
		each()
	}
	return nil
}

// verify reads a table on both sides, as it is there, and compares.
func (r *moveRun) verify(t *movedTable) (Moved, error) {
	var from, to sum
	if err := from.addAll(r.From, t.query, len(t.columns), func() {}); err != nil {
		return Moved{}, err
	}
	if err := to.addAll(r.To, t.query, len(t.columns), func() { r.count(Verifying) }); err != nil {
		return Moved{}, err
	}
	if from.rows != to.rows || from.lanes != to.lanes {
		return Moved{}, fmt.Errorf("the table %s differs: %d rows with the checksum %v in the source, %d with %v in the target; "+
			"the target stays closed to nodes, and --start-over begins again", t.name, from.rows, &from, to.rows, &to)
	}
	r.report(Verifying)
	return Moved{t.name, from.rows, from.String()}, r.ctx.Err()
}
