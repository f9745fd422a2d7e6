package console

import (
	"cmp"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/internal/interchange"
	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func petSource(v *visit) (source[petstore.StockedPet, petstore.PetQuery], error) {
	f := page.Filters{Query: v.R.URL.Query()}
	q := &petstore.PetQuery{Name: petstore.Fold(f.Add(page.Field{Name: "name", Label: "Name", Kind: "text", Hint: "Part of a name"}))}
	if s := f.Add(page.Field{Name: "status", Label: "Status", Kind: "select", Options: page.OptionsOf("Any status", petstore.Statuses()...)}); s != "" {
		q.Statuses = []petstore.Status{petstore.Status(s)}
	}
	if most := f.Add(page.Field{Name: "max", Label: "Stock at most", Kind: "number", Hint: "any"}); most != "" {
		n, _ := strconv.ParseInt(most, 10, 64) // it was checked
		q.MaxQuantity = &n
	}
	var err error
	q.CategoryID, err = categoryPicker.filter(v, &f)
	return source[petstore.StockedPet, petstore.PetQuery]{
		filters: f, newest: true, one: "pet", many: "pets", id: func(p petstore.StockedPet) int64 { return p.ID },
		query: q, page: &q.Page, fetch: v.Service.Pets,
	}, err
}

func listPets(v *visit) (page.List, error) {
	l := page.List{
		Title: "Pets", Lead: "The newest first.", Columns: []string{"Id", "Name", "Category", "Status", "Stock", ""}, Numbers: map[int]bool{4: true},
		Others: []page.Link{{Title: "Low stock: " + page.Number(v.who.Workspace.LowStock), URL: "/console/pets/low"}, {Title: "Import", URL: "/console/pets/import"}},
		New:    &page.Link{Title: "Add a pet", URL: "/console/pets/new"}, Empty: "There are no pets here yet.",
	}
	s, err := petSource(v)
	if err != nil {
		return l, err
	}
	pets, _, err := s.read(v, &l)
	if err != nil {
		return l, err
	}
	categories := map[int64]string{}
	err = nameCategories(v, categories, pets)
	for i := range pets {
		p := &pets[i]
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(p.ID)}, {Text: p.Name, Name: true, URL: petPath(p.ID)}, {Text: categories[p.CategoryID], Name: true}, statusCell(p.Status), stockCell(v, p),
			{Links: []page.Link{{Title: "Order", URL: "/console/orders/new" + named(p)}}},
		})
	}
	return l, err
}

func petPath(id int64) string { return "/console/pets/" + page.Text(id) }

// categoryName returns the name of a category, "" if it was deleted meanwhile.
func categoryName(v *visit, id int64) (string, error) {
	c, err := v.Service.Category(v.R.Context(), v.shop(), id)
	if petstore.CodeOf(err) == petstore.CodeCategoryNotFound {
		return "", nil
	}
	return c.Name, err
}

// stockCell says how much there is of a pet, and whether that is low.
func stockCell(v *visit, p *petstore.StockedPet) page.Cell {
	c := page.Cell{Text: page.Number(p.Quantity), URL: petPath(p.ID)}
	if p.Status != petstore.Sold && p.Quantity <= v.who.Workspace.LowStock {
		c.Note = "low"
	}
	return c
}

func petForm(v *visit, name, category string) (page.Form, error) {
	field, err := categoryPicker.field(v, category, true)
	return page.Form{Back: page.Link{Title: "Pets", URL: "/console/pets"}, Fields: []page.Field{
		{Name: "name", Label: "Name", Kind: "text", Value: name, Required: true, Max: petstore.MaxName}, field,
	}}, err
}

func newPet(v *visit) (page.Form, error) {
	f, err := petForm(v, "", "")
	f.Title, f.Submit = "Add a pet", "Add the pet"
	category := &f.Fields[1]
	f.Fields = append(f.Fields,
		page.Field{Name: "add", Label: "New category", Kind: "checks", Options: []page.Option{{Value: "true", Label: "Add the category if there is none of this name", Chosen: len(category.Options) == 0}}},
		page.Field{Name: "quantity", Label: "Quantity", Kind: "number", Value: "1", Hint: "Units that can be ordered."},
		page.Field{Name: "status", Label: "Status", Kind: "select", Options: []page.Option{
			{Label: "automatic, from the quantity"}, {Value: "pending", Label: "pending: it cannot be ordered for now"}, {Value: "sold", Label: "sold: without stock"},
		}})
	f.Send = func(in *page.Input) error {
		n := petstore.NewPet{Name: in.Text("name"), Status: petstore.Status(in.Text("status"))}
		if in.Text("quantity") != "" {
			n.Stock = new(in.Number("quantity"))
		}
		add := in.Text("add") != ""
		if n.CategoryID, err = categoryPicker.pick(v, in, add); err != nil {
			return err
		}
		if n.CategoryID == 0 {
			n.Category = &petstore.NewCategory{Name: strings.TrimSpace(in.Text("categoryId"))}
		}
		made, err := v.Service.CreatePet(v.R.Context(), v.shop(), n, v.Once())
		return v.Then(petPath(made.ID), "The pet was added.", err)
	}
	return f, err
}

// named is the query of a page about a pet.
func named(p *petstore.StockedPet) string {
	return "?petId=" + url.QueryEscape(pickName(p.Name, p.ID))
}

// showPet returns the page of the pet in the path, with the forms that change it and its stock, and what has changed that.
// Which of the forms is sent to the address comes first.
func showPet(which int) func(*visit) (page.Form, error) {
	return func(v *visit) (page.Form, error) {
		p, err := inPath(v, v.Service.Pet)
		if err != nil {
			return page.Form{}, err
		}
		edit, err := editForm(v, &p)
		if err != nil {
			return page.Form{}, err
		}
		forms := []page.Form{edit, addForm(v, p.Item()), setForm(v, p.Item())}
		forms[0].Back = page.Link{} // which the page has
		f := forms[which]
		f.Title, f.Lead, f.Back = p.Name, "Pet "+page.Text(p.ID)+". Units in open orders are not among those in stock.", edit.Back
		f.State, f.Beside = &page.Cell{Text: page.Counted(p.Quantity, "unit", "units"), Badge: string(p.Status)}, slices.Delete(forms, which, which+1)
		f.Links = []page.Link{{Title: "Order", URL: "/console/orders/new" + named(&p)}, {Title: "Delete", URL: petPath(p.ID) + "/delete", Danger: true}}
		f.Facts = []page.Fact{{Title: "Status", Cell: statusCell(p.Status)}, {Title: "Orders", Cell: page.Cell{Text: page.Number(p.OpenOrders) + " open", URL: "/console/orders" + named(&p)}}}
		if v.Events != nil {
			f.Facts = append(f.Facts, page.Fact{Title: "Events", Cell: page.Cell{Text: "What happened to it", URL: "/console/events" + named(&p)}})
		}
		history, err := stockHistory(v, p.Item())
		f.Sheets = []page.List{history}
		return f, err
	}
}

// editForm is the form that changes what a pet is.
func editForm(v *visit, p *petstore.StockedPet) (page.Form, error) {
	category, err := categoryName(v, p.CategoryID)
	if err != nil {
		return page.Form{}, err
	}
	f, err := petForm(v, p.Name, pickName(category, p.CategoryID))
	status := page.Field{Name: "status", Label: "Status", Kind: "select", Options: page.Choose(page.OptionsOf("automatic, from the stock", petstore.Statuses()...), string(p.Status)),
		Hint: "A pending pet cannot be ordered for now. Available needs stock. Sold needs no open orders, and sets the stock to 0."}
	f.Heading, f.Action, f.Submit, f.Fields = "Change the pet", petPath(p.ID), "Save", append(f.Fields, status, page.VersionField(p.Pet))
	f.Send = func(in *page.Input) error {
		category, err := categoryPicker.pick(v, in, false)
		if err != nil {
			return err
		}
		patch := petstore.PetPatch{Name: petstore.Some(in.Text("name")), CategoryID: petstore.Some(category), Status: petstore.Null[petstore.Status]()}
		if s := in.Text("status"); s != "" { // else it is the one that the stock says
			patch.Status = petstore.Some(petstore.Status(s))
		}
		_, err = v.Service.UpdatePet(v.R.Context(), v.shop(), p.ID, patch, in.Condition())
		return v.Then(petPath(p.ID), "The pet was saved.", err)
	}
	return f, err
}

func deletePet(v *visit) (page.Form, error) {
	p, err := inPath(v, v.Service.Pet)
	return page.Form{
		Title: "Delete " + p.Name + "?", Lead: "The pet and its stock are removed. This cannot be undone.",
		Submit: "Delete the pet", Danger: true, Back: page.Link{Title: "Pet " + page.Text(p.ID), URL: petPath(p.ID)}, Fields: []page.Field{page.VersionField(p)},
		Send: func(in *page.Input) error {
			err := v.Service.DeletePet(v.R.Context(), v.shop(), p.ID, in.Condition())
			return v.Then("/console/pets", "The pet was deleted.", err)
		},
	}, err
}

// petNames returns the names of the pets of orders; a pet that was deleted since has its id for a name.
func petNames(v *visit, orders ...petstore.Order) (map[int64]string, error) {
	names, ids := make(map[int64]string, len(orders)), make([]int64, len(orders))
	for i, o := range orders {
		ids[i] = o.PetID
		names[ids[i]] = "pet " + page.Text(ids[i]) + ", deleted"
	}
	if len(ids) == 0 {
		return names, nil
	}
	pets, err := v.Service.Pets(v.R.Context(), v.shop(), petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	for _, p := range pets {
		names[p.ID] = p.Name
	}
	return names, err
}

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
