package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func categoryPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/categories", routes: []route{
			{method: "GET", id: "listCategories", scope: access.Read, handle: list(readCategoryQuery, s.Categories, idOfCategory), query: []string{"limit", "cursor", "name"}},
			{method: "POST", id: "createCategory", scope: access.Write, handle: create(readNewCategory, s.CreateCategory), body: jsonBody},
		}},
		{pattern: "/categories/{categoryId}", param: "categoryId", routes: []route{
			{method: "GET", id: "getCategory", scope: access.Read, handle: get(s.Category)},
			{method: "PUT", id: "replaceCategory", scope: access.Write, handle: change(readNewCategory, s.ReplaceCategory), body: jsonBody},
			{method: "PATCH", id: "updateCategory", scope: access.Write, handle: change(readCategoryPatch, s.UpdateCategory), body: patchBody},
			{method: "DELETE", id: "deleteCategory", scope: access.Write, handle: remove(s.DeleteCategory)},
		}},
	}
}

func idOfCategory(c petstore.Category) int64 { return c.ID }

func readCategoryQuery(l *listing) (q petstore.CategoryQuery, err error) {
	q.Name = l.query.part("name")
	q.Page, err = l.page()
	return q, err
}

// readNewCategory reads the body of createCategory (id 0) and replaceCategory.
func readNewCategory(body []byte, id int64) (petstore.NewCategory, error) {
	var n petstore.NewCategory
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			n.Name = f.text(m)
		case "description":
			text := f.text(m)
			n.Description = &text
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return n, err
	}
	f.require("name")
	return n, f.err(n.Check())
}

func readCategoryPatch(body []byte, id int64) (petstore.CategoryPatch, error) {
	var p petstore.CategoryPatch
	f := form{id: id}
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "name":
			p.Name = optional(m, f.text)
		case "description":
			p.Description = optional(m, f.text)
		case "id":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return p, err
	}
	return p, f.err(p.Check())
}
