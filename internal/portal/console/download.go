package console

import (
	"cmp"
	"io"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// mostNames is how many names of categories a download remembers.
const mostNames = 4096

// petsCSV sends pets as the command export writes them, so that they can be edited and imported.
func petsCSV(v *visit) error {
	s, err := petSource(v)
	if err := cmp.Or(err, s.filters.Wrong()); err != nil {
		return err
	}
	names := map[int64]string{}
	read := s.pages(v)
	fetch := func(last *petstore.StockedPet) ([]petstore.StockedPet, error) {
		pets, err := read(last)
		if err != nil {
			return nil, err
		}
		return pets, nameCategories(v, names, pets)
	}
	return v.Download(page.MediaCSV, func(to io.Writer) error {
		w := interchange.NewSheet(to, func(id int64) string { return names[id] })
		if err := w.Begin(petstore.LastIDs{}); err != nil {
			return err
		}
		if err := eachPage(v, fetch, func(p *petstore.StockedPet) error { return w.Pet(*p) }); err != nil {
			return err
		}
		return w.Close()
	})
}

// nameCategories adds the names of the categories of pets. One that was deleted just now has none.
func nameCategories(v *visit, names map[int64]string, pets []petstore.StockedPet) error {
	if len(names) > mostNames {
		clear(names)
	}
	for i := range pets {
		id := pets[i].CategoryID
		if _, known := names[id]; known {
			continue
		}
		name, err := categoryName(v, id)
		if err != nil {
			return err
		}
		names[id] = name
	}
	return nil
}
