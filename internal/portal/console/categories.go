package console

import (
	"context"
	"fmt"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func categorySource(v *visit) source[petstore.Category] {
	q := petstore.CategoryQuery{Name: petstore.Fold(v.R.URL.Query().Get("name"))}
	return source[petstore.Category]{
		id: func(c petstore.Category) int64 { return c.ID },
		fetch: func(ctx context.Context, p petstore.Page) ([]petstore.Category, error) {
			q.Page = p
			return v.Service.Categories(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showCategories(v *visit) error {
	l := page.List{
		Title: "Categories", Lead: "Groups of pets, for example by kind.", Columns: []string{"Id", "Name", "Description", ""},
		Filters: []page.Field{{Name: "name", Label: "Name", Kind: "text", Value: v.R.URL.Query().Get("name"), Hint: "Part of a name"}},
		New:     &page.Link{Title: "Add a category", URL: "/console/categories/new"}, Empty: "There are no categories here yet.",
	}
	rows, err := categorySource(v).read(v, &l)
	if err != nil {
		return err
	}
	for _, c := range rows {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(c.ID)}, {Text: c.Name, Name: true, URL: "/console/categories/" + page.Text(c.ID)}, {Text: described(c), Name: true},
			{Links: []page.Link{{Title: "Pets", URL: "/console/pets?category=" + page.Text(c.ID)}}},
		})
	}
	return v.List(l, nil)
}

func described(c petstore.Category) string {
	if c.Description == nil {
		return ""
	}
	return *c.Description
}

func categoriesCSV(v *visit) error {
	return categorySource(v).csv(v, []string{"id", "name", "description"}, func(c petstore.Category) []string {
		return []string{page.Text(c.ID), page.CSVText(c.Name), page.CSVText(described(c))}
	})
}

func categoryForm(c petstore.Category) page.Form {
	return page.Form{Back: page.Link{Title: "Categories", URL: "/console/categories"}, Fields: []page.Field{
		{Name: "name", Label: "Name", Kind: "text", Value: c.Name, Required: true, Max: petstore.MaxName},
		{Name: "description", Label: "Description", Kind: "textarea", Value: described(c), Max: petstore.MaxDescription},
	}}
}

func newCategory(v *visit) (page.Form, error) {
	f := categoryForm(petstore.Category{})
	f.Title, f.Submit = "Add a category", "Add the category"
	f.Send = func(in *page.Input) error {
		_, err := v.Service.CreateCategory(v.R.Context(), v.who.Workspace.ID, categoryOf(in), v.Once())
		return v.Then("/console/categories", "The category was added.", err)
	}
	return f, nil
}

// categoryOf reads a category; an empty description is none.
func categoryOf(in *page.Input) petstore.NewCategory {
	n := petstore.NewCategory{Name: in.Text("name")}
	if description := in.Text("description"); description != "" {
		n.Description = &description
	}
	return n
}

func showCategory(v *visit) (page.Form, error) {
	c, err := inPath(v, v.Service.Category)
	f, at := categoryForm(c), "/console/categories/"+page.Text(c.ID)
	f.Title, f.Lead, f.Submit, f.Fields = c.Name, "Category "+page.Text(c.ID), "Save", append(f.Fields, page.VersionField(c))
	f.Links = []page.Link{{Title: "Its pets", URL: "/console/pets?category=" + page.Text(c.ID)}, {Title: "Delete", URL: at + "/delete", Danger: true}}
	f.Send = func(in *page.Input) error {
		_, err := v.Service.ReplaceCategory(v.R.Context(), v.who.Workspace.ID, c.ID, categoryOf(in), in.Condition())
		return v.Then(at, "The category was saved.", err)
	}
	return f, err
}

func deleteCategory(v *visit) (page.Form, error) {
	c, err := inPath(v, v.Service.Category)
	return page.Form{
		Title: "Delete category " + page.Text(c.ID) + "?", Lead: fmt.Sprintf("%s is removed. This is possible while no pet belongs to it, and cannot be undone.", c.Name),
		Submit: "Delete the category", Danger: true, Back: page.Link{Title: "Category " + page.Text(c.ID), URL: "/console/categories/" + page.Text(c.ID)}, Fields: []page.Field{page.VersionField(c)},
		Send: func(in *page.Input) error {
			err := v.Service.DeleteCategory(v.R.Context(), v.who.Workspace.ID, c.ID, in.Condition())
			return v.Then("/console/categories", "The category was deleted.", err)
		},
	}, err
}
