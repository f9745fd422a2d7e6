package interchange

import (
	"context"

	"example.com/petstore/internal/petstore"
)

// refused notes a fault of an entry, or returns it to end the import.
func (i *Import) refused(b *batch, f *Fault) error {
	if !i.SkipFaults || f.Final {
		return f
	}
	b.faults = append(b.faults, f)
	return nil
}

// write stores the batch. An edit does not change a pet that is new in the batch, so the edits can go first.
func (i *Import) write(ctx context.Context, b *batch, report *Report) error {
	edits, err := i.findEdits(ctx, b, report)
	if err != nil {
		return err
	}
	if len(edits) > 0 {
		if err := i.writeEdits(ctx, b, edits, report); err != nil || len(b.units) == 0 {
			return err
		}
	}
	return i.writeUnits(ctx, b, b.units, i.File, report)
}

// writeUnits stores units, in CSV after the new categories.
func (i *Import) writeUnits(ctx context.Context, b *batch, units []Entry, file string, report *Report) error {
	if i.known == nil {
		return i.load(ctx, b, units, file, report)
	}
	report.Notes.added(i.known.added)
	if err := i.load(ctx, b, append(i.known.added, units...), file, report); err != nil {
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
			report.count(&units[n])
		}
	}
	return nil
}

// count counts the rows of a unit that was stored.
func (r *Report) count(e *Entry) {
	switch {
	case e.Category != nil:
		r.Categories++
	case e.Pet != nil:
		r.Pets++
	}
	if e.category != "" {
		r.Notes.newPet(e.Pet.Name)
	}
	r.Orders += int64(len(e.Orders))
	r.Movements += int64(len(e.Movements))
}

// writeEdits carries out edits of a batch: all of them or none, unless faults are skipped. The new categories are stored
// first; to store them again does no harm.
func (i *Import) writeEdits(ctx context.Context, b *batch, edits []Entry, report *Report) error {
	if err := i.writeUnits(ctx, b, nil, "", report); err != nil {
		return err
	}
	file := i.File
	if len(b.units) > 0 {
		file, i.edited = i.editsFile(), b.through
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
	refused, err := i.To.Amend(ctx, i.Workspace, changes, !i.SkipFaults, file, b.through)
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
	if len(b.edits) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(b.edits))
	for n := range b.edits {
		ids[n] = b.edits[n].Edit.ID
	}
	found, err := i.To.Pets(ctx, i.Workspace, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
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
