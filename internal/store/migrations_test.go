package store

import (
	"errors"
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
