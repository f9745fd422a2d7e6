package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

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
			"petstore: The server cannot reach its database at the moment. Try again shortly. (disk full)\n"},
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

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 720 * time.Hour, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute, "1ns": 1,
		"0": 0, "0d": 0, "": 0, "d": 0, "-1d": 0, "1d-2h": 0, "30": 0, "soon": 0, "999999d": 0, "65535d2562047h": 0,
	} {
		var got time.Duration
		err := config.Duration(&got, 1).Set(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("the duration %q = %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1")) // a client that was closed sleeps out the rest of a second
}

// A key that could not be printed is named, so that it can be revoked.
func TestAKeyThatIsNotPrintedIsNamed(t *testing.T) {
	t.Parallel()
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	var said strings.Builder
	code := Main(t.Context(), []string{"key", "create", "acme", db}, strings.NewReader(""), full{}, &said, func(string) string { return "" })
	lost := regexp.MustCompile(`^petstore: (key_\w+) is stored, but its key could not be printed and is lost: the disk is full\n$`).FindStringSubmatch(said.String())
	if code != Failure || lost == nil {
		t.Fatalf("key create = %d, %q, want %d and the id of the key", code, said.String(), Failure)
	}
	run(t, Success, "", "key", "revoke", lost[1], db)
}

// full is a stream that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
