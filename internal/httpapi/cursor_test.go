package httpapi

import (
	"errors"
	"testing"

	"example.com/petstore/internal/petstore"
)

// FuzzCursor checks that a cursor opens where it was given out and nowhere
// else, and that whatever else opens was given out in these very letters.
func FuzzCursor(f *testing.F) {
	c := cursors{secret: make([]byte, 32)}
	f.Add(int64(1), "/pets", "status=sold", int64(20), "AQ")
	f.Add(int64(7), "/inventory", "", int64(petstore.MaxID), c.seal(7, "/inventory", "", numbered(3)))
	f.Add(int64(-1), "", "\x00", int64(-1), "=")
	f.Add(int64(0), "/pets", "", int64(0), c.seal(0, "/pets", "", numbered(4))+"\n") // encoding/base64 skips ends of lines
	f.Fuzz(func(t *testing.T, workspace int64, list, filters string, after int64, text string) {
		sealed := c.seal(workspace, list, filters, numbered(after))
		at, err := c.open(workspace, list, filters, sealed)
		if got, other := at.number(); err != nil || other != nil || got != after {
			t.Errorf("open(%q) = %d, %v, %v, want %d", sealed, got, err, other, after)
		}
		wantInvalid(t, c, workspace+1, list, filters, sealed)
		wantInvalid(t, c, workspace, list+"x", filters, sealed)
		wantInvalid(t, c, workspace, list, filters+"x", sealed)
		got, err := c.open(workspace, list, filters, text)
		if err != nil {
			wantInvalid(t, c, workspace, list, filters, text)
		} else if given := c.seal(workspace, list, filters, got); text != given {
			t.Errorf("open(%q) = %q, whose cursor is %q", text, got, given)
		}
	})
}

func wantInvalid(t *testing.T, c cursors, workspace int64, list, filters, text string) {
	t.Helper()
	got, err := c.open(workspace, list, filters, text)
	if e, ok := errors.AsType[*petstore.Error](err); !ok || e.Code != codeInvalidCursor {
		t.Errorf("open(%d, %q, %q, %q) = %q, %v, want %s", workspace, list, filters, text, got, err, codeInvalidCursor)
	}
}
