package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/processtest"
)

// petsIn returns how many pets the workspace acme has.
func petsIn(t *testing.T, db string) int {
	t.Helper()
	var v operator.WorkspaceDetail
	processtest.Must(t, json.Unmarshal([]byte(run(t, Success, "", "workspace", "show", "acme", "-o", "json", db)), &v))
	return int(v.Pets)
}

// writeSheet writes a CSV of so many pets.
func writeSheet(t *testing.T, pets int, stock string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.csv")
	var text strings.Builder
	text.WriteString("name,category,stock\n")
	for n := range pets {
		fmt.Fprintf(&text, "Pet %d,Kind %d,%s\n", n, n%7, stock)
	}
	processtest.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// An import that was cut off while it kept rows goes on when it is repeated. Another one on the same stdin begins at its start.
func TestImportIsRepeated(t *testing.T) {
	t.Parallel()
	const pets = 5000
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	text, err := os.ReadFile(writeSheet(t, pets, "1"))
	processtest.Must(t, err)
	sheet := string(text)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	checked := 0 // rows; each is looked at once when it is tried, and once when it is kept
	var said strings.Builder
	a := &app{in: strings.NewReader(sheet), out: &said, err: &said, getenv: func(string) string { return "" }, config: config.New(), now: func() time.Time {
		if checked++; checked == pets*3/2 {
			cancel()
		}
		return time.Now()
	}}
	root := newRoot(a)
	args := []string{"import", "acme", "-", "--format", "csv", db}
	root.SetArgs(args)
	if code := a.exit(ctx, root.ExecuteContext(ctx)); code != Interrupted || !strings.Contains(said.String(), "run the command again with the same file") {
		t.Fatalf("import = %d, %s, want %d and how to go on", code, said.String(), Interrupted)
	}
	some := petsIn(t, db)
	if some == 0 || some == pets {
		t.Fatalf("%d pets were kept before the end, want some of %d", some, pets)
	}
	run(t, Success, "name,category\nRex,Dogs\n", args...)
	if kept := petsIn(t, db); kept != some+1 {
		t.Errorf("%d pets are kept after another import, want %d", kept, some+1)
	}
	run(t, Success, sheet, args...)
	if kept := petsIn(t, db); kept != pets+1 {
		t.Errorf("%d pets are kept after the import was repeated, want %d", kept, pets+1)
	}
}

func TestImportNamesAHundredFaults(t *testing.T) {
	t.Parallel()
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	var said strings.Builder
	args := []string{"import", "acme", writeSheet(t, 300, "many"), db}
	code := Main(t.Context(), args, strings.NewReader(""), &said, &said, func(string) string { return "" })
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if code != Failure || len(lines) != interchange.MaxFaults+1 || !strings.HasSuffix(lines[0], `pets.csv:2: stock: "many" is not a whole number`) ||
		!strings.HasSuffix(lines[len(lines)-1], "has 300 faults, of which the first 100 are listed; nothing was imported") {
		t.Errorf("import = %d with %d lines, %q to %q", code, len(lines), lines[0], lines[len(lines)-1])
	}
	if kept := petsIn(t, db); kept != 0 {
		t.Errorf("%d pets are kept, want none", kept)
	}
}

// Faults are named from the first line to the last, whoever found them: the reader
// (line 4) or the store (line 3), also if nothing can be read after the last (line 5).
func TestImportNamesFaultsInOrder(t *testing.T) {
	t.Parallel()
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	file := filepath.Join(t.TempDir(), "pets.csv")
	const rows, final = "id,name,category\n,Rex,Dogs\n999,Tom,Cats\nx1,Kim,Cats\n", "petstore: %[1]s:5: the record that begins here has more than 131072 bytes; is a quotation mark missing?\n"
	endless := rows + strings.Repeat("x", 2<<20)
	for _, c := range []struct {
		text, more, end string
		flags           []string
	}{
		{rows, "", "2 faults; nothing was imported", nil},
		{rows, "", "2 faults; the rows at fault were left out", []string{"--on-error", "skip"}},
		{endless, final, "3 faults; nothing was imported", nil},
		{endless, final, "3 faults; nothing was imported", []string{"--dry-run"}},
	} {
		processtest.Must(t, os.WriteFile(file, []byte(c.text), 0o600))
		var said strings.Builder
		args := append([]string{"import", "acme", file, db}, c.flags...)
		code := Main(t.Context(), args, strings.NewReader(""), io.Discard, &said, func(string) string { return "" })
		want := fmt.Sprintf("petstore: %[1]s:3: There is no pet with the id 999\npetstore: %[1]s:4: id: \"x1\" is not the id of a pet; leave the cell empty for a new one\n"+
			c.more+"petstore: %[1]s has %[2]s\n", file, c.end)
		if code != Failure || said.String() != want {
			t.Errorf("import %v = %d, %q, want %d, %q", c.flags, code, said.String(), Failure, want)
		}
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

// run runs the command line and fails the test unless it ends with code.
func run(t *testing.T, code int, stdin string, args ...string) string {
	t.Helper()
	var out, said strings.Builder
	if got := Main(t.Context(), args, strings.NewReader(stdin), &out, &said, func(string) string { return "" }); got != code {
		t.Fatalf("Main(%q) = %d, %q, want %d", args, got, said.String(), code)
	}
	return out.String()
}
