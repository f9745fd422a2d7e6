package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

type inventory struct{ service *petstore.Service }

func (i inventory) paths() []path {
	s := i.service
	return []path{
		{pattern: "/inventory", routes: []route{
			{method: "GET", id: "listInventory", scope: access.Read, handle: i.list, query: []string{"limit", "cursor", "status", "maxQuantity"}},
		}},
		{pattern: "/inventory/{petId}", param: "petId", routes: []route{
			{method: "GET", id: "getInventoryItem", scope: access.Read, handle: get(s.InventoryItem)},
			{method: "PATCH", id: "updateInventory", scope: access.Write, handle: change(readInventoryUpdate, s.UpdateInventory), body: patchBody},
		}},
	}
}

func (i inventory) list(x *exchange) error {
	l, err := newListing(x)
	if err != nil {
		return err
	}
	q := petstore.InventoryQuery{Statuses: l.query.statuses("status")}
	if text, ok := l.query.one("maxQuantity"); ok {
		most := l.query.integer("maxQuantity", text, 0, petstore.MaxQuantity)
		q.MaxQuantity = &most
	}
	if q.Page, err = l.page(); err != nil {
		return err
	}
	items, err := i.service.Inventory(x.ctx, x.workspace(), q)
	if err != nil {
		return err
	}
	return sendList(l, items, func(one petstore.InventoryItem) int64 { return one.PetID })
}

// readInventoryUpdate returns the quantity to set.
func readInventoryUpdate(body []byte, _ int64) (int64, error) {
	var quantity int64
	var f form
	err := f.read(body, func(m member) bool {
		switch m.name {
		case "quantity":
			quantity = f.integer(m)
		case "petId", "status":
			f.readOnly(m)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return 0, err
	}
	f.require("quantity")
	return quantity, f.err(petstore.CheckQuantity(quantity))
}
