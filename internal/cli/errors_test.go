package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/petstore"
)

func TestExit(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		code int
		text string
	}{
		{"success", t.Context(), nil, 0, ""},
		{"usage", t.Context(), usagef("so not"), 2, "petstore: so not\n"},
		{"setting", t.Context(), &config.Fault{Origin: "PETSTORE_DB", Reason: "no"}, 2, "petstore: PETSTORE_DB: no\n"},
		{"failure of two lines", t.Context(), errors.Join(errors.New("a"), errors.New("b")), 1, "petstore: a; b\n"},
		{"lines of a driver", t.Context(), errors.New("failed:\n\tno route\n\tno route either"), 1, "petstore: failed: no route; no route either\n"},
		{"domain", t.Context(), fmt.Errorf("x: %w", petstore.Errorf("key_not_found", "There is no key k.")), 1, "petstore: x: There is no key k\n"},
		{"two of the domain", t.Context(), errors.Join(petstore.Errorf("a", "One."), fmt.Errorf("two: %w", petstore.Errorf("b", "Two."))), 1, "petstore: One; two: Two\n"},
		{"domain with a cause", t.Context(), petstore.Unavailable(errors.New("disk full")), 1,
			"petstore: The service cannot reach its store at the moment. Try again shortly. (disk full)\n"},
		{"interrupted", ended, fmt.Errorf("waiting: %w", context.Canceled), 130, "petstore: interrupted\n"},
		{"canceled by itself", t.Context(), context.Canceled, 1, "petstore: context canceled\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			a := &app{err: &text}
			if code := a.exit(test.ctx, test.err); code != test.code || text.String() != test.text {
				t.Errorf("exit(%v) = %d %q, want %d %q", test.err, code, &text, test.code, test.text)
			}
		})
	}
}
