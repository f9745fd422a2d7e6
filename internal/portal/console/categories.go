package console

import (
	"net/url"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/portal/page"
)

func categorySource(v *visit) source[petstore.Category, petstore.CategoryQuery] {
	f := page.Filters{Query: v.R.URL.Query()}
	q := &petstore.CategoryQuery{Name: petstore.Fold(f.Add(page.Field{Name: "name", Label: "Name", Kind: "text", Hint: "Part of a name"}))}
	return source[petstore.Category, petstore.CategoryQuery]{
		filters: f, one: "category", many: "categories", id: func(c petstore.Category) int64 { return c.ID },
		query: q, page: &q.Page, fetch: v.Service.Categories,
	}
}

// maxInList is how many bytes a list shows of a description.
const maxInList = 300

func listCategories(v *visit) (page.List, error) {
	l := page.List{
		Title: "Categories", Lead: "Groups of pets, for example by kind.", Columns: []string{"Id", "Name", "Description", "Pets"}, Numbers: map[int]bool{3: true},
		New: &page.Link{Title: "Add a category", URL: "/console/categories/new"}, Empty: "There are no categories here yet.",
	}
	rows, _, err := categorySource(v).read(v, &l)
	if err != nil {
		return l, err
	}
	ids := make([]int64, len(rows))
	for i, c := range rows {
		ids[i] = c.ID
	}
	sizes, err := v.Service.CategorySizes(v.R.Context(), v.shop(), ids, maxCounted+1)
	for _, c := range rows {
		l.Rows = append(l.Rows, []page.Cell{
			{Text: page.Text(c.ID)}, {Text: c.Name, Name: true, URL: "/console/categories/" + page.Text(c.ID)}, {Text: petstore.Shorten(described(c), maxInList), Name: true},
			{Text: counted(sizes[c.ID]), URL: petsOf(c)},
		})
	}
	return l, err
}

// petsOf returns the address of the list of a category's pets.
func petsOf(c petstore.Category) string {
	return "/console/pets?categoryId=" + url.QueryEscape(pickName(c.Name, c.ID))
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
		_, err := v.Service.CreateCategory(v.R.Context(), v.shop(), categoryOf(in), v.Once())
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
	f.Links = []page.Link{{Title: "Its pets", URL: petsOf(c)}, {Title: "Delete", URL: at + "/delete", Danger: true}}
	f.Send = func(in *page.Input) error {
		_, err := v.Service.ReplaceCategory(v.R.Context(), v.shop(), c.ID, categoryOf(in), in.Condition())
		return v.Then(at, "The category was saved.", err)
	}
	return f, err
}

func deleteCategory(v *visit) (page.Form, error) {
	c, err := inPath(v, v.Service.Category)
	return page.Form{
		Title: "Delete " + c.Name + "?", Lead: "The category is removed. This is possible while no pet belongs to it, and cannot be undone.",
		Submit: "Delete the category", Danger: true, Back: page.Link{Title: "Category " + page.Text(c.ID), URL: "/console/categories/" + page.Text(c.ID)}, Fields: []page.Field{page.VersionField(c)},
		Send: func(in *page.Input) error {
			err := v.Service.DeleteCategory(v.R.Context(), v.shop(), c.ID, in.Condition())
			return v.Then("/console/categories", "The category was deleted.", err)
		},
	}, err
}
