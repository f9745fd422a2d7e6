package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func categoryPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/categories", routes: []route{
			{method: "GET", id: "listCategories", scope: access.Read, handle: list(readCategoryQuery, ofShop(s.Categories), positionOfCategory), query: []string{"limit", "cursor", "sort", "name"}},
			{method: "POST", id: "createCategory", scope: access.Write, handle: create(decode(petstore.NewCategory{}, "id"), s.CreateCategory), body: jsonBody},
		}},
		{pattern: "/categories/{categoryId}", routes: []route{
			{method: "GET", id: "getCategory", scope: access.Read, handle: get(s.Category)},
			{method: "PUT", id: "replaceCategory", scope: access.Write, handle: change(decode(petstore.NewCategory{}, "id"), s.ReplaceCategory), body: jsonBody},
			{method: "PATCH", id: "updateCategory", scope: access.Write, handle: change(decode(petstore.CategoryPatch{}, "id"), s.UpdateCategory), body: patchBody},
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
