package cli

import (
	"bytes"
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

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"example.com/petstore/internal/access"
	"example.com/petstore/internal/config"
	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/node"
)

// maxFaults is the greatest number of faults that are named, on stderr and in the
// JSON report.
const maxFaults = 100

// What --on-error takes.
const (
	stopOnError = "stop"
	skipOnError = "skip"
)

// An importer is one run of import.
type importer struct {
	*app
	file     string
	format   formatFlag
	dryRun   bool
	yes      bool
	onError  string
	fromLine int
	resumed  bool // it continues an import that was interrupted
	ignore   []string

	kind         interchange.Format
	in           *os.File
	digest       string // of the file, and of what is read of it
	bar          *progressbar.ProgressBar
	listedFaults []lineFault
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
	cmd.ValidArgsFunction = nil
	i.format.register(cmd)
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "only check, and print what would be created, changed and left as it is")
	cmd.Flags().BoolVarP(&i.yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().Var(config.Word(&i.onError, stopOnError, skipOnError), "on-error", "what to `DO` about bad rows: stop or skip (default stop)")
	cmd.Flags().Var(listOf(&i.ignore, text(nil)), "ignore-columns", "ignore the CSV columns `NAME,...`")
	cmd.Flags().Var(config.Whole(&i.fromLine, 0, math.MaxInt32), "from-line", "start at line `N`")
	return cmd
}

func (i *importer) run(ctx context.Context, workspace string) (err error) {
	if i.kind, err = i.format.of(i.file); err != nil {
		return err
	}
	if i.kind != interchange.CSV && len(i.ignore) > 0 {
		return usagef("--ignore-columns: only CSV has columns")
	}
	done, err := i.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	use := i.withStore
	if i.dryRun {
		use = i.withReader
	}
	return use(ctx, func(db node.Store) error {
		w, err := db.Workspace(ctx, workspace)
		if err != nil {
			return err
		}
		reached, err := db.ImportedThrough(ctx, w.Shop, i.digest)
		if err != nil {
			return err
		}
		if reached > 0 {
			fmt.Fprintf(i.err, "petstore: this file was imported up to line %d before; continuing after it\n", reached)
			i.fromLine, i.resumed = max(i.fromLine, reached+1), true
		}
		if i.dryRun || i.onError == stopOnError || i.kind == interchange.CSV && !i.yes {
			if err := i.try(ctx, db, w); err != nil || i.dryRun {
				return err
			}
		}
		return i.keep(ctx, db, w.Shop)
	})
}

// open opens the file and takes its digest; done closes it. The end of ctx ends a
// read that waits for somebody to write.
func (i *importer) open(ctx context.Context) (done func() error, err error) {
	if i.in, done, err = i.source(ctx); err != nil {
		return nil, err
	}
	hash, end := sha256.New(), lineCounter{}
	fmt.Fprintf(hash, "%s %d %q ", i.kind, i.fromLine, i.ignore)
	if _, err := io.Copy(io.MultiWriter(hash, &end), i.in); err != nil {
		return nil, errors.Join(err, done())
	}
	if i.fromLine > max(1, end.last) {
		return nil, errors.Join(usagef("--from-line: %d: the last line of %s is %d", i.fromLine, i.file, end.last), done())
	}
	i.digest = hex.EncodeToString(hash.Sum(nil))
	return done, nil
}

// source returns the file, or a temporary copy of what is no file, since it is read
// twice; done closes it, and removes the copy.
func (i *importer) source(ctx context.Context) (in *os.File, done func() error, err error) {
	const what = "import"
	if i.file == standardStream {
		i.file = "stdin"
		return spool(ctx, what, i.app.in)
	}
	f, err := os.Open(i.file)
	if err != nil || isFile(f) {
		return f, f.Close, err
	}
	defer f.Close()
	return spool(ctx, what, f)
}

// A lineCounter counts the lines that are written to it.
type lineCounter struct {
	ended int // lines
	last  int // number of the last one that is not blank
}

// Write implements [io.Writer].
func (c *lineCounter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if len(bytes.TrimSpace(line)) > 0 {
			c.last = c.ended + 1
		}
		c.ended += bytes.Count(line[len(line)-1:], []byte("\n"))
	}
	return len(p), nil
}

func isFile(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// try finds out what an import would do, and returns an error if there are faults, or if what it would do is not confirmed.
func (i *importer) try(ctx context.Context, db node.Store, w access.Workspace) error {
	began, quiet := i.now(), !i.dryRun && i.onError == skipOnError
	run := interchange.Import{Workspace: w.Shop, File: i.digest, SkipFaults: true, MaxFaults: maxFaults, OnFault: i.skipped}
	if quiet { // the import itself names them
		run.MaxFaults, run.OnFault = 0, func(*interchange.Fault) {}
	}
	report, err := i.into(ctx, db, run, (*interchange.Import).DryRun)
	f, final := errors.AsType[*interchange.Fault](err)
	if final && i.onError == stopOnError {
		i.skipped(f)
		report.Skipped++
		err = nil
	}
	switch {
	case final && i.onError == skipOnError:
		return fmt.Errorf("%s:%d: %s; nothing was imported", i.file, f.Line, f.Reason)
	case errors.Is(err, interchange.ErrFaults):
		return fmt.Errorf("%s has %d faults or more, of which these are the first; nothing was imported", i.file, maxFaults)
	case err != nil:
		return err
	case report.Skipped > 0 && i.onError == stopOnError:
		return fmt.Errorf("%s has %s; nothing was imported", i.file, interchange.Quantity(report.Skipped, "fault", "faults"))
	case i.dryRun:
		i.note(report.Notes.Lines())
		i.note(asQuestions(report.Notes.Questions))
		return i.printReport(report, i.now().Sub(began))
	}
	return i.confirmQuestions(ctx, w.Name, &report.Notes)
}

// confirmQuestions has what an import would do confirmed, if that is needed.
func (i *importer) confirmQuestions(ctx context.Context, workspace string, n *interchange.Notes) error {
	if len(n.Questions) == 0 || i.yes {
		return nil
	}
	i.note(n.Lines())
	return i.confirm(ctx, i.yes, strings.Join(n.Questions, "; and "), workspace)
}

// asQuestions returns what an import would do as sentences.
func asQuestions(all []string) (lines []string) {
	for _, q := range all {
		lines = append(lines, "this would "+q+"; an import asks first, or needs --yes")
	}
	return lines
}

// note prints lines about the file.
func (i *importer) note(lines []string) {
	for _, line := range lines {
		fmt.Fprintf(i.err, "petstore: %s: %s\n", i.file, access.Printable(line))
	}
}

// keep imports into the database.
func (i *importer) keep(ctx context.Context, db node.Store, workspace int64) error {
	began := i.now()
	run := interchange.Import{Workspace: workspace, File: i.digest, Resumed: i.resumed, SkipFaults: i.onError == skipOnError, OnFault: i.skipped}
	report, err := i.into(ctx, db, run, (*interchange.Import).Run)
	if err == nil {
		return i.printReport(report, i.now().Sub(began))
	}
	if f, ok := errors.AsType[*interchange.Fault](err); ok {
		err = fmt.Errorf("%s:%d: %s", i.file, f.Line, f.Reason)
	}
	how := fmt.Sprintf("%v were imported before it; run the command again with the same file, and it continues", report)
	if report.Rows()+report.Changed == 0 {
		how = "nothing was imported"
	}
	if errors.Is(err, context.Canceled) { // of which Main says no more than that
		fmt.Fprintf(i.err, "petstore: %s: %s\n", i.file, how)
	}
	return &importError{err, how}
}

// into has do read the whole file.
func (i *importer) into(ctx context.Context, db node.Store, run interchange.Import, do func(*interchange.Import, context.Context) (interchange.Report, error)) (interchange.Report, error) {
	info, err := i.in.Stat()
	if err != nil {
		return interchange.Report{}, err
	}
	if _, err := i.in.Seek(0, io.SeekStart); err != nil {
		return interchange.Report{}, err
	}
	i.bar = i.newBar(info.Size(), progressbar.OptionShowBytes(true))
	defer i.bar.Finish()
	options := interchange.Options{FromLine: i.fromLine, Ignore: i.ignore}
	if run.From, err = interchange.NewReader(io.TeeReader(i.in, i.bar), i.kind, options); err != nil {
		return interchange.Report{}, err
	}
	run.To, run.Now, run.OnProgress = db, i.now, i.describe
	return do(&run, ctx)
}

// describe shows what is kept so far, and how fast.
func (i *importer) describe(r interchange.Report) {
	rate := float64(r.Rows()) / max(i.bar.State().SecondsSince, 0.001)
	i.bar.Describe(fmt.Sprintf("%d rows, %.0f/s", r.Rows(), rate))
}

// lineFault is a fault as it is printed.
type lineFault struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func (i *importer) skipped(f *interchange.Fault) {
	if len(i.listedFaults) == maxFaults {
		return
	}
	i.bar.Clear() // a terminal that cannot be written shows nothing anyway
	fmt.Fprintf(i.err, "petstore: %s:%d: %s\n", i.file, f.Line, explain(errors.New(f.Reason)))
	i.listedFaults = append(i.listedFaults, lineFault{f.Line, f.Reason})
}

// An importError says besides the cause how far an import came.
type importError struct {
	cause error
	kept  string
}

// Error returns both in one line.
func (e *importError) Error() string { return explain(e.cause) + "; " + e.kept }

// Unwrap returns nothing of the cause but that the user interrupted it.
func (e *importError) Unwrap() error {
	if errors.Is(e.cause, context.Canceled) {
		return context.Canceled
	}
	return nil
}

// importView is the report as it is printed.
type importView struct {
	interchange.Counts
	Changed int64       `json:"changed"` // pets that rows with ids changed
	Left    int64       `json:"left"`    // pets that were so already
	Skipped int64       `json:"skipped"`
	Faults  []lineFault `json:"faults"` // of those skipped, the first ones
	DryRun  bool        `json:"dryRun"`
	Seconds float64     `json:"seconds"`

	*interchange.Notes // of a dry run
}

func (i *importer) printReport(r interchange.Report, took time.Duration) error {
	v := importView{r.Counts, r.Changed, r.Left, r.Skipped, append([]lineFault{}, i.listedFaults...), i.dryRun, float64(took.Milliseconds()) / 1000, nil}
	did := "Imported"
	if i.dryRun {
		did, v.Notes = "Would import", &r.Notes
	}
	edits := ""
	if r.Changed+r.Left > 0 {
		edits = fmt.Sprintf(", %s changed, %d left as they were", interchange.Quantity(r.Changed, "pet", "pets"), r.Left)
	}
	err := i.printDone(v, "%s %v%s in %v", did, r, edits, took.Round(time.Millisecond))
	if err == nil && r.Skipped > 0 {
		err = fmt.Errorf("%s has %s%s; the rows at fault were left out", i.file, interchange.Quantity(r.Skipped, "fault", "faults"), i.unlisted(r))
	}
	return err
}

// unlisted says, in words, that there are more faults than were named, or "".
func (i *importer) unlisted(r interchange.Report) string {
	if r.Skipped <= int64(len(i.listedFaults)) {
		return ""
	}
	return fmt.Sprintf(", of which the first %d are listed", len(i.listedFaults))
}
