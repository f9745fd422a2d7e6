package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/scratch"
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
against the ledger. Only its owner can read it, because it contains everything. With
-, the backup goes to stdout, after it was verified in the temporary directory.`,
		example:  "  petstore backup /backups/petstore-2026-01-31.db\n  petstore backup - | gzip > petstore.db.gz",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			if err := a.onlyFile("backup", "back PostgreSQL up with pg_dump or pg_basebackup"); err != nil {
				return err
			}
			if args[0] == standardStream {
				return backupToStream(ctx, a)
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
	cmd.ValidArgsFunction = nil
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// backupToStream writes a backup to stdout once it is verified.
func backupToStream(ctx context.Context, a *app) (err error) {
	if terminal(a.out) {
		return usagef("a backup cannot be printed on a terminal; give a FILE, or redirect stdout")
	}
	temp, err := scratch.Make("backup")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	path := filepath.Join(temp.Path, "petstore.db")
	if err := sqlite.Backup(ctx, a.config.DB, path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	n, err := io.Copy(a.out, f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.err, "petstore: backed up %s: %d bytes, verified\n", a.config.DB, n)
	return err
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
itself is not changed. With -, it is read from stdin.`,
		example:  "  petstore restore /backups/petstore-2026-01-31.db --force",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) (err error) {
			if err := a.onlyFile("restore", "restore PostgreSQL with pg_restore or from pg_basebackup"); err != nil {
				return err
			}
			if err := mayReplace(a.config.DB, force); err != nil {
				return err
			}
			if args[0] != standardStream {
				return restoreFile(ctx, a, args[0], args[0])
			}
			temp, done, err := spool(ctx, "restore", a.in)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done()) }()
			return restoreFile(ctx, a, temp.Name(), "stdin")
		},
	})
	cmd.ValidArgsFunction = nil
	cmd.Flags().BoolVar(&force, "force", false, "replace the database if it exists")
	return cmd
}

// restoreFile restores the backup at path, which the operator called name.
func restoreFile(ctx context.Context, a *app, path, name string) error {
	began := a.now()
	warning, err := sqlite.Restore(ctx, path, a.config.DB, sqlite.Options{Now: a.now, Readers: 1})
	if err != nil {
		return err
	}
	if warning != nil {
		fmt.Fprintf(a.err, "petstore: %v\n", warning)
	}
	return printCopy(a, "Restored "+name+" to ", a.config.DB, a.now().Sub(began))
}
