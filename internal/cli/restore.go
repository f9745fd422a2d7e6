package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/sqlite"
)

func (a *app) restoreCommand() *cobra.Command {
	var force bool
	o := tables()
	cmd := a.command(spec{
		use:   "restore FILE",
		short: "Put a backup in the place of the database",
		long: `Put a copy of a backup in the place of the database. The copy is verified and
brought up to date first; then it replaces the database at once. It is refused
while a server has the database open, and, without --force, if there is one. The
backup stays as it is.`,
		example:  "  petstore restore /backups/petstore-2026-01-31.db --force",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, args []string) error {
			if err := a.onlyFile("restore", "restore PostgreSQL with pg_restore or from pg_basebackup"); err != nil {
				return err
			}
			if err := mayReplace(a.config.DB, force); err != nil {
				return err
			}
			began := a.now()
			if err := sqlite.Restore(ctx, args[0], a.config.DB, sqlite.Options{Now: a.now, Readers: 1}); err != nil {
				return err
			}
			return a.printCopy(o, "Restored "+args[0]+" to ", a.config.DB, a.now().Sub(began))
		},
	})
	cmd.ValidArgsFunction = nil
	cmd.Flags().BoolVar(&force, "force", false, "replace the database if it exists")
	return cmd
}
