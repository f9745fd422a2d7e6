package console

import (
	"context"
	"net/http"
	"strconv"

	"example.com/petstore/internal/petstore"
)

func (v *visit) items() source[petstore.InventoryItem] {
	query := v.r.URL.Query()
	q := petstore.InventoryQuery{}
	if s := petstore.Status(query.Get("status")); s.Valid() {
		q.Statuses = []petstore.Status{s}
	}
	if most, err := strconv.ParseInt(query.Get("max"), 10, 64); err == nil && most >= 0 {
		q.MaxQuantity = &most
	}
	return source[petstore.InventoryItem]{
		path: "/console/stock", id: func(i petstore.InventoryItem) int64 { return i.PetID },
		fetch: func(ctx context.Context, page petstore.Page) ([]petstore.InventoryItem, error) {
			q.Page = page
			return v.Shop.Inventory(ctx, v.who.Workspace.ID, q)
		},
	}
}

func showStock(v *visit) error {
	query := v.r.URL.Query()
	pet, choices, err := v.filtered("/console/stock")
	if err != nil {
		return err
	}
	if pet > 0 && pet != noPet {
		return v.redirect("/console/stock/" + text(pet))
	}
	l := list{
		Title: "Stock", Lead: "What can still be ordered of each pet; the units of open orders have left it.",
		Columns: []string{"Pet", "Name", "Quantity", "Status", ""}, Numbers: map[int]bool{2: true},
		Choices: choices,
		Filters: []field{
			petField("Pet", query.Get("petId"), false),
			{Name: "max", Label: "At most", Kind: "number", Value: query.Get("max"), Hint: "any"},
			{Name: "status", Label: "Status", Kind: "select", Options: statusOptions("Any status", query.Get("status"))},
		},
		Empty: "There is no stock here yet: each pet brings its own.",
	}
	var items []petstore.InventoryItem
	if pet != noPet {
		if items, err = v.items().page(v, &l); err != nil {
			return err
		}
	}
	names, err := v.petNames(items)
	if err != nil {
		return err
	}
	for _, i := range items {
		l.Rows = append(l.Rows, []cell{
			{Text: text(i.PetID)}, {Text: names[i.PetID], Name: true, URL: "/console/pets/" + text(i.PetID)}, {Text: number(i.Quantity)}, statusCell(i.Status),
			{Links: []link{{Title: "Change stock", URL: "/console/stock/" + text(i.PetID)}}},
		})
	}
	return v.render(http.StatusOK, "list", l.Title, l)
}

func stockCSV(v *visit) error {
	return v.items().csv(v, []string{"petId", "quantity", "status"}, func(i petstore.InventoryItem) []string {
		return []string{text(i.PetID), text(i.Quantity), string(i.Status)}
	})
}
