package interchange

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// write stores the units of the batch and carries out its edits. If there are edits, the new categories are stored
// first; to store them again does no harm. The edits and then the new pets are stored, each in a transaction that
// also remembers how far the file was imported.
func (i *Import) write(ctx context.Context, b *batch, report *Report) error {
	if i.known == nil {
		return i.load(ctx, b, b.entries, i.File)
	}
	edits, err := i.findEdits(ctx, b, report)
	if err != nil {
		return err
	}
	pets, err := i.findCategories(b, report)
	if err != nil {
		return err
	}
	added := i.known.added
	report.Notes.added(added)
	if len(edits) > 0 {
		if err := i.load(ctx, b, added, ""); err != nil {
			return err
		}
		file := i.File
		if len(pets) > 0 {
			file = i.amendedFile()
		}
		if err := i.amend(ctx, b, edits, report, file); err != nil {
			return err
		}
		if len(pets) == 0 {
			i.known.confirmAdded()
			return nil
		}
		added = nil
	}
	if len(added) > 0 {
		pets = append(added, pets...)
	}
	if err := i.load(ctx, b, pets, i.File); err != nil {
		return err
	}
	i.known.confirmAdded()
	return nil
}

// amendedFile returns the name under which the store remembers how far the edits of the file are stored, while new
// pets on earlier lines may not be.
func (i *Import) amendedFile() string {
	if i.File == "" {
		return ""
	}
	return i.File + ":edits"
}

// resume finds out which edits are stored already.
func (i *Import) resume(ctx context.Context) (err error) {
	if _, ok := i.From.(*csvReader); ok && i.File != "" {
		i.editedThrough, err = i.To.ImportedThrough(ctx, i.Workspace, i.amendedFile())
	}
	return err
}

// refused notes a fault of an entry, or returns it to end the import.
func (i *Import) refused(b *batch, f *Fault) error {
	if !i.SkipFaults || f.Final {
		return f
	}
	b.faults = append(b.faults, f)
	return nil
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
	found, err := i.To.StockedPets(ctx, i.Workspace, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	if err != nil {
		return nil, err
	}
	pets := make(map[int64]*petstore.StockedPet, len(found))
	for n := range found {
		pets[found[n].ID] = &found[n]
	}
	for _, e := range b.edits {
		if e.Line <= i.editedThrough {
			report.Left++
			continue
		}
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

// changes reports whether the row would change the pet now. p is nil if the pet does
// not exist.
func (e *Edit) changes(p *petstore.StockedPet, known *catalogue, line int) (bool, error) {
	if p == nil {
		if e.unchanged() {
			return false, nil
		}
		return false, petstore.NoPet(e.ID)
	}
	if err := e.findCategory(p, known, line); err != nil {
		return false, err
	}
	a, err := e.amend(*p, known)
	return a != (petstore.Amendment{}), err
}

// asFault returns err as a fault of a line.
func asFault(line int, err error) *Fault {
	if f, ok := err.(*Fault); ok { //nolint:errorlint // a fault is not wrapped
		return f
	}
	return faultf(line, "%s", reason(err))
}

// findCategories finds the categories of the batch's new pets, and returns these.
func (i *Import) findCategories(b *batch, report *Report) ([]Entry, error) {
	pets := b.entries[:0]
	for _, e := range b.entries {
		in, err := i.known.resolve(e.category, e.Line)
		if err == nil {
			e.In = in
			pets = append(pets, e)
			report.Notes.newNames.add(e.Pet.Name)
		} else if err := i.refused(b, asFault(e.Line, err)); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

// amend carries out edits: all of them or none, unless faults are skipped. The store remembers them under the name
// file.
func (i *Import) amend(ctx context.Context, b *batch, edits []Entry, report *Report, file string) error {
	changes := make([]*petstore.Change, len(edits))
	for n := range edits {
		e, category := edits[n].Edit, int64(0)
		if e.in != nil {
			category = e.in.ID
		}
		decide := func(p petstore.StockedPet) (petstore.Amendment, error) { return e.amend(p, i.known) }
		changes[n] = petstore.Amend(ctx, i.Workspace, e.ID, category, decide, &e.done)
	}
	began := time.Now()
	refused, err := i.To.Amend(ctx, i.Workspace, changes, !i.SkipFaults, file, b.through)
	if err != nil {
		return err
	}
	adapt(&i.pace.edits, mostEdits, time.Since(began))
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
		e := edits[n].Edit
		switch {
		case refused[n] != nil:
			continue
		case !e.done.Changed():
			report.Left++
			continue
		case e.Add != 0:
			report.Added++
		}
		report.Changed++
		report.Notes.amended(e)
	}
	return nil
}
