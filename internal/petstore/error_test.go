package petstore

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestInvalid(t *testing.T) {
	t.Parallel()
	if err := Invalid(nil); err != nil {
		t.Errorf("Invalid(nil) = %v, want nil", err)
	}
	fields := []Field{{Pointer: "/a", Code: Required, Message: "a is needed."}, {Pointer: "/b", Code: Required, Message: "b is needed."}}
	for n, want := range map[int]string{1: "a is needed.", 2: "a is needed. (and 1 more)"} {
		e, ok := errors.AsType[*Error](Invalid(fields[:n]))
		if !ok || e.Code != CodeValidationFailed || e.Message != want || len(e.Fields) != n {
			t.Errorf("Invalid of %d fields = %+v, want the message %q", n, e, want)
		}
	}
}

// TestInvalidIsBounded: an error says no more of the input than its bounds, which says how much there is.
func TestInvalidIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 40_000)
	fields := []Field{{Pointer: "/a/" + long, Message: long}, {Parameter: long, Message: "short"}, {Pointer: "/" + long + "/b"}}
	for range 10_000 {
		fields = append(fields, Field{Pointer: "/x", Message: "x"})
	}
	e, _ := errors.AsType[*Error](Invalid(fields))
	if len(e.Fields) != MaxFields || !strings.HasSuffix(e.Message, "… (and 10002 more)") || len(e.Message) > MaxText+20 {
		t.Errorf("Invalid = %d fields, %q, want %d, and how many more there are", len(e.Fields), e.Message, MaxFields)
	}
	for i, want := range []Field{{Pointer: "/a"}, {Parameter: strings.Repeat("é", 98) + "…"}, {}} {
		if f := e.Fields[i]; f.Pointer != want.Pointer || f.Parameter != want.Parameter || len(f.Message) > MaxText || !utf8.ValidString(f.Message) {
			t.Errorf("field %d = %+v, want %+v and a message of %d bytes at most", i, f, want, MaxText)
		}
	}
	if len(fields[0].Message) != len(long) {
		t.Error("Invalid changed the fields that it was given")
	}
}
