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

// prepare returns what is to be stored of the batch: not the edits that change nothing now. In CSV the new categories
// come first.
func (i *Import) prepare(ctx context.Context, b *batch, report *Report) ([]Entry, error) {
	if i.known == nil {
		return b.units, nil
	}
	pets, err := i.petsOf(ctx, b)
	if err != nil {
		return nil, err
	}
	units := make([]Entry, 0, len(b.units))
	for _, e := range b.units {
		if e.Edit == nil {
			units = append(units, e)
			continue
		}
		changes, err := e.Edit.changes(pets[e.Edit.ID], i.known, e.Line)
		switch {
		case err != nil:
			if err := i.refused(b, asFault(e.Line, err)); err != nil {
				return nil, err
			}
		case changes:
			e.Change, e.In = i.change(ctx, e.Edit), e.Edit.in
			units = append(units, e)
		default:
			report.Left++
		}
	}
	report.Notes.added(i.known.added)
	return append(i.known.added, units...), nil
}

// change returns the change that carries out an edit.
func (i *Import) change(ctx context.Context, e *Edit) *petstore.Change {
	decide := func(p petstore.StockedPet) (petstore.Amendment, error) { return e.amend(p, i.known) }
	return petstore.Amend(ctx, i.Workspace, e.ID, decide, &e.done)
}

// petsOf returns the pets that the batch edits, by their ids.
func (i *Import) petsOf(ctx context.Context, b *batch) (map[int64]*petstore.StockedPet, error) {
	var ids []int64
	for _, e := range b.units {
		if e.Edit != nil {
			ids = append(ids, e.Edit.ID)
		}
	}
	if ids == nil {
		return nil, nil
	}
	found, err := i.To.Pets(ctx, i.Workspace, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	pets := make(map[int64]*petstore.StockedPet, len(found))
	for n := range found {
		pets[found[n].ID] = &found[n]
	}
	return pets, err
}

// write stores the batch in one transaction, with how far the file was imported then.
func (i *Import) write(ctx context.Context, b *batch, report *Report) error {
	units, err := i.prepare(ctx, b, report)
	if err != nil {
		return err
	}
	to := petstore.Batch{Last: i.From.Last(), SkipRefused: i.SkipFaults, File: i.File, Through: b.through, Units: make([]petstore.Unit, len(units))}
	if b.through == 0 {
		to.File = "" // there is nothing to remember but faults
	}
	if len(units) == 0 && to.File == "" {
		return nil
	}
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
	if i.known != nil {
		i.known.confirmAdded()
	}
	return nil
}

// count counts the rows of a unit that was stored.
func (r *Report) count(e *Entry) {
	switch {
	case e.Edit != nil:
		r.edited(e.Edit)
		return
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
