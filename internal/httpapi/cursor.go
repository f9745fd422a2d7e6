package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"example.com/petstore/internal/petstore"
)

// A position in a list is the id of the entry before it: a text, or the eight bytes of
// a number. The beginning of the list is "".
type position string

func numbered(id int64) position {
	return position(binary.BigEndian.AppendUint64(nil, uint64(id)))
}

// number returns the id of a position in a list whose ids are numbers.
func (p position) number() (int64, error) {
	switch len(p) {
	case 0:
		return 0, nil
	case 8:
		return int64(binary.BigEndian.Uint64([]byte(p))), nil
	}
	return 0, badCursor()
}

// cursors signs positions. A cursor is a version byte, the position, and 16 bytes of an
// HMAC-SHA-256 over these, the workspace, the list and its filters. So it is valid for
// nothing else. It never expires.
type cursors struct{ secret []byte }

const (
	cursorVersion = 1
	cursorTag     = 16
)

func (c cursors) seal(workspace int64, address, filters string, after position) string {
	return base64.RawURLEncoding.EncodeToString(c.bytes(workspace, address, filters, after))
}

func (c cursors) bytes(workspace int64, address, filters string, after position) []byte {
	out := make([]byte, 0, 1+len(after)+sha256.Size)
	out = append(append(out, cursorVersion), after...)
	mac := hmac.New(sha256.New, c.secret)
	mac.Write(out)
	mac.Write([]byte(numbered(workspace)))
	mac.Write([]byte(address + "\x00" + filters))
	return mac.Sum(out)[:len(out)+cursorTag]
}

// open returns the position in a cursor. It returns invalid_cursor unless seal has made
// the cursor for the same workspace, list and filters.
func (c cursors) open(workspace int64, address, filters, cursor string) (position, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips line breaks, so the length is checked too.
	if err != nil || len(cursor) != base64.RawURLEncoding.EncodedLen(len(raw)) || len(raw) < 1+cursorTag {
		return "", badCursor()
	}
	after := position(raw[1 : len(raw)-cursorTag])
	if raw[0] != cursorVersion || !hmac.Equal(raw, c.bytes(workspace, address, filters, after)) {
		return "", badCursor()
	}
	return after, nil
}

func badCursor() error {
	e := petstore.Errorf(codeInvalidCursor, "The cursor does not belong to this list with these filters.")
	e.Fields = []petstore.Field{{Parameter: "cursor", Code: petstore.InvalidFormat, Message: e.Message}}
	return e
}
