package interchange

import (
	"context"
	"errors"
	"io"
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

// An Import carries units from a reader into a workspace.
type Import struct {
	From      Reader
	To        petstore.Bulk
	Workspace int64
	Now       func() time.Time

	// SkipFaults goes on after a unit that cannot be kept. OnFault then
	// learns of each, by one goroutine at a time.
	SkipFaults bool
	OnFault    func(*Fault)

	// OnProgress, if set, learns after each batch what is kept so far.
	OnProgress func(Report)
}

// A Report says what an import has kept.
type Report struct {
	Counts
	Skipped int64 // units that were left out
}

// Rows returns how many rows were kept.
func (r Report) Rows() int64 { return r.Categories + r.Pets + r.Orders + r.Movements }

// A Stop is the error that ended an import. What stands before the line Next is
// kept, and nothing from there on.
type Stop struct {
	Next int // the line to go on from; 0 if nothing can
	Err  error
}

// Error returns the cause.
func (s *Stop) Error() string { return s.Err.Error() }

// Unwrap returns the cause.
func (s *Stop) Unwrap() error { return s.Err }

// A batch is on its way from the reader to the store.
type batch struct {
	petstore.Batch
	entries []Entry
	faults  []*Fault // of units that were left out of it
	counts  Counts
	rows    int
	next    int   // the first line of it
	stop    error // why there is none after it
}

// Run reads until the end and returns what was kept. It reads and checks one
// batch while another is being written. An error is a *Stop. The end of ctx
// stops it between two batches, and does not wait for a stream that blocks.
func (i *Import) Run(ctx context.Context) (Report, error) {
	r := &reading{Import: i, batches: make(chan *batch, 1)}
	r.rows.Store(fewestRows)
	go r.run(ctx)
	defer func() {
		go func() {
			for range r.batches { // until the reader has ended
			}
		}()
	}()
	var report Report
	for {
		b, err := r.next(ctx)
		if err == nil {
			err = i.keep(ctx, b, &report, &r.rows)
		}
		if err != nil {
			return report, &Stop{Next: b.next, Err: err}
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
	rows    atomic.Int64 // how many a batch should have
	begin   atomic.Int64 // the first line of the batch that is not sent yet
}

// next returns the next batch. With the error of ctx it returns what is known
// of it.
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
		return &batch{next: int(r.begin.Load())}, ctx.Err()
	}
}

// run sends batches until the stream ends, a fault stops it, or ctx ends.
func (r *reading) run(ctx context.Context) {
	defer close(r.batches)
	for {
		b := &batch{}
		for b.stop == nil && b.rows < int(r.rows.Load()) && len(b.faults) < fewestRows {
			r.one(b)
			r.begin.Store(int64(b.next))
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
		b.fault(f)
	default:
		b.fail(err)
	}
}

// from notes where the batch begins.
func (b *batch) from(line int) {
	if b.next == 0 {
		b.next = line
	}
}

func (b *batch) fault(f *Fault) {
	b.from(f.Line)
	b.faults = append(b.faults, f)
}

func (b *batch) fail(err error) {
	if f, ok := errors.AsType[*Fault](err); ok {
		b.from(f.Line)
	}
	b.stop = err
}

func (b *batch) add(e Entry, now petstore.Time, skip bool) {
	b.from(e.Line)
	if place, err := e.Check(now); err != nil {
		f := faultf(e.lineOf(place), "%s", reason(err))
		if skip {
			b.fault(f)
		} else {
			b.fail(f)
		}
		return
	}
	b.entries = append(b.entries, e)
	b.rows += e.rows()
}

// keep writes the batch and adds it to the report.
func (i *Import) keep(ctx context.Context, b *batch, report *Report, rows *atomic.Int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if atEnd := errors.Is(b.stop, io.EOF); b.stop != nil && !atEnd {
		return b.stop
	}
	if err := i.load(ctx, b, rows); err != nil {
		return err
	}
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
	return nil
}

func (i *Import) load(ctx context.Context, b *batch, rows *atomic.Int64) error {
	if len(b.entries) == 0 {
		return nil
	}
	b.SkipRefused = i.SkipFaults
	b.Units = make([]petstore.Unit, len(b.entries))
	for n := range b.entries {
		b.Units[n] = b.entries[n].Unit
	}
	began := time.Now()
	refused, err := i.To.Load(ctx, i.Workspace, &b.Batch)
	if err != nil {
		return err
	}
	pace(rows, time.Since(began))
	for _, r := range refused {
		f := faultf(b.entries[r.Unit].lineOf(r.Place), "%s", reason(r.Err))
		if !i.SkipFaults {
			return f
		}
		b.faults = append(b.faults, f)
		b.entries[r.Unit].Line = 0
	}
	b.count()
	return nil
}

// pace lets the next batches take about rowsTime.
func pace(rows *atomic.Int64, took time.Duration) {
	switch n := rows.Load(); {
	case took > 2*rowsTime:
		rows.Store(max(n/2, fewestRows))
	case took < rowsTime:
		rows.Store(min(n*2, mostRows))
	}
}

// count counts the rows of the entries that were kept.
func (b *batch) count() {
	for n := range b.entries {
		e := &b.entries[n]
		switch {
		case e.Line == 0: // refused
			continue
		case e.Category != nil:
			b.counts.Categories++
			continue
		case e.Animal != nil:
			b.counts.Pets++
		}
		b.counts.Orders += int64(len(e.Orders))
		b.counts.Movements += int64(len(e.Unit.Movements))
	}
}
