package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/operator"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

func migrateCommand(a *app) *cobra.Command {
	return newGroup("migrate", "Migrate the database, or show which migrations it has", migrateUp(a), migrateStatus(a))
}

func migrateUp(a *app) *cobra.Command {
	return onMigrations(a, spec{
		use:   "up",
		short: "Migrate the database to this version",
		long:  "Create the database, or migrate it to this version, as serve does when it starts.\nThere is no way back, so make a backup first.",
	}, applyMigrations)
}

func migrateStatus(a *app) *cobra.Command {
	return onMigrations(a, spec{use: "status", short: "List all migrations, and which of them are applied"}, knownMigrations)
}

// onMigrations returns the command that prints the migrations that it gets.
func onMigrations(a *app, s spec, get func(context.Context, *app) ([]migrationView, error)) *cobra.Command {
	s.settings, s.output = []string{"db"}, tables()
	s.run = func(ctx context.Context, _ []string) error {
		all, err := get(ctx, a)
		if err != nil {
			return err
		}
		return a.print(all, tableOf(all, "version,name,appliedAt"))
	}
	return newCommand(a, s)
}

// migrationView is a migration as it is printed.
type migrationView struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	Applied   bool       `json:"applied"`
	AppliedAt *time.Time `json:"appliedAt,omitempty"`
}

// applyMigrations brings the database up to date and returns what it lacked.
func applyMigrations(ctx context.Context, a *app) ([]migrationView, error) {
	if a.config.OnPostgres() {
		all, err := postgres.MigrateUp(ctx, a.config.DB, a.now)
		return migrationViews(all), err
	}
	all, err := sqlite.MigrateUp(ctx, a.config.DB, a.now)
	return migrationViews(all), err
}

// knownMigrations returns all migrations, and which of them were applied.
func knownMigrations(ctx context.Context, a *app) ([]migrationView, error) {
	if a.config.OnPostgres() {
		all, err := postgres.MigrateStatus(ctx, a.config.DB)
		return migrationViews(all), err
	}
	all, err := sqlite.MigrateStatus(ctx, a.config.DB)
	return migrationViews(all), err
}

func migrationViews(all []store.Migration) []migrationView {
	views := make([]migrationView, len(all))
	for i, m := range all {
		views[i] = migrationView{m.Version, m.Name, m.Applied, operator.Instant(m.At)}
	}
	return views
}
