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

// How many rows share a transaction: as many as take about rowsTime, so that other
// writers do not wait longer.
const (
	fewestRows = 64
	mostRows   = 4096
	rowsTime   = 20 * time.Millisecond
)

// mostEdits is how many edits the first transaction may have: the edits of a spreadsheet with no more are stored all
// or not at all. The later transactions of a longer file have as many edits as take about rowsTime.
const mostEdits = 500

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
	// how far the file was imported. If it is "", nothing is remembered.
	File string
	// Resumed says that an earlier import of the file was interrupted, and From begins
	// after what that has stored.
	Resumed bool

	// If SkipFaults is set, units with faults are skipped, and OnFault is called for
	// each fault, by one goroutine at a time.
	SkipFaults bool
	OnFault    func(*Fault)
	MaxFaults  int // stop after so many, with ErrFaults; 0 means no limit

	// OnProgress, if set, is called after each batch with what was stored so far.
	OnProgress func(Report)

	pace          *pace
	known         *catalogue // of the workspace, for a CSV; nil for NDJSON
	editedThrough int        // the last line up to which the edits are stored already
}

// A Report says what an import has stored.
type Report struct {
	Counts
	Changed int64 // pets that rows with ids changed
	Left    int64 // pets that such rows left unchanged
	Added   int64 // those of Changed whose stock a row has added to
	Skipped int64 // units with faults
	Notes   Notes
}

// ErrFaults is returned by an import that has found MaxFaults faults.
var ErrFaults = errors.New("there are too many faults")

// Rows returns how many rows were stored.
func (r Report) Rows() int64 { return r.Categories + r.Pets + r.Orders + r.Movements }

// A batch is a part of the stream that is stored together.
type batch struct {
	petstore.Batch
	entries []Entry
	edits   []Entry
	through int      // its last line
	faults  []*Fault // of units that it leaves out
	counts  Counts
	rows    int
	stop    error // why this is the last batch
}

// Run imports the stream and returns what was stored. It reads and checks one batch
// while another is being written. After an error, everything before it was stored
// except for at most one batch. When ctx ends, Run stops between two batches, even if
// the stream blocks. At the end it adds an event to the feed of the workspace that
// counts what was stored.
func (i *Import) Run(ctx context.Context) (Report, error) {
	if err := i.resume(ctx); err != nil {
		return Report{}, err
	}
	report, err := i.copy(ctx)
	return report, cmp.Or(err, i.finish(ctx, report, err == nil))
}

// finishTimeout is how long finish may take, also after ctx has ended.
const finishTimeout = 10 * time.Second

// finish has the store add the event of the import. If the import has ended, the store
// also forgets how far it came. An import that is killed before gets its event when it
// is resumed.
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
	if b.File != "" && i.known != nil { // before the main record, so that no later import of the file uses this one
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

// A reading is the part of an import that reads and checks the stream.
type reading struct {
	*Import
	batches chan *batch
}

// A pace is how many rows, and how many edits, a batch should have.
type pace struct{ rows, edits atomic.Int64 }

// next returns the next batch. A batch that was read before ctx ended is returned too.
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
			r.readEntry(b)
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

// readEntry reads an entry into the batch.
func (r *reading) readEntry(b *batch) {
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

// edit adds an entry with the id of a pet.
func (b *batch) edit(e Entry, skip bool) {
	if err := e.Edit.check(); err != nil {
		b.refuse(faultf(e.Line, "%s", reason(err)), skip)
		return
	}
	b.edits = append(b.edits, e)
}

// refuse notes a fault and leaves the unit out, or ends the import.
func (b *batch) refuse(f *Fault, skip bool) {
	if skip {
		b.faults = append(b.faults, f)
	} else {
		b.stop = f
	}
}

// keep stores the batch and adds it to the report.
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
	slices.SortStableFunc(b.faults, func(x, y *Fault) int { return cmp.Compare(x.Line, y.Line) }) // faults that the store found come last
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

// load stores entries of the batch. If file is not "", the store remembers how far it
// was imported.
func (i *Import) load(ctx context.Context, b *batch, entries []Entry, file string) error {
	if len(entries) == 0 && file == "" {
		return nil
	}
	b.SkipRefused, b.File, b.Through = i.SkipFaults, file, b.through
	if b.through == 0 {
		b.File = "" // there is nothing to remember but faults
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

// adapt changes the size of the next batches so that they take about rowsTime.
func adapt(rows *atomic.Int64, most int64, took time.Duration) {
	switch n := rows.Load(); {
	case took > 2*rowsTime:
		rows.Store(max(n/2, fewestRows))
	case took < rowsTime:
		rows.Store(min(n*2, most))
	}
}

// count counts the rows of the entries that were stored.
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
