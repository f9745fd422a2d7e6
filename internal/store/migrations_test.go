package store

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func files(names ...string) fstest.MapFS {
	all := fstest.MapFS{}
	for _, name := range names {
		all["migrations/"+name] = &fstest.MapFile{Data: []byte("SELECT '" + name + "';")}
	}
	return all
}

func TestLoad(t *testing.T) {
	t.Parallel()
	s := LoadMigrations(files("0001_init.sql", "0002_more_tables.sql"))
	if s.Latest() != 2 || s.all[1].Name != "more_tables" || !strings.Contains(s.scripts[1], "0002") {
		t.Errorf("LoadMigrations = %+v, want two", s)
	}
	for _, names := range [][]string{{"0002_init.sql"}, {"0001_a.sql", "0003_b.sql"}, {"0001_a.sql", "0001_b.sql"}, {"init.sql"}} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.Contains(v, "want the version") {
					t.Errorf("LoadMigrations of %q panicked with %q, want that a version is wrong", names, v)
				}
			}()
			LoadMigrations(files(names...))
		}()
	}
}

func TestLacking(t *testing.T) {
	t.Parallel()
	status := LoadMigrations(files("0001_a.sql", "0002_b.sql", "0003_c.sql", "0004_d.sql")).All()
	status[0].Applied = true
	if err := Lacking(status); !errors.Is(err, ErrLacking) || err.Error() != "lacks 3 of 4 migrations; run petstore migrate up" {
		t.Errorf("Lacking = %v, want three", err)
	}
	if err := Lacking(status[:1]); err != nil {
		t.Errorf("Lacking = %v, want nil", err)
	}
}

// TestReleasedMigrations fails if a migration was changed, added or removed.
func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	want := map[string]string{ // each file and its SHA-256
		"postgres/migrations/0001_petstore.sql": "a4d0deb5e000f8056cb9d349330e7c32aefef70b15c29cfbc6e1110e6a488a16",
		"sqlite/migrations/0001_petstore.sql":   "d34b4d95b2d6c21f1f61442fac066d1c6d83fb7b3d5b65df4ad3cc0dc42d7b5a",
	}
	names, err := filepath.Glob("*/migrations/*")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range names {
		script, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got[name] = fmt.Sprintf("%x", sha256.Sum256(script))
	}
	if !maps.Equal(got, want) {
		t.Errorf("the migrations are %q, want %q; one that was released never changes, since databases have it: "+
			"undo the change and write a new file; a new file gets its line here", got, want)
	}
}
