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
const batchRows = 1000

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

	// If SkipFaults is set, units with faults are skipped, and OnFault is called for
	// each fault, by one goroutine at a time.
	SkipFaults bool
	OnFault    func(*Fault)
	MaxFaults  int // stop after so many, with ErrFaults; 0 means no limit

	known *catalogue // of the workspace, for a CSV; nil for NDJSON
	ahead *Entry     // was read, and belongs to the next batch
}

// A Report says what an import has stored.
type Report struct {
	Counts
	Changed int64 // pets that rows with ids changed
	Left    int64 // pets that such rows left unchanged
	Added   int64 // those of Changed whose stock a row has added to
	Skipped int64 // units with faults
	Notes   Notes
	Reached int // the line up to which an interrupted import of the file had come before; 0 if there was none
}

// ErrFaults is returned by an import that has found MaxFaults faults.
var ErrFaults = errors.New("there are too many faults")

// Rows returns how many rows were stored.
func (r Report) Rows() int64 { return r.Categories + r.Pets + r.Orders + r.Movements }

// A batch is a part of the stream that is stored in one transaction: new units, or edits.
type batch struct {
	units   []Entry
	edits   []Entry
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
		dry.To, dry.File = in, ""
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
	if i.File != "" {
		reached, err = i.To.ImportedThrough(ctx, i.Workspace, i.File)
	}
	return reached, err
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
	report.Reached = after
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
		case err == nil && (e.Edit == nil && len(b.edits) > 0 || e.Edit != nil && len(b.units) > 0):
			i.ahead = &e
			return b
		case err == nil:
			b.add(e)
		case isFault && i.SkipFaults && !f.Final:
			b.faults = append(b.faults, f)
		default:
			b.stop = err
			return b
		}
	}
	return b
}

// next returns the next entry after a line. It is in normal form, and follows the rules.
func (i *Import) next(after int) (Entry, error) {
	if e := i.ahead; e != nil {
		i.ahead = nil
		return *e, nil
	}
	for {
		e, err := i.From.Next()
		f, isFault := errors.AsType[*Fault](err)
		switch {
		case isFault && !f.Final && f.Line <= after:
		case err != nil:
			return e, err
		case e.Line > after:
			return e, e.check(petstore.At(i.Now()))
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

func (b *batch) add(e Entry) {
	b.through = max(b.through, e.through())
	b.rows += e.rows()
	if e.Edit != nil {
		b.edits = append(b.edits, e)
	} else {
		b.units = append(b.units, e)
	}
}

// keep stores the batch and adds it to the report.
func (i *Import) keep(ctx context.Context, b *batch, report *Report) error {
	if b.stop != nil && !errors.Is(b.stop, io.EOF) {
		return b.stop
	}
	write := i.writeUnits
	if len(b.edits) > 0 {
		write = i.writeEdits
	}
	if err := write(ctx, b, report); err != nil {
		return err
	}
	slices.SortStableFunc(b.faults, func(x, y *Fault) int { return cmp.Compare(x.Line, y.Line) }) // faults that the store found come last
	for _, f := range b.faults {
		i.OnFault(f)
	}
	report.Skipped += int64(len(b.faults))
	if i.MaxFaults > 0 && report.Skipped >= int64(i.MaxFaults) {
		return ErrFaults
	}
	return nil
}

// refused notes a fault of an entry, or returns it to end the import.
func (i *Import) refused(b *batch, f *Fault) error {
	if !i.SkipFaults || f.Final {
		return f
	}
	b.faults = append(b.faults, f)
	return nil
}

// writeUnits stores the new units of a batch, in CSV with the categories that they need.
func (i *Import) writeUnits(ctx context.Context, b *batch, report *Report) error {
	if i.known == nil {
		return i.load(ctx, b, b.units, i.File, report)
	}
	var pets []Entry
	for _, e := range b.units {
		in, err := i.known.resolve(e.category, e.Line)
		if err == nil {
			e.In = in
			pets = append(pets, e)
			report.Notes.newPet(e.Pet.Name)
		} else if err := i.refused(b, asFault(e.Line, err)); err != nil {
			return err
		}
	}
	report.Notes.added(i.known.added)
	if err := i.load(ctx, b, append(i.known.added, pets...), i.File, report); err != nil {
		return err
	}
	i.known.confirmAdded()
	return nil
}

// load stores units. If file is not "", the store remembers how far it was imported.
func (i *Import) load(ctx context.Context, b *batch, units []Entry, file string, report *Report) error {
	if b.through == 0 {
		file = "" // there is nothing to remember but faults
	}
	if len(units) == 0 && file == "" {
		return nil
	}
	to := petstore.Batch{Last: i.From.Last(), SkipRefused: i.SkipFaults, File: file, Through: b.through, Units: make([]petstore.Unit, len(units))}
	for n := range units {
		to.Units[n] = units[n].Unit
	}
	refused, err := i.To.Load(ctx, i.Workspace, &to)
	if err != nil {
		return err
	}
	for _, r := range refused {
		if err := i.refused(b, asFault(units[r.Unit].lineOf(r.Place), r.Err)); err != nil {
			return err
		}
		units[r.Unit].Line = 0
	}
	for n := range units {
		if units[n].Line > 0 { // it was not refused
			report.count(&units[n].Unit)
		}
	}
	return nil
}

// count counts the rows of a unit that was stored.
func (c *Counts) count(u *petstore.Unit) {
	switch {
	case u.Category != nil:
		c.Categories++
	case u.Pet != nil:
		c.Pets++
	}
	c.Orders += int64(len(u.Orders))
	c.Movements += int64(len(u.Movements))
}

// writeEdits carries out the edits of a batch: all of them or none, unless faults are skipped. The categories that they
// need are stored first; to store them again does no harm.
func (i *Import) writeEdits(ctx context.Context, b *batch, report *Report) error {
	edits, err := i.findEdits(ctx, b, report)
	if err != nil {
		return err
	}
	report.Notes.added(i.known.added)
	if err := i.load(ctx, b, i.known.added, "", report); err != nil {
		return err
	}
	i.known.confirmAdded()
	if len(edits) == 0 {
		return i.load(ctx, b, nil, i.File, report)
	}
	changes := make([]*petstore.Change, len(edits))
	for n := range edits {
		e, category := edits[n].Edit, int64(0)
		if e.in != nil {
			category = e.in.ID
		}
		decide := func(p petstore.StockedPet) (petstore.Amendment, error) { return e.amend(p, i.known) }
		changes[n] = petstore.Amend(ctx, i.Workspace, e.ID, category, decide, &e.done)
	}
	refused, err := i.To.Amend(ctx, i.Workspace, changes, !i.SkipFaults, i.File, b.through)
	if err != nil {
		return err
	}
	for n, err := range refused {
		switch {
		case err == nil:
		case petstore.CodeOf(err) == "" || petstore.CodeOf(err) == petstore.CodeServiceUnavailable:
			return err
		default:
			if err := i.refused(b, asFault(edits[n].Line, err)); err != nil {
				return err
			}
		}
	}
	for n := range edits {
		if refused[n] == nil {
			report.edited(edits[n].Edit)
		}
	}
	return nil
}

// edited counts an edit that was carried out.
func (r *Report) edited(e *Edit) {
	if !e.done.Changed() {
		r.Left++
		return
	}
	r.Changed++
	if e.Add != 0 {
		r.Added++
	}
	r.Notes.amended(e)
}

// findEdits returns the edits of the batch that change anything now, and finds their categories.
func (i *Import) findEdits(ctx context.Context, b *batch, report *Report) (edits []Entry, err error) {
	ids := make([]int64, len(b.edits))
	for n := range b.edits {
		ids[n] = b.edits[n].Edit.ID
	}
	found, err := i.To.StockedPets(ctx, i.Workspace, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	if err != nil {
		return nil, err
	}
	pets := make(map[int64]*petstore.StockedPet, len(found))
	for n := range found {
		pets[found[n].ID] = &found[n]
	}
	for _, e := range b.edits {
		changes, err := e.Edit.changes(pets[e.Edit.ID], i.known, e.Line)
		switch {
		case err != nil:
			if err := i.refused(b, asFault(e.Line, err)); err != nil {
				return nil, err
			}
		case changes:
			edits = append(edits, e)
		default:
			report.Left++
		}
	}
	return edits, nil
}
