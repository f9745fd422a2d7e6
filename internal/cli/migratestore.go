package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

func migrateStoreCommand(a *app) *cobra.Command {
	var from, to string
	cmd := newCommand(a, spec{
		use:   "migrate-store",
		short: "Move everything from SQLite to PostgreSQL",
		long: `Move everything from a SQLite file to a PostgreSQL database: workspaces, keys, bans,
pets, orders, stock with its ledger, events, webhooks, idempotency receipts, counters,
usage and the audit log. Clients notice only a pause: keys, ids, ETags and cursors stay
the same.

Stop the server first. The file is locked during the move. At the end it is marked as
moved: servers and commands that would still use it are refused with the new address.
The target must have no data of Petstore, and no node can open it during the move. The
rows of each table are counted on both sides. If the move is interrupted, both sides are
as before, and you can run the command again. If it was killed after it had filled the
target and before it had marked the file, run it again with an empty database.

Give the password in PGPASSWORD or PGPASSFILE, where ps does not show it.`,
		example: "  petstore migrate-store --from petstore.db --to postgres://petstore@db/shop",
		output:  tables(),
		needs:   []string{"to"},
		run: func(ctx context.Context, _ []string) error {
			switch {
			case !(&config.Config{DB: to}).OnPostgres():
				return usagef("--to: must be a postgres:// URL, such as postgres://user@host/dbname")
			case config.CheckPath(from) != nil:
				return usagef("--from: must be the path of a SQLite file")
			}
			return migrateStore(ctx, a, from, to)
		},
	})
	cmd.Flags().StringVar(&from, "from", "petstore.db", "move from the SQLite `FILE`")
	cmd.Flags().StringVar(&to, "to", "", "move to the PostgreSQL database at `URL`")
	return cmd
}

// moveView is a move as it is printed.
type moveView struct {
	Tables  []store.Moved `json:"tables"`
	Rows    int64         `json:"rows"`
	Seconds float64       `json:"seconds"`
}

func migrateStore(ctx context.Context, a *app, from, to string) (err error) {
	source, err := sqlite.OpenSource(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := postgres.OpenTarget(ctx, to, a.now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close(ctx)) }()
	began, bar := a.now(), a.newBar(0, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("rows"))
	var v moveView
	v.Tables, err = (&store.Move{From: source, To: target, Name: config.Redact(to), OnProgress: func(done, all int64) {
		bar.ChangeMax64(all)
		_ = bar.Set64(done) // a terminal that cannot be written shows nothing anyway
	}}).Run(ctx)
	bar.Finish()
	if err != nil {
		if errors.Is(err, context.Canceled) { // of which Main says no more than that
			fmt.Fprintln(a.err, "petstore: nothing was moved; run the command again")
		}
		return err
	}
	for _, t := range v.Tables {
		v.Rows += t.Rows
	}
	took := a.now().Sub(began).Round(time.Millisecond)
	v.Seconds = took.Seconds()
	if err := a.print(v, tableOf(v.Tables, "table,rows")); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "petstore: moved %d rows from %s to %s in %v. Start the nodes, and give all commands, the new address with --db or PETSTORE_DB; %[2]s is refused from now on.\n",
		v.Rows, from, config.Redact(to), took)
	return nil
}
