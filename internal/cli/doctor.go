package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

func doctorCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use:   "doctor",
		short: "Check the database, and say what to do",
		long: `Check that the database is there, its migrations, its integrity, the stock of every pet
against its ledger, and the events against the data. With PostgreSQL, check the settings
of the server too.

It changes nothing and can run next to a server. Each finding says what to do. The
command fails if there is a problem.`,
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, _ []string) error { return printDiagnosis(a, examine(ctx, a)) },
	})
}

// A finding is what a check found.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok or problem
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"`
}

// diagnosis is what doctor found.
type diagnosis struct {
	Healthy  bool      `json:"healthy"`
	Findings []finding `json:"findings"`
}

// A check is one part of an examination. It returns what is wrong, or an error if that cannot be found out.
type check struct {
	name, advice string
	last         bool // whether the later checks need this one to find nothing
	run          func(context.Context) ([]string, error)
}

const adviceDamaged = "keep a copy of the database, restore the latest good backup, and report this"

func (a *app) checks() []check {
	return []check{
		{"database", "change this in the server's configuration, or use another server", true, a.checkPresent},
		{"migrations", "make a backup, then run petstore migrate up", true, a.checkMigrations},
		{"integrity and ledger", adviceDamaged, false, a.checkIntegrity},
		{"events", "copies made from the feed are wrong: let clients read the lists again, and please report this", false, a.checkEvents},
	}
}

// examine runs the checks, up to one without which the others cannot be made.
func examine(ctx context.Context, a *app) (findings []finding) {
	for _, c := range a.checks() {
		problems, err := c.run(ctx)
		for _, p := range problems {
			findings = append(findings, finding{c.name, "problem", oneLine(p), c.advice})
		}
		switch {
		case err != nil:
			return append(findings, failed(c, err))
		case len(problems) == 0:
			findings = append(findings, finding{c.name, "ok", "nothing found", ""})
		case c.last:
			return findings
		}
	}
	return findings
}

// failed returns the finding for a check that could not be made.
func failed(c check, err error) finding {
	if e, ok := errors.AsType[*petstore.Error](err); ok && e.Err != nil {
		err = e.Err // its message is for the clients of a server
	}
	advice := "check that --db is right, and that this user can read and write the database"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		advice = "give --db the right path, or create the database with petstore migrate up"
	case sqlite.IsDamage(err):
		advice = adviceDamaged
	}
	return finding{c.name, "problem", explain(err), advice}
}

// checkPresent looks for the file, or at the settings of the server.
func (a *app) checkPresent(ctx context.Context) ([]string, error) {
	if a.config.OnPostgres() {
		return postgres.Diagnose(ctx, a.config.DB)
	}
	_, err := os.Stat(a.config.DB)
	return nil, err
}

// checkMigrations looks for migrations that are not applied.
func (a *app) checkMigrations(ctx context.Context) (problems []string, err error) {
	all, err := knownMigrations(ctx, a)
	for _, m := range all {
		if !m.Applied {
			problems = append(problems, fmt.Sprintf("migration %d %s is not applied", m.Version, m.Name))
		}
	}
	return problems, err
}

func (a *app) checkIntegrity(ctx context.Context) (problems []string, err error) {
	err = a.withReader(ctx, func(db node.Store) (err error) {
		problems, err = db.Check(ctx)
		return err
	})
	return problems, err
}

// checkEvents compares the data of each workspace with what its feed of events says.
func (a *app) checkEvents(ctx context.Context) (problems []string, err error) {
	err = a.withReader(ctx, func(db node.Store) error {
		all, err := db.Workspaces(ctx)
		for _, w := range all {
			if w.Resetting || w.Sandbox != nil {
				continue
			}
			found, checkErr := db.CheckFeed(ctx, w.Shop)
			problems, err = append(problems, found...), errors.Join(err, checkErr)
		}
		return err
	})
	return problems, err
}

func printDiagnosis(a *app, findings []finding) error {
	problems := 0
	for _, f := range findings {
		if f.Verdict == "problem" {
			problems++
		}
	}
	err := a.print(diagnosis{problems == 0, findings}, tableOf(findings, "check,verdict,found,advice=WHAT TO DO"))
	if err == nil && problems > 0 {
		err = fmt.Errorf("%s: problems found: %d", a.database(), problems)
	}
	return err
}
