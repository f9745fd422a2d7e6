package petstore

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestError(t *testing.T) {
	t.Parallel()
	plain := Errorf(CodeOutOfStock, "The pet %d has no stock.", 3)
	if got, want := plain.Error(), "out_of_stock: The pet 3 has no stock."; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	down := Unavailable(io.ErrUnexpectedEOF)
	if got, want := down.Error(), "service_unavailable: "+down.Message+": unexpected EOF"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(down, io.ErrUnexpectedEOF) || down.RetryAfter <= 0 {
		t.Errorf("Unavailable = %+v, want the cause and a RetryAfter", down)
	}
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{io.EOF, ""},
		{NoPet(1), CodePetNotFound},
		{NoCategory(1), CodeCategoryNotFound},
		{NoOrder(1), CodeOrderNotFound},
		{fmt.Errorf("wrapped: %w", NoOrder(1)), CodeOrderNotFound},
	} {
		if got := CodeOf(test.err); got != test.want {
			t.Errorf("CodeOf(%v) = %q, want %q", test.err, got, test.want)
		}
	}
}

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
