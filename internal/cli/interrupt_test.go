package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestInterruptible(t *testing.T) {
	t.Parallel()
	if err := iotest.TestReader(interruptible(t.Context(), iotest.OneByteReader(strings.NewReader("abc"))), []byte("abc")); err != nil {
		t.Error(err)
	}
}

// An import that waits for its stdin ends with the first interrupt.
func TestImportIsInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	for _, begun := range []string{"", "name,category\nRex,Dogs\n"} {
		db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
		run(t, 0, "", "workspace", "create", "acme", "--plan", "pro", db)
		in, out := io.Pipe()
		t.Cleanup(func() { _ = out.Close() })
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = io.WriteString(out, begun)
			cancel()
		}()
		var said strings.Builder
		code := Main(ctx, []string{"import", "acme", "-", "--format", "csv", db}, in, io.Discard, &said, func(string) string { return "" })
		if code != Interrupted || !strings.HasSuffix(said.String(), "petstore: interrupted\n") {
			t.Errorf("Main(import after %q) = %d, %q, want %d and interrupted", begun, code, said.String(), Interrupted)
		}
	}
}

func TestInterruptibleEnds(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	if n, err := interruptible(ctx, in).Read(make([]byte, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %d, %v, want 0 and %v", n, err, context.Canceled)
	}
}

// run runs the command line and fails the test unless it ends with code.
func run(t *testing.T, code int, stdin string, args ...string) string {
	t.Helper()
	var out, said strings.Builder
	if got := Main(t.Context(), args, strings.NewReader(stdin), &out, &said, func(string) string { return "" }); got != code {
		t.Fatalf("Main(%q) = %d, %q, want %d", args, got, said.String(), code)
	}
	return out.String()
}
