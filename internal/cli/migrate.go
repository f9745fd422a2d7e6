package cli

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

func migrateCommand(a *app) *cobra.Command {
	up := spec{
		use: "up", short: "Migrate the database to this version",
		long: "Create the database, or migrate it to this version, as serve does when it starts.\nThere is no way back, so make a backup first.",
	}
	status := spec{use: "status", short: "List all migrations, and which of them are applied"}
	return newGroup("migrate", "Migrate the database, or show which migrations it has",
		onMigrations(a, up, func(ctx context.Context) ([]store.Migration, error) {
			if a.config.OnPostgres() {
				return postgres.MigrateUp(ctx, a.config.DB, a.now)
			}
			return sqlite.MigrateUp(ctx, a.config.DB, a.now)
		}),
		onMigrations(a, status, func(ctx context.Context) ([]store.Migration, error) {
			if a.config.OnPostgres() {
				return postgres.MigrateStatus(ctx, a.config.DB)
			}
			return sqlite.MigrateStatus(ctx, a.config.DB)
		}))
}

// onMigrations returns the command that prints the migrations that it gets.
func onMigrations(a *app, s spec, get func(context.Context) ([]store.Migration, error)) *cobra.Command {
	s.settings, s.output = []string{"db"}, tables()
	s.run = func(ctx context.Context, _ []string) error {
		all, err := get(ctx)
		if err != nil {
			return err
		}
		all = append([]store.Migration{}, all...) // which is never null
		return a.print(all, tableOf(all, "version,name,appliedAt"))
	}
	return newCommand(a, s)
}
