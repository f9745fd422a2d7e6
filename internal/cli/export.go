package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/config"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
)

// standardStream as a file's name stands for stdin or stdout.
const standardStream = "-"

// formatFlag is the flag --format.
type formatFlag struct{ format interchange.Format }

func (f *formatFlag) register(cmd *cobra.Command) {
	cmd.Flags().Var(config.Word(&f.format, interchange.NDJSON, interchange.CSV), "format", "the `FORMAT` of the file: ndjson or csv (default by its name)")
}

// of returns the format of a file.
func (f *formatFlag) of(file string) (interchange.Format, error) {
	if f.format != "" {
		return f.format, nil
	}
	if file == standardStream {
		return interchange.NDJSON, nil
	}
	format, err := interchange.FormatOf(file)
	if err != nil {
		return "", usagef("FILE: %v", err)
	}
	return format, nil
}

func exportCommand(a *app) *cobra.Command {
	var format formatFlag
	var force bool
	cmd := newCommand(a, spec{
		use:   "export WORKSPACE [FILE]",
		args:  cobra.RangeArgs(1, 2),
		short: "Export a workspace to a file",
		long: `Export a workspace to a file: a snapshot of one moment. A server can keep running
meanwhile. Without FILE, or with -, the export goes to stdout.

NDJSON contains everything: categories, pets with their stock, orders, and the ledger
that explains each quantity. CSV contains the id, name, category, status and stock of
each pet, for a spreadsheet; you can edit and import it again. Leave its column version
as it is: it tells the import what you have changed. The format follows the name of FILE;
without a name it is NDJSON.`,
		example:  "  petstore export acme acme.ndjson\n  petstore export acme pets.csv\n  petstore export acme --format csv | head",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			file := standardStream
			if len(args) > 1 {
				file = args[1]
			}
			f, err := format.of(file)
			if err != nil {
				return err
			}
			return a.withReader(ctx, func(db node.Store) error { return exportWorkspace(ctx, a, db, args[0], file, f, force) })
		},
	})
	format.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

// exportView is what was exported, as it is printed.
type exportView struct {
	Workspace string             `json:"workspace"`
	File      string             `json:"file"`
	Format    interchange.Format `json:"format"`
	interchange.Counts
}

func exportWorkspace(ctx context.Context, a *app, db node.Store, workspace, file string, f interchange.Format, force bool) error {
	w, err := db.Workspace(ctx, workspace)
	if err != nil {
		return err
	}
	v := exportView{Workspace: w.Name, File: file, Format: f}
	write := func(to io.Writer) error {
		out := interchange.NewWriter(to, f, interchange.Head{Workspace: w.Name, ExportedAt: petstore.At(a.now())})
		if err := db.Dump(ctx, w.Shop, out); err != nil {
			return err
		}
		err := out.Close()
		v.Counts = out.Written()
		return err
	}
	if file != standardStream {
		if err := a.replaceFile(file, force, write); err != nil {
			return err
		}
		return a.printDone(v, "Exported %v to %s", v.Counts, file)
	}
	if err := write(a.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.err, "petstore: exported %v\n", v.Counts)
	return err
}
