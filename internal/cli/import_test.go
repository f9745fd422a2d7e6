package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/config"
)

// petsIn returns how many pets a workspace has.
func petsIn(t *testing.T, db, workspace string) int {
	t.Helper()
	var v workspaceDetail
	if err := json.Unmarshal([]byte(run(t, Success, "", "workspace", "show", workspace, "-o", "json", db)), &v); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An import that was cut off while it kept rows goes on when it is repeated.
func TestImportIsRepeated(t *testing.T) {
	t.Parallel()
	const pets = 5000
	db := "--db=" + filepath.Join(t.TempDir(), "petstore.db")
	run(t, Success, "", "workspace", "create", "acme", "--plan", "pro", db)
	file := writeSheet(t, pets, "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	checked := 0 // rows; each is looked at once when it is tried, and once when it is kept
	var said strings.Builder
	a := &app{in: strings.NewReader(""), out: &said, err: &said, getenv: func(string) string { return "" }, config: config.New(), now: func() time.Time {
		if checked++; checked == pets*3/2 {
			cancel()
		}
		return time.Now()
	}}
	root := a.root()
	root.SetArgs([]string{"import", "acme", file, db})
	if code := a.exit(ctx, root.ExecuteContext(ctx)); code != Interrupted || !strings.Contains(said.String(), "run the command again with the same file") {
		t.Fatalf("import = %d, %s, want %d and how to go on", code, said.String(), Interrupted)
	}
	if kept := petsIn(t, db, "acme"); kept == 0 || kept == pets {
		t.Fatalf("%d pets were kept before the end, want some of %d", kept, pets)
	}
	run(t, Success, "", "import", "acme", file, db)
	if kept := petsIn(t, db, "acme"); kept != pets {
		t.Errorf("%d pets are kept after the import was repeated, want %d", kept, pets)
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
	if code != Failure || len(lines) != maxFaults+1 || !strings.HasSuffix(lines[0], `pets.csv:2: stock: "many" is not a whole number`) ||
		!strings.HasSuffix(lines[maxFaults], "has 100 faults or more, of which these are the first; nothing was imported") {
		t.Errorf("import = %d with %d lines, %q to %q", code, len(lines), lines[0], lines[len(lines)-1])
	}
	if kept := petsIn(t, db, "acme"); kept != 0 {
		t.Errorf("%d pets are kept, want none", kept)
	}
}
