package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/sqlite"
)

func (a *app) doctorCommand() *cobra.Command {
	o := tables()
	return a.command(spec{
		use:   "doctor",
		short: "Check the database: its integrity, and the stock against its ledger",
		long: `Check the database: its integrity, its references, and the stock of every pet
against the ledger of movements that explains it. It changes nothing and may run
beside a server. It fails if it finds a problem.`,
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, _ []string) error {
			return a.using(ctx, sqlite.Options{Now: a.now, Readers: 1, ReadOnly: true}, func(db *sqlite.DB) error {
				problems, err := db.Check(ctx)
				if err != nil {
					return err
				}
				return a.printDiagnosis(o, problems)
			})
		},
	})
}

// diagnosis is what doctor found.
type diagnosis struct {
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems"`
}

func (a *app) printDiagnosis(o *output, problems []string) error {
	d := diagnosis{Healthy: len(problems) == 0, Problems: append([]string{}, problems...)}
	err := a.print(o, d, func() rows {
		if d.Healthy {
			return rows{{"No problem was found."}}
		}
		var r rows
		for _, p := range problems {
			r.add(p)
		}
		return r
	})
	if err == nil && !d.Healthy {
		err = fmt.Errorf("%d problems were found in %s", len(problems), a.config.DB)
	}
	return err
}
