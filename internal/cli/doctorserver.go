package cli

import (
	"context"
	"time"

	"example.com/petstore/internal/node"
	"example.com/petstore/internal/store/postgres"
)

// A serverExamination examines a database on PostgreSQL. Its files, disk and backups are its administrator's.
type serverExamination struct {
	*examination
	theirs, asked time.Time // the server's clock, and this machine's when it was read
	reached       bool
	current       bool // its schema is the newest
}

// checks returns the checks in their order.
func (e *serverExamination) checks() []check {
	reached := func() bool { return e.reached }
	return []check{
		{"configuration", nil, e.configuration},
		{"server", nil, e.server},
		{"migrations", reached, e.schema},
		{"integrity and ledger", func() bool { return e.current }, e.ledger},
		{"events", func() bool { return e.current }, e.events},
		{"clock", reached, e.clocks},
		{"limiter", e.onRedis, e.limiter},
	}
}

// server reports whether the server answers, and keeps data.
func (e *serverExamination) server(ctx context.Context) {
	now, problems, err := postgres.Diagnose(ctx, e.config.DB)
	if err != nil {
		e.add(problem, "check that the server runs, and that --db has the right host, database, user and password", "%v", err)
		return
	}
	e.reached, e.theirs, e.asked = true, now, e.now()
	for _, p := range problems {
		e.add(problem, "change this in the server's configuration, or use another server", "%s", p)
	}
}

func (e *serverExamination) schema(ctx context.Context) {
	e.migrations(ctx)
	e.current = e.foundNothing()
}

func (e *serverExamination) ledger(ctx context.Context) {
	e.read(ctx, func(db node.Store) error {
		problems, err := db.Check(ctx)
		for _, p := range problems {
			e.add(problem, "keep a copy of the database, restore the latest good backup, and report this", "%s", p)
		}
		return err
	})
}

// clockSlack is how far clocks may be apart without harm.
const clockSlack = 2 * time.Second

// clocks compares the clock of this machine with the server's.
func (e *serverExamination) clocks(context.Context) {
	if off := e.asked.Sub(e.theirs); off.Abs() > clockSlack {
		e.add(problem, "set the clocks of both machines (NTP); limits, expiries and bans go by them", "the clock says %s, and the server's clock %s: they are %v apart",
			moment(e.asked, ""), moment(e.theirs, ""), off.Abs().Round(time.Second))
	}
}
