package cli

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
)

func doctorCommand(a *app) *cobra.Command {
	return newCommand(a, spec{
		use:   "doctor",
		short: "Check the database, and say what to do",
		long: `Check that the database is there and migrated, its integrity, the stock of every pet
against its ledger, and the events against the data.

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

const adviceDamaged = "keep a copy of the database, restore the latest good backup, and report this"

// examine checks the database and, if it can be opened, what it contains.
func examine(ctx context.Context, a *app) []finding {
	var contents []finding
	err := a.withReader(ctx, func(db node.Store) error {
		problems, err := db.Check(ctx)
		contents = found("integrity and ledger", adviceDamaged, problems, err)
		problems, err = checkEvents(ctx, db)
		contents = append(contents, found("events", "copies made from the feed are wrong: let clients read the lists again, and please report this", problems, err)...)
		return nil
	})
	return append(found("database", "", nil, err), contents...)
}

// found returns the findings of a check: its problems, and the error if it could not be made.
func found(check, advice string, problems []string, err error) (findings []finding) {
	for _, p := range problems {
		findings = append(findings, finding{check, "problem", oneLine(p), advice})
	}
	switch {
	case err != nil:
		return append(findings, failed(check, err))
	case len(problems) == 0:
		return []finding{{check, "ok", "nothing found", ""}}
	}
	return findings
}

// failed returns the finding for a check that could not be made.
func failed(check string, err error) finding {
	if e, ok := errors.AsType[*petstore.Error](err); ok && e.Err != nil {
		err = e.Err // its message is for the clients of a server
	}
	advice := "check that --db is right, and that this user can read and write the database"
	switch {
	case sqlite.IsDamage(err):
		advice = adviceDamaged
	case errors.Is(err, store.ErrLacking):
		advice = "make a backup, then run petstore migrate up"
	case errors.Is(err, sqlite.ErrMissing):
		advice += "; petstore migrate up creates and migrates it"
	}
	return finding{check, "problem", explain(err), advice}
}

// checkEvents compares the data of each workspace with what its feed of events says.
func checkEvents(ctx context.Context, db node.Store) (problems []string, err error) {
	all, err := db.Workspaces(ctx, 0, math.MaxInt)
	for _, w := range all {
		if w.Sandbox != nil {
			continue
		}
		found, checkErr := db.CheckFeed(ctx, w.Shop)
		problems, err = append(problems, found...), errors.Join(err, checkErr)
	}
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
