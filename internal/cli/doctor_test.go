package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/processtest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	const adviceGeneral = "check that --db is right, and that this user can read and write the database"
	for _, c := range []struct {
		name        string
		spoil       func(path string)
		flags       []string
		check, want string
		found       string
		advice      string
	}{
		{"well", func(string) {}, nil, "integrity and ledger", "ok", "nothing", ""},
		{"missing", func(p string) { os.Remove(p) }, nil, "database", "problem", "the file does not exist", adviceGeneral + "; petstore migrate up creates and migrates it"},
		{"empty", func(p string) { os.Truncate(p, 0) }, nil, "database", "problem", "lacks 1 of 1 migrations", "make a backup, then run petstore migrate up"},
		{"damaged", func(p string) { os.WriteFile(p, bytes.Repeat([]byte("x"), 4096), 0o600) }, nil, "database", "problem", "is not an SQLite database", adviceGeneral},
		{"damaged schema", damage(2, 1), nil, "database", "problem", "malformed", adviceDamaged},
		{"damaged pages", damage(8, 5), nil, "integrity and ledger", "problem", "malformed", adviceDamaged},
		{"directory", func(p string) { os.Remove(p); os.Mkdir(p, 0o700) }, nil, "database", "problem", "is a directory", adviceGeneral},
		{"no server", func(string) {}, []string{"--db", "postgres://u:secret@127.0.0.1:1/p"}, "database", "problem", "connection refused", adviceGeneral}, // the driver says so in lines
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "petstore.db")
			run(t, Success, "", "migrate", "up", "--db", path)
			c.spoil(path)
			code := map[bool]int{true: Success, false: Failure}[c.want == "ok"]
			var d diagnosis
			processtest.Must(t, json.Unmarshal([]byte(run(t, code, "", append([]string{"doctor", "-o", "json", "--db", path}, c.flags...)...)), &d))
			var got finding
			for _, f := range d.Findings {
				if f.Check == c.check {
					got = f
				}
			}
			if got.Verdict != c.want || !strings.Contains(got.Found, c.found) || d.Healthy != (c.want == "ok") || got.Advice != c.advice {
				t.Errorf("doctor finds %+v, want %s with %q and the advice %q", got, c.want, c.found, c.advice)
			}
			if strings.Contains(got.Found, "secret") || strings.Contains(got.Found, "Try again") || strings.ContainsAny(got.Found, "\n\t") {
				t.Errorf("%+v is no single line without the password and words for clients", got)
			}
		})
	}
}

// damage overwrites pages of a database, from one on.
func damage(page, pages int) func(path string) {
	return func(path string) {
		text, _ := os.ReadFile(path)
		copy(text[page*4096:], bytes.Repeat([]byte("x"), pages*4096))
		os.WriteFile(path, text, 0o600)
	}
}
