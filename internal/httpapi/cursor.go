package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"example.com/petstore/internal/petstore"
)

// cursors seals the places in lists. A cursor is a version byte, the last id
// of the page before, and 16 bytes of an HMAC-SHA-256 over these, the
// workspace, the list and its filters: it fits nothing else, and never expires.
type cursors struct{ secret []byte }

const (
	cursorVersion = 1
	cursorSealed  = 1 + 8 // version and id
	cursorLen     = cursorSealed + 16
	cursorLetters = (cursorLen*8 + 5) / 6 // without padding
)

func (c cursors) seal(workspace int64, list, filters string, after int64) string {
	return base64.RawURLEncoding.EncodeToString(c.bytes(workspace, list, filters, after))
}

func (c cursors) bytes(workspace int64, list, filters string, after int64) []byte {
	out := make([]byte, 0, sha256.Size+cursorSealed)
	out = append(out, cursorVersion)
	out = binary.BigEndian.AppendUint64(out, uint64(after))
	mac := hmac.New(sha256.New, c.secret)
	mac.Write(out)
	var ws [8]byte
	binary.BigEndian.PutUint64(ws[:], uint64(workspace))
	mac.Write(ws[:])
	mac.Write([]byte(list))
	mac.Write([]byte{0})
	mac.Write([]byte(filters))
	return mac.Sum(out)[:cursorLen]
}

// open returns the id in a cursor, or invalid_cursor unless this very list of
// this workspace gave it out.
func (c cursors) open(workspace int64, list, filters, cursor string) (int64, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips ends of lines, so the letters count too.
	if err == nil && len(cursor) == cursorLetters && len(raw) == cursorLen && raw[0] == cursorVersion {
		after := int64(binary.BigEndian.Uint64(raw[1:cursorSealed]))
		if hmac.Equal(raw, c.bytes(workspace, list, filters, after)) {
			return after, nil
		}
	}
	e := petstore.Errorf(codeInvalidCursor, "The cursor was not given out for this list with these filters.")
	e.Fields = []petstore.Field{{Parameter: "cursor", Code: petstore.InvalidFormat, Message: e.Message}}
	return 0, e
}
