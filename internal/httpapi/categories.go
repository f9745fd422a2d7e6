package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func categoryPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/categories", routes: []route{
			{method: "GET", id: "listCategories", scope: access.Read, handle: list(readCategoryQuery, s.Categories, positionOfCategory), query: []string{"limit", "cursor", "sort", "name"}},
			{method: "POST", id: "createCategory", scope: access.Write, handle: create(readNewCategory, s.CreateCategory), body: jsonBody},
		}},
		{pattern: "/categories/{categoryId}", routes: []route{
			{method: "GET", id: "getCategory", scope: access.Read, handle: get(s.Category)},
			{method: "PUT", id: "replaceCategory", scope: access.Write, handle: change(readNewCategory, s.ReplaceCategory), body: jsonBody},
			{method: "PATCH", id: "updateCategory", scope: access.Write, handle: change(readCategoryPatch, s.UpdateCategory), body: patchBody},
			{method: "DELETE", id: "deleteCategory", scope: access.Write, handle: remove(s.DeleteCategory)},
		}},
	}
}

func positionOfCategory(c petstore.Category) position { return numbered(c.ID) }

func readCategoryQuery(l *listRequest) (q petstore.CategoryQuery, err error) {
	q.Name = l.query.part("name")
	q.Page, err = l.pageQuery()
	return q, err
}

// readNewCategory reads the body of createCategory (id 0) and replaceCategory.
func readNewCategory(f *form) (petstore.NewCategory, error) {
	var n petstore.NewCategory
	f.read(members{
		"name":        assignTo(&n.Name, f.text),
		"description": assignTo(&n.Description, func(m member) *string { return new(f.text(m)) }),
		"id":          f.readOnly,
	}, "name")
	return n, f.err(n.Check())
}

func readCategoryPatch(f *form) (petstore.CategoryPatch, error) {
	var p petstore.CategoryPatch
	f.read(members{
		"name":        intoOptional(&p.Name, f.text),
		"description": intoOptional(&p.Description, f.text),
		"id":          f.readOnly,
	})
	return p, f.err(p.Check())
}
