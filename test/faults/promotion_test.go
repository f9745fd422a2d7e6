//go:build linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/store/postgres/postgrestest"
	"example.com/petstore/test/servertest"
)

// A pair is a primary of PostgreSQL and its standby, which change places.
type pair struct {
	primary, standby *postgrestest.Server
	url              string // of the database on whichever is the primary
}

// newPair starts both, until the test ends. The standby is synchronous: a server
// that is promoted confirms nothing before it has a standby again.
func newPair(t *testing.T) *pair {
	t.Helper()
	settings := []string{"wal_keep_size = 256MB", "wal_receiver_timeout = 5s", "synchronous_standby_names = 'standby'"}
	p := &pair{primary: postgrestest.Start(t, settings...)}
	p.standby = p.primary.Standby(t, settings...)
	p.url = postgrestest.URL("postgres", p.primary, p.standby)
	must(t, p.inStep())
	return p
}

// inStep returns when the standby has what the primary has.
func (p *pair) inStep() error {
	for deadline := time.Now().Add(servertest.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // between two polls
		sender, err := p.sender()
		if err != nil {
			return err
		}
		if sender != 0 {
			return nil
		}
	}
	return errors.New("the standby does not follow:\n" + p.standby.Log())
}

// sender returns the process that sends the primary's log to the standby, or 0.
func (p *pair) sender() (pid int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), servertest.Patience)
	defer cancel()
	c, err := pgx.Connect(ctx, p.primary.URL("postgres"))
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, "SELECT pid FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'").Scan(&pid)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	return pid, err
}

// failOver ends the primary at once, as a fault does, and promotes the standby.
// The server that died becomes the standby of the other. Every other time the
// line between them is dead for a moment before: what is confirmed then is on
// one machine only.
func (p *pair) failOver(r *run) error {
	if r.done%2 == 0 {
		if err := p.silence(r); err != nil {
			return err
		}
	}
	if err := p.primary.Crash(); err != nil {
		return err
	}
	if err := p.standby.Promote(context.Background()); err != nil {
		return fmt.Errorf("promotion: %w", err)
	}
	p.primary, p.standby = p.standby, p.primary
	if err := errors.Join(p.standby.Follow(p.primary), p.inStep()); err != nil {
		return err
	}
	if !r.work(20) {
		return errors.New("no orders after a promotion:\n" + r.server.LogText())
	}
	return nil
}

// silence stops what sends to the standby, gives the buyers a moment, and ends
// it, so that nothing more is sent.
func (p *pair) silence(r *run) error {
	pid, err := p.sender()
	if err != nil || pid == 0 {
		return errors.Join(err, errors.New("nothing is sent to the standby"))
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	enough := r.buyers.ledger.acknowledged() + 20
	for deadline := time.Now().Add(100 * time.Millisecond); r.buyers.ledger.acknowledged() < enough && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // between two polls
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// promotions is the campaign.
func promotions(t *testing.T) campaign {
	t.Helper()
	p := newPair(t)
	return campaign{dir: t.TempDir(), db: p.url, fault: p.failOver}
}

// crashes is the campaign in which one server of PostgreSQL crashes and comes back, and
// in turn with it the petstore process is killed, whose transactions the database must
// end.
func crashes(t *testing.T) campaign {
	t.Helper()
	s := postgrestest.Start(t)
	return campaign{dir: t.TempDir(), db: s.URL("postgres"), fault: func(r *run) error {
		if r.done%2 == 1 {
			return kill(r)
		}
		if err := errors.Join(s.Crash(), s.Restart()); err != nil {
			return err
		}
		if !r.work(20) {
			return errors.New("no orders after a crash:\n" + r.server.LogText())
		}
		return nil
	}}
}
