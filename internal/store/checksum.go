package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// A sum is the checksum of a table: the SHA-256 of each row, added up, so that
// the order of the rows does not matter and each of them counts.
type sum struct {
	rows  int64
	words [4]uint64
}

// add adds a row. Each value stands with its type and its length: no two rows
// are written alike.
func (s *sum) add(values []any) {
	var b []byte
	for _, value := range values {
		switch v := value.(type) {
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v)) //nolint:gosec // the same bits
		case string:
			b = append(binary.BigEndian.AppendUint64(append(b, 's'), uint64(len(v))), v...)
		case []byte:
			b = append(binary.BigEndian.AppendUint64(append(b, 'b'), uint64(len(v))), v...)
		default:
			b = fmt.Appendf(append(b, '?'), "%T %v", v, v)
		}
	}
	hash := sha256.Sum256(b)
	for i := range s.words {
		s.words[i] += binary.BigEndian.Uint64(hash[8*i:])
	}
	s.rows++
}

// String returns the first half of the sum, which is enough to compare by eye.
func (s sum) String() string { return fmt.Sprintf("%016x%016x", s.words[0], s.words[1]) }

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
