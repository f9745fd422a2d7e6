package console

import (
	"context"
	"fmt"
	"strconv"

	"example.com/petstore/internal/petstore"
)

// maxChoices is the most categories that a form offers to choose from; with more of them it asks for the id.
const maxChoices = 100

// categoryField returns the field of a category. It takes any category if blank is "".
func (v *visit) categoryField(name, blank, chosen string) (field, error) {
	f := field{Name: name, Label: "Category", Kind: "select", Value: chosen}
	list, err := v.Service.Categories(v.r.Context(), v.who.Workspace.ID, petstore.CategoryQuery{Page: petstore.Page{Limit: maxChoices + 1}})
	if err != nil {
		return f, err
	}
	if len(list) > maxChoices {
		f.Kind, f.Hint, f.Required = "number", "The id of the category", blank == ""
		return f, nil
	}
	if blank != "" {
		f.Options = []option{{Label: blank}}
	}
	for _, c := range list {
		f.Options = append(f.Options, option{Value: text(c.ID), Label: c.Name})
	}
	choose(f.Options, chosen)
	f.Value = ""
	return f, nil
}

func statusOptions(none, chosen string) []option {
	return choose(optionsOf(none, petstore.Statuses()...), chosen)
}

func (v *visit) pets() source[petstore.Pet] {
	query := v.r.URL.Query()
	q := petstore.PetQuery{Name: petstore.Fold(query.Get("name"))}
	if s := petstore.Status(query.Get("status")); s.Valid() {
		q.Statuses = []petstore.Status{s}
	}
	q.CategoryID, _ = strconv.ParseInt(query.Get("category"), 10, 64)
	return source[petstore.Pet]{
		id: func(p petstore.Pet) int64 { return p.ID },
		fetch: func(ctx context.Context, page petstore.Page) ([]petstore.Pet, error) {
			q.Page = page
			return v.Service.Pets(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showPets(v *visit) error {
	query := v.r.URL.Query()
	category, err := v.categoryField("category", "Any category", query.Get("category"))
	if err != nil {
		return err
	}
	l := list{
		Title: "Pets", Lead: "All pets in your catalogue.", Columns: []string{"Id", "Name", "Category", "Status", ""},
		Filters: []field{
			{Name: "name", Label: "Name", Kind: "text", Value: query.Get("name"), Hint: "Part of a name"},
			{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("Any status", query.Get("status"))},
			category,
		},
		New: &link{Title: "Add a pet", URL: "/console/pets/new"}, Other: &link{Title: "Import", URL: "/console/pets/import"}, Empty: "There are no pets here yet.",
	}
	pets, err := v.pets().page(v, &l)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, p := range pets {
		if names[p.CategoryID] == "" {
			c, err := v.Service.Category(v.r.Context(), v.who.Workspace.ID, p.CategoryID)
			if err != nil && petstore.CodeOf(err) != petstore.CodeCategoryNotFound {
				return err
			}
			names[p.CategoryID] = c.Name
		}
		at := "/console/pets/" + text(p.ID)
		l.Rows = append(l.Rows, []cell{
			{Text: text(p.ID)}, {Text: p.Name, Name: true, URL: at}, {Text: names[p.CategoryID], Name: true}, statusCell(p.Status),
			{Links: []link{{Title: "Stock", URL: "/console/stock/" + text(p.ID)}, {Title: "Order", URL: "/console/orders/new?petId=" + text(p.ID)}}},
		})
	}
	return v.list(l, nil)
}

func petsCSV(v *visit) error {
	return v.pets().csv(v, []string{"id", "name", "categoryId", "status"}, func(p petstore.Pet) []string {
		return []string{text(p.ID), plain(p.Name), text(p.CategoryID), string(p.Status)}
	})
}

func (v *visit) petForm(p petstore.Pet) (form, error) {
	category, err := v.categoryField("categoryId", "", text(p.CategoryID))
	f := form{Back: link{Title: "Pets", URL: "/console/pets"}, Fields: []field{
		{Name: "name", Label: "Name", Kind: "text", Value: p.Name, Required: true, Max: petstore.MaxName},
		category,
	}}
	return f, err
}

func newPet(v *visit) (form, error) {
	f, err := v.petForm(petstore.Pet{})
	f.Title, f.Submit = "Add a pet", "Add the pet"
	f.Fields = append(f.Fields, field{Name: "status", Label: "Status", Kind: "select", Options: []option{
		{Label: "available, with one unit of stock"}, {Value: "pending", Label: "pending, without stock"}, {Value: "sold", Label: "sold, without stock"},
	}, Hint: "Choose another one if the pet cannot be ordered yet."})
	if len(f.Fields[1].Options) == 0 && f.Fields[1].Kind == "select" {
		f.Lead = "Each pet belongs to a category, and there is none yet."
		f.Links = []link{{Title: "Add a category", URL: "/console/categories/new"}}
	}
	f.send = func(in *input) error {
		n := petstore.NewPet{Name: in.text("name"), CategoryID: in.number("categoryId"), Status: petstore.Status(in.text("status"))}
		made, err := v.Service.CreatePet(v.r.Context(), v.who.Workspace.ID, n, nil)
		return v.done("/console/pets/"+text(made.ID), "The pet was added.", err)
	}
	return f, err
}

func showPet(v *visit) (form, error) {
	id, err := v.number()
	if err != nil {
		return form{}, err
	}
	p, err := v.Service.Pet(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return form{}, err
	}
	item, err := v.Service.InventoryItem(v.r.Context(), v.who.Workspace.ID, id)
	if err != nil {
		return form{}, err
	}
	f, err := v.petForm(p)
	at := "/console/pets/" + text(id)
	f.Title, f.Lead, f.Submit = p.Name, "Pet "+text(id), "Save"
	f.Fields = append(f.Fields, field{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("automatic, from the stock", string(p.Status)),
		Hint: "A pending pet cannot be ordered for now. Available needs stock. Sold needs no open orders, and sets the stock to 0."}, versionOf(p))
	f.Facts = []fact{
		{"Status", statusCell(p.Status)}, {"Stock", cell{Text: number(item.Quantity), URL: "/console/stock/" + text(id)}},
		{"Orders", cell{Text: "Orders of this pet", URL: "/console/orders?petId=" + text(id)}},
	}
	f.Links = []link{{Title: "Order", URL: "/console/orders/new?petId=" + text(id)}, {Title: "Delete", URL: at + "/delete", Danger: true}}
	f.send = func(in *input) error {
		_, err := v.Service.UpdatePet(v.r.Context(), v.who.Workspace.ID, id, in.petPatch(), in.condition())
		return v.done(at, "The pet was saved.", err)
	}
	return f, err
}

// petPatch returns what a form changes of a pet; no status is the one that the stock says.
func (in *input) petPatch() petstore.PetPatch {
	p := petstore.PetPatch{Name: petstore.Some(in.text("name")), CategoryID: petstore.Some(in.number("categoryId")), Status: petstore.Null[petstore.Status]()}
	if s := in.text("status"); s != "" {
		p.Status = petstore.Some(petstore.Status(s))
	}
	return p
}

func deletePet(v *visit) (form, error) {
	id, err := v.number()
	if err != nil {
		return form{}, err
	}
	p, err := v.Service.Pet(v.r.Context(), v.who.Workspace.ID, id)
	return form{
		Title: "Delete pet " + text(id) + "?", Lead: fmt.Sprintf("%s and its stock are removed. This cannot be undone.", p.Name),
		Submit: "Delete the pet", Danger: true, Back: link{Title: "Pet " + text(id), URL: "/console/pets/" + text(id)}, Fields: []field{versionOf(p)},
		send: func(in *input) error {
			err := v.Service.DeletePet(v.r.Context(), v.who.Workspace.ID, id, in.condition())
			return v.done("/console/pets", "The pet was deleted.", err)
		},
	}, err
}

// petNames returns the names of the pets of items.
func (v *visit) petNames(items []petstore.InventoryItem) (map[int64]string, error) {
	ids := make([]int64, len(items))
	for i := range items {
		ids[i] = items[i].PetID
	}
	return v.namesOf(ids)
}

// orderNames returns the names of the pets of orders; a pet that was deleted since has its id for a name.
func (v *visit) orderNames(orders []petstore.Order) (map[int64]string, error) {
	ids := make([]int64, len(orders))
	for i := range orders {
		ids[i] = orders[i].PetID
	}
	return v.namesOf(ids)
}

func (v *visit) namesOf(ids []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	for _, id := range ids {
		names[id] = "pet " + text(id) + ", deleted"
	}
	if len(ids) == 0 {
		return names, nil
	}
	pets, err := v.Service.Pets(v.r.Context(), v.who.Workspace.ID, petstore.PetQuery{Page: petstore.Page{Limit: len(ids)}, IDs: ids})
	for _, p := range pets {
		names[p.ID] = p.Name
	}
	return names, err
}
