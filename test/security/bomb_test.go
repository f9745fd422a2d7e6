package security

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// bomb returns a few kilobytes that gzip expands to a valid body of megabytes.
func bomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, part := range [][]byte{[]byte(`{"name":"x"`), bytes.Repeat([]byte(" "), 4<<20), []byte("}")} {
		if _, err := z.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
