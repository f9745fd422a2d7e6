package postgres

import (
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/processtest"
	"example.com/petstore/internal/store/postgres/postgrestest"
)

// TestServerThatHangs: a node that listens learns that the server does not answer, and that
// it answers again, and logs each once. Who asks for Err does not wait for the server.
func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Lax()...)
	var log processtest.Buffer
	db := node(t, server.URL("postgres"), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	<-follow(t, db)
	listener := 0
	must(t, direct(t, server.URL("postgres")).QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'").Scan(&listener))
	signal := func(sig syscall.Signal) {
		for _, pid := range []int{server.PID(), listener} {
			_ = syscall.Kill(pid, sig) // the listener has ended when it is to go on again
		}
	}
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	signal(syscall.SIGSTOP)
	used := func() int64 { s := db.writer.Stat(); return s.AcquireCount() + s.CanceledAcquireCount() }
	before := used()
	eventually(t, "an error", func() bool { return db.Err() != nil })
	if n := used() - before; n != 0 {
		t.Errorf("Err asked for %d connections, want none", n)
	}
	signal(syscall.SIGCONT)
	eventually(t, "Err without an error", func() bool { return db.Err() == nil })
	if away, back := strings.Count(log.String(), "the database cannot be reached"), strings.Count(log.String(), "the database can be reached again"); away != 1 || back != 1 {
		t.Errorf("it was logged %d times that the database cannot be reached, and %d times that it can again, want once each", away, back)
	}
}

func TestStatsOfPools(t *testing.T) {
	t.Parallel()
	db := node(t, newDatabase(t), Options{Readers: 3})
	newStocked(t, db, 1)
	eventually(t, "3 connections for reading are idle, opened or not", func() bool { s := db.Stats(); return s.Readers == 3 && s.IdleReaders == 3 })
	s := db.Stats()
	pools := db.Pools()
	if read, write := pools["read"], pools["write"]; read.MaxConns() != 3 || write.AcquireCount() == 0 || write.NewConnsCount() == 0 {
		t.Errorf("pools = %+v", pools)
	}
	if s.Groups == 0 || s.Writes != s.Groups {
		t.Errorf("Stats = %+v, want commits of one change", s)
	}
}
