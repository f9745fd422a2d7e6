package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/sqlite"
)

func (a *app) backupCommand() *cobra.Command {
	var force bool
	o := tables()
	cmd := a.command(spec{
		use:   "backup FILE",
		short: "Write a verified copy of the database to a file",
		long: `Write a copy of the database, as it is at one instant, to a file. A server may
go on beside it and is not slowed down by a lock. The file gets its name when it
is whole, durable and verified: its structure, and its stock against the ledger.
It can be read by its owner alone: it holds all that the database does.`,
		example:  "  petstore backup /backups/petstore-2026-01-31.db",
		settings: []string{"db"}, output: o,
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
			return a.printCopy(o, "Backed up "+a.config.DB+" to ", args[0], a.now().Sub(began))
		},
	})
	cmd.ValidArgsFunction = nil
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

func (a *app) printCopy(o *output, did, file string, took time.Duration) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	v := copyView{file, info.Size(), float64(took.Milliseconds()) / 1000, true}
	return a.print(o, v, func() rows {
		return rows{{fmt.Sprintf("%s%s: %d bytes, verified, in %v.", did, file, v.Bytes, took.Round(time.Millisecond))}}
	})
}
