package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"example.com/petstore/internal/petstore"
)

// cursors seals the places in lists. A cursor is a version byte, the place, and 16
// bytes of an HMAC-SHA-256 over these, the workspace, the list and its filters: it
// fits nothing else, and never expires. The place is the last id of the page before.
type cursors struct{ secret []byte }

const (
	cursorVersion = 1
	cursorTag     = 16
	maxPlace      = 64 // bytes
)

// seal and open are for lists of ids that are numbers.
func (c cursors) seal(workspace int64, list, filters string, after int64) string {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(after))
	return c.sealPlace(workspace, list, filters, place[:])
}

func (c cursors) open(workspace int64, list, filters, cursor string) (int64, error) {
	place, err := c.openPlace(workspace, list, filters, cursor)
	if err == nil && len(place) != 8 {
		err = badCursor()
	}
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(place)), nil
}

func (c cursors) sealPlace(workspace int64, list, filters string, place []byte) string {
	return base64.RawURLEncoding.EncodeToString(c.bytes(workspace, list, filters, place))
}

func (c cursors) bytes(workspace int64, list, filters string, place []byte) []byte {
	out := make([]byte, 0, 1+len(place)+sha256.Size)
	out = append(append(out, cursorVersion), place...)
	mac := hmac.New(sha256.New, c.secret)
	mac.Write(out)
	var ws [8]byte
	binary.BigEndian.PutUint64(ws[:], uint64(workspace))
	mac.Write(ws[:])
	mac.Write([]byte(list))
	mac.Write([]byte{0})
	mac.Write([]byte(filters))
	return mac.Sum(out)[:len(out)+cursorTag]
}

// openPlace returns the place in a cursor, or invalid_cursor unless this very list
// of this workspace gave it out.
func (c cursors) openPlace(workspace int64, list, filters, cursor string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips ends of lines, so the letters count too.
	if err != nil || len(cursor) != base64.RawURLEncoding.EncodedLen(len(raw)) || len(raw) < 1+cursorTag || len(raw) > 1+maxPlace+cursorTag {
		return nil, badCursor()
	}
	place := raw[1 : len(raw)-cursorTag]
	if raw[0] != cursorVersion || !hmac.Equal(raw, c.bytes(workspace, list, filters, place)) {
		return nil, badCursor()
	}
	return place, nil
}

func badCursor() error {
	e := petstore.Errorf(codeInvalidCursor, "The cursor was not given out for this list with these filters.")
	e.Fields = []petstore.Field{{Parameter: "cursor", Code: petstore.InvalidFormat, Message: e.Message}}
	return e
}
