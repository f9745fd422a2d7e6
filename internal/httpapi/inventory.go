package httpapi

import (
	"example.com/petstore/internal/access"
	"example.com/petstore/internal/petstore"
)

func inventoryPaths(s *petstore.Service) []path {
	return []path{
		{pattern: "/inventory", routes: []route{
			{method: "GET", id: "listInventory", scope: access.Read, handle: list(readInventoryQuery, s.Inventory, positionOfItem), query: []string{"limit", "cursor", "sort", "status", "maxQuantity"}},
		}},
		{pattern: "/inventory/{petId}", routes: []route{
			{method: "GET", id: "getInventoryItem", scope: access.Read, handle: get(s.InventoryItem), cached: true},
			{method: "PATCH", id: "updateInventory", scope: access.Write, handle: change(readInventoryUpdate, s.UpdateInventory), body: patchBody},
		}},
		{pattern: "/inventory/{petId}/movements", routes: []route{
			{method: "GET", id: "listMovements", scope: access.Read, handle: listMovements(s), query: []string{"limit", "cursor"}},
		}},
	}
}

// listMovements answers with the newest movements first: stores know the end of a ledger.
func listMovements(s *petstore.Service) handler {
	return func(x *exchange) error {
		l, at, err := newListRequestAt(x)
		if err != nil {
			return err
		}
		from, err := at.number()
		if err != nil {
			return err
		}
		page, next, err := s.Movements(x.ctx, x.shop(), x.param, from, l.limit)
		if err != nil {
			return err
		}
		link := ""
		if next != 0 {
			link = l.next(numbered(next))
		}
		return x.represent(pageOf(appendList(page), link, next != 0))
	}
}

func positionOfItem(i petstore.InventoryItem) position { return numbered(i.PetID) }

func readInventoryQuery(l *listRequest) (q petstore.PetQuery, err error) {
	q = petstore.PetQuery{Statuses: several(l.query, "status", petstore.Statuses())}
	if text, ok := l.query.one("maxQuantity"); ok {
		most := l.query.integer("maxQuantity", text, 0, petstore.MaxQuantity)
		q.MaxQuantity = &most
	}
	q.Page, err = l.pageQuery()
	return q, err
}

// readInventoryUpdate returns the quantity to set.
func readInventoryUpdate(f *form) (int64, error) {
	var quantity int64
	f.read(members{
		"quantity": assignTo(&quantity, f.integer),
		"petId":    f.readOnly,
		"status":   f.readOnly,
	}, "quantity")
	return quantity, f.err(petstore.CheckQuantity(quantity))
}
