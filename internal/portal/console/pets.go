package console

import (
	"context"
	"fmt"
	"strconv"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

// maxChoices is the most categories that a form offers to choose from; with more of them it asks for the id.
const maxChoices = 100

// categoryField returns the field of a category. It takes any category if blank is "".
func categoryField(v *visit, name, blank, chosen string) (page.Field, error) {
	f := page.Field{Name: name, Label: "Category", Kind: "select", Value: chosen}
	list, err := v.Service.Categories(v.R.Context(), v.who.Workspace.ID, petstore.CategoryQuery{Page: petstore.Page{Limit: maxChoices + 1}})
	if err != nil {
		return f, err
	}
	if len(list) > maxChoices {
		f.Kind, f.Hint, f.Required = "number", "The id of the category", blank == ""
		return f, nil
	}
	if blank != "" {
		f.Options = []page.Option{{Label: blank}}
	}
	for _, c := range list {
		f.Options = append(f.Options, page.Option{Value: page.Text(c.ID), Label: c.Name})
	}
	page.Choose(f.Options, chosen)
	f.Value = ""
	return f, nil
}

func statusOptions(none, chosen string) []page.Option {
	return page.Choose(page.OptionsOf(none, petstore.Statuses()...), chosen)
}

func petQuery(v *visit) petstore.PetQuery {
	query := v.R.URL.Query()
	q := petstore.PetQuery{Name: petstore.Fold(query.Get("name"))}
	if s := petstore.Status(query.Get("status")); s.Valid() {
		q.Statuses = []petstore.Status{s}
	}
	q.CategoryID, _ = strconv.ParseInt(query.Get("category"), 10, 64)
	return q
}

func petSource(v *visit) source[petstore.Pet] {
	q := petQuery(v)
	return source[petstore.Pet]{
		id: func(p petstore.Pet) int64 { return p.ID },
		fetch: func(ctx context.Context, p petstore.Page) ([]petstore.Pet, error) {
			q.Page = p
			return v.Service.Pets(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showPets(v *visit) error {
	query := v.R.URL.Query()
	category, err := categoryField(v, "category", "Any category", query.Get("category"))
	if err != nil {
		return err
	}
	l := page.List{
		Title: "Pets", Lead: "All pets in your catalogue.", Columns: []string{"Id", "Name", "Category", "Status", ""},
		Filters: []page.Field{
			{Name: "name", Label: "Name", Kind: "text", Value: query.Get("name"), Hint: "Part of a name"},
			{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("Any status", query.Get("status"))},
			category,
		},
		New: &page.Link{Title: "Add a pet", URL: "/console/pets/new"}, Other: &page.Link{Title: "Import", URL: "/console/pets/import"}, Empty: "There are no pets here yet.",
	}
	pets, err := petSource(v).read(v, &l)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, p := range pets {
		if names[p.CategoryID] == "" {
			c, err := v.Service.Category(v.R.Context(), v.who.Workspace.ID, p.CategoryID)
			if err != nil && petstore.CodeOf(err) != petstore.CodeCategoryNotFound {
				return err
			}
			names[p.CategoryID] = c.Name
		}
		at := "/console/pets/" + page.Text(p.ID)
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(p.ID)}, {Text: p.Name, Name: true, URL: at}, {Text: names[p.CategoryID], Name: true}, statusCell(p.Status),
			{Links: []page.Link{{Title: "Stock", URL: "/console/stock/" + page.Text(p.ID)}, {Title: "Order", URL: "/console/orders/new?petId=" + page.Text(p.ID)}}},
		})
	}
	return v.List(l, nil)
}

func petForm(v *visit, p petstore.Pet) (page.Form, error) {
	category, err := categoryField(v, "categoryId", "", page.Text(p.CategoryID))
	f := page.Form{Back: page.Link{Title: "Pets", URL: "/console/pets"}, Fields: []page.Field{
		{Name: "name", Label: "Name", Kind: "text", Value: p.Name, Required: true, Max: petstore.MaxName},
		category,
	}}
	return f, err
}

func newPet(v *visit) (page.Form, error) {
	f, err := petForm(v, petstore.Pet{})
	f.Title, f.Submit = "Add a pet", "Add the pet"
	f.Fields = append(f.Fields, page.Field{Name: "status", Label: "Status", Kind: "select", Options: []page.Option{
		{Label: "available, with one unit of stock"}, {Value: "pending", Label: "pending, without stock"}, {Value: "sold", Label: "sold, without stock"},
	}, Hint: "Choose another one if the pet cannot be ordered yet."})
	if len(f.Fields[1].Options) == 0 && f.Fields[1].Kind == "select" {
		f.Lead = "Each pet belongs to a category, and there is none yet."
		f.Links = []page.Link{{Title: "Add a category", URL: "/console/categories/new"}}
	}
	f.Send = func(in *page.Input) error {
		n := petstore.NewPet{Name: in.Text("name"), CategoryID: in.Number("categoryId"), Status: petstore.Status(in.Text("status"))}
		made, err := v.Service.CreatePet(v.R.Context(), v.who.Workspace.ID, n, v.Once())
		return v.Then("/console/pets/"+page.Text(made.ID), "The pet was added.", err)
	}
	return f, err
}

func showPet(v *visit) (page.Form, error) {
	p, err := inPath(v, v.Service.Pet)
	if err != nil {
		return page.Form{}, err
	}
	item, err := inPath(v, v.Service.InventoryItem)
	if err != nil {
		return page.Form{}, err
	}
	f, err := petForm(v, p)
	id, at := p.ID, "/console/pets/"+page.Text(p.ID)
	f.Title, f.Lead, f.Submit = p.Name, "Pet "+page.Text(id), "Save"
	f.Fields = append(f.Fields, page.Field{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("automatic, from the stock", string(p.Status)),
		Hint: "A pending pet cannot be ordered for now. Available needs stock. Sold needs no open orders, and sets the stock to 0."}, page.VersionField(p))
	f.Facts = []page.Fact{
		{Title: "Status", Cell: statusCell(p.Status)}, {Title: "Stock", Cell: page.Cell{Text: page.Number(item.Quantity), URL: "/console/stock/" + page.Text(id)}},
		{Title: "Orders", Cell: page.Cell{Text: "Orders of this pet", URL: "/console/orders?petId=" + page.Text(id)}},
	}
	f.Links = []page.Link{{Title: "Order", URL: "/console/orders/new?petId=" + page.Text(id)}, {Title: "Delete", URL: at + "/delete", Danger: true}}
	f.Send = func(in *page.Input) error {
		_, err := v.Service.UpdatePet(v.R.Context(), v.who.Workspace.ID, id, patchOfPet(in), in.Condition())
		return v.Then(at, "The pet was saved.", err)
	}
	return f, err
}

// patchOfPet returns what a form changes of a pet; no status is the one that the stock says.
func patchOfPet(in *page.Input) petstore.PetPatch {
	p := petstore.PetPatch{Name: petstore.Some(in.Text("name")), CategoryID: petstore.Some(in.Number("categoryId")), Status: petstore.Null[petstore.Status]()}
	if s := in.Text("status"); s != "" {
		p.Status = petstore.Some(petstore.Status(s))
	}
	return p
}

func deletePet(v *visit) (page.Form, error) {
	p, err := inPath(v, v.Service.Pet)
	id := p.ID
	return page.Form{
		Title: "Delete pet " + page.Text(id) + "?", Lead: fmt.Sprintf("%s and its stock are removed. This cannot be undone.", p.Name),
		Submit: "Delete the pet", Danger: true, Back: page.Link{Title: "Pet " + page.Text(id), URL: "/console/pets/" + page.Text(id)}, Fields: []page.Field{page.VersionField(p)},
		Send: func(in *page.Input) error {
			err := v.Service.DeletePet(v.R.Context(), v.who.Workspace.ID, id, in.Condition())
			return v.Then("/console/pets", "The pet was deleted.", err)
		},
	}, err
}

// petNames returns the names of the pets of rows; a pet that was deleted since has its id for a name.
func petNames[T any](v *visit, rows []T, petID func(T) int64) (map[int64]string, error) {
	names, ids := make(map[int64]string, len(rows)), make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = petID(row)
		names[ids[i]] = "pet " + page.Text(ids[i]) + ", deleted"
	}
	if len(ids) == 0 {
		return names, nil
	}
	pets, err := v.Service.Pets(v.R.Context(), v.who.Workspace.ID, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	for _, p := range pets {
		names[p.ID] = p.Name
	}
	return names, err
}

func petOfItem(i petstore.InventoryItem) int64 { return i.PetID }

func petOfOrder(o petstore.Order) int64 { return o.PetID }
