package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store/sqlite"
)

func backupCommand(a *app) *cobra.Command {
	var force bool
	cmd := newCommand(a, spec{
		use: "backup FILE", args: cobra.ExactArgs(1),
		short: "Write a verified backup of the database",
		long: `Write a backup of the SQLite database: a snapshot of one moment. A server can keep
running meanwhile.

The backup is verified before the file gets its name: its structure, and its stock
against the ledger. Only its owner can read it, because it contains everything.`,
		example:  "  petstore backup /backups/petstore-2026-01-31.db",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			if err := a.onlyFile("backup", "back PostgreSQL up with pg_dump or pg_basebackup"); err != nil {
				return err
			}
			if err := mayReplace(args[0], force); err != nil {
				return err
			}
			began := a.now()
			if err := sqlite.Backup(ctx, a.config.DB, args[0]); err != nil {
				return err
			}
			return printCopy(a, "Backed up "+a.config.DB+" to ", args[0], a.now().Sub(began))
		},
	})
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// copyView is a backup or a restored database as it is printed.
type copyView struct {
	File     string  `json:"file"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
	Verified bool    `json:"verified"`
}

func printCopy(a *app, did, file string, took time.Duration) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	v := copyView{file, info.Size(), float64(took.Milliseconds()) / 1000, true}
	return a.printDone(v, "%s%s: %d bytes, verified, in %v", did, file, v.Bytes, took.Round(time.Millisecond))
}

func restoreCommand(a *app) *cobra.Command {
	var force bool
	cmd := newCommand(a, spec{
		use: "restore FILE", args: cobra.ExactArgs(1),
		short: "Replace the database with a backup",
		long: `Replace the SQLite database with a copy of a backup. The copy is verified and
migrated before it takes the database's place.

Stop the server first. An existing database is only replaced with --force. The backup
itself is not changed.`,
		example:  "  petstore restore /backups/petstore-2026-01-31.db --force",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			if err := a.onlyFile("restore", "restore PostgreSQL with pg_restore or from pg_basebackup"); err != nil {
				return err
			}
			if err := mayReplace(a.config.DB, force); err != nil {
				return err
			}
			began := a.now()
			warning, err := sqlite.Restore(ctx, args[0], a.config.DB, sqlite.Options{Now: a.now, Readers: 1})
			if err != nil {
				return err
			}
			if warning != nil {
				fmt.Fprintf(a.err, "petstore: %v\n", warning)
			}
			return printCopy(a, "Restored "+args[0]+" to ", a.config.DB, a.now().Sub(began))
		},
	})
	cmd.Flags().BoolVar(&force, "force", false, "replace the database if it exists")
	return cmd
}
