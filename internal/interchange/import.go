package interchange

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

// How many rows share a transaction: as many as take about rowsTime, so that
// other writers wait no longer.
const (
	fewestRows = 64
	mostRows   = 4096
	rowsTime   = 20 * time.Millisecond
)

// mostEdits is how many edits share a transaction: so many rows of a spreadsheet are kept all or not at all, whatever the shop
// does meanwhile. Of a longer file, which cannot be, later transactions have as many as take about rowsTime.
const mostEdits = 500

// An Import carries units from a reader into a workspace.
type Import struct {
	From      Reader
	To        petstore.Bulk
	Workspace int64
	Now       func() time.Time

	// MaxCategories is how many categories the workspace may have with those of a CSV,
	// which are remembered; 0 is no bound.
	MaxCategories int

	// File is the digest of the file: the store then remembers with each batch
	// how far it came. "" remembers nothing.
	File string
	// Resumed says that an import of the file was cut off, and From goes on behind
	// what that has kept.
	Resumed bool

	// SkipFaults goes on after a unit that cannot be kept. OnFault then
	// learns of each, by one goroutine at a time.
	SkipFaults bool
	OnFault    func(*Fault)
	MaxFaults  int // stop after so many, with ErrFaults; 0 is no bound

	// OnProgress, if set, learns after each batch what is kept so far.
	OnProgress func(Report)

	pace    *pace
	known   *catalogue // of a CSV
	amended int        // the last line up to which its edits are kept already
}

// A Report says what an import has kept.
type Report struct {
	Counts
	Changed int64 // pets that rows with ids changed
	Left    int64 // pets that were as such rows say already
	Added   int64 // of those changed, pets to whose stock rows added
	Skipped int64 // units that were left out
	Notes   Notes
}

// ErrFaults stops an import that has found as many faults as it may.
var ErrFaults = errors.New("there are too many faults")

// Rows returns how many rows were kept.
func (r Report) Rows() int64 { return r.Categories + r.Pets + r.Orders + r.Movements }

// A batch is on its way from the reader to the store.
type batch struct {
	petstore.Batch
	entries []Entry
	edits   []Entry
	through int      // its last line
	faults  []*Fault // of units that were left out of it
	counts  Counts
	rows    int
	stop    error // why there is none after it
}

// Run reads until the end and returns what was kept. It reads and checks one
// batch while another is being written. What stands before an error is kept, but
// for at most a batch. The end of ctx stops it between two batches, and does not
// wait for a stream that blocks. The feed of the workspace then has an event that
// counts what came.
func (i *Import) Run(ctx context.Context) (Report, error) {
	if err := i.resume(ctx); err != nil {
		return Report{}, err
	}
	report, err := i.copy(ctx)
	return report, cmp.Or(err, i.finish(ctx, report, err == nil))
}

// finishTimeout bounds what is still to be done when ctx has ended.
const finishTimeout = 10 * time.Second

// finish has the store add the event of the import, and at its end forget how far
// that came. One that is killed before has its event when it is resumed.
func (i *Import) finish(ctx context.Context, r Report, ended bool) error {
	var b petstore.Batch
	if r.Rows() > 0 || i.Resumed {
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
	if b.File != "" && i.known != nil { // before the other, so that no later import of the file goes by it
		if _, err := i.To.Load(ctx, i.Workspace, &petstore.Batch{File: i.amendedFile()}); err != nil {
			return err
		}
	}
	_, err := i.To.Load(ctx, i.Workspace, &b)
	return err
}

func (i *Import) copy(ctx context.Context) (report Report, err error) {
	if _, ok := i.From.(*csvReader); ok {
		if i.known, err = readCatalogue(ctx, i.To, i.Workspace, i.MaxCategories); err != nil {
			return report, err
		}
	}
	r := &reading{Import: i, batches: make(chan *batch, 1)}
	i.pace = new(pace)
	i.pace.rows.Store(fewestRows)
	i.pace.edits.Store(mostEdits)
	go r.run(ctx)
	defer func() {
		go func() {
			for range r.batches { // until the reader has ended
			}
		}()
	}()
	for {
		b, err := r.next(ctx)
		if err == nil {
			err = i.keep(ctx, b, &report)
		}
		if err != nil {
			return report, err
		}
		if b.stop != nil {
			return report, nil
		}
	}
}

// A reading is the half of an import that reads and checks.
type reading struct {
	*Import
	batches chan *batch
}

// A pace is how many rows, and how many edits, a batch should have.
type pace struct{ rows, edits atomic.Int64 }

// next returns the next batch, also one that came before ctx ended.
func (r *reading) next(ctx context.Context) (*batch, error) {
	select {
	case b := <-r.batches:
		return b, nil
	default:
	}
	select {
	case b := <-r.batches:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// run sends batches until the stream ends, a fault stops it, or ctx ends.
func (r *reading) run(ctx context.Context) {
	defer close(r.batches)
	for {
		b := &batch{}
		for b.stop == nil && b.rows < int(r.pace.rows.Load()) && len(b.edits) < int(r.pace.edits.Load()) && len(b.faults) < fewestRows {
			r.one(b)
			if err := ctx.Err(); err != nil {
				b.stop = err
			}
		}
		b.Last = r.From.Last()
		r.batches <- b
		if b.stop != nil {
			return
		}
	}
}

// one reads an entry into the batch.
func (r *reading) one(b *batch) {
	e, err := r.From.Next()
	switch f, isFault := errors.AsType[*Fault](err); {
	case err == nil:
		b.add(e, petstore.At(r.Now()), r.SkipFaults)
	case isFault && r.SkipFaults && !f.Final:
		b.faults = append(b.faults, f)
	default:
		b.stop = err
	}
}

func (b *batch) add(e Entry, now petstore.Time, skip bool) {
	b.through = max(b.through, e.through())
	if e.Edit != nil {
		b.edit(e, skip)
		return
	}
	if place, err := e.Check(now); err != nil {
		b.refuse(faultf(e.lineOf(place), "%s", reason(err)), skip)
		return
	}
	b.entries = append(b.entries, e)
	b.rows += e.rows()
}

// edit adds an entry that names a pet by its id.
func (b *batch) edit(e Entry, skip bool) {
	if err := e.Edit.check(); err != nil {
		b.refuse(faultf(e.Line, "%s", reason(err)), skip)
		return
	}
	b.edits = append(b.edits, e)
}

// refuse leaves a unit out, or ends the import.
func (b *batch) refuse(f *Fault, skip bool) {
	if skip {
		b.faults = append(b.faults, f)
	} else {
		b.stop = f
	}
}

// keep writes the batch and adds it to the report.
func (i *Import) keep(ctx context.Context, b *batch, report *Report) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if atEnd := errors.Is(b.stop, io.EOF); b.stop != nil && !atEnd {
		return b.stop
	}
	if err := i.write(ctx, b, report); err != nil {
		return err
	}
	slices.SortStableFunc(b.faults, func(x, y *Fault) int { return cmp.Compare(x.Line, y.Line) }) // the store's came last
	for _, f := range b.faults {
		i.OnFault(f)
	}
	report.Skipped += int64(len(b.faults))
	report.Categories += b.counts.Categories
	report.Pets += b.counts.Pets
	report.Orders += b.counts.Orders
	report.Movements += b.counts.Movements
	if i.OnProgress != nil {
		i.OnProgress(*report)
	}
	if i.MaxFaults > 0 && report.Skipped >= int64(i.MaxFaults) {
		return ErrFaults
	}
	return nil
}

// load keeps entries of the batch. With a file the store remembers how far that
// is kept then.
func (i *Import) load(ctx context.Context, b *batch, entries []Entry, file string) error {
	if len(entries) == 0 && file == "" {
		return nil
	}
	b.SkipRefused, b.File, b.Through = i.SkipFaults, file, b.through
	if b.through == 0 {
		b.File = "" // it had faults alone
	}
	b.Units = make([]petstore.Unit, len(entries))
	for n := range entries {
		b.Units[n] = entries[n].Unit
	}
	began := time.Now()
	refused, err := i.To.Load(ctx, i.Workspace, &b.Batch)
	if err != nil {
		return err
	}
	adapt(&i.pace.rows, mostRows, time.Since(began))
	for _, r := range refused {
		f := faultf(entries[r.Unit].lineOf(r.Place), "%s", reason(r.Err))
		if !i.SkipFaults {
			return f
		}
		b.faults = append(b.faults, f)
		entries[r.Unit].Line = 0
	}
	b.count(entries)
	return nil
}

// adapt lets the next batches take about rowsTime.
func adapt(rows *atomic.Int64, most int64, took time.Duration) {
	switch n := rows.Load(); {
	case took > 2*rowsTime:
		rows.Store(max(n/2, fewestRows))
	case took < rowsTime:
		rows.Store(min(n*2, most))
	}
}

// count counts the rows of the entries that were kept.
func (b *batch) count(entries []Entry) {
	for n := range entries {
		e := &entries[n]
		switch {
		case e.Line == 0: // refused
			continue
		case e.Category != nil:
			b.counts.Categories++
			continue
		case e.Pet != nil:
			b.counts.Pets++
		}
		b.counts.Orders += int64(len(e.Orders))
		b.counts.Movements += int64(len(e.Unit.Movements))
	}
}
