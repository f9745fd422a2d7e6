//go:build linux

package faults

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// A mutant is the program with a defect. It exists only while it is tried: the
// edits are laid over the sources by the compiler, so that nothing in the
// program itself can switch a defect on.
type mutant struct {
	name  string
	quick bool                                      // tried in every run of the tests
	edits []edit                                    // none if the defect is in how it is run
	try   func(*testing.T, servertest.Binary) error // returns what gave it away
}

// An edit replaces the only place of a text in a file.
type edit struct{ file, old, new string }

func mutants() []mutant {
	return []mutant{
		{"acknowledges before the commit", true, []edit{
			{"internal/sqlite/writer.go", "\tif err == nil && !db.writer.AutocommitEnabled() {\n\t\terr = ", "\tfor _, w := range group {\n\t\tclose(w.done)\n\t}\n\tif err == nil && !db.writer.AutocommitEnabled() {\n\t\terr = "},
			{"internal/sqlite/writer.go", "\t\t}\n\t\tclose(w.done)\n", "\t\t}\n\t\tselect {\n\t\tcase <-w.done:\n\t\tdefault:\n\t\t\tclose(w.done)\n\t\t}\n"},
		}, underPowerCuts},
		{"synchronous=NORMAL", false, []edit{{"internal/sqlite/conn.go", "synchronous=FULL", "synchronous=NORMAL"}}, underPowerCuts},
		{"synchronous=OFF", false, []edit{{"internal/sqlite/conn.go", "synchronous=FULL", "synchronous=OFF"}}, underPowerCuts},
		{"keeps no receipt of an Idempotency-Key", true, []edit{
			{"internal/sqlite/change.go", "return nil, c.keepReceipt(change.Workspace, change.Idempotency, change.Receipt(), now)", "return nil, nil"},
		}, underKills},
		{"reads the stock before the transaction", false, []edit{
			{"internal/sqlite/change.go", "\terr := db.changeOf(ctx, named, func(w *conn) (err error) {\n\t\tbefore, err = w.do(c,",
				"\tvar stale petstore.Facts\n\tvar loaded animal\n\tif err := db.read(ctx, func(r *conn) (err error) {\n\t\tstale, loaded, err = r.facts(c.Workspace, c.Needs, petstore.At(db.now()))\n\t\treturn err\n\t}); err != nil {\n\t\treturn nil, err\n\t}\n\terr := db.changeOf(ctx, named, func(w *conn) (err error) {\n\t\tbefore, err = w.do(stale, loaded, c,"},
			{"internal/sqlite/change.go", "func (c *conn) do(change *petstore.Change,", "func (c *conn) do(facts petstore.Facts, loaded animal, change *petstore.Change,"},
			{"internal/sqlite/change.go", "\tfacts, loaded, err := c.facts(change.Workspace, change.Needs, now)\n\tif err != nil {\n\t\treturn nil, err\n\t}\n", ""},
		}, underKills},
		{"goes on after a failed fsync", false, []edit{{"internal/sqlite/codes.go", "\t\treturn final\n\tcase sqlite.ResultCorrupt", "\t\treturn passing\n\tcase sqlite.ResultCorrupt"}}, underFailedSyncs},
		{"ends when the disk is full", false, []edit{
			{"internal/sqlite/codes.go", "case sqlite.ResultFull, sqlite.ResultBusy", "case sqlite.ResultBusy"},
			{"internal/sqlite/codes.go", "sqlite.ResultNotADB:", "sqlite.ResultNotADB, sqlite.ResultFull:"},
		}, func(t *testing.T, b servertest.Binary) error {
			c := fullDisk(t, newSmallLoop(t, "ext4", room))
			c.binary, c.cycles = b, 1
			_, err := c.do(context.Background())
			return err
		}},
		{"has an asynchronous standby", true, nil, func(t *testing.T, b servertest.Binary) error {
			c := promotions(t, false)
			c.binary, c.cycles = b, 3
			_, err := c.do(context.Background())
			return err
		}},
		{"reads from any host", false, []edit{{"internal/postgres/pool.go", "ValidateConnectTargetSessionAttrsPrimary", "ValidateConnectTargetSessionAttrsPreferStandby"}}, func(t *testing.T, b servertest.Binary) error {
			c := promotions(t, true)
			c.binary, c.cycles = b, 5
			_, err := c.do(context.Background())
			return err
		}},
		{"forgets what it counted without Redis", false, []edit{{"internal/ratelimit/redis_alone.go", "\towes := d.Admitted()\n", "\towes := false && d.Admitted()\n"}}, underFaultsOfRedis},
		{"gives an emptied Redis nothing back", false, []edit{{"internal/ratelimit/redis.lua", "if counts and (kUsed > used", "if counts and false and (kUsed > used"}}, underFaultsOfRedis},
		{"forgets bans", false, []edit{{"internal/node/bans.go", `k.store.SetBan(ctx, access.Ban(b), "limiter")`, "ctx.Err()"}}, inFolder(banOutlivesKill)},
		{"forgets counts", false, []edit{{"internal/node/node.go", "n.limiter.Restore(saved)", "n.limiter.Restore(ratelimit.Saved{Keys: saved.Keys[:0]})"}}, inFolder(countsOutliveKill)},
		{"does not drain", true, []edit{
			{"internal/node/servers.go", "\terr := s.drain(ctx)\n\tfirst, done := context.WithTimeout(ctx, within/2)\n\tdefer done()\n\ts.arrivals.served(first)\n", "\tvar err error\n"},
			{"internal/node/servers.go", "s.public.Shutdown(ctx)", "errors.Join(ctx.Err(), s.public.Close())"},
		}, func(t *testing.T, b servertest.Binary) error {
			_, err := restarts(b, t.TempDir(), drill{times: 10})
			return err
		}},
	}
}

func underKills(t *testing.T, b servertest.Binary) error {
	_, err := campaign{binary: b, disk: folder(t.TempDir()), seed: *seed, cycles: 20, fault: kill}.do(context.Background())
	return err
}

func underPowerCuts(t *testing.T, b servertest.Binary) error {
	_, err := campaign{binary: b, disk: newLoop(t, "ext4"), seed: *seed, cycles: 20, fault: cutPower}.do(context.Background())
	return err
}

func underFailedSyncs(t *testing.T, b servertest.Binary) error {
	needStrace(t)
	_, err := campaign{binary: b, disk: folder(t.TempDir()), seed: *seed, cycles: 1, fault: failSync}.do(context.Background())
	return err
}

func underFaultsOfRedis(t *testing.T, b servertest.Binary) error {
	c := withoutRedis(t)
	c.binary, c.cycles = b, 7
	_, err := c.do(context.Background())
	return err
}

func inFolder(try func(servertest.Binary, string) error) func(*testing.T, servertest.Binary) error {
	return func(t *testing.T, b servertest.Binary) error { return try(b, t.TempDir()) }
}

// TestMutants holds that each campaign finds what it is there to find. The same
// campaigns let the program itself pass, in the other tests.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			overlay := m.overlay(t)
			if !m.quick && !*allMutants {
				t.Skip("it follows the code; all mutants are tried with -args -mutants, as make soak does")
			}
			err := m.try(t, m.build(t, overlay))
			if err == nil {
				t.Fatalf("the mutant that %s was not caught", m.name)
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.Logf("caught: %s", first)
		})
	}
}

// build compiles the mutant.
func (m mutant) build(t *testing.T, overlay string) servertest.Binary {
	t.Helper()
	if len(m.edits) == 0 {
		return petstore
	}
	binary, err := servertest.Build(filepath.Dir(overlay), "mutant", "-overlay="+overlay)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// overlay writes what "go build" lays over the sources, and returns its path. It
// fails the test if the code has moved away from under an edit.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replace := map[string]string{}
	for i, e := range m.edits {
		path := filepath.Join(root, e.file)
		from := path
		if earlier, ok := replace[path]; ok {
			from = earlier
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			t.Fatalf("%s has %d places with %q, want one: the mutant must follow the code", e.file, n, e.old)
		}
		replace[path] = filepath.Join(dir, string(rune('a'+i))+".go")
		if err := os.WriteFile(replace[path], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
