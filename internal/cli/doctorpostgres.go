package cli

import (
	"context"
	"time"

	"example.com/petstore/internal/node"
	"example.com/petstore/internal/postgres"
)

// A serverExamination is that of a database on PostgreSQL, whose files, disk
// and backups are its administrator's.
type serverExamination struct {
	*examination
	diagnosis postgres.Diagnosis
	asked     time.Time // this machine's clock when the server told its own
	reached   bool
	current   bool // its schema is the newest
}

// steps returns the checks in their order.
func (e *serverExamination) steps() []step {
	reached := func() bool { return e.reached }
	return []step{
		{"configuration", nil, e.configuration},
		{"server", nil, e.server},
		{"migrations", reached, e.schema},
		{"integrity and ledger", func() bool { return e.current }, e.ledger},
		{"clock", reached, e.clocks},
		{"replica", func() bool { return e.config.DBRead != "" }, e.replica},
		{"limiter", e.onRedis, e.limiter},
	}
}

// server reports whether the server answers, and keeps data.
func (e *serverExamination) server(ctx context.Context) {
	var err error
	if e.diagnosis, err = postgres.Diagnose(ctx, e.config.DB); err != nil {
		e.add(problem, "look whether the server runs, and whether --db has its host, database, user and password", "%v", err)
		return
	}
	e.reached, e.asked = true, e.now()
	for _, p := range e.diagnosis.Problems {
		e.add(problem, "change that in the server's configuration, or use another server", "%s", p)
	}
}

// replica looks at the server that --db-read names.
func (e *serverExamination) replica(ctx context.Context) {
	d, err := postgres.DiagnoseReplica(ctx, e.config.DB, e.config.DBRead)
	if err != nil {
		e.add(problem, "look whether the replica runs, and whether --db-read has its host, database, user and password", "%v", err)
		return
	}
	for _, p := range d {
		e.add(problem, "give --db-read a replica of the server of --db, or leave it out", "%s", p)
	}
}

func (e *serverExamination) schema(ctx context.Context) {
	e.migrations(ctx)
	e.current = e.blameless()
}

func (e *serverExamination) ledger(ctx context.Context) {
	problems, err := e.checkStore(ctx)
	if err != nil {
		e.add(problem, "try again when the server has time", "%v", err)
	}
	for _, p := range problems {
		e.add(problem, "keep a copy of the database, restore the latest good backup, and report this", "%s", p)
	}
}

func (a *app) checkStore(ctx context.Context) (problems []string, err error) {
	err = a.withStore(ctx, func(db node.Store) (err error) {
		problems, err = db.Check(ctx)
		return err
	})
	return problems, err
}

// clocks holds the clock of this machine against the server's and the rows.
func (e *serverExamination) clocks(context.Context) {
	if off := e.asked.Sub(e.diagnosis.Now); off.Abs() > clockSlack {
		e.add(problem, "set the clocks of both machines (NTP); limits, expiries and bans go by them", "the clock says %s, and the server's %s: they are %v apart",
			moment(e.asked, ""), moment(e.diagnosis.Now, ""), off.Abs().Round(time.Second))
	}
	e.compareClock(e.diagnosis.Newest)
}
