package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/node"
)

// What --on-error takes.
const (
	stopOnError = "stop"
	skipOnError = "skip"
)

// An importer is one run of import.
type importer struct {
	*app
	file    string
	format  formatFlag
	dryRun  bool
	yes     bool
	onError string
	ignore  []string

	kind   interchange.Format
	in     *os.File
	digest string // of the file, and of what is read of it
}

func importCommand(a *app) *cobra.Command {
	i := &importer{app: a, onError: stopOnError}
	cmd := newCommand(a, spec{
		use: "import WORKSPACE FILE [--yes]", args: cobra.ExactArgs(2),
		short: "Import a file into a workspace",
		long: `Import a file into a workspace; - is stdin. A server can keep running meanwhile.

NDJSON is what export writes. Ids are kept, and an id that is in use is a fault.

CSV needs a first line that names the columns, in any order: id, name, category, status,
stock, add and version. A row without an id creates a pet, and needs a name and a
category. A row with an id changes that pet; empty cells leave it as it is. stock sets
how many units there are, add adds to them (+5) or takes away (-2). Categories are
created as needed.

export writes the column version, which says what each row was. With it, the import
changes only the cells that you changed; a cell that somebody else has changed too is a
fault. Without it, you have to confirm a file that sets the stock of pets. You also have
to confirm a file that adds pets whose names are there already.

All rows are checked first. Up to a hundred faults are reported with their lines, and nothing
is imported unless every row is correct. With --on-error skip, bad rows are reported and
left out, the others are imported, and the command fails at the end. If an import is
interrupted, run it again with the same file, and it continues.`,
		example:  "  petstore import acme acme.ndjson\n  petstore import acme pets.csv --dry-run\n  petstore import acme pets.csv --ignore-columns colour,notes",
		settings: []string{"db"}, output: tables(),
		run: func(ctx context.Context, args []string) error {
			i.file = args[1]
			return i.run(ctx, args[0])
		},
	})
	i.format.register(cmd)
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "only check, and print what would be created, changed and left as it is")
	cmd.Flags().BoolVarP(&i.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().Var(config.Word(&i.onError, stopOnError, skipOnError), "on-error", "what to `DO` about bad rows: stop or skip (default stop)")
	cmd.Flags().Var(config.List(&i.ignore, text()), "ignore-columns", "ignore the CSV columns `NAME,...`")
	return cmd
}

func (i *importer) run(ctx context.Context, workspace string) (err error) {
	if i.kind, err = i.format.of(i.file); err != nil {
		return err
	}
	if i.kind != interchange.CSV && len(i.ignore) > 0 {
		return usagef("--ignore-columns: only CSV has columns")
	}
	if err := i.open(ctx); err != nil {
		return err
	}
	defer i.in.Close()
	use := i.withStore
	if i.dryRun {
		use = i.withReader
	}
	return use(ctx, func(db node.Store) error {
		w, err := db.Workspace(ctx, workspace)
		if err != nil {
			return err
		}
		if i.dryRun || i.onError == stopOnError || i.kind == interchange.CSV && !i.yes {
			if err := i.try(ctx, db, w); err != nil || i.dryRun {
				return err
			}
		}
		return i.keep(ctx, db, w.Shop)
	})
}

// open opens the file, or a temporary copy of what is no file, since it is read twice, and takes its digest. The end of
// ctx ends a read that waits for somebody to write.
func (i *importer) open(ctx context.Context) (err error) {
	if i.file == standardStream {
		i.file = "stdin"
		i.in, err = spool(ctx, i.app.in)
	} else if i.in, err = os.Open(i.file); err == nil && !isFile(i.in) {
		defer i.in.Close()
		i.in, err = spool(ctx, i.in)
	}
	if err != nil {
		return err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q ", i.kind, i.ignore)
	_, err = io.Copy(hash, i.fromStart())
	i.digest = hex.EncodeToString(hash.Sum(nil))
	return err
}

// fromStart returns a reader of the whole file.
func (i *importer) fromStart() io.Reader { return io.NewSectionReader(i.in, 0, math.MaxInt64) }

func isFile(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// try finds out what an import would do, and returns an error if there are faults, or if what it would do is not confirmed.
func (i *importer) try(ctx context.Context, db node.Store, w access.Workspace) error {
	began, stops := i.now(), i.onError == stopOnError
	report, err := i.into(ctx, db, interchange.Import{Workspace: w.Shop, File: i.digest, SkipFaults: true}, (*interchange.Import).DryRun)
	f, final := errors.AsType[*interchange.Fault](err)
	switch {
	case final && !stops:
		return fmt.Errorf("%s:%d: %s; nothing was imported", i.file, f.Line, f.Reason)
	case final:
		report.Faults, report.Skipped = append(report.Faults, f), report.Skipped+1
	case err != nil:
		return err
	}
	if i.dryRun || stops { // else the import itself lists them
		i.list(report.Faults)
	}
	switch {
	case report.Skipped > 0 && stops:
		return fmt.Errorf("%s; nothing was imported", i.faultsIn(report))
	case i.dryRun:
		i.note(report.Notes.Lines()...)
		for _, q := range report.Notes.Questions {
			i.note("this would " + q + "; an import asks first, or needs --yes")
		}
		return i.printReport(report, i.now().Sub(began))
	case len(report.Notes.Questions) == 0 || i.yes:
		return nil
	}
	i.note(report.Notes.Lines()...)
	return i.confirm(ctx, i.yes, strings.Join(report.Notes.Questions, "; and "), w.Name)
}

// note prints lines about the file.
func (i *importer) note(lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(i.err, "petstore: %s: %s\n", i.file, access.Printable(line))
	}
}

// keep imports into the database.
func (i *importer) keep(ctx context.Context, db node.Store, workspace int64) error {
	began := i.now()
	run := interchange.Import{Workspace: workspace, File: i.digest, SkipFaults: i.onError == skipOnError}
	report, err := i.into(ctx, db, run, (*interchange.Import).Run)
	i.list(report.Faults)
	if err == nil {
		return i.printReport(report, i.now().Sub(began))
	}
	how := fmt.Sprintf("%v were imported before it; run the command again with the same file, and it continues", report)
	if report.Rows()+report.Changed == 0 {
		how = "nothing was imported"
	}
	if errors.Is(err, context.Canceled) { // of which Main says no more than that
		i.note(how)
		return err
	}
	if f, ok := errors.AsType[*interchange.Fault](err); ok {
		err = fmt.Errorf("%s:%d: %s", i.file, f.Line, f.Reason)
	}
	return fmt.Errorf("%s; %s", explain(err), how)
}

// into has do read the whole file.
func (i *importer) into(ctx context.Context, db node.Store, run interchange.Import, do func(*interchange.Import, context.Context) (interchange.Report, error)) (interchange.Report, error) {
	info, err := i.in.Stat()
	if err != nil {
		return interchange.Report{}, err
	}
	bar := i.newBar(info.Size(), progressbar.OptionShowBytes(true))
	defer bar.Finish()
	if run.From, err = interchange.NewReader(io.TeeReader(i.fromStart(), bar), i.kind, i.ignore...); err != nil {
		return interchange.Report{}, err
	}
	run.To, run.Now = db, i.now
	return do(&run, ctx)
}

// list prints faults.
func (i *importer) list(faults []*interchange.Fault) {
	for _, f := range faults {
		fmt.Fprintf(i.err, "petstore: %s:%d: %s\n", i.file, f.Line, explain(errors.New(f.Reason)))
	}
}

// faultsIn says how many faults there are.
func (i *importer) faultsIn(r interchange.Report) string {
	text := fmt.Sprintf("%s has %s", i.file, english.Plural(int(r.Skipped), "fault", ""))
	if r.Skipped > int64(len(r.Faults)) {
		text += fmt.Sprintf(", of which the first %d are listed", len(r.Faults))
	}
	return text
}

// importView is the report as it is printed.
type importView struct {
	interchange.Counts
	Changed int64                `json:"changed"` // pets that rows with ids changed
	Left    int64                `json:"left"`    // pets that were so already
	Skipped int64                `json:"skipped"`
	Faults  []*interchange.Fault `json:"faults"` // of those skipped, the first ones
	DryRun  bool                 `json:"dryRun"`
	Seconds float64              `json:"seconds"`

	*interchange.Notes // of a dry run
}

func (i *importer) printReport(r interchange.Report, took time.Duration) error {
	v := importView{r.Counts, r.Changed, r.Left, r.Skipped, r.Faults, i.dryRun, float64(took.Milliseconds()) / 1000, nil}
	did := "Imported"
	if i.dryRun {
		did, v.Notes = "Would import", &r.Notes
	}
	edits := ""
	if r.Changed+r.Left > 0 {
		edits = fmt.Sprintf(", %s changed, %d left as they were", english.Plural(int(r.Changed), "pet", ""), r.Left)
	}
	if r.Reached > 0 {
		i.note(fmt.Sprintf("it was imported up to line %d before, and continued after it", r.Reached))
	}
	err := i.printDone(v, "%s %v%s in %v", did, r, edits, took.Round(time.Millisecond))
	if err != nil || r.Skipped == 0 {
		return err
	}
	return fmt.Errorf("%s; the rows at fault were left out", i.faultsIn(r))
}
