package interchange

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// write keeps the units of the batch and carries out its edits. With edits, the new categories come first, which do no harm if
// that is repeated. The edits and the new pets are kept one after the other, and what is kept of each is remembered with it.
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
			i.known.settle()
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
	i.known.settle()
	return nil
}

// amendedFile is the name under which the store remembers how far the edits of the file are kept, if new pets that stand before
// them are not yet.
func (i *Import) amendedFile() string {
	if i.File == "" {
		return ""
	}
	return i.File + ":edits"
}

// resume finds out which edits are kept already.
func (i *Import) resume(ctx context.Context) (err error) {
	if _, ok := i.From.(*csvReader); ok && i.File != "" {
		i.amended, err = i.To.ImportedThrough(ctx, i.Workspace, i.amendedFile())
	}
	return err
}

// refused notes a fault of an entry, or returns it as an error that ends the import.
func (i *Import) refused(b *batch, f *Fault) error {
	if !i.SkipFaults || f.Final {
		return f
	}
	b.faults = append(b.faults, f)
	return nil
}

// findEdits returns those edits of the batch that change a pet as it is now, with the categories that they mean.
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
		if e.Line <= i.amended {
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

// changes reports whether the row changes the pet as it is now, nil if it is gone.
func (e *Edit) changes(p *petstore.StockedPet, known *catalogue, line int) (bool, error) {
	if p == nil {
		if e.silent() {
			return false, nil
		}
		return false, petstore.NoPet(e.ID)
	}
	if err := e.find(p, known, line); err != nil {
		return false, err
	}
	a, err := e.amend(*p, known)
	return a != (petstore.Amendment{}), err
}

// asFault returns the fault of a line that an error with a code is.
func asFault(line int, err error) *Fault {
	if f, ok := err.(*Fault); ok { //nolint:errorlint // it is one itself
		return f
	}
	return faultf(line, "%s", reason(err))
}

// findCategories returns the new pets of the batch, with their categories.
func (i *Import) findCategories(b *batch, report *Report) ([]Entry, error) {
	pets := b.entries[:0]
	for _, e := range b.entries {
		in, err := i.known.named(e.category, e.Line)
		if err == nil {
			e.In = in
			pets = append(pets, e)
			report.Notes.fresh.add(e.Pet.Name)
		} else if err := i.refused(b, asFault(e.Line, err)); err != nil {
			return nil, err
		}
	}
	return pets, nil
}

// amend carries out edits: all of them or none, unless faults are skipped. They are remembered as those of the file.
func (i *Import) amend(ctx context.Context, b *batch, edits []Entry, report *Report, file string) error {
	changes := make([]*petstore.Change, len(edits))
	for n := range edits {
		e, category := edits[n].Edit, int64(0)
		if e.in != nil {
			category = e.in.ID
		}
		to := func(p petstore.StockedPet) (petstore.Amendment, error) { return e.amend(p, i.known) }
		changes[n] = petstore.Amend(ctx, i.Workspace, e.ID, category, to, &e.done)
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
