package console

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
)

func (v *visit) categories() source[petstore.Category] {
	q := petstore.CategoryQuery{Name: petstore.Fold(v.r.URL.Query().Get("name"))}
	return source[petstore.Category]{
		id: func(c petstore.Category) int64 { return c.ID },
		fetch: func(ctx context.Context, page petstore.Page) ([]petstore.Category, error) {
			q.Page = page
			return v.Service.Categories(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showCategories(v *visit) error {
	l := list{
		Title: "Categories", Lead: "Groups of pets, for example by kind.", Columns: []string{"Id", "Name", "Description", ""},
		Filters: []field{{Name: "name", Label: "Name", Kind: "text", Value: v.r.URL.Query().Get("name"), Hint: "Part of a name"}},
		New:     &link{Title: "Add a category", URL: "/console/categories/new"}, Empty: "There are no categories here yet.",
	}
	rows, err := v.categories().page(v, &l)
	if err != nil {
		return err
	}
	for _, c := range rows {
		l.Rows = append(l.Rows, []cell{
			{Text: text(c.ID)}, {Text: c.Name, Name: true, URL: "/console/categories/" + text(c.ID)}, {Text: described(c), Name: true},
			{Links: []link{{Title: "Pets", URL: "/console/pets?category=" + text(c.ID)}}},
		})
	}
	return v.list(l, nil)
}

func described(c petstore.Category) string {
	if c.Description == nil {
		return ""
	}
	return *c.Description
}

func categoriesCSV(v *visit) error {
	return v.categories().csv(v, []string{"id", "name", "description"}, func(c petstore.Category) []string {
		return []string{text(c.ID), plain(c.Name), plain(described(c))}
	})
}

func categoryForm(c petstore.Category) form {
	return form{Back: link{Title: "Categories", URL: "/console/categories"}, Fields: []field{
		{Name: "name", Label: "Name", Kind: "text", Value: c.Name, Required: true, Max: petstore.MaxName},
		{Name: "description", Label: "Description", Kind: "textarea", Value: described(c), Max: petstore.MaxDescription},
	}}
}

func newCategory(v *visit) (form, error) {
	f := categoryForm(petstore.Category{})
	f.Title, f.Submit = "Add a category", "Add the category"
	f.send = func(in *input) error {
		_, err := v.Service.CreateCategory(v.r.Context(), v.who.Workspace.ID, categoryOf(in), nil)
		return v.done("/console/categories", "The category was added.", err)
	}
	return f, nil
}

// categoryOf reads a category; an empty description is none.
func categoryOf(in *input) petstore.NewCategory {
	n := petstore.NewCategory{Name: in.text("name")}
	if description := in.text("description"); description != "" {
		n.Description = &description
	}
	return n
}

// category returns the category in the path.
func (v *visit) category() (petstore.Category, error) {
	id, err := v.number()
	if err != nil {
		return petstore.Category{}, err
	}
	return v.Service.Category(v.r.Context(), v.who.Workspace.ID, id)
}

func showCategory(v *visit) (form, error) {
	c, err := v.category()
	f, at := categoryForm(c), "/console/categories/"+text(c.ID)
	f.Title, f.Lead, f.Submit, f.Fields = c.Name, "Category "+text(c.ID), "Save", append(f.Fields, versionOf(c))
	f.Links = []link{{Title: "Its pets", URL: "/console/pets?category=" + text(c.ID)}, {Title: "Delete", URL: at + "/delete", Danger: true}}
	f.send = func(in *input) error {
		_, err := v.Service.ReplaceCategory(v.r.Context(), v.who.Workspace.ID, c.ID, categoryOf(in), in.condition())
		return v.done(at, "The category was saved.", err)
	}
	return f, err
}

func deleteCategory(v *visit) (form, error) {
	c, err := v.category()
	return form{
		Title: "Delete category " + text(c.ID) + "?", Lead: fmt.Sprintf("%s is removed. This is possible while no pet belongs to it, and cannot be undone.", c.Name),
		Submit: "Delete the category", Danger: true, Back: link{Title: "Category " + text(c.ID), URL: "/console/categories/" + text(c.ID)}, Fields: []field{versionOf(c)},
		send: func(in *input) error {
			err := v.Service.DeleteCategory(v.r.Context(), v.who.Workspace.ID, c.ID, in.condition())
			return v.done("/console/categories", "The category was deleted.", err)
		},
	}, err
}
