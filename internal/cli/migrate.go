package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/sqlite"
)

func (a *app) migrateCommand() *cobra.Command {
	return a.group("migrate", "Bring the database up to date, or show whether it is", a.migrateUp(), a.migrateStatus())
}

func (a *app) migrateUp() *cobra.Command {
	o := tables()
	return a.command(spec{
		use:      "up",
		short:    "Bring the database up to date",
		long:     "Make the database, or bring it up to date, as serve does when it starts. There is no way back: make a copy first.",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, _ []string) error {
			all, err := sqlite.MigrateUp(ctx, a.config.DB, a.now)
			if err != nil {
				return err
			}
			return a.printMigrations(o, all)
		},
	})
}

func (a *app) migrateStatus() *cobra.Command {
	o := tables()
	return a.command(spec{
		use:      "status",
		short:    "List the migrations, and which were applied",
		settings: []string{"db"}, output: o,
		run: func(ctx context.Context, _ []string) error {
			all, err := sqlite.MigrateStatus(ctx, a.config.DB)
			if err != nil {
				return err
			}
			return a.printMigrations(o, all)
		},
	})
}

// migrationView is a migration as it is printed.
type migrationView struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	Applied   bool       `json:"applied"`
	AppliedAt *time.Time `json:"appliedAt,omitempty"`
}

func (a *app) printMigrations(o *output, all []sqlite.Migration) error {
	views := make([]migrationView, len(all))
	for i, m := range all {
		views[i] = migrationView{m.Version, m.Name, m.Applied, instant(m.At)}
	}
	return a.print(o, views, func() rows {
		r := rows{{"VERSION", "NAME", "APPLIED"}}
		for _, m := range all {
			r.add(strconv.Itoa(m.Version), m.Name, moment(m.At, "no"))
		}
		return r
	})
}
