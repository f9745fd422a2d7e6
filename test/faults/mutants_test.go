//go:build linux

package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/test/servertest"
)

// A mutant is the program with a defect. It exists only while it is tried: the
// edits are laid over the sources by the compiler, so that nothing in the
// program itself can switch a defect on.
type mutant struct {
	name  string
	edits []edit                                    // none if the defect is in how it is run
	try   func(*testing.T, servertest.Binary) error // returns what gave it away
}

// An edit replaces what matches a pattern in the Go files of a package, as
// [regexp.Regexp.ReplaceAll] does. A pattern that matches nothing any more fails
// the test.
type edit struct {
	dir           string // of the package, from the root
	pattern, with string
}

// begins puts statements at the beginning of a function, of which the pattern is
// the declaration up to its brace.
func begins(dir, pattern, statements string) edit {
	return edit{dir, pattern, "${0}\n" + statements + "\n"}
}

// doNothing is a function that can be called in the place of any that returns an error.
const doNothing = "(func(...any) error { return nil })"

// keepStale reads the facts of a change before its transaction, and stale returns them.
const keepStale = `
var early sync.Map // the facts by the change that they are of

func keepStale(ctx context.Context, s *Store, c *petstore.Change) error {
	return s.db.Read(ctx, func(tx Tx) error {
		g := &Group{store: s, dialect: &Dialect{}, changes: []groupedChange{{Write: NewWrite(change{Change: c})}}}
		for _, load := range []func(*Batch){g.Load, g.LoadRest} {
			var b Batch
			load(&b)
			if err := tx.Run(&b); err != nil {
				return err
			}
		}
		early.Store(c, g.facts(c))
		return nil
	})
}

func stale(c *petstore.Change) petstore.Facts {
	f, _ := early.Load(c)
	return f.(petstore.Facts)
}
`

func mutants() []mutant {
	const store, sqlite, limiter = "internal/store", "internal/store/sqlite", "internal/ratelimit"
	const gravityOf = `func gravityOf\((\w+) error\) gravity \{`
	return []mutant{
		{"acknowledges before the commit", []edit{
			{store, `\n\t(\w+)\.addEvents\((\w+)\)`, "\n$1.addEvents($2)\n$1.answer(nil)"},
			{store, `close\(m\.done\)`, "select { case <-m.done: default: close(m.done) }"},
		}, underPowerCuts},
		{"synchronous=NORMAL", []edit{{sqlite, "synchronous=FULL", "synchronous=NORMAL"}}, underPowerCuts},
		{"synchronous=OFF", []edit{{sqlite, "synchronous=FULL", "synchronous=OFF"}}, underPowerCuts},
		{"keeps no receipt of an Idempotency-Key", []edit{{store, `\n\t\w+\.keepReceipts\(\w+\)`, ""}}, underKills},
		{"reads the stock before the transaction", []edit{
			begins(store, `func \((\w+) \*Store\) Do\((\w+) context\.Context, (\w+) \*petstore\.Change\).*\{`,
				"if err := keepStale($2, $1, $3); err != nil { return nil, err }"),
			{store, `:= \w+\.facts\(`, ":= stale("},
			{store, `(?s)("context"\n)(.*func \(\w+ \*Store\) Do\(.*)`, "$1\"sync\"\n$2" + keepStale},
		}, underKills},
		{"goes on after a failed fsync", []edit{
			begins(sqlite, gravityOf, "if sqlite.ErrCode($1).ToPrimary() == sqlite.ResultIOErr { return passing }"),
		}, underFailedSyncs},
		{"ends when the disk is full", []edit{
			begins(sqlite, gravityOf, "if sqlite.ErrCode($1).ToPrimary() == sqlite.ResultFull { return final }"),
		}, func(t *testing.T, b servertest.Binary) error {
			c := fullDisk(t, newSmallLoop(t, "ext4", room))
			return try(b, c, 1)
		}},
		{"has an asynchronous standby", nil, func(t *testing.T, b servertest.Binary) error { return try(b, promotions(t, false), 3) }},
		{"reads from any host", []edit{
			{"internal/store/postgres", "ValidateConnectTargetSessionAttrsPrimary", "ValidateConnectTargetSessionAttrsPreferStandby"},
		}, func(t *testing.T, b servertest.Binary) error { return try(b, promotions(t, true), 25) }}, // a read of an old state needs luck
		{"forgets what it counted without Redis", []edit{
			{limiter, `(?s)(func \(\w+ \*Redis\) decideAway\(.*?)\w+\.decideAlone\((\w+), \w+\)`, "$1$2.windows.describe($2.limits)"},
		}, underFaultsOfRedis},
		{"gives an emptied Redis nothing back", []edit{begins(limiter, `func \((\w+) \*scriptCall\) arguments\(.*\{`, "$1.known = windows{}")}, underFaultsOfRedis},
		{"forgets bans", []edit{{"internal/node", `\w+\.store\.SetBan\(`, doNothing + "("}}, inFolder(banOutlivesKill)},
		{"forgets counts", []edit{{"internal/node", `\w+\.limiter\.Restore\(`, doNothing + "("}}, inFolder(countsOutliveKill)},
		{"does not drain", []edit{begins("internal/node", `func \((\w+) \*servers\) stopPublic\(.*\{`, "if $1.public != nil { return $1.public.Close() }")},
			func(t *testing.T, b servertest.Binary) error {
				_, err := restarts(b, t.TempDir(), drill{times: 10})
				return err
			}},
	}
}

// try lets a mutant go through a campaign.
func try(b servertest.Binary, c campaign, cycles int) error {
	c.binary, c.seed, c.cycles = b, *seed, cycles
	_, err := c.do(context.Background())
	return err
}

func underKills(t *testing.T, b servertest.Binary) error {
	return try(b, campaign{disk: folder(t.TempDir()), fault: kill}, 20)
}

func underPowerCuts(t *testing.T, b servertest.Binary) error {
	return try(b, campaign{disk: newLoop(t, "ext4"), fault: cutPower}, 20)
}

func underFailedSyncs(t *testing.T, b servertest.Binary) error {
	needStrace(t)
	return try(b, campaign{disk: folder(t.TempDir()), fault: failSync}, 1)
}

func underFaultsOfRedis(t *testing.T, b servertest.Binary) error { return try(b, withoutRedis(t), 8) }

func inFolder(try func(servertest.Binary, string) error) func(*testing.T, servertest.Binary) error {
	return func(t *testing.T, b servertest.Binary) error { return try(b, t.TempDir()) }
}

// TestMutants holds that each campaign finds what it is there to find. The same
// campaigns let the program itself pass, in the other tests. Without -mutants it
// holds only that each defect can still be made.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			list := overlay(t, m.edits)
			if !*allMutants {
				return
			}
			err := m.try(t, m.build(t, list))
			if err == nil {
				t.Fatalf("the mutant that %s was not caught", m.name)
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.Logf("caught: %s", first)
		})
	}
}

// build compiles the mutant.
func (m mutant) build(t *testing.T, list string) servertest.Binary {
	t.Helper()
	if len(m.edits) == 0 {
		return petstore
	}
	binary, err := servertest.Build(t.TempDir(), "mutant", "-overlay="+list)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// overlay makes the edits in copies, and returns the path of the list that has
// "go build" lay them over the sources.
func overlay(t *testing.T, edits []edit) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for _, e := range edits {
		paths, err := filepath.Glob(filepath.Join("../..", e.dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		pattern, made := regexp.MustCompile(e.pattern), false
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(cmp.Or(replace[path], path))
			if err != nil {
				t.Fatal(err)
			}
			if !pattern.Match(text) {
				continue
			}
			made = true
			replace[path] = filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
			if err := os.WriteFile(replace[path], pattern.ReplaceAll(text, []byte(e.with)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !made {
			t.Fatalf("%s has nothing that matches %s: the mutant must follow the code", e.dir, e.pattern)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
