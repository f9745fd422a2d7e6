package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func categoryRoutes(s *petstore.Service) []route {
	readNew, readPatch := decode(petstore.NewCategory{}, "id"), decode(petstore.CategoryPatch{}, "id")
	return []route{
		{at: "GET /categories", id: "listCategories", scope: access.Read, handle: list(readCategoryQuery, ofShop(s.Categories), positionOfCategory),
			query: []string{"limit", "cursor", "sort", "name"}},
		{at: "POST /categories", id: "createCategory", scope: access.Write, handle: create(readNew, s.CreateCategory), body: jsonBody},
		{at: "GET /categories/{categoryId}", id: "getCategory", scope: access.Read, handle: get(s.Category)},
		{at: "PUT /categories/{categoryId}", id: "replaceCategory", scope: access.Write, handle: change(readNew, s.ReplaceCategory), body: jsonBody},
		{at: "PATCH /categories/{categoryId}", id: "updateCategory", scope: access.Write, handle: change(readPatch, s.UpdateCategory), body: patchBody},
		{at: "DELETE /categories/{categoryId}", id: "deleteCategory", scope: access.Write, handle: remove(s.DeleteCategory)},
	}
}

func positionOfCategory(c petstore.Category) position { return numbered(c.ID) }

func readCategoryQuery(l *listRequest) (q petstore.CategoryQuery, err error) {
	q.Name = l.query.part("name")
	q.Page, err = l.pageQuery()
	return q, err
}
