package interchange

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"example.com/petstore/internal/petstore"
)

// batchRows is how many rows share a transaction, so that other writers do not wait long. The rows of a pet, of its
// orders and of its ledger are never divided.
const batchRows = 2000

// An Import carries units from a reader into a workspace.
type Import struct {
	From      Reader
	To        petstore.Bulk
	Workspace int64
	Now       func() time.Time

	// MaxCategories is how many categories the workspace may have together with those
	// of a CSV, since all of them are held in memory; 0 means no limit.
	MaxCategories int

	// File is the digest of the file, under which the store remembers with each batch
	// how far the file was imported. An import of a file that was interrupted before
	// goes on there. If it is "", nothing is remembered.
	File string

	SkipFaults bool // units with faults are skipped

	known *catalogue // of the workspace, for a CSV; nil for NDJSON
	trial bool       // this is a dry run
}

// A Report says what an import has stored.
type Report struct {
	Counts
	Changed int64    // pets that rows with ids changed
	Left    int64    // pets that such rows left unchanged
	Added   int64    // those of Changed whose stock a row has added to
	Skipped int64    // units with faults
	Faults  []*Fault // of those, the first MaxFaults
	Notes   Notes
	Reached int // the line up to which an interrupted import of the file had come before; 0 if there was none
}

// MaxFaults is how many faults a report lists.
const MaxFaults = 100

// Rows returns how many rows were stored.
func (r Report) Rows() int64 { return r.Categories + r.Pets + r.Orders + r.Movements }

// A batch is a part of the stream that is stored in one transaction.
type batch struct {
	units   []Entry
	rows    int
	through int      // its last line
	faults  []*Fault // of units that it leaves out
	stop    error    // why this is the last batch
}

// Run imports the stream and returns what was stored. After an error, everything before
// it was stored except for at most one batch. When ctx ends, Run stops between two
// batches. At the end it adds an event to the feed of the workspace that counts what was
// stored.
func (i *Import) Run(ctx context.Context) (Report, error) {
	reached, err := i.resume(ctx)
	if err != nil {
		return Report{}, err
	}
	report, err := i.copy(ctx, reached)
	return report, cmp.Or(err, i.finish(ctx, report, err == nil))
}

// DryRun reads and checks the stream as Run does, but writes nothing. It works on a snapshot of the workspace. Its
// report says what Run would add, change and leave unchanged, and its faults are those of Run, unless the workspace
// changes meanwhile. The report also has the questions that the user should confirm before Run.
func (i *Import) DryRun(ctx context.Context) (report Report, err error) {
	reached, err := i.resume(ctx)
	if err != nil {
		return report, err
	}
	err = i.To.DryRun(ctx, i.Workspace, func(in petstore.Bulk) error {
		dry := *i
		dry.To, dry.File, dry.trial = in, "", true
		var err error
		if report, err = dry.copy(ctx, reached); err != nil {
			return err
		}
		report.Notes.findSimilar(dry.known)
		return report.Notes.findQuestions(ctx, in, i.Workspace)
	})
	return report, err
}

// resume returns the line up to which the file was imported before.
func (i *Import) resume(ctx context.Context) (reached int, err error) {
	if i.File == "" {
		return 0, nil
	}
	return i.To.ImportedThrough(ctx, i.Workspace, i.File)
}

// finishTimeout is how long finish may take, also after ctx has ended.
const finishTimeout = 10 * time.Second

// finish has the store add the event of the import. If the import has ended, the store
// also forgets how far it came. An import that is killed before gets its event when it
// is resumed.
func (i *Import) finish(ctx context.Context, r Report, ended bool) error {
	var b petstore.Batch
	if r.Rows() > 0 || r.Reached > 0 {
		b.Imported = &petstore.Imported{Categories: r.Categories, Pets: r.Pets, Orders: r.Orders}
	}
	if ended {
		b.File = i.File
	}
	if b.File == "" && b.Imported == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	_, err := i.To.Load(ctx, i.Workspace, &b)
	return err
}

// copy stores what is in the stream after a line.
func (i *Import) copy(ctx context.Context, after int) (report Report, err error) {
	report.Reached, report.Faults = after, []*Fault{}
	report.Notes = Notes{Stock: []StockChange{}, Categories: []NewCategory{}, Questions: []string{}}
	if _, ok := i.From.(*csvReader); ok {
		if i.known, err = readCatalogue(ctx, i.To, i.Workspace, i.MaxCategories); err != nil {
			return report, err
		}
	}
	for {
		b := i.read(after)
		if err := ctx.Err(); err != nil {
			return report, err
		}
		if err := i.keep(ctx, b, &report); err != nil {
			return report, err
		}
		if errors.Is(b.stop, io.EOF) {
			return report, nil
		}
	}
}

// read reads a batch.
func (i *Import) read(after int) *batch {
	b := &batch{}
	for b.rows < batchRows && len(b.faults) < batchRows {
		e, err := i.next(after)
		switch f, isFault := errors.AsType[*Fault](err); {
		case err == nil:
			b.through = max(b.through, e.through())
			b.rows += e.rows()
			b.units = append(b.units, e)
		case isFault && i.SkipFaults && !f.Final:
			b.faults = append(b.faults, f)
		default:
			b.stop = err
			return b
		}
	}
	return b
}

// next returns the next entry after a line. It is in normal form, and follows the rules. A new pet of a CSV has its category.
func (i *Import) next(after int) (Entry, error) {
	for {
		e, err := i.From.Next()
		f, isFault := errors.AsType[*Fault](err)
		switch {
		case isFault && !f.Final && f.Line <= after:
		case err != nil:
			return e, err
		case e.Line > after:
			if err := e.check(petstore.At(i.Now())); err != nil || e.category == "" {
				return e, err
			}
			e.In, err = i.known.resolve(e.category, e.Line)
			return e, err
		}
	}
}

// check brings the entry into normal form, and returns a *Fault if it breaks a rule.
func (e *Entry) check(now petstore.Time) error {
	if e.Edit != nil {
		if err := e.Edit.check(); err != nil {
			return asFault(e.Line, err)
		}
		return nil
	}
	if place, err := e.Unit.Check(now); err != nil {
		return asFault(e.lineOf(place), err)
	}
	return nil
}

// keep stores the batch and adds it to the report. A batch that ends with an error is not stored; a dry run that skips
// faults looks for those of the store in it all the same.
func (i *Import) keep(ctx context.Context, b *batch, report *Report) error {
	stop := b.stop
	if errors.Is(stop, io.EOF) {
		stop = nil
	}
	if stop == nil || i.trial && i.SkipFaults {
		if err := i.write(ctx, b, report); err != nil {
			return err
		}
	}
	slices.SortStableFunc(b.faults, func(x, y *Fault) int { return cmp.Compare(x.Line, y.Line) }) // faults that the store found come last
	report.Skipped += int64(len(b.faults))
	report.Faults = append(report.Faults, b.faults[:min(len(b.faults), MaxFaults-len(report.Faults))]...)
	return stop
}
