package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/ratelimit/redistest"
	"example.com/petstore/internal/store/sqlite"
)

// doctorOn returns what doctor finds with the flags on a database that was
// last written at noon of a day.
func doctorOn(t *testing.T, at time.Time, spoil func(path string), flags ...string) map[string]finding {
	t.Helper()
	path := filepath.Join(t.TempDir(), "petstore.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "w", Plan: access.Free, Quota: access.FreeQuota}, "test"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(path)
	var out, errs bytes.Buffer
	a := &app{out: &out, err: &errs, getenv: func(string) string { return "" }, now: func() time.Time { return at }, config: config.New()}
	root := newRoot(a, false)
	root.SetArgs(append([]string{"doctor", "-o", "json", "--db", path}, flags...))
	runErr := root.ExecuteContext(context.Background())
	var d diagnosis
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v in %s %s", err, out.String(), errs.String())
	}
	if (runErr == nil) != d.Healthy {
		t.Errorf("doctor = %v, and healthy is %v", runErr, d.Healthy)
	}
	found := map[string]finding{}
	for _, f := range d.Findings {
		found[f.Check] = f
	}
	return found
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	later := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	nothing := func(string) {}
	locked := redistest.Start(t)
	locked.Do(t, "CONFIG", "SET", "requirepass", "right")
	for _, c := range []struct {
		name  string
		at    time.Time
		spoil func(string)
		flags []string
		check string
		want  verdict
		found string
	}{
		{"well", later, nothing, nil, "integrity and ledger", fine, "nothing"},
		{"no backups", later, nothing, nil, "backups", warning, "with these settings the server makes no backups"},
		{"open to all", later, func(p string) { os.Chmod(p, 0o644) }, nil, "files", problem, "mode 0644"},
		{"missing", later, func(p string) { os.Remove(p) }, nil, "files", problem, "no such file"},
		{"damaged", later, func(p string) { os.WriteFile(p, bytes.Repeat([]byte("x"), 4096), 0o600) }, nil, "integrity and ledger", problem, "is not an SQLite database"},
		{"directory", later, func(p string) { os.Remove(p); os.Mkdir(p, 0o700) }, nil, "files", problem, "is not a file"},
		{"every proxy", later, nothing, []string{"--trusted-proxies", "0.0.0.0/0"}, "configuration", problem, "0.0.0.0/0"},
		{"no Redis", later, nothing, []string{"--redis", "redis://:secret@127.0.0.1:1"}, "limiter", problem, "redis://:xxxxx@127.0.0.1:1 cannot be used: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"Redis", later, nothing, []string{"--redis", "redis://:right@" + locked.Addr()}, "limiter", fine, "nothing"},
		{"no password of Redis", later, nothing, []string{"--redis", "redis://" + locked.Addr()}, "limiter", problem, "redis://" + locked.Addr() + " cannot be used: NOAUTH"},
		{"wrong password of Redis", later, nothing, []string{"--redis", "redis://:secret@" + locked.Addr()}, "limiter", problem, "redis://:xxxxx@" + locked.Addr() + " cannot be used: WRONGPASS"},
		{"no server", later, nothing, []string{"--db", "postgres://u@127.0.0.1:1/p"}, "server", problem, "connection refused"}, // the driver says so in lines
		{"no base URL", later, nothing, []string{"--addr", ":80"}, "configuration", warning, "links in responses are relative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := doctorOn(t, c.at, c.spoil, c.flags...)[c.check]
			if got.Verdict != c.want || !strings.Contains(got.Found, c.found) {
				t.Errorf("%s = %+v, want %s with %q", c.check, got, c.want, c.found)
			}
			if strings.Contains(got.Found, "secret") || strings.Contains(got.Advice, "secret") {
				t.Errorf("%s = %+v, want it without the password", c.check, got)
			}
			if strings.ContainsAny(got.Found, "\n\t") {
				t.Errorf("%s = %+v, want one line", c.check, got)
			}
			if got.Verdict != fine && got.Advice == "" {
				t.Errorf("%s = %+v, want advice", c.check, got)
			}
		})
	}
}
