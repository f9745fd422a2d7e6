//go:build linux

package faults

import (
	"context"
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
	more  *declaration                              // what the edits need; nil for nothing
	try   func(*testing.T, servertest.Binary) error // returns what gave it away
}

// doNothing is a function that can be called in the place of any that returns an error.
const doNothing = "func(...any) error { return nil }"

func mutants() []mutant {
	return []mutant{
		{"acknowledges before the commit", []edit{
			calls("internal/store", "Group.Write", "addEvents", "func(b *Batch) { $f(b); $0.answer(nil) }"),
			begins("internal/store", "Write.Answer", "select { case <-$0.done: return; default: }"),
		}, nil, underPowerCuts},
		{"synchronous=NORMAL", []edit{says("internal/store/sqlite", "synchronous=FULL", "synchronous=NORMAL")}, nil, underPowerCuts},
		{"synchronous=OFF", []edit{says("internal/store/sqlite", "synchronous=FULL", "synchronous=OFF")}, nil, underPowerCuts},
		{"keeps no receipt of an Idempotency-Key", []edit{calls("internal/store", "Group.Write", "keepReceipts", "func(*Batch) {}")}, nil, underKills},
		{"reads the stock before the transaction", []edit{
			begins("internal/store", "Store.Do", "if err := keepStale($1, $0, $2); err != nil { return nil, err }"),
			calls("internal/store", "Group.decideOne", "facts", "stale"),
		}, &declaration{"internal/store", `package store

import (
	"context"
	"sync"

	"example.com/petstore/internal/petstore"
)

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
`}, underKills},
		{"goes on after a failed fsync", []edit{
			begins("internal/store/sqlite", "gravityOf", "if sqlite.ErrCode($1).ToPrimary() == sqlite.ResultIOErr { return passing }"),
		}, nil, underFailedSyncs},
		{"ends when the disk is full", []edit{
			begins("internal/store/sqlite", "gravityOf", "if sqlite.ErrCode($1).ToPrimary() == sqlite.ResultFull { return final }"),
		}, nil, func(t *testing.T, b servertest.Binary) error {
			c := fullDisk(t, newSmallLoop(t, "ext4", room))
			c.binary, c.cycles = b, 1
			_, err := c.do(context.Background())
			return err
		}},
		{"has an asynchronous standby", nil, nil, func(t *testing.T, b servertest.Binary) error {
			c := promotions(t, false)
			c.binary, c.cycles = b, 3
			_, err := c.do(context.Background())
			return err
		}},
		{"reads from any host", []edit{
			names("internal/store/postgres", "", "ValidateConnectTargetSessionAttrsPrimary", "ValidateConnectTargetSessionAttrsPreferStandby"),
		}, nil, func(t *testing.T, b servertest.Binary) error {
			c := promotions(t, true)
			c.binary, c.cycles = b, 25 // a read of an old state needs luck
			_, err := c.do(context.Background())
			return err
		}},
		{"forgets what it counted without Redis", []edit{calls("internal/ratelimit", "Redis.decideAway", "decideAlone", "func(s *subject, _ *Caller) Decision { return s.windows.describe(s.limits) }")}, nil, underFaultsOfRedis},
		{"gives an emptied Redis nothing back", []edit{begins("internal/ratelimit", "scriptCall.arguments", "$0.known = windows{}")}, nil, underFaultsOfRedis},
		{"forgets bans", []edit{calls("internal/node", "banKeeper.keep", "SetBan", doNothing)}, nil, inFolder(banOutlivesKill)},
		{"forgets counts", []edit{calls("internal/node", "", "Restore", doNothing)}, nil, inFolder(countsOutliveKill)},
		{"does not drain", []edit{begins("internal/node", "servers.stopPublic", "if $0.public != nil { return $0.public.Close() }")}, nil,
			func(t *testing.T, b servertest.Binary) error {
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
// campaigns let the program itself pass, in the other tests. Without -mutants it
// holds only that each defect can still be made.
func TestMutants(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			list := overlay(t, m.edits, m.more)
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
