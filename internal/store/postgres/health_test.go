package postgres

import (
	"strings"
	"testing"
)

func TestStatsOfPools(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), Options{Readers: 3})
	newStocked(t, db, 1)
	eventually(t, "3 connections for reading are idle, opened or not", func() bool { s := db.Stats(); return s.Readers == 3 && s.IdleReaders == 3 })
	s := db.Stats()
	var names []string
	for _, p := range db.PoolStats().Pools {
		names = append(names, p.Name)
		if p.Name == "read" && p.MaxConns() != 3 || p.Name == "write" && (p.AcquireCount() == 0 || p.NewConnsCount() == 0) {
			t.Errorf("pool %s = %+v", p.Name, p.Stat)
		}
	}
	if got := strings.Join(names, " "); got != "write issue read" {
		t.Errorf("pools = %q, want write issue read", got)
	}
	if s.Groups == 0 || s.Writes != s.Groups {
		t.Errorf("Stats = %+v, want commits of one change", s)
	}
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	problems, err := Diagnose(t.Context(), newDatabase(t))
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0], "fsync is off") {
		t.Errorf("Diagnose = %q, %v, want that fsync is off alone", problems, err)
	}
}
