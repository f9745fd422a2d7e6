package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/node"
	"example.com/petstore/internal/petstore"
)

// maxListed is the greatest number of faults in the JSON report; all of them
// go to stderr.
const maxListed = 1000

// An importer is one run of import.
type importer struct {
	*app
	file     string
	format   formatFlag
	dryRun   bool
	onError  onError
	fromLine int
	output   *output

	progress *progress
	listed   []lineFault
}

// onError is the flag --on-error.
type onError struct{ skip bool }

// Type implements pflag.Value.
func (*onError) Type() string { return "choice" }

// String implements pflag.Value.
func (o *onError) String() string {
	if o.skip {
		return "skip"
	}
	return "stop"
}

// Set implements pflag.Value.
func (o *onError) Set(s string) error {
	if s != "stop" && s != "skip" {
		return errors.New("must be stop or skip")
	}
	o.skip = s == "skip"
	return nil
}

// Words implements worded.
func (*onError) Words() []string { return []string{"stop", "skip"} }

func (a *app) importCommand() *cobra.Command {
	i := &importer{app: a, output: tables()}
	cmd := a.command(spec{
		use: "import WORKSPACE FILE", args: cobra.ExactArgs(2),
		short: "Read a file into a workspace",
		long: `Read a file into a workspace; - is stdin. A server may go on beside it.

NDJSON is what export writes. It keeps its ids, and a row whose id is taken is a
fault. CSV needs a first line that names the columns name and category, and
optionally status and stock, in any order; each row becomes a new pet, and a
category that does not exist is made.

The rows are kept by batches, each all or nothing. After a fault the message
names the line to go on from, with --from-line; with --on-error skip the rows
at fault are reported and left out, and the command fails at its end.`,
		example:  "  petstore import acme acme.ndjson\n  petstore import acme pets.csv --dry-run\n  petstore import acme pets.csv --on-error skip",
		settings: []string{"db"}, output: i.output,
		run: func(ctx context.Context, args []string) error {
			if i.fromLine < 0 {
				return usagef("--from-line: %d: must not be negative", i.fromLine)
			}
			i.file = args[1]
			return i.run(ctx, args[0])
		},
	})
	cmd.ValidArgsFunction = nil
	i.format.register(cmd)
	cmd.Flags().BoolVar(&i.dryRun, "dry-run", false, "import into a temporary copy, and keep nothing")
	cmd.Flags().Var(&i.onError, "on-error", "at a row that cannot be kept, `DO`: stop or skip")
	cmd.Flags().IntVar(&i.fromLine, "from-line", 0, "go on from line `N`, as the message of a failure says")
	return cmd
}

func (i *importer) run(ctx context.Context, workspace string) error {
	format, err := i.format.of(i.file)
	if err != nil {
		return err
	}
	in, size, err := i.openFile(ctx)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	i.progress = i.newProgress(size)
	return i.withStore(ctx, func(db node.Store) error {
		if !i.dryRun {
			return i.into(ctx, db, workspace, format, in)
		}
		return i.onCopy(ctx, db, workspace, func(scratch node.Store) error {
			return i.into(ctx, scratch, workspace, format, in)
		})
	})
}

// openFile opens the file and returns its size, or -1 if that is not known. The
// end of ctx ends a read that waits for somebody to write.
func (i *importer) openFile(ctx context.Context) (io.ReadCloser, int64, error) {
	if i.file == standardStream {
		i.file = "stdin"
		return io.NopCloser(interruptible(ctx, i.in)), -1, nil
	}
	f, err := os.Open(i.file)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		return struct {
			io.Reader
			io.Closer
		}{interruptible(ctx, f), f}, -1, nil
	}
	return f, info.Size(), nil
}

func (i *importer) into(ctx context.Context, db node.Store, workspace string, format interchange.Format, in io.Reader) error {
	w, err := db.Workspace(ctx, workspace)
	if err != nil {
		return err
	}
	known, err := i.categories(ctx, db, w.ID, format)
	if err != nil {
		return err
	}
	from, err := interchange.NewReader(i.progress.reader(in), format, interchange.Options{FromLine: i.fromLine, Categories: known})
	if err != nil {
		return i.failure(&interchange.Stop{Err: err}, interchange.Report{})
	}
	began := i.now()
	report, err := (&interchange.Import{
		From: from, To: db, Workspace: w.ID, Now: i.now,
		SkipFaults: i.onError.skip, OnFault: i.skipped, OnProgress: i.progress.update,
	}).Run(ctx)
	i.progress.end()
	if err != nil {
		return i.failure(err, report)
	}
	return i.printReport(report, i.now().Sub(began))
}

// categories returns those that CSV may name.
func (i *importer) categories(ctx context.Context, db petstore.Store, workspace int64, format interchange.Format) (all []petstore.Category, err error) {
	page := petstore.Page{Limit: petstore.MaxPage}
	for format == interchange.CSV {
		some, err := db.Categories(ctx, workspace, petstore.CategoryQuery{Page: page})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < page.Limit {
			break
		}
		page.After = some[len(some)-1].ID
	}
	return all, nil
}

// lineFault is a fault as it is printed.
type lineFault struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func (i *importer) skipped(f *interchange.Fault) {
	i.progress.clear()
	fmt.Fprintf(i.err, "petstore: %s:%d: %s\n", i.file, f.Line, explain(errors.New(f.Reason)))
	if len(i.listed) < maxListed {
		i.listed = append(i.listed, lineFault{f.Line, f.Reason})
	}
}

// failure says in one line what stopped the import and how to go on.
func (i *importer) failure(err error, kept interchange.Report) error {
	stop, ok := errors.AsType[*interchange.Stop](err)
	if !ok {
		return err
	}
	cause := stop.Err
	if f, ok := errors.AsType[*interchange.Fault](cause); ok {
		cause = fmt.Errorf("%s:%d: %s", i.file, f.Line, f.Reason)
	}
	if i.dryRun {
		return cause
	}
	how := howFar(kept, stop.Next)
	if errors.Is(cause, context.Canceled) { // of which Main says no more than that
		fmt.Fprintf(i.err, "petstore: %s: %s\n", i.file, how)
	}
	return &importError{cause, how}
}

// howFar says what was kept, and the line to go on from.
func howFar(kept interchange.Report, next int) string {
	switch {
	case kept.Rows() == 0:
		return "nothing was imported"
	case next == 0:
		return fmt.Sprintf("%v were imported before it", kept)
	}
	return fmt.Sprintf("%v before line %d were imported; go on with --from-line %d", kept, next, next)
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
	Skipped int64       `json:"skipped"`
	Faults  []lineFault `json:"faults"` // of those skipped, the first ones
	DryRun  bool        `json:"dryRun"`
	Seconds float64     `json:"seconds"`
}

func (i *importer) printReport(r interchange.Report, took time.Duration) error {
	v := importView{r.Counts, r.Skipped, append([]lineFault{}, i.listed...), i.dryRun, float64(took.Milliseconds()) / 1000}
	err := i.print(i.output, v, func() rows {
		did := "Imported"
		if i.dryRun {
			did = "Would import"
		}
		return rows{{fmt.Sprintf("%s %v in %v.", did, r, took.Round(time.Millisecond))}}
	})
	if err == nil && r.Skipped > 0 {
		err = fmt.Errorf("%d units of %s were left out", r.Skipped, i.file)
	}
	return err
}
